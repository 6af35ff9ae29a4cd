#!/usr/bin/env bun
import { hookProcess } from './hook.ts';
import { type HookName, hookByName } from './hooks/hook-names.ts';

type Request = { readonly name: HookName | undefined; readonly isSure: boolean };

/**
 * Which of its faces the program shows: called by a hook's name or as `hook [NAME]` it is that hook. Bare with something
 * on standard input it is one too, but not for sure: nothing may come in. Everything else is loaded only then.
 */
function requestedHook(calledAs: string, words: readonly string[]): Request | undefined {
  const separator = process.platform === 'win32' ? '\\' : '/';
  const ownName = hookByName(calledAs.slice(calledAs.lastIndexOf(separator) + 1));
  if (ownName) return { name: ownName.name, isSure: true };
  if (words[0] === 'hook' && words.length <= 2) {
    const named = hookByName(words[1] ?? '');
    return words[1] === undefined || named ? { name: named?.name, isSure: true } : undefined;
  }
  return words.length === 0 && !process.stdin.isTTY ? { name: undefined, isSure: false } : undefined;
}

/** Not in the hooks' own table below: what stands there, everything else that is loaded later loads as well. */
const loadCommands = () => import('./cli/run.ts');
const words = process.argv.slice(2);
const hook = requestedHook(process.argv0, words);
if (hook) {
  const hadInput = await hookProcess(hook.name, process.env, {
    others: () => import('./hooks/write-path.ts'),
    failures: () => import('./hooks/error-logger.ts'),
    catchUps: () => import('./transcripts/catch-up.ts'),
    deliveries: () => import('./runs/delivery/hook-delivery.ts'),
    commands: loadCommands,
    waiter: () => import('./runs/delivery/hook-delivery.ts'),
  });
  if (hadInput || hook.isSure) process.exit();
}
const isCalled = (name: string, length: number) => words[0] === name && words.length === length;
if (isCalled('supervise', 3)) await (await import('./runs/supervisor/supervise.ts')).superviseProcess(words);
else if (isCalled('catch-up', 2) || isCalled('catch-up', 3))
  (await import('./transcripts/catch-up.ts')).catchUpProcess(words, process.env);
else if (isCalled('hook', 3) && (words[1] === 'applied' || words[1] === 'script')) {
  await (await import('./suggestions/applied-hook.ts')).appliedHookProcess(words[2] ?? '', process.env);
  process.exit(0);
} else if (isCalled('mcp', 1)) await (await import('./mcp/serve.ts')).serveMcp();
else process.exitCode = await (await loadCommands()).runCli(words);
