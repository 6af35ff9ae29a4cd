import type { ClientName } from '../core/client-name.ts';
import type { RunWithTurn, WorktreeMode } from '../core/runs/run.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';

/**
 * What is asked and answered in background runs, for the commands and for the MCP server alike. Both resolve the words of
 * a person or a model with findTarget(); what comes in here names runs by their ids.
 */

/** What is needed of the process that this runs in. */
export type RunsWorld = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly platform: string;
  readonly cwd: string;
  /** The program that supervisors are started with: `process.execPath`. */
  readonly executablePath: string;
  readonly isCompiled: boolean;
  readonly now: () => Date;
};

export type SpawnRequest = {
  readonly task: string;
  readonly label?: string;
  readonly agentId?: string;
  readonly client?: ClientName;
  readonly model?: string;
  /** As it was said; a word that is no level is an error. */
  readonly thinking?: string;
  /** 0: none. */
  readonly runTimeoutSeconds?: number;
  readonly cleanup?: 'delete' | 'keep';
  readonly worktree?: WorktreeMode;
  readonly idempotencyKey?: string;
  /** Absolute; otherwise the requester's. */
  readonly cwd?: string;
  /** What a person lets it do besides: `edit`, `all`, or rules. */
  readonly permissions?: readonly string[];
  /** How many files are not committed where it is to work: a worktree of its own does not have them. */
  readonly uncommitted?: number;
};

export type SpawnAnswer =
  | {
      readonly status: 'accepted';
      readonly runId: string;
      readonly childSessionKey: string;
      readonly number: number;
      readonly warning?: string;
      /** What it cannot do, and what would let it. */
      readonly note?: string;
      /** From 1 on, while it waits. */
      readonly queuePosition?: number;
      readonly deduplicated?: boolean;
      readonly resolvedModel?: string;
    }
  | Refusal;

/** `limit`: it may be tried again when others have ended, or with another setting. */
export type Refusal = {
  readonly status: 'error' | 'forbidden';
  readonly error: string;
  readonly limit?: true;
};

/** `all`: every active run of the requester, and nothing of theirs that waits starts any more. */
export type StopTarget = { readonly kind: 'all' } | { readonly kind: 'run'; readonly runId: string };

export type StopAnswer =
  | {
      readonly status: 'done';
      readonly stopped: readonly RunName[];
      readonly alreadyFinished: readonly RunName[];
      readonly failedToStop: readonly (RunName & { readonly reason: string })[];
      /** Processes of these runs that still live. */
      readonly survivors: readonly { readonly runId: string; readonly pid: number }[];
    }
  | Refusal;

export type RunName = { readonly runId: string; readonly number: number };

/** `turn`: by which the answer can be waited for. */
export type SendAnswer =
  | { readonly status: 'accepted'; readonly runId: string; readonly turn: number }
  | Refusal;

export type TurnName = { readonly runId: string; readonly turn: number };

export type WaitOptions = {
  /** Null: as long as it takes. */
  readonly timeoutMs: number | null;
  /** Also until what they have to tell has been put into words, and can be handed out. */
  readonly untilAnnounced?: boolean;
  /** Given up before the time is over. */
  readonly signal?: AbortSignal;
  /** Called now and then with how things stand. */
  readonly onProgress?: (runs: readonly RunWithTurn[]) => void;
};

/** In the order in which they were asked for, each with the turn that was asked for. */
export type WaitAnswer = { readonly kind: 'ended' | 'timeout'; readonly runs: readonly RunWithTurn[] };

/** Without the properties that are undefined: an absent one and no value are not the same to the types. */
export function withoutGaps<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
