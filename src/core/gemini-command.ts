import type { CommandEnd } from './conversation.ts';

/** The last lines of what a command's result says: the client's own, whatever the output above them is. */
const TAIL =
  /(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*)+\s*(?:\n<\/untrusted_context>\s*)?$/;
const HEAD = /^(?:<untrusted_context>\n)?(?:Command: [\s\S]*?\nDirectory: .*\n)?(?:Output: )?/;

/** What hooks have added. Their own texts have no bracket. */
const OF_HOOKS = /(?:\n\n<hook_context>[^<>]*<\/hook_context>)+\s*$/;

/** What hooks and the client have added stands in so much of the end: a command may print a million lines that look like it. */
const END_LENGTH = 32 * 1024;

/** How a command of Gemini CLI ended, by its result: only what was not well is said. */
export function geminiCommandEnd(said: string): CommandEnd {
  const end = said.slice(-END_LENGTH).replace(OF_HOOKS, '');
  const tail = TAIL.exec(end)?.[0] ?? '';
  const code = [...tail.matchAll(/\nExit Code: (\d{1,10})\s*(?=\n|$)/g)].at(-1)?.[1];
  const printed = (said.slice(0, -END_LENGTH) + end.slice(0, end.length - tail.length))
    .replace(HEAD, '')
    .replace(/\n<\/untrusted_context>\s*$/, '');
  return { code: code === undefined ? (/\nSignal: \S/.test(tail) ? -1 : 0) : Number(code), printed };
}
