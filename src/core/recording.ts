import type { Json } from './guards.ts';

/** Where and when something happened. All texts in a recording are already redacted and bounded. */
export type Origin = {
  /** ISO 8601, UTC, milliseconds. */
  readonly ts: string;
  readonly sessionId: string;
  /** Display name of the project. */
  readonly project: string;
  readonly projectPath: string | null;
  /** The sub-agent it happened in; null in the main session. */
  readonly agentId: string | null;
  readonly agentType: string | null;
};

/** A call as it is kept, whether it worked or not. */
export type CallRecord = {
  readonly tool: string;
  readonly toolUseId: string | null;
  /** Programs and subcommands of a shell command: `npm run build && npm test`. */
  readonly command: string | null;
  /** The shell command, or the input of a tool that is neither the shell's nor called on a file, as JSON. */
  readonly line: string | null;
  /** Where the shell stood, relative to the project: empty at its root. */
  readonly directory: string | null;
  /** What the agent said before the call. */
  readonly remark: string | null;
  /** The file that the tool was called on, relative to the project. */
  readonly file: string | null;
};

export type ToolError = CallRecord & {
  /** The form under which it is recognised again. */
  readonly error: string;
  /** The telling line as it was printed. */
  readonly said: string;
  readonly errorRaw: string;
  /** Why nobody else would gain from knowing; null when somebody might. */
  readonly noise: string | null;
  /** Its exit code said that it had worked. */
  readonly isHidden?: true;
};

/**
 * What a hook wants to be remembered: plain data, so that it can wait in the spool as JSON when the database is
 * locked and mean the same later.
 */
export type Recording =
  | {
      readonly kind: 'prompt';
      readonly at: Origin;
      readonly text: string;
      readonly charCount: number;
      /** The skill that the user called by a slash, when there is one of that name. */
      readonly skill?: string;
    }
  | (CallRecord & {
      readonly kind: 'tool-use';
      readonly at: Origin;
      readonly meta: Json;
      /** It was started in the background or stopped: that it returned does not mean that it worked. */
      readonly isUnfinished?: true;
    })
  | {
      readonly kind: 'tool-errors';
      readonly at: Origin;
      readonly errors: readonly ToolError[];
      /** The knowledge base row whose fix the agent was told. */
      readonly shownKbId: number | null;
    }
  | {
      readonly kind: 'suggestions-shown';
      readonly at: Origin;
      readonly ids: readonly string[];
      /** How old a cached analysis may be to count. */
      readonly since: string;
    }
  | { readonly kind: 'subagent-stop'; readonly at: Origin }
  | { readonly kind: 'session-end'; readonly at: Origin; readonly reason: string };
