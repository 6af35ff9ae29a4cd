import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { agentDirFor, userOf } from '../clients/agent-login.ts';
import { CLIENTS, callersModel, clientNamed } from '../clients/clients.ts';
import { refusalOf } from '../clients/route.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { loadRunConfig } from '../settings/all-settings.ts';
import { loadRunSettings, type RunSettings } from '../settings/run-settings.ts';
import { terminalAbove } from '../system/processes.ts';
import { findProgram } from '../system/run-command.ts';
import { releaseWarning } from './client-release.ts';
import type { Handover, HandoverReport } from './model/handover.ts';
import { isSession } from './model/part.ts';
import { grantProblem, looksOnly } from './model/permissions.ts';
import { isAway } from './model/pool-role.ts';
import { isLive, type Requester, type Run } from './model/run.ts';
import { isTerminal, NEWER, type Stop } from './model/turn.ts';
import { placeOnPool } from './pool/place-on-pool.ts';
import { startSupervisors } from './reconcile.ts';
import {
  isPerson,
  labelProblem,
  ownRun,
  planAround,
  refusalInside,
  requesterOf,
  requesterPermissions,
} from './requester.ts';
import {
  allowlistOf,
  listAgents,
  mayWrite,
  type PlannedRun,
  planSpawn,
  type SpawnRequest,
  type SpawnSurroundings,
  worktreeModeOf,
} from './spawn-plan.ts';
import type { SpawnLimits } from './store/limits.ts';
import { useConversation } from './store/parts.ts';
import { claimTurns, queuePosition } from './store/queue.ts';
import { readRuns, runsTransaction } from './store/rows.ts';
import {
  handoverText,
  type Insertion,
  insertRun,
  keepHandover,
  type NewRun,
  runOfPart,
  runsIn,
} from './store/runs.ts';
import { requestStopOfLine } from './store/turns.ts';
import { ungivenRules } from './workspace/first-prompt.ts';
import { directoryBefore, uncommittedFiles, worktreeProblem } from './workspace/worktree.ts';
import { checkpoint, type Refusal, type RunsWorld } from './world.ts';

export type SpawnAnswer =
  | {
      readonly status: 'accepted';
      readonly runId: string;
      readonly childSessionKey: string;
      readonly number: number;
      readonly warning?: string;
      /** What the run may not do, and how the user allows it. */
      readonly note?: string;
      /** From 1 on, while it waits. */
      readonly queuePosition?: number;
      readonly deduplicated?: boolean;
      readonly resolvedModel?: string;
      /** What it is handed of a conversation. */
      readonly handover?: HandoverReport;
    }
  | Refusal;

/** For how long the same call is the same run, and whether also after that run has failed. */
type Repetition = Pick<SpawnLimits, 'dedupeMs' | 'dedupesFailed'>;

/** The same call again within this time is the same run: the answer to the first may have been lost. */
const SAME_CALL: Repetition = { dedupeMs: 60_000, dedupesFailed: false };
/** A caller that names its calls means one run by one name. */
const SAME_NAME: Repetition = { dedupeMs: 86_400_000, dedupesFailed: true };
const UNDELIVERED_MAX = 50;
const NEIGHBOURS_NAMED_MAX = 3;
const LOOKS_ONLY =
  'it may look, and not change files: the user allows it with tools.subagents.allow or "subagents spawn --permissions edit"';
const GRANTED_BY_AGENT =
  'only a person grants permissions: the user starts it with --permissions in their own terminal, or sets ' +
  'tools.subagents.allow';
const OF_ANOTHER_SESSION =
  'another session has started this run and is told its result: wait for it, or read its log, to have it here';

/**
 * Writes the run down and answers. Only after the caller has had its answer the supervisor is started; if this process
 * ends before that, the next one that reconciles does it.
 */
export function spawnRun(request: SpawnRequest, requester: Requester, world: RunsWorld): SpawnAnswer {
  return spawn(request, request.idempotencyKey?.trim() ? SAME_NAME : SAME_CALL, requester, world);
}

