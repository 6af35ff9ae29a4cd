import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { resolve } from 'node:path';
import type { Applied } from '../../../src/learn/apply/applied.ts';
import { scriptPath, scriptText } from '../../../src/learn/apply/hook-script.ts';
import { decideSuggestion } from '../../../src/store/suggestions.ts';
import { type Home, hookFailures, temporaryHome } from '../../support/home.ts';
import { type Environment, runProgram } from '../../support/hook-process.ts';
import { withDatabase } from '../../support/seed.ts';
import { HOOK, seedSuggestion } from '../../support/suggestions.ts';
import { treeBelow } from '../../support/tree.ts';

const MAIN = resolve(import.meta.dir, 'hook-script.main.ts');
const TIMEOUT_MS = 30_000;

/** Applies this code without the audit, as if it had not seen through it. Gives the suggestion's id. */
function applied(home: Home, code: string, projectPath = ''): string {
  const suggestion = seedSuggestion(home, { ...HOOK, hookCode: code }, { projectPath });
  const { id } = suggestion;
  const text = scriptText(id, code);
  home.put(`.self-generation/hooks/auto/${id}.mjs`, text);
  const record: Applied = {
    kind: 'hook',
    scope: 'global',
    path: scriptPath(id, home.paths),
    root: home.paths.home,
    directories: [],
    sha256: createHash('sha256').update(text).digest('hex'),
    event: 'PreToolUse',
    settings: `${home.path}/.claude/settings.json`,
    projectPath,
  };
  withDatabase(home.paths, (db) =>
    decideSuggestion(suggestion, { kind: 'applied', applied: record }, '2026-11-20T10:00:00.000Z', db),
  );
  return id;
}

type RunOptions = { readonly env?: Environment; readonly cwd?: string; readonly stdin?: string };

