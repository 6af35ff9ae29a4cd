import { describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  currentBoot,
  identityOf,
  isGone,
  isJudged,
  isOtherBoot,
  isSameProcess,
  type ProcessIdentity,
} from '../../src/system/process-identity.ts';
import {
  descendantsOf,
  endProcesses,
  isSetAbove,
  programAbove,
  withMarker,
} from '../../src/system/processes.ts';
import { startDetached } from '../../src/system/run-command.ts';
import { temporaryHome } from '../support/home.ts';

const MARKER = { name: 'SELF_GENERATION_TEST_MARKER', value: `of-${process.pid}` };

/** A shell script in a session of its own, with the marker. Resolves when it has written `ready`. */
async function script(text: string, extra: Record<string, string> = {}) {
  const home = temporaryHome();
  const started = startDetached('sh', ['-c', `${text}`], {
    cwd: home.path,
    env: { PATH: process.env.PATH, [MARKER.name]: MARKER.value, ...extra },
    stdout: `${home.path}/out`,
  });
  for (let tries = 0; !readFileSync(`${home.path}/out`, 'utf8').includes('ready'); tries++) {
    if (tries > 500) throw new Error('The script never began');
    await Bun.sleep(10);
  }
  return { ...started, home };
}

describe('identityOf()', () => {
  test('knows a process again, and neither a later one with its id nor one that has ended', async () => {
    const { pid, exited, home } = await script('echo ready; exec sleep 100');
    const identity = identityOf(pid);
    if (identity === undefined) throw new Error('It has no identity');
    expect(identity.boot).toBe(currentBoot());
    expect(isSameProcess(identity)).toBe(true);
    expect(isSameProcess({ ...identity, start: '1' })).toBe(false);
    expect(isSameProcess({ ...identity, boot: 'another' })).toBe(false);
    expect(isOtherBoot(identity)).toBe(false);
    expect(isOtherBoot({ ...identity, boot: 'another' })).toBe(true);
    process.kill(pid, 'SIGKILL');
    expect(await exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(isSameProcess(identity)).toBe(false);
    home[Symbol.dispose]();
  });

  test('says nothing of a process whose id is of another namespace', () => {
    const here = identityOf(process.pid);
    if (here === undefined) throw new Error('It has no identity');
    const [boot] = here.boot.split('/');
    const elsewhere = { ...here, boot: `${boot}/1` };
    const judge = (identity: ProcessIdentity) => ({
      isSame: isSameProcess(identity),
      isJudged: isJudged(identity),
      isGone: isGone(identity),
      isOtherBoot: isOtherBoot(identity),
    });
    expect(judge(elsewhere)).toEqual({ isSame: false, isJudged: false, isGone: false, isOtherBoot: false });
    const living = { isSame: true, isJudged: true, isGone: false, isOtherBoot: false };
    expect([here, { ...here, boot: boot ?? '' }].map(judge)).toEqual([living, living]);
    const gone = { isSame: false, isJudged: true, isGone: true };
    expect(judge({ ...here, start: '1' })).toEqual({ ...gone, isOtherBoot: false });
    expect(judge({ ...here, boot: 'another/1' })).toEqual({ ...gone, isOtherBoot: true });
  });

  test('is undefined for what is no process id', () => {
    for (const pid of [0, -1, 1.5, Number.NaN, 2 ** 31 - 1]) expect(identityOf(pid)).toBeUndefined();
  });
});

test('startAsPsSays() says the same in every time zone', () => {
  if (process.platform === 'win32') return;
  const program = `import { startAsPsSays } from '${import.meta.dir}/../../src/system/process-identity.ts';
    console.log(startAsPsSays(${process.pid}));`;
  const said = ['UTC', 'Asia/Seoul', 'America/New_York'].map((zone) => {
    const env = { ...process.env, TZ: zone };
    return Bun.spawnSync([process.execPath, '-e', program], { env }).stdout.toString().trim();
  });
  expect(said[0]).toMatch(/\d\d:\d\d:\d\d \d{4}$/);
  expect(new Set(said).size).toBe(1);
});

describe('startDetached()', () => {
  test('starts a session of its own with files for its input and output, and only the given environment', async () => {
    using home = temporaryHome();
    const input = home.put('in', 'hello');
    const program = 'cat; ps -o sid=,pgid= -p $$; echo bad >&2; env | sort; exit 3';
    const { pid, exited } = startDetached('sh', ['-c', program], {
      cwd: home.path,
      env: { PATH: process.env.PATH, ONLY: 'this', NOT: undefined },
      stdin: input,
      stdout: `${home.path}/out`,
      stderr: `${home.path}/err`,
    });
    expect(await exited).toEqual({ code: 3, signal: null });
    const out = readFileSync(`${home.path}/out`, 'utf8');
    expect(out).toMatch(new RegExp(`^hello\\s*${pid}\\s+${pid}\\n`));
    expect(out).toContain('ONLY=this');
    expect(out).not.toMatch(/^(?:NOT|HOME)=/m);
    expect(readFileSync(`${home.path}/err`, 'utf8')).toBe('bad\n');
    expect(statSync(`${home.path}/out`).mode & 0o777).toBe(0o600);
  });

  test('says why a program cannot be started', () => {
    const env = { PATH: process.env.PATH };
    expect(() => startDetached('no-such-program', [], { env, cwd: '/' })).toThrow(
      'no such program on the PATH',
    );
    expect(() => startDetached('sh', [], { env, cwd: '/no/where' })).toThrow('no directory "/no/where"');
    using home = temporaryHome();
    const rows = [
      ['damaged', 'what was once a program', 'it is no program that this machine can run; install it again'],
      ['orphaned', '#!/no/such/node\n', 'the program that its first line names is not there; install that'],
    ] as const;
    for (const [name, text, reason] of rows) {
      const file = home.put(name, text);
      chmodSync(file, 0o755);
      const start = () => startDetached(file, [], { env, cwd: '/' });
      expect(start).toThrow(`Cannot start "${file}": ${reason}`);
    }
  });
});

describe('descendantsOf() and withMarker()', () => {
  test('find children of children, and by the marker also those that have left', async () => {
    const { pid, home } = await script(
      '(sleep 100; true) & setsid sleep 100 & sh -c "sleep 100 & wait" & sleep 0.2; echo ready; wait',
    );
    const descendants = descendantsOf(pid);
    expect(descendants).toHaveLength(5);
    expect(withMarker(MARKER).sort()).toEqual([pid, ...descendants].sort());
    expect(withMarker({ ...MARKER, value: MARKER.value.slice(0, -1) })).toEqual([]);
    const ended = await endProcesses({ leader: null, polite: 'SIGTERM', graceMs: 2000, marker: MARKER });
    expect(ended).toEqual({ survivors: [] });
    expect(withMarker(MARKER)).toEqual([]);
    home[Symbol.dispose]();
  });
});

describe('endProcesses()', () => {
  const leaders: readonly [string, string][] = [
    ['that ends when it is asked', 'echo ready; exec sleep 100'],
    ['that ignores SIGTERM', 'trap "" TERM INT; echo ready; while :; do sleep 100; done'],
    ['whose child ignores SIGTERM', 'sh -c \'trap "" TERM INT; sleep 100\' & sleep 0.2; echo ready; wait'],
    ['that starts another for each that ends', 'echo ready; trap "" TERM; while :; do sleep 0.05; done'],
  ];
  for (const [what, text] of leaders) {
    test(`ends a group ${what}`, async () => {
      const { pid, exited, home } = await script(text);
      const leader = identityOf(pid) ?? null;
      const ended = await endProcesses({ leader, polite: 'SIGINT', graceMs: 300, marker: null });
      expect(ended).toEqual({ survivors: [] });
      await exited;
      expect(withMarker(MARKER)).toEqual([]);
      home[Symbol.dispose]();
    });
  }

  test('asks the leader alone first, and with the signal that it knows best', async () => {
    const { pid, exited, home } = await script(
      'trap "echo asked; exit 7" INT; echo ready; while :; do sleep 0.05; done',
    );
    const leader = identityOf(pid) ?? null;
    await endProcesses({ leader, polite: 'SIGINT', graceMs: 5000, marker: MARKER });
    expect(await exited).toEqual({ code: 7, signal: null });
    expect(readFileSync(`${home.path}/out`, 'utf8')).toContain('asked');
    home[Symbol.dispose]();
  });

  test('ends what its leader has left behind, by its session', async () => {
    const { pid, exited, home } = await script('sleep 100 & echo ready; exit 0', { [MARKER.name]: 'other' });
    const leader = { pid, start: '', boot: '' };
    await exited;
    const ended = await endProcesses({ leader, polite: 'SIGTERM', graceMs: 2000, marker: null });
    expect(ended).toEqual({ survivors: [] });
    expect(withMarker({ ...MARKER, value: 'other' })).toEqual([]);
    home[Symbol.dispose]();
  });

  test('signals nobody when the ids belong to another process by now', async () => {
    const { pid, home } = await script('echo ready; exec sleep 100');
    const stranger = identityOf(pid);
    if (stranger === undefined) throw new Error('It has not begun');
    const leader = { ...stranger, start: '1' };
    const ended = await endProcesses({ leader, polite: 'SIGTERM', graceMs: 100, marker: null });
    expect(ended).toEqual({ survivors: [] });
    expect(isSameProcess(stranger)).toBe(true);
    process.kill(pid, 'SIGKILL');
    home[Symbol.dispose]();
  });

  test('names what it may not end', async () => {
    const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
    const canRun = [...nobody, process.execPath, '--version'];
    if (!hasProgram(canRun))
      return void console.warn('NOT TESTED HERE: survivors: only root can become nobody');
    const { pid, exited, home } = await script('echo ready; exec sleep 100');
    const ending = { leader: identityOf(pid), polite: 'SIGTERM', graceMs: 100, marker: null };
    const program = `import { endProcesses } from '${import.meta.dir}/../../src/system/processes.ts';
        console.log(JSON.stringify(await endProcesses(${JSON.stringify(ending)})));`;
    const child = Bun.spawn([...nobody, process.execPath, '-e', program], { stdout: 'pipe', cwd: '/' });
    expect(JSON.parse(await new Response(child.stdout).text())).toEqual({ survivors: [pid] });
    process.kill(pid, 'SIGKILL');
    await exited;
    home[Symbol.dispose]();
  });

  test('resolves at once when nothing is there', async () => {
    const startMs = performance.now();
    await endProcesses({ leader: null, polite: 'SIGTERM', graceMs: 5000, marker: MARKER });
    expect(performance.now() - startMs).toBeLessThan(3000);
  });
});

function hasProgram(command: string[]): boolean {
  try {
    return Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore', cwd: '/' }).exitCode === 0;
  } catch {
    return false; // There is no such program.
  }
}

const PROBE = `
  import { isSetAbove } from '${import.meta.dir}/../../src/system/processes.ts';
  console.log(isSetAbove('MARK_OF_A_TEST'), isSetAbove('MARK_OF'));
`;

/** What a process says that has nothing in its own environment, with this in that of its grandparent. */
function ask(env: Record<string, string>): string {
  const command = `env -i ${process.execPath} -e '${PROBE.replaceAll("'", '"')}'; :`;
  const asked = Bun.spawnSync(['sh', '-c', `sh -c "$1"; :`, 'sh', command], { env, stderr: 'inherit' });
  return asked.stdout.toString().trim();
}

describe('isSetAbove()', () => {
  test('sees the variable of a process further up, also where it is the first or empty', () => {
    expect(ask({ MARK_OF_A_TEST: '1' })).toBe('true false');
    expect(ask({ A: '1', MARK_OF_A_TEST: '' })).toBe('true false');
  });

  test('does not see what is not there, or only part of another name or value', () => {
    expect(ask({ A: 'MARK_OF_A_TEST=1', NO_MARK_OF_A_TEST: '1' })).toBe('false false');
  });

  test('is false for a process that there is not', () => {
    expect(isSetAbove('PATH', 2 ** 22 + 1)).toBe(false);
  });
});

describe('programAbove()', () => {
  /** What a process says that has nothing in its environment, below these words; the last `sh` gives it its place. */
  function askBelow(start: (directory: string, line: string) => string[]): string {
    const directory = mkdtempSync(`${tmpdir()}/above-`);
    try {
      symlinkSync('/bin/sh', `${directory}/codex`);
      const probe = `import { programAbove } from "${import.meta.dir}/../../src/system/processes.ts"; console.log(programAbove(["gemini", "codex"]));`;
      writeFileSync(`${directory}/probe.ts`, probe);
      const line = `sh -c 'exec env -i ${process.execPath} ${directory}/probe.ts'; :`;
      writeFileSync(
        `${directory}/gemini.js`,
        `console.log(Bun.spawnSync(["sh", "-c", ${JSON.stringify(line)}]).stdout.toString().trim())`,
      );
      return Bun.spawnSync(start(directory, line), { stderr: 'inherit' }).stdout.toString().trim();
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  test('knows a client by its name, or by that of the script that an interpreter runs', () => {
    expect(askBelow((directory, line) => [`${directory}/codex`, '-c', line])).toBe('codex');
    expect(askBelow((directory) => [process.execPath, '--smol', `${directory}/gemini.js`])).toBe('gemini');
  });

  test('takes no word of a command line for a program', () => {
    expect(askBelow((_, line) => ['sh', '-c', `: codex gemini; ${line}`, 'codex', 'gemini'])).toBe(
      'undefined',
    );
    expect(programAbove(['codex'], 2 ** 22 + 1)).toBeUndefined();
  });
});
