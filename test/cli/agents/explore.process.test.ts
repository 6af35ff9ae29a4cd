import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { exploreCommand } from '../../../src/cli/agents/explore.ts';
import { readRuns } from '../../../src/runs/store/rows.ts';
import { getRun } from '../../../src/runs/store/runs.ts';
import { RUN_VARIABLE } from '../../../src/system/process-identity.ts';
import { withMarker } from '../../../src/system/processes.ts';
import { PATH, runsHome } from '../../runs/runs-home.ts';
import { BINARY } from '../../support/program.ts';
import { startOnTerminal } from '../../support/terminal.ts';
import { callIn, ENGLISH } from '../agents.ts';

setDefaultTimeout(60_000);

describe('explore', () => {
  test('tells the result on standard output, and what is known of it on the other', async () => {
    await using here = runsHome(ENGLISH);
    here.home.put('project/a.ts', 'one\ntwo\n');
    const { code, stdout, stderr } = await callIn(here, exploreCommand, [
      '[[read a.ts]]',
      '[[answer See a.ts:1 and src/b.ts.]]',
    ]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        '=== EXPLORATION RESULTS ===\nSee a.ts:1 and src/b.ts (unverified).\n===========================\n',
    });
    expect(stderr).toMatch(
      /^(?:waiting: .*\n)*completed · run #1 · 1 tool call · 240 tokens · \ds\nRead:\n {2}a\.ts:1-2\n$/,
    );
    expect(here.waiting()).toEqual([]);
  });

  test('as JSON is one document with the words and the parts of the result', async () => {
    await using here = runsHome(ENGLISH);
    here.home.put('project/a.ts', 'one\n');
    const { code, stdout, stderr } = await callIn(here, exploreCommand, [
      '--json',
      '[[read a.ts]] [[answer a.ts]]',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      text: '=== EXPLORATION RESULTS ===\na.ts\n===========================',
      status: 'completed',
      output: 'a.ts',
      artifacts: { filesRead: [{ path: `${here.project}/a.ts`, lines: [{ from: 1, to: 1 }] }] },
      run: { number: 1, turn: 1 },
      errors: [],
    });
  });

  const codes: [what: string, words: string[], code: number, said: RegExp][] = [
    ['fails', ['[[error-result 1]]'], 1, /^Exploration failed: the service is overloaded$/m],
    [
      'is incomplete at its limit',
      ['--max-iterations', '1', '[[calls 3 1]] [[hang]]'],
      6,
      /^as far as it came$/m,
    ],
    ['is incomplete at its time', ['--timeout', '1', '[[hang]]'], 6, /^as far as it came$/m],
    ['is called without a query', [], 2, /^⚙️ Usage: self-generation explore \[options\] QUERY$/m],
    [
      'has a client that is not there',
      ['--client', 'codex', 'x'],
      1,
      /^Exploration failed: codex is not on the PATH/m,
    ],
    ['is given a thinking level that is none', ['--thinking', 'hard', 'x'], 2, /Allowed choices/],
    ['is given a limit of nothing', ['--max-usd', '0', 'x'], 2, /It is a number above 0/],
  ];
  test.each(codes)('that %s has an exit code for it', async (_, words, code, said) => {
    await using here = runsHome(ENGLISH);
    const answer = await callIn(here, exploreCommand, words);
    expect(answer.code).toBe(code);
    expect(answer.stdout + answer.stderr).toMatch(said);
  });

  test('has its limits, its client and its model from its flags', async () => {
    await using here = runsHome(ENGLISH);
    const flags = ['--client', 'claude', '--model', 'opus', '--thinking', 'low', '--timeout', '2m'];
    const limits = ['--max-iterations', '3', '--max-tokens', '5000', '--max-usd', '0.5'];
    const { stdout } = await callIn(here, exploreCommand, ['--json', ...flags, ...limits, 'x']);
    const { runId } = JSON.parse(stdout).run;
    expect(readRuns(here.world.paths, (db) => getRun(runId, db)?.run)).toMatchObject({
      ...{ client: 'claude', thinking: 'low', runTimeoutMs: 120_000, model: { resolved: 'opus' } },
      profile: {
        kind: 'explore',
        limits: { iterations: 3, tokens: 5000, usd: 0.5, observationChars: 400_000 },
      },
      handover: null,
    });
  });

  test('says what there is to say of it, such as rules of the project that it is not given', async () => {
    await using here = runsHome(ENGLISH);
    here.home.put('project/CLAUDE.md', 'Be careful.');
    const { stderr } = await callIn(here, exploreCommand, ['x']);
    expect(stderr).toMatch(/^warning: the project has CLAUDE\.md and no AGENTS\.md/m);
  });

  test('reads its query from standard input', async () => {
    await using here = runsHome(ENGLISH);
    const command = (context: Parameters<typeof exploreCommand>[0]) =>
      exploreCommand(context, async () => '[[answer read]]\n');
    expect((await callIn(here, command, ['-'])).stdout).toContain('\nread\n');
  });

  test('is refused inside of a run', async () => {
    await using here = runsHome(ENGLISH);
    const env = { HOME: here.home.path, PATH, [RUN_VARIABLE]: `${'a'.repeat(32)}/1` };
    const { code, stderr } = await callIn(here, exploreCommand, ['x'], { env });
    expect({ code, stderr }).toMatchObject({ code: 4, stderr: expect.stringContaining('not allowed') });
  });

  test('on a terminal shows its progress, and Ctrl-C stops it and leaves no process', async () => {
    await using here = runsHome(ENGLISH);
    const note = `${here.home.path}/note`;
    const env = { HOME: here.home.path, PATH, LANG: 'C.UTF-8' };
    const words = [BINARY, 'explore', `[[note ${note}]] [[messages 2]] [[hang]]`];
    await using terminal = startOnTerminal(words, { cwd: here.project, env });
    await here.until(
      'it shows what is done',
      () => terminal.shown().includes('#1 running') && existsSync(note),
    );
    terminal.type('\x03');
    expect(await terminal.exited).toBe(130);
    expect(terminal.shown()).toContain('Exploration failed: stopped by Ctrl-C');
    expect(terminal.shown()).toContain('cancelled · run #1');
    const [pid] = readFileSync(note, 'utf8').split(' ');
    expect(() => process.kill(Number(pid), 0)).toThrow();
    await here.until('all are gone', () => withMarker({ name: 'HOME', value: here.home.path }).length === 0);
  });
});
