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
import { GEMINI_LOGIN, geminiRoute } from './routes/gemini-route.ts';

/**
 * Gemini CLI, measured with 0.61.0. No tool at all. The user's settings are read, because they say how to log in; those of
 * the working directory, which are ours, outweigh them. What remains: `GEMINI.md` in the user's own `~/.gemini`, the
 * session that the client saves there, and settings of an administrator.
 */
export const gemini: OneShotClient = {
  name: 'gemini',
  program: 'gemini',
  canSetBudget: false,
  route: geminiRoute,
  command,
  readAnswer,
};

const SETTINGS = {
  hooksConfig: { enabled: false },
  tools: { core: [], allowed: [], discoveryCommand: '', callCommand: '', sandbox: false },
  mcp: { allowed: [], serverCommand: '' },
  skills: { enabled: false },
  experimental: { enableAgents: false },
  useWriteTodos: false,
  context: { includeDirectoryTree: false, loadMemoryFromIncludeDirectories: false },
  model: {
    maxSessionTurns: 3, // A model that calls tools which are not there gets no further.
    disableLoopDetection: true, // It takes lists with many like lines for a loop, and drops all that was said.
  },
  general: {
    enableAutoUpdate: false,
    checkpointing: { enabled: false },
    // Its cleaning up is cut off by the end of a short run, which leaves a lock behind that the next one waits for.
    sessionRetention: { enabled: false },
    maxAttempts: 3,
  },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  ide: { enabled: false },
  advanced: { ignoreLocalEnv: true }, // The client would look for a `.env` in every directory above.
};

const INSTRUCTIONS_PATH = '.gemini/system.md';

const FILES: OneShotCommand['files'] = {
  '.gemini/settings.json': JSON.stringify(SETTINGS),
  [INSTRUCTIONS_PATH]: INSTRUCTIONS,
};

const ENV: OneShotCommand['env'] = {
  GEMINI_CLI_TRUST_WORKSPACE: 'true', // `--skip-trust` comes too late for the settings to count.
  GEMINI_CLI_NO_RELAUNCH: 'true', // A second process, and a first one that ignores signals.
  GEMINI_SYSTEM_MD: INSTRUCTIONS_PATH,
  NO_BROWSER: 'true',
  NO_COLOR: '1',
};

const FLAGS: readonly string[] = [
  ...['--output-format', 'json'],
  ...['--approval-mode', 'default'],
  ...['--extensions', 'none'],
  ...['--allowed-mcp-server-names', 'none'],
];

/**
 * The client replaces `@path` by the file, also in a prompt that it reads from its input. With an invisible character
 * between the two there is no such file; the model reads over it, and what it copies is taken out again.
 */
const JOINER = '\u2060';

function command({ prompt, model, route, directory }: OneShotRequest): OneShotCommand {
  const chosen = model === undefined ? [] : [`--model=${model}`];
  return {
    program: gemini.program,
    args: [...FLAGS, ...chosen],
    // A slash in the very first place would be a command of the user's own.
    stdin: `\n${prompt.replaceAll('@', `@${JOINER}`)}`,
    files: FILES,
    env: { ...commonEnv(directory), ...ENV, ...route.env },
    passedOn: [...PASSED_ON, GEMINI_LOGIN.variable, ...route.passedOn],
  };
}

function readAnswer(end: ClientEnd): OneShotAnswer {
  const output = parseJson(end.stdout);
  const result = isRecord(output) ? output : {};
  const usage = usageIn(readRecord(readRecord(result, 'stats'), 'models'));
  const text = readString(result, 'response');
  if (end.code !== 0 || text === undefined || result.error !== undefined) {
    const said = [messageIn(result), errorIn(end.stderr), complaintIn(end.stderr), withoutResult(end)];
    return failed(said, usage);
  }
  // The client stopped the model, before or in the middle of its answer, and calls that a success.
  if (hasWarnings(result)) return failed([...warningsIn(result), 'the client gives a warning'], usage);
  return answered(text.replaceAll(`@${JOINER}`, '@'), usage);
}

function messageIn(result: Json): string | undefined {
  return readString(readRecord(result, 'error'), 'message');
}

function hasWarnings({ warnings = [] }: Json): boolean {
  return !Array.isArray(warnings) || warnings.length > 0;
}

function warningsIn({ warnings }: Json): string[] {
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : [];
}

/** The message of the last JSON that tells of an error: on lines of its own, between notices of all kinds. */
function errorIn(output: string): string | undefined {
  const lines = output.split('\n');
  let start = lines.length;
  let message: string | undefined;
  for (const [index, line] of lines.entries()) {
    if (line === '{') start = index;
    if (line !== '}') continue;
    const block = parseJson(lines.slice(start, index + 1).join('\n'));
    if (isRecord(block)) message = messageIn(block) ?? message;
    start = lines.length; // What follows belongs to no block until one begins.
  }
  return message;
}

/** The sum over all models: a router may have been asked first. The model is the one that wrote most. */
function usageIn(models: Json): Usage {
  const counts = Object.keys(models).map((model) => {
    const tokens = readRecord(readRecord(models, model), 'tokens');
    const output = sum([readAmount(tokens, 'candidates'), readAmount(tokens, 'thoughts')]);
    return { model, input: readAmount(tokens, 'prompt'), output };
  });
  const [most] = counts.toSorted((left, right) => (right.output ?? 0) - (left.output ?? 0));
  return {
    ...NO_USAGE,
    inputTokens: sum(counts.map(({ input }) => input)),
    outputTokens: sum(counts.map(({ output }) => output)),
    model: most?.model ?? null,
  };
}
