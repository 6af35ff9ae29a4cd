import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ClientVersion,
  COMMANDS,
  clientFeatures,
  commandText,
  findClientVersion,
  isCommand,
  unknownEvents,
} from '../clients/claude/setup.ts';
import { clientNamed } from '../clients/clients.ts';
import { MCP_SERVER_NAME } from '../clients/tools.ts';
import { asRecord, isRecord, type Json, lookOr, parseJson, readRecord, readString } from '../core/guards.ts';
import { counted } from '../core/text.ts';
import { HOOKS, type HookMode, type HookName } from '../hooks/hooks.ts';
import { loadRunSettings } from '../settings/run-settings.ts';
import { hasSameBytes } from '../system/atomic-file.ts';
import type { CommandResult } from '../system/run-command.ts';
import { type CheckWorld, type Finding, failed, ok, skipped, warning } from './checks.ts';
import { orRefused, readText } from './file-plan.ts';
import { type AppliedFile, listAppliedFiles } from './inspect-store.ts';
import { hookModeIn, knownManifest, locate, type McpRecord, type Place } from './manifest.ts';
import { mcpFile, titlesOf } from './mcp-registration.ts';
import {
  enabledPlugin,
  type FoundEntry,
  hasHook,
  inspectHooks,
  isApplied,
  ownerOf,
  type Registration,
  registerHooks,
  registrationFor,
} from './settings-file.ts';

/** Doctor's checks of what install and apply have put on this machine. */

/** `binary`: the program that is checked, the installed one where there is one. */
export type ProgramWorld = CheckWorld & {
  readonly executablePath: string;
  readonly isCompiled: boolean;
  readonly binary: string;
};

/** Whether this program is the one that is installed. */
export function checkProgram({ paths, executablePath, isCompiled, install }: ProgramWorld): Finding {
  const remedy = `Run: ${install}`;
  if (!existsSync(paths.binary)) return failed(`not installed: there is no ${paths.binary}`, remedy);
  if (isCompiled && !hasSameBytes(executablePath, paths.binary))
    return warning(`${paths.binary} is another version than this program`, remedy);
  return ok(paths.binary);
}

/** Which client there is, and whether each event that it knows runs our hook, once. */
export async function checkRegistration(world: CheckWorld): Promise<Finding[]> {
  const place = locate(world.env, world.platform);
  if (place.kind === 'failed')
    return [failed(`it is not known where the client's settings are: ${place.reason}`, place.advice)];
  const manifest = knownManifest(place.paths.manifest);
  if (manifest?.settings.length === 0)
    return [skipped(`Claude Code was not set up; to have it: ${world.install} --claude`)];
  const client = await findClientVersion(world);
  const mode = hookModeIn(manifest);
  const version = client.kind === 'known' ? client.version : manifest?.clientVersion;
  const findings = checkSettings(place, version, mode, world);
  return [{ name: 'client', ...describeClient(client, mode, world.install) }, ...findings];
}

function describeClient(client: ClientVersion, mode: HookMode, install: string): Finding {
  if (client.kind === 'unknown') {
    const remedy = `Make "claude --version" work in this shell, or name the version: ${install} --client-version X.Y.Z`;
    return warning(`the version of Claude Code is unknown: ${client.reason}`, remedy);
  }
  const missing = unknownEvents(client.version, mode);
  const detail = `Claude Code ${client.version} at ${client.path}`;
  if (missing.length === 0) return ok(detail);
  return warning(`${detail} does not know ${missing.join(', ')}`, `Update Claude Code, then run: ${install}`);
}

/** What a mode means, in words for the user. */
const MODE_WORDS = {
  session: 'the rest is read from the transcript',
  'per-call': 'each call is handed to a hook (install --hooks=per-call)',
} as const satisfies Record<HookMode, string>;

function checkSettings(place: Place, version: string | undefined, mode: HookMode, { install }: CheckWorld) {
  const { settings } = place;
  const remedy = `Run: ${install}`;
  const text = readText(settings);
  if (text === undefined) return [failed(`there is no ${settings}`, remedy)];
  const features = clientFeatures(version);
  const wakes = loadRunSettings(place.paths).announce.wake === 'on';
  const registration = registrationFor(place, features, { mode, wakes, text });
  const { plugin } = registration;
  const found = orRefused(() => inspectHooks(text, registration));
  if ('reason' in found)
    return [failed(`${settings}, ${found.reason}`, 'Until then the client ignores the whole file')];
  const findings = entryProblems(found.entries, registration, remedy);
  if (plugin !== undefined && found.entries.some(({ kind }) => kind === 'ours')) {
    const detail = `the plugin ${plugin} is on and hooks stand in ${settings} as well: those run, the plugin's stand down`;
    findings.push(warning(detail, `To have the plugin's alone, run: ${install}`));
  }
  if (found.isDisabled)
    findings.unshift(failed(`disableAllHooks is true in ${settings}: no hook runs`, 'Remove that line'));
  const unknown = found.entries
    .filter(({ kind, event }) => kind === 'ours' && !features.events.some((one) => one === event))
    .map(({ event }) => event);
  if (version !== undefined && unknown.length > 0) {
    const events = [...new Set(unknown)].join(', ');
    const detail = `Claude Code ${version} does not know ${events} and may ignore the whole settings file for it`;
    findings.push(failed(detail, remedy));
  }
  if (findings.length > 0) return findings;
  if (version !== undefined && changes(text, () => registerHooks(text, registration)))
    return [warning(`${settings} is not as this version would write it`, remedy)];
  if (plugin !== undefined) return [ok(`the plugin ${plugin} runs the hooks; none stands in ${settings}`)];
  return [ok(`${found.entries.length} hooks in ${settings}; ${MODE_WORDS[mode]}`)];
}

