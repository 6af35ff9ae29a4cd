import { CALLER_MARKS, clientAround } from '../clients/clients.ts';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { getProjectPath } from '../core/project.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { loadRunSettings } from '../settings/run-settings.ts';
import { RUN_VARIABLE } from '../system/process-identity.ts';
import { isSetAbove, programAbove } from '../system/processes.ts';
import { pathExists, readTextFile } from '../system/runtime-bun.ts';
import { orLogged } from './failure-log.ts';
import { allowlistOf, listAgents } from './model/agent-ids.ts';
import { type Requester, type Run, type RunWithMessages, requesterKey } from './model/run.ts';
import { findTarget, type TargetAnswer } from './model/run-target.ts';
import { isTerminal, type Turn } from './model/turn.ts';
import { addRunEvent } from './store/rows.ts';
import { getRun, listRuns, type RunListing } from './store/runs.ts';
import { readRuns, withRuns } from './store/runs-db.ts';
import { turnsOf } from './store/turns.ts';
import { isInsideRun, type Refusal, type RunsWorld } from './world.ts';

/** Who asks, seen from this process. */
export function requesterHere({ env, cwd }: Pick<RunsWorld, 'env' | 'cwd'>): Requester {
  const client = clientAround(env);
  const directory = getProjectPath(cwd, env) ?? cwd;
  return {
    key: requesterKey(directory, { readTextFile, pathExists }),
    session: env[client?.caller.sessionVariable ?? ''] || null,
    client: client?.name ?? null,
    cwd,
  };
}

/** What the clients, and we for our runs, set for whatever their agents start. */
const AGENT_MARKS = [...CALLER_MARKS, 'AI_AGENT', RUN_VARIABLE];

/**
 * What shows that an agent started this process: a variable in its environment or in that of a process above it, or a
 * client among those. Undefined for a person's own terminal. A process that leaves its session and empties its
 * environment is not recognised.
 */
export function agentMark(env: Environment): string | undefined {
  const name = AGENT_MARKS.find((mark) => env[mark] || isSetAbove(mark));
  if (name !== undefined) return `${name} is set`;
  const client = programAbove(CLIENT_NAMES);
  return client && `${client} is running above it`;
}

const RUN_ID = /^[0-9a-f]{32}(?=\/|$)/;

/** What is refused inside a run, and written down; undefined outside of one. `action`: as a caller knows it. */
export function refusalInside(action: string, world: RunsWorld): Refusal | undefined {
  return isInsideRun(world) ? refuseInside(action, 'command', world) : undefined;
}

/** Refuses what a sub-agent asked for; it stays refused where that cannot be written down. `actor`: who refuses. */
export function refuseInside(action: string, actor: string, world: RunsWorld): Refusal {
  if (pathExists(world.paths.runsDatabase)) noteRefusal(action, actor, world); // Without one there is no run.
  return {
    status: 'forbidden',
    error: `${action} is not allowed from sub-agent sessions: say in your result what is to be done`,
  };
}

function noteRefusal(action: string, actor: string, { env, paths, now }: RunsWorld): void {
  const runId = RUN_ID.exec(env[RUN_VARIABLE] ?? '')?.[0] ?? null;
  const event = { runId, turn: null, atMs: now().getTime(), actor, type: 'refused' };
  const detail = `${action}: inside a run`;
  orLogged(runId ?? '', paths, () => withRuns(paths, (db) => addRunEvent({ ...event, detail }, db)));
}

/** A run that is named is looked for among so many of the newest. */
const RUNS_MAX = 20_000;

type Asker = { readonly requester: Requester; readonly world: RunsWorld };

/** The runs of this requester, archived ones too, the newest first. */
export function runsOf({ requester, world }: Asker): readonly RunListing[] {
  const filter = { requester: requester.key, includeArchived: true, limit: RUNS_MAX };
  return readRuns(world.paths, (db) => listRuns(filter, db)) ?? [];
}

/** The run of this requester that is meant by these words, or why it is none and what to do. */
export function findOwnRun(words: string | undefined, asker: Asker): TargetAnswer<RunListing> {
  const runs = runsOf(asker);
  const answer = findTarget(words, runs);
  if (answer.kind === 'found' || answer.kind === 'ambiguous') return answer;
  const next =
    runs.length === 0
      ? 'no sub-agent of this project was ever started'
      : '"subagents list" shows which there are';
  return { ...answer, error: `${answer.error.replace(/\.$/, '')}; ${next}` };
}

/** The run of any project whose id begins so: `id:1a2b`, or at least as much of it as answers show. */
export function findByIdAnywhere(words: string, world: RunsWorld): TargetAnswer<RunListing> | undefined {
  const prefix = /^(?:id:(.+)|([0-9a-f-]{8,36}))$/i.exec(words.trim());
  if (prefix === null) return undefined;
  const filter = { includeArchived: true, limit: RUNS_MAX };
  const runs = readRuns(world.paths, (db) => listRuns(filter, db)) ?? [];
  const answer = findTarget(`id:${prefix[1] ?? prefix[2]}`, runs);
  if (answer.kind !== 'missing') return answer;
  return { ...answer, error: `${answer.error}; "subagents list --all-projects" shows which there are` };
}

/** A turn of the run that waits or works, its announce step too; undefined when all of it is over. */
export function activeTurn({ id }: Run, paths: StatePaths): Turn | undefined {
  return readRuns(paths, (db) => turnsOf(id, db))?.find(({ state }) => !isTerminal(state));
}

/** The run, when it is one of the requester's. */
export function ownRun(runId: string, requester: Requester, db: Sqlite): RunWithMessages | Refusal {
  const found = getRun(runId, db);
  if (found === undefined) return { status: 'error', error: `Unknown subagent id: ${runId}` };
  if (found.run.requester.key === requester.key) return found;
  const { number, requester: spawner } = found.run;
  const error = `Subagents can only be controlled from the project that spawned them: this is #${number} in "${spawner.cwd}".`;
  return { status: 'forbidden', error };
}

/** Which agents the requester's agent may spawn (R26). */
export function agentsFor(requester: string, { paths }: RunsWorld) {
  const settings = loadRunSettings(paths);
  const allowlist = allowlistOf(requester, settings);
  const agents = listAgents(requester, allowlist, settings.agents);
  return { requester, allowAny: allowlist.allowAny, agents };
}
