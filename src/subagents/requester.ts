import type { ClientName } from '../core/client-name.ts';
import { getProjectPath } from '../core/project.ts';
import { requesterKey } from '../core/runs/requester-key.ts';
import type { Requester } from '../core/runs/run.ts';
import type { Environment } from '../core/state-paths.ts';
import { isSetAbove } from '../sys/environment-above.ts';
import { pathExists, readTextFile } from '../sys/runtime-bun.ts';
import type { RunsWorld } from './features.ts';

/** The variable that every process of a run has: `<run id>/<turn>`. */
export const RUN_VARIABLE = 'SELF_GENERATION_RUN';

/** Who asks, seen from this process. */
export function requesterHere({ env, cwd }: RunsWorld): Requester {
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

/**
 * Whether this process is part of a sub-agent's run, by its own environment or that of the processes above it: a
 * command that was started with an empty environment still has its ancestors.
 */
export function isInsideRun({ env }: RunsWorld): boolean {
  return (env[RUN_VARIABLE] ?? '') !== '' || isSetAbove(RUN_VARIABLE);
}

/** The client whose tool started this process, by what each of them sets for its tools. */
function clientAround(env: Environment): ClientName | null {
  if (env.CLAUDECODE === '1' || env.CLAUDE_CODE_SESSION_ID) return 'claude';
  if (env.CODEX_THREAD_ID || env.CODEX_CI) return 'codex';
  if (env.GEMINI_CLI === '1') return 'gemini';
  return env.OPENCODE === '1' ? 'opencode' : null;
}
