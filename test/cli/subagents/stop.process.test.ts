import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { inboxMark } from '../../../src/runs/model/run.ts';
import type { Turn } from '../../../src/runs/model/turn.ts';
import { waitingAnnouncements } from '../../../src/runs/store/outbox.ts';
import { dataVersion, openRunsDb } from '../../../src/runs/store/rows.ts';
import { appendTurn, getTurn } from '../../../src/runs/store/turns.ts';
import { refused, said } from '../call.ts';
import { ELSEWHERE, messageTo, newShelf, ONE_AT_A_TIME, type Shelf, sessionOf } from './shelf.ts';

/** Calls stop while this test, the supervisor of what it started, ends the turn when it is asked to. */
const stopping = async (shelf: Shelf, turn: Turn, ...words: string[]) =>
  (await Promise.all([shelf.call(['stop', ...words]), endWhenAsked(turn, shelf)]))[0];

/** What a supervisor does as soon as it sees the wish. */
async function endWhenAsked(turn: Turn, shelf: Shelf): Promise<void> {
  const db = openRunsDb(shelf.home.paths);
  try {
    for (let version = -1; ; await new Promise(setImmediate)) {
      const found = dataVersion(db);
      if (found === version) continue;
      version = found;
      const now = getTurn(turn.runId, turn.number, db);
      if (now === undefined || now.stop === null) continue;
      shelf.end(now, { outcome: 'stopped', result: null });
      return;
    }
  } finally {
    db.close();
  }
}

describe('subagents stop', () => {
  test('ends what waits at once, and no announcement is made of it', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    shelf.start();
    const { runId } = shelf.queue({ label: 'next' });
    expect(await shelf.call(['stop', 'next'])).toEqual(
      said('⚙️ Stop requested for next.\n⚙️ Stopped 1 subagent.\n'),
    );
    const turn = shelf.write((db) => getTurn(runId, 1, db));
    const stop = { reason: 'requested', by: 'a person (subagents stop)' };
    expect(turn).toMatchObject({ state: 'stopped', stop });
    expect(shelf.write((db) => waitingAnnouncements(shelf.key, db))).toEqual([]);
  });

  test('waits until what runs has ended', async () => {
    using shelf = newShelf();
    const turn = shelf.start({ label: 'busy' });
    expect(await stopping(shelf, turn, '1')).toEqual(
      said('⚙️ Stop requested for busy.\n⚙️ Stopped 1 subagent.\n'),
    );
  });

  test('stops the work that a message waits behind, and says both', async () => {
    using shelf = newShelf();
    const turn = shelf.start({ label: 'busy' });
    shelf.write((db) => appendTurn(messageTo(turn.runId), db));
    expect(await stopping(shelf, turn, '1')).toEqual(
      said('⚙️ Stop requested for busy.\n⚙️ Stopped 1 subagent and 1 waiting message.\n'),
    );
    expect((await shelf.call(['list'])).stdout).toMatch(/^1\)\W+stopped\W+busy\b/m);
  });

  test('stops the message that waits for a run that has ended', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    const { runId } = shelf.end(shelf.start({ label: 'done' }));
    shelf.start();
    shelf.write((db) => appendTurn(messageTo(runId, 's-1'), db));
    expect((await shelf.call(['stop', 'done'])).stdout).toBe(
      '⚙️ Stop requested for done.\n⚙️ Stopped 1 waiting message.\n',
    );
    expect((await shelf.call(['list'])).stdout).toMatch(/^1\)\W+success\W+done\b/m);
    // Of another session's message that session is told.
    expect(shelf.write((db) => waitingAnnouncements(shelf.key, db))).toMatchObject([
      { turn: 2, requesterSession: 's-1', status: 'error' },
    ]);
  });

  test('says of what has ended that it has', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start());
    expect(await shelf.call(['stop', 'last'])).toEqual(said('⚙️ Subagent already finished.\n'));
  });

  test('stops all that a person has asked for, says what goes on, and with --all-sessions stops that too', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    const turn = shelf.start({ requester: sessionOf(shelf.key) });
    shelf.queue({ requester: sessionOf(shelf.key) });
    shelf.queue();
    expect(await shelf.call(['stop', 'all'])).toEqual(
      said('⚙️ Stopped 1 subagent.\n2 runs of other sessions go on; --all-sessions stops them too.\n'),
    );
    expect(await shelf.json<object>(['stop', 'all'])).toMatchObject({ stopped: [], othersActive: 2 });
    expect(await stopping(shelf, turn, 'all', '--project')).toEqual(said('⚙️ Stopped 2 subagents.\n'));
    expect(existsSync(inboxMark(shelf.key, shelf.home.paths))).toBe(true);
    const told = shelf.write((db) => waitingAnnouncements(shelf.key, db));
    expect(told).toMatchObject([{ number: 2, requesterSession: 's-1', status: 'error' }]);
    expect(told[0]?.notes).toContain('stopped by a person (subagents stop)');
  });

  test('takes --all-sessions, which was --project once, with all alone', async () => {
    using shelf = newShelf();
    shelf.start();
    expect(await shelf.call(['stop', '1', '--all-sessions'])).toEqual(
      refused(2, '⚙️ Usage: self-generation subagents stop <id|#|all [--all-sessions]>\n'),
    );
  });

  test('stops nothing of another project', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    const turn = shelf.start();
    shelf.queue();
    const { runId } = shelf.queue({ requester: ELSEWHERE });
    expect(await stopping(shelf, turn, 'all')).toEqual(said('⚙️ Stopped 2 subagents.\n'));
    expect(shelf.write((db) => getTurn(runId, 1, db))?.state).not.toBe('stopped');
    expect((await shelf.call(['stop', '*'])).stdout).toBe('⚙️ Stopped 0 subagents.\n');
  });

  test('answers in three numbers as JSON', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    shelf.start();
    const { runId } = shelf.queue({ label: 'next' });
    const none = { alreadyFinished: [], failedToStop: [], survivors: [], othersActive: 0 };
    const stopped = [{ runId, number: 2, work: true, waitingMessages: 0 }];
    expect(await shelf.json<unknown>(['stop', 'next'])).toEqual({ status: 'done', stopped, ...none });
  });

  test('notes that a session of a client asked when that called it, and tells the person who asked for the run', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    shelf.start();
    const { runId } = shelf.queue();
    const env = { HOME: shelf.home.path, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 's-1' };
    await shelf.call(['stop', '2'], { env });
    expect(shelf.write((db) => getTurn(runId, 1, db))?.stop?.by).toBe('a session of claude (subagents stop)');
    const [told] = shelf.write((db) => waitingAnnouncements(shelf.key, db));
    expect(told).toMatchObject({ runId, requesterSession: null, status: 'error' });
    expect(told?.notes).toContain('stopped by a session of claude (subagents stop)');
    // By which hooks see that something waits.
    expect(existsSync(inboxMark(shelf.key, shelf.home.paths))).toBe(true);
  });
});
