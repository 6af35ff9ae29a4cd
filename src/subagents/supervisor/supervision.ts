import { redactSecrets } from '../../core/redact.ts';
import type { RunSettings } from '../../core/runs/settings.ts';
import type { ProcessIdentity, Turn } from '../../core/runs/turn.ts';
import { addRunEvent } from '../../store/runs/run-events.ts';
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

/** Notes what happened to a run. A note that cannot be written is missed by nobody but the log. */
export function noteEvent(
  { runId, number }: Pick<Turn, 'runId' | 'number'>,
  type: string,
  detail: string,
  { db, world }: Supervision,
  add: typeof addRunEvent = addRunEvent,
): void {
  const event = { runId, turn: number, atMs: world.now().getTime(), actor: 'supervisor', type };
  orLogged(runId, world.paths, () => add({ ...event, detail: redactSecrets(detail) }, db));
}
