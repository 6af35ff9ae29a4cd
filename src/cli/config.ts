import type { Command } from 'commander';
import { isRecord, type Json, parseJson } from '../core/guards.ts';
import { type StatePaths, statePaths } from '../core/state-paths.ts';
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
import { type CliContext, EXIT, fail, isKeptFromAgent, NO_HOME, newCommand } from './context.ts';
import { newTable } from './output.ts';

type Flags = { readonly json?: true };
type Call = Flags & { readonly words: readonly string[] };
/** `isJson`: nothing in it is lost when it is written anew. */
type ConfigFile = { readonly paths: StatePaths; readonly values: Json; readonly isJson: boolean };
type Act = (file: ConfigFile, call: Call, context: CliContext) => void;

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
  const command = newCommand('config', context)
    .description('show and change the settings')
    .option('--json', 'print as JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => {
      const [word] = command.args;
      if (word !== undefined)
        command.error(`error: unknown command 'config ${word}': it is list, get, set or unset`);
      withFile(context, (file) => list(file, flags, context));
    });
  const add = (name: string, description: string, example: string, act: Act) => {
    const added = subcommand(name, description, example, context);
    command.addCommand(
      added.action(() =>
        withFile(context, (file) => act(file, { ...added.optsWithGlobals(), words: added.args }, context)),
      ),
    );
    return added;
  };
  add('list', 'print all settings', '', list);
  add('get', 'print one setting', 'language', get).argument('<key>');
  add('set', 'change one setting', 'language en', set)
    .argument('<key>')
    .argument('<value>', 'JSON, or plain text');
  add('unset', 'go back to the default', 'language', unset).argument('<key>');
  return command;
}

/** `--json` stands there for its help: `config` itself takes it, wherever it stands. */
function subcommand(name: string, description: string, example: string, context: CliContext): Command {
  return newCommand(`config ${name}`, context)
    .description(description)
    .option('--json', 'print as JSON')
    .addHelpText('after', `\nExamples:\n  $ self-generation config ${`${name} ${example}`.trim()}`);
}

function withFile(context: CliContext, act: (file: ConfigFile) => void): void {
  const paths = statePaths(context.env, context.platform);
  if (paths === undefined) {
    fail(context, EXIT.failed, `read the settings: ${NO_HOME}`);
    return;
  }
  const text = readText(paths.config) ?? '{}';
  const values = parseSettings(text);
  if (!isRecord(values)) {
    const advice = 'Correct or remove the file; it was not changed';
    fail(
      context,
      EXIT.failed,
      `read the settings: "${paths.config}" is no object of JSON or JSON5. ${advice}`,
    );
    return;
  }
  act({ paths, values, isJson: isRecord(parseJson(text)) });
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

function list({ values }: ConfigFile, { json }: Flags, context: CliContext): void {
  const { config, problems } = parseConfig(values);
  if (json) {
    context.stdout(`${JSON.stringify({ config, problems }, null, 2)}\n`);
    return;
  }
  const table = newTable(['setting', 'value', 'default', 'meaning'], context);
  for (const { key, default: standard, description } of CONFIG_FIELDS) {
    table.push([key, JSON.stringify(readPath(config, key)), JSON.stringify(standard), description]);
  }
  context.stdout(`${table.toString()}\n`);
  for (const { key, message } of problems) context.stderr(`warning: ${key}: ${message}\n`);
}

function get({ values }: ConfigFile, { json, words }: Call, context: CliContext): void {
  const key = fieldOf(words, context)?.key;
  if (key === undefined) return;
  const value = valueInForce(values, key);
  context.stdout(`${JSON.stringify(json ? { key, value } : value)}\n`);
}

function set(file: ConfigFile, call: Call, context: CliContext): void {
  const field = fieldOf(call.words, context);
  if (field === undefined) return;
  const { key, expected } = field;
  const text = call.words[1] ?? '';
  const value = isAccepted(field, text) ? text : parseJson(text);
  if (!isAccepted(field, value)) {
    const isExplained = !Array.isArray(field.default) || expected.includes(', like ');
    const example = isExplained ? '' : `, for example '["reviewer", "fixer"]'`;
    fail(context, EXIT.usage, `set ${key} to ${text}: expected ${expected}${example}`);
    return;
  }
  if (isKeptFromAgent(`set ${key}`, `config set ${key} …`, context)) return;
  if (!isWritable(file, `set ${key} to ${text}`, context)) return;
  writePath(file.values, key, value);
  save(file);
  print(file.values, key, call, context);
}

function unset(file: ConfigFile, call: Call, context: CliContext): void {
  const key = fieldOf(call.words, context)?.key;
  if (key === undefined || isKeptFromAgent(`unset ${key}`, `config unset ${key}`, context)) return;
  const at = key.lastIndexOf('.');
  const holder = at < 0 ? file.values : readPath(file.values, key.slice(0, at));
  if (isRecord(holder) && Object.hasOwn(holder, key.slice(at + 1))) {
    if (!isWritable(file, `unset ${key}`, context)) return;
    delete holder[key.slice(at + 1)];
    save(file);
  }
  print(file.values, key, call, context);
}

/** Whether the file may be written anew; says so when its comments would be lost. */
function isWritable({ paths, isJson }: ConfigFile, action: string, context: CliContext): boolean {
  const reason = `"${paths.config}" is JSON5, whose comments would be lost; change it there by hand`;
  if (!isJson) fail(context, EXIT.failed, `${action}: ${reason}`);
  return isJson;
}

/** A bad value in the file is its default. */
function valueInForce(values: Json, key: string): unknown {
  return readPath(parseConfig(values).config, key);
}

function print(values: Json, key: string, { json }: Flags, context: CliContext): void {
  const value = valueInForce(values, key);
  const note = readPath(values, key) === undefined ? ' (the default)' : '';
  if (json) context.stdout(`${JSON.stringify({ key, value })}\n`);
  else context.stdout(`${key} = ${JSON.stringify(value)}${note}\n`);
}

/** The setting that is named first; undefined, which is said, when there is none. */
function fieldOf([key = '']: readonly string[], context: CliContext): ConfigField | undefined {
  const field = CONFIG_FIELDS.find((one) => one.key === key);
  const known = CONFIG_FIELDS.map((one) => one.key).join(', ');
  if (field === undefined) fail(context, EXIT.notFound, `find the setting "${key}". Settings are: ${known}`);
  return field;
}

function save({ paths, values }: ConfigFile): void {
  ensurePrivateDirectory(paths.home);
  writeFileAtomic(paths.config, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 });
}
