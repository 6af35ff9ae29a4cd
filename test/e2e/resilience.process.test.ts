import { Database } from 'bun:sqlite';
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import {
  type Home,
  hookFailures,
  pathsOf,
  readEvents,
  readRows,
  spoolFiles,
  temporaryHome,
} from '../support/home.ts';
import {
  answerIn,
  contextOf,
  type Environment,
  HANG_MS,
  inParallel,
  runHookProcess,
  runProgram,
} from '../support/hook-process.ts';
import { inNamespace, NO_NAMESPACES } from '../support/namespace.ts';
import { agentStart, bashFailure, bashSuccess, type Payload, payload, prompt } from '../support/payloads.ts';
import { BINARY, notTested, ROOT } from '../support/program.ts';
import { seedErrors } from '../support/seed.ts';

const WRONG = "error: unknown option '--bail'";

/** What goes wrong around a hook costs at most the hook's own answer, never an event, and never the client's work. */

setDefaultTimeout(120_000);
const WELL = { exitCode: 0, stderr: '' };
const run = (home: Home, input: unknown) => runHookProcess(input, { home: home.path });

/** Runs a hook that has to end well, and to say nothing. */
async function quiet(home: Home, input: unknown): Promise<void> {
  expect(await run(home, input)).toMatchObject({ ...WELL, stdout: '' });
}

/** So many prompts, by their texts. */
const prompts = (count: number) => Array.from({ length: count }, (_, index) => `prompt number ${index}`);

describe('many hooks at once', () => {
  test('320 on one fresh database store every event exactly once', async () => {
    using home = temporaryHome();
    const texts = prompts(320);
    await inParallel(texts, 16, (text) => quiet(home, prompt(text)));
    await drain(home);
    expect(storedPrompts(home).sort()).toEqual([...texts, DRAINING].sort());
  });

  test('pairs that make the database at the same moment wait for each other', async () => {
    const failures = await inParallel(Array(40).fill(0), 1, async () => {
      using home = temporaryHome();
      const failure = bashFailure('Exit code 1\nboom', { tool_use_id: 't1' });
      const inputs = [failure, payload('post-tool-batch-rejected')];
      await Promise.all(inputs.map((input) => run(home, input)));
      await drain(home);
      expect(readEvents(home.paths, 'tool_error')).toHaveLength(2);
      return hookFailures(home.paths).map((entry) => entry.message);
    });
    expect(failures.flat()).toEqual([]);
  });

  test('fifty that meet a locked database keep their events for the next one', async () => {
    using home = temporaryHome();
    await run(home, prompt('before'));
    const locking = [process.execPath, `${ROOT}/test/support/hold-lock.main.ts`, home.paths.database];
    const holder = Bun.spawn(locking, { stdin: 'pipe', stdout: 'pipe' });
    await holder.stdout.getReader().read();
    const texts = prompts(50);
    await inParallel(texts, 16, (text) => quiet(home, prompt(text)));
    // The lock was really held all the time: nothing has got in.
    expect(storedPrompts(home)).toEqual(['before']);
    expect(spoolFiles(home.paths)).toHaveLength(50);
    expect(holder.exitCode).toBeNull();
    await holder.stdin.end();
    expect(await holder.exited).toBe(0);
    await drain(home);
    expect(storedPrompts(home).sort()).toEqual([...texts, 'before', DRAINING].sort());
    expect(readRows(home.paths, 'SELECT action FROM feedback')).toEqual([{ action: 'lock' }]);
  });
});

const DRAINING = 'the next hook';

/** One more hook, which has to take in what waits and to leave no spool. */
async function drain(home: Home): Promise<void> {
  await quiet(home, prompt(DRAINING));
  expect(existsSync(home.paths.spool)).toBe(false);
}

function storedPrompts(home: Home): unknown[] {
  return readEvents(home.paths, 'prompt').map((event) => event.data.text);
}

