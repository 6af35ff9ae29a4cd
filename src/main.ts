#!/usr/bin/env bun
import { HOT_HOOK, type HookCall, hookProcess } from './hooks/hook-process.ts';

/** Everything that is no hook. */
const loadFaces = () => import('./faces.ts');
const chunks = {
  writePath: () => import('./hooks/write-path.ts'),
  errorSearch: () => import('./lessons/store/error-search.ts'),
  callers: () => import('./hooks/callers/callers.ts'),
  catchUps: () => import('./transcripts/catch-up.ts'),
  deliveries: () => import('./runs/delivery/hook-delivery.ts'),
  commands: () => import('./cli/run.ts'),
  waiter: () => import('./runs/delivery/hook-delivery.ts'),
};
const words = process.argv.slice(2);
const line = words.join(' ');
/** A hook that the user has applied: `hook applied ID`. */
const isOfUser = words.length === 3 && /^hook (applied|script) /.test(line);

/** The program's own name is no hook's: nothing has to be loaded to know that. */
const OWN_NAME = /^self-generation(\.exe)?$/;

async function hookNameOf(calledAs: string): Promise<string | undefined> {
  if (OWN_NAME.test(calledAs)) return undefined;
  return calledAs === HOT_HOOK ? calledAs : (await chunks.writePath()).hookNameOf(calledAs);
}

type Request = HookCall & { readonly isSure: boolean };

/**
 * Which of its faces the program shows: as `hook [NAME [CALLER]]`, or called by a hook's name, it is that hook. Bare with
 * something on standard input it is one too, but not for sure: nothing may come in. Everything else is loaded only then.
 */
async function requestedHook(): Promise<Request | undefined> {
  // Whether there is such a hook is looked up while its input comes in; an option is none.
  if (words[0] === 'hook' && words.length <= 3 && !isOfUser)
    return words[1]?.startsWith('-') ? undefined : { name: words[1], caller: words[2], isSure: true };
  const calledAs = process.argv0.split(process.platform === 'win32' ? '\\' : '/').at(-1) as string;
  const name = await hookNameOf(calledAs);
  if (name !== undefined) return { name, isSure: true };
  return words.length === 0 && !process.stdin.isTTY ? { name, isSure: false } : undefined;
}

const hook = await requestedHook();
if (hook) {
  const outcome = await hookProcess(hook, process.env, chunks);
  // At once: the input may still be open.
  if (outcome === 'unknown') process.exit(await (await loadFaces()).showFace(words, { isOfUser }));
  if (outcome === 'done' || hook.isSure) process.exit();
}
const code = await (await loadFaces()).showFace(words, { isOfUser });
if (code !== 0) process.exitCode = code;
