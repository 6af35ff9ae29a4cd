import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import type { Turn } from '../../src/runs/model/turn.ts';
import { reconcile, reconcileAndArchive } from '../../src/runs/reconcile.ts';
import { spawnRun } from '../../src/runs/spawn.ts';
import { waitForRuns } from '../../src/runs/stop.ts';
import { openRunsDb, withRuns } from '../../src/runs/store/rows.ts';
import { activeTurns, changeTurn } from '../../src/runs/store/turns.ts';
import { supervise } from '../../src/runs/supervisor/supervise.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { currentBoot, identityNow } from '../../src/system/process-identity.ts';
import { withMarker } from '../../src/system/processes.ts';
import { runProgram } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';
import { accepted, type RunsHome, runsHome } from './runs-home.ts';

setDefaultTimeout(60_000);

/** A program that only notes how it was called. */
function bench() {
  const runs = runsHome();
  const file = `${runs.home.path}/calls`;
  const calls = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []);
  const program = runs.home.put('program', `#!/bin/sh\necho "$@" >> ${file}\n`);
  chmodSync(program, 0o755);
  const world: RunsWorld = { ...runs.world, executablePath: program, isCompiled: true };
  return {
    ...runs,
    world,
    /** Resolves when what was started has ended; gives all the calls. */
    settled: async () => {
      let quiet = 0;
      // What has only just been started does not have its environment yet.
      await runs.until('all have ended', () => {
        quiet = withMarker({ name: 'HOME', value: runs.home.path }).length === 0 ? quiet + 1 : 0;
        return quiet === 3;
      });
      return calls();
    },
    begin: (task = 'quick') => accepted(spawnRun({ task }, runs.requester, world)).runId,
    later: (ms: number): RunsWorld => ({ ...world, now: () => new Date(Date.now() + ms) }),
    calls,
    log: () => (existsSync(runs.home.paths.runsLog) ? readFileSync(runs.home.paths.runsLog, 'utf8') : ''),
  };
}

type Bench = ReturnType<typeof bench>;

/** Runs whose supervisors have died. */
async function orphans(made: Bench, count: number): Promise<string[]> {
  const runIds = Array.from({ length: count }, (_, index) => made.begin(`task ${index}`));
  await made.until('they are started', () => made.calls().length === count);
  const dead = { pid: 2 ** 22 + 1, start: '1', boot: currentBoot() };
  withRuns(made.home.paths, (db) => {
    for (const turn of activeTurns(db)) changeTurn(turn, { owner: dead }, db);
  });
  return runIds;
}

/** No turn can be written, as when the disk is full. */
function unwritable({ home }: Bench, isSo: boolean): void {
  const trigger = "TRIGGER full BEFORE UPDATE ON turns BEGIN SELECT RAISE(ABORT, 'no room'); END";
  withRuns(home.paths, (db) => db.exec(isSo ? `CREATE ${trigger}` : 'DROP TRIGGER full'));
}

const loadAway = () => Promise.reject(new Error('no turn here is done on another machine'));

