import { userOf } from '../clients/agent-login.ts';
import { CALLER_MARKS, callersMode, clientAround, clientNamed } from '../clients/clients.ts';
import { type ClientUser, RouteRefusal } from '../clients/route.ts';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { getProjectPath } from '../core/project.ts';
import { redactSecrets } from '../core/redact.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import { cutText, oneLine } from '../core/text.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { identityIn, isSameProcess, type ProcessIdentity, RUN_VARIABLE } from '../system/process-identity.ts';
import { isSetAbove, programAbove } from '../system/processes.ts';
import { pathExists, readTextFile } from '../system/runtime-bun.ts';
import {
  ASKS_FIRST,
  granted,
  narrower,
  type Permissions,
  parseRules,
  ruleText,
  withoutEditing,
} from './model/permissions.ts';
import { EXPLORE_TOOL } from './model/profile.ts';
import {
  attachMark,
  isLive,
  type Requester,
  type Run,
  type RunWithMessages,
  requesterKey,
} from './model/run.ts';
import { isToolAllowed } from './model/tool-policy.ts';
import { isTerminal, type Turn, turnMark } from './model/turn.ts';
import { addRunEvent, readRuns, withRuns } from './store/rows.ts';
import { getRun, listRuns, type RunListing } from './store/runs.ts';
import { turnsOf } from './store/turns.ts';
import { isInsideRun, orLogged, type Refusal, type RunsWorld } from './world.ts';

/** The requester that this process acts for, by its environment and directory. */
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

/** Variables that the clients, and this program for its runs, set for the processes of their agents. */
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

/** The refusal of an action inside a run, which is also logged; undefined outside of one. `action`: the caller's name for it. */
export function refusalInside(action: string, world: RunsWorld): Refusal | undefined {
  return isInsideRun(world) ? refuseInside(action, 'command', world) : undefined;
}

/** Refuses what a sub-agent asked for, and logs that where it can. `actor`: who refuses. */
export function refuseInside(action: string, actor: string, world: RunsWorld): Refusal {
  const { env, paths, now } = world;
  const runId = RUN_ID.exec(env[RUN_VARIABLE] ?? '')?.[0] ?? null;
  const what = { atMs: now().getTime(), actor, type: 'refused', detail: `${action}: inside a run` };
  const note = () => withRuns(paths, (db) => addRunEvent({ runId, turn: null, ...what }, db));
  if (pathExists(paths.runsDatabase)) orLogged(runId ?? '', paths, note); // Without one there is no run.
  const error = `${action} is not allowed from sub-agent sessions: say in your result what is to be done`;
  return { status: 'forbidden', error };
}

/** The run that this process is part of, where that is a plan which may have something looked up just now. */
export function planAround({ env, paths }: RunsWorld): Run | undefined {
  const mark = env[RUN_VARIABLE] ?? '';
  const runId = RUN_ID.exec(mark)?.[0];
  if (runId === undefined) return undefined;
  const look = (db: Sqlite) => ({ run: getRun(runId, db)?.run, turns: turnsOf(runId, db) });
  const { run, turns = [] } = readRuns(paths, look) ?? {};
  const turn = turns.find((one) => turnMark(one) === mark);
  if (turn === undefined || turn.kind === 'announce') return undefined;
  const isAtWork = !isTerminal(turn.state) && turn.stop === null;
  const isPlan = run?.profile?.kind === 'plan' && isToolAllowed(run.policy, EXPLORE_TOOL);
  return isAtWork && isPlan ? run : undefined;
}

/** Such a run as who asks: by its own key, so that what comes of it is told to nobody else. */
export function requesterOf({ childKey, client, cwd }: Run): Requester {
  return { key: childKey, session: null, client, cwd };
}

const PREFIX_LENGTH_MIN = 4;
const ECHO_LENGTH_MAX = 120;
const CANDIDATES_MAX = 8;

type RunMatch<T extends RunWithMessages> =
  | { readonly kind: 'found'; readonly run: T }
  | { readonly kind: 'missing' | 'ambiguous' | 'empty'; readonly error: string };

/**
 * The run that is meant: `last`, which is the newest sub-agent, a number, a session key, the beginning of an id, a label or
 * the only one that begins so; of several with that label the one that works or waits, else the newest. `runs` are all of
 * one requester, archived ones and parts too; `id:` before the beginning of an id keeps its digits from being a number.
 */
