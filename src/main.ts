#!/usr/bin/env bun
import { type HookName, hookByName } from './core/hook-names.ts';
import { hookProcess } from './hook.ts';

/**
 * Which of its faces the program shows: called by a hook's name, as `hook [NAME]`, or bare with something on standard
 * input, it is that hook; everything else is loaded only now.
 */
function requestedHook(
  calledAs: string,
  words: readonly string[],
): { name: HookName | undefined } | undefined {
  const byOwnName = hookByName(
    calledAs.slice(calledAs.lastIndexOf(process.platform === 'win32' ? '\\' : '/') + 1),
  );
  if (byOwnName) return { name: byOwnName.name };
  if (words[0] === 'hook' && words.length <= 2) {
    const byWord = words[1] === undefined ? undefined : hookByName(words[1]);
    return words[1] === undefined || byWord ? { name: byWord?.name } : undefined;
  }
  return words.length === 0 && !process.stdin.isTTY ? { name: undefined } : undefined;
}

const words = process.argv.slice(2);
const hook = requestedHook(process.argv0, words);
if (hook) {
  const hadInput = await hookProcess(hook.name, process.env, () => import('./hooks/others.ts'));
  if (hadInput || words.length > 0) process.exit(0);
}
const { runCli } = await import('./cli/run.ts');
process.exitCode = await runCli(words);
