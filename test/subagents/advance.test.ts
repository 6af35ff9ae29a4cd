import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { withRuns } from '../../src/store/runs/runs-db.ts';
import { activeTurns, changeTurn } from '../../src/store/runs/turns.ts';
import { advance, lookAfterRuns } from '../../src/subagents/advance.ts';
import type { RunsWorld } from '../../src/subagents/features.ts';
import { spawnRun } from '../../src/subagents/spawn.ts';
import { supervise } from '../../src/subagents/supervisor/supervise.ts';
import { currentBoot } from '../../src/sys/process-identity.ts';
import { withMarker } from '../../src/sys/process-tree.ts';
import { runProgram } from '../support/hook-process.ts';
import { accepted, runsHome } from './runs-home.ts';

const MAIN = resolve(import.meta.dir, '../../src/main.ts');
const TIMEOUT_MS = 30_000;

/** A program that only notes how it was called. */
async function bench() {
  const runs = runsHome();
  const file = `${runs.home.path}/calls`;
  const calls = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []);
  const program = runs.home.put('program', `#!/bin/sh\necho "$@" >> ${file}\n`);
  chmodSync(program, 0o755);
  const world: RunsWorld = { ...runs.world, executablePath: program, isCompiled: true };
  return {
    runs,
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
    later: (ms: number): RunsWorld => ({ ...world, now: () => new Date(Date.now() + ms) }),
    calls,
    log: () => (existsSync(runs.home.paths.runsLog) ? readFileSync(runs.home.paths.runsLog, 'utf8') : ''),
    [Symbol.asyncDispose]: () => runs[Symbol.asyncDispose](),
  };
}

type Bench = Awaited<ReturnType<typeof bench>>;

/** Runs whose supervisors have died. */
async function orphans({ runs, world, calls }: Bench, count: number): Promise<string[]> {
  const runIds = Array.from(
    { length: count },
    (_, index) => accepted(spawnRun({ task: `task ${index}` }, runs.requester, world)).runId,
  );
  await runs.until('they are started', () => calls().length === count);
  const dead = { pid: 2 ** 22 + 1, start: '1', boot: currentBoot() };
  withRuns(runs.home.paths, (db) => {
    for (const turn of activeTurns(db)) changeTurn(turn, { owner: dead }, db);
  });
  return runIds;
}

/** No turn can be written, as when the disk is full. */
function unwritable({ runs }: Bench, isSo: boolean): void {
  withRuns(runs.home.paths, (db) =>
    db.exec(
      isSo
        ? "CREATE TRIGGER full BEFORE UPDATE ON turns BEGIN SELECT RAISE(ABORT, 'no room'); END"
        : 'DROP TRIGGER full',
    ),
  );
}

describe('advance()', () => {
  test('starts a supervisor for each turn once, and once more when it has not come after ten seconds', async () => {
    await using made = await bench();
    const { runId } = accepted(spawnRun({ task: 'quick' }, made.runs.requester, made.world));
    await made.runs.until('it is started', () => made.calls().length === 1);
    expect(made.calls()).toEqual([`supervise ${runId} 1`]);
    advance(made.world);
    advance(made.later(9000));
    expect(await made.settled()).toHaveLength(1);
    advance(made.later(11_000));
    expect(await made.settled()).toEqual([`supervise ${runId} 1`, `supervise ${runId} 1`]);
  });

  test('gives the slot back when no supervisor can be started, and notes why', async () => {
    await using made = await bench();
    const world = { ...made.world, executablePath: `${made.runs.home.path}/missing` };
    const { runId } = accepted(spawnRun({ task: 'quick' }, made.runs.requester, world));
    await made.runs.until('it is noted', () => made.log() !== '');
    expect(made.log()).toContain('missing');
    expect(made.runs.turns(runId)).toMatchObject([{ state: 'queued', claimedAtMs: null }]);
    advance(made.world);
    await made.runs.until('it is started', () => made.calls().length === 1);
  });

  test('starts nothing inside a run', async () => {
    await using made = await bench();
    accepted(spawnRun({ task: 'quick' }, made.runs.requester, made.world));
    await made.runs.until('it is started', () => made.calls().length === 1);
    const inside = made.later(11_000);
    advance({ ...inside, env: { ...inside.env, SELF_GENERATION_RUN: 'a/1' } });
    expect(await made.settled()).toHaveLength(1);
    lookAfterRuns(inside);
    expect(await made.settled()).toHaveLength(2);
  });

  test('claims what nobody looks after before it starts anything for it, and starts nothing when it cannot', async () => {
    await using made = await bench();
    const runIds = await orphans(made, 3);
    unwritable(made, true);
    for (let kicks = 0; kicks < 3; kicks++) advance(made.world);
    // A supervisor that cannot take its turn, which is one of them.
    await supervise(runIds[0] ?? '', 1, made.world);
    expect(await made.settled()).toHaveLength(3);
    expect(made.log()).toContain('no room');
    unwritable(made, false);
    for (let kicks = 0; kicks < 3; kicks++) advance(made.world);
    expect((await made.settled()).slice(3).toSorted()).toEqual(
      runIds.map((runId) => `supervise ${runId} 1`).toSorted(),
    );
    expect(made.runs.turns(runIds[0] ?? '')).toMatchObject([{ owner: null, state: 'starting' }]);
  });

  test('notes a database that is none, and does not throw', async () => {
    await using made = await bench();
    made.runs.home.put('.self-generation/data/runs.db', 'this is no database'.repeat(100));
    advance(made.world);
    expect(made.log()).toContain('Cannot read');
  });
});

describe('the program', () => {
  const run = (home: string, ...words: string[]) =>
    runProgram([process.execPath, MAIN, ...words], { home, cwd: home });

  test(
    'is a supervisor when it is called so: of a run that there is not it says nothing but in the log',
    async () => {
      await using made = await bench();
      const { path } = made.runs.home;
      const result = await run(path, 'supervise', 'abcdef', '1');
      expect(result).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
      expect((await run(path, 'supervise')).exitCode).toBe(2);
    },
    TIMEOUT_MS,
  );
});
