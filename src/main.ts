#!/usr/bin/env bun
import { type HookName, hookByName } from './core/hook-names.ts';
import { statePaths } from './core/state-paths.ts';
import { hookProcess } from './hook.ts';

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
    const named = words[1] === undefined ? undefined : hookByName(words[1]);
    return words[1] === undefined || named ? { name: named?.name, isSure: true } : undefined;
  }
  return words.length === 0 && !process.stdin.isTTY ? { name: undefined, isSure: false } : undefined;
}

/** This process as those see it who start others like it. */
function thisProcess() {
  return {
    env: process.env,
    platform: process.platform,
    cwd: process.cwd(),
    executablePath: process.execPath,
    isCompiled: Bun.isStandaloneExecutable,
    now: () => new Date(),
  };
}

const words = process.argv.slice(2);
const hook = requestedHook(process.argv0, words);
if (hook) {
  const hadInput = await hookProcess(hook.name, process.env, {
    others: () => import('./hooks/others.ts'),
    failures: () => import('./hooks/error-logger.ts'),
    prompts: () => import('./hooks/prompt-logger.ts'),
    deliveries: () => import('./subagents/deliver-to-hook.ts'),
  });
  if (hadInput || hook.isSure) process.exit(0);
}
const paths = statePaths(process.env, process.platform);
if (words[0] === 'supervise' && words.length === 3 && paths) {
  const { supervise } = await import('./subagents/supervise.ts');
  Bun.unsafe.setJITPolicy(1); // A hook's start is tuned for a life of milliseconds; a supervisor reads for hours.
  process.umask(0o077);
  await supervise(words[1] ?? '', Number(words[2]), { ...thisProcess(), paths });
  process.exit(0); // Nobody waits for it, and nothing that is left may keep it.
} else if (words[0] === 'mcp' && words.length === 1) {
  const { serveMcp } = await import('./mcp/serve.ts');
  await serveMcp(thisProcess());
} else {
  const { runCli } = await import('./cli/run.ts');
  process.exitCode = await runCli(words);
}