describe('reconcileAndArchive()', () => {
  test('starts a supervisor for each turn once, and once more when it has not come after two seconds', async () => {
    await using made = bench();
    const runId = made.begin();
    await made.until('it is started', () => made.calls().length === 1);
    expect(made.calls()).toEqual([`supervise ${runId} 1`]);
    reconcileAndArchive(made.world);
    reconcileAndArchive(made.later(1000));
    expect(await made.settled()).toHaveLength(1);
    reconcileAndArchive(made.later(3000));
    expect(await made.settled()).toEqual([`supervise ${runId} 1`, `supervise ${runId} 1`]);
  });

  test('gives the slot back when no supervisor can be started, and notes why', async () => {
    await using made = bench();
    const world = { ...made.world, executablePath: `${made.home.path}/missing` };
    const { runId } = accepted(spawnRun({ task: 'quick' }, made.requester, world));
    await made.until('it is noted', () => made.log() !== '');
    expect(made.log()).toContain('missing');
    expect(made.turns(runId)).toMatchObject([{ state: 'queued', claimedAtMs: null }]);
    reconcileAndArchive(made.world);
    await made.until('it is started', () => made.calls().length === 1);
  });

  test('starts nothing inside a run', async () => {
    await using made = bench();
    made.begin();
    await made.until('it is started', () => made.calls().length === 1);
    const inside = made.later(3000);
    reconcileAndArchive({ ...inside, env: { ...inside.env, SELF_GENERATION_RUN: 'a/1' } });
    expect(await made.settled()).toHaveLength(1);
    reconcile(inside);
    expect(await made.settled()).toHaveLength(2);
  });

  test('begins again what its own process has left, and nothing that it still supervises', async () => {
    await using made = bench();
    const runId = made.begin();
    await made.until('it is started', () => made.calls().length === 1);
    withRuns(made.home.paths, (db) => {
      for (const turn of activeTurns(db)) changeTurn(turn, { owner: identityNow(process.pid) }, db);
    });
    const begun: string[] = [];
    const within = (hasLeft: boolean): RunsWorld => ({
      ...made.later(60_000),
      ownSupervisors: {
        begin: (turn) => begun.push(`${turn.runId} ${turn.number}`) > 0,
        hasLeft: () => hasLeft,
      },
    });
    reconcile(within(false));
    expect(begun).toEqual([]);
    reconcile(within(true));
    expect(begun).toEqual([`${runId} 1`]);
    expect(await made.settled()).toHaveLength(1);
  });

  test('claims what nobody looks after before it starts anything for it, and starts nothing when it cannot', async () => {
    await using made = bench();
    const runIds = await orphans(made, 3);
    unwritable(made, true);
    for (let times = 0; times < 3; times++) reconcileAndArchive(made.world);
    // A supervisor that cannot take its turn, which is one of them.
    await supervise(runIds[0] ?? '', 1, made.world, { isOver: () => false, loadAway });
    expect(await made.settled()).toHaveLength(3);
    expect(made.log()).toContain('no room');
    unwritable(made, false);
    for (let times = 0; times < 3; times++) reconcileAndArchive(made.world);
    const each = runIds.map((runId) => `supervise ${runId} 1`);
    expect((await made.settled()).slice(3).toSorted()).toEqual(each.toSorted());
    expect(made.turns(runIds[0] ?? '')).toMatchObject([{ owner: null, state: 'starting' }]);
  });

  test('notes a database that is none, and does not throw', async () => {
    await using made = bench();
    made.home.put('.self-generation/data/runs.db', 'this is no database'.repeat(100));
    reconcileAndArchive(made.world);
    expect(made.log()).toContain('Cannot read');
  });
});

