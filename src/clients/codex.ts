import { type Json, readRecord, readString } from '../core/guards.ts';
import { answered, complaintIn, failed, jsonLines, NO_USAGE, readAmount, withoutResult } from './answer.ts';
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
import { CODEX_PLACES, codexRoute, routeArgs } from './routes/codex-route.ts';

/**
 * Codex, measured with 0.169.0. `config.toml` is not read, the login is: of the file's MCP servers none can be switched
 * off without its name (openai/codex#16045), and their tools would be offered. What it says of the provider is carried
 * over.
 *
 * What remains is what the model's own entry in the client's catalogue demands, and nothing of it can act: `apply_patch`
 * (gpt-5.5), which the read-only sandbox refuses; `exec` and `wait` (from gpt-5.6 on), which run JavaScript in a host that
 * is switched off. Also remains `AGENTS.md` in the user's own `~/.codex`: no switch leaves it out.
 */
export const codex: OneShotClient = {
  name: 'codex',
  program: 'codex',
  canSetBudget: false,
  route: codexRoute,
  command,
  readAnswer,
};

/** As settings, not as `--disable`: there a feature that another release does not have is an error. */
const FEATURES_OFF: readonly string[] = [
  ...['hooks', 'plugins', 'apps', 'shell_snapshot'],
  ...[
    'shell_tool',
    'unified_exec',
    'view_image',
    'image_generation',
    'code_mode_host',
    'sleep_tool',
    'goals',
  ],
  ...['multi_agent', 'multi_agent_v2', 'tool_suggest', 'memories'],
  'unbounded_connection_retries', // Without a network the client would wait for ever.
];

const SETTINGS: readonly string[] = [
  ...FEATURES_OFF.map((feature) => `features.${feature}=false`),
  'agents.enabled=false',
  'tools.experimental_request_user_input.enabled=false',
  'web_search="disabled"',
  'project_doc_max_bytes=0',
  'skills.include_instructions=false',
  'include_environment_context=false',
  'include_permissions_instructions=false',
  'include_apps_instructions=false',
  'include_collaboration_mode_instructions=false',
  'analytics.enabled=false',
  `developer_instructions=${JSON.stringify(INSTRUCTIONS)}`,
];

const FLAGS: readonly string[] = [
  'exec',
  '--json',
  '--ephemeral',
  '--ignore-user-config',
  '--ignore-rules',
  '--skip-git-repo-check',
  ...['--sandbox', 'read-only'],
  ...['--color', 'never'],
  ...SETTINGS.flatMap((setting) => ['-c', setting]),
];

function command({ prompt, model, route, directory }: OneShotRequest): OneShotCommand {
  const chosen = model ?? route.model;
  return {
    program: codex.program,
    args: [...FLAGS, ...routeArgs(route), ...(chosen === null ? [] : [`--model=${chosen}`]), '-'],
    stdin: prompt,
    files: {},
    env: { ...commonEnv(directory), ...route.env },
    passedOn: [...PASSED_ON, ...CODEX_PLACES, ...route.passedOn],
  };
}

function readAnswer(end: ClientEnd): OneShotAnswer {
  const events = jsonLines(end.stdout);
  const final = events.findLast(({ type }) => type === 'turn.completed' || type === 'turn.failed');
  const usage = final === undefined ? NO_USAGE : usageIn(final);
  const isGood = final?.type === 'turn.completed' && end.code === 0;
  if (!isGood) return failed([...problemsIn(events), complaintIn(end.stderr), withoutResult(end)], usage);
  const text = events.map(messageIn).findLast((message) => message !== undefined);
  return text === undefined ? failed('the model gave no answer', usage) : answered(text, usage);
}

/** An answer comes whole; what comes before the last one is what the model said on its way. */
function messageIn(event: Json): string | undefined {
  const item = readRecord(event, 'item');
  return event.type === 'item.completed' && item.type === 'agent_message'
    ? readString(item, 'text')
    : undefined;
}

/** The end of the turn first, then the last `error`; each of those may also be an attempt that was tried again. */
function problemsIn(events: readonly Json[]): (string | undefined)[] {
  const turn = events.findLast(({ type }) => type === 'turn.failed');
  const error = events.findLast(({ type }) => type === 'error');
  return [
    turn === undefined ? undefined : readString(readRecord(turn, 'error'), 'message'),
    error === undefined ? undefined : readString(error, 'message'),
  ];
}

/** Counted over the thread, which here is one turn. */
function usageIn(turn: Json): Usage {
  const usage = readRecord(turn, 'usage');
  return {
    ...NO_USAGE,
    inputTokens: readAmount(usage, 'input_tokens'),
    outputTokens: readAmount(usage, 'output_tokens'),
  };
}
