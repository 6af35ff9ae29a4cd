import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { getProjectPath } from '../core/project.ts';
import { requesterKey } from '../core/runs/requester-key.ts';
import type { Requester } from '../core/runs/run.ts';
import { RUN_VARIABLE } from '../core/runs/turn.ts';
import type { Environment } from '../core/state-paths.ts';
import { isSetAbove, programAbove } from '../sys/environment-above.ts';
import { pathExists, readTextFile } from '../sys/runtime-bun.ts';
import type { RunsWorld } from './features.ts';

/** Who asks, seen from this process. */
export function requesterHere({ env, cwd }: Pick<RunsWorld, 'env' | 'cwd'>): Requester {
  const client = clientAround(env);
  const directory = getProjectPath(cwd, env) ?? cwd;
  return {
    key: requesterKey(directory, { readTextFile, pathExists }),
    // Only Claude Code has hooks of ours, through which what is meant for a session can reach it.
    session: client === 'claude' ? env.CLAUDE_CODE_SESSION_ID || null : null,
    client,
    cwd,
  };
}

/** Whether this process is part of a run, by its environment or that of a process above it, for one that was emptied. */
export function isInsideRun({ env }: RunsWorld): boolean {
  return (env[RUN_VARIABLE] ?? '') !== '' || isSetAbove(RUN_VARIABLE);
}

/** What the clients, and we for our runs, set for whatever their agents start. */
const AGENT_MARKS = [
  'CLAUDECODE',
  'CLAUDE_CODE_SESSION_ID',
  'CODEX_THREAD_ID',
  'CODEX_CI',
  'GEMINI_CLI',
  'OPENCODE',
  'AI_AGENT',
  RUN_VARIABLE,
];

/**
 * What shows that an agent started this process: a variable in its environment or in that of a process above it, or a
 * client among those. Undefined for a person's own terminal. A process that leaves its session and empties its
 * environment is not recognised.
 */
export function agentMark(env: Environment): string | undefined {
  const name = AGENT_MARKS.find((mark) => env[mark] || isSetAbove(mark));
  if (name !== undefined) return `${name} is set`;
  const client = programAbove(CLIENT_NAMES);
  return client && `${client} is running above it`;
}

/** The client whose tool started this process, by what each of them sets for its tools. */
function clientAround(env: Environment): ClientName | null {
  if (env.CLAUDECODE === '1' || env.CLAUDE_CODE_SESSION_ID) return 'claude';
  if (env.CODEX_THREAD_ID || env.CODEX_CI) return 'codex';
  if (env.GEMINI_CLI === '1') return 'gemini';
  return env.OPENCODE === '1' ? 'opencode' : null;
}
