import { redactSecrets } from '../../core/redact.ts';
import type { RunSettings } from '../../core/runs/settings.ts';
import type { ProcessIdentity, Turn } from '../../core/runs/turn.ts';
import { addRunEvent, addRunEventOnce } from '../../store/runs/run-events.ts';
import type { Sqlite } from '../../store/sqlite.ts';
import type { RunsWorld } from '../features.ts';
import { orLogged } from '../runs-log.ts';

/** What a supervisor works with. */
export type Supervision = {
  readonly db: Sqlite;
  readonly world: RunsWorld;
  readonly settings: RunSettings;
  readonly self: ProcessIdentity;
  /** Whether this process was told to end. */
  readonly isShuttingDown: () => boolean;
};

const ACTOR = 'supervisor';

/** Notes what happened to a run. A note that cannot be written is missed by nobody but the log. */
export function noteEvent(
  { runId, number }: TurnName,
  type: string,
  detail: string,
  { db, world }: Supervision,
  add: typeof addRunEvent = addRunEvent,
): void {
  const event = { runId, turn: number, atMs: world.now().getTime(), actor: ACTOR, type };
  orLogged(runId, world.paths, () => add({ ...event, detail: redactSecrets(detail) }, db));
}

/** Notes what is said of a turn, once, whichever of its supervisors comes across it. */
export function noteWarning(turn: TurnName, detail: string, supervision: Supervision): void {
  noteEvent(turn, 'warning', detail, supervision, addRunEventOnce);
}

type TurnName = Pick<Turn, 'runId' | 'number'>;
