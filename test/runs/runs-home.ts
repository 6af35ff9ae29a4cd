import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Announcement } from '../../src/runs/model/announcement.ts';
import type { Requester } from '../../src/runs/model/run.ts';
import { isTerminal, type Turn } from '../../src/runs/model/turn.ts';
import { requesterHere } from '../../src/runs/requester.ts';
import { type SpawnAnswer, spawnRun } from '../../src/runs/spawn.ts';
import type { SpawnRequest } from '../../src/runs/spawn-plan.ts';
import { waitingAnnouncements } from '../../src/runs/store/outbox.ts';
import { readRuns } from '../../src/runs/store/rows.ts';
import { turnsOf } from '../../src/runs/store/turns.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { isAlive } from '../../src/system/process-identity.ts';
import { withMarker } from '../../src/system/processes.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { answerIn, runProgram } from '../support/hook-process.ts';
import type { Payload } from '../support/payloads.ts';

const ROOT = resolve(import.meta.dir, '../..');
const PATH = `${ROOT}/test/fixtures/bin:${ROOT}/node_modules/.bin:/usr/local/bin:/usr/bin:/bin`;
const WAIT_MAX_MS = 20_000;

/** A home and a project in it from which runs are spawned, with stand-ins for the clients, all of it real. */
export type RunsHome = AsyncDisposable & {
  readonly home: Home;
  readonly project: string;
  readonly world: RunsWorld;
  readonly requester: Requester;
  readonly spawn: (request: SpawnRequest) => Accepted;
  readonly turns: (runId: string) => Turn[];
  /** Resolves when every turn of the run has ended, the announce step too. */
  readonly ended: (runId: string) => Promise<Turn[]>;
  readonly until: (what: string, holds: () => boolean) => Promise<void>;
  readonly waiting: () => Announcement[];
  /** What a hook of a main session says, in a process of its own. */
  readonly hook: (payload: Payload) => Promise<string | undefined>;
};

export type Accepted = Extract<SpawnAnswer, { status: 'accepted' }>;

export function runsHome(settings: Record<string, unknown> = { announce: { mode: 'raw' } }): RunsHome {
  const home = temporaryHome();
  home.writeConfig(settings);
  const project = `${home.path}/project`;
  mkdirSync(project);
  const env = { HOME: home.path, PATH, LANG: 'C.UTF-8' };
  const world: RunsWorld = {
    paths: home.paths,
    env,
    platform: 'linux',
    cwd: project,
    executablePath: process.execPath,
    isCompiled: false,
    now: () => new Date(),
  };
  const requester = requesterHere(world);
  const turns = (runId: string) => readRuns(home.paths, (db) => turnsOf(runId, db)) ?? [];
  const until = async (what: string, holds: () => boolean) => {
    const endMs = Date.now() + WAIT_MAX_MS;
    while (!holds()) {
      if (Date.now() > endMs) throw new Error(`Waited in vain: ${what}`);
      await Bun.sleep(10);
    }
  };
  return {
    home,
    project,
    world,
    requester,
    turns,
    until,
    spawn: (request) => accepted(spawnRun(request, requester, world)),
    ended: async (runId) => {
      await until('the run ends', () => turns(runId).every(({ state }) => isTerminal(state)));
      return turns(runId);
    },
    waiting: () => readRuns(home.paths, (db) => waitingAnnouncements(requester.key, db)) ?? [],
    hook: async (payload) => {
      const command = [process.execPath, `${ROOT}/src/main.ts`, 'hook'];
      const result = await runProgram(command, {
        home: home.path,
        env: { PATH },
        cwd: project,
        stdin: JSON.stringify({ cwd: project, ...payload }),
      });
      if (result.exitCode !== 0 || result.stderr !== '') throw new Error(`The hook failed: ${result.stderr}`);
      return answerIn(result.stdoutBytes)?.additionalContext;
    },
    [Symbol.asyncDispose]: async () => {
      // Whatever was started has this home in its environment.
      const living = () => withMarker({ name: 'HOME', value: home.path });
      for (const pid of living()) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      await until('everything is gone', () => living().length === 0);
      home[Symbol.dispose]();
    },
  };
}

export function accepted(answer: SpawnAnswer): Accepted {
  if (answer.status !== 'accepted') throw new Error(`It was not accepted: ${answer.error}`);
  return answer;
}
