import { z } from 'zod';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { asRecord } from '../core/guards.ts';
import { EXPLORERS_MAX } from '../runs/context/planning.ts';
import { HANDOVER_MODES } from '../runs/model/handover-settings.ts';
import { THINKING_LEVELS, WORKTREE_MODES } from '../runs/model/run.ts';
import { inAscii } from '../runs/model/tool-policy.ts';
import { RefusedCall } from './answer.ts';

/** The parameters of each tool, as they are advertised and checked. */

const LIST_MAX = 200;
export const LIST_DEFAULT = 50;
const MESSAGES_MAX = 1000;
export const MESSAGES_DEFAULT = 200;
const MESSAGES_IN_LIST_MAX = 20;
export const LOG_MAX = 200;
export const LOG_DEFAULT = 20;
const KNOWN_MAX = 20;
export const KNOWN_DEFAULT = 5;
const WAIT_SECONDS_MAX = 600;
export const WAIT_SECONDS_DEFAULT = 30;
/** Some clients give a call up after a minute. */
export const AGENT_WAIT_SECONDS_DEFAULT = 50;

/** The actions of `subagents`, each with the parameters that mean something for it. */
const ACTIONS = {
  list: ['limit'],
  info: ['target'],
  log: ['target', 'limit', 'includeTools'],
  send: ['target', 'message', 'timeoutSeconds'],
  stop: ['target'],
  wait: ['target', 'timeoutSeconds'],
  retry: ['target'],
};
type SubagentAction = keyof typeof ACTIONS;

const word = (description: string) => z.string().describe(description);
const count = (max: number, description: string, min = 1) => z.int().min(min).max(max).describe(description);
const flag = (description: string) => z.boolean().describe(description);
const amount = (description: string) => z.number().min(0).describe(description);
const seconds = amount(`How long to wait; default ${WAIT_SECONDS_DEFAULT}, 0: not.`).max(WAIT_SECONDS_MAX);
const TARGET = 'Its number, run id, session key or label, or "last".';

/** Only advertised: the spawn itself refuses other values, with its own message. */
const among = (values: readonly string[]) => z.string().meta({ enum: [...values] });

const mode = z.enum(HANDOVER_MODES);
const fromZero = z.number().min(0).optional();

/** What of the caller's conversation a sub-agent is handed: a mode, or more. */
export const CONTEXT_PARAMETER = z
  .union([
    mode,
    z.strictObject({
      mode: mode.optional(),
      recentN: fromZero,
      includeSystem: z.boolean().optional(),
      maxChars: fromZero,
      pruned: z.boolean().optional(),
      session: z.string().optional(),
    }),
  ])
  .describe('What it is handed of this conversation, or of a session by its id; recentN: messages.');

/** Of `sessions_spawn`. `agentIds`: what it accepts now. */
export function spawnParameters(agentIds: readonly string[]) {
  return z.strictObject({
    task: word('All of it: the sub-agent knows nothing of this conversation but "context".'),
    label: word('A short name.').optional(),
    agentId: among(agentIds).optional(),
    client: z.enum(CLIENT_NAMES).optional(),
    model: word('As the client names it.').optional(),
    thinking: among(THINKING_LEVELS).optional(),
    runTimeoutSeconds: amount('0: no limit.').optional(),
    cleanup: z.enum(['delete', 'keep']).describe('delete: archive once the result is delivered.').optional(),
    worktree: z.enum(WORKTREE_MODES).describe('To work in a git worktree of its own.').optional(),
    idempotencyKey: word('The same key again is the same run.').optional(),
    context: CONTEXT_PARAMETER.optional(),
  });
}

const AGENT_PARAMETERS = {
  context: mode.describe('What of this conversation it is handed.').optional(),
  client: z.enum(CLIENT_NAMES).optional(),
  model: word('As the client names it.').optional(),
  timeoutSeconds: amount(`How long to wait; default ${AGENT_WAIT_SECONDS_DEFAULT}.`)
    .max(WAIT_SECONDS_MAX)
    .optional(),
};

export const EXPLORE_PARAMETERS = z.strictObject({
  query: word('What to find out; all that is needed to understand it.'),
  ...AGENT_PARAMETERS,
});

