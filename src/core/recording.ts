import type { Command } from './command.ts';
import type { Json } from './guards.ts';
import type { Language } from './messages.ts';

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

export type ToolError = {
  readonly tool: string;
  /** Normalised: the form under which it is recognised again. */
  readonly error: string;
  readonly errorRaw: string;
  readonly toolUseId: string | null;
  readonly command: Command | null;
  /** The file that the tool was called on, relative to the project. */
  readonly file: string | null;
  /** Files of the project that the error text names. */
  readonly mentionedFiles: readonly string[];
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
  | {
      readonly kind: 'tool-use';
      readonly at: Origin;
      readonly tool: string;
      readonly meta: Json;
      readonly toolUseId: string | null;
      readonly command: Command | null;
      readonly file: string | null;
      readonly language: Language;
    }
  | {
      readonly kind: 'tool-errors';
      readonly at: Origin;
      readonly errors: readonly ToolError[];
      /** The knowledge base row whose fix the agent was told. */
      readonly shownKbId: number | null;
      /** The client reports some failures twice: of the call, and in the summary of its batch. This is the latter. */
      readonly isSummary?: true;
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