/** The request with what git says of a worktree, if it asks for one. Call it before spawnRun(), which is synchronous. */
export async function seenByGit(
  request: SpawnRequest,
  requester: Requester,
  { paths, env }: RunsWorld,
): Promise<SpawnRequest> {
  const config = loadRunConfig(paths);
  if (request.on !== undefined)
    return { ...request, ...(await seenForPool(request.on, request, requester, { paths, env })) };
  if (config.kind === 'refused' || worktreeModeOf(request, config.settings) !== 'always') return request;
  const directory = request.cwd ?? requester.cwd;
  const problem = await worktreeProblem(directory, env);
  if (problem !== undefined) return { ...request, worktreeProblem: problem };
  return { ...request, uncommitted: await uncommittedFiles(directory, env) };
}

/** What git says of a repository that a machine of a pool is to fetch. */
async function seenForPool(
  pool: string,
  { cwd }: SpawnRequest,
  requester: Requester,
  { paths, env }: Pick<RunsWorld, 'paths' | 'env'>,
): Promise<Partial<SpawnRequest>> {
  const directory = cwd ?? requester.cwd;
  const found = await placeOnPool(pool, directory, { paths, env });
  if (found.kind === 'refused') return { worktreeProblem: found.reason };
  return { place: found.place, uncommitted: await uncommittedFiles(directory, env) };
}

/** Starts a new run with the task and settings of one that has ended (P9). The agent's settings are read anew. */
export function retryRun(runId: string, requester: Requester, world: RunsWorld): SpawnAnswer {
  const inside = refusalInside('sessions_spawn', world);
  if (inside !== undefined) return inside;
  const own = readRuns(world.paths, (db) => ownRun(runId, requester, db));
  if (own === undefined) return { status: 'error', error: `Unknown subagent id: ${runId}` };
  if ('status' in own) return own;
  const { run, turn } = own;
  if (isLive(own)) {
    const what = isTerminal(turn.state) ? 'has a message waiting' : `is still ${turn.state}`;
    return { status: 'error', error: `Subagent #${run.number} ${what}: stop it first.` };
  }
  // SAME_CALL although it has a key: a later retry of the same run is another run.
  const request = { ...requestOf(run), handover: handoverOf(run, world) };
  const permissions = isPerson(requester, world) ? { permissions: grantsOf(run) } : {};
  return spawn({ ...request, ...permissions }, SAME_CALL, requester, world);
}

/** Why these permissions cannot be granted, if so: only a person grants any. */
export function grantRefusal(
  permissions: readonly string[] | undefined,
  requester: Requester,
  world: RunsWorld,
): Refusal | undefined {
  if (permissions === undefined || isPerson(requester, world)) return undefined;
  return { status: 'forbidden', error: GRANTED_BY_AGENT };
}

