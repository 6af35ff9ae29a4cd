import { basename, dirname, join } from 'node:path';
import { clientNamed } from '../../clients/clients.ts';
import { MCP_SERVER_NAME } from '../../clients/tools.ts';
import { asRecord, type Json, lookOr, readRecord, readTexts } from '../../core/guards.ts';
import { isAbsolutePath, VERSION } from '../../core/state-paths.ts';
import { type HookName, hookByName } from '../../hooks/hooks.ts';
import { lastSeenOf, ok, warning } from '../checks.ts';
import { Refused, readText } from '../file-plan.ts';
import { jsonOf, parseDocument } from '../json-file.ts';
import type { Place } from '../manifest.ts';
import { commandLine } from '../settings-file.ts';
import { type ClientSetup, userOf } from './client-setup.ts';

/** The extension of Gemini CLI: a directory with files that are ours as a whole. */

const EXTENSION = 'self-generation';
const TITLE = 'gemini-extension.json';
const HOOKS_FILE = 'hooks.json';

/** Gemini's events and which hook of ours serves each; of calls only these tools'. */
const EVENTS: Readonly<Record<string, { readonly hook: HookName; readonly matcher?: string }>> = {
  SessionStart: { hook: 'session-analyzer' },
  BeforeAgent: { hook: 'prompt-logger' },
  BeforeTool: { hook: 'subagent-context', matcher: '^invoke_agent$' },
  AfterTool: { hook: 'error-logger', matcher: '^run_shell_command$' },
  AfterAgent: { hook: 'stop-tracker' },
  SessionEnd: { hook: 'session-summary' },
};

function extensionIn(place: Place): string {
  return join(clientNamed('gemini').server.place(userOf(place)).directory, 'extensions', EXTENSION);
}

function titleText({ paths, env }: Place): string {
  const moved = env.SELF_GENERATION_HOME;
  const isMoved = moved !== undefined && isAbsolutePath(moved);
  const server = {
    ...{ command: paths.binary, args: ['mcp', '--knowledge'] },
    ...(isMoved && { env: { SELF_GENERATION_HOME: moved } }),
  };
  return textOf({
    ...{ name: EXTENSION, version: VERSION },
    description: 'What went wrong in this project before, and what helped.',
    mcpServers: { [MCP_SERVER_NAME]: server },
  });
}

function hooksText({ paths, platform }: Place): string {
  const groups = Object.entries(EVENTS).map(([event, { hook, matcher }]) => {
    const line = commandLine(paths.binary, ['hook', hook, 'gemini'], platform);
    // There the shell is PowerShell, to which a quoted path alone is a text.
    const command = platform === 'win32' ? `& ${line}` : line;
    const timeout = (hookByName(hook)?.timeoutSeconds ?? 0) * 1000;
    const entry = { type: 'command', name: EXTENSION, command, timeout };
    return [event, [{ ...(matcher && { matcher }), hooks: [entry] }]] as const;
  });
  return textOf({ hooks: Object.fromEntries(groups) });
}

function textOf(value: Json): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function valuesIn(path: string): Json {
  return asRecord(lookOr(() => jsonOf(parseDocument(readText(path) ?? '').root), undefined));
}

/** For all that its user does: `gemini extensions disable` writes `!<home>/*`, and the last that fits counts. */
function isSwitchedOff(place: Place): boolean {
  const { directory } = clientNamed('gemini').server.place(userOf(place));
  const enablement = valuesIn(join(directory, 'extensions', 'extension-enablement.json'));
  const ofHome = [`${dirname(directory)}/*`, `${dirname(directory)}/`];
  const { overrides } = readRecord(enablement, EXTENSION);
  const rule = readTexts(overrides).findLast((one) => ofHome.includes(one.replace(/^!/, '')));
  return rule?.startsWith('!') === true;
}

export const gemini: ClientSetup = {
  paths: (place) => [join(extensionIn(place), TITLE), join(extensionIn(place), 'hooks', HOOKS_FILE)],
  partAt: (path, place) => {
    const wanted = basename(path) === HOOKS_FILE ? hooksText(place) : titleText(place);
    return {
      ...{ path, what: 'extension', isWhole: true },
      set: (text, isKnown) => {
        if (text === undefined || text === wanted || isKnown(text)) return wanted;
        throw new Refused(
          'an extension of somebody else has that name, or you have changed it; move it away and run again',
        );
      },
      remove: (text) => (text === wanted ? '' : text),
      holdsOurs: (text) => text === wanted,
    };
  },
  check: ({ paths, install }, place, records) => {
    const remedy = `Run: ${install} --gemini`;
    const differing = records.filter(
      ({ path }) => readText(path) !== gemini.partAt(path, place).set(undefined, () => false),
    );
    if (differing.length > 0)
      return differing.map(({ path }) => warning(`${path} is not as this version would write it`, remedy));
    if (isSwitchedOff(place))
      return [
        warning(
          'you have switched the extension off: none of its hooks runs',
          `Run: gemini extensions enable ${EXTENSION}`,
        ),
      ];
    const { path } = clientNamed('gemini').server.place(userOf(place));
    if (readRecord(valuesIn(path), 'hooksConfig').enabled === false)
      return [warning(`hooksConfig.enabled is false in ${path}: none of its hooks runs`, 'Remove that line')];
    const seen = lastSeenOf('gemini', paths);
    const ran = seen === null ? 'none of its hooks has run yet' : `a hook of it ran last at ${seen}`;
    return [ok(`has the extension in ${extensionIn(place)}; ${ran}`)];
  },
};
