import type { TextEdit, TextRemoval } from './file-plan.ts';

/**
 * `/subagents` in Claude Code. What is typed after it goes to the model and from there into the parameters of a tool;
 * no shell sees it. Measured with 2.1.328: in a line that runs a command (`!`), $ARGUMENTS becomes part of the shell's
 * text, so none stands here; without $ARGUMENTS in it the client adds `ARGUMENTS: …` at the end.
 */
export const COMMAND_TEXT = `---
description: Background sub-agents: list, info, log, send, stop, wait, retry, spawn
argument-hint: list | info <id> | log <id> [limit] [tools] | send <id> <message> | stop <id|all> | wait <id|all> | retry <id> | spawn <task>
allowed-tools: mcp__self-generation__subagents, mcp__self-generation__sessions_spawn
disable-model-invocation: true
---

Carry out what the user typed after /subagents; it stands below as ARGUMENTS, or is missing, which means \`list\`.

- The first word is the \`action\` of the tool mcp__self-generation__subagents, the second one its \`target\`: a number (#), the beginning of a run id, a session key, a label, or "last"; for stop and wait also "all".
- log: a number after the target is \`limit\`, the word "tools" is \`includeTools\`: true.
- send: everything after the target is \`message\`, word for word.
- spawn: everything after it is \`task\` of the tool mcp__self-generation__sessions_spawn, word for word.
- Any other first word: call nothing, say which actions there are.

Call that one tool once, show its answer briefly, and do nothing else.
`;

/** The command as it has to be; somebody else's is left alone. `isKnown`: install wrote that text. */
export function setCommand(text: string | undefined, isKnown: (text: string) => boolean): TextEdit {
  if (text === COMMAND_TEXT) return { kind: 'unchanged' };
  if (text === undefined || isKnown(text)) return { kind: 'edited', text: COMMAND_TEXT };
  return { kind: 'refused', reason: 'a command of yours has that name; rename it and run again' };
}

/** What is left of the command; one that the user has changed is the user's. */
export function removeCommand(text: string): TextRemoval {
  return text === COMMAND_TEXT ? { kind: 'emptied', text: '' } : { kind: 'unchanged' };
}
