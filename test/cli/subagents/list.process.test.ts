import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, utimesSync } from 'node:fs';
import { turnFiles } from '../../../src/runs/model/run.ts';
import { NO_USAGE } from '../../../src/runs/model/turn.ts';
import { reword } from '../../../src/runs/store/outbox.ts';
import { setArchived } from '../../../src/runs/store/rows.ts';
import { changeRun } from '../../../src/runs/store/runs.ts';
import { appendTurn } from '../../../src/runs/store/turns.ts';
import { childKeyOf } from '../../support/made-run.ts';
import { printed, refused } from '../call.ts';
import { ELSEWHERE, messageTo, NOW_MS, newShelf, ONE_AT_A_TIME, type Shelf, sessionOf } from './shelf.ts';

const id = (beginning: string) => beginning.padEnd(32, '0');

async function lines(shelf: Shelf, words: readonly string[] = []): Promise<string[]> {
  return printed(await shelf.call(words))
    .trimEnd()
    .split('\n');
}

describe('subagents list', () => {
  test('shows the runs of this project, the newest first, as `subagents` alone does', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    const usage = { ...NO_USAGE, costUsd: 0.0412, costSource: 'client' } as const;
    shelf.end(shelf.start({ label: 'fix tests' }), { usage });
    shelf.end(shelf.start(), { outcome: 'error', error: 'broken' }, { status: 'error' });
    shelf.start({ label: 'docs' });
    for (const label of ['next', 'later']) shelf.queue({ label });
    const expected = [
      '🧭 Subagents (this project)',
      'Active: 3 · Done: 2',
      '5)  queued (2nd)  later           25 min ago                     cost n/a',
      '4)  queued (1st)  next            25 min ago                     cost n/a',
      '3)  running       docs            15m0s       active 15 min ago  cost n/a',
      '2)  error         Fix the tests.  5m12s       ended 9 min ago    cost n/a  undelivered',
      '1)  success       fix tests       5m12s       ended 9 min ago    $0.04',
    ];
    expect(await lines(shelf, ['list'])).toEqual(expected);
    expect(await lines(shelf)).toEqual(expected);
    expect(existsSync(`${shelf.home.paths.home}/logs/runs.log`)).toBe(false);
  });

  test('shows the messages that wait beside the state of what works, and leaves room for the label', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    const busy = shelf.start({ label: 'busy with a rather long name' });
    for (const message of ['and now?', 'and then?'])
      shelf.write((db) => appendTurn(messageTo(busy.runId, '', message), db));
    const state = '1)  running · 2 waiting  busy with a ';
    const rest = '  15m0s  active 15 min ago  cost n/a';
    expect((await lines(shelf))[2]).toBe(`${state}rather long name${rest}`);
    const narrow = printed(await shelf.call([], { screen: () => ({ columns: 80, rows: 24 }) }));
    expect(narrow.split('\n')[2]).toBe(`${state}rather…${rest}`);
  });

  test('says of a run that never started when it ended, and no runtime', async () => {
    using shelf = newShelf();
    shelf.end(shelf.queue({ label: 'never' }), { outcome: 'error', error: 'no worktree' });
    expect((await lines(shelf))[2]).toBe('1)  error  never  n/a  ended 9 min ago  cost n/a');
  });

  test('says that there is none, and makes no database for it', async () => {
    using shelf = newShelf();
    expect(await lines(shelf)).toEqual(['🧭 Subagents: none in this project.']);
    expect(existsSync(shelf.home.paths.runsDatabase)).toBe(false);
  });

  test('shows the runs of other sessions of the project, and of other projects only with --all-projects', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start({ label: 'of a session', requester: sessionOf(shelf.key) }));
    shelf.end(shelf.start({ label: 'elsewhere', requester: sessionOf(ELSEWHERE.key) }));
    expect((await lines(shelf)).filter((line) => line.includes('success'))).toHaveLength(1);
    const all = await lines(shelf, ['--all-projects']);
    expect(all[0]).toBe('🧭 Subagents (all projects)');
    expect(all.filter((line) => line.includes('success'))).toHaveLength(2);
    expect(all).toContain('   agent:main:other-1');
  });

  test('hides archived runs without --all', async () => {
    using shelf = newShelf();
    const { runId } = shelf.end(shelf.start({ label: 'old' }));
    shelf.write((db) => setArchived(runId, NOW_MS, db));
    expect(await lines(shelf)).toEqual(['🧭 Subagents: none in this project.']);
    expect((await lines(shelf, ['list', '--all'])).at(-1)).toStartWith('1)  success  old  5m12s  ');
    expect((await lines(shelf, ['list', '--all'])).at(-1)).toEndWith('  archived');
  });

  test('marks a failure of which the sub-agent had nothing told', async () => {
    using shelf = newShelf();
    const turn = shelf.start({ label: 'silent' });
    shelf.end(turn, { outcome: 'error' }, { status: 'error', readyAtMs: NOW_MS + 1 });
    shelf.write((db) => reword(turn.runId, 1, { skip: true, nowMs: NOW_MS }, db));
    expect((await lines(shelf)).at(-1)).toMatch(/^1\) {2}error {2}silent .* announce skipped$/);
  });

  test('names a worktree that was left', async () => {
    using shelf = newShelf();
    const turn = shelf.end(shelf.start());
    const path = `${shelf.home.path}/tree`;
    mkdirSync(path);
    const worktree = { path, branch: 'subagent/x', repository: shelf.project };
    shelf.write((db) => changeRun(turn.runId, { worktree }, db));
    expect((await lines(shelf)).at(-1)).toEndWith('  worktree');
  });

  test('lets no text of a task move the cursor or look like another line', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start({ task: '\u001b[2Jfix\n9) success · \u202eall' }));
    const last = (await lines(shelf)).at(-1);
    expect(last).toStartWith('1)  success  <U+001B>[2Jfix 9) success · <U+202E>all  ');
  });

  for (const columns of [40, 60, 120]) {
    test(`fits ${columns} columns of a terminal, wide characters and all`, async () => {
      using shelf = newShelf();
      const screen = () => ({ columns, rows: 40 });
      const usage = { ...NO_USAGE, costUsd: 12.5, costSource: 'client' } as const;
      const long = '결제 모듈의 테스트를 모두 실행하고 실패한 것을 고쳐 주세요 👩‍👩‍👧‍👦 '.repeat(4);
      shelf.end(shelf.start({ label: long }), { usage }, {});
      shelf.start({ task: 'Run the tests and say which fail. '.repeat(9) });
      for (const words of [['list'], ['list', '--all-projects']]) {
        const { stdout } = await shelf.call(words, { screen });
        const rows = stdout.trimEnd().split('\n').slice(2);
        const widths = rows.map((row) => Bun.stringWidth(row));
        expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
        if (columns === 120) expect(stdout).toContain('undelivered');
        expect(stdout).toContain('Run the');
        expect(stdout).toContain('결제');
      }
    });
  }

  test('leaves out what conversations and orchestrations consist of, unless --parts asks for it', async () => {
    using shelf = newShelf();
    const part = { kind: 'orchestration', id: 'o1', name: 'review.1' } as const;
    const profile = {
      kind: 'ask',
      limits: { iterations: null, tokens: null, usd: null, observationChars: null },
    } as const;
    shelf.start({ label: 'docs' });
    shelf.start({ task: 'Judge it.', part, profile });
    expect((await lines(shelf)).slice(1)).toEqual(['Active: 1 · Done: 0', expect.stringContaining('docs')]);
    const { stdout } = await shelf.call(['list', '--parts']);
    expect(stdout).toContain('Active: 2 · Done: 0');
    expect(stdout).toMatch(/\n2\) {2}running {2}Judge it\. .* orchestration review\.1\n/);
    const info = (await shelf.call(['info', '2'])).stdout;
    expect(info).toContain('\nPart of: orchestration o1, review.1\n');
    expect(info).toContain('\nProfile: ask, which has no tools\n');
    expect((await shelf.call(['info', 'last'])).stdout).toContain('Label: docs\n');
    expect(JSON.parse((await shelf.call(['info', '2', '--json'])).stdout).part).toEqual(part);
  });

  test('tells when a run last said something, by what the client has written', async () => {
    using shelf = newShelf();
    const turn = shelf.start({ label: 'docs' });
    shelf.say(turn, []);
    const { output } = turnFiles(shelf.home.paths, turn.runId, 1);
    utimesSync(output, NOW_MS / 1000, NOW_MS / 1000 - 5);
    expect((await lines(shelf)).at(-1)).toBe('1)  running  docs  15m0s  active 5 s ago  cost n/a');
  });

  const screen = () => ({ columns: 80, rows: 24 });

  test('--watch draws the list over itself until nothing is active', async () => {
    using shelf = newShelf();
    const turn = shelf.start({ label: 'docs' });
    const drawn: string[] = [];
    const stdout = (text: string) => {
      if (drawn.push(text) === 1) shelf.end(turn);
    };
    expect((await shelf.call(['list', '--watch'], { screen, verbatim: stdout })).code).toBe(0);
    expect(drawn.map((text) => text.split('\n')[2]?.slice(0, 12))).toEqual(['1)  running ', '1)  success ']);
    expect(drawn[1]).toStartWith('\x1b[3A\x1b[J🧭 ');
  });

  test('--watch refuses a pipe, and JSON, and says what to do there', async () => {
    using shelf = newShelf();
    const words =
      /Cannot watch the list: standard output is no terminal.*"self-generation subagents wait all"/;
    expect(await shelf.call(['--watch'])).toEqual(refused(2, expect.stringMatching(words)));
    const asJson = await shelf.call(['list', '--watch', '--json'], { screen });
    expect(JSON.parse(asJson.stdout)).toMatchObject({ error: { code: 'usage' } });
  });

  test('shows 50 at most and says how many more there are', async () => {
    using shelf = newShelf();
    for (let index = 0; index < 52; index++) shelf.end(shelf.start());
    const shown = await lines(shelf);
    expect(shown).toHaveLength(53);
    expect(shown.at(-1)).toBe('2 more: --limit 52');
    expect(await lines(shelf, ['--limit', '52'])).toHaveLength(54);
    expect(await lines(shelf, ['list', '--limit', '1'])).toHaveLength(4);
  });

  test('prints the same as JSON', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    shelf.start({ id: id('cccc3333'), label: 'docs' });
    shelf.queue({ id: id('dddd4444'), task: 'next\u009b' });
    const { stdout } = await shelf.call(['--json']);
    expect(stdout).toContain('"task": "next\\u009b"');
    const { runs, ...rest } = JSON.parse(stdout) as { runs: object[] };
    expect(rest).toEqual({ requester: shelf.key, active: 2, done: 0 });
    const running = { number: 1, status: 'running', queuePosition: null, label: 'docs' };
    const names = { runId: id('cccc3333'), childSessionKey: childKeyOf(id('cccc3333')) };
    const began = { startedAt: '2026-11-20T09:45:00.000Z', runtimeMs: 900_000 };
    expect(runs).toMatchObject([
      { number: 2, status: 'queued', queuePosition: 1, label: null },
      { ...running, ...names, ...began, usage: NO_USAGE, delivery: 'none' },
    ]);
    expect(await shelf.json<unknown>(['list'])).toEqual({ runs, ...rest });
  });

  for (const words of ['nothing', 'list --limit 0', 'list --limit many', 'list --nonsense'])
    test(`${words} is a wrong call`, async () => {
      using shelf = newShelf();
      expect(await shelf.call(words.split(' '))).toEqual(refused(2, expect.stringMatching(/^error: /)));
    });

  test('--help names every command, the exit codes and how runs are named', async () => {
    using shelf = newShelf();
    const stdout = printed(await shelf.call(['--help']));
    for (const name of ['spawn', 'list', 'stop', 'log', 'info', 'send', 'wait', 'retry', 'inbox', 'dismiss'])
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect(stdout).toContain('3 not found or ambiguous, 4 forbidden, 5 limit reached');
    expect(stdout.trimEnd()).toEndWith('Ids: use the list index (#), runId prefix, or full session key.');
  });
});
