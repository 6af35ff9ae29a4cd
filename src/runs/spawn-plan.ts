import type { AgentOfClient, LoginOf } from '../clients/agent-login.ts';
import type { Client } from '../clients/client.ts';
import type { ClientName } from '../core/client-name.ts';
import { definedOnly } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import { isAbsolutePath } from '../core/state-paths.ts';
import { cutText, fingerprint, oneLine } from '../core/text.ts';
import { type AgentSettings, agentId as idType, type RunSettings } from '../settings/run-settings.ts';
import type { Handover } from './model/handover.ts';
import { type Part, partKey } from './model/part.ts';
import { grantProblem, looksOnly, narrower, type Permissions } from './model/permissions.ts';
import type { PoolPlace, PoolService } from './model/pool-role.ts';
import { type Profile, type ProfileKind, type ProfileLimits, profilePolicy } from './model/profile.ts';
import {
  agentOfKey,
  type Requester,
  type Run,
  THINKING_LEVELS,
  type Thinking,
  type WorktreeMode,
} from './model/run.ts';
import { combinePolicies, isToolAllowed, SUBAGENT_DENY, type ToolPolicy } from './model/tool-policy.ts';
import { type Grants, labelProblem } from './requester.ts';
import type { NewRun } from './store/runs.ts';
import type { Refusal } from './world.ts';

export type SpawnRequest = {
  readonly task: string;
  readonly label?: string | undefined;
  readonly agentId?: string | undefined;
  readonly client?: ClientName | undefined;
  readonly model?: string | undefined;
  /** As it was said; a word that is no level is an error. */
  readonly thinking?: string | undefined;
  /** 0: none. */
  readonly runTimeoutSeconds?: number | undefined;
  readonly cleanup?: 'delete' | 'keep' | undefined;
  readonly worktree?: WorktreeMode | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Absolute; otherwise the requester's. */
  readonly cwd?: string | undefined;
  /** What a person lets it do besides: `edit`, `all`, or rules. */
  readonly permissions?: readonly string[] | undefined;
  /** What it is for; otherwise any task. */
  readonly profile?: ProfileKind | undefined;
  /** Of the profile, instead of the settings'. */
  readonly limits?: { readonly [K in keyof ProfileLimits]?: ProfileLimits[K] | undefined } | undefined;
  /** What it is handed of its requester's conversation. */
  readonly handover?: Handover | undefined;
  /** There is one run for each part: asking again for it gives that. Otherwise a sub-agent of its requester. */
  readonly part?: Part | undefined;
  /** Of a part, what of its line is stopped for it, once it is accepted. */
  readonly stops?: 'at work' | 'all' | undefined;
  /** Its role in place of that of a sub-agent, before the project's files. Without secrets. */
  readonly instructions?: string | undefined;
  /** How many files are not committed where it is to work: a worktree of its own does not have them. */
  readonly uncommitted?: number | undefined;
  /** Why it cannot have the worktree that it is to have, or not go to that pool. */
  readonly worktreeProblem?: string | undefined;
  /** The pool whose machines it is to work on. */
  readonly on?: string | undefined;
  /** The same, with what a machine there needs. */
  readonly place?: PoolPlace | undefined;
  /** It is done for a member of the team, who may let it do no more than this. */
  readonly service?: (PoolService & Bounds) | undefined;
};

/** What somebody else lets a run do, at the most. */
type Bounds = { readonly policy: ToolPolicy; readonly permissions: Permissions };

/** What a spawn looks at besides the request. */
export type SpawnSurroundings = {
  readonly requester: Requester;
  readonly settings: RunSettings;
  readonly clients: Readonly<Record<ClientName, Client>>;
  readonly isOnPath: (program: string) => boolean;
  readonly isDirectory: (path: string) => boolean;
  readonly agentDirOf: (agent: AgentOfClient) => string | null;
  /** Why nothing may be sent with the client, if so; see clients/route.ts. */
  readonly routeProblemOf: (login: LoginOf & { readonly cwd: string }, model: string | null) => string | null;
  /** What a run of this client may do for the requester, with these grants. */
  readonly permissionsOf: (client: ClientName, grants: Grants) => Permissions;
  /** What there is to say about the release of the client that is installed. */
  readonly releaseWarningOf: (client: Client) => string | null;
  /** The project's file of rules that sub-agents with these files are not given, when they are given no other. */
  readonly ungivenRules: (workspace: string, files: readonly string[]) => string | null;
  /** The model of the session that asks, where it is known. */
  readonly callersModel: string | null;
};

export type PlannedRun = Omit<NewRun, 'id' | 'childKey' | 'warning' | 'terminal' | 'createdAtMs'>;

