import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ClientVersion,
  clientFeatures,
  findClientVersion,
  unknownEvents,
} from '../clients/claude/version.ts';
import { isRecord, type Json, parseJson, readRecord, readString } from '../core/guards.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { HOOKS, type HookMode, type HookName, type HookRegistration } from '../hooks/hook-names.ts';
import { loadRunSettings } from '../settings/load-run-settings.ts';
import type { CommandResult } from '../system/run-command.ts';
import { type Check, type CheckWorld, failed, ok, warning } from './checks.ts';
import { readText } from './file-plan.ts';
import { type AppliedFile, listAppliedFiles } from './inspect-store.ts';
import { hookModeIn, knownManifest, locate, type McpRecord, type Place } from './manifest.ts';
import { CLIENT_TITLES, type McpOwner, mcpFile } from './mcp-clients.ts';
import { titlesOf } from './mcp-registration.ts';
import {
  type FoundEntry,
  inspectHooks,
  isApplied,
  ownerOf,
  registerHooks,
  registrationFor,
  unregisterHooks,
} from './settings-file.ts';
import { COMMANDS, commandText, isCommand } from './slash-command.ts';

const NAME = 'applied hooks';

/** Whether the client asks each hook that the user applied from a suggestion; nothing when there is none. */
export function checkApplied(paths: StatePaths, env: Environment, platform: string): Check[] {
  const hooks = hooksIn(paths);
  if (hooks.length === 0) return [];
  const checks = hooks.flatMap((hook) => {
    const objection = objectionTo(hook, env, platform);
    if (objection === undefined) return [];
    const again = hook.sha256 === undefined ? `, and to have it back: self-generation apply ${hook.id}` : '';
    return [
      warning(NAME, `${hook.id} does nothing: ${objection}`, `Run: self-generation undo ${hook.id}${again}`),
    ];
  });
  return checks.length > 0 ? checks : [ok(NAME, `${counted(hooks.length, 'hook')} as applied`)];
}

function hooksIn(paths: StatePaths): AppliedFile[] {
  try {
    return listAppliedFiles(paths).filter(({ type }) => type === 'hook');
  } catch {
    return []; // The database has a check of its own.
  }
}

function objectionTo(hook: AppliedFile, env: Environment, platform: string): string | undefined {
  if (hook.sha256 !== undefined) return `${hook.path} is code that a model wrote, which is run no more`;
  const place = locate(env, platform);
  if (place.kind === 'failed') return undefined; // The check of the registration says so.
  const owner = ownerOf(place, platform, knownManifest(place.paths.manifest)?.binary);
  const text = readText(hook.path);
  const found =
    text === undefined ? undefined : unregisterHooks(text, (entry) => isApplied(entry, hook.id, owner));
  const isRegistered = found?.kind === 'edited' || found?.kind === 'emptied';
  return isRegistered || found?.kind === 'refused' ? undefined : `it is not registered in ${hook.path}`;
}

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

const MCP_NAME = 'MCP server';
const ANSWER_WITHIN_MS = 10_000;
/** What a client says first. */
const HELLO = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'self-generation-doctor', version: '1' },
  },
})}\n`;

/** Whether each client that the server was registered with still has it, and whether it answers; nothing without one. */
export async function checkMcp(world: CheckWorld): Promise<Check[]> {
  const { paths, env, platform } = world;
  const records = knownManifest(paths.manifest)?.mcp ?? [];
  const place = locate(env, platform);
  if (records.length === 0 || place.kind === 'failed') return []; // The check of the hooks says why there is no place.
  const owner = { place, env, platform, binaryBefore: undefined };
  const checks = records.flatMap((record) => checkRecord(record, owner, world.install));
  const answer = await checkAnswer(world);
  if (answer !== undefined) return [...checks, answer];
  if (checks.length > 0) return checks;
  const clients = records.flatMap(({ client }) => (isCommand(client) ? [] : [client]));
  return [ok(MCP_NAME, `answers, and is registered with ${titlesOf(clients)}`)];
}

function checkRecord({ client, path }: McpRecord, owner: McpOwner, install: string): Check[] {
  const text = readText(path);
  if (isCommand(client)) {
    const detail = text === undefined ? `${path} is gone` : `${path} is not as this version would write it`;
    return text === commandText(COMMANDS[client])
      ? []
      : [warning(MCP_NAME, detail, `Run: ${install} --mcp claude`)];
  }
  const remedy = `Run: ${install} --mcp ${client}`;
  const title = CLIENT_TITLES[client];
  const file = mcpFile(client, owner, path);
  const entry = text === undefined ? undefined : file.read(text);
  if (entry === undefined)
    return [warning(MCP_NAME, `${title} does not have it: it is not in ${path}`, remedy)];
  if (!file.isOurs(entry)) {
    const detail = `in ${path}, "self-generation" is a server of another program`;
    return [warning(MCP_NAME, detail, `Rename or remove it there, then run: ${install} --mcp ${client}`)];
  }
  const heldBack = isRecord(entry) ? file.heldBack(entry) : [];
  if (heldBack.length > 0) {
    const detail = `${title} does not hand ${heldBack.join(', ')} on to it, from which a provider takes its key`;
    return [warning(MCP_NAME, detail, remedy)];
  }
  if (text !== undefined && file.set(text, () => false).kind === 'edited') {
    return [warning(MCP_NAME, `${path} is not as this version would write it`, remedy)];
  }
  return [];
}

/** What is wrong with the server itself; undefined when it answers and ends with its input. */
async function checkAnswer({ paths, env, run, install }: CheckWorld): Promise<Check | undefined> {
  const end = await run(paths.binary, ['mcp'], {
    cwd: paths.home,
    env,
    stdin: HELLO,
    timeoutMs: ANSWER_WITHIN_MS,
  });
  if (end.kind === 'exited' && end.code === 0 && end.stdout.includes('"serverInfo"')) return undefined;
  const reason = end.kind === 'exited' ? `it ended with ${end.code}` : 'it could not be run to its end';
  return failed(MCP_NAME, `${paths.binary} mcp does not answer: ${reason}`, `Run: ${install} --mcp`);
}

/** Which client there is, and whether each event that it knows runs our hook, once. */
export async function checkRegistration(world: CheckWorld): Promise<Check[]> {
  const place = locate(world.env, world.platform);
  if (place.kind === 'failed') {
    return [
      failed('registration', `where the client's settings are is unknown: ${place.reason}`, place.advice),
    ];
  }
  const client = await findClientVersion(world);
  const mode = hookModeIn(knownManifest(place.paths.manifest));
  return [describeClient(client, mode, world.install), ...checkSettings(place, { client, mode }, world)];
}