describe('hooks that are killed', () => {
  const HOMES = 10;
  const KILLS = 10;

  test(`${HOMES * KILLS} times at any moment leave a sound database, all rows and a working next hook`, async () => {
    const durationMs = await usualDurationMs();
    const homes = Array.from({ length: HOMES }, (_, index) => index);
    const reports = await inParallel(homes, 2, (index) => killAgainAndAgain(index, durationMs));
    const sum = (key: 'killed' | 'completed' | 'spooled') =>
      reports.reduce((total, report) => total + report[key], 0);
    // Both must have happened, or it has shown nothing.
    expect(sum('killed')).toBeGreaterThanOrEqual(HOMES);
    expect(sum('completed')).toBeGreaterThan(0);
    expect(sum('spooled')).toBeGreaterThan(0);
  });

  async function killAgainAndAgain(index: number, durationMs: number) {
    using home = temporaryHome();
    const isLocked = index % 5 === 4;
    const report = { killed: 0, completed: 0, spooled: 0 };
    if (isLocked) await run(home, prompt('first'));
    const lock = isLocked ? new Database(home.paths.database) : undefined;
    lock?.run('BEGIN IMMEDIATE');
    // A locked database makes a hook wait 400 ms, and as long again as SQLite sleeps between two looks, before it goes to
    // the spool; that part is what is looked at then.
    const range = isLocked ? { from: 395, to: 550 + 2 * durationMs } : { from: 0, to: 1.5 * durationMs };
    for (let round = 0; round < KILLS; round++) {
      const before = storedIds(home);
      const delayMs = round === 0 ? 0 : range.from + Math.random() * (range.to - range.from);
      const wasKilled = await killAfter(delayMs, inputOf(index, round), home);
      report[wasKilled ? 'killed' : 'completed']++;
      expect(storedIds(home).slice(0, before.length)).toEqual(before);
      expectWholeSpool(home);
    }
    lock?.run('ROLLBACK');
    lock?.close();
    report.spooled = spoolFiles(home.paths).filter((name) => !name.startsWith('.')).length;
    const before = storedIds(home);
    await quiet(home, prompt(DRAINING));
    expect(storedIds(home).slice(0, before.length)).toEqual(before);
    expect(storedPrompts(home)).toContain(DRAINING);
    expect(spoolFiles(home.paths).filter((name) => !name.startsWith('.'))).toEqual([]);
    expectSoundDatabase(home);
    return report;
  }
});

/** Prompt, tool and error hooks in turn. */
function inputOf(index: number, round: number): Payload {
  const name = `${index}-${round}`;
  const command = { tool_input: { command: `make target${round % 2}` }, tool_use_id: name };
  if (round % 3 === 0) return prompt(`prompt ${name}`);
  return round % 3 === 1
    ? bashFailure(`Exit code 2\nmake: target ${name} is broken`, command)
    : bashSuccess('make', command);
}

/** True when it was killed, false when it had ended before. */
async function killAfter(delayMs: number, input: Payload, home: Home): Promise<boolean> {
  const child = Bun.spawn([BINARY, 'hook'], {
    env: { HOME: home.path },
    stdin: Buffer.from(JSON.stringify(input)),
    stdout: 'ignore',
    stderr: 'ignore',
  });
  await Promise.race([child.exited, Bun.sleep(delayMs)]);
  child.kill('SIGKILL');
  await child.exited;
  if (child.signalCode === null) expect(child.exitCode).toBe(0);
  return child.signalCode !== null;
}

/** How long a hook takes here and now, its database included. */
async function usualDurationMs(): Promise<number> {
  using home = temporaryHome();
  const durations: number[] = [];
  for (let round = 0; round < 5; round++) {
    const startedMs = performance.now();
    await run(home, prompt('hi'));
    durations.push(performance.now() - startedMs);
  }
  return durations.sort((left, right) => left - right)[2] ?? 0;
}

function storedIds(home: Home): number[] {
  try {
    return readRows(home.paths, 'SELECT id FROM events ORDER BY id').map((row) => Number(row.id));
  } catch {
    return []; // No database yet, or one whose making was cut off: then there was nothing to lose.
  }
}

/** Every waiting file is whole; a draft, which starts with a dot, may be anything. */
function expectWholeSpool(home: Home): void {
  for (const name of spoolFiles(home.paths).filter((name) => !name.startsWith('.'))) {
    expect(JSON.parse(readFileSync(`${home.paths.spool}/${name}`, 'utf8'))).toHaveLength(1);
  }
}

