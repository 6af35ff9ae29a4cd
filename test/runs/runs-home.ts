import { mkdirSync } from 'node:fs';
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
import { BINARY, ROOT } from '../support/binary.ts';
import { temporaryHome } from '../support/home.ts';
import { answerIn, runProgram } from '../support/hook-process.ts';
import type { Payload } from '../support/payloads.ts';

/** With stand-ins for the clients, and `bun` for them. */
export const PATH = `${ROOT}/test/fixtures/bin:${ROOT}/node_modules/.bin:/usr/local/bin:/usr/bin:/bin`;
const WAIT_MAX_MS = 20_000;

export type RunsHome = ReturnType<typeof runsHome>;
export type Accepted = Extract<SpawnAnswer, { status: 'accepted' }>;

/** A home and a project in it from which runs are spawned, with stand-ins for the clients, all of it real. */
export function runsHome(settings: object = { announce: { mode: 'raw' } }) {
  const home = temporaryHome();
  home.writeConfig(settings);
  const project = `${home.path}/project`;
  mkdirSync(project);
  const world: RunsWorld & { readonly env: Record<string, string> } = {
    paths: home.paths,
    env: { HOME: home.path, PATH, LANG: 'C.UTF-8' },
    platform: 'linux',
    cwd: project,
    executablePath: BINARY,
    isCompiled: true,
    now: () => new Date(),
  };
  const requester = requesterHere(world);
  const turns = (runId: string): Turn[] => readRuns(home.paths, (db) => turnsOf(runId, db)) ?? [];
  return {
    home,
    project,
    world,
    /** As `world`, where nothing is started: the program is none. */
    idle: { ...world, executablePath: '/bin/true' } satisfies RunsWorld,
    requester,
    turns,
    until,
    spawn: (request: SpawnRequest): Accepted => accepted(spawnRun(request, requester, world)),
    /** Resolves when every turn of the run has ended, the announce step too. */
    ended: async (runId: string): Promise<Turn[]> => {
      await until('the run ends', () => turns(runId).every(({ state }) => isTerminal(state)));
      return turns(runId);
    },
    waiting: () => readRuns(home.paths, (db) => waitingAnnouncements(requester.key, db)) ?? [],
    /** What a hook of a main session says, in a process of its own. */
    hook: async (payload: Payload): Promise<string | undefined> => {
      const stdin = JSON.stringify({ cwd: project, ...payload });
      const options = { home: home.path, env: { PATH }, cwd: project, stdin };
      const result = await runProgram([BINARY, 'hook'], options);
      if (result.exitCode !== 0 || result.stderr !== '') throw new Error(`The hook failed: ${result.stderr}`);
      return answerIn(result.stdoutBytes)?.additionalContext;
    },
    [Symbol.asyncDispose]: async () => {
      // Whatever was started has this home in its environment.
      await until('everything is gone', () => {
        const living = withMarker({ name: 'HOME', value: home.path });
        for (const pid of living) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
        return living.length === 0; // One of them may just have started another.
      });
      home[Symbol.dispose]();
    },
  };
}

/** Resolves when what is asked for holds. */
export async function until(what: string, holds: () => boolean, mostMs = WAIT_MAX_MS): Promise<void> {
  const endMs = Date.now() + mostMs;
  while (!holds()) {
    if (Date.now() > endMs) throw new Error(`Waited in vain: ${what}`);
    await Bun.sleep(10);
  }
}

export function accepted(answer: SpawnAnswer): Accepted {
  if (answer.status !== 'accepted') throw new Error(`It was not accepted: ${answer.error}`);
  return answer;
}
