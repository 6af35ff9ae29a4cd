import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { agentDirFor, userOf } from '../clients/agent-login.ts';
import { CLIENTS, callersModel, clientNamed } from '../clients/clients.ts';
import { refusalOf } from '../clients/route.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { loadRunConfig } from '../settings/all-settings.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import { findProgram } from '../system/run-command.ts';
import { terminalAbove } from '../system/terminal.ts';
import { releaseWarning } from './client-release.ts';
import { looksOnly } from './model/permissions.ts';
import type { Requester } from './model/run.ts';
import type { Turn } from './model/turn.ts';
import { startSupervisors } from './reconcile.ts';
import { refusalInside } from './requester.ts';
import { isPerson, requesterPermissions } from './requester-permissions.ts';
import { mayWrite, type PlannedRun, planSpawn, type SpawnSurroundings } from './spawn-plan.ts';
import type { SpawnGrant, SpawnLimits } from './store/limits.ts';
import { claimTurns, queuePosition } from './store/queue.ts';
import { insertRun, type NewRun, runsIn } from './store/runs.ts';
import { withRuns } from './store/runs-db.ts';
import { ungivenRules } from './workspace/first-prompt.ts';
import { uncommittedFiles } from './workspace/worktree.ts';
import type { RunsWorld, SpawnAnswer, SpawnRequest } from './world.ts';
import { checkpoint } from './world.ts';

type Repetition = Pick<SpawnLimits, 'dedupeMs' | 'dedupesFailed'>;

/** The same call again within this time is the same run: the answer to the first may have been lost. */
const SAME_CALL: Repetition = { dedupeMs: 60_000, dedupesFailed: false };
/** A caller that names its calls means one run by one name. */
const SAME_NAME: Repetition = { dedupeMs: 86_400_000, dedupesFailed: true };
const UNDELIVERED_MAX = 50;
const UNDELIVERED_WARNING = 25;
const NEIGHBOURS_NAMED_MAX = 3;
const LOOKS_ONLY =
  'it may look, and not change files: the user allows it with tools.subagents.allow or "subagents spawn --permissions edit"';
const GRANTED_BY_AGENT =
  'only a person grants permissions: the user starts it with "self-generation subagents spawn --permissions …" in ' +
  'their own terminal, or sets tools.subagents.allow';
const OF_ANOTHER_SESSION =
  'another session has started this run and is told its result: wait for it, or read its log, to have it here';

/**
 * Writes the run down and answers. Only after the caller has had its answer the supervisor is started; if this process
 * ends before that, the next one that looks after runs does it.
 */
export function spawnRun(request: SpawnRequest, requester: Requester, world: RunsWorld): SpawnAnswer {
  return spawn(request, request.idempotencyKey?.trim() ? SAME_NAME : SAME_CALL, requester, world);
}

/** The request with what only git can say, where that matters. To be called before spawnRun(), which waits for nobody. */
export async function seenByGit(
  request: SpawnRequest,
  requester: Requester,
  { paths, env }: RunsWorld,
): Promise<SpawnRequest> {
  const config = loadRunConfig(paths);
  const mode = request.worktree ?? (config.kind === 'refused' ? 'never' : config.settings.worktree);
  if (mode !== 'always') return request;
  return { ...request, uncommitted: await uncommittedFiles(request.cwd ?? requester.cwd, env) };
}

/** As spawnRun(), for one more try of a run: its name only says which try this is, and a later one is another run. */
export function spawnAgain(request: SpawnRequest, requester: Requester, world: RunsWorld): SpawnAnswer {
  return spawn(request, SAME_CALL, requester, world);
}

function spawn(
  request: SpawnRequest,
  repetition: Repetition,
  requester: Requester,
  world: RunsWorld,
): SpawnAnswer {
  const askedAtMs = world.now().getTime();
  const inside = refusalInside('sessions_spawn', world);
  if (inside !== undefined) return inside;
  if (request.permissions !== undefined && !isPerson(requester, world))
    return { status: 'forbidden', error: GRANTED_BY_AGENT };
  const config = loadRunConfig(world.paths);
  if (config.kind === 'refused') return { status: 'error', error: config.error };
  const { settings } = config;
  const plan = planSpawn(request, surroundings(requester, settings, world));
  if (plan.kind === 'refused') return plan.refusal;
  const { run, spawnKey } = plan;
  const warnings = [...config.warnings, ...plan.warnings];
  const { maxQueued, budget } = settings;
  const limits = { maxQueued, budget, undeliveredMax: UNDELIVERED_MAX, ...repetition };
  return withRuns(world.paths, (db) => {
    const accepted = db.transaction(() => {
      const shared = sharedDirectory(run, db);
      const known = shared === undefined ? warnings : [...warnings, shared];
      return accept(newRun(run, known, askedAtMs), { spawnKey, limits, settings }, db);
    });
    checkpoint('after-accept', world.env);
    if (accepted.claimed.length > 0) setImmediate(() => startSupervisors(accepted.claimed, world));
    return accepted.answer;
  });
}

