import { isRecord, type Json, parseJson, readRecord, readString } from '../core/guards.ts';
import { answered, complaintIn, failed, NO_USAGE, readAmount, sum, withoutResult } from './answer.ts';
import {
  type ClientEnd,
  commonEnv,
  INSTRUCTIONS,
  type OneShotAnswer,
  type OneShotClient,
  type OneShotCommand,
  type OneShotRequest,
  PASSED_ON,
  type Usage,
} from './one-shot.ts';
import { claudeRoute } from './routes/claude-route.ts';

/**
 * Claude Code, measured with 2.1.328. No tool at all. The user's settings are read, because the login may stand there
 * (`apiKeyHelper`, `env`); safe mode leaves out what else they bring: hooks, plugins, agents, memory. Safe mode is
 * switched on by its variable, which releases without it ignore. What remains: hooks and settings of an administrator.
 */
export const claude: OneShotClient = {
  name: 'claude',
  program: 'claude',
  canSetBudget: true,
  route: claudeRoute,
  command,
  readAnswer,
};

const FLAGS: readonly string[] = [
  '--print',
  ...['--output-format', 'json'],
  ...['--tools', ''],
  ...['--setting-sources', 'user'],
  ...['--settings', JSON.stringify({ disableAllHooks: true })],
  '--strict-mcp-config', // And no --mcp-config: no server.
  '--no-session-persistence',
  '--disable-slash-commands',
  ...['--system-prompt', INSTRUCTIONS],
];

const ENV: OneShotCommand['env'] = {
  CLAUDE_CODE_SAFE_MODE: '1',
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1',
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
  // Without it the client reads every file that a prompt names after an @, and sends it along.
  CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
};

function command({ prompt, model, route, budgetUsd, directory }: OneShotRequest): OneShotCommand {
  const chosen = model === undefined ? [] : [`--model=${model}`];
  const budget = budgetUsd === undefined ? [] : [`--max-budget-usd=${budgetUsd}`];
  return {
    program: claude.program,
    args: [...FLAGS, ...chosen, ...budget],
    stdin: `\n${prompt}`, // A slash in the very first place would be a command of the client's own.
    files: {},
    env: { ...commonEnv(directory), ...ENV },
    passedOn: [...PASSED_ON, 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_GIT_BASH_PATH', ...route.passedOn],
  };
}

function readAnswer(end: ClientEnd): OneShotAnswer {
  const result = resultIn(end.stdout);
  if (result === undefined)
    return failed([complaintIn(end.stderr), complaintIn(end.stdout), withoutResult(end)]);
  const usage = usageIn(result);
  const text = readString(result, 'result');
  const problem = problemIn(result);
  if (problem !== undefined) return failed([text, ...problemsIn(result), problem], usage);
  if (end.code !== 0 || text === undefined)
    return failed([complaintIn(end.stderr), withoutResult(end)], usage);
  if (result.num_turns === 0) return failed('the client answered by itself, without the model', usage);
  const stop = readString(result, 'stop_reason') ?? 'end_turn';
  if (stop !== 'end_turn' && stop !== 'stop_sequence')
    return failed(`the model stopped early: ${stop}`, usage);
  return answered(text, usage);
}

/** The result: the whole output, or the last of a list where the user has the client say everything. */
function resultIn(stdout: string): Json | undefined {
  const output = parseJson(stdout);
  const messages: unknown[] = Array.isArray(output) ? output : [output];
  const last = messages.at(-1);
  return isRecord(last) && last.type === 'result' ? last : undefined;
}

function problemIn(result: Json): string | undefined {
  const subtype = readString(result, 'subtype');
  if (subtype !== 'success') return `the client reports ${subtype ?? 'no success'}`;
  return result.is_error === false ? undefined : 'the client reports an error';
}

function problemsIn(result: Json): string[] {
  return Array.isArray(result.errors) ? result.errors.filter((error) => typeof error === 'string') : [];
}

function usageIn(result: Json): Usage {
  const usage = readRecord(result, 'usage');
  const inputs = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'];
  return {
    ...NO_USAGE,
    inputTokens: sum(inputs.map((key) => readAmount(usage, key))),
    outputTokens: readAmount(usage, 'output_tokens'),
    costUsd: readAmount(result, 'total_cost_usd'),
    model: mainModel(readRecord(result, 'modelUsage')),
  };
}

/** The model that wrote most: the client may ask a small one on the side. */
function mainModel(usageByModel: Json): string | null {
  const written = (model: string) => readAmount(readRecord(usageByModel, model), 'outputTokens') ?? 0;
  const [most] = Object.keys(usageByModel).sort((left, right) => written(right) - written(left));
  return most ?? null;
}