function describeClient(client: ClientVersion, mode: HookMode, install: string): Check {
  if (client.kind === 'unknown') {
    const detail = `the version of Claude Code is unknown: ${client.reason}`;
    const remedy = `Make "claude --version" work in this shell, or name the version: ${install} --client-version X.Y.Z`;
    return warning('client', detail, remedy);
  }
  const missing = unknownEvents(client.version, mode);
  const detail = `Claude Code ${client.version} at ${client.path}`;
  if (missing.length === 0) return ok('client', detail);
  return warning(
    'client',
    `${detail} does not know ${missing.join(', ')}`,
    `Update Claude Code, then run: ${install}`,
  );
}

type Wanted = { readonly client: ClientVersion; readonly mode: HookMode };

/** What a mode means, for a person. */
const MODE_WORDS = {
  session: 'the rest is read from the transcript',
  'per-call': 'each call is handed to a hook (install --hooks=per-call)',
} as const satisfies Record<HookMode, string>;

function checkSettings(place: Place, { client, mode }: Wanted, { platform, install }: CheckWorld): Check[] {
  const { settings } = place;
  const remedy = `Run: ${install}`;
  const text = readText(settings);
  if (text === undefined) return [failed('registration', `there is no ${settings}`, remedy)];
  const version = client.kind === 'known' ? client.version : undefined;
  const features = clientFeatures(version);
  const wakes = loadRunSettings(place.paths).announce.wake === 'on';
  const registration = registrationFor({ place, platform, features, mode, wakes, binaryBefore: undefined });
  const found = inspectHooks(text, registration);
  if (found.kind === 'refused') {
    return [
      failed('registration', `${settings}, ${found.reason}`, 'Until then the client ignores the whole file'),
    ];
  }
  const off = `disableAllHooks is true in ${settings}: no hook runs`;
  const checks = found.isDisabled ? [failed('registration', off, 'Remove that line')] : [];
  checks.push(
    ...judgeEntries(found.entries, { wanted: registration.hooks, known: features.events, version, remedy }),
  );
  if (checks.length > 0) return checks;
  if (version !== undefined && registerHooks(text, registration).kind === 'edited') {
    return [warning('registration', `${settings} is not as this version would write it`, remedy)];
  }
  return [ok('registration', `${found.entries.length} hooks in ${settings}; ${MODE_WORDS[mode]}`)];
}

type Expectation = {
  readonly wanted: readonly HookRegistration[];
  readonly known: readonly string[];
  readonly version: string | undefined;
  readonly remedy: string;
};

function judgeEntries(
  entries: readonly FoundEntry[],
  { wanted, known, version, remedy }: Expectation,
): Check[] {
  const of = (kind: FoundEntry['kind']) => entries.filter((entry) => entry.kind === kind);
  const eventsOf = (some: readonly FoundEntry[]) => [...new Set(some.map(({ event }) => event))];
  const ours = of('ours');
  const isSame = (one: FoundEntry, other: Pick<FoundEntry, 'name' | 'event'>) =>
    one.event === other.event && one.name === other.name;
  const missing = wanted
    .filter((hook) => !ours.some((entry) => isSame(entry, hook)))
    .map(({ event }) => event);
  const twice = eventsOf(
    ours.filter((entry, index) => ours.findIndex((one) => isSame(one, entry)) !== index),
  );
  const earlier = eventsOf(of('predecessor'));
  const unknown =
    version === undefined ? [] : eventsOf(ours).filter((event) => !known.some((one) => one === event));
  const checks: Check[] = [];
  if (missing.length > 0)
    checks.push(failed('registration', `not registered: ${missing.join(', ')}`, remedy));
  if (twice.length > 0) checks.push(warning('registration', `registered twice: ${twice.join(', ')}`, remedy));
  if (earlier.length > 0) {
    const detail = `hooks of an earlier self-generation are registered: ${earlier.join(', ')}`;
    checks.push(warning('registration', detail, remedy));
  }
  if (unknown.length > 0) {
    const detail = `Claude Code ${version} does not know ${unknown.join(', ')} and may ignore the whole settings file for it`;
    checks.push(failed('registration', detail, remedy));
  }
  return checks;
}
