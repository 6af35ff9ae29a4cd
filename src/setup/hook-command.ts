import { basename } from 'node:path';
import { isRecord, type Json } from '../core/guards.ts';
import { HOOKS, type HookName, type HookRegistration } from '../hooks/hook-names.ts';
import { realPath } from '../system/atomic-file.ts';
import type { Place } from './manifest.ts';

/** By what an entry of settings.json is known to be ours, or the predecessor's. */
export type Owner = {
  /** Absolute spellings of our binary's path. */
  readonly binaries: readonly string[];
  /** Where the predecessor kept its scripts, absolute. */
  readonly predecessorDirectories: readonly string[];
  /** What `$HOME` stands for in a command. */
  readonly userHome: string | undefined;
  readonly platform: string;
};

/** How the client is to start our binary. */
export type Invocation = {
  readonly binary: string;
  /** `exec`: command and args, run directly. `shell`: one quoted command line, for clients before 2.1.139. */
  readonly form: 'exec' | 'shell';
  readonly platform: string;
  /** The client can start a hook without waiting for it. */
  readonly knowsAsync?: boolean;
};

/** One of the product's own hooks, in today's form or as the predecessor registered it. */
export type RecognisedHook = { readonly kind: 'ours' | 'predecessor'; readonly name: HookName };
/** A hook that the user applied from a suggestion; the id is the suggestion's. */
export type RecognisedApplied = { readonly kind: 'applied'; readonly id: string };
export type Recognised = RecognisedHook | RecognisedApplied;

/** By what our entries are recognised: every spelling of the binary's path that a settings file may hold. */
export function ownerOf(place: Place, platform: string, binaryBefore: string | undefined): Owner {
  const { paths, userHome } = place;
  const inRealDirectory = `${realPath(paths.hooks)}/${basename(paths.binary)}`;
  const binaries = [paths.binary, realPath(paths.binary), inRealDirectory, binaryBefore ?? paths.binary];
  const scripts =
    userHome === undefined ? [paths.hooks] : [paths.hooks, `${userHome}/.self-generation/hooks`];
  return {
    binaries: [...new Set(binaries)],
    predecessorDirectories: [...new Set(scripts)],
    userHome,
    platform,
  };
}

/** What a suggestion's id looks like: nothing that means something in a path or to a shell. */
export const SUGGESTION_ID = /^s[0-9a-z]{9,11}$/;
/** The names of the scripts that earlier versions wrote for hooks that contain code. */
export const SCRIPT_FILE = /^s[0-9a-z]{9,11}\.mjs$/;

/**
 * Whose entry of a group's `hooks` this is, or undefined when it is somebody else's. Whole commands are compared, never
 * parts of them.
 */
export function recogniseEntry(entry: unknown, owner: Owner): Recognised | undefined {
  if (!isRecord(entry) || typeof entry.command !== 'string') return undefined;
  if (entry.type !== undefined && entry.type !== 'command') return undefined;
  const words = wordsOf(entry.command, entry.args, owner);
  const samePath = (left: string, right: string) => spelling(left, owner) === spelling(right, owner);
  const known = (name: string | undefined) => HOOKS.find((hook) => hook.name === name)?.name;
  const [program = '', first = '', second, third = ''] = words;
  if (first === 'hook' && owner.binaries.some((binary) => samePath(binary, program))) {
    const name = words.length === 3 ? known(second) : undefined;
    if (name !== undefined) return { kind: 'ours', name };
    const isApplied = second === 'applied' || second === 'script'; // As earlier versions called it.
    if (words.length === 4 && isApplied && SUGGESTION_ID.test(third)) return { kind: 'applied', id: third };
  }
  const [, directory, script] = /^(.*)[\\/]([a-z-]+)\.mjs$/.exec(words.slice(1).join(' ')) ?? [];
  const scriptName = program === 'node' && directory !== undefined ? known(script) : undefined;
  if (scriptName === undefined || directory === undefined) return undefined;
  return owner.predecessorDirectories.some((scripts) => samePath(scripts, directory))
    ? { kind: 'predecessor', name: scriptName }
    : undefined;
}

/** The program and its arguments; none when a shell would do more with the line than start one program. */
function wordsOf(command: string, args: unknown, owner: Owner): readonly string[] {
  if (Array.isArray(args)) return args.every((word) => typeof word === 'string') ? [command, ...args] : [];
  return (owner.platform === 'win32' ? windowsWords(command) : posixWords(command, owner.userHome)) ?? [];
}

function posixWords(command: string, home = '$HOME'): string[] | undefined {
  const part =
    /'([^']*)'|"((?:[^"\\$`]|\\.|\$HOME(?!\w)|\$\{HOME\})*)"|(\$HOME(?!\w)|\$\{HOME\})|\\(.)|([^\s'"\\$`;&|<>()*?[\]{}#!~]+)|([ \t]+)/y;
  const words = [''];
  for (let at = 0; at < command.length; at = part.lastIndex) {
    part.lastIndex = at;
    const found = part.exec(command);
    if (found === null) return undefined;
    const [, single, double, variable, escaped, plain, gap] = found;
    const expanded = double
      ?.replace(/\$HOME(?!\w)|\$\{HOME\}/g, () => home)
      .replace(/\\(["\\$`])/g, (_, character: string) => character);
    const piece = single ?? expanded ?? escaped ?? plain ?? (variable === undefined ? '' : home);
    if (gap === undefined) words.push(`${words.pop() ?? ''}${piece}`);
    else words.push('');
  }
  return words.filter((word) => word !== '');
}

function windowsWords(command: string): string[] | undefined {
  if (/[&|<>^%]/.test(command)) return undefined;
  return (command.match(/"[^"]*"|[^\s"]+/g) ?? []).map((word) => word.replaceAll('"', ''));
}

function spelling(path: string, owner: Owner): string {
  if (owner.platform !== 'win32') return path.replace(/\/{2,}/g, '/');
  return path.replace(/[\\/]+/g, '/').toLowerCase();
}

/** The entry as it has to stand in the file. */
export function wantedEntry(
  hook: Pick<HookRegistration, 'name' | 'timeoutSeconds' | 'isAsync' | 'wakes'>,
  invocation: Invocation,
): Json {
  const entry = entryOf(['hook', hook.name], hook.timeoutSeconds, invocation);
  if (!hook.isAsync || !invocation.knowsAsync) return entry;
  return { ...entry, async: true, ...(hook.wakes && { asyncRewake: true }) };
}

/** The entry by which the applied hook of this suggestion is asked. */
export function appliedEntry(id: string, timeoutSeconds: number, invocation: Invocation): Json {
  return entryOf(['hook', 'applied', id], timeoutSeconds, invocation);
}

/** `args`: words that no shell would take apart. */
function entryOf(args: readonly string[], timeout: number, { binary, form, platform }: Invocation): Json {
  if (form === 'exec') return { type: 'command', command: binary, args, timeout };
  // On Windows the line is read by a POSIX shell or by cmd.exe: both take forward slashes inside double quotes.
  const quoted =
    platform === 'win32' ? `"${binary.replaceAll('\\', '/')}"` : `'${binary.replaceAll("'", `'\\''`)}'`;
  return { type: 'command', command: [quoted, ...args].join(' '), timeout };
}
