import type { Json } from '../core/guards.ts';
import type { Decision, FullContext } from './decision.ts';
import type { EventBase } from './event.ts';
import type { CatchUpLimits, HookRun, UnopenedContext } from './invocation.ts';

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
  /** A main session is told here what background runs have to tell; `always` also when no mark says that something waits. */
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
