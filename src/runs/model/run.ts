import type { ClientName } from '../../core/client-name.ts';
import { canonicalProjectPath, type GitProbe, getProjectName, isRepository } from '../../core/project.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { fingerprint } from '../../core/text.ts';
import type { Terminal } from '../../system/process-identity.ts';
import type { HandoverReport } from './handover.ts';
import type { Part } from './part.ts';
import type { Permissions } from './permissions.ts';
import type { PoolRole } from './pool-role.ts';
import type { Profile } from './profile.ts';
import type { ToolPolicy } from './tool-policy.ts';
import { isTerminal, type Turn, turnMark } from './turn.ts';

/** Who asked for a run. `key` belongs to the project, `agent:main:<name>-<hash>`, so that runs survive the session. */
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
  /** The commit that it began with; unknown for worktrees of earlier releases. */
  readonly base?: string;
};

export type Run = {
  readonly id: string;
  /** The permanent `#` among the runs of its requester. */
  readonly number: number;
  readonly requester: Requester;
  readonly childKey: `agent:${string}:subagent:${string}`;
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
  /** Null: any task. */
  readonly profile: Profile | null;
  /** What it was handed of its requester's conversation; null: nothing. */
  readonly handover: HandoverReport | null;
  /** Null: a sub-agent of its requester. */
  readonly part: Part | null;
  /** Its role; null: that of a sub-agent. */
  readonly instructions: string | null;
  /** Null: it works here, and for nobody elsewhere. */
  readonly pool: PoolRole | null;
  readonly warning: string | null;
  /** Where it was asked for; null: nobody's, or unknown. */
  readonly terminal: Terminal | null;
  /** 0: never. */
  readonly archiveAfterMs: number;
  readonly createdAtMs: number;
  readonly archiveAtMs: number | null;
  readonly archivedAtMs: number | null;
};

/** A run with one of its turns: the one at work, else the task's, unless said otherwise. */
export type RunWithTurn = { readonly run: Run; readonly turn: Turn };

export type TurnName = { readonly runId: string; readonly turn: number };

export type RunWithMessages = RunWithTurn & { readonly waiting: number };

/** Whether a turn of the run is active. */
export function isLive({ turn, waiting }: RunWithMessages): boolean {
  return waiting > 0 || !isTerminal(turn.state);
}

const LEVELS_MAX = 32;
const NAME_LENGTH_MAX = 40;
const PREFIX = 'agent:main:';

/** `agent:main:<name>-<hash>` of the repository that a directory is in, from any depth or worktree; outside of one of the directory itself. */
export function requesterKey(directory: string, git: GitProbe): string {
  const root = repositoryOf(canonicalProjectPath(directory, git), git);
  return `${PREFIX}${wordOf(getProjectName(root))}-${fingerprint(root)}`;
}

/** Whether the key is a run's own: what a plan run asks for is the run's, not its project's. */
export function isKeyOfRun(key: string): boolean {
  return /^agent:[^:]*:subagent:/.test(key);
}

/** The agent that a session key belongs to: `main` in `agent:main:…`. */
export function agentOfKey(key: string): string {
  return key.split(':')[1] || 'main';
}

/** The file that stands while announcements wait for this requester. */
export function inboxMark(requester: string, { inboxMarks }: StatePaths): string {
  return `${inboxMarks}/${requesterWord(requester)}`;
}

/** The requester's key as the name of a file. */
export function requesterWord(requester: string): string {
  const word = requester.startsWith(PREFIX) ? requester.slice(PREFIX.length) : requester;
  return word.replace(/[^\w-]/gu, '_');
}

/** The root of the repository that a path is in, from any depth; outside of one the path itself. */
export function repositoryOf(path: string, git: GitProbe): string {
  let directory = path;
  for (let level = 0; level < LEVELS_MAX && directory !== ''; level++) {
    if (isRepository(directory, git)) return directory;
    const at = Math.max(directory.lastIndexOf('/'), directory.lastIndexOf('\\'));
    directory = directory.slice(0, Math.max(at, 0));
  }
  return path;
}

function wordOf(name: string): string {
  const word = name.toLowerCase().replace(/\W+/g, '-');
  return word.slice(0, NAME_LENGTH_MAX).replace(/^-+|-+$/g, '') || 'project';
}

/** The files of a turn, and the mark of its processes. */
export type TurnFiles = {
  /** Of the run or the analysis, 0700. */
  readonly directory: string;
  readonly prompt: string;
  /** What it writes to its standard output, one JSON value a line. */
  readonly output: string;
  readonly errors: string;
  readonly home: string;
  /** The directory that all turns share; removed when the run is archived. */
  readonly kept: string;
  /** The changes that came back from another machine and could not be added to the run's branch. */
  readonly patch: string;
  /** In the environment of all its processes; no other turn on this machine has the same. */
  readonly mark: string;
};

/** The file that names the process by which a person goes on with the session of a run. */
export function attachMark(paths: StatePaths, runId: string): string {
  return `${runDirectory(paths, runId)}/attached`;
}

const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** The directory of a run. @throws Error when the id is no id: it may come from outside, and becomes a path here. */
export function runDirectory(paths: StatePaths, runId: string): string {
  if (!RUN_ID.test(runId)) throw new Error(`Cannot name the directory of run "${runId}": this is no run id`);
  return `${paths.runs}/${runId}`;
}

/** The files of a turn. @throws Error when the id or the number is none. */
export function turnFiles(paths: StatePaths, runId: string, turn: number): TurnFiles {
  if (!Number.isSafeInteger(turn) || turn < 1)
    throw new Error(`Cannot name the files of turn "${turn}" of run "${runId}": turns count from 1`);
  return filesIn(runDirectory(paths, runId), turn, turnMark({ runId, number: turn }));
}

/** The files of an analysis, which asks one question at a time, by its row in the ledger. */
export function analysisFiles(
  { home }: Pick<StatePaths, 'home'>,
  { id, ts }: { readonly id: number; readonly ts: string },
): TurnFiles {
  const directory = `${home}/analysis-${id}`;
  return filesIn(directory, 1, `${directory} ${ts}`);
}

/** The files of a question that is asked once, in this directory, which nobody else has. */
export function questionFiles(directory: string): TurnFiles {
  return filesIn(directory, 1, directory);
}

function filesIn(directory: string, turn: number, mark: string): TurnFiles {
  const stem = `${directory}/turn-${turn}`;
  return {
    directory,
    mark,
    prompt: `${stem}.prompt`,
    output: `${stem}.jsonl`,
    errors: `${stem}.stderr`,
    home: `${stem}.home`,
    kept: `${directory}/turn-0.home`,
    patch: `${stem}.patch`,
  };
}
