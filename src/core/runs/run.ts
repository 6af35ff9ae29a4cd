import type { ClientName } from '../client-name.ts';
import type { Permissions } from './permissions.ts';
import type { ToolPolicy } from './tool-policy.ts';
import { isTerminal, type ProcessIdentity, type Turn } from './turn.ts';

/** `agent:<agentId>:subagent:<uuid>` (R2). */
export type ChildSessionKey = `agent:${string}:subagent:${string}`;

/** Who asked for a run, frozen when it was accepted. `key` is of a project, `agent:main:<name>-<hash>`, so that runs survive the session. */
export type Requester = {
  readonly key: string;
  /** The client's own session, or the MCP connection; null for a person in a terminal. */
  readonly session: string | null;
  readonly client: ClientName | null;
  readonly cwd: string;
};

export const WORKTREE_MODES = ['auto', 'always', 'never'] as const;
export type WorktreeMode = (typeof WORKTREE_MODES)[number];

export const THINKING_LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Thinking = (typeof THINKING_LEVELS)[number];

export type Worktree = {
  readonly path: string;
  readonly branch: string;
  readonly repository: string;
  /** The commit that it began with; trees of earlier releases do not say. */
  readonly base?: string;
};

/** Where a person may be told something. `owner`: as long as it lives, the terminal is the same. */
export type Terminal = { readonly path: string; readonly owner: ProcessIdentity };

export type Run = {
  readonly id: string;
  /** The permanent `#` among the runs of its requester. */
  readonly number: number;
  readonly requester: Requester;
  readonly childKey: ChildSessionKey;
  readonly agentId: string;
  readonly client: ClientName;
  readonly label: string | null;
  readonly task: string;
  readonly model: {
    readonly requested: string | null;
    readonly resolved: string | null;
    readonly observed: string | null;
  };
  readonly thinking: Thinking | null;
  readonly cleanup: 'delete' | 'keep';
  /** 0: none. */
  readonly runTimeoutMs: number;
  /** Where the client works; the worktree's path once there is one. */
  readonly cwd: string;
  readonly worktreeMode: WorktreeMode;
  readonly worktree: Worktree | null;
  readonly policy: ToolPolicy;
  readonly permissions: Permissions;
  /** What the client cannot enforce of the policy, for `info`. */
  readonly gaps: readonly string[];
  readonly agentDir: string | null;
  readonly sessionId: string | null;
  readonly warning: string | null;
  /** Where it was asked for; null: nobody's, or unknown. */
  readonly terminal: Terminal | null;
  /** 0: never. */
  readonly archiveAfterMs: number;
  readonly createdAtMs: number;
  readonly archiveAtMs: number | null;
  readonly archivedAtMs: number | null;
};

/** A run with one of its turns; where none is named, with the one that is at work, else with the one of its task. */
export type RunWithTurn = { readonly run: Run; readonly turn: Turn };

export type RunWithMessages = RunWithTurn & { readonly waiting: number };

/** Whether anything of the run works or waits. */
export function isLive({ turn, waiting }: RunWithMessages): boolean {
  return waiting > 0 || !isTerminal(turn.state);
}
