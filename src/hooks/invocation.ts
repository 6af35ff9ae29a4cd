import { pathExists, readTextFile, writeMark, writeStdout } from '#runtime';
import type { Json } from '../core/guards.ts';
import {
  canonicalProjectPath,
  getProjectName,
  getProjectPath,
  projectPathSpellings,
} from '../core/project.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import { type Db, openForReading, openSnapshot, type SnapshotRead } from '../database/connection.ts';
import { noteGiven } from '../database/given-note.ts';
import type { searchErrorKB } from '../lessons/store/error-search.ts';
import { isEnabled, loadConfig } from '../settings/hook-settings.ts';
import { logHookFailure } from '../system/failure-log.ts';
import type { HookOutput, Translated } from './callers/translated.ts';
import type { Decision, FullContext, HookContext, Project, Reply } from './decision.ts';
import type { EventBase, HookEvent, HookEventOf } from './event.ts';

/** One call of a hook: what it is handed, what it may load, and what all hooks do in the same way. */

/** Reading never needs the lock in WAL mode; only a database that is being migrated makes a reader wait. */
const READ_TIMEOUT_MS = 100;

/** What the process of a hook brings along. */
export type HookHost = {
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly now: Date;
  readonly chunks: Chunks;
};

/** The same, with the event that is served. `output`: what another client takes instead of what Claude Code does. */
export type HookRun<Event extends EventBase = HookEvent> = HookHost & {
  readonly event: Event;
  readonly output?: ((asClaudeCode: HookOutput) => Json) | undefined;
};

/** A context whose database has not been opened yet. */
export type UnopenedContext = Omit<HookContext, 'knowledge'>;

/** What is loaded only by the hooks that need it; see main.ts. The Node hooks, each of which is one file, have the first two. */
export type Chunks = {
  readonly writePath: () => Promise<WritePath>;
  /** The search for a known fix. */
  readonly errorSearch: () => Promise<{ searchErrorKB: typeof searchErrorKB }>;
  /** What another client's hook was handed, as ours know it. */
  readonly callers?: () => Promise<{ translated(value: Json): Translated }>;
  /** Records what the session's transcripts have gained. Throws what SQLite throws. */
  readonly catchUps?: () => Promise<{
    catchUpForHook(run: HookRun, limits: CatchUpLimits, forWriting: () => Db): CaughtUp;
  }>;
  /** The results of background runs for this session, in at most so many UTF-16 units. */
  readonly deliveries?: () => Promise<{
    deliverToHook(request: DeliveryRequest, lengthMax: number, run: HookRun): HookDelivery | undefined;
  }>;
  /** The answer to a prompt that is a command of ours; undefined when it is none. */
  readonly commands?: () => Promise<{
    answerPrompt(prompt: string, run: HookRun): Promise<string | undefined>;
  }>;
  /** Resolves when nothing is left to wait for, or with an exit code that wakes the session. `requester`: the key. */
  readonly waiter?: () => Promise<{ waitForResult(requester: string, run: HookRun): Promise<void> }>;
};

/** What write-path.ts offers to run.ts. */
type WritePath = {
  hookNameOf(calledAs: string): string | undefined;
  serve(value: unknown, name: string | undefined, host: HookHost): Promise<boolean>;
  decideOnForeignData(
    event: HookEventOf<'SubagentStart'>,
    context: UnopenedContext,
    host: HookHost,
  ): Decision;
  catchUp(run: HookRun): Promise<void>;
  takeWaiting(run: HookRun): void;
};

/** How much a hook may read of what is new, and in which order. */
export type CatchUpLimits = {
  readonly bytes: number;
  readonly ms: number;
  /** When there is more, the newest part is read first: an agent is about to get it as context. */
  readonly isNewestFirst: boolean;
  /** Also learns from the whole project, which takes longer. */
  readonly isThorough: boolean;
};

/** What a hook has caught up with. */
export type CaughtUp = {
  /** There is more than it was allowed to read. */
  readonly isMore: boolean;
  /** What the agent said before the call that is at hand. */
  readonly remark: string | undefined;
};

/** A main session's request for the results of its background runs. */
export type DeliveryRequest = {
  /** Whose announcements these are; see runs/model/run.ts. */
  readonly requester: string;
  /** Something waits, or was handed out and has to be settled. */
  readonly isMarked: boolean;
};

/** Results of background runs as text, and the function to call when it was written or could not be. */
export type HookDelivery = { readonly text: string; readonly settle: (isWritten: boolean) => void };

/** The project of what happens in a directory, for a hook with this environment. */
export function projectAt(cwd: string | undefined, env: Environment): Project {
  const given = getProjectPath(cwd, env);
  if (given === null) return { name: getProjectName(null), path: null, spellings: [] };
  const path = canonicalProjectPath(given, { readTextFile, pathExists });
  return { name: getProjectName(path), path, spellings: projectPathSpellings(path, given) };
}

/**
 * Decides on what the database says, read without locks when nobody writes, and once more with them when somebody
 * wrote meanwhile.
 */
export function decideOnData(
  decideWith: (knowledge: () => Db | undefined) => Decision,
  { paths, now }: Pick<HookHost, 'paths' | 'now'>,
): Decision {
  const locked = () => openForReading(paths, READ_TIMEOUT_MS);
  const reading: { snapshot?: SnapshotRead | undefined } = {};
  try {
    const decision = decideWith(() => {
      reading.snapshot = openSnapshot(paths, now.getTime());
      return reading.snapshot?.db ?? locked();
    });
    if (reading.snapshot === undefined || reading.snapshot.isUnchanged()) return decision;
  } catch (error) {
    if (reading.snapshot === undefined) throw error; // Else it may be a page that was being written.
  }
  return decideWith(locked);
}

