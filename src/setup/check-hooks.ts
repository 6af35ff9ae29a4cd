import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRecord, type Json, parseJson, readRecord, readString } from '../core/guards.ts';
import { HOOKS, type HookName } from '../core/hook-names.ts';
import type { CommandResult } from '../sys/run-command.ts';
import { type Check, type CheckWorld, failed, ok } from './check.ts';

const TIME_LIMIT_MS = 10_000;
const TEXT_SHOWN_LENGTH = 200;
const MARKER = 'self-check marker';

/** One session in ten events: an error, its fix, and the sub-agent that is to hear of it. */
const EVENTS: readonly { readonly name: HookName; readonly input: Json }[] = [
  { name: 'session-analyzer', input: { hook_event_name: 'SessionStart', source: 'startup' } },
  { name: 'prompt-logger', input: { hook_event_name: 'UserPromptSubmit', prompt: 'self-check' } },
  {
    name: 'error-logger',
    input: {
      hook_event_name: 'PostToolUseFailure',
      ...bash('t1'),
      error: `Error: unknown option --${MARKER}`,
    },
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
  { name: 'stop-tracker', input: { hook_event_name: 'Stop' } },
  { name: 'result-waiter', input: { hook_event_name: 'Stop' } },
  { name: 'session-summary', input: { hook_event_name: 'SessionEnd', reason: 'other' } },
];

function bash(toolUseId: string): Json {
  return { tool_name: 'Bash', tool_input: { command: 'make self-check' }, tool_use_id: toolUseId };
}

/**
 * Runs every hook of this binary once, in a throw-away directory, with the environment at hand, and looks whether the
 * client could read its answer and whether the sub-agent is told of the error.
 */
export async function checkHooks(binary: string, { env, run, install }: CheckWorld): Promise<Check> {
  const home = mkdtempSync(join(tmpdir(), 'self-generation-check-'));
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
      if (problem !== undefined) {
        const remedy = `Run: ${install}; if that does not help, see what this says: "${binary}" hook ${name} </dev/null`;
        return failed('hooks', `${name} ${problem}`, remedy);
      }
    }
    return ok('hooks', `all ${HOOKS.length} ran; a sub-agent is told of a recorded error`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function problemOf(name: HookName, result: CommandResult): string | undefined {
  if (result.kind === 'failed') return `does not run: ${result.reason}`;
  if (result.kind === 'timed-out') return 'did not end';
  if (result.code !== 0)
    return `ended with exit code ${result.code}: ${result.stderr.slice(0, TEXT_SHOWN_LENGTH)}`;
  const said = JSON.stringify(result.stdout.slice(0, TEXT_SHOWN_LENGTH));
  const answer = parseJson(result.stdout);
  // To the client, plain text is context for the model: nothing but an answer of ours may stand there.
  if (result.stdout !== '' && !isRecord(answer)) return `printed something that is not its answer: ${said}`;
  if (name !== 'subagent-context') return undefined;
  const output = readRecord(isRecord(answer) ? answer : {}, 'hookSpecificOutput');
  if (readString(output, 'additionalContext')?.includes(MARKER)) return undefined;
  return `did not tell of a recorded error: ${said}`;
}
