import type { StatePaths } from '../../src/core/state-paths.ts';
import { markInbox } from '../../src/runs/delivery/deliver.ts';
import type { NewAnnouncement } from '../../src/runs/model/announcement.ts';
import type { Requester } from '../../src/runs/model/run.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { endTurn } from '../../src/runs/store/turns.ts';
import { madeEnding } from '../support/made-run.ts';
import { announcement, claimed } from './store/made-up.ts';

/** A run that has ended and has this to tell, with the sign of it; nothing was started. Gives the announcement's id. */
export function tell(
  requester: Requester,
  paths: StatePaths,
  { endedAtMs = Date.now(), ...words }: Partial<NewAnnouncement> & { readonly endedAtMs?: number } = {},
): string {
  const told = announcement({ readyAtMs: endedAtMs, ...words });
  withRuns(paths, (db) => {
    const turn = claimed(db, { requester, task: 'Fix the tests.', createdAtMs: endedAtMs });
    endTurn(turn, madeEnding({ endedAtMs }), told, db);
  });
  markInbox(requester.key, paths);
  return told.id;
}
