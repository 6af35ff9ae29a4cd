import { isRecord } from '../../core/guards.ts';
import { type HookDeclaration, readDeclaration } from '../../core/hook-declaration.ts';
import { type Environment, type StatePaths, statePaths } from '../../core/state-paths.ts';
import { parseHookEvent } from '../../hooks/event.ts';
import { messageOf } from '../../hooks/invocation.ts';
import { projectAt } from '../../hooks/project.ts';
import { isEnabled, loadConfig } from '../../store/config.ts';
import { openForReading } from '../../store/connection.ts';
import { logHookFailure } from '../../store/hook-log.ts';
import { findSuggestions } from '../../store/suggestions.ts';
import { writeStdout } from '../../sys/runtime-bun.ts';
import { readHookInput } from '../../sys/stdin.ts';
import { answerDeclared } from './declared-hook.ts';

const INPUT_BYTES_MAX = 1024 * 1024;
const INPUT_TIMEOUT_MS = 500;
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
    const input = await readHookInput({ bytesMax: INPUT_BYTES_MAX, timeoutMs: INPUT_TIMEOUT_MS });
    const event = input.kind === 'json' ? parseHookEvent(input.value) : undefined;
    if (event === undefined) throw new Error(`Cannot read the event: input is ${input.kind}`);
    const hook = findHook(id, paths);
    const project = projectAt(event.cwd, env);
    if (hook === undefined || (hook.projectPath !== '' && hook.projectPath !== project.path)) return;
    const answer = answerDeclared(hook.declaration, event, project);
    if (answer !== undefined) await writeStdout(JSON.stringify(answer));
  } catch (error) {
    logHookFailure(`applied ${id.slice(0, 20)}`, messageOf(error), paths, new Date());
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
  const read = readDeclaration(applied.declaration);
  if (read.kind === 'wrong') throw new Error(`Cannot answer: ${read.reason}`);
  return { declaration: read.declaration, projectPath: applied.projectPath };
}