export const PLAN_PARAMETERS = z.strictObject({
  task: word('What is to be planned.'),
  explore: count(EXPLORERS_MAX, 'So many agents first explore at once. Default 0.', 0).optional(),
  ...AGENT_PARAMETERS,
});

export const ORCHESTRATE_PARAMETERS = z.strictObject({
  task: word('All of it: the team knows nothing of this conversation.'),
});

export const WORKLOG_PARAMETERS = z.strictObject({
  number: count(1_000_000, 'Of the orchestration; otherwise the newest.').optional(),
  timeoutSeconds: amount('Wait so long for its end; default 0.').max(WAIT_SECONDS_MAX).optional(),
});

export const KNOWN_ERRORS_PARAMETERS = z.strictObject({
  error: word('The very text of a failing call, as printed.').optional(),
  command: word('With error: the command that failed.').optional(),
  query: word('Instead of error: words to search for.').optional(),
  limit: count(KNOWN_MAX, `Of query: how many. Default ${KNOWN_DEFAULT}.`).optional(),
});

export const LIST_PARAMETERS = z.strictObject({
  limit: count(LIST_MAX, `How many, newest first. Default ${LIST_DEFAULT}.`).optional(),
  activeMinutes: amount('Only those that changed within these minutes.').optional(),
  messageLimit: count(MESSAGES_IN_LIST_MAX, 'Also the last messages of each.', 0).optional(),
  includeArchived: flag('Also archived ones.').optional(),
});

export const HISTORY_PARAMETERS = z.strictObject({
  sessionKey: word(TARGET),
  limit: count(MESSAGES_MAX, `How many messages, the last ones. Default ${MESSAGES_DEFAULT}.`).optional(),
  includeTools: flag('Also calls and results of tools.').optional(),
});

export const SEND_PARAMETERS = z.strictObject({
  sessionKey: word(TARGET).optional(),
  label: word('Instead of sessionKey.').optional(),
  message: z.string(),
  timeoutSeconds: seconds.optional(),
});

export const SUBAGENTS_PARAMETERS = z.strictObject({
  action: z
    .enum(Object.keys(ACTIONS) as SubagentAction[])
    .describe('Default list.')
    .optional(),
  target: word(
    `${TARGET} stop: also "all" of this session, or "project"; wait: also "all" of the project, else this session.`,
  ).optional(),
  message: word('Of send.').optional(),
  limit: count(LIST_MAX, 'Of list: runs. Of log: messages.').optional(),
  includeTools: flag('Of log: also calls of tools.').optional(),
  timeoutSeconds: seconds.optional(),
});

export type SubagentsParameters = z.infer<typeof SUBAGENTS_PARAMETERS>;

export type Parameters<T> = z.ZodType<T> & { readonly shape: object };

/** The parameters of a call. Some models send nothing as "" or null. @throws RefusedCall that says what is wrong with them */
export function readParameters<T>(tool: string, schema: Parameters<T>, given: unknown): T {
  const said = Object.entries(asRecord(given)).filter(([, value]) => value !== null && value !== '');
  const parsed = schema.safeParse(Object.fromEntries(said), { reportInput: true });
  if (parsed.success) return parsed.data;
  const known = Object.keys(schema.shape);
  throw new RefusedCall(`${tool} ${parsed.error.issues.map((issue) => wrong(issue, known)).join('; ')}`);
}

function wrong(issue: z.core.$ZodIssue, known: readonly string[]): string {
  const name = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    return `does not know ${quoted(issue.keys)}; it takes ${known.length === 0 ? 'nothing' : known.join(', ')}`;
  }
  if (issue.code === 'invalid_type' && issue.input === undefined) return `needs "${name}"`;
  const value = inAscii(JSON.stringify(issue.input) ?? '');
  return `cannot use "${name}" ${value}: ${issue.message}`;
}

/** @throws RefusedCall when there are parameters that mean nothing for this action of `subagents` */
export function refuseOtherParameters(action: SubagentAction, given: SubagentsParameters): void {
  const fitting: readonly string[] = ACTIONS[action];
  const others = Object.keys(given).filter((name) => name !== 'action' && !fitting.includes(name));
  if (others.length > 0)
    throw new RefusedCall(
      `subagents ${action} does not know ${quoted(others)}; it takes ${fitting.join(', ')}`,
    );
}

function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(', ');
}