/** No page is damaged, no row is half there, and what belongs together came together. */
function expectSoundDatabase(home: Home): void {
  const { paths } = home;
  expect(readRows(paths, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  expect(readRows(paths, 'PRAGMA user_version')).toEqual([{ user_version: 6 }]);
  expect(readRows(paths, 'SELECT id FROM events WHERE NOT json_valid(data) OR ts IS NULL')).toEqual([]);
  const texts = `SELECT id FROM events WHERE type IN ('prompt', 'tool_error')
    AND id NOT IN (SELECT rowid FROM event_text)`;
  expect(readRows(paths, texts)).toEqual([]);
  // Each error was noted with its event.
  const unnoted = `SELECT COUNT(*) AS seen, data ->> 'error' AS error FROM events
    WHERE type = 'tool_error' AND COALESCE(data ->> 'noise', 'unclear') = 'unclear' GROUP BY error
    EXCEPT SELECT seen_count, error_normalized FROM error_kb`;
  expect(readRows(paths, unnoted)).toEqual([]);
  const calls = "SELECT json_extract(data, '$.toolUseId') AS id FROM events WHERE type LIKE 'tool%'";
  const ids = readRows(paths, calls);
  expect(new Set(ids.map((row) => row.id)).size).toBe(ids.length);
}

describe('a full disk', () => {
  test('ends no hook badly, damages nothing, and is over when there is room again', async () => {
    if (NO_NAMESPACES) return void notTested('a full disk', NO_NAMESPACES);
    using home = temporaryHome();
    mkdirSync(home.paths.home);
    for (const [name, input] of [
      ['small', prompt('small')],
      ['last', prompt('last')], // The same text within two seconds is one prompt.
      ['large', prompt('large '.repeat(800))],
      ['start', agentStart('executor')],
      ['error', bashFailure(`Exit code 1\n${WRONG}`)],
    ] as const) {
      home.put(`in/${name}`, JSON.stringify(input));
    }
    mkdirSync(`${home.path}/out`);
    const script = `
        state="$HOME/.self-generation"
        mount -t tmpfs -o size=2m,mode=700 tmpfs "$state"
        run() { code=0; "$0" hook < "$HOME/in/$1" > "$HOME/out/$2" 2>&1 || code=$?; echo "$2 $code $(wc -c < "$HOME/out/$2")"; }
        dd if=/dev/zero of="$state/filler" bs=4k 2> /dev/null || true
        run small full-1; run error full-2; run start full-3
        echo "doctor $("$0" doctor --json > "$HOME/out/doctor-full.json" && echo 0 || echo 1)"
        rm "$state/filler"
        run small roomy; run error roomy-2
        for i in 1 2 3 4 5 6 7 8 9 10; do
          for j in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do sed "s/large /large-$i-$j /" "$HOME/in/large" > "$HOME/in/one"; run one "filling-$i-$j"; done
          dd if=/dev/zero of="$HOME/.self-generation/probe" bs=4k count=4 2> /dev/null || break
          rm "$state/probe"
        done
        rm -f "$state/probe"
        run start answer
        mount -t tmpfs -o remount,size=8m tmpfs "$state" # Named, or the ids of the namespace outside are given.
        run last after
        rm -rf "$HOME/out/state" && cp -r "$state" "$HOME/out/state"`;
    const result = await runProgram(inNamespace(script, [BINARY]), { home: home.path, hangMs: 4 * HANG_MS });
    expect(result).toMatchObject(WELL);
    const runs = [...result.stdout.matchAll(/^([a-z]+[-\d]*) (\d+) \d+$/gm)];
    expect(runs.length).toBeGreaterThan(30);
    for (const [, name, code] of runs) {
      expect(code, name).toBe('0');
      const answer = answerIn(readFileSync(`${home.path}/out/${name}`))?.additionalContext;
      if (name === 'answer') expect(answer).toContain(WRONG);
      else expect(answer, name).toBeUndefined();
    }
    const kept = { ...home, paths: pathsOfState(`${home.path}/out/state`) };
    const prompts = storedPrompts(kept);
    expect(prompts.at(-1)).toBe('last');
    // The disk did become full: some of the large ones found no room.
    const large = prompts.filter((text) => String(text).startsWith('large')).length;
    expect(large).toBeGreaterThan(10);
    expect(large).toBeLessThan(300);
    expect(readRows(kept.paths, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    const { checks } = JSON.parse(readFileSync(`${home.path}/out/doctor-full.json`, 'utf8'));
    expect(problemsIn(checks)).toMatch(/full|space|ENOSPC/i);
  });
});

describe('a read-only home', () => {
  test('still gives context, and ends no hook badly', async () => {
    if (NO_NAMESPACES) return void notTested('a read-only home', NO_NAMESPACES);
    using home = temporaryHome();
    await run(home, bashFailure(`Exit code 1\n${WRONG}`));
    const before = readEvents(home.paths).length;
    const script = `
        mount --bind "$HOME" "$HOME" && mount -o remount,bind,ro "$HOME"
        if touch "$HOME/canary" 2> /dev/null; then echo writable; exit 1; fi
        printf '%s' "$1" | "$0" hook; echo "@@$?@@"
        printf '%s' "$2" | "$0" hook; echo "@@$?@@"
        "$0" doctor --json || true`;
    const words = [BINARY, JSON.stringify(agentStart('executor')), JSON.stringify(prompt('hi'))];
    const result = await runProgram(inNamespace(script, words), { home: home.path });
    expect(result).toMatchObject(WELL);
    const [start = '', startCode, promptOutput, promptCode, doctor = ''] = result.stdout.split('@@');
    expect([startCode, promptCode]).toEqual(['0', '0']);
    expect(JSON.parse(start).hookSpecificOutput.additionalContext).toContain(WRONG);
    expect(promptOutput?.trim()).toBe('');
    expect(readEvents(home.paths)).toHaveLength(before);
    const { checks } = JSON.parse(doctor);
    expect(problemsIn(checks)).toMatch(/read-?only|EROFS/i);
  });
});

type Check = { readonly name: string; readonly status: string; readonly detail: string };

const JPEG = Buffer.from(`ffd8ffe000104a464946${'0123456789abcdef'.repeat(500)}`, 'hex');
/** In the place of the database. */
const instead = (content: string | Uint8Array) => (home: Home) => {
  rmSync(home.paths.data, { recursive: true });
  home.put('.self-generation/data/self-gen.db', content);
};
const NO_DATABASE = /database: .*not a database/;

describe('a broken state', () => {
  const config = (text: string) => (home: Home) => void home.put('.self-generation/config.json', text);
  /** `named`: what `doctor` calls it, in a check that is not ok. `records`: events can still be recorded. */
  type Broken = [what: string, named: RegExp, records: boolean, (home: Home) => void, env?: Environment];
  const rows: Broken[] = [
    ['overwritten pages of the database', /database: .*(?:malformed|damaged|not a d)/, false, overwritePages],
    ['a text in place of the database', NO_DATABASE, false, instead('hello '.repeat(900))],
    ['a picture in place of the database', NO_DATABASE, false, instead(JPEG)],
    [
      'a directory in place of the database',
      /database: \S+self-gen\.db: /,
      false,
      (home) => {
        rmSync(home.paths.data, { recursive: true });
        mkdirSync(home.paths.database, { recursive: true });
      },
    ],
    ['a config.json of null', /config: .*expected a JSON object/, true, config('null')],
    ['a broken config.json', /config: .*neither JSON/, true, config('{"enabled": fal')],
    ['a config.json of wrong values', /config: retentionDays/, true, config('{"retentionDays": -5}')],
    ['a directory in place of config.json', /config: /, true, (home) => mkdirSync(home.paths.config)],
    ['no HOME', /home: HOME is not set/, false, () => {}, { HOME: undefined }],
    ['a relative HOME', /home: HOME is not set to an absolute path/, false, () => {}, { HOME: 'home/dev' }],
    [
      'a relative SELF_GENERATION_HOME',
      /SELF_GENERATION_HOME/,
      true,
      () => {},
      { SELF_GENERATION_HOME: 'state' },
    ],
  ];
  for (const [what, named, records, breaks, env = {}] of rows) {
    describe(what, () => {
      test('ends no hook badly and loses no event that it could keep', async () => {
        using home = temporaryHome();
        await run(home, prompt('before'));
        breaks(home);
        const starts = [agentStart('executor'), payload('session-start'), payload('session-end')];
        for (const input of [prompt('meanwhile'), bashFailure('Exit code 1\nboom'), ...starts]) {
          const result = await runHookProcess(input, { home: home.path, env });
          expect(result).toMatchObject(WELL);
          answerIn(result.stdoutBytes);
        }
        expect(readdirSync(home.path)).toEqual(['.self-generation']);
        if (records) expect(storedPrompts(home)).toEqual(['before', 'meanwhile']);
        if (records || Object.keys(env).length > 0) return;
        // It waits until the database is out of the way.
        expect(hookFailures(home.paths).length).toBeGreaterThan(0);
        for (const end of ['', '-wal', '-shm']) {
          if (existsSync(home.paths.database + end))
            renameSync(home.paths.database + end, `${home.paths.home}/broken${end}`);
        }
        await drain(home);
        expect(storedPrompts(home)).toEqual(['meanwhile', DRAINING]);
      });

      test('is named by doctor', async () => {
        using home = temporaryHome();
        await run(home, prompt('before'));
        expect(problemsIn(await doctorChecks(home))).not.toMatch(named);
        breaks(home);
        expect(problemsIn(await doctorChecks(home, env))).toMatch(named);
      });
    });
  }

  test('an empty file in place of the database becomes one', async () => {
    using home = temporaryHome();
    home.put('.self-generation/data/self-gen.db', '');
    await quiet(home, agentStart('executor'));
    await quiet(home, prompt('hi'));
    expect(storedPrompts(home)).toEqual(['hi']);
  });

  test('a file in place of the spool, the log or the heartbeats ends no hook badly', async () => {
    using home = temporaryHome();
    seedErrors(home.paths, [{ error: 'a well-known error' }]);
    for (const path of [home.paths.spool, `${home.paths.home}/logs`, home.paths.heartbeats])
      writeFileSync(path, 'x');
    await quiet(home, prompt('hi'));
    expect(contextOf(await run(home, agentStart('executor')))).toContain('a well-known error');
    expect(storedPrompts(home)).toEqual(['hi']);
  });

  test('waiting files that are damaged hold up nothing', async () => {
    using home = temporaryHome();
    const put = (name: string, content: string) => home.put(`.self-generation/spool/${name}`, content);
    put('00000000000001-1-a.json', '[{"kind":"prompt"');
    put('00000000000002-1-b.json', '[{"kind":"unknown","at":{}}]');
    put('00000000000003-1-c.json', '[{"kind":"prompt","at":{"ts":null}}]');
    const nobody = { projectPath: null, agentId: null, agentType: null };
    const at = { ts: '2026-01-01T00:00:00.000Z', sessionId: 's', project: 'app', ...nobody };
    put('00000000000004-1-d.json', JSON.stringify([{ kind: 'prompt', at, text: 'waited', charCount: 6 }]));
    mkdirSync(`${home.paths.spool}/00000000000005-1-e.json`);
    await quiet(home, prompt('hi'));
    expect(storedPrompts(home)).toEqual(['waited', 'hi']);
    expect(spoolFiles(home.paths)).toEqual(['00000000000005-1-e.json']);
  });
});

/** The checks of `doctor` that are not ok, one to a line. */
function problemsIn(checks: readonly Check[]): string {
  const problems = checks.filter(({ status }) => status === 'failed' || status === 'warning');
  return problems.map(({ name, detail }) => `${name}: ${detail}`).join('\n');
}

async function doctorChecks(home: Home, changes: Environment = {}): Promise<Check[]> {
  const env = { PATH: '/usr/bin:/bin', ...changes };
  const { stdout, stderr } = await runProgram([BINARY, 'doctor', '--json'], { home: home.path, env });
  expect(stdout, stderr).toStartWith('{');
  return JSON.parse(stdout).checks;
}

/** The middle of the file, where the rows are, is gone; the log beside it as well. */
function overwritePages(home: Home): void {
  const database = new Database(home.paths.database);
  database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const bytes = readFileSync(home.paths.database);
  bytes.fill(0x5a, 100, bytes.length - 4096);
  instead(bytes)(home);
  chmodSync(home.paths.database, 0o600);
}

function pathsOfState(state: string) {
  const { home } = pathsOf('/');
  const paths = Object.entries(pathsOf('/')).map(([key, path]) => [key, state + path.slice(home.length)]);
  return Object.fromEntries(paths) as ReturnType<typeof pathsOf>;
}