function spawn(asked: SpawnRequest, repetition: Repetition, asker: Requester, world: RunsWorld): SpawnAnswer {
  const askedAtMs = world.now().getTime();
  // One level deep, and nothing but looking: an explore run is let through by the stored profile of the plan that asks.
  const plan = asked.profile === 'explore' ? planAround(world) : undefined;
  const inside = plan === undefined ? refusalInside('sessions_spawn', world) : undefined;
  if (inside !== undefined) return inside;
  const known = asked.part && readRuns(world.paths, (db) => knownPart(asked.part, asker, db));
  if (known !== undefined) return known;
  const [request, requester] = plan === undefined ? [asked, asker] : [asOf(plan, asked), requesterOf(plan)];
  const ungranted = grantRefusal(request.permissions, requester, world);
  if (ungranted !== undefined) return ungranted;
  const config = loadRunConfig(world.paths);
  if (config.kind === 'refused') return { status: 'error', error: config.error };
  const { settings } = config;
  const around = surroundings(requester, settings, world);
  const planned = planSpawn(request, plan === undefined ? around : { ...around, ...surroundingsIn(plan) });
  if (planned.kind === 'refused') return planned.refusal;
  const wanted = plan === undefined ? planned.run : withinPlan(plan, planned.run);
  const warnings = [...config.warnings, ...planned.warnings];
  const { maxQueued, budget } = settings;
  const limits = { maxQueued, budget, undeliveredMax: UNDELIVERED_MAX, ...repetition };
  // One transaction: either the run exists with its place in the queue, or it does not exist.
  const { answer, claimed } = runsTransaction(world.paths, (db) => {
    const shared = sharedDirectory(wanted, db);
    const run = newRun(wanted, shared === undefined ? warnings : [...warnings, shared], askedAtMs);
    const insertion = insertRun(run, planned.spawnKey, limits, db);
    if (insertion.kind === 'inserted') enter(insertion.run, request, db);
    // Inside of a plan, its supervisor starts it: a process of the plan's would end with it.
    const claimed =
      insertion.kind === 'inserted' && plan === undefined ? claimTurns(settings, askedAtMs, db) : [];
    return { answer: answerOf(insertion, requester, db), claimed };
  });
  checkpoint('after-accept', world.env);
  if (claimed.length > 0) setImmediate(() => startSupervisors(claimed, world));
  return answer;
}

/** What is stored with a new run. */
function enter(run: Run, { handover, stops }: SpawnRequest, db: Sqlite): void {
  const { id, part, requester, createdAtMs: atMs } = run;
  keepHandover(id, handover?.text ?? '', db);
  if (part !== null && isSession(part)) useConversation(part.id, atMs, db);
  const stop: Stop = { reason: 'requested', by: NEWER, session: requester.session ?? '', atMs };
  if (stops !== undefined) requestStopOfLine(run, stops, stop, db, 'others');
}

/** The answer of a part that there is already, whatever is asked for now. */
function knownPart(part: SpawnRequest['part'], requester: Requester, db: Sqlite): SpawnAnswer | undefined {
  const found = part && runOfPart(part, db);
  if (found === undefined) return undefined;
  const own = ownRun(found.run.id, requester, db);
  return 'status' in own ? own : answerOf({ kind: 'duplicate', ...own }, requester, db);
}

/** What a plan run asks for: with its own client and model unless others are named, and where it works itself. */
function asOf({ client, model, thinking, cwd }: Run, request: SpawnRequest): SpawnRequest {
  const isOwn = request.client === undefined || request.client === client;
  return {
    ...request,
    client: request.client ?? client,
    model: request.model ?? (isOwn ? (model.resolved ?? undefined) : undefined),
    thinking: request.thinking ?? thinking ?? undefined,
    handover: undefined, // No conversation is its own to hand on.
    cwd,
  };
}

/** What is looked up for a plan may take no more tokens and USD than the plan itself. */
function withinPlan({ profile: plan }: Run, run: PlannedRun): PlannedRun {
  if (run.profile === null) return run;
  const { limits } = run.profile;
  const least = (name: 'tokens' | 'usd') => {
    const both = [limits[name], plan?.limits[name] ?? null].filter((most) => most !== null);
    return both.length === 0 ? null : Math.min(...both);
  };
  return {
    ...run,
    profile: { ...run.profile, limits: { ...limits, tokens: least('tokens'), usd: least('usd') } },
  };
}

/** A plan's process has not its user's environment: what that would say is the plan's own, or seen at the start. */
function surroundingsIn(plan: Run): Partial<SpawnSurroundings> {
  return { routeProblemOf: () => null, permissionsOf: () => plan.permissions, callersModel: null };
}

