import type { AgentEvent } from '../../clients/client.ts';
import { clientNamed } from '../../clients/clients.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cleanText, cutText, oneLine } from '../../core/text.ts';
import { type Run, runDirectory } from '../model/run.ts';
import { readTurnEvents } from '../read-log.ts';
import { addCall, type OpenCalls } from '../workspace/tool-failures.ts';
import type { RunsWorld } from '../world.ts';

/** A shell command that a run has called, for who judges its work. Texts are without secrets and control characters. */
export type CommandRun = {
  /** On one line. */
  readonly command: string;
  /** Null: nobody says it. */
  readonly exitCode: number | null;
  readonly isError: boolean;
  /** The last lines of what it printed. */
  readonly output: string;
};

/** Of a turn: the newest. */
const COMMANDS_MAX = 200;
const COMMAND_LENGTH_MAX = 1000;
const COMMAND_SCANNED_MAX = 16 * 1024;
const LINES_MAX = 20;
const END_LENGTH_MAX = 2000;
/** Looked at for secrets, so that none of what is shown is the end of one. */
const END_SCANNED_MAX = 64 * 1024;

/** The shell commands of a turn that have ended, in their order, by its log. @throws Error that says which file cannot be read */
export function commandsOf(run: Run, turn: number, world: Pick<RunsWorld, 'paths'>): CommandRun[] {
  const client = clientNamed(run.client);
  const exits = client.exitCodes?.(runDirectory(world.paths, run.id));
  const open: OpenCalls = new Map();
  const commands: CommandRun[] = [];
  const onEvent = (event: AgentEvent) => {
    if (event.kind === 'tool-call') addCall(event, open);
    if (event.kind !== 'tool-result') return;
    const call = open.get(event.id);
    open.delete(event.id); // Another turn may use the id again.
    const shell = call && client.hookCalls(call).find(({ tool }) => tool === 'Bash');
    if (shell === undefined) return;
    const { isError, text } = event;
    const said = event.code ?? exits?.(event.id) ?? (isError ? codeSaid(text) : undefined);
    // Where the client has no other way to say so, a call without an error is a command without one.
    const exitCode = said ?? (isError || client.exitCodes !== undefined ? null : 0);
    commands.push({ command: shownCommand(shell.input.command), exitCode, isError, output: endOf(text) });
    if (commands.length > COMMANDS_MAX) commands.shift();
  };
  readTurnEvents(run, turn, world, { onEvent });
  return commands;
}

/** In the words in which the client gives a failing command back. */
function codeSaid(text: string): number | undefined {
  const code = /^(?:Error: )?Exit code (\d{1,10})\b/.exec(text)?.[1];
  return code === undefined ? undefined : Number(code);
}

function shownCommand(command: unknown): string {
  const line = oneLine(cutText(typeof command === 'string' ? command : '', COMMAND_SCANNED_MAX));
  return cutText(redactSecrets(line), COMMAND_LENGTH_MAX);
}

function endOf(text: string): string {
  const clean = redactSecrets(cleanText(text.slice(-END_SCANNED_MAX))).trim();
  const lines = clean.split('\n').slice(-LINES_MAX).join('\n');
  return lines.slice(Math.max(0, lines.length - END_LENGTH_MAX)).toWellFormed();
}
