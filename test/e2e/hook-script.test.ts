import { describe, expect, test } from 'bun:test';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type Home, hookFailures, temporaryHome } from '../support/home.ts';
import { runProgram } from '../support/hook-process.ts';
import { agentStart } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';
import { HOOK, seedSuggestion } from '../support/suggestions.ts';
import { treeBelow } from '../support/tree.ts';

/** The way of a suggested hook through the built program: shown, enabled, run by the client's own line, taken back. */

const TIMEOUT_MS = 60_000;
const CODE = `import { readFileSync } from 'node:fs';
const event = JSON.parse(readFileSync(0, 'utf8'));
const seen = { file: event.tool_input.file_path, from: process.env.FROM_FILE, bun: Object.keys(process.env).filter((name) => name.startsWith('BUN')) };
const text = JSON.stringify({ hookSpecificOutput: { hookEventName: event.hook_event_name, additionalContext: JSON.stringify(seen) } });
console.log(text);
`;

type Settings = {
  hooks: Record<string, { matcher?: string; hooks: { command: string; args: string[] }[] }[]>;
};

function program(
  home: Home,
  words: readonly string[],
  options: { stdin?: string; env?: object; cwd?: string } = {},
) {
  const env = { PATH: '/nowhere', ...options.env };
  return runProgram([BINARY, ...words], { ...options, home: home.path, env });
}

/** Installed, with one hook that is applied. Gives the line that the client runs, and the event to give it. */
async function applied(home: Home, form: 'exec' | 'shell' = 'exec') {
  const app = `${home.path}/app`;
  mkdirSync(app);
  const version = form === 'exec' ? '2.1.328' : '2.1.100';
  expect((await program(home, ['install', '--client-version', version])).exitCode).toBe(0);
  const { id } = seedSuggestion(home, { ...HOOK, hookCode: CODE }, { project: 'app', projectPath: app });
  const result = await program(home, ['apply', id, '--enable-hook', '--yes'], { cwd: app });
  expect(result).toMatchObject({ exitCode: 0, stderr: '' });
  const settings: Settings = JSON.parse(readFileSync(`${home.path}/.claude/settings.json`, 'utf8'));
  const entry = settings.hooks.PreToolUse?.at(-1)?.hooks[0];
  const line =
    form === 'exec' ? [entry?.command ?? '', ...(entry?.args ?? [])] : ['sh', '-c', entry?.command ?? ''];
  const event = JSON.stringify({
    hook_event_name: 'PreToolUse',
    cwd: app,
    tool_input: { file_path: '/a b' },
  });
  return { app, id, line, event };
}

describe('hook script', () => {
  for (const form of ['exec', 'shell'] as const) {
    test(
      `runs an applied hook by the line in the settings (${form} form), and nothing around it has an effect`,
      async () => {
        using home = temporaryHome();
        const { app, line, event } = await applied(home, form);
        writeFileSync(`${app}/bunfig.toml`, 'preload = ["./fire.ts"]\n');
        writeFileSync(`${app}/fire.ts`, `require('node:fs').writeFileSync('${home.path}/fired', '');`);
        writeFileSync(`${app}/.env`, 'FROM_FILE=1\nSELF_GENERATION_INTERNAL=1\n');
        writeFileSync(`${app}/package.json`, '{"type":"commonjs","browser":{"node:fs":"./fire.ts"}}');
        writeFileSync(`${app}/tsconfig.json`, '{"compilerOptions":{"paths":{"node:fs":["./fire.ts"]}}}');
        const before = Object.keys(treeBelow(home.path));
        const result = await runProgram(line, { home: home.path, cwd: app, stdin: event });
        expect(result).toMatchObject({ exitCode: 0, stderr: '' });
        const { hookSpecificOutput, ...others } = JSON.parse(result.stdout);
        expect(others).toEqual({});
        expect(hookSpecificOutput.hookEventName).toBe('PreToolUse');
        expect(JSON.parse(hookSpecificOutput.additionalContext)).toEqual({
          file: '/a b',
          bun: ['BUN_BE_BUN'],
        });
        expect(Object.keys(treeBelow(home.path))).toEqual(before);
        expect(existsSync(`${home.path}/fired`)).toBe(false);
      },
      TIMEOUT_MS,
    );
  }

  test(
    'does not run it once its file is another, nor in a session of our own; then it says nothing',
    async () => {
      using home = temporaryHome();
      const { app, id, line, event } = await applied(home);
      const run = (env = {}) => runProgram(line, { home: home.path, cwd: app, stdin: event, env });
      expect((await run({ SELF_GENERATION_INTERNAL: '1' })).stdout).toBe('');
      expect((await run()).stdout).not.toBe('');
      appendFileSync(`${home.paths.scripts}/${id}.mjs`, ' ');
      expect(await run()).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
      expect(hookFailures(home.paths).map(({ hook }) => hook)).toEqual([`script ${id}`]);
    },
    TIMEOUT_MS,
  );

  test(
    'is gone with uninstall, which leaves no trace of it',
    async () => {
      using home = temporaryHome();
      const { line, event, app } = await applied(home);
      expect((await program(home, ['uninstall'])).exitCode).toBe(0);
      expect(Object.keys(treeBelow(home.path)).filter((name) => !name.includes('/data'))).toEqual([
        '.self-generation',
        'app',
      ]);
      expect(existsSync(line[0] ?? '')).toBe(false);
      expect(
        (await program(home, ['hook', 'script', 's000000000'], { stdin: event, cwd: app })).exitCode,
      ).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    'never ends with 2, and does not get in the way of the other hooks',
    async () => {
      using home = temporaryHome();
      for (const words of [['script'], ['script', 'x'], ['script', 'x', 'y'], ['nothing', 'x']]) {
        const { exitCode } = await program(home, ['hook', ...words], { stdin: '{}' });
        expect([0, 1]).toContain(exitCode ?? -1);
      }
      const stdin = JSON.stringify(agentStart('executor'));
      expect(await program(home, ['hook', 'subagent-context'], { stdin })).toMatchObject({
        exitCode: 0,
        stderr: '',
      });
    },
    TIMEOUT_MS,
  );
});
