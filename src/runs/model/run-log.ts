import type { Json } from '../../core/guards.ts';
import { cutText } from '../../core/text.ts';

/** What was said and done in a run, as `log` shows it. Texts are raw: of the client, untrusted. */
export type LogEntry = { readonly text: string } & (
  | { readonly kind: 'user' | 'assistant' }
  | { readonly kind: 'tool-call'; readonly tool: string }
  | { readonly kind: 'tool-result'; readonly tool: string; readonly isError: boolean }
);

/** What a client's output says, as far as a log is made of it; AgentEvent is one of these. */
type LogEvent =
  | SaidOrDone
  | { readonly kind: 'session' | 'reasoning' | 'refused' | 'usage' | 'warning' | 'result' };

export type SaidOrDone =
  /** A whole message of the assistant, or the next piece of one. */
  | { readonly kind: 'text'; readonly text: string; readonly isPiece: boolean }
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'tool-call'; readonly id: string; readonly tool: string; readonly input: Json }
  | {
      readonly kind: 'tool-result';
      readonly id: string;
      /** Null where the line does not name it; the call of the same id does. */
      readonly tool: string | null;
      readonly isError: boolean;
      readonly text: string;
      /** Of a command, where the line says it. */
      readonly code?: number;
    };

const TEXT_LENGTH_MAX = 32 * 1024;
const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 200;
const UNKNOWN_TOOL = 'unknown';
const TOOL_NAMES_MAX = 4096;
const SPEAKERS = {
  ...{ user: 'User', assistant: 'Assistant', 'tool-call': 'Tool call', 'tool-result': 'Tool result' },
};

/** The entries of a turn: pieces become one message, a result has the name of its call. Texts are cut. */
export function toLogEntries(events: Iterable<LogEvent>): LogEntry[] {
  const entries: LogEntry[] = [];
  const writer = logWriter((entry) => entries.push(entry));
  for (const event of events) writer.push(event);
  writer.end();
  return entries;
}

/** As toLogEntries(), event by event, for a turn of any length. */
export function logWriter(onEntry: (entry: LogEntry) => void) {
  const tools = new Map<string, string>();
  /** The beginning of a message whose end has not come yet. */
  let message: string | undefined;
  const write = (entry: LogEntry) => onEntry({ ...entry, text: cutText(entry.text, TEXT_LENGTH_MAX) });
  const entryOf = (event: LogEvent): LogEntry | undefined => {
    switch (event.kind) {
      case 'text':
        return { kind: 'assistant', text: event.text };
      case 'user':
        return { kind: 'user', text: event.text };
      case 'tool-call':
        tools.set(event.id, event.tool);
        if (tools.size > TOOL_NAMES_MAX) tools.delete(tools.keys().next().value ?? '');
        return { kind: 'tool-call', tool: event.tool, text: JSON.stringify(event.input) };
      case 'tool-result': {
        const tool = event.tool ?? tools.get(event.id) ?? UNKNOWN_TOOL;
        return { kind: 'tool-result', tool, isError: event.isError, text: event.text };
      }
      default:
        return undefined;
    }
  };
  /** Writes what is left. */
  const end = () => {
    if (message !== undefined) write({ kind: 'assistant', text: message });
    message = undefined;
  };
  const push = (event: LogEvent) => {
    if (event.kind === 'text' && event.isPiece) {
      const before = message ?? '';
      message = before.length > TEXT_LENGTH_MAX ? before : before + event.text;
      return;
    }
    const entry = entryOf(event);
    if (entry === undefined && event.kind !== 'result') return;
    end();
    if (entry !== undefined) write(entry);
  };
  return { push, end };
}

/** How many entries are shown: 20 unless said otherwise, from 1 to 200. */
export function logLimit(asked: number | undefined): number {
  return asked === undefined ? LIMIT_DEFAULT : Math.min(LIMIT_MAX, Math.max(1, Math.floor(asked)));
}

export type LogChoice = { readonly limit: number; readonly withTools: boolean };

/** The last entries. What is left out is left out first: as many as were asked for are there. */
export function lastEntries(entries: readonly LogEntry[], { limit, withTools }: LogChoice): LogEntry[] {
  return entries.filter((entry) => isShown(entry, withTools)).slice(-limit);
}

/** Whether an entry is shown; without tools, only what was said. */
export function isShown({ kind }: LogEntry, withTools: boolean): boolean {
  return withTools || kind === 'user' || kind === 'assistant';
}

/** Who or what speaks: `User`, `Assistant`, `Tool call exec`, `Tool result exec (error)`. Raw, as the tool's name is. */
export function entryLabel(entry: LogEntry): string {
  const tool = 'tool' in entry ? ` ${entry.tool}` : '';
  return `${SPEAKERS[entry.kind]}${tool}${'isError' in entry && entry.isError ? ' (error)' : ''}`;
}
