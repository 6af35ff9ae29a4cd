import type { Telling } from '../benefit/model/telling.ts';
import type { Json } from '../core/guards.ts';
import type { Db } from '../database/connection.ts';
import type { SubagentTask } from '../database/given-note.ts';
import type { searchErrorKB } from '../lessons/store/error-search.ts';
import type { Config } from '../settings/hook-settings.ts';
import type { Skill } from '../suggestions/model/skill-files.ts';
import type { EventBase } from './event.ts';

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
  /** Of its input and of what it answered, in UTF-16 units. */
  readonly chars: number;
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
      /** The row whose fix it would have been told, had the coin not held it out. */
      readonly heldKbId?: number | undefined;
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

/** Text for the agent, as the client's `additionalContext`. */
export type Reply = { readonly event: string; readonly context: string };

/** What a hook wants done; write-path.ts does it. An empty decision is a hook with nothing to say and nothing to keep. */
export type Decision = {
  readonly reply?: Reply;
  /** What the reply tells, and what the coin has left out of it: noted when it is delivered, or is empty for that. */
  readonly tellings?: readonly Telling[];
  readonly recording?: Recording;
  /** Left for the sub-agent that starts next. */
  readonly task?: SubagentTask;
  /** The notes of what sub-agents were given are taken into the database. */
  readonly takesNotes?: true;
  /** Old rows are removed after the recording. */
  readonly prune?: true;
  /** The log is analysed by a process of its own, which nobody waits for. */
  readonly launch?: { readonly kind: 'analysis'; readonly projectPath: string };
};

export const NOTHING: Decision = {};

export type Project = {
  readonly name: string;
  /** Canonical: one path for all worktrees of a repository. Null when the client names no directory. */
  readonly path: string | null;
  /** All spellings under which rows of this project may stand in the database; the canonical one first. */
  readonly spellings: readonly string[];
};

export type HookContext = {
  readonly config: Config;
  readonly now: Date;
  readonly project: Project;
  /** The knowledge database, opened at the first call; undefined when there is none yet. */
  readonly knowledge: () => Db | undefined;
  /** What the sub-agent that starts is about to do, in the words of who starts it; empty when that is not known. */
  readonly taskOf?: (event: EventBase) => string;
  /** Takes secrets out of texts of a database that an earlier implementation made. */
  readonly clean?: (text: string) => string;
  /** For the hook that searches for known errors: its code is loaded for no other. */
  readonly searchErrors?: typeof searchErrorKB | undefined;
};

/** What the hooks besides SubagentStart may look at as well. */
export type FullContext = HookContext & {
  /** The user's own skills, looked up at each call. */
  readonly skills: () => readonly Skill[];
};

/** Where and when the event happened. */
export function originOf(event: EventBase, { now, project }: HookContext): Origin {
  return {
    ts: now.toISOString(),
    sessionId: event.sessionId,
    project: project.name,
    projectPath: project.path,
    agentId: event.agentId,
    agentType: event.agentType,
  };
}