export function matchRun<T extends RunWithMessages>(
  words: string | undefined,
  runs: readonly T[],
): RunMatch<T> {
  const wanted = (words ?? '').trim();
  if (wanted === '') return { kind: 'empty', error: 'Missing subagent id.' };
  const shown = cutText(oneLine(wanted), ECHO_LENGTH_MAX);
  const unknown = { kind: 'missing', error: `Unknown subagent id: ${shown}` } as const;
  // Ids are written without dashes, and in a session key with them.
  const withPrefix = (words: string) => {
    const prefix = idPrefix(words);
    return prefix === undefined ? [] : runs.filter(({ run }) => run.id.startsWith(prefix));
  };
  const withId = (words: string) => onlyOne(withPrefix(words), `Ambiguous run id prefix: ${words}`);
  if (wanted.startsWith('id:')) return withId(shown.slice('id:'.length)) ?? unknown;
  if (wanted === 'last') return found(newest(runs.filter(({ run }) => run.part === null))) ?? unknown;
  if (/^#?\d+$/.test(wanted)) {
    const index = wanted.replace('#', '');
    const numbered = found(runs.find(({ run }) => run.number === Number(index)));
    const answer = numbered ?? (index === wanted ? withId(shown) : undefined);
    return answer ?? { kind: 'missing', error: `Invalid subagent index: ${cutText(index, ECHO_LENGTH_MAX)}` };
  }
  const keyed = found(runs.find(({ run }) => run.childKey === wanted));
  const called = () => onlyOne(labelled(wanted, runs), `Ambiguous subagent label prefix: ${shown}`);
  const answer = keyed ?? withId(shown) ?? called();
  if (answer !== undefined) return answer;
  return wanted.includes(':') ? { kind: 'missing', error: `Unknown subagent session: ${shown}` } : unknown;
}

function found<T extends RunWithMessages>(run: T | undefined): RunMatch<T> | undefined {
  return run && { kind: 'found', run };
}

function newest<T extends RunWithMessages>(runs: readonly T[]): T | undefined {
  return runs.toSorted((left, right) => right.run.number - left.run.number)[0];
}