describe('reconcileRegularly()', () => {
  const TWO_SLOTS = { announce: { mode: 'raw' }, agents: { defaults: { subagents: { maxConcurrent: 2 } } } };
  const LIMIT_MS = 3000;
  /** What a supervisor that died may cost whoever waits, and a little for a busy machine. */
  const LATE_MS = 5000;

  const hanging = (runs: RunsHome) =>
    runs.spawn({ task: '[[hang]]', runTimeoutSeconds: LIMIT_MS / 1000 }).runId;
  const turn = (runs: RunsHome, runId: string): Turn | undefined => runs.turns(runId)[0];
  const killSupervisor = async (runs: RunsHome, runId: string) => {
    await runs.until('its client runs', () => (turn(runs, runId)?.process ?? null) !== null);
    process.kill(turn(runs, runId)?.owner?.pid ?? 0, 'SIGKILL');
  };
  const expectEndedInTime = async (runs: RunsHome, runId: string) => {
    const [ended] = await runs.ended(runId);
    expect(ended).toMatchObject({ state: 'timeout' });
    expect((ended?.endedAtMs ?? 0) - (ended?.startedAtMs ?? 0)).toBeLessThan(LIMIT_MS + LATE_MS);
    expect(withMarker({ name: 'SELF_GENERATION_RUN', value: `${runId}/1` })).toEqual([]);
  };

  test('in the supervisor of another run ends a client at its time whose own supervisor was killed, and gives its slot on', async () => {
    await using runs = runsHome(TWO_SLOTS);
    const { runId: other } = runs.spawn({ task: `[[until ${runs.home.path}/go]]` });
    const dead = hanging(runs);
    const { runId: waiting } = runs.spawn({ task: '[[answer at last]]' });
    await killSupervisor(runs, dead);
    await expectEndedInTime(runs, dead);
    expect(await runs.ended(waiting)).toMatchObject([{ state: 'success', result: 'at last' }]);
    expect(turn(runs, other)?.state).toBe('running');
  });

  test('in one that lives gives on the slot of one that was killed before it could', async () => {
    await using runs = runsHome(TWO_SLOTS);
    runs.spawn({ task: `[[until ${runs.home.path}/go]]` });
    const env = { ...runs.world.env, SELF_GENERATION_CRASH_AT: 'before-reconcile' };
    const crashing = { ...runs.world, env };
    const { runId: first } = accepted(spawnRun({ task: 'quick' }, runs.requester, crashing));
    const { runId: waiting } = runs.spawn({ task: 'next' });
    const [ended] = await runs.ended(first);
    const [started] = await runs.ended(waiting);
    const lateMs = (started?.claimedAtMs ?? 0) - (ended?.endedAtMs ?? 0);
    expect(lateMs).toBeGreaterThan(0);
    expect(lateMs).toBeLessThan(LATE_MS);
  });

  test('does so in an MCP server that nobody calls', async () => {
    await using runs = runsHome();
    const options = { cwd: runs.project, env: runs.world.env, stdin: 'pipe', stdout: 'ignore' } as const;
    const server = Bun.spawn([BINARY, 'mcp'], options);
    const dead = hanging(runs);
    await killSupervisor(runs, dead);
    await expectEndedInTime(runs, dead);
    expect(server.exitCode).toBeNull();
  });

  test('does so in a command that waits', async () => {
    await using runs = runsHome();
    const dead = hanging(runs);
    const waiting = waitForRuns([{ runId: dead, turn: 1 }], { timeoutMs: 20_000 }, runs.world);
    await killSupervisor(runs, dead);
    expect((await waiting).kind).toBe('ended');
    await expectEndedInTime(runs, dead);
  });

  test('in many processes at once starts one supervisor for each turn that nobody looks after', async () => {
    await using made = bench();
    const runIds = await orphans(made, 3);
    const world = JSON.stringify(made.world);
    const main = `${import.meta.dir}/reconcile-regularly.main.ts`;
    const looking = Array.from({ length: 6 }, () =>
      Bun.spawn([process.execPath, main, world], { stdin: 'ignore' }),
    );
    // All of them have seen that nobody looks after these turns before the first of them can claim one.
    const db = openRunsDb(made.home.paths);
    db.transaction(() => Bun.sleepSync(3500));
    db.close();
    await made.until('each has a supervisor again', () => made.calls().length >= 6);
    for (const one of looking) one.kill();
    const each = runIds.map((runId) => `supervise ${runId} 1`);
    expect((await made.settled()).slice(3).toSorted()).toEqual(each.toSorted());
  });
});

test('the program is a supervisor when it is called so: of a run that there is not it says nothing but in the log', async () => {
  await using made = bench();
  const home = made.home.path;
  const run = (...words: string[]) => runProgram([BINARY, ...words], { home, cwd: home });
  expect(await run('supervise', 'abcdef', '1')).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
  expect((await run('supervise')).exitCode).toBe(2);
});
