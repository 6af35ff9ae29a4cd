import { BINARY, BINARY_RUNNER, type Runner } from './program.ts';

/** Far above what a hook needs, also on a busy machine: only one that hangs meets it. */
export const HANG_MS = 20_000;

export type ProcessResult = {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Uint8Array;
};

export type Environment = Record<string, string | undefined>;

export type RunOptions = {
  readonly home: string;
  readonly env?: Environment;
  readonly cwd?: string;
  readonly stdin?: string | Uint8Array;
  /** For a program that runs many hooks. */
  readonly hangMs?: number;
};

/** Runs a program to its end, in an environment that has nothing but what is given here. */
export async function runProgram(command: readonly string[], options: RunOptions): Promise<ProcessResult> {
  const child = Bun.spawn([...command], {
    cwd: options.cwd ?? options.home,
    env: { PATH: process.env.PATH ?? '', HOME: options.home, ...options.env } as Record<string, string>,
    stdin: Buffer.from(options.stdin ?? ''),
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: options.hangMs ?? HANG_MS,
    killSignal: 'SIGKILL',
  });
  const [stdoutBytes, stderr, exitCode] = await Promise.all([
    child.stdout.bytes(),
    child.stderr.text(),
    child.exited,
  ]);
  return {
    exitCode: child.signalCode === null ? exitCode : null,
    stdoutBytes,
    stdout: new TextDecoder().decode(stdoutBytes),
    stderr,
  };
}

export type HookOptions = Omit<RunOptions, 'stdin'> & { readonly runner?: Runner; readonly hook?: string };

/** Runs one hook on a payload; without `hook` the payload's event decides. */
export function runHookProcess(payload: unknown, options: HookOptions): Promise<ProcessResult> {
  const { runner = BINARY_RUNNER, hook, ...rest } = options;
  const stdin = typeof payload === 'string' ? payload : `${JSON.stringify(payload)}\n`;
  return runProgram(hook === undefined ? [BINARY, 'hook'] : runner.command(hook), { ...rest, stdin });
}

/** The context in a hook's answer; undefined when it said nothing. Throws when the output is anything else. */
export function contextOf(result: ProcessResult): string | undefined {
  const answer = answerIn(result.stdoutBytes);
  return answer?.additionalContext;
}

/** What stands in the frame of a context. Throws when anything stands outside of it. */
export function insideFrame(context: string | undefined): string | undefined {
  if (context === undefined) return undefined;
  const [, inside] = /^<record note="[^"<>\n]+">\n([\s\S]*)\n<\/record>$/.exec(context) ?? [];
  if (inside === undefined || /<\/?record/.test(inside)) throw new Error(`Not framed once: ${context}`);
  return inside;
}

export type Answer = { readonly hookEventName: string; readonly additionalContext: string };

/**
 * A hook's standard output as the client takes it: nothing, or one JSON document in well-formed UTF-8 with exactly
 * the two fields that we ever send. Throws otherwise.
 */
export function answerIn(stdout: Uint8Array): Answer | undefined {
  if (stdout.length === 0) return undefined;
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(stdout);
  const value = JSON.parse(text) as { hookSpecificOutput?: Answer };
  const answer = value.hookSpecificOutput;
  const isWhole =
    Object.keys(value).join() === 'hookSpecificOutput' &&
    Object.keys(answer ?? {}).join() === 'hookEventName,additionalContext' &&
    typeof answer?.additionalContext === 'string' &&
    answer.additionalContext !== '' &&
    answer.additionalContext.isWellFormed();
  if (!isWhole || answer === undefined) throw new Error(`This is no answer of a hook: ${text.slice(0, 500)}`);
  return answer;
}

/** Runs `work` for each item, at most `width` at a time; the results in the order of the items. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index] as Item, index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}