/** Of a task, and of a message, in UTF-16 units. */
export const TASK_LENGTH_MAX = 1024 * 1024;
const LABEL_LENGTH_MAX = 200;
/** Cut only then: half a secret is not recognised. */
const LABEL_SCANNED_MAX = 4096;
const ECHO_LENGTH_MAX = 80;
const TIMEOUT_SECONDS_MAX = 30 * 86_400;
const MS_PER_SECOND = 1000;
const MS_PER_MINUTE = 60_000;

/** What a request comes to: a run as it will be written down, with the key of the same call, or why there is none. Changes nothing. */
export function planSpawn(request: SpawnRequest, surroundings: SpawnSurroundings) {
  const { requester, settings, clients } = surroundings;
  const wrong = requestProblem(request, surroundings);
  if (wrong !== undefined) return refuse('error', wrong);

  const chosen =
    teamMember(request, settings) ?? chooseAgent(request.agentId, agentOfKey(requester.key), settings);
  if (chosen.kind === 'refused') return chosen;
  const agentId = chosen.id;

  const agent = settings.agents.find(({ id }) => id === agentId);
  const name = request.client ?? agent?.client ?? settings.client ?? requester.client ?? 'claude';
  const client = clients[name];
  if (client === undefined) return refuse('error', `There is no client "${name}"`);
  const isAway = request.place !== undefined;
  if (!isAway && !surroundings.isOnPath(name)) {
    const install = `install it with "npm install -g ${client.npmPackage}"`;
    return refuse('error', `${name} is not on the PATH: ${install}, or choose another client`);
  }

  const agentTools = agent === undefined ? [] : [agent.tools];
  const profile = profileOf(request, settings);
  const base =
    profile === null
      ? { deny: SUBAGENT_DENY, allow: null }
      : profilePolicy(profile.kind, client.readsBy ?? []);
  const { service } = request;
  const bounds = service === undefined ? [] : [service.policy];
  const policy = combinePolicies([base, ...agentTools, settings.tools, ...bounds]);
  const grants = { ofSettings: settings.tools.permitted, ofPerson: request.permissions ?? [] };
  const own = surroundings.permissionsOf(client.name, grants);
  const permissions = service === undefined ? own : narrower(own, service.permissions);
  const unkept = client.gaps(policy);
  if (profile !== null && unkept.length > 0) return refuse('forbidden', lookingRefusal(client, unkept));
  const gaps = [...unkept, ...ruleGaps(client, permissions, requester)];
  if (gaps.length > 0 && settings.tools.isStrict) return refuse('forbidden', gapRefusal(client, gaps));

  const model = chooseModel(request.model, wantedModels(agent, surroundings), client);
  const cwd = request.cwd ?? requester.cwd;
  const agentDir = isAway ? null : surroundings.agentDirOf({ agentId, client: client.name });
  const unroutable = isAway
    ? null
    : surroundings.routeProblemOf({ client: client.name, agentDir, cwd }, model.resolved);
  if (unroutable !== null) return refuse('error', unroutable);
  const thinking = readThinking(request.thinking) ?? agent?.thinking ?? settings.thinking;
  const knowsThinking = thinking === null || client.thinking.includes(thinking);
  const release = isAway ? null : surroundings.releaseWarningOf(client);
  const rules = surroundings.ungivenRules(agent?.workspace ?? cwd, settings.contextFiles);
  const worktreeMode = worktreeModeOf(request, settings);
  const { uncommitted = 0 } = request;
  const warnings = [
    ...(rules === null ? [] : [rulesWarning(rules, settings)]),
    ...((worktreeMode === 'always' || isAway) && uncommitted > 0 ? [uncommittedWarning(uncommitted)] : []),
    ...(release === null ? [] : [release]),
    ...model.warnings,
    ...(knowsThinking ? [] : [`${client.name} has no thinking level "${thinking}": its own default is used`]),
    ...(gaps.length > 0 ? [`${client.name} cannot be kept from: ${gaps.join(', ')}`] : []),
  ];
  const run: PlannedRun = {
    requester,
    agentId,
    client: client.name,
    label: labelOf(request),
    task: request.task.trim(),
    model: { requested: model.requested, resolved: model.resolved },
    thinking: knowsThinking ? thinking : null,
    cleanup: request.cleanup ?? 'keep',
    runTimeoutMs: timeoutSeconds(request, settings) * MS_PER_SECOND,
    cwd,
    worktreeMode,
    policy,
    permissions,
    gaps,
    agentDir,
    profile,
    handover: request.handover?.report ?? null,
    part: request.part ?? null,
    instructions: request.instructions ?? null,
    pool: request.place ?? (service && serviceOf(service)) ?? null,
    archiveAfterMs: archiveAfterMs(request, settings),
  };
  return { kind: 'planned', run, warnings, spawnKey: spawnKeyOf(request, run) } as const;
}

