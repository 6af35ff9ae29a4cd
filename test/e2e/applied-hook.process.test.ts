import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { agentMark } from '../../src/runs/requester.ts';
import { type Home, hookFailures, temporaryHome } from '../support/home.ts';
import { runProgram } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';
import { CODE_HOOK, HOOK, RULE, seedSuggestion, storedSuggestion } from '../support/suggestions.ts';
import { treeBelow } from '../support/tree.ts';

/** The way of a suggested hook through the built program: applied, asked by the client's own line, taken back. */

setDefaultTimeout(60_000);
/** The program refuses to apply anything below an agent, as this test may be. */
const asPerson = test.skipIf(agentMark(process.env) !== undefined);

type Options = { stdin?: string; env?: Record<string, string>; cwd?: string };

function program(home: Home, words: readonly string[], options: Options = {}) {
  const env = { PATH: '/nowhere', ...options.env };
  return runProgram([BINARY, ...words], { ...options, home: home.path, env });
}

/** Installed, with one hook that is applied. Gives the line that the client runs, and an event to give it. */
async function applied(home: Home, form: 'exec' | 'shell' = 'exec') {
  const app = `${home.path}/app`;
  mkdirSync(app);
  const version = form === 'exec' ? '2.1.328' : '2.1.100';
  expect((await program(home, ['install', '--client-version', version])).exitCode).toBe(0);
  const { id } = seedSuggestion(home, HOOK, { project: 'app', projectPath: app });
  const result = await program(home, ['apply', id, '--yes'], { cwd: app });
  expect(result).toMatchObject({ exitCode: 0, stderr: '' });
  const { hooks } = JSON.parse(readFileSync(`${home.path}/.claude/settings.json`, 'utf8'));
  const { command, args = [] } = hooks.PreToolUse.at(-1).hooks[0];
  const line: string[] = form === 'exec' ? [command, ...args] : ['sh', '-c', command];
  const edit = (cwd: string, file: string, tool_name = 'Edit') => {
    const event = { hook_event_name: 'PreToolUse', session_id: 's', cwd, tool_name };
    return { cwd, stdin: JSON.stringify({ ...event, tool_input: { file_path: file } }) };
  };
  return { app, id, line, edit };
}

describe('hook applied', () => {
  for (const form of ['exec', 'shell'] as const) {
    asPerson(
      `says what was applied, in its project and nowhere else, and leaves no trace (${form} form)`,
      async () => {
        using home = temporaryHome();
        const { app, line, edit } = await applied(home, form);
        const other = `${home.path}/other`;
        mkdirSync(other);
        const before = Object.keys(treeBelow(home.path));
        const ask = (options: Options) => runProgram(line, { home: home.path, ...options });
        const { stdout, stderr, exitCode } = await ask(edit(app, `${app}/src/generated/a.ts`));
        expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
        expect(JSON.parse(stdout)).toEqual({
          hookSpecificOutput: { hookEventName: 'PreToolUse', additionalContext: HOOK.hook.text },
        });
        for (const quiet of [
          edit(app, `${app}/src/a.ts`),
          edit(app, `${app}/src/generated/a.ts`, 'Read'),
          edit(other, `${other}/src/generated/a.ts`),
          { ...edit(app, `${app}/src/generated/a.ts`), env: { SELF_GENERATION_INTERNAL: '1' } },
        ])
          expect(await ask(quiet)).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
        expect(Object.keys(treeBelow(home.path))).toEqual(before);
      },
    );
  }

  asPerson(
    'says nothing once it is taken back, and for an event that cannot be read; the log says why',
    async () => {
      using home = temporaryHome();
      const { app, id, line, edit } = await applied(home);
      const unreadable = { home: home.path, stdin: '{"hook_event_name":"PreToolUse"}' };
      expect(await runProgram(line, unreadable)).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
      expect((await program(home, ['undo', id, '--yes'])).exitCode).toBe(0);
      const late = await runProgram(line, { home: home.path, ...edit(app, `${app}/src/generated/a.ts`) });
      expect(late).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
      const failures = hookFailures(home.paths).map(({ hook, message }) => `${hook} ${message}`);
      expect(failures).toEqual([
        expect.stringContaining(`applied ${id} Error: Cannot read the event`),
        expect.stringContaining(`applied ${id} Error: Cannot answer: it is not applied`),
      ]);
    },
  );

  asPerson('is gone with uninstall', async () => {
    using home = temporaryHome();
    const { id } = await applied(home);
    expect((await program(home, ['uninstall'])).exitCode).toBe(0);
    const left = Object.keys(treeBelow(home.path)).filter((name) => !name.includes('/data'));
    expect(left).toEqual(['.self-generation', 'app']);
    expect(storedSuggestion(home, id).status).toBe('applied');
  });

  test('runs no code that an earlier version applied', async () => {
    using home = temporaryHome();
    const { id } = seedSuggestion(home, CODE_HOOK);
    const fires = `require('node:fs').writeFileSync('${home.path}/fired', '')`;
    home.put(`.self-generation/hooks/auto/${id}.mjs`, fires);
    const before = Object.keys(treeBelow(home.path));
    for (const word of ['script', 'applied']) {
      const stdin = '{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{}}';
      expect(await program(home, ['hook', word, id], { stdin })).toMatchObject({ exitCode: 0, stdout: '' });
    }
    expect(Object.keys(treeBelow(home.path)).filter((name) => !name.includes('/logs'))).toEqual(before);
  });

  test('never ends with 2, whatever it is called with', async () => {
    using home = temporaryHome();
    for (const words of ['applied', 'applied x', 'applied x y', 'script', 'nothing x']) {
      const { exitCode } = await program(home, ['hook', ...words.split(' ')], { stdin: '{}' });
      expect([0, 1]).toContain(exitCode ?? -1);
    }
  });
});

describe('an agent', () => {
  const MARKS = [
    ...['CLAUDECODE', 'CLAUDE_CODE_SESSION_ID', 'CODEX_THREAD_ID', 'CODEX_CI', 'GEMINI_CLI', 'OPENCODE'],
    ...['AI_AGENT', 'SELF_GENERATION_RUN'],
  ];

  test('cannot apply, resolve, withdraw, forget or set, also when it takes the variable away', async () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/app`);
    const { id } = seedSuggestion(home, RULE, { project: 'app', projectPath: `${home.path}/app` });
    const calls = [
      ...[`apply ${id} --yes`, 'config set language en', 'config unset language', 'install --lessons daily'],
      ...['errors resolve 1 x', 'errors withdraw 1', 'errors forget 1'],
    ];
    for (const mark of MARKS) {
      const env = { [mark]: '1', PATH: process.env.PATH ?? '' };
      for (const words of mark === 'CODEX_CI' ? calls : calls.slice(0, 1)) {
        for (const line of [`${BINARY} ${words}`, `env -u ${mark} ${BINARY} ${words}`]) {
          const result = await runProgram(['sh', '-c', `${line}; exit $?`], { home: home.path, env });
          expect(result.exitCode, line).toBe(1);
          expect(result.stderr, line).toContain('in a terminal of your own');
        }
      }
    }
    expect(storedSuggestion(home, id).status).toBe('new');
  });
});
