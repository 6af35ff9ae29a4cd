import type { Json } from '../../core/guards.ts';

/** What was said and done in a run, as `log` shows it. Texts are raw: of the client, untrusted. */
export type LogEntry =
  | { readonly kind: 'user' | 'assistant'; readonly text: string }
  | { readonly kind: 'tool-call'; readonly tool: string; readonly text: string }
  | {
      readonly kind: 'tool-result';
      readonly tool: string;
      readonly isError: boolean;
      readonly text: string;
    };

/** What a client's output says, as far as a log is made of it; AgentEvent is one of these. */
export type LogEvent = SaidOrDone | { readonly kind: 'session' | 'refused' | 'usage' | 'warning' | 'result' };

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
    };

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 200;
const UNKNOWN_TOOL = 'unknown';
const TOOL_NAMES_MAX = 4096;
const SPEAKERS = {
  user: 'User',
  assistant: 'Assistant',
  'tool-call': 'Tool call',
  'tool-result': 'Tool result',
};

/** The entries of (a part of) a turn. Pieces become one message; a result has the name of its call. `tools`: names by ids of calls, of earlier parts too. */
export function toLogEntries(events: Iterable<LogEvent>, tools = new Map<string, string>()): LogEntry[] {
  const entries: LogEntry[] = [];
  let pieces: string[] = [];
  const endMessage = () => {
    if (pieces.length > 0) entries.push({ kind: 'assistant', text: pieces.join('') });
    pieces = [];
  };
  for (const event of events) {
    if (event.kind === 'text' && event.isPiece) {
      pieces.push(event.text);
      continue;
    }
    const entry = toEntry(event, tools);
    if (entry === undefined && event.kind !== 'result') continue;
    endMessage();
    if (entry !== undefined) entries.push(entry);
  }
  endMessage();
  return entries;
}

function toEntry(event: LogEvent, tools: Map<string, string>): LogEntry | undefined {
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