/** Why a run cannot be called so: the label would be read as something else; undefined when it can. */
export function labelProblem(label: string): string | undefined {
  const reads: readonly (readonly [isSo: boolean, how: string])[] = [
    [['last', 'all', 'project', '*'].includes(label), 'that word has a meaning of its own'],
    [/^#?\d+$/.test(label), "it reads as a run's number"],
    [/^(?:id:|agent:.*:subagent:)/.test(label), "it reads as a run's id or session key"],
    [
      idPrefix(label) !== undefined,
      `${PREFIX_LENGTH_MIN} or more of 0-9 and a-f read as the beginning of an id`,
    ],
  ];
  const how = reads.find(([isSo]) => isSo)?.[1];
  return (
    how && `Cannot call a run "${cutText(oneLine(label), ECHO_LENGTH_MAX)}": ${how}. Choose another label`
  );
}

function idPrefix(words: string): string | undefined {
  const prefix = words.toLowerCase().replaceAll('-', '');
  return prefix.length >= PREFIX_LENGTH_MIN && /^[0-9a-f]+$/.test(prefix) ? prefix : undefined;
}

/** For each label that is meant the run that has it. */
function labelled<T extends RunWithMessages>(wanted: string, runs: readonly T[]): readonly T[] {
  const exact = runs.filter(({ run }) => run.label === wanted);
  const begun = exact.length > 0 ? exact : runs.filter(({ run }) => run.label?.startsWith(wanted));
  const labels = Map.groupBy(begun, ({ run }) => run.label);
  return [...labels.values()].flatMap((same) => newest(same.filter(isLive)) ?? newest(same) ?? []);
}

function onlyOne<T extends RunWithMessages>(runs: readonly T[], error: string): RunMatch<T> | undefined {
  if (runs.length < 2) return found(runs[0]);
  const named = runs.slice(0, CANDIDATES_MAX).map(({ run: { number, label }, turn }) => {
    const name = label === null ? '' : ` "${cutText(oneLine(label), ECHO_LENGTH_MAX)}"`;
    return `#${number}${name} (${turn.state})`;
  });
  const more = runs.length > named.length ? ', …' : '';
  return { kind: 'ambiguous', error: `${error}. It may be ${named.join(', ')}${more}: use the number` };
}

/** A run is looked up among so many of the newest. */
const RUNS_MAX = 20_000;

type Asker = { readonly requester: Requester; readonly world: RunsWorld };

/** The runs of this requester, archived ones and parts too, the newest first. */
export function runsOf({ requester, world }: Asker): readonly RunListing[] {
  const filter = { requester: requester.key, includeArchived: true, includeParts: true, limit: RUNS_MAX };
  return readRuns(world.paths, (db) => listRuns(filter, db)) ?? [];
}

/** The run of this requester that these words name, or an error that says what to do. */
export function findOwnRun(words: string | undefined, asker: Asker): RunMatch<RunListing> {
  const runs = runsOf(asker);
  const answer = matchRun(words, runs);
  if (answer.kind === 'found' || answer.kind === 'ambiguous') return answer;
  const next =
    runs.length === 0
      ? 'no sub-agent of this project was ever started'
      : '"subagents list" shows which there are';
  return { ...answer, error: `${answer.error.replace(/\.$/, '')}; ${next}` };
}

/** The run of any project with this prefix of its id: `id:1a2b`, or at least 8 characters without `id:`. */
export function findByIdAnywhere(words: string, world: RunsWorld): RunMatch<RunListing> | undefined {
  const prefix = /^(?:id:(.+)|([0-9a-f-]{8,36}))$/i.exec(words.trim());
  if (prefix === null) return undefined;
  const filter = { includeArchived: true, includeParts: true, limit: RUNS_MAX };
  const runs = readRuns(world.paths, (db) => listRuns(filter, db)) ?? [];
  const answer = matchRun(`id:${prefix[1] ?? prefix[2]}`, runs);
  if (answer.kind !== 'missing') return answer;
  return { ...answer, error: `${answer.error}; "subagents list --all-projects" shows which there are` };
}

/** A turn of the run that waits or works, its announce step too; undefined when all of it is over. */
export function activeTurn({ id }: Run, paths: StatePaths): Turn | undefined {
  return readRuns(paths, (db) => turnsOf(id, db))?.find(({ state }) => !isTerminal(state));
}

/** The process of a person who goes on with the run's session in its client. */
export function attachedProcess({ id }: Run, paths: StatePaths): ProcessIdentity | undefined {
  const known = identityIn(readTextFile(attachMark(paths, id)) ?? '');
  return known !== null && isSameProcess(known) ? known : undefined;
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

/** Permissions that are granted on top of the requester's own. */
export type Grants = {
  /** `tools.subagents.allow` of the settings. */
  readonly ofSettings: readonly string[];
  /** What a person grants with the run. */
  readonly ofPerson: readonly string[];
};

/** Whether a person asks, in a terminal of their own. */
export function isPerson({ client, session }: Requester, { env }: Pick<RunsWorld, 'env'>): boolean {
  return client === null && session === null && agentMark(env) === undefined;
}

/**
 * The permissions of a run. For a person they are those that the client is configured with; for an agent those of its own
 * session, by the mode last seen there. Grants come on top, in plan mode only a person's.
 */
export function requesterPermissions(
  requester: Requester,
  client: ClientName,
  grants: Grants,
  world: RunsWorld,
): Permissions {
  const base = isPerson(requester, world)
    ? configured(client, requester, world)
    : agentPermissions(requester, world);
  return withGrants(base, grants);
}

/** The upper limit of a run's permissions for this requester's message; null: no limit, because a person sends it. */
export function senderPermissions(
  requester: Requester,
  ofSettings: readonly string[],
  world: RunsWorld,
): Permissions | null {
  if (isPerson(requester, world)) return null;
  return withGrants(agentPermissions(requester, world), { ofSettings, ofPerson: [] });
}

function withGrants(base: Permissions, grants: Grants): Permissions {
  const ofSettings = base.mode === 'plan' ? [] : grants.ofSettings;
  return withoutSecrets(granted(base, [...ofSettings, ...grants.ofPerson]));
}

/** The permissions of the session that asks. An unknown client allows nothing, and in plan mode no rule allows changes of files. */
function agentPermissions(requester: Requester, world: RunsWorld): Permissions {
  if (requester.client === null) return ASKS_FIRST;
  const own = configured(requester.client, requester, world);
  const seen = { ...own, mode: callersMode(requester, world.env) ?? ASKS_FIRST.mode };
  // Its configuration cannot be read, so what it forbids is unknown too.
  if (own === ASKS_FIRST) return narrower(seen, ASKS_FIRST);
  return seen.mode === 'plan' ? withoutEditing(seen) : seen;
}

function configured(client: ClientName, { cwd }: Requester, { env }: RunsWorld): Permissions {
  const user: ClientUser = userOf({ client, agentDir: null, cwd: getProjectPath(cwd, env) ?? cwd }, env);
  try {
    return clientNamed(client).permissions(user);
  } catch (error) {
    if (error instanceof RouteRefusal) return ASKS_FIRST; // A configuration that cannot be read allows nothing.
    throw error;
  }
}

/** Without secrets, since they are stored: an allow rule with one is dropped, a deny rule with one denies its whole tool. */
function withoutSecrets({ mode, allow, deny }: Permissions): Permissions {
  const isSafe = (text: string) => redactSecrets(text) === text;
  const whole = (text: string) => parseRules([text]).map((rule) => ruleText({ ...rule, calls: null }));
  const denied = deny.flatMap((text) => (isSafe(text) ? [text] : whole(text)));
  return { mode, allow: allow.filter(isSafe), deny: denied };
}
