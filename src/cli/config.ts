import { existsSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { CONFIG_FIELDS, type ConfigProblem, parseConfig, readPath, writePath } from '../core/config.ts';
import { isRecord, type Json, parseJson } from '../core/guards.ts';
import { type StatePaths, statePaths } from '../core/state-paths.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../sys/atomic-file.ts';
import { type CliContext, EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, newCommand } from './context.ts';
import { newTable } from './table.ts';

type Flags = { readonly json?: true };

const EXAMPLES = `
Examples:
  $ self-generation config                                             all settings
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
    .addHelpText('after', EXAMPLES)
    .action((flags: Flags) => withFile(context, (file) => list(file, flags, context)));
  command.addCommand(
    newCommand('get', context)
      .description('print one setting')
      .argument('<key>')
      .action((key: string) => withFile(context, (file) => get(file, key, context))),
  );
  command.addCommand(
    newCommand('set', context)
      .description('change one setting')
      .argument('<key>')
      .argument('<value>', 'JSON, or plain text')
      .action((key: string, value: string) => withFile(context, (file) => set(file, key, value, context))),
  );
  command.addCommand(
    newCommand('unset', context)
      .description('go back to the default')
      .argument('<key>')
      .action((key: string) => withFile(context, (file) => unset(file, key, context))),
  );
  return command;
}

type ConfigFile = {
  readonly paths: StatePaths;
  readonly values: Json;
  readonly problems: readonly ConfigProblem[];
};

function withFile(context: CliContext, act: (file: ConfigFile) => void): void {
  const paths = statePaths(context.env, context.platform);
  if (paths === undefined) {
    fail(
      context,
      EXIT_FAILED,
      'read the settings: HOME is not set to an absolute path. Set it and run again',
    );
    return;
  }
  const text = existsSync(paths.config) ? readFileSync(paths.config, 'utf8') : '{}';
  const values = parseJson(text);
  if (!isRecord(values)) {
    fail(
      context,
      EXIT_FAILED,
      `read the settings: "${paths.config}" is not a JSON object. Correct or remove the file; it was not changed`,
    );
    return;
  }
  act({ paths, values, problems: parseConfig(values).problems });
}

function list({ values, problems }: ConfigFile, { json }: Flags, context: CliContext): void {
  const { config } = parseConfig(values);
  if (json) {
    context.stdout(`${JSON.stringify({ config, problems }, null, 2)}\n`);
    return;
  }
  const table = newTable(['setting', 'value', 'default', 'meaning'], context);
  for (const field of CONFIG_FIELDS) {
    const value = JSON.stringify(readPath(config as unknown as Json, field.key));
    table.push([field.key, value, JSON.stringify(field.default), field.description]);
  }
  context.stdout(`${table.toString()}\n`);
  for (const { key, message } of problems) context.stderr(`warning: ${key}: ${message}\n`);
}

function get({ values }: ConfigFile, key: string, context: CliContext): void {
  if (!isKnown(key, context)) return;
  context.stdout(`${JSON.stringify(readPath(parseConfig(values).config as unknown as Json, key))}\n`);
}

function set({ paths, values }: ConfigFile, key: string, text: string, context: CliContext): void {
  if (!isKnown(key, context)) return;
  const field = CONFIG_FIELDS.find((one) => one.key === key);
  const value = parseJson(text) ?? text;
  if (!field?.accepts(value)) {
    fail(context, EXIT_USAGE, `set ${key} to ${text}: expected ${field?.expected}`);
    return;
  }
  writePath(values, key, value);
  save(paths, values);
  context.stdout(`${key} = ${JSON.stringify(value)}\n`);
}

function unset({ paths, values }: ConfigFile, key: string, context: CliContext): void {
  if (!isKnown(key, context)) return;
  const at = key.lastIndexOf('.');
  const holder = at < 0 ? values : readPath(values, key.slice(0, at));
  if (isRecord(holder)) delete holder[key.slice(at + 1)];
  save(paths, values);
  context.stdout(`${key} has its default again\n`);
}

function isKnown(key: string, context: CliContext): boolean {
  if (CONFIG_FIELDS.some((field) => field.key === key)) return true;
  const known = CONFIG_FIELDS.map((field) => field.key).join(', ');
  fail(context, EXIT_NOT_FOUND, `find the setting "${key}". Settings are: ${known}`);
  return false;
}

function save(paths: StatePaths, values: Json): void {
  ensurePrivateDirectory(paths.home);
  writeFileAtomic(paths.config, `${JSON.stringify(values, null, 2)}\n`, { mode: 0o600 });
}

function fail(context: CliContext, exitCode: number, message: string): void {
  context.stderr(`error: Cannot ${message}.\n`);
  context.setExitCode(exitCode);
}