function serviceOf({ kind, worker, budgetUsd }: PoolService): PoolService {
  return { kind, worker, budgetUsd };
}

/** What only looks needs no tree of its own, which would lack what is not committed; a part has one if it asks for it. */
export function worktreeModeOf(
  { worktree, profile, part, on, place }: SpawnRequest,
  settings: Pick<RunSettings, 'worktree'>,
): WorktreeMode {
  if (on !== undefined || place !== undefined) return 'never'; // It has one as soon as there are changes to bring back.
  return worktree ?? (profile === undefined && part === undefined ? settings.worktree : 'never');
}

/** A conversation goes on another day, and so does an orchestration that came to nothing. */
const PARTS_KEPT_MS = 30 * 86_400_000;

/** 0: never. */
function archiveAfterMs({ part }: SpawnRequest, { archiveAfterMinutes }: RunSettings): number {
  const configured = archiveAfterMinutes * MS_PER_MINUTE;
  return part === undefined || configured === 0 ? configured : Math.max(configured, PARTS_KEPT_MS);
}

/** Whether the run may change files, so that another one in the same directory would be in its way. */
export function mayWrite({
  profile,
  policy,
  permissions,
}: Pick<Run, 'profile' | 'policy' | 'permissions'>): boolean {
  if (profile !== null) return false;
  const tools = ['write', 'edit', 'apply_patch', 'exec'] as const;
  return tools.some((tool) => isToolAllowed(policy, tool)) && !looksOnly(policy, permissions);
}

function refuse(status: Refusal['status'], error: string) {
  return { kind: 'refused', refusal: { status, error } } as const;
}

function requestProblem(request: SpawnRequest, { requester, isDirectory }: SpawnSurroundings) {
  const { task, thinking, runTimeoutSeconds, permissions, limits, worktreeProblem } = request;
  if (task.trim() === '') return 'task is required';
  if (task.length > TASK_LENGTH_MAX)
    return `task is too long: ${task.length} characters, the most is ${TASK_LENGTH_MAX}; put it into a file and name that`;
  if (thinking !== undefined && readThinking(thinking) === undefined)
    return `Invalid thinking level "${echo(thinking)}". Use one of: ${THINKING_LEVELS.join(', ')}.`;
  if (runTimeoutSeconds !== undefined && !Number.isFinite(runTimeoutSeconds))
    return `Invalid runTimeoutSeconds ${runTimeoutSeconds}: it is a number of seconds, 0 for no limit`;
  const wrong = Object.entries(limits ?? {}).find(([, most]) => most != null && !(most > 0));
  if (wrong !== undefined)
    return `Invalid limit ${wrong.join(' ')}: it is a number above 0, or null for none`;
  const problems = [labelProblem(labelOf(request) ?? ''), ...(permissions ?? []).map(grantProblem)];
  const problem = problems.find((one) => one !== undefined);
  if (problem !== undefined) return problem;
  if (request.profile === 'review' && request.instructions === undefined)
    return 'a review needs instructions: what it is to judge, and how it answers';
  const cwd = request.cwd ?? requester.cwd;
  if (!isAbsolutePath(cwd)) return `cwd has to be an absolute path: "${echo(cwd)}"`;
  if (!isDirectory(cwd)) return `cwd is no directory: "${echo(cwd)}"; make it, or start from another one`;
  if (request.on !== undefined && request.place === undefined)
    return `it cannot go to the pool "${echo(request.on)}": ${worktreeProblem ?? 'nothing is known of that pool here'}`;
  return worktreeProblem && `${worktreeProblem}; mend that, or choose worktree "auto" or "never"`;
}

function readThinking(word: string | undefined): Thinking | undefined {
  const wanted = word?.trim().toLowerCase();
  return THINKING_LEVELS.find((level) => level === wanted);
}

/** A model in the settings is meant for the client that stands beside it. */
function wantedModels(
  agent: AgentSettings | undefined,
  { settings, requester, callersModel }: SpawnSurroundings,
) {
  return [
    { model: agent?.model ?? null, client: agent?.client ?? settings.client },
    { model: settings.model, client: settings.client },
    ...(requester.client === null ? [] : [{ model: callersModel, client: requester.client }]),
  ];
}