/** What all decisions are made from; undefined where the hooks are switched off. */
export function contextFor({ cwd }: EventBase, { env, paths, now }: HookHost): UnopenedContext | undefined {
  const config = loadConfig(paths);
  return isEnabled(config) ? { config, now, project: projectAt(cwd, env) } : undefined;
}

/**
 * Notes when the event last came in, for doctor; of another client under `CLIENT-EVENT`. Only where we are installed: a reading
 * hook creates nothing.
 */
export function noteHeartbeat(
  { name, client }: Pick<EventBase, 'name' | 'client'>,
  { paths, now }: HookHost,
): void {
  const mark = client === undefined ? name : `${client}-${name}`;
  if (pathExists(paths.home)) writeMark(`${paths.heartbeats}/${mark}`, now.toISOString());
}

/**
 * Leaves a note of what was told, and of what would have been had the coin not held it out, once the answer is delivered. Only
 * where we are installed: a reading hook creates nothing. Never throws.
 */
export function noteTold(
  { reply, tellings = [] }: Decision,
  { project }: UnopenedContext,
  { event, paths, now }: Pick<HookRun<EventBase>, 'event' | 'paths' | 'now'>,
): void {
  const { sessionId, agentId, agentType, client = 'claude' } = event;
  const text = agentId === null || event.name !== 'SubagentStart' ? '' : (reply?.context ?? '');
  if ((text === '' && tellings.length === 0) || !pathExists(paths.home)) return;
  const where = { project: project.name, projectPath: project.path ?? '' };
  noteGiven(
    { ts: now.toISOString(), sessionId, agentId, agentType, ...where, text, client, tellings },
    paths,
  );
}

/** The value, or undefined after noting in the log why there is none. */
export function attempt<T>(run: HookRun, operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    return noteFailure(run, error);
  }
}

/** Notes in the log what went wrong. `outcome`: what that means for the event. */
export function noteFailure({ event, paths, now }: HookRun, error: unknown, outcome?: string): undefined {
  logHookFailure(event.name, outcome === undefined ? String(error) : `${outcome}: ${error}`, paths, now);
}

/** Tells the agent. Returns false, after noting it in the log, if standard output could not be written. */
export function writeReply({ event, context }: Reply, run: HookRun): Promise<boolean> {
  const output = { hookEventName: event, additionalContext: context.toWellFormed() };
  return writeAnswer({ hookSpecificOutput: run.output?.(output) ?? output }, run);
}

/**
 * Answers with what was decided on; with an empty object where all of it is held out: whether an answer is taken must be seen in
 * both arms. Returns false, after noting it in the log, if standard output could not be written.
 */
export async function writeDecision({ reply, tellings = [] }: Decision, run: HookRun): Promise<boolean> {
  if (reply !== undefined) return writeReply(reply, run);
  return tellings.length === 0 || writeAnswer({}, run);
}

/** Writes the hook's answer to standard output. Returns false, after noting it in the log, if that failed. */
export async function writeAnswer(answer: object, run: HookRun): Promise<boolean> {
  try {
    await writeStdout(JSON.stringify(answer));
    return true;
  } catch (error) {
    noteFailure(run, error, 'Cannot answer');
    return false;
  }
}

/**
 * What a hook does with its event: each hook has one in its file, and a row in hooks.ts. `Fields`: what the event has
 * besides what every event carries.
 */
export type Handler<Event extends EventBase = EventBase, Fields = Omit<Event, keyof EventBase>> = {
  /** Reads the fields from the client's JSON; undefined when it lacks what the hook cannot do without. */
  readonly read: (value: Json) => Fields | undefined;
  /** What the event calls for. Reads through the context, changes nothing. */
  readonly decide: (event: Event, context: FullContext) => Decision;
  /** How much of the session's transcripts is read before; nothing for a hook that is handed its call. */
  readonly catchUp?: CatchUpLimits | ((event: Event) => CatchUpLimits | undefined);
  /** A process of its own reads the rest of the transcripts: always, or at the first session in a project. */
  readonly catchUpInBackground?: 'always' | 'new-project';
  /** Delivers results of background runs to a main session; `always` also when no mark says that one waits. */
  readonly delivers?: 'always' | 'when-marked';
  /** The decision searches for known errors: the code for it is loaded, and it reads through the writing connection. */
  readonly searchesErrors?: true;
  /** Does the whole work of the hook instead of what else is done for an event; resolves with false when it has not. */
  readonly replaces?: (run: HookRun<Event>, context: UnopenedContext) => Promise<boolean>;
};

const MIB = 1024 * 1024;
/** For events that somebody waits for. */
export const BRIEF_CATCH_UP: CatchUpLimits = {
  bytes: MIB / 2,
  ms: 40,
  isNewestFirst: false,
  isThorough: false,
};
/** Before a sub-agent starts. */
export const NEWEST_CATCH_UP: CatchUpLimits = { ...BRIEF_CATCH_UP, isNewestFirst: true };
/** Nobody waits where the client can start a hook without waiting, and not long where it cannot. */
export const WHOLE_CATCH_UP: CatchUpLimits = {
  bytes: 16 * MIB,
  ms: 500,
  isNewestFirst: false,
  isThorough: true,
};
