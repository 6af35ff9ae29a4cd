import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
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
  inParallel,
  type ProcessResult,
  runHookProcess,
  runProgram,
} from '../support/hook-process.ts';
import { inNamespace, NO_NAMESPACES } from '../support/namespace.ts';
import { agentStart, bashFailure, bashSuccess, type Payload, payload, prompt } from '../support/payloads.ts';
import { BINARY, notTested, ROOT } from '../support/program.ts';
import { seedErrors } from '../support/seed.ts';

const WRONG = "error: unknown option '--bail'";

/** What goes wrong around a hook costs at most the hook's own answer, never an event, and never the client's work. */

const TIMEOUT_MS = 120_000;
const WELL = { exitCode: 0, stderr: '' };

describe('many hooks at once', () => {
  test(
    '320 on one fresh database store every event exactly once',
    async () => {
      using home = temporaryHome();
      const texts = Array.from({ length: 320 }, (_, index) => `prompt number ${index}`);
      const results = await inParallel(texts, 16, (text) =>
        runHookProcess(prompt(text), { home: home.path }),
      );
      for (const result of results) expect(result).toMatchObject({ ...WELL, stdout: '' });
      await drain(home);
      expect(storedPrompts(home).sort()).toEqual([...texts, DRAINING].sort());
    },
    TIMEOUT_MS,
  );

  test(
    'pairs that make the database at the same moment wait for each other',
    async () => {
      const pairs = Array.from({ length: 40 }, (_, index) => index);
      const failures = await inParallel(pairs, 1, async () => {
        using home = temporaryHome();
        const failure = bashFailure('Exit code 1\nboom', { tool_use_id: 't1' });
        const inputs = [failure, payload('post-tool-batch-rejected')];
        await Promise.all(inputs.map((input) => runHookProcess(input, { home: home.path })));
        await drain(home);
        expect(readEvents(home.paths, 'tool_error')).toHaveLength(2);
        return hookFailures(home.paths).map((entry) => entry.message);
      });
      expect(failures.flat()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'fifty that meet a locked database keep their events for the next one',
    async () => {
      using home = temporaryHome();
      await runHookProcess(prompt('before'), { home: home.path });
      const holder = Bun.spawn(
        [process.execPath, `${ROOT}/test/support/hold-lock.main.ts`, home.paths.database],
        { stdin: 'pipe', stdout: 'pipe' },
      );
      await holder.stdout.getReader().read();
      const texts = Array.from({ length: 50 }, (_, index) => `prompt number ${index}`);
      const results = await inParallel(texts, 16, (text) =>
        runHookProcess(prompt(text), { home: home.path }),
      );
      for (const result of results) expect(result).toMatchObject({ ...WELL, stdout: '' });
      // The lock was really held all the time: nothing has got in.
      expect(storedPrompts(home)).toEqual(['before']);
      expect(spoolFiles(home.paths)).toHaveLength(50);
      expect(holder.exitCode).toBeNull();
      await holder.stdin.end();
      expect(await holder.exited).toBe(0);
      await drain(home);
      expect(storedPrompts(home).sort()).toEqual([...texts, 'before', DRAINING].sort());
      expect(readRows(home.paths, 'SELECT action FROM feedback')).toEqual([{ action: 'lock' }]);
    },
    TIMEOUT_MS,
  );
});

const DRAINING = 'the next hook';

/** One more hook, which has to take in what waits and to leave no spool. */
async function drain(home: Home): Promise<void> {
  expect(await runHookProcess(prompt(DRAINING), { home: home.path })).toMatchObject({ ...WELL, stdout: '' });
  expect(existsSync(home.paths.spool)).toBe(false);
}

function storedPrompts(home: Home): unknown[] {
  return readEvents(home.paths, 'prompt').map((event) => event.data.text);
}

describe('hooks that are killed', () => {
  const HOMES = 10;
  const KILLS = 10;

  test(
    `${HOMES * KILLS} times at any moment leave a sound database, all earlier rows and a working next hook`,
    async () => {
      const durationMs = await usualDurationMs();
      const homes = Array.from({ length: HOMES }, (_, index) => index);
      const reports = await inParallel(homes, 2, (index) => killAgainAndAgain(index, durationMs));
      const sum = (key: 'killed' | 'completed' | 'spooled') =>
        reports.reduce((total, report) => total + report[key], 0);
      // Both must have happened, or it has shown nothing.
      expect(sum('killed')).toBeGreaterThanOrEqual(HOMES);
      expect(sum('completed')).toBeGreaterThan(0);
      expect(sum('spooled')).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  async function killAgainAndAgain(index: number, durationMs: number) {
    using home = temporaryHome();
    const isLocked = index % 5 === 4;
    const report = { killed: 0, completed: 0, spooled: 0 };
    if (isLocked) await runHookProcess(prompt('first'), { home: home.path });
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
    expect(await runHookProcess(prompt(DRAINING), { home: home.path })).toMatchObject({
      ...WELL,
      stdout: '',
    });
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
    await runHookProcess(prompt('hi'), { home: home.path });
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
  expect(readRows(paths, 'PRAGMA user_version')).toEqual([{ user_version: 5 }]);
  expect(readRows(paths, 'SELECT id FROM events WHERE NOT json_valid(data) OR ts IS NULL')).toEqual([]);
  const texts = `SELECT id FROM events WHERE type IN ('prompt', 'tool_error')
    AND id NOT IN (SELECT rowid FROM event_text)`;
  expect(readRows(paths, texts)).toEqual([]);
  // Each error was noted with its event.
  const unnoted = `SELECT COUNT(*) AS seen, data ->> 'error' AS error FROM events
    WHERE type = 'tool_error' AND COALESCE(data ->> 'noise', 'unclear') = 'unclear' GROUP BY error
    EXCEPT SELECT seen_count, error_normalized FROM error_kb`;
  expect(readRows(paths, unnoted)).toEqual([]);
  const ids = readRows(
    paths,
    "SELECT json_extract(data, '$.toolUseId') AS id FROM events WHERE type LIKE 'tool%'",
  );
  expect(new Set(ids.map((row) => row.id)).size).toBe(ids.length);
}

describe('a full disk', () => {
  test(
    'ends no hook badly, damages nothing, and is over when there is room again',
    async () => {
      if (NO_NAMESPACES) return void notTested('a full disk', NO_NAMESPACES);
      using home = temporaryHome();
      mkdirSync(home.paths.home);
      for (const [name, input] of [
        ['small', prompt('small')],
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
        run small after
        rm -rf "$HOME/out/state" && cp -r "$state" "$HOME/out/state"`;
      const result = await runProgram(inNamespace(script, [BINARY]), { home: home.path });
      expect(result).toMatchObject(WELL);
      const runs = [...result.stdout.matchAll(/^([a-z]+[-\d]*) (\d+) \d+$/gm)].map(([, name, code]) => ({
        name,
        code,
      }));
      expect(runs.length).toBeGreaterThan(30);
      for (const run of runs) {
        expect(run.code, run.name).toBe('0');
        const answer = answerIn(readFileSync(`${home.path}/out/${run.name}`))?.additionalContext;
        if (run.name === 'answer') expect(answer).toContain(WRONG);
        else expect(answer, run.name).toBeUndefined();
      }
      const kept = { ...home, paths: pathsOfState(`${home.path}/out/state`) };
      const prompts = storedPrompts(kept);
      expect(prompts.at(-1)).toBe('small');
      // The disk did become full: some of the large ones found no room.
      const large = prompts.filter((text) => String(text).startsWith('large')).length;
      expect(large).toBeGreaterThan(10);
      expect(large).toBeLessThan(300);
      expect(readRows(kept.paths, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      const doctor = JSON.parse(readFileSync(`${home.path}/out/doctor-full.json`, 'utf8')) as {
        checks: Check[];
      };
      expect(problemsIn(doctor.checks)).toMatch(/full|space|ENOSPC/i);
    },
    TIMEOUT_MS,
  );
});

describe('a read-only home', () => {
  test(
    'still gives context, and ends no hook badly',
    async () => {
      if (NO_NAMESPACES) return void notTested('a read-only home', NO_NAMESPACES);
      using home = temporaryHome();
      await runHookProcess(bashFailure(`Exit code 1\n${WRONG}`), { home: home.path });
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
      const { checks } = JSON.parse(doctor) as { checks: Check[] };
      expect(problemsIn(checks)).toMatch(/read-?only|EROFS/i);
    },
    TIMEOUT_MS,
  );
});

type Check = { readonly name: string; readonly status: string; readonly detail: string };

type Broken = {
  readonly what: string;
  readonly breaks: (home: Home) => void;
  /** What `doctor` calls it, in a check that is not ok. */
  readonly named: RegExp;
  /** Whether events can still be recorded. */
  readonly records: boolean;
  readonly env?: (home: Home) => Environment;
};

const JPEG = new Uint8Array([
  0xff,
  0xd8,
  0xff,
  0xe0,
  0,
  0x10,
  0x4a,
  0x46,
  0x49,
  0x46,
  ...Array.from({ length: 4000 }, (_, i) => i % 256),
]);
const replaceDatabase = (home: Home, content: string | Uint8Array) => {
  rmSync(home.paths.data, { recursive: true });
  home.put('.self-generation/data/self-gen.db', content);
};

describe('a broken state', () => {
  const config = (text: string) => (home: Home) => void home.put('.self-generation/config.json', text);
  const rows: Broken[] = [
    {
      what: 'pages of the database overwritten',
      breaks: overwritePages,
      named: /database: .*(?:malformed|damaged|not a database)/,
      records: false,
    },
    {
      what: 'a text in place of the database',
      breaks: (home) => replaceDatabase(home, 'hello '.repeat(900)),
      named: /database: .*not a database/,
      records: false,
    },
    {
      what: 'a picture in place of the database',
      breaks: (home) => replaceDatabase(home, JPEG),
      named: /database: .*not a database/,
      records: false,
    },
    {
      what: 'a directory in place of the database',
      breaks: (home) => {
        rmSync(home.paths.data, { recursive: true });
        mkdirSync(home.paths.database, { recursive: true });
      },
      named: /database: \S+self-gen\.db: /,
      records: false,
    },
    {
      what: 'a config.json of null',
      breaks: config('null'),
      named: /config: .*expected a JSON object/,
      records: true,
    },
    {
      what: 'a broken config.json',
      breaks: config('{"enabled": fal'),
      named: /config: .*neither JSON/,
      records: true,
    },
    {
      what: 'a config.json of wrong values',
      breaks: config('{"retentionDays": -5}'),
      named: /config: retentionDays/,
      records: true,
    },
    {
      what: 'a directory in place of config.json',
      breaks: (home) => mkdirSync(home.paths.config),
      named: /config: /,
      records: true,
    },
    {
      what: 'no HOME',
      breaks: () => {},
      named: /home: HOME is not set/,
      records: false,
      env: () => ({ HOME: undefined }),
    },
    {
      what: 'a relative HOME',
      breaks: () => {},
      named: /home: HOME is not set to an absolute path/,
      records: false,
      env: () => ({ HOME: 'home/dev' }),
    },
    {
      what: 'a relative SELF_GENERATION_HOME',
      breaks: () => {},
      named: /SELF_GENERATION_HOME/,
      records: true,
      env: () => ({ SELF_GENERATION_HOME: 'state' }),
    },
  ];
  for (const { what, breaks, named, records, env } of rows) {
    describe(what, () => {
      test('ends no hook badly and loses no event that it could keep', async () => {
        using home = temporaryHome();
        await runHookProcess(prompt('before'), { home: home.path });
        breaks(home);
        const options = { home: home.path, env: env?.(home) ?? {} };
        for (const input of [
          prompt('meanwhile'),
          bashFailure('Exit code 1\nboom'),
          agentStart('executor'),
          payload('session-start'),
          payload('session-end'),
        ]) {
          const result = await runHookProcess(input, options);
          expect(result).toMatchObject(WELL);
          answerIn(result.stdoutBytes);
        }
        expect(readdirSync(home.path)).toEqual(['.self-generation']);
        if (records) expect(storedPrompts(home)).toEqual(['before', 'meanwhile']);
        if (records || env) return;
        // It waits until the database is out of the way.
        expect(hookFailures(home.paths).length).toBeGreaterThan(0);
        for (const end of ['', '-wal', '-shm']) {
          if (existsSync(home.paths.database + end))
            renameSync(home.paths.database + end, `${home.paths.home}/broken${end}`);
        }
        await drain(home);
        expect(storedPrompts(home)).toEqual(['meanwhile', DRAINING]);
      });

      test(
        'is named by doctor',
        async () => {
          using home = temporaryHome();
          await runHookProcess(prompt('before'), { home: home.path });
          expect(problemsIn(await doctorChecks(home, {}))).not.toMatch(named);
          breaks(home);
          expect(problemsIn(await doctorChecks(home, env?.(home) ?? {}))).toMatch(named);
        },
        TIMEOUT_MS,
      );
    });
  }

  test('an empty file in place of the database becomes one', async () => {
    using home = temporaryHome();
    home.put('.self-generation/data/self-gen.db', '');
    expect(await runHookProcess(agentStart('executor'), { home: home.path })).toMatchObject({
      ...WELL,
      stdout: '',
    });
    expect(await runHookProcess(prompt('hi'), { home: home.path })).toMatchObject({ ...WELL, stdout: '' });
    expect(storedPrompts(home)).toEqual(['hi']);
  });

  test('a file in place of the spool, the log or the heartbeats ends no hook badly', async () => {
    using home = temporaryHome();
    seedErrors(home.paths, [{ error: 'a well-known error' }]);
    for (const path of [home.paths.spool, `${home.paths.home}/logs`, home.paths.heartbeats])
      writeFileSync(path, 'x');
    expect(await runHookProcess(prompt('hi'), { home: home.path })).toMatchObject({ ...WELL, stdout: '' });
    expect(contextOf(await runHookProcess(agentStart('executor'), { home: home.path }))).toContain(
      'a well-known error',
    );
    expect(storedPrompts(home)).toEqual(['hi']);
  });

  test('waiting files that are damaged hold up nothing', async () => {
    using home = temporaryHome();
    const put = (name: string, content: string) => home.put(`.self-generation/spool/${name}`, content);
    put('00000000000001-1-a.json', '[{"kind":"prompt"');
    put('00000000000002-1-b.json', '[{"kind":"unknown","at":{}}]');
    put('00000000000003-1-c.json', '[{"kind":"prompt","at":{"ts":null}}]');
    const at = {
      ts: '2026-01-01T00:00:00.000Z',
      sessionId: 's',
      project: 'app',
      projectPath: null,
      agentId: null,
      agentType: null,
    };
    put('00000000000004-1-d.json', JSON.stringify([{ kind: 'prompt', at, text: 'waited', charCount: 6 }]));
    mkdirSync(`${home.paths.spool}/00000000000005-1-e.json`);
    expect(await runHookProcess(prompt('hi'), { home: home.path })).toMatchObject({ ...WELL, stdout: '' });
    expect(storedPrompts(home)).toEqual(['waited', 'hi']);
    expect(spoolFiles(home.paths)).toEqual(['00000000000005-1-e.json']);
  });
});

/** The checks of `doctor` that are not ok, one to a line. */
function problemsIn(checks: readonly Check[]): string {
  const problems = checks.filter(({ status }) => status === 'failed' || status === 'warning');
  return problems.map(({ name, detail }) => `${name}: ${detail}`).join('\n');
}

async function doctorChecks(home: Home, env: Environment): Promise<Check[]> {
  const path = { PATH: '/usr/bin:/bin' };
  const result: ProcessResult = await runProgram([BINARY, 'doctor', '--json'], {
    home: home.path,
    env: { ...path, ...env },
  });
  try {
    return (JSON.parse(result.stdout) as { checks: Check[] }).checks;
  } catch {
    throw new Error(`doctor gave no JSON but ${JSON.stringify(result.stdout)}, and said ${result.stderr}`);
  }
}

/** The middle of the file, where the rows are, is gone; the log beside it as well. */
function overwritePages(home: Home): void {
  const database = new Database(home.paths.database);
  database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const bytes = readFileSync(home.paths.database);
  bytes.fill(0x5a, 100, bytes.length - 4096);
  rmSync(home.paths.data, { recursive: true });
  home.put('.self-generation/data/self-gen.db', bytes);
  chmodSync(home.paths.database, 0o600);
}

function pathsOfState(state: string) {
  const { home } = pathsOf('/');
  const paths = Object.entries(pathsOf('/')).map(([key, path]) => [key, state + path.slice(home.length)]);
  return Object.fromEntries(paths) as ReturnType<typeof pathsOf>;
}
