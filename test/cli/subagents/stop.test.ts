import { describe, expect, test } from 'bun:test';
import type { Turn } from '../../../src/core/runs/turn.ts';
import { waitingAnnouncements } from '../../../src/store/runs/outbox.ts';
import { dataVersion, openRunsDb } from '../../../src/store/runs/runs-db.ts';
import { getTurn } from '../../../src/store/runs/turns.ts';
import { newShelf, type Shelf } from './shelf.ts';

const ONE_AT_A_TIME = { agents: { defaults: { subagents: { maxConcurrent: 1 } } } };

/** What a supervisor does as soon as it sees the wish; this test is the supervisor of what it started. */
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
    expect(await shelf.call(['stop', 'next'])).toEqual({
      code: 0,
      stdout: '⚙️ Stop requested for next.\n⚙️ Stopped 1 subagent.\n',
      stderr: '',
    });
    const turn = shelf.write((db) => getTurn(runId, 1, db));
    expect(turn).toMatchObject({ state: 'stopped', stop: { reason: 'requested' } });
    expect(turn?.stop?.by).toBe('a person (subagents stop)');
    expect(shelf.write((db) => waitingAnnouncements(shelf.key, db))).toEqual([]);
  });

  test('waits until what runs has ended', async () => {
    using shelf = newShelf();
    const turn = shelf.start({ label: 'busy' });
    const [answer] = await Promise.all([shelf.call(['stop', '1']), endWhenAsked(turn, shelf)]);
    expect(answer).toEqual({
      code: 0,
      stdout: '⚙️ Stop requested for busy.\n⚙️ Stopped 1 subagent.\n',
      stderr: '',
    });
  });

  test('says of what has ended that it has', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start());
    expect(await shelf.call(['stop', 'last'])).toEqual({
      code: 0,
      stdout: '⚙️ Subagent already finished.\n',
      stderr: '',
    });
  });

  test('stops all of this project, and none of another one', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    const turn = shelf.start();
    shelf.queue();
    const other = { key: 'agent:main:other-1', session: null, client: null, cwd: '/' } as const;
    const { runId } = shelf.queue({ requester: other });
    const [answer] = await Promise.all([shelf.call(['stop', 'all']), endWhenAsked(turn, shelf)]);
    expect(answer).toEqual({ code: 0, stdout: '⚙️ Stopped 2 subagents.\n', stderr: '' });
    expect(shelf.write((db) => getTurn(runId, 1, db))?.state).not.toBe('stopped');
    expect((await shelf.call(['stop', '*'])).stdout).toBe('⚙️ Stopped 0 subagents.\n');
  });

  test('answers in three numbers as JSON', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    shelf.start();
    const { runId } = shelf.queue({ label: 'next' });
    expect(await shelf.json<unknown>(['stop', 'next'])).toEqual({
      status: 'done',
      stopped: [{ runId, number: 2 }],
      alreadyFinished: [],
      failedToStop: [],
      survivors: [],
    });
  });

  test('notes that the requester asked when a client called it', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    shelf.start();
    const { runId } = shelf.queue();
    await shelf.call(['stop', '2'], {
      env: { HOME: shelf.home.path, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 's-1' },
    });
    expect(shelf.write((db) => getTurn(runId, 1, db))?.stop?.by).toBe('the requester (subagents stop)');
  });

  test('is refused inside a sub-agent', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start());
    const env = { HOME: shelf.home.path, SELF_GENERATION_RUN: `${'0'.repeat(32)}/1` };
    const { code, stderr } = await shelf.call(['stop', '1'], { env });
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: '⚠️ subagents is not allowed from sub-agent sessions: say in your result what is to be done\n',
    });
  });
});
