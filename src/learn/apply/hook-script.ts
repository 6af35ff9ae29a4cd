import { createHash } from 'node:crypto';

import { devNull } from 'node:os';
import { isRecord, readString } from '../../core/guards.ts';
import { canonicalProjectPath, getProjectPath } from '../../core/project.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { SCRIPT_ID } from '../../setup/hook-command.ts';
import { isEnabled, loadConfig } from '../../store/config.ts';
import { logHookFailure } from '../../store/hook-log.ts';
import { findSuggestions } from '../../store/suggestions.ts';
import { readDatabase } from '../../store/use-database.ts';
import { readPlainFile } from '../../sys/plain-file.ts';
import type { RunCommand } from '../../sys/run-command.ts';
import { pathExists, readTextFile } from '../../sys/runtime-bun.ts';
import { readHookInput } from '../../sys/stdin.ts';
import { type AppliedOf, readApplied } from './applied.ts';
import { GUARD } from './script-guard.ts';
import { filterOutput } from './script-output.ts';

/** What the client is told; the script itself gets less. */
export const SCRIPT_TIMEOUT_SECONDS = 10;
const RUN_TIMEOUT_MS = 5000;
const INPUT_BYTES_MAX = 8 * 1024 * 1024;
const INPUT_TIMEOUT_MS = 500;

/** The file that is run. */
export function scriptText(id: string, code: string): string {
  const lines = code.replace(/^#!/, '//#!').trimEnd();
  return `/* self-generation:hook ${id} */ ${GUARD}\n${lines}\n`;
}

/** Where the script of a suggestion is. */
export function scriptPath(id: string, paths: StatePaths): string {
  return `${paths.scripts}/${id}.mjs`;
}

export type ScriptRun = {
  readonly id: string;
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly now: Date;
  readonly cwd: string;
  /** The program, which is a runtime for scripts as well. */
  readonly executablePath: string;
  readonly run: RunCommand;
};

/** What the client is to get of it. */
export type ScriptOutput = { readonly stdout: string; readonly stderr: string };

const NOTHING: ScriptOutput = { stdout: '', stderr: '' };

/**
 * Runs the script of an applied suggestion on the event on standard input, if it is byte for byte what the user agreed
 * to. Whatever goes wrong is noted in the log, and the client gets nothing. Of what the script prints it gets a context
 * and a message, nothing that decides. Never throws.
 */
export async function runHookScript(request: ScriptRun): Promise<ScriptOutput> {
  const { id, env, paths, now } = request;
  const note = (message: string) => logHookFailure(`script ${id.slice(0, 20)}`, message, paths, now);
  try {
    if (env.SELF_GENERATION_INTERNAL === '1' || !isEnabled(loadConfig(paths))) return NOTHING;
    const input = await readHookInput({ bytesMax: INPUT_BYTES_MAX, timeoutMs: INPUT_TIMEOUT_MS });
    if (input.kind !== 'json') throw new Error(`Cannot read the event: input is ${input.kind}`);
    const applied = findApplied(id, paths);
    if (!isForProject(applied, input.value, env)) return NOTHING;
    const { stdout, stderr } = await runScript(request, input.value);
    const filtered = filterOutput(stdout, applied.event);
    if (filtered.complaint !== undefined) note(filtered.complaint);
    return { stdout: filtered.stdout, stderr };
  } catch (error) {
    note(error instanceof Error ? error.message : String(error));
    return NOTHING;
  }
}

/** @throws Error when the user has not applied it, or the file is another one. */
function findApplied(id: string, paths: StatePaths): AppliedOf<'hook'> {
  if (!SCRIPT_ID.test(id)) throw new Error('Cannot run the script: this is no id of one');
  const found = readDatabase(paths, (db) => findSuggestions(id, db)) ?? [];
  const suggestion = found.find((one) => one.id === id);
  const applied = suggestion?.status === 'applied' ? readApplied(suggestion.applied) : undefined;
  if (applied?.kind !== 'hook') throw new Error('Cannot run the script: it is not applied');
  const bytes = readPlainFile(scriptPath(id, paths));
  if (createHash('sha256').update(bytes).digest('hex') !== applied.sha256)
    throw new Error('Cannot run the script: the file is not as it was when it was applied');
  return applied;
}

/** A hook that was proposed for one project has no business in another. */
function isForProject({ projectPath }: AppliedOf<'hook'>, event: unknown, env: Environment): boolean {
  if (projectPath === '') return true;
  const cwd = isRecord(event) ? readString(event, 'cwd') : undefined;
  const path = getProjectPath(cwd, env);
  return path !== null && canonicalProjectPath(path, { readTextFile, pathExists }) === projectPath;
}

/** Nothing of the directory that it is run in, or of the environment, may add code to it. */
const RUNTIME_FLAGS = [
  'run',
  `--config=${devNull}`,
  '--no-env-file',
  '--no-install',
  '--no-macros',
  '--no-addons',
  '--no-ffi-cc',
];

async function runScript(
  { id, env, paths, cwd, executablePath, run }: ScriptRun,
  event: unknown,
): Promise<ScriptOutput> {
  const inherited = Object.entries(env).filter(([name]) => !/^(?:BUN_|NODE_OPTIONS$|NODE_PATH$)/.test(name));
  const result = await run(executablePath, [...RUNTIME_FLAGS, scriptPath(id, paths)], {
    env: { ...Object.fromEntries(inherited), BUN_BE_BUN: '1' },
    timeoutMs: RUN_TIMEOUT_MS,
    cwd,
    stdin: `${JSON.stringify(event)}\n`,
  });
  if (result.kind === 'timed-out') throw new Error(`The script was ended after ${RUN_TIMEOUT_MS} ms`);
  if (result.kind === 'failed') throw new Error(`Cannot run the script: ${result.reason}`);
  if (result.code !== 0)
    throw new Error(
      `The script ended with ${result.code}: ${redactSecrets(result.stderr.slice(0, 4096)).slice(0, 300)}`,
    );
  return result;
}
