import { writeSync } from 'node:fs';
import { statePaths } from '../../../src/core/state-paths.ts';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { isTerminal, type Turn } from '../../../src/runs/model/turn.ts';
import { acknowledge, takeAnnouncements, undelivered } from '../../../src/runs/store/outbox.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import { openRunsDb } from '../../../src/runs/store/rows.ts';
import { countRuns } from '../../../src/runs/store/runs.ts';
import { activeTurns, changeTurn, endTurn } from '../../../src/runs/store/turns.ts';
import { announcement, ending, LANE, LIMITS, spawn } from './made-up.ts';

/**
 * One of several processes that do everything on one database, until nothing is left to do: asks for the same runs as
 * the others, starts, ends, looks after what killed ones left, takes in what was announced. Prints what it has written,
 * after it was written. To be killed at any moment.
 */

const [home = '', count = '0', ...requesters] = process.argv.slice(2);
const SLOTS = 4;
const LEASE_MS = 300;
const UNOWNED_MS = 300;
const ME = { pid: process.pid, start: '', boot: '' };
const say = (...words: (string | number)[]) => writeSync(1, `${words.join(' ')}\n`);

const paths = statePaths({ SELF_GENERATION_HOME: home }, 'linux');
if (paths === undefined) throw new Error('Cannot work without a home');
const db = openRunsDb(paths);

for (let index = 0; index < Number(count); index++) {
  for (const key of requesters) {
    const answer = spawn(
      db,
      { key, spawnKey: `task ${index}` },
      { ...LIMITS, dedupeMs: 3_600_000, dedupesFailed: true },
    );
    say(answer.kind, answer.kind === 'refused' ? answer.words : answer.run.id);
  }
  work(db);
}
while (!isDone(db)) work(db);
db.close();

function work(db: Sqlite): void {
  const claimed = claimTurns({ ...LANE, maxConcurrent: SLOTS }, Date.now(), db);
  const busy = activeTurns(db).filter(({ state }) => state !== 'queued').length;
  if (busy > SLOTS) say('over', busy);
  for (const turn of claimed) {
    say('claimed', turn.runId);
    const owned = changeTurn(turn, { state: 'running', owner: ME, launchedAtMs: Date.now() }, db);
    if (owned !== undefined) end(owned, 'success', db);
  }
  for (const turn of activeTurns(db)) {
    const adopted = isLeft(turn) ? changeTurn(turn, { owner: ME }, db) : undefined;
    if (adopted !== undefined) end(adopted, 'lost', db);
  }
  for (const requester of requesters) {
    const owner = `${process.pid}`;
    const options = { nowMs: Date.now(), leaseMs: LEASE_MS, limit: 3 };
    // As the next call of an owner does, but with the ids.
    for (const id of acknowledge(owner, options.nowMs, db)) say('acked', id);
    const listener = { requester, session: null, owner, isPerson: false };
    for (const { id, isRedelivery } of takeAnnouncements(listener, options, db))
      say(isRedelivery ? 'again' : 'took', id);
  }
}

function end(turn: Turn, outcome: 'success' | 'lost', db: Sqlite): void {
  const tells = announcement({ id: `about ${turn.runId}`, readyAtMs: Date.now() });
  const ended = endTurn(turn, ending({ outcome, endedAtMs: Date.now() }), tells, db);
  if (ended !== undefined && isTerminal(ended.state)) say('ended', turn.runId, ended.state);
}

/** Whether whoever looked after it is gone. */
function isLeft({ state, owner, claimedAtMs }: Turn): boolean {
  if (state === 'queued') return false;
  if (owner === null) return Date.now() - (claimedAtMs ?? 0) > UNOWNED_MS;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch {
    return true;
  }
}

function isDone(db: Sqlite): boolean {
  return requesters.every(
    (key) => countRuns({ requester: key }, db).active === 0 && undelivered(key, db) === 0,
  );
}
