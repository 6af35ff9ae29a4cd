import type { Command } from 'commander';
import { isRecord, type Json, parseJson } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import {
  CONFIG_FIELDS,
  type ConfigField,
  isAccepted,
  parseConfig,
  readPath,
  writePath,
} from '../settings/all-settings.ts';
import { parseSettings } from '../settings/hook-settings.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../system/atomic-file.ts';
import { readPlainFile } from '../system/files.ts';
import {
  type CliContext,
  commandGroup,
  EXIT,
  fail,
  keepFromAgent,
  PROGRAM,
  subcommand,
  withState,
} from './context.ts';
import { newTable, printJson, shownLine } from './output.ts';
import { nearest } from './terminal/nearest.ts';

type Flags = { readonly json?: true };
/** The settings as a command found them. `isJson`: the file is plain JSON, so writing it anew loses nothing. */
type ConfigFile = {
  readonly paths: StatePaths;
  readonly values: Json;
  readonly isJson: boolean;
  readonly flags: Flags;
  readonly context: CliContext;
};

const EXAMPLES = `
Examples:
  $ self-generation config                                             all settings, as "config list" does
  $ self-generation config get language
  $ self-generation config set language en
  $ self-generation config set subagentContext.agents '["general-purpose", "reviewer"]'
  $ self-generation config unset language                              back to the default

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no such setting.`;

/** `config`: shows and changes the settings; keys that we do not know stay in the file. */
export function configCommand(context: CliContext): Command {
  const described = { description: 'show and change the settings', after: EXAMPLES };
  const listAll = (flags: Flags) => withFile(flags, list, context);
  const group = commandGroup('config', described, context, listAll);
  const add = (name: string, description: string, call: string, act: Act) => {
    const perform = (flags: Flags, ...words: string[]) =>
      withFile(flags, (file) => act(file, ...words), context);
    const codes = name === 'list' ? [0, 1, 2] : [0, 1, 2, 3];
    return subcommand(`config ${name}`, { description, calls: [call], codes }, context, perform);
  };
  group.addCommand(add('list', 'print all settings', '', list));
  group.addCommand(add('get', 'print one setting', 'language', ofField(get)).argument('<key>'));
  const setting = add('set', 'change one setting', 'language en', ofField(set)).argument('<key>');
  group.addCommand(setting.argument('<value>', 'JSON, or plain text'));
  group.addCommand(add('unset', 'go back to the default', 'language', ofField(unset)).argument('<key>'));
  return group;
}

type Act = (file: ConfigFile, ...words: string[]) => void;

/** Finds the setting first. */
function ofField(act: (file: ConfigFile, field: ConfigField, text: string) => void): Act {
  return (file, key = '', text = '') => {
    const field = CONFIG_FIELDS.find((one) => one.key === key);
    if (field !== undefined) return act(file, field, text);
    const meant = nearest(
      key,
      CONFIG_FIELDS.flatMap((one) => [one.key, one.key.split('.').at(-1) ?? '']),
    );
    const named = CONFIG_FIELDS.find((one) => one.key === meant || one.key.endsWith(`.${meant}`));
    const question = named === undefined ? '' : `Did you mean ${named.key}? `;
    const what = `find the setting "${shownLine(key)}": there is none of this name`;
    return fail(file.context, EXIT.notFound, what, `${question}"${PROGRAM} config list" shows all`);
  };
}

function withFile(flags: Flags, act: (file: ConfigFile) => void, context: CliContext): Promise<void> {
  return withState(context, 'read the settings', ({ paths }) => {
    const text = readText(paths.config) ?? '{}';
    const values = parseSettings(text);
    if (isRecord(values)) return act({ paths, values, isJson: isRecord(parseJson(text)), flags, context });
    const reason = `"${paths.config}" is no object of JSON or JSON5. Correct or remove the file; it was not changed`;
    return fail(context, EXIT.failed, `read the settings: ${reason}`);
  });
}

/** The file's text, or undefined when there is none. @throws Error naming the file when it cannot be read. */
function readText(path: string): string | undefined {
  try {
    return readPlainFile(path).toString();
  } catch (cause) {
    const error = cause as NodeJS.ErrnoException;
    if (error.code === 'ENOENT') return undefined;
    throw new Error(`Cannot read the settings "${path}": ${error.message}`, { cause });
  }
}

function list({ values, flags, context }: ConfigFile): void {
  const { config, problems } = parseConfig(values);
  if (flags.json) printJson({ config, problems }, context);
  if (flags.json) return;
  const table = newTable(['setting', 'value', 'meaning'], context);
  for (const { key, default: standard, description } of CONFIG_FIELDS) {
    const [value, usual] = [JSON.stringify(readPath(config, key)), JSON.stringify(standard)];
    table.push([key, value === usual ? value : `${value} (default ${usual})`, description]);
  }
  context.stdout(`${table.toString()}\n`);
  for (const { key, message } of problems) context.stderr(`warning: ${key}: ${message}\n`);
}

function get({ values, flags, context }: ConfigFile, { key }: ConfigField): void {
  const value = readPath(parseConfig(values).config, key);
  if (flags.json) printJson({ key, value }, context);
  else context.stdout(`${typeof value === 'string' ? shownLine(value) : JSON.stringify(value)}\n`);
}

function set(file: ConfigFile, field: ConfigField, text: string): void {
  const { key, expected } = field;
  const { context, values } = file;
  const value = isAccepted(field, text) ? text : parseJson(text);
  if (!isAccepted(field, value)) {
    const isExplained = !Array.isArray(field.default) || expected.includes(', like ');
    const example = isExplained ? '' : `, for example '["reviewer", "fixer"]'`;
    fail(context, EXIT.usage, `set ${key} to ${text}: expected ${expected}${example}`);
  }
  keepFromAgent(`set ${key}`, `config set ${key} …`, context);
  checkWritable(file, `set ${key} to ${text}`);
  writePath(values, key, value);
  save(file);
  print(file, key);
}

function unset(file: ConfigFile, { key }: ConfigField): void {
  keepFromAgent(`unset ${key}`, `config unset ${key}`, file.context);
  const at = key.lastIndexOf('.');
  const holder = at < 0 ? file.values : readPath(file.values, key.slice(0, at));
  if (isRecord(holder) && Object.hasOwn(holder, key.slice(at + 1))) {
    checkWritable(file, `unset ${key}`);
    delete holder[key.slice(at + 1)];
    save(file);
  }
  print(file, key);
}

function checkWritable({ paths, isJson, context }: ConfigFile, action: string): void {
  const reason = `"${paths.config}" is JSON5, whose comments would be lost; change it there by hand`;
  if (!isJson) fail(context, EXIT.failed, `${action}: ${reason}`);
}

function print({ values, flags, context }: ConfigFile, key: string): void {
  const value = readPath(parseConfig(values).config, key);
  const note = readPath(values, key) === undefined ? ' (the default)' : '';
  if (flags.json) printJson({ key, value }, context);
  else context.stdout(`${key} = ${JSON.stringify(value)}${note}\n`);
}

function save({ paths, values }: ConfigFile): void {
  ensurePrivateDirectory(paths.home);
  writeFileAtomic(paths.config, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 });
}
