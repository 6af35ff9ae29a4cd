import { type Environment, statePaths } from './core/state-paths.ts';
import type { Chunks } from './hooks/invocation.ts';
import { runHook } from './hooks/run.ts';
import { logHookFailure } from './system/failure-log.ts';
import { readHookInput } from './system/stdin.ts';

const INPUT_BYTES_MAX = 1024 * 1024;
const INPUT_TIMEOUT_MS = 500;
/** No file of ours is for other users' eyes; SQLite's and the spool's are made with this as well. */
const PRIVATE_UMASK = 0o077;

/**
 * A hook's whole process: standard input to standard output. Without a name the input's `hook_event_name` decides.
 * Never throws and never says anything but one JSON document on standard output; the caller exits with 0 (RA-406).
 * Resolves with false when nothing at all came in.
 */
export async function hookProcess(
  name: string | undefined,
  env: Environment,
  chunks: Chunks,
): Promise<boolean> {
  const now = new Date();
  const paths = statePaths(env, process.platform);
  try {
    process.umask(PRIVATE_UMASK);
    const input = await readHookInput({ bytesMax: INPUT_BYTES_MAX, timeoutMs: INPUT_TIMEOUT_MS });
    if (input.kind === 'empty') return false;
    if (paths === undefined || env.SELF_GENERATION_INTERNAL === '1') return true;
    const value = input.kind === 'unreadable' ? undefined : input.value;
    const isOurs = await runHook(value, name, { env, paths, now, chunks });
    if (!isOurs) logHookFailure(name ?? 'hook', `Cannot read the event: input is ${input.kind}`, paths, now);
  } catch (error) {
    if (paths) logHookFailure(name ?? 'hook', String(error), paths, now);
  }
  return true;
}