function rulesWarning(file: string, { contextFiles }: RunSettings): string {
  const files = JSON.stringify([...contextFiles, file]);
  return (
    `the project has ${file} and no AGENTS.md, and sub-agents are not given it: "self-generation config set ` +
    `agents.defaults.subagents.contextFiles '${files}'" has them given it`
  );
}

function uncommittedWarning(files: number): string {
  const are = files === 1 ? '1 file is' : `${files} files are`;
  return `${are} not committed, and so not in its worktree: commit first what it needs`;
}

/** What of the permissions the client cannot keep to. Its own rules hold in it: for a person there are no others. */
export function ruleGaps(client: Client, permissions: Permissions, requester: Requester): readonly string[] {
  const isOwn = requester.client === null || requester.client === client.name;
  return isOwn ? [] : client.ruleGaps(permissions);
}

/** Why nothing is asked of a client that has such gaps. */
export function gapRefusal({ name }: Client, gaps: readonly string[]): string {
  return (
    `${name} cannot be kept from tools that are denied: ${gaps.join(', ')}. Choose another client, ` +
    'change tools.subagents.tools, or set tools.subagents.strict to false'
  );
}

function lookingRefusal({ name }: Client, gaps: readonly string[]): string {
  const kept = `${name} cannot be kept from tools that are denied: ${gaps.join(', ')}`;
  return `${kept}. A run that is only to look is not started so, whatever tools.subagents.strict says: choose another client`;
}

/** What the run is for; the request's limits stand over those of the settings. */
function profileOf({ profile: kind, limits = {} }: SpawnRequest, settings: RunSettings): Profile | null {
  if (kind === undefined) return null;
  const { maxIterations, maxTokens, maxUsd, maxObservationChars } = boundsOf(kind, settings);
  const configured = { iterations: maxIterations, tokens: maxTokens, usd: maxUsd };
  return {
    kind,
    limits: { ...configured, observationChars: maxObservationChars, ...definedOnly(limits) },
  };
}

type ProfileBounds = RunSettings['explore'];

/** One answer without tools is not expected to take longer. */
const OF_QUESTION: ProfileBounds = {
  ...{ maxIterations: null, maxTokens: null, maxUsd: null, maxObservationChars: null },
  timeoutSeconds: 180,
};

function boundsOf(kind: ProfileKind, { explore, plan, orchestrate: { review } }: RunSettings): ProfileBounds {
  return { explore, plan, review, ask: OF_QUESTION }[kind];
}

/** Less than nothing is none; a fraction is left out. */
function timeoutSeconds({ runTimeoutSeconds, profile }: SpawnRequest, settings: RunSettings): number {
  const configured =
    profile === undefined ? settings.runTimeoutSeconds : boundsOf(profile, settings).timeoutSeconds;
  const seconds = Math.floor(runTimeoutSeconds ?? configured);
  return Math.min(Math.max(seconds, 0), TIMEOUT_SECONDS_MAX);
}

function labelOf({ label }: SpawnRequest): string | null {
  const scanned = cutText(label ?? '', LABEL_SCANNED_MAX);
  return cutText(oneLine(redactSecrets(scanned)), LABEL_LENGTH_MAX) || null;
}

function spawnKeyOf({ idempotencyKey }: SpawnRequest, run: PlannedRun): string {
  if (run.part !== null) return `part:${partKey(run.part)}`;
  if (idempotencyKey?.trim()) return `key:${fingerprint(idempotencyKey.trim())}`;
  const { task, agentId, client, model, label, cwd, thinking, runTimeoutMs, worktreeMode, cleanup } = run;
  // Not the text of the hand-over, which is longer by this very call when that is made again.
  const handedOver = run.handover && [run.handover.mode, run.handover.session];
  const where = [cwd, worktreeMode, cleanup, run.permissions, run.profile, handedOver, run.pool];
  return fingerprint(JSON.stringify([task, agentId, client, model, label, thinking, runTimeoutMs, where]));
}

function echo(text: string): string {
  return cutText(oneLine(text), ECHO_LENGTH_MAX);
}

const MAIN_AGENT = 'main';
/** So many letters may be wrong in an id that is taken for another one. */
const TYPOS_MAX = 3;

/** Which agents may be spawned (R25). */
type Allowlist = { readonly allowAny: boolean; readonly ids: readonly string[] };

/** What the requester's agent may spawn besides itself. */
export function allowlistOf(
  requesterAgentId: string,
  { agents, allowAgents }: Pick<RunSettings, 'agents' | 'allowAgents'>,
): Allowlist {
  const own = agents.find(({ id }) => id === requesterAgentId)?.allowAgents ?? null;
  const names = new Set(own ?? allowAgents ?? []);
  return { allowAny: names.delete('*'), ids: [...names] };
}

