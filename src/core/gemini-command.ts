import type { CommandEnd } from './conversation.ts';

/** The last lines of what a command's result says: the client's own, whatever the output above them is. */
const TAIL =
  /(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]*)+\s*(?:\n<\/untrusted_context>\s*)?$/;
const HEAD = /^(?:<untrusted_context>\n)?(?:Command: [\s\S]*?\nDirectory: .*\n)?(?:Output: )?/;

/** What hooks have added. Their own texts have no bracket. */
const OF_HOOKS = /(?:\n\n<hook_context>[^<>]*<\/hook_context>)+\s*$/;

/** How a command of Gemini CLI ended, by its result: only what was not well is said. */
export function geminiCommandEnd(said: string): CommandEnd {
  const text = said.replace(OF_HOOKS, '');
  const tail = TAIL.exec(text)?.[0] ?? '';
  const code = [...tail.matchAll(/\nExit Code: (\d{1,10})\s*(?=\n|$)/g)].at(-1)?.[1];
  const printed = text
    .slice(0, text.length - tail.length)
    .replace(HEAD, '')
    .replace(/\n<\/untrusted_context>\s*$/, '');
  return { code: code === undefined ? (/\nSignal: \S/.test(tail) ? -1 : 0) : Number(code), printed };
}
