import type { Config } from '../core/config.ts';
import type { HookEventName } from '../core/hook-names.ts';
import type { Origin, Recording } from '../core/recording.ts';
import type { Db } from '../store/connection.ts';
import type { Skill } from '../store/skill-files.ts';
import type { Task } from '../store/task-note.ts';
import type { HookEvent } from './event.ts';

/** Text for the agent, as the client's `additionalContext`. */
export type Reply = { readonly event: HookEventName; readonly context: string };

/** What a hook wants done; run.ts does it. An empty decision is a hook with nothing to say and nothing to keep. */
export type Decision = {
  readonly reply?: Reply;
  readonly recording?: Recording;
  /** Left for the sub-agent that starts next. */
  readonly task?: Task;
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
  readonly taskOf?: (event: HookEvent) => string;
  /** Takes secrets out of texts of a database that an earlier implementation made. */
  readonly clean?: (text: string) => string;
};

/** What the hooks that nobody waits for in the hottest moment may look at besides. */
export type FullContext = HookContext & {
  /** The user's own skills, looked up at each call. */
  readonly skills: () => readonly Skill[];
};

/** Where and when the event happened. */
export function originOf(event: HookEvent, { now, project }: HookContext): Origin {
  return {
    ts: now.toISOString(),
    sessionId: event.sessionId,
    project: project.name,
    projectPath: project.path,
    agentId: event.agentId,
    agentType: event.agentType,
  };
}
