import type { TextEdit, TextRemoval } from './file-plan.ts';

/**
 * The commands `/subagents` and `/stop` in Claude Code, which knows a command only by its file. What is typed is answered by
 * the hook that gets the prompt (cli/prompt-command.ts); these texts are for a model, where no hook answers. No shell sees what
 * is typed: measured with 2.1.328, in a line that runs a command (`!`), $ARGUMENTS becomes part of the shell's text, so
 * none stands here; without $ARGUMENTS in it the client adds `ARGUMENTS: …` at the end.
 */
const TEXTS = {
  subagents: `---
description: Background sub-agents: list, info, log, send, stop, retry, spawn, inbox
argument-hint: list | info <id> | log <id> [limit] [tools] | send <id> <message> | stop <id|all> | retry <id> | spawn <task> | inbox
allowed-tools: mcp__self-generation__subagents, mcp__self-generation__sessions_spawn
disable-model-invocation: true
---

Call the tool mcp__self-generation__subagents once with what the user typed, below as ARGUMENTS: \`action\`, then \`target\`, for log then \`limit\` and "tools" for \`includeTools\`, for send the rest as \`message\`, word for word. Nothing typed is list. For spawn, the rest is \`task\` of mcp__self-generation__sessions_spawn, word for word. For anything else call nothing, and say which actions there are. Show the answer briefly, and do nothing else.
`,
  stop: `---
description: Stop the background sub-agents of this session
argument-hint: [id]
allowed-tools: mcp__self-generation__subagents
disable-model-invocation: true
---

Call the tool mcp__self-generation__subagents once with action "stop" and, as \`target\`, what the user typed, below as ARGUMENTS; when nothing stands there, "all". Show the answer briefly, and do nothing else.
`,
};

export type CommandName = keyof typeof TEXTS;

/** By these names install keeps record of the commands. */
export const COMMANDS = { command: 'subagents', stop: 'stop' } as const satisfies Readonly<
  Record<string, CommandName>
>;
export type CommandClient = keyof typeof COMMANDS;
export const COMMAND_CLIENTS = ['command', 'stop'] as const satisfies readonly CommandClient[];

/** Whether it is a command of Claude Code, and no client of its own. */
export function isCommand(client: string): client is CommandClient {
  return client in COMMANDS;
}

/** The command's file as it has to be. */
export function commandText(name: CommandName): string {
  return TEXTS[name];
}

/** How the file comes to be and goes; somebody else's is left alone, and one that the user has changed is the user's. */
export function commandEdits(wanted: string) {
  return {
    isOurs: (text: unknown) => text === wanted,
    /** `isKnown`: install wrote that text. */
    set(text: string | undefined, isKnown: (text: string) => boolean): TextEdit {
      if (text === wanted) return { kind: 'unchanged' };
      if (text === undefined || isKnown(text)) return { kind: 'edited', text: wanted };
      return { kind: 'refused', reason: 'a command of yours has that name; rename it and run again' };
    },
    remove: (text: string): TextRemoval =>
      text === wanted ? { kind: 'emptied', text: '' } : { kind: 'unchanged' },
  };
}
