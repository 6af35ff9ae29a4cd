import type { StatePaths } from '../../src/core/state-paths.ts';
import { markInbox } from '../../src/runs/delivery/deliver.ts';
import type { NewAnnouncement } from '../../src/runs/model/announcement.ts';
import type { Requester } from '../../src/runs/model/run.ts';
import { claimTurns } from '../../src/runs/store/queue.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { insertRun } from '../../src/runs/store/runs.ts';
import { endTurn } from '../../src/runs/store/turns.ts';
import { madeEnding, madeRun } from '../support/made-run.ts';

const LIMITS = {
  ...{
    maxQueued: 1000,
    undeliveredMax: 1000,
    dedupeMs: 0,
    dedupesFailed: true,
  },
  budget: {
    run: { tokens: null, usd: null },
    requester: { tokens: null, usd: null },
    day: { tokens: null, usd: null },
  },
};

/** A run that has ended and has this to tell, with the sign of it; nothing was started. Gives the announcement's id. */
export function tell(
  requester: Requester,
  paths: StatePaths,
  { endedAtMs = Date.now(), ...words }: Partial<NewAnnouncement> & { readonly endedAtMs?: number } = {},
): string {
  const uuid = crypto.randomUUID();
  const announcement = {
    id: crypto.randomUUID(),
    status: 'success',
    result: 'done',
    notes: '- (none)',
    stats: `runtime 1s | sessionKey ${uuid}`,
    readyAtMs: endedAtMs,
    ...words,
  } as const;
  withRuns(paths, (db) => {
    const run = { ...madeRun({ id: uuid.replaceAll('-', '') }), requester, createdAtMs: endedAtMs };
    const { number: _, sessionId: _s, worktree: _w, archiveAtMs: _a, archivedAtMs: _d, ...fresh } = run;
    insertRun({ ...fresh, childKey: `agent:main:subagent:${uuid}` }, uuid, LIMITS, db);
    const slots = { maxConcurrent: 1000 };
    for (const turn of claimTurns(slots, endedAtMs, db))
      endTurn(turn, madeEnding({ outcome: 'success', endedAtMs }), announcement, db);
  });
  markInbox(requester.key, paths);
  return announcement.id;
}