function answerOf(insertion: Insertion, requester: Requester, db: Sqlite): SpawnAnswer {
  if (insertion.kind === 'refused') {
    const limit = insertion.why === 'label' ? {} : ({ limit: true } as const);
    return { status: 'error', error: insertion.words, ...limit };
  }
  const { run } = insertion;
  const queued = queuePosition(run.id, db);
  const warning = [
    ...(run.warning === null ? [] : [run.warning]),
    ...(run.part !== null || run.requester.session === requester.session ? [] : [OF_ANOTHER_SESSION]),
    ...(insertion.kind === 'inserted' ? insertion.warnings : []),
  ].join('; ');
  return {
    status: 'accepted',
    runId: run.id,
    childSessionKey: run.childKey,
    number: run.number,
    ...(warning !== '' && { warning }),
    ...(queued !== undefined && { queuePosition: queued }),
    ...(looksOnly(run.policy, run.permissions) && { note: LOOKS_ONLY }),
    ...(insertion.kind === 'duplicate' && { deduplicated: true }),
    ...(run.model.resolved !== null && { resolvedModel: run.model.resolved }),
    ...(run.handover !== null && { handover: run.handover }),
  };
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

/** What a spawn of this requester looks at. */
export function surroundings(
  requester: Requester,
  settings: RunSettings,
  world: RunsWorld,
): SpawnSurroundings {
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

/** A warning and no refusal: the runs may write to different files. */
function sharedDirectory(run: PlannedRun, db: Sqlite): string | undefined {
  if (run.worktreeMode !== 'never' || !mayWrite(run) || isAway(run)) return undefined;
  const isOther = ({ part }: Run) => part === null || part.id !== run.part?.id;
  const neighbours = runsIn(run.cwd, 'queued', db).filter(
    (one) => mayWrite(one) && isOther(one) && !isAway(one),
  );
  if (neighbours.length === 0) return undefined;
  const named = neighbours.slice(0, NEIGHBOURS_NAMED_MAX).map(({ number }) => `#${number}`);
  const more = neighbours.length > named.length ? ', …' : '';
  return `other sub-agents that may write work in the same directory: ${named.join(', ')}${more}`;
}

/** The permissions of the earlier run as grants. Only a person's retry gets them. */
function grantsOf({ permissions: { mode, allow } }: Run): readonly string[] {
  if (mode === 'all') return ['all'];
  const known = allow.filter((rule) => grantProblem(rule) === undefined);
  return mode === 'edit' || mode === 'auto' ? ['edit', ...known] : known;
}

/** The same text again. */
function handoverOf({ id, handover: report }: Run, { paths }: RunsWorld): Handover | undefined {
  if (report === null) return undefined;
  const text = readRuns(paths, (db) => handoverText(id, db)) ?? '';
  if (text !== '' || report.charsOut === 0) return { text, report };
  const warnings = [...report.warnings, 'what the run before was handed is not kept any more'];
  return { text, report: { ...report, charsOut: 0, warnings } };
}

/** What a run was started with, but for its permissions, what it was handed, and what it is a part of. */
export function requestOf(run: Run): SpawnRequest {
  const { task, label, agentId, client, model, thinking, runTimeoutMs, cleanup, worktreeMode, profile } = run;
  const { instructions, pool } = run;
  return {
    task,
    agentId,
    client,
    cleanup,
    worktree: worktreeMode,
    runTimeoutSeconds: runTimeoutMs / 1000,
    cwd: directoryBefore(run), // A tree of its own is made anew.
    idempotencyKey: `retry ${run.id}`,
    // A label from before such labels were refused is left out.
    label: label === null || labelProblem(label) !== undefined ? undefined : label,
    model: model.requested ?? undefined,
    thinking: thinking ?? undefined,
    profile: profile?.kind,
    limits: profile?.limits,
    instructions: instructions ?? undefined,
    place: pool?.kind === 'away' ? pool : undefined,
  };
}

/** Which agents the requester's agent may spawn (R26). */
export function agentsFor(requester: string, { paths }: RunsWorld) {
  const settings = loadRunSettings(paths);
  const allowlist = allowlistOf(requester, settings);
  const agents = listAgents(requester, allowlist, settings.agents);
  return { requester, allowAny: allowlist.allowAny, agents };
}
