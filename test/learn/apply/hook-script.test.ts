import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { resolve } from 'node:path';
import type { Applied } from '../../../src/learn/apply/applied.ts';
import { auditHookCode } from '../../../src/learn/apply/hook-audit.ts';
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

const SAY_RAN = `console.log('{ "systemMessage": "ran" }');`;
const RAN = '{"systemMessage":"ran"}\n';
/** The JSON in the message to the user, by which a script of these tests says what it found. */
const messageIn = (stdout: string) => JSON.parse(JSON.parse(stdout).systemMessage);
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
const said = { said: event.prompt, cwd: process.cwd(), own: process.env.MINE, internal: process.env.SELF_GENERATION_INTERNAL };
console.log(JSON.stringify({ systemMessage: JSON.stringify(said) }));`,
      );
      const before = treeBelow(home.path);
      const prompt = '한글 🎉 "quoted"';
      const result = await run(home, id, { stdin: `${JSON.stringify({ prompt })}\n`, env: { MINE: '1' } });
      expect(result).toMatchObject({ exitCode: 0, stderr: 'aside\n' });
      expect(messageIn(result.stdout)).toEqual({ said: prompt, cwd: home.path, own: '1' });
      expect(Object.keys(treeBelow(home.path))).toEqual(Object.keys(before));
    },
    TIMEOUT_MS,
  );

  test(
    'never runs a file that is not byte for byte what was applied',
    async () => {
      using home = temporaryHome();
      const id = applied(home, SAY_RAN);
      const path = scriptPath(id, home.paths);
      expect((await run(home, id)).stdout).toBe(RAN);
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
        const id = applied(home, SAY_RAN);
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
        const id = applied(home, SAY_RAN);
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
      const id = applied(home, SAY_RAN, '/home/dev/app');
      const at = (cwd: string, env: Environment = {}) =>
        run(home, id, { stdin: JSON.stringify({ cwd }), env }).then(({ stdout }) => stdout);
      expect(await at('/home/dev/app')).toBe(RAN);
      expect(await at('/home/dev/app/src', { CLAUDE_PROJECT_DIR: '/home/dev/app/' })).toBe(RAN);
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
      const id = applied(home, SAY_RAN);
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
        `import { existsSync } from 'node:fs'; console.log(JSON.stringify({ systemMessage: [typeof existsSync('/'), process.env.FROM_FILE, process.env.BUN_OPTIONS].join() }));`,
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
      expect(JSON.parse(result.stdout)).toEqual({ stdout: '{"systemMessage":"boolean,,"}\n', stderr: '' });
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
class Still { works = new Map([[1, [2]]]); constructor() { this.x = structuredClone({ a: 1 }); } }
console.log(JSON.stringify({ systemMessage: JSON.stringify({ made, whole, still: new Still().works.get(1)[0] }) }));`;
      const { made, whole, still } = messageIn((await run(home, applied(home, code))).stdout);
      expect(made).not.toContain('function');
      expect(whole).toEqual([null, 'undefined', 'undefined']);
      expect(still).toBe(2);
      expect(readdirSync(home.path).sort()).toEqual(['.self-generation']);
    },
    TIMEOUT_MS,
  );

  /** Code that the audit does not see through, and an expression that tells what it got. */
  const hidden: [string, string][] = [
    ['a program by process', "Object(process)['getBuiltin' + 'Module']('child_' + 'process').execSync('id')"],
    ['a program by an older way', "Object(process)['bind' + 'ing']('spawn_sync')"],
    ['a library', "Object(process)['dl' + 'open']({ exports: {} }, '/nowhere')"],
    ['another process', "Object(process)['ki' + 'll'](process.pid, 0)"],
    ['a module by require', "require('node:child_process').execSync('id')"],
    ['a module by its description', "import.meta['req' + 'uire']('node:child_process').execSync('id')"],
    [
      'a module by its description, put back',
      "(delete import.meta['req' + 'uire'], import.meta['req' + 'uire']('node:child_process').execSync('id'))",
    ],
    ['a program by Bun', "Bun.spawnSync(['true'])"],
    ['everything there is', 'globalThis.process'],
    ['everything there is, sloppily', '(0, (() => 1)["constr" + "uctor"])("return this")().process'],
    ['a program by everything there is', "reached()['Bun']['spawn' + 'Sync'](['true'])"],
    ['a program by the shell', "reached()['Bun']['$']"],
    ['the network', "fetch('http://127.0.0.1:1')"],
    ['the network by everything there is', "reached()['fet' + 'ch']('http://127.0.0.1:1')"],
    ['the network by Bun', "reached()['Bun'].connect({ hostname: '127.0.0.1', port: 1, socket: {} })"],
    ['a server', "reached()['Bun'].serve({ port: 0, fetch() {} })"],
    ['a socket', "new WebSocket('ws://127.0.0.1:1')"],
    ['another thread', "new Worker('data:text/javascript,1')"],
    ['code out of text', "(0, eval)('1')"],
    ['code out of text by its name', "new Function('return 1')()"],
    ['code out of bytes', 'new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))'],
    ['another program in its place', "Object(process)['exec' + 've']('/bin/true', [])"],
  ];
  test(
    'leaves nothing to be found by code that the audit has overlooked',
    async () => {
      using home = temporaryHome();
      const attempts = hidden.map(([name, code]) => `[${JSON.stringify(name)}, () => ${code}]`);
      const id = applied(
        home,
        `import { writeFileSync } from 'node:fs';
/** A listener without an object of its own is one of everything there is. */
function reached() {
  let all;
  const { addEventListener, dispatchEvent } = EventTarget.prototype;
  addEventListener('x', (event) => { all = event['current' + 'Target'] ?? event.target ?? event.composedPath?.()[0]; });
  dispatchEvent(new Event('x'));
  return all;
}
const done = [];
for (const [name, attempt] of [${attempts.join(',\n')}]) {
  try { if (attempt() !== undefined) done.push(name); } catch { /* It is not there. */ }
}
writeFileSync(${JSON.stringify(`${home.path}/done.json`)}, JSON.stringify(done));`,
      );
      expect(await run(home, id)).toMatchObject(SILENT);
      expect(failures(home)).toEqual([]);
      expect(JSON.parse(readFileSync(`${home.path}/done.json`, 'utf8'))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'leaves what an ordinary hook needs',
    async () => {
      using home = temporaryHome();
      const code = `import fs, { createReadStream, createWriteStream } from 'node:fs';
import { readFile, writeFile, mkdtemp } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import process, { env, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { inspect, parseArgs, promisify } from 'node:util';
const pieces = [];
for await (const piece of process.stdin) pieces.push(piece);
const event = JSON.parse(Buffer.concat(pieces).toString('utf8'));
const folder = await mkdtemp(join(homedir(), 'x-'));
await writeFile(join(folder, 'a'), 'text');
const out = createWriteStream(join(folder, 'b'));
out.write(await readFile(join(folder, 'a'), 'utf8'));
await new Promise((resolve) => out.end(resolve));
let back = '';
for await (const piece of createReadStream(join(folder, 'b'))) back += piece;
fs.rmSync(folder, { recursive: true });
await promisify(setTimeout)(1);
await new Promise((resolve) => process.nextTick(resolve));
console.error('%o', new Map([[1, { a: [class A {}] }]]));
const seen = [event.cwd === homedir(), back, basename(fileURLToPath(import.meta.url)).length, inspect({ a: 1 }), env.HOME === homedir(), parseArgs({ args: [] }).positionals.length, typeof crypto.randomUUID(), new AbortController().signal.aborted, Number(process.hrtime.bigint() > 0n)];
stdout.write(JSON.stringify({ systemMessage: JSON.stringify(seen) }), () => process.exit());`;
      expect(auditHookCode(code).filter(({ kind }) => kind === 'forbidden')).toEqual([]);
      const { exitCode, stdout } = await run(home, applied(home, code));
      expect(failures(home)).toEqual([]);
      expect(exitCode).toBe(0);
      expect(messageIn(stdout)).toEqual([true, 'text', 15, '{ a: 1 }', true, 0, 'string', false, 1]);
    },
    TIMEOUT_MS,
  );

  test(
    'lets a script neither decide nor say anything but a context and a message, and notes it',
    async () => {
      using home = temporaryHome();
      const context = { hookEventName: 'PreToolUse', additionalContext: 'generated' };
      const said = {
        continue: false,
        decision: 'block',
        hookSpecificOutput: { ...context, permissionDecision: 'allow', updatedInput: {} },
      };
      const id = applied(home, `console.log(${JSON.stringify(JSON.stringify(said))});`);
      expect(JSON.parse((await run(home, id)).stdout)).toEqual({ hookSpecificOutput: context });
      expect(failures(home)).toEqual([expect.stringContaining('Not all of what the script wrote')]);
    },
    TIMEOUT_MS,
  );
});
