import type { ClientName } from '../client-name.ts';
import type { Thinking, WorktreeMode } from './run.ts';
import type { ToolPolicy } from './tool-policy.ts';

/** The part of the settings that is about background runs, under the names of the seed. Read by readRunSettings(). */
export type RunSettings = {
  readonly maxConcurrent: number;
  /** Waiting, of one requester. */
  readonly maxQueued: number;
  /** 0: never. */
  readonly archiveAfterMinutes: number;
  /** 0: none. */
  readonly runTimeoutSeconds: number;
  /** Without any output; 0: no limit. */
  readonly idleTimeoutSeconds: number;
  readonly client: ClientName | null;
  readonly model: string | null;
  readonly thinking: Thinking | null;
  readonly allowAgents: readonly string[] | null;
  readonly worktree: WorktreeMode;
  /** Files of the workspace that a sub-agent is given (R51). */
  readonly contextFiles: readonly string[];
  readonly agents: readonly AgentSettings[];
  readonly tools: ToolPolicy & {
    /** Refuse a run whose client cannot enforce the policy. */
    readonly isStrict: boolean;
    /** Rules for what sub-agents may do without asking; see permissions.ts. */
    readonly permitted: readonly string[];
  };
  readonly announce: {
    /** `turn`: one more turn of the child's session. `inline`: asked for in the first prompt. `raw`: the last message. */
    readonly mode: 'turn' | 'inline' | 'raw';
    readonly timeoutSeconds: number;
    readonly skipOnFailure: boolean;
  };
  readonly budget: {
    readonly run: BudgetLimit;
    readonly requester: BudgetLimit;
    readonly day: BudgetLimit;
  };
  readonly prices: readonly ModelPrice[];
};

export type AgentSettings = {
  readonly id: string;
  readonly name: string | null;
  readonly client: ClientName | null;
  readonly model: string | null;
  readonly thinking: Thinking | null;
  /** Where its AGENTS.md and TOOLS.md stand; null: the requester's directory. */
  readonly workspace: string | null;
  readonly agentDir: string | null;
  /** As a requester: which other agents it may spawn. */
  readonly allowAgents: readonly string[] | null;
  readonly tools: ToolPolicy;
};

/** Null: no limit. */
export type BudgetLimit = { readonly tokens: number | null; readonly usd: number | null };

/** USD per million tokens. */
export type ModelPrice = {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
};

/** At this share of a limit it is said that it comes near. */
export const WARNING_SHARE = 0.8;
