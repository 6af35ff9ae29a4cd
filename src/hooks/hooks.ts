import { isRecord, readString } from '../core/guards.ts';
import type { Decision, FullContext } from './decision.ts';
import { errorLogger } from './error-logger.ts';
import { type HookEvent, type HookEventOf, readEventBase } from './event.ts';
import { type Handler, NEWEST_CATCH_UP } from './invocation.ts';
import { preToolGuide } from './pre-tool-guide.ts';
import { promptLogger } from './prompt-logger.ts';
import { sessionAnalyzer } from './session-analyzer.ts';
import { sessionSummary } from './session-summary.ts';
import { resultWaiter, stopTracker } from './stop-tracker.ts';
import { decideSubagentStart } from './subagent-context.ts';
import { subagentTracker } from './subagent-tracker.ts';
import { batchLogger, toolLogger } from './tool-logger.ts';

/** This one is on the hot path, which knows nothing of handlers. */
const subagentContext: Handler<HookEventOf<'SubagentStart'>> = {
  read: (value) => ({ task: readString(value, 'task') }),
  decide: decideSubagentStart,
  catchUp: NEWEST_CATCH_UP,
};

/**
 * The hooks of the product, in the order in which they are registered: which client event runs which script, as the seeds
 * name them. `Task` was renamed `Agent` in 2.1.63; both are listed because the matcher is compared with the name that the
 * client at hand uses.
 */
const TABLE = [
  { name: 'prompt-logger', event: 'UserPromptSubmit', timeoutSeconds: 5, handler: promptLogger },
  {
    name: 'pre-tool-guide',
    event: 'PreToolUse',
    timeoutSeconds: 5,
    matcher: 'Edit|Write|MultiEdit|NotebookEdit|Bash|Task|Agent',
    sessionMatcher: 'Agent|Task',
    handler: preToolGuide,
  },
  { name: 'tool-logger', event: 'PostToolUse', timeoutSeconds: 5, onlyPerCall: true, handler: toolLogger },
  { name: 'error-logger', event: 'PostToolUseFailure', timeoutSeconds: 5, handler: errorLogger },
  {
    name: 'batch-logger',
    event: 'PostToolBatch',
    timeoutSeconds: 5,
    onlyPerCall: true,
    handler: batchLogger,
  },
  { name: 'subagent-context', event: 'SubagentStart', timeoutSeconds: 5, handler: subagentContext },
  {
    name: 'subagent-tracker',
    event: 'SubagentStop',
    timeoutSeconds: 10,
    isAsync: true,
    handler: subagentTracker,
  },
  { name: 'stop-tracker', event: 'Stop', timeoutSeconds: 10, isAsync: true, handler: stopTracker },
  {
    name: 'result-waiter',
    event: 'Stop',
    timeoutSeconds: 2e6,
    isAsync: true,
    wakes: true,
    handler: resultWaiter,
  },
  { name: 'session-analyzer', event: 'SessionStart', timeoutSeconds: 10, handler: sessionAnalyzer },
  { name: 'session-summary', event: 'SessionEnd', timeoutSeconds: 10, handler: sessionSummary },
] as const;

type Row = (typeof TABLE)[number];
export type HookName = Row['name'];
export type HookEventName = Row['event'];

export type Hook = {
  readonly name: HookName;
  readonly event: HookEventName;
  /** The client's time limit, in its own unit: seconds. */
  readonly timeoutSeconds: number;
  /** The tools whose calls it is run for. */
  readonly matcher?: string;
  /** The same in mode `session`. */
  readonly sessionMatcher?: string;
  /** It is registered in mode `per-call` only. */
  readonly onlyPerCall?: true;
  /** The client does not wait for it: it has no answer. */
  readonly isAsync?: true;
  /** Exit code 2 wakes the session, which gets what the hook wrote to standard error. */
  readonly wakes?: true;
  readonly handler: Handler<never, object>;
};

export const HOOKS: readonly Hook[] = TABLE;

/**
 * How the hooks are registered. `session`: calls are read from the transcript. `per-call`: each call is handed
 * to a hook as well, for clients that keep no transcripts.
 */
export const HOOK_MODES = ['session', 'per-call'] as const;
export type HookMode = (typeof HOOK_MODES)[number];

/** The hooks that are registered in this mode. */
export function hooksIn(mode: HookMode): readonly Hook[] {
  if (mode === 'per-call') return HOOKS;
  return HOOKS.filter(({ onlyPerCall }) => !onlyPerCall).map((hook) =>
    hook.sessionMatcher === undefined ? hook : { ...hook, matcher: hook.sessionMatcher },
  );
}

/** The hook of this script name (an ending such as `.exe` or `.mjs` is ignored), or undefined. */
export function hookByName(name: string): Hook | undefined {
  const at = name.lastIndexOf('.');
  const bare = at > 0 ? name.slice(0, at) : name;
  return HOOKS.find((hook) => hook.name === bare);
}

/**
 * Reads the client's JSON for the hook of this name; without one, for the first hook of the event that `hook_event_name`
 * says. Undefined when this is no event of ours or lacks what the hook cannot do without.
 */
export function readHookCall(value: unknown, name?: string) {
  if (!isRecord(value)) return undefined;
  const hook =
    name === undefined ? HOOKS.find(({ event }) => event === value.hook_event_name) : hookByName(name);
  const fields = hook?.handler.read(value);
  if (hook === undefined || fields === undefined) return undefined;
  // The fields are those of the event, because its own handler has read them.
  return { hook, event: { ...readEventBase(value, hook.event), ...fields } as HookEvent };
}

/** The same for an event of a known name, or of the one that `hook_event_name` says. */
export function parseHookEvent(value: unknown, event?: HookEventName): HookEvent | undefined {
  const named = event !== undefined && isRecord(value) ? { ...value, hook_event_name: event } : value;
  return readHookCall(named)?.event;
}

/** What an event calls for. */
export function decide(event: HookEvent, context: FullContext): Decision {
  const hook = HOOKS.find((one) => one.event === event.name) as Hook;
  return hook.handler.decide(event as never, context);
}
