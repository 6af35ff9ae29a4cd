import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '../core/guards.ts';
import { isRecord, parseJson, readRecord, readString } from '../core/guards.ts';
import { HOOKS, type HookName } from '../core/hook-names.ts';
import type { Environment } from '../core/state-paths.ts';
import type { RunCommand } from '../sys/run-command.ts';
import { type Check, failed, ok } from './check.ts';

const TIME_LIMIT_MS = 10_000;

/** One session in nine events: an error, its fix, and the sub-agent that is to hear of it. */
const EVENTS: readonly { readonly name: HookName; readonly input: Json }[] = [
  { name: 'session-analyzer', input: { hook_event_name: 'SessionStart', source: 'startup' } },
  { name: 'prompt-logger', input: { hook_event_name: 'UserPromptSubmit', prompt: 'self-check' } },
  {
    name: 'error-logger',
    input: { hook_event_name: 'PostToolUseFailure', ...bash('t1'), error: 'Error: self-check marker' },
  },
  { name: 'batch-logger', input: { hook_event_name: 'PostToolBatch', tool_calls: [] } },
  { name: 'pre-tool-guide', input: { hook_event_name: 'PreToolUse', ...bash('t2') } },
  { name: 'tool-logger', input: { hook_event_name: 'PostToolUse', ...bash('t2') } },
  {
    name: 'subagent-context',
    input: { hook_event_name: 'SubagentStart', agent_id: 'a1', agent_type: 'executor' },
  },
  {
    name: 'subagent-tracker',
    input: { hook_event_name: 'SubagentStop', agent_id: 'a1', agent_type: 'executor' },
  },
  { name: 'session-summary', input: { hook_event_name: 'SessionEnd', reason: 'other' } },
];

function bash(toolUseId: string): Json {
  return { tool_name: 'Bash', tool_input: { command: 'make self-check' }, tool_use_id: toolUseId };
}

type World = {
  readonly binary: string;
  readonly env: Environment;
  readonly run: RunCommand;
};

/**
 * Runs every hook of this binary once, in a throw-away directory, with the environment at hand, and looks whether the
 * sub-agent is told of the error.
 */
export async function checkHooks({ binary, env, run }: World): Promise<Check> {
  const home = mkdtempSync(join(tmpdir(), 'self-generation-check-'));
  const remedy = `Run "${binary} hook subagent-context" by hand, or reinstall`;
  try {
    for (const { name, input } of EVENTS) {
      const result = await run(binary, ['hook', name], {
        env: {
          ...env,
          SELF_GENERATION_HOME: join(home, 'state'),
          CLAUDE_PROJECT_DIR: home,
          SELF_GENERATION_INTERNAL: undefined,
        },
        cwd: home,
        timeoutMs: TIME_LIMIT_MS,
        stdin: JSON.stringify({ session_id: 'self-check', cwd: home, ...input }),
      });
      const problem = problemOf(name, result);
      if (problem !== undefined) return failed('hooks', `${name} ${problem}`, remedy);
    }
    return ok('hooks', `all ${HOOKS.length} ran; a sub-agent is told of a recorded error`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function problemOf(name: HookName, result: Awaited<ReturnType<RunCommand>>): string | undefined {
  if (result.kind === 'failed') return `cannot be started: ${result.reason}`;
  if (result.kind === 'timed-out') return 'did not end';
  if (result.code !== 0) return `ended with exit code ${result.code}: ${result.stderr.slice(0, 200)}`;
  if (name !== 'subagent-context') return undefined;
  const output = parseJson(result.stdout);
  const context = isRecord(output)
    ? readString(readRecord(output, 'hookSpecificOutput'), 'additionalContext')
    : undefined;
  return context?.includes('self-check marker')
    ? undefined
    : `did not tell of a recorded error: ${JSON.stringify(result.stdout.slice(0, 200))}`;
}