function run(home: Home, id: string, { env, ...options }: RunOptions = {}) {
  return runProgram([process.execPath, MAIN, id], {
    home: home.path,
    stdin: JSON.stringify({ cwd: home.path }),
    // What stands for the program here is source, which the runtime would keep a form of in this home.
    env: { BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0', ...env },
    ...options,
  });
}

const SILENT = { exitCode: 0, stdout: '', stderr: '' };
const failures = (home: Home) => hookFailures(home.paths).map(({ message }) => message);

describe('runHookScript()', () => {
  test(
    'gives the script the event, and the client what it says',
    async () => {
      using home = temporaryHome();
      const id = applied(
        home,
        `#!/usr/bin/env node
import { readFileSync } from 'node:fs';
const event = JSON.parse(readFileSync(0, 'utf8'));
console.error('aside');
console.log(JSON.stringify({ said: event.prompt, cwd: process.cwd(), own: process.env.MINE, internal: process.env.SELF_GENERATION_INTERNAL }));`,
      );
      const before = treeBelow(home.path);
      const prompt = '한글 \u2028 🎉 "quoted"';
      const result = await run(home, id, { stdin: `${JSON.stringify({ prompt })}\n`, env: { MINE: '1' } });
      expect(result).toMatchObject({ exitCode: 0, stderr: 'aside\n' });
      expect(JSON.parse(result.stdout)).toEqual({ said: prompt, cwd: home.path, own: '1' });
      expect(Object.keys(treeBelow(home.path))).toEqual(Object.keys(before));
    },
    TIMEOUT_MS,
  );

  test(
    'never runs a file that is not byte for byte what was applied',
    async () => {
      using home = temporaryHome();
      const id = applied(home, "console.log('ran');");
      const path = scriptPath(id, home.paths);
      expect((await run(home, id)).stdout).toBe('ran\n');
      const { atime, mtime } = statSync(path);
      appendFileSync(path, ' ');
      utimesSync(path, atime, mtime);
      expect(await run(home, id)).toMatchObject(SILENT);
      writeFileSync(path, Buffer.from([0xff, 0xfe]));
      expect(await run(home, id)).toMatchObject(SILENT);
      rmSync(path);
      expect(await run(home, id)).toMatchObject(SILENT);
      expect(failures(home)).toEqual([
        'Cannot run the script: the file is not as it was when it was applied',
        'Cannot run the script: the file is not as it was when it was applied',
        expect.stringContaining('ENOENT'),
      ]);
    },
    TIMEOUT_MS,
  );

  const notApplied: [string, (home: Home, id: string) => string][] = [
    ['an id that leads elsewhere', () => '../../x'],
    ['no id', () => ''],
    ['an unknown id', () => 's000000000'],
    ['the beginning of an id', (_, id) => id.slice(0, -1)],
    [
      'a suggestion that was taken back',
      (home, id) => {
        withDatabase(home.paths, (db) => db.sqlite.run("UPDATE suggestions SET status = 'shown'"));
        return id;
      },
    ],
    [
      'another kind of record',
      (home, id) => {
        withDatabase(home.paths, (db) => db.sqlite.run("UPDATE suggestions SET applied = '{}'"));
        return id;
      },
    ],
    [
      'no database',
      (home, id) => {
        rmSync(home.paths.data, { recursive: true });
        return id;
      },
    ],
    [
      'a database that is none',
      (home, id) => {
        writeFileSync(home.paths.database, 'x'.repeat(5000));
        return id;
      },
    ],
  ];
  for (const [name, prepare] of notApplied) {
    test(
      `runs nothing for ${name}, and notes it`,
      async () => {
        using home = temporaryHome();
        const id = applied(home, "console.log('ran');");
        expect(await run(home, prepare(home, id))).toMatchObject(SILENT);
        expect(failures(home)).toHaveLength(1);
      },
      TIMEOUT_MS,
    );
  }

  const switchedOff: [string, (home: Home) => Environment][] = [
    ['in a session of our own', () => ({ SELF_GENERATION_INTERNAL: '1' })],
    [
      'when it is switched off',
      (home) => {
        home.writeConfig({ enabled: false });
        return {};
      },
    ],
  ];
  for (const [name, prepare] of switchedOff) {
    test(
      `does nothing ${name}`,
      async () => {
        using home = temporaryHome();
        const id = applied(home, "console.log('ran');");
        expect(await run(home, id, { env: prepare(home) })).toMatchObject(SILENT);
        expect(failures(home)).toEqual([]);
      },
      TIMEOUT_MS,
    );
  }

  test(
    'does nothing in another project than its own',
    async () => {
      using home = temporaryHome();
      const id = applied(home, "console.log('ran');", '/home/dev/app');
      const at = (cwd: string, env: Environment = {}) =>
        run(home, id, { stdin: JSON.stringify({ cwd }), env }).then(({ stdout }) => stdout);
      expect(await at('/home/dev/app')).toBe('ran\n');
      expect(await at('/home/dev/app/src', { CLAUDE_PROJECT_DIR: '/home/dev/app/' })).toBe('ran\n');
      expect(await at('/home/dev/other')).toBe('');
      expect(await at('/home/dev/app', { CLAUDE_PROJECT_DIR: '/home/dev/other' })).toBe('');
      expect(failures(home)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  const failing: [string, string, string][] = [
    ['throws', "console.log('half'); throw new Error('no');", 'ended with 1'],
    ['wants to veto', "console.log('{}'); process.exit(2);", 'ended with 2'],
    ['is no JavaScript', 'const = 1;', 'ended with 1'],
    ['never ends', "console.log('half'); setInterval(() => {}, 1000);", 'ended after 5000 ms'],
  ];
  for (const [name, code, reason] of failing) {
    test(
      `gives nothing of a script that ${name}`,
      async () => {
        using home = temporaryHome();
        expect(await run(home, applied(home, code))).toMatchObject(SILENT);
        expect(failures(home)).toEqual([expect.stringContaining(reason)]);
      },
      TIMEOUT_MS,
    );
  }

  test(
    'runs nothing on an input that is no event',
    async () => {
      using home = temporaryHome();
      const id = applied(home, "console.log('ran');");
      for (const stdin of ['', 'not JSON', '{"a":'])
        expect(await run(home, id, { stdin })).toMatchObject(SILENT);
      expect(failures(home)).toHaveLength(3);
    },
    TIMEOUT_MS,
  );

  test(
    'is not changed by the directory or the environment that it is run in',
    async () => {
      using home = temporaryHome();
      const id = applied(
        home,
        `import { existsSync } from 'node:fs'; console.log(typeof existsSync('/'), process.env.FROM_FILE, process.env.BUN_OPTIONS);`,
      );
      const cwd = `${home.path}/repository`;
      mkdirSync(cwd);
      const fire = `require('node:fs').writeFileSync(${JSON.stringify(`${home.path}/fired`)}, '');`;
      for (const folder of [cwd, home.paths.scripts]) {
        writeFileSync(`${folder}/bunfig.toml`, 'preload = ["./fire.ts"]\n');
        writeFileSync(`${folder}/fire.ts`, fire);
        writeFileSync(`${folder}/.env`, 'FROM_FILE=1\n');
        writeFileSync(`${folder}/tsconfig.json`, '{"compilerOptions":{"paths":{"node:fs":["./fire.ts"]}}}');
        writeFileSync(`${folder}/package.json`, '{"type":"commonjs","browser":{"node:fs":"./fire.ts"}}');
      }
      const env = {
        BUN_OPTIONS: `--preload=${cwd}/fire.ts`,
        NODE_OPTIONS: `--require=${cwd}/fire.ts`,
        BUN_INSPECT: 'ws://localhost:1/x',
      };
      // The variables would change the process that stands for the program here as well, so they come in by its input.
      const child = `const { runHookScript } = await import(${JSON.stringify(resolve(import.meta.dir, '../../../src/learn/apply/hook-script.ts'))});
const { runCommand } = await import(${JSON.stringify(resolve(import.meta.dir, '../../../src/sys/run-command.ts'))});
const { statePaths } = await import(${JSON.stringify(resolve(import.meta.dir, '../../../src/core/state-paths.ts'))});
const env = { ...process.env, ...${JSON.stringify(env)} };
const output = await runHookScript({ id: ${JSON.stringify(id)}, env, paths: statePaths(env, 'linux'), now: new Date(), cwd: ${JSON.stringify(cwd)}, executablePath: process.execPath, run: runCommand });
process.stdout.write(JSON.stringify(output));`;
      const result = await runProgram([process.execPath, '-e', child], { home: home.path, stdin: '{}' });
      expect(JSON.parse(result.stdout)).toEqual({
        kind: 'exited',
        code: 0,
        stdout: 'boolean undefined undefined\n',
        stderr: '',
      });
      expect(existsSync(`${home.path}/fired`)).toBe(false);
    },
    TIMEOUT_MS,
  );

  test(
    'takes away what could make code out of text, whatever the audit has overlooked',
    async () => {
      using home = temporaryHome();
      const code = `const key = 'con' + 'structor';
const makers = [() => [][key][key], () => (() => 1)[key], () => (async () => 1)[key], () => (function* () {})[key], () => (async function* () {})[key], () => (class {})[key], () => (() => 1).bind()[key]];
const made = makers.map((make) => { try { return typeof make()("return 'made'"); } catch { return 'refused'; } });
const whole = [(function () { return this; })(), typeof module, typeof exports];
console.log(JSON.stringify({ made, whole }));
class Still { works = new Map([[1, [2]]]); constructor() { this.x = structuredClone({ a: 1 }); } }
console.log(new Still().works.get(1)[0]);`;
      const { stdout } = await run(home, applied(home, code));
      const [first = '', second] = stdout.split('\n');
      const { made, whole } = JSON.parse(first);
      expect(made).not.toContain('function');
      expect(whole).toEqual([null, 'undefined', 'undefined']);
      expect(second).toBe('2');
      expect(readdirSync(home.path).sort()).toEqual(['.self-generation']);
    },
    TIMEOUT_MS,
  );
});