/** To be called in one transaction: the run is there with its place in the queue, or it is not there. */
function accept(
  run: NewRun,
  { spawnKey, limits, settings }: { spawnKey: string; limits: SpawnLimits; settings: RunSettings },
  db: Sqlite,
): { answer: SpawnAnswer; claimed: readonly Turn[] } {
  const insertion = insertRun(run, spawnKey, limits, db);
  if (insertion.kind === 'refused') {
    const limit = insertion.why === 'label' ? {} : ({ limit: true } as const);
    return { answer: { status: 'error', error: insertion.words, ...limit }, claimed: [] };
  }
  const claimed = insertion.kind === 'inserted' ? claimTurns(settings, run.createdAtMs, db) : [];
  const { id: runId, childKey: childSessionKey, number, model, warning } = insertion.run;
  const queued = queuePosition(runId, db);
  const words = [
    ...(warning === null ? [] : [warning]),
    ...(insertion.run.requester.session === run.requester.session ? [] : [OF_ANOTHER_SESSION]),
    ...(insertion.kind === 'inserted' ? limitWarnings(insertion) : []),
  ].join('; ');
  const answer: SpawnAnswer = {
    status: 'accepted',
    runId,
    childSessionKey,
    number,
    ...(words === '' ? {} : { warning: words }),
    ...(queued === undefined ? {} : { queuePosition: queued }),
    ...(looksOnly(insertion.run.policy, insertion.run.permissions) ? { note: LOOKS_ONLY } : {}),
    ...(insertion.kind === 'duplicate' ? { deduplicated: true } : {}),
    ...(model.resolved === null ? {} : { resolvedModel: model.resolved }),
  };
  return { answer, claimed };
}

function newRun(run: PlannedRun, warnings: readonly string[], createdAtMs: number): NewRun {
  const uuid = randomUUID();
  return {
    ...run,
    id: uuid.replaceAll('-', ''),
    childKey: `agent:${run.agentId}:subagent:${uuid}`,
    warning: warnings.join('; ') || null,
    terminal: terminalAbove(),
    createdAtMs,
  };
}

function surroundings(requester: Requester, settings: RunSettings, world: RunsWorld): SpawnSurroundings {
  return {
    requester,
    settings,
    clients: CLIENTS,
    isOnPath: (program) => findProgram(program, world.env, world.platform) !== undefined,
    isDirectory: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    agentDirOf: (agent) => agentDirFor(agent, settings, world.paths),
    routeProblemOf: (login, model) =>
      refusalOf(() => clientNamed(login.client).route(userOf(login, world.env), model)),
    permissionsOf: (client, grants) => requesterPermissions(requester, client, grants, world),
    releaseWarningOf: (client) => releaseWarning(client, world),
    ungivenRules,
    callersModel: callersModel(requester, world.env),
  };
}

function limitWarnings({ undelivered, budgetWarnings }: Omit<SpawnGrant, 'kind'>): string[] {
  const inbox = `${undelivered} results have not been taken in: see "subagents inbox"`;
  return [...budgetWarnings, ...(undelivered < UNDELIVERED_WARNING ? [] : [inbox])];
}

/** Said, not refused: what they write may be in different places. */
function sharedDirectory(run: PlannedRun, db: Sqlite): string | undefined {
  if (run.worktreeMode !== 'never' || !mayWrite(run)) return undefined;
  const neighbours = runsIn(run.cwd, 'queued', db).filter(mayWrite);
  if (neighbours.length === 0) return undefined;
  const named = neighbours.slice(0, NEIGHBOURS_NAMED_MAX).map(({ number }) => `#${number}`);
  const more = neighbours.length > named.length ? ', …' : '';
  return `other sub-agents that may write work in the same directory: ${named.join(', ')}${more}`;
}
