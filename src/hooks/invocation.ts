import type { Environment, StatePaths } from '../core/state-paths.ts';
import { type Db, openForReading, openQuietly, type QuietRead } from '../database/connection.ts';
import { logHookFailure } from '../system/failure-log.ts';
import type { OtherEvent } from './decide.ts';
import type { Decision, FullContext, HookContext, Reply } from './decision.ts';
import type { HookEvent, HookEventOf } from './event.ts';
import type { HookName } from './hook-names.ts';

/** Reading never needs the lock in WAL mode; only a database that is being migrated makes a reader wait. */
const READ_TIMEOUT_MS = 100;

export type HookRun = {
  /** By which it was called: two hooks may be registered for one event. */
  readonly name?: HookName | undefined;
  readonly event: HookEvent;
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly now: Date;
  readonly chunks: Chunks;
};

/** A context whose database has not been opened yet. */
export type Unread = Omit<HookContext, 'knowledge'>;

/** What is loaded only by the hooks that need it; see main.ts. */
export type Chunks = {
  readonly others: () => Promise<Others>;
  /** The search for a known fix. */
  readonly failures: () => Promise<Decider<'PostToolUseFailure'>>;
  /**
   * Reading what the session's transcripts have gained. Not under Node, whose hooks are registered by nobody but those
   * who want each call handed to them.
   */
  readonly catchUps?: () => Promise<CatchUps>;
  /** Background runs: what they have to tell. Not under Node, where all of a hook is one file and it is too much for one. */
  readonly deliveries?: () => Promise<Deliveries>;
  /** The commands that a person types as a prompt. Not under Node, for the same reason. */
  readonly commands?: () => Promise<Commands>;
  /** Waiting for what background runs have to tell, in the process of the hook that does nothing else. */
  readonly waiter?: () => Promise<Waiter>;
};

type Decider<Name extends HookEvent['name']> = {
  readonly [Key in `decide${Name}`]: (event: HookEventOf<Name>, context: FullContext) => Decision;
};

/** What an event calls for, once there is a database to look at. `remark`: what the agent said before the call. */
export type Decide = (context: FullContext, remark?: string) => Decision;

/** How much a hook may read of what is new, and in which order. */
export type CatchUpLimits = {
  readonly bytes: number;
  readonly ms: number;
  /** What is newest comes first when there is more: somebody is about to be told of it. */
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

/** What catch-up.ts offers. */
export type CatchUps = {
  /** Records what the session's transcripts have gained. Throws what SQLite throws. */
  catchUpForHook(run: HookRun, limits: CatchUpLimits, forWriting: () => Db): CaughtUp;
};

/** What others.ts offers. */
export type Others = {
  serve(context: Unread, run: HookRun, deed: Deed): Promise<void>;
  decideOther(event: OtherEvent, context: FullContext): Decision;
  decideOnForeignData(
    event: HookEventOf<'SubagentStart'>,
    context: Unread,
    run: HookRun,
  ): Decision | undefined;
  catchUp(run: HookRun): Promise<void>;
  takeWaiting(run: HookRun): void;
};

/** What a hook is served with: what its event calls for, and how it says something; false when it could not. */
export type Deed = {
  readonly decide: Decide;
  readonly answer: (reply: Reply) => Promise<boolean>;
};

/** What a hook has to do about background runs. */
export type Errand = {
  /** Whose announcements these are; see runs/model/run.ts. */
  readonly requester: string;
  /** Something waits, or was handed out and has to be settled. */
  readonly isMarked: boolean;
};

/** What background runs have to tell, and whom to tell whether it could be said. */
export type HookNews = { readonly text: string; readonly settle: (isSaid: boolean) => void };

/** What deliver-to-hook.ts offers. */
export type Deliveries = {
  /** What the session is told now, in at most so many UTF-16 units. */
  deliverToHook(errand: Errand, lengthMax: number, run: HookRun): HookNews | undefined;
};

/** What cli/prompt-command.ts offers. */
export type Commands = {
  /** What there is to say to this prompt; undefined when it is no command of ours. */
  answerPrompt(prompt: string, run: HookRun): Promise<string | undefined>;
};

/** What wait-for-result.ts offers. */
export type Waiter = {
  /** Resolves when nothing is left to wait for, or with an exit code that wakes the session. `requester`: the key. */
  waitForResult(requester: string, run: HookRun): Promise<void>;
};

/**
 * Decides on what the database says, read without locks when nobody writes, and once more with them when somebody
 * wrote meanwhile.
 */
export function decideOnData(
  decideWith: (knowledge: () => Db | undefined) => Decision,
  { paths, now }: Pick<HookRun, 'paths' | 'now'>,
): Decision {
  const locked = () => openForReading(paths, READ_TIMEOUT_MS);
  const reading: { quiet?: QuietRead | undefined } = {};
  try {
    const decision = decideWith(() => {
      reading.quiet = openQuietly(paths, now.getTime());
      return reading.quiet?.db ?? locked();
    });
    if (reading.quiet === undefined || reading.quiet.isStillTrue()) return decision;
  } catch (error) {
    if (reading.quiet === undefined) throw error; // Else it may be a page that was being written.
  }
  return decideWith(locked);
}

/** The value, or undefined after noting why there is none. */
export function attempt<T>({ event, paths, now }: HookRun, operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    logHookFailure(event.name, messageOf(error), paths, now);
    return undefined;
  }
}

/** An error in one line, for the log. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