/** Whether the edit is needed and can be made. */
function changes(text: string, edit: () => string): boolean {
  const after = orRefused(edit);
  return typeof after === 'string' && after !== text;
}

function entryProblems(entries: readonly FoundEntry[], { hooks }: Registration, remedy: string): Finding[] {
  const isSame = (one: Omit<FoundEntry, 'kind'>, other: Omit<FoundEntry, 'kind'>) =>
    one.event === other.event && one.name === other.name;
  const ours = entries.filter(({ kind }) => kind === 'ours');
  const missing = hooks.filter((hook) => !ours.some((entry) => isSame(entry, hook)));
  const twice = ours.filter((entry, index) => ours.findIndex((one) => isSame(one, entry)) !== index);
  const earlier = entries.filter(({ kind }) => kind === 'predecessor');
  const eventsOf = (some: readonly FoundEntry[]) => [...new Set(some.map(({ event }) => event))];
  const problems = [
    [failed, 'not registered', missing.map(({ event }) => event)],
    [warning, 'registered twice', eventsOf(twice)],
    [warning, 'hooks of an earlier self-generation are registered', eventsOf(earlier)],
  ] as const;
  return problems
    .filter(([, , events]) => events.length > 0)
    .map(([finding, words, events]) => finding(`${words}: ${events.join(', ')}`, remedy));
}

/** Whether the client asks each hook that the user applied from a suggestion; nothing when there is none. */
export function checkApplied(world: Pick<CheckWorld, 'paths' | 'env' | 'platform'>): Finding[] {
  // The database has a check of its own.
  const hooks = lookOr(() => listAppliedFiles(world.paths), []).filter(({ type }) => type === 'hook');
  const findings = hooks.flatMap((hook) => {
    const objection = objectionTo(hook, world);
    if (objection === undefined) return [];
    const again = hook.sha256 === undefined ? `, and to have it back: self-generation apply ${hook.id}` : '';
    return [warning(`${hook.id} does nothing: ${objection}`, `Run: self-generation undo ${hook.id}${again}`)];
  });
  if (hooks.length === 0 || findings.length > 0) return findings;
  return [ok(`${counted(hooks.length, 'hook')} as applied`)];
}

function objectionTo(
  { id, path, sha256 }: AppliedFile,
  { env, platform }: Pick<CheckWorld, 'env' | 'platform'>,
): string | undefined {
  if (sha256 !== undefined) return `${path} is code that a model wrote, which is no longer run`;
  const place = locate(env, platform);
  if (place.kind === 'failed') return undefined; // The check of the registration says so.
  const owner = ownerOf({ ...place, binaryBefore: knownManifest(place.paths.manifest)?.binary });
  const text = readText(path) ?? '';
  const found = orRefused(() => hasHook(text, (entry) => isApplied(entry, id, owner)));
  return found === false ? `it is not registered in ${path}` : undefined;
}

const TIME_LIMIT_MS = 10_000;
const TEXT_SHOWN_LENGTH = 200;
const MARKER = 'self-check marker';

const BASH = { tool_name: 'Bash', tool_input: { command: 'make self-check' } };
const call = (tool_use_id: string) => ({ ...BASH, tool_use_id });
const AGENT = { agent_id: 'a1', agent_type: 'executor' };

/** One session, hook by hook: an error, its fix, and a sub-agent that has to be told of it. */
const SESSION: readonly (readonly [hook: HookName, input: Json])[] = [
  ['session-analyzer', { source: 'startup' }],
  ['prompt-logger', { prompt: 'self-check' }],
  ['error-logger', { ...call('t1'), error: `Error: unknown option --${MARKER}` }],
  ['batch-logger', { tool_calls: [] }],
  ['pre-tool-guide', call('t2')],
  ['tool-logger', call('t2')],
  ['subagent-context', AGENT],
  ['subagent-tracker', AGENT],
  ['stop-tracker', {}],
  ['result-waiter', {}],
  ['session-summary', { reason: 'other' }],
];

