import { describe, expect, test } from 'bun:test';
import { chmodSync } from 'node:fs';
import type { NewAnnouncement } from '../../../src/runs/model/announcement.ts';
import type { Ending, Turn } from '../../../src/runs/model/turn.ts';
import { undelivered, waitingAnnouncements } from '../../../src/runs/store/outbox.ts';
import { setArchived } from '../../../src/runs/store/rows.ts';
import { changeRun, listRuns } from '../../../src/runs/store/runs.ts';
import { appendTurn, getTurn } from '../../../src/runs/store/turns.ts';
import { printed, said } from '../call.ts';
import { messageTo, NOW_MS, newShelf, ONE_AT_A_TIME, runTurn, type Shelf, sessionOf } from './shelf.ts';

/** A run with a session that could go on, while another one has the only slot. */
function shelfWithSession(): Shelf & { readonly turn: Turn } {
  const shelf = newShelf(ONE_AT_A_TIME);
  const turn = shelf.end(shelf.start({ label: 'fix tests' }));
  shelf.write((db) => changeRun(turn.runId, { sessionId: 's-1' }, db));
  shelf.start({ label: 'busy' });
  return { ...shelf, turn };
}

/** What the supervisor does with the run's next turn, all at once. */
function answer(
  shelf: Shelf,
  runId: string,
  ending: Partial<Ending>,
  announcement: Partial<NewAnnouncement> | null = null,
): void {
  const turn = shelf.write((db) => runTurn(runId, NOW_MS, db));
  if (turn === undefined) throw new Error(`Run "${runId}" has no turn that waits`);
  shelf.end(turn, ending, announcement);
}

describe('subagents send', () => {
  test('writes the message down as the next turn, and says that it waits', async () => {
    using shelf = shelfWithSession();
    const call = ['send', '1', 'now', 'the second one', '--timeout', '0'];
    const { runId } = shelf.turn;
    expect(await shelf.call(call)).toEqual(said(`✅ Sent to fix tests (run ${runId.slice(0, 8)}).\n`));
    const message = { kind: 'send', message: 'now the second one', state: 'queued' } as const;
    expect(shelf.write((db) => getTurn(runId, 2, db))).toMatchObject(message);
  });

  test('says, with an exit code of its own, that the reply has not come in time', async () => {
    using shelf = shelfWithSession();
    const answer = await shelf.call(['send', '1', '-', '--timeout', '1'], { stdin: 'go on' });
    const stdout = `⏳ Subagent still queued (run ${shelf.turn.runId.slice(0, 8)}).\n`;
    expect(answer).toEqual({ code: 8, stdout, stderr: '' });
  });

  const BROKEN = { outcome: 'error', error: 'broken' } as const;
  const replies: [title: string, ending: Partial<Ending>, code: number, words: string][] = [
    ['prints the reply', { result: 'Done:\n\u001b[2Jall' }, 0, 'Done:\n<U+001B>[2Jall\n'],
    ['says that it was sent when there is no reply', { result: null }, 0, '✅ Sent to fix tests (run ID).\n'],
    [
      'says what went wrong',
      { ...BROKEN, result: 'Half.' },
      1,
      'Half.\n⚠️ Subagent error: broken (run ID).\n',
    ],
    ['says how it ended', { outcome: 'timeout', result: null }, 6, '⚠️ Subagent error: timeout (run ID).\n'],
  ];
  for (const [title, ending, code, words] of replies) {
    test(title, async () => {
      using shelf = shelfWithSession();
      const sending = shelf.call(['send', '1', 'go on']);
      answer(shelf, shelf.turn.runId, ending);
      const { stdout, stderr, code: found } = await sending;
      expect([found, stdout + stderr]).toEqual([code, words.replace('ID', shelf.turn.runId.slice(0, 8))]);
    });
  }

  test('prints the reply as JSON', async () => {
    using shelf = shelfWithSession();
    const sending = shelf.json<object>(['send', '1', 'go on']);
    answer(shelf, shelf.turn.runId, { result: 'Done.' });
    const done = { number: 1, turn: 2, status: 'success', result: 'Done.' };
    expect(await sending).toMatchObject({ runId: shelf.turn.runId, ...done });
  });

  test('has told what came of the message, and nobody is told once more; unless it could not be written', async () => {
    for (const [ending, isWritten, state] of [
      [{ result: 'Done.' }, true, 'acked'],
      [BROKEN, true, 'acked'],
      [{ result: 'Done.' }, false, 'pending'],
    ] as const) {
      using shelf = shelfWithSession();
      const sending = shelf.call(['send', '1', 'go on'], { written: async () => isWritten });
      answer(shelf, shelf.turn.runId, ending, {});
      await sending;
      const rows = shelf.write((db) => db.all('SELECT turn, state FROM outbox ORDER BY turn'));
      expect(rows).toEqual([{ turn: 2, state }]);
    }
  });

  test('refuses what has no session any more', async () => {
    using shelf = shelfWithSession();
    shelf.write((db) => setArchived(shelf.turn.runId, NOW_MS, db));
    const { code, stderr } = await shelf.call(['send', '1', 'go on']);
    expect(code).toBe(1);
    expect(stderr).toStartWith('⚠️ Send failed: Subagent #1 (fix tests) is archived');
  });
});