/** An agent that the settings give a role works in every team, whoever may spawn it otherwise. */
function teamMember({ agentId, part }: SpawnRequest, { agents }: Pick<RunSettings, 'agents'>) {
  const member = agents.find(({ id, role }) => id === agentId && role !== null);
  return part?.kind === 'orchestration' && member !== undefined
    ? ({ kind: 'chosen', id: member.id } as const)
    : undefined;
}

/** The agent of that id, or why it cannot be spawned. With none, it is the requester's own. */
export function chooseAgent(
  wanted: string | undefined,
  requesterAgentId: string,
  settings: Pick<RunSettings, 'agents' | 'allowAgents'>,
) {
  const word = (wanted ?? '').trim() || requesterAgentId;
  const shown = `"${echo(word)}"`;
  const id = idType.read(word, () => {});
  if (id === undefined) {
    const error = `Invalid agentId ${shown}: it has at most 64 letters, digits, - and _, and begins with a letter or digit`;
    return refuse('error', error);
  }
  const allowlist = allowlistOf(requesterAgentId, settings);
  const ids = listAgents(requesterAgentId, allowlist, settings.agents).map((agent) => agent.id);
  if (ids.includes(id)) return { kind: 'chosen', id } as const;
  const { allowAny, ids: listed } = allowlist;
  if (!allowAny) {
    const allowed = listed.length > 0 ? listed.join(', ') : 'none';
    const error = `agentId is not allowed for sessions_spawn (allowed: ${allowed}): to spawn ${shown}, add it to allowAgents in the settings`;
    return refuse('forbidden', error);
  }
  const meant = nearest(id, ids);
  const guess = meant === undefined ? `Configured: ${ids.join(', ')}` : `Did you mean "${meant}"?`;
  const error = `No agent ${shown} is configured. ${guess} A new one is added to agents.list in the settings`;
  return refuse('error', error);
}

function nearest(id: string, ids: readonly string[]): string | undefined {
  const [found] = ids
    .map((other) => ({ other, typos: typosBetween(id, other) }))
    .filter(({ typos, other }) => typos <= Math.min(TYPOS_MAX, other.length / 2))
    .sort((one, other) => one.typos - other.typos);
  return found?.other;
}

/** How many letters have to be added, left out or changed to get from one word to the other. */
function typosBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...from].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...to].entries()) {
      const changed = (row[index] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(changed, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

/** Every agent that may be spawned: the requester's own first, then by their ids. */
export function listAgents(
  requesterAgentId: string,
  { allowAny, ids }: Allowlist,
  agents: readonly AgentSettings[],
) {
  const named = new Set([...ids, ...(allowAny ? [MAIN_AGENT, ...agents.map(({ id }) => id)] : [])]);
  named.delete(requesterAgentId);
  return [requesterAgentId, ...[...named].sort()].map((id) => {
    const settings = agents.find((agent) => agent.id === id);
    // The main agent is there without a word about it.
    const configured = settings !== undefined || id === MAIN_AGENT;
    return settings?.name ? { id, name: settings.name, configured } : { id, configured };
  });
}

/** A model that somebody wants, and for which client; null: for whichever it is. */
export type WantedModel = { readonly model: string | null; readonly client: ClientName | null };

const NAME_LENGTH_MAX = 200;

/**
 * The first of these that can be a model of the client (R16): what was asked for, the agent's, the defaults', the caller's;
 * null: the client chooses. Others are left out, with a warning (R20) unless the settings mean another client.
 */
export function chooseModel(
  requested: string | undefined,
  others: readonly WantedModel[],
  client: Pick<Client, 'name' | 'modelProblem'>,
) {
  const asked = requested?.trim() || null;
  const warnings: string[] = [];
  const wanted = [{ model: asked, client: client.name }, ...others];
  for (const { model, client: meantFor } of wanted) {
    const name = model?.trim() ?? '';
    if (name === '' || (meantFor !== null && meantFor !== client.name)) continue;
    const problem = modelProblem(name, client);
    if (problem === undefined) return { requested: asked, resolved: name, warnings };
    warnings.push(`model "${echo(name)}" is not used: ${problem}; the default is used instead`);
  }
  return { requested: asked, resolved: null, warnings };
}

function modelProblem(name: string, client: Pick<Client, 'modelProblem'>): string | undefined {
  if (name.length > NAME_LENGTH_MAX) return 'it is too long for a name';
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._:/@[\]+-]*$/u.test(name)) return 'a model has no such name';
  return client.modelProblem?.(name);
}
