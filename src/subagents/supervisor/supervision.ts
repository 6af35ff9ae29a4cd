import { redactSecrets } from '../../core/redact.ts';
import type { RunSettings } from '../../core/runs/settings.ts';
import type { ProcessIdentity, Turn } from '../../core/runs/turn.ts';
import { addRunEvent } from '../../store/runs/run-events.ts';
import type { Sqlite } from '../../store/sqlite.ts';
import type { RunsWorld } from '../features.ts';
import { logRunFailure } from '../runs-log.ts';

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
  { runId, number }: Pick<Turn, 'runId' | 'number'>,
  type: string,
  detail: string,
  { db, world }: Supervision,
): void {
  const atMs = world.now().getTime();
  try {
    addRunEvent({ runId, turn: number, atMs, actor: ACTOR, type, detail: redactSecrets(detail) }, db);
  } catch (error) {
    logRunFailure(runId, error, world.paths, world.now());
  }
}
