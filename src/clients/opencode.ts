import { type Json, readRecord, readString } from '../core/guards.ts';
import {
  answered,
  complaintIn,
  failed,
  jsonLines,
  NO_USAGE,
  readAmount,
  sum,
  withoutResult,
} from './answer.ts';
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
import { OPENCODE_PLACES, opencodeRoute } from './routes/opencode-route.ts';

/**
 * OpenCode, measured with 1.18.33. No tool at all. The login is read (it is with the user's data), the configuration is
 * not: of its MCP servers none can be switched off without its name, and its tools and plugins are code. What it says of
 * providers is carried over. What remains: settings of an administrator, and those that a login brings with it.
 */
export const opencode: OneShotClient = {
  name: 'opencode',
  program: 'opencode',
  canSetBudget: false,
  route: opencodeRoute,
  command,
  readAnswer,
};

const AGENT = 'one-shot';

const CONFIGURATION = {
  agent: { [AGENT]: { mode: 'primary', prompt: INSTRUCTIONS, permission: { '*': 'deny' } } },
  permission: { '*': 'deny' },
  instructions: [],
  share: 'disabled',
  autoupdate: false,
  snapshot: false, // Where the home is a repository, all of it would be read.
};

const FLAGS: readonly string[] = [
  'run',
  ...['--format', 'json'],
  '--pure', // Without plugins.
  ...['--agent', AGENT],
  ...['--title', AGENT], // Otherwise the model is asked for one.
  '--print-logs',
  ...['--log-level', 'ERROR'],
];

const CONFIGURATION_DIRECTORY = 'opencode-home';
const PLUGIN_PACKAGE = { dependencies: { '@opencode-ai/plugin': '*' } };

/** The client installs a package into each configuration directory, unless it looks as if it were there already. */
const FILES: OneShotCommand['files'] = {
  [`${CONFIGURATION_DIRECTORY}/opencode/node_modules/.keep`]: '',
  [`${CONFIGURATION_DIRECTORY}/opencode/package.json`]: JSON.stringify(PLUGIN_PACKAGE),
  [`${CONFIGURATION_DIRECTORY}/opencode/package-lock.json`]: JSON.stringify({
    lockfileVersion: 3,
    packages: { '': PLUGIN_PACKAGE },
  }),
};

function command({ prompt, model, route, directory }: OneShotRequest): OneShotCommand {
  const chosen = model ?? route.model;
  return {
    program: opencode.program,
    args: [...FLAGS, ...(chosen === null ? [] : [`--model=${chosen}`])],
    stdin: prompt,
    files: FILES,
    env: {
      ...commonEnv(directory),
      ...route.env,
      XDG_CONFIG_HOME: `${directory}/${CONFIGURATION_DIRECTORY}`,
      OPENCODE_TEST_HOME: directory, // `~/.opencode` is a configuration directory too.
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...route.settings, ...CONFIGURATION }),
      OPENCODE_DB: ':memory:', // The session is not saved.
      OPENCODE_DISABLE_PROJECT_CONFIG: '1',
      OPENCODE_DISABLE_CLAUDE_CODE: '1',
      OPENCODE_DISABLE_EXTERNAL_SKILLS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_SHARE: '1',
    },
    passedOn: [...PASSED_ON, ...OPENCODE_PLACES, ...route.passedOn],
  };
}

function readAnswer(end: ClientEnd): OneShotAnswer {
  const events = jsonLines(end.stdout);
  const steps = events.filter(({ type }) => type === 'step_finish').map((event) => readRecord(event, 'part'));
  const last = steps.at(-1);
  const usage = usageOf(steps);
  const error = events.find(({ type }) => type === 'error');
  if (error !== undefined || last === undefined || end.code !== 0) {
    return failed([...problemsIn(error, end.stderr), complaintIn(end.stderr), withoutResult(end)], usage);
  }
  const stop = readString(last, 'reason') ?? 'unknown';
  if (stop !== 'stop') return failed(`the model stopped early: ${stop}`, usage);
  return answered(textOf(events, readString(last, 'messageID')), usage);
}

/** The last message, in the pieces in which it came. */
function textOf(events: readonly Json[], message: string | undefined): string {
  return events
    .map((event) => (event.type === 'text' ? readRecord(event, 'part') : {}))
    .filter((part) => readString(part, 'messageID') === message)
    .map((part) => readString(part, 'text') ?? '')
    .join('');
}

/** Where the event says no more than that the log knows, what the log says under the event's reference. */
function problemsIn(error: Json | undefined, log: string): (string | undefined)[] {
  if (error === undefined) return [];
  const data = readRecord(readRecord(error, 'error'), 'data');
  const message = readString(data, 'message') ?? readString(readRecord(error, 'error'), 'name');
  const reference = readString(data, 'ref');
  const line =
    reference === undefined ? undefined : log.split('\n').find((one) => one.includes(`ref=${reference} `));
  const [, logged] = / error="((?:[^"\\]|\\.){0,2000})"/.exec(line ?? '') ?? [];
  return [logged, message];
}

/** The sum over all steps; after a call of a tool, which is refused, the model is asked again. */
function usageOf(steps: readonly Json[]): Usage {
  const tokens = steps.map((step) => readRecord(step, 'tokens'));
  const caches = tokens.map((counts) => readRecord(counts, 'cache'));
  const amounts = (records: readonly Json[], ...keys: readonly string[]) =>
    records.flatMap((record) => keys.map((key) => readAmount(record, key)));
  return {
    ...NO_USAGE,
    inputTokens: sum([...amounts(tokens, 'input'), ...amounts(caches, 'read', 'write')]),
    outputTokens: sum(amounts(tokens, 'output', 'reasoning')),
    costUsd: sum(amounts(steps, 'cost')),
  };
}