/** Runs each hook once, in a throw-away directory: can the client read the answer, is the sub-agent told of the error? */
export async function checkHooks(world: ProgramWorld): Promise<Finding> {
  const { binary, env, run, install, paths, isCompiled } = world;
  if (!isCompiled && !existsSync(paths.binary)) return skipped('this is not the compiled program');
  const home = mkdtempSync(join(tmpdir(), 'self-generation-check-'));
  const own = { SELF_GENERATION_HOME: join(home, 'state'), SELF_GENERATION_INTERNAL: undefined };
  const environment = { ...env, ...own, CLAUDE_PROJECT_DIR: home };
  try {
    for (const [name, input] of SESSION) {
      const hook_event_name = HOOKS.find((hook) => hook.name === name)?.event;
      const result = await run(binary, ['hook', name], {
        env: environment,
        cwd: home,
        timeoutMs: TIME_LIMIT_MS,
        stdin: JSON.stringify({ session_id: 'self-check', cwd: home, hook_event_name, ...input }),
      });
      const problem = problemOf(name, result);
      if (problem !== undefined) {
        const remedy = `Run: ${install}; if that does not help, see what this says: "${binary}" hook ${name} </dev/null`;
        return failed(`${name} ${problem}`, remedy);
      }
    }
    return ok(`each of the program's ${HOOKS.length} ran; a sub-agent is told of a recorded error`);
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
  const output = readRecord(asRecord(answer), 'hookSpecificOutput');
  if (readString(output, 'additionalContext')?.includes(MARKER)) return undefined;
  return `did not tell of a recorded error: ${said}`;
}

/** The first message of a client. */
const CLIENT = { capabilities: {}, clientInfo: { name: 'self-generation-doctor', version: '1' } };
const PARAMS = { protocolVersion: '2025-06-18', ...CLIENT };
const HELLO = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: PARAMS })}\n`;

/** Whether each client that the server was registered with still has it, and whether it answers; nothing without one. */
export async function checkMcp(world: CheckWorld): Promise<Finding[]> {
  const { paths, env, platform } = world;
  const records = knownManifest(paths.manifest)?.mcp ?? [];
  const place = locate(env, platform);
  if (records.length === 0 || place.kind === 'failed') return []; // The check of the hooks says why there is no place.
  const findings = [
    ...records.map((record) => checkRecord(record, place, world.install)),
    await checkAnswer(world),
  ].filter((finding) => finding !== undefined);
  if (findings.length > 0) return findings;
  const clients = records.flatMap(({ client }) => (isCommand(client) ? [] : [client]));
  return [ok(`answers, and is registered with ${titlesOf(clients)}`)];
}

function checkRecord({ client, path }: McpRecord, place: Place, install: string): Finding | undefined {
  const text = readText(path);
  const remedy = `Run: ${install} --mcp ${isCommand(client) ? 'claude' : client}`;
  const differs = warning(`${path} is not as this version would write it`, remedy);
  if (isCommand(client)) {
    if (text === undefined) return warning(`${path} is gone`, remedy);
    return text === commandText(COMMANDS[client]) ? undefined : differs;
  }
  const { title } = clientNamed(client);
  const file = mcpFile(client, place, path);
  const entry = text === undefined ? undefined : file.read(text);
  if (text === undefined || entry === undefined)
    return warning(`${title} does not have it: it is not in ${path}`, remedy);
  if (!file.isOurs(entry)) {
    const detail = `in ${path}, "self-generation" is a server of another program`;
    return warning(detail, `Rename or remove it there, then run: ${install} --mcp ${client}`);
  }
  const plugin = client === 'claude' ? enabledPlugin(readText(place.settings) ?? '') : undefined;
  if (plugin !== undefined) {
    const detail = `the plugin ${plugin} brings it to ${title} as well, so that its tools are there twice`;
    return warning(detail, `Run: claude mcp remove --scope user ${MCP_SERVER_NAME}`);
  }
  const heldBack = isRecord(entry) ? file.heldBack(entry) : [];
  if (heldBack.length > 0) {
    const detail = `${title} does not hand ${heldBack.join(', ')} on to it, from which a provider takes its key`;
    return warning(detail, remedy);
  }
  return changes(text, () => file.set(text, () => false)) ? differs : undefined;
}

/** What is wrong with the server itself; undefined when it answers and ends with its input. */
async function checkAnswer({ paths, env, run, install }: CheckWorld): Promise<Finding | undefined> {
  const options = { cwd: paths.home, env, stdin: HELLO, timeoutMs: TIME_LIMIT_MS };
  const end = await run(paths.binary, ['mcp'], options);
  if (end.kind === 'exited' && end.code === 0 && end.stdout.includes('"serverInfo"')) return undefined;
  const reason = end.kind === 'exited' ? `it ended with ${end.code}` : 'it could not be run to its end';
  return failed(`${paths.binary} mcp does not answer: ${reason}`, `Run: ${install} --mcp`);
}
