import { posix } from 'node:path';
import { isRecord, type Json, readString } from '../core/guards.ts';
import { inertLines } from '../core/inert-text.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { openForReading } from '../database/connection.ts';
import type { Project } from '../hooks/decision.ts';
import type { HookEvent } from '../hooks/event.ts';
import { parseHookEvent } from '../hooks/hooks.ts';
import { projectAt } from '../hooks/invocation.ts';
import { filePath, withinProject } from '../hooks/tool-call.ts';
import { withoutPrefix } from '../lessons/command.ts';
import { parseShell, unquoted } from '../lessons/shell.ts';
import { isEnabled, loadConfig } from '../settings/hook-settings.ts';
import { logHookFailure } from '../system/failure-log.ts';
import { writeStdout } from '../system/runtime-bun.ts';
import { HOOK_INPUT, readHookInput } from '../system/stdin.ts';
import { findSuggestions } from './model/store.ts';
import { type HookDeclaration, readDeclaration } from './model/suggestion.ts';

/**
 * What a declared hook answers to an event; undefined when the event is not what it is about. It is there against
 * habits: whoever wants to get round it writes the command in another way.
 */
export function answerDeclared(hook: HookDeclaration, event: HookEvent, project: Project): Json | undefined {
  if (event.name !== hook.event || !('tool' in event) || !hook.tools.includes(event.tool)) return undefined;
  if (hook.when !== undefined && !isMeant(hook.when, event, project)) return undefined;
  const text = inertLines(hook.text);
  const said =
    hook.action === 'deny'
      ? { permissionDecision: 'deny', permissionDecisionReason: text }
      : { additionalContext: text };
  return { hookSpecificOutput: { hookEventName: hook.event, ...said } };
}

type Call = { readonly input: Json; readonly cwd: string | undefined };

function isMeant(
  when: NonNullable<HookDeclaration['when']>,
  { input, cwd }: Call,
  project: Project,
): boolean {
  if ('command' in when) return runs(readString(input, 'command') ?? '', when.command.split(' '));
  const file = filePath(input);
  if (file === undefined || project.path === null) return false;
  const path = withinProject(posix.resolve(cwd ?? project.path, file.replaceAll('\\', '/')), project);
  return !posix.isAbsolute(path) && matchesGlob(path, when.path);
}

/** Whether one of the simple commands begins so, also behind `cd app &&`, assignments and wrappers such as `sudo`. */
function runs(line: string, wanted: readonly string[]): boolean {
  return parseShell(line).some(({ words }) => {
    const typed = words.map(unquoted);
    const inFront = typed.length - withoutPrefix(typed).length;
    for (let at = 0; at <= inFront; at++) {
      if (wanted.every((word, index) => typed[at + index] === word)) return true;
    }
    return false;
  });
}

/** A glob without a slash is about a file's name, in whatever directory; what is in a directory is below it. */
function matchesGlob(path: string, glob: string): boolean {
  // To Bun, two stars beside other characters may be more than one; here they are one.
  const plain = glob.replace(/[^/]+/g, (name) => (name === '**' ? name : name.replace(/\*+/g, '*')));
  const whole = plain.includes('/') ? plain.replace(/\/\*\*$/, '/**/*') : `**/${plain}`;
  return new Bun.Glob(whole).match(path);
}

const READ_TIMEOUT_MS = 400;
const PRIVATE_UMASK = 0o077;

/**
 * The process of a hook that the user applied: from the event on standard input to what the declaration says of it.
 * Never throws: whatever goes wrong is noted in the log, and the call goes on as if there were no such hook.
 */
export async function appliedHookProcess(id: string, env: Environment): Promise<void> {
  const paths = statePaths(env, process.platform);
  if (paths === undefined || env.SELF_GENERATION_INTERNAL === '1') return;
  try {
    process.umask(PRIVATE_UMASK);
    if (!isEnabled(loadConfig(paths))) return;
    const input = await readHookInput(HOOK_INPUT);
    const event = input.kind === 'json' ? parseHookEvent(input.value) : undefined;
    if (event === undefined) throw new Error(`Cannot read the event: input is ${input.kind}`);
    const hook = findHook(id, paths);
    const project = projectAt(event.cwd, env);
    if (hook === undefined || (hook.projectPath !== '' && hook.projectPath !== project.path)) return;
    const answer = answerDeclared(hook.declaration, event, project);
    if (answer !== undefined) await writeStdout(JSON.stringify(answer));
  } catch (error) {
    logHookFailure(`applied ${id.slice(0, 20)}`, String(error), paths, new Date());
  }
}

type AppliedHook = { readonly declaration: HookDeclaration; readonly projectPath: unknown };

/** As it was applied, whatever has been proposed since. Undefined for code of an earlier version, which nothing runs. */
function findHook(id: string, paths: StatePaths): AppliedHook | undefined {
  const db = openForReading(paths, READ_TIMEOUT_MS);
  const suggestion = db && findSuggestions(id, db).find((one) => one.id === id);
  db?.sqlite.close();
  const applied = suggestion?.status === 'applied' ? suggestion.applied : undefined;
  if (!isRecord(applied)) throw new Error('Cannot answer: it is not applied');
  if (applied.kind !== 'declaration') return undefined;
  const declaration = readDeclaration(applied.declaration);
  if (typeof declaration === 'string') throw new Error(`Cannot answer: ${declaration}`);
  return { declaration, projectPath: applied.projectPath };
}