describe('subagents spawn --wait', () => {
  const ends = { success: 0, error: 1, timeout: 6, stopped: 7 } as const;
  for (const [outcome, code] of Object.entries(ends) as [keyof typeof ends, number][]) {
    test(`ends with ${code} of what ended as ${outcome}, shows it and has told it`, async () => {
      using shelf = newShelf(ONE_AT_A_TIME);
      chmodSync(shelf.home.put('bin/claude', '#!/bin/sh\n'), 0o755);
      shelf.start();
      const spawned = shelf.call(['spawn', '--wait', 'task']);
      let runId: string | undefined;
      while (runId === undefined) {
        await new Promise(setImmediate);
        runId = shelf.write((db) => listRuns({ limit: 2 }, db).find(({ run }) => run.number === 2)?.run.id);
      }
      answer(shelf, runId, { outcome }, {});
      const { code: found, stdout } = await spawned;
      expect(found).toBe(code);
      expect(stdout).toContain(`\n2) ${outcome} · task · `);
      expect(shelf.write((db) => undelivered(shelf.key, db))).toBe(0);
    });
  }
});

describe('subagents wait', () => {
  test('answers at once for what has ended, with its result', async () => {
    using shelf = newShelf();
    const { runId } = shelf.end(shelf.start({ label: 'fix tests' }), { result: 'All\u0007 pass.' });
    expect(await shelf.call(['wait', '1'])).toEqual(
      said(`1) success · fix tests · 5m12s · run ${runId.slice(0, 8)}\nAll<U+0007> pass.\n`),
    );
  });

  test('fails with what has failed', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start(), { outcome: 'error', error: 'broken', result: null });
    const { code, stdout } = await shelf.call(['wait', '1']);
    expect(code).toBe(1);
    expect(stdout).toEndWith('\n   broken\n');
  });

  const codes: [ends: Partial<Ending>[], code: number][] = [
    [[{}, {}], 0],
    [[{}, { outcome: 'timeout' }], 6],
    [[{ outcome: 'stopped' }, {}], 7],
    [[{ outcome: 'stopped' }, { outcome: 'timeout' }], 6],
    [[{ outcome: 'lost' }, { outcome: 'timeout' }], 1],
    [[{ outcome: 'error' }, { outcome: 'stopped' }], 1],
  ];
  for (const [ends, code] of codes) {
    const outcomes = ends.map(({ outcome = 'success' }) => outcome);
    test(`ends with ${code} of what ended as ${outcomes.join(' and ')}, shows it and has told it`, async () => {
      using shelf = newShelf();
      for (const end of ends) shelf.end(shelf.start(), end, {});
      const { code: found, stdout } = await shelf.call(['wait', 'all']);
      expect({ code: found, shown: [...(stdout.match(/^(?:\d\) \w+|All pass\.)/gm) ?? [])] }).toEqual({
        code,
        shown: outcomes.flatMap((outcome, index) => [`${index + 1}) ${outcome}`, 'All pass.']),
      });
      expect(shelf.write((db) => undelivered(shelf.key, db))).toBe(0);
      expect((await shelf.call(['wait', 'all'])).stdout).toBe('No subagent is active.\n');
    });
  }

  test('leaves to be told what could not be written, and what is meant for the session of an agent', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start(), {}, {});
    const requester = sessionOf(shelf.key);
    shelf.end(shelf.start({ requester }), {}, {});
    for (const target of ['1', 'all']) await shelf.call(['wait', target], { written: async () => false });
    expect(shelf.write((db) => undelivered(shelf.key, db))).toBe(2);
    for (const target of ['1', '2', 'all']) expect((await shelf.call(['wait', target])).code).toBe(0);
    expect(shelf.write((db) => waitingAnnouncements(shelf.key, db))).toMatchObject([
      { number: 2, state: 'pending', attempts: 0 },
    ]);
  });

  test('holds what it shows until it is written, so that nobody else tells it, and what it does not show not', async () => {
    using shelf = newShelf();
    for (const _ of [1, 2]) shelf.end(shelf.start(), {}, {});
    const states = () => shelf.write((db) => db.all('SELECT state FROM outbox ORDER BY position'));
    let meanwhile: unknown[] = [];
    const written = async () => {
      meanwhile = states();
      return true;
    };
    await shelf.call(['wait', '1'], { written });
    expect(meanwhile).toEqual([{ state: 'leased' }, { state: 'pending' }]);
    expect(states()).toEqual([{ state: 'acked' }, { state: 'pending' }]);
  });

  test('shows a session who has stopped its run, and in words', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    shelf.start();
    const requester = sessionOf(shelf.key);
    shelf.queue({ label: 'next', requester });
    await shelf.call(['stop', 'next']);
    const env = { HOME: shelf.home.path, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 's-1' };
    const { code, stdout } = await shelf.call(['wait', 'all', '--timeout', '0'], { env });
    expect(code).toBe(8);
    expect(stdout).toContain('2) stopped · next · ');
    expect(stdout).toContain('\n   Stopped before it started: a person (subagents stop)\n');
    const single = await shelf.call(['wait', 'next'], { env });
    expect(single.code).toBe(7);
  });

  test('waits for the work and for the message behind it, and tells both apart', async () => {
    using shelf = newShelf();
    const work = shelf.start({ label: 'fix tests' });
    shelf.write((db) => appendTurn(messageTo(work.runId), db));
    const waiting = shelf.call(['wait', 'fix']);
    shelf.end(work, { outcome: 'error', error: 'broken' }, {});
    answer(shelf, work.runId, { result: 'Mended.' }, {});
    const { code, stdout } = await waiting;
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^1\) error · fix tests · [^\n]*\n {3}broken\nAll pass\.\n1\) success · fix tests · message, turn 2 · [^\n]*\nMended\.\n$/,
    );
    expect((await shelf.call(['list'])).stdout).toMatch(/^1\)\W+error\W+fix tests\b/m);
    const shown = await shelf.json<{ turns: object[] }>(['info', '1']);
    expect(shown.turns).toMatchObject([
      { kind: 'task', state: 'error', error: 'broken' },
      { kind: 'send', state: 'success' },
    ]);
    expect((await shelf.call(['info', '1'])).stdout).toContain('\nMessage, turn 2: success\n');
  });

  test('waits for all that are active, and tells progress meanwhile', async () => {
    using shelf = newShelf();
    const one = shelf.start();
    const two = shelf.start();
    shelf.end(shelf.start());
    const progress: string[] = [];
    // The end comes when the waiting has been seen.
    const seen = (text: string) => {
      if (progress.push(text) === 1) for (const turn of [one, two]) shelf.end(turn);
    };
    const stdout = printed(await shelf.call(['wait', 'all'], { progress: seen }));
    expect(stdout.match(/^\d\) success/gm)).toEqual(['1) success', '2) success']);
    expect([progress[0], progress.at(-1)]).toEqual(['waiting 1s: 2 running', '']);
  });

  test('stops when the time is over, and says that it goes on', async () => {
    using shelf = newShelf();
    shelf.start();
    const { code, stdout, stderr } = await shelf.call(['wait', '1', '--timeout', '0']);
    expect({ code, stderr }).toEqual({
      code: 8,
      stderr: '⏳ The wait timed out; what has not ended goes on.\n',
    });
    expect(stdout).toStartWith('1) running · ');
  });

  test('prints the same as JSON', async () => {
    using shelf = newShelf();
    const { runId } = shelf.end(shelf.start());
    expect(await shelf.json<object>(['wait', '1'])).toMatchObject({
      kind: 'ended',
      runs: [{ runId, number: 1, turn: 1, status: 'success', result: 'All pass.', error: null }],
    });
  });

  test('has nothing to wait for where nothing is active', async () => {
    using shelf = newShelf();
    expect(await shelf.call(['wait', 'all'])).toEqual(said('No subagent is active.\n'));
  });
});
