import type { ClientName } from '../core/client-name.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { currentDirectory, RUN_VARIABLE } from '../system/process-identity.ts';
import { isSetAbove } from '../system/processes.ts';
import type { RunWithTurn, WorktreeMode } from './model/run.ts';

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
  readonly label?: string | undefined;
  readonly agentId?: string | undefined;
  readonly client?: ClientName | undefined;
  readonly model?: string | undefined;
  /** As it was said; a word that is no level is an error. */
  readonly thinking?: string | undefined;
  /** 0: none. */
  readonly runTimeoutSeconds?: number | undefined;
  readonly cleanup?: 'delete' | 'keep' | undefined;
  readonly worktree?: WorktreeMode | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Absolute; otherwise the requester's. */
  readonly cwd?: string | undefined;
  /** What a person lets it do besides: `edit`, `all`, or rules. */
  readonly permissions?: readonly string[] | undefined;
  /** How many files are not committed where it is to work: a worktree of its own does not have them. */
  readonly uncommitted?: number | undefined;
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

/** `all`: all that the caller's session has asked for, `project`: all of the project; nothing of it that waits starts any more. */
export type StopTarget =
  | { readonly kind: 'all' | 'project' }
  | { readonly kind: 'run'; readonly runId: string };

export type StopAnswer =
  | {
      readonly status: 'done';
      readonly stopped: readonly StoppedRun[];
      readonly alreadyFinished: readonly RunName[];
      readonly failedToStop: readonly (RunName & { readonly reason: string })[];
      /** Processes of these runs that still live. */
      readonly survivors: readonly { readonly runId: string; readonly pid: number }[];
      /** Of `all`: how many runs of other sessions work or wait. */
      readonly othersActive: number;
    }
  | Refusal;

export type RunName = { readonly runId: string; readonly number: number };

/** What of it was stopped: its work, and so many messages that waited for it. */
export type StoppedRun = RunName & { readonly work: boolean; readonly waitingMessages: number };

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

/** This process, as the world of background runs sees it. */
export function thisProcess(): Omit<RunsWorld, 'paths'> {
  return {
    env: process.env,
    platform: process.platform,
    cwd: currentDirectory(),
    executablePath: process.execPath,
    isCompiled: Bun.isStandaloneExecutable,
    now: () => new Date(),
  };
}

/** The world of a process; undefined when no home directory is known. */
export function runsWorld(process: Omit<RunsWorld, 'paths'>): RunsWorld | undefined {
  const paths: StatePaths | undefined = statePaths(process.env, process.platform);
  return paths && { ...process, paths };
}

/** The program that is started again as this one, and what its words begin with. */
export function ownProgram({ executablePath, isCompiled }: RunsWorld): readonly [string, ...string[]] {
  return isCompiled ? [executablePath] : [executablePath, `${import.meta.dir}/../main.ts`];
}

/** Names the place at which a test ends a process as hard as a power cut would. */
export const CHECKPOINT_VARIABLE = 'SELF_GENERATION_CRASH_AT';

/** Ends this process at once when the environment names this place. */
export function checkpoint(place: string, env: Environment): void {
  if (env[CHECKPOINT_VARIABLE] === place) process.kill(process.pid, 'SIGKILL');
}

/** Whether this process is part of a run, by its environment or that of a process above it, for one that was emptied. */
export function isInsideRun({ env }: RunsWorld): boolean {
  return (env[RUN_VARIABLE] ?? '') !== '' || isSetAbove(RUN_VARIABLE);
}
