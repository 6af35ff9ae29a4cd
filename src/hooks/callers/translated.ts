import type { Json } from '../../core/guards.ts';

/** What Claude Code takes as `hookSpecificOutput`. */
export type HookOutput = { readonly hookEventName: string; readonly additionalContext: string };

/** An event of another client in the names and fields of Claude Code's. */
export type Translated = {
  /** Its `hook_event_name` says which hook serves it. */
  readonly event: Json;
  /** Of a call: the id under which what is read of the session has it; null where nobody can know. */
  readonly callId?: string | null;
  /** What the client takes as `hookSpecificOutput` of this event, where that is not what Claude Code would be told. */
  readonly output?: (asClaudeCode: HookOutput) => Json;
};
