import type { AgentEvent, ExitCodes } from '../clients/client.ts';
import { type Json, readString } from '../core/guards.ts';
import { inertText } from '../core/inert-text.ts';
import { redactSecrets } from '../core/redact.ts';
import { cleanText, cutText, oneLine } from '../core/text.ts';
import { policyName } from '../runs/model/tool-policy.ts';
import type { Turn } from '../runs/model/turn.ts';

/** What a turn does as lines for its user (seed 004: events.js). Texts of the client, without secrets, inert and cut. */

/** A call that has not ended. */
export type OpenCall = { readonly tool: string; readonly input: Json };

type CallResult = Extract<AgentEvent, { kind: 'tool-result' }>;

const COMMAND_MAX = 160;
const DONE_COMMAND_MAX = 120;
const REASONING_MAX = 200;
const ANSWER_MAX = 220;
const PREVIEW_MAX = 260;
const LABEL_MAX = 60;
/** Looked at of a longer text; a secret that the cut goes through is beyond what is shown. */
const SCANNED_MAX = 4096;

/** What a call is about, by the names that clients give to it. */
const ABOUT = ['file_path', 'absolute_path', 'filePath', 'path', 'pattern', 'query', 'prompt', 'description'];

/**
 * The lines of one event, none where it says nothing to a user (seed 004: logEventSummary). `call`: of a result, the call
 * that it answers; `exits`: where the client says elsewhere how its commands ended.
 */
export function logEventSummary(
  label: string,
  event: AgentEvent,
  call?: OpenCall,
  exits?: ExitCodes,
): readonly string[] {
  const line = (words: string) => [`[${label}] ${words}`];
  switch (event.kind) {
    case 'tool-call': {
      const command = commandOf(event);
      if (command !== undefined) return line(`cmd: ${toSingleLine(command, COMMAND_MAX)}`);
      if (policyName(event.tool) === 'web_search') return line(`search: ${aboutCall(event, REASONING_MAX)}`);
      return line(
        `tool: ${[toSingleLine(event.tool, LABEL_MAX), aboutCall(event, DONE_COMMAND_MAX)].join(' ').trim()}`,
      );
    }
    case 'tool-result':
      return resultLines(label, event, call, exits);
    case 'reasoning':
      return line(`reasoning: ${toSingleLine(event.text.replaceAll('*', ''), REASONING_MAX)}`);
    case 'text':
      return event.text.trim() === '' ? [] : line(`agent: ${toSingleLine(event.text, ANSWER_MAX)}`);
    case 'warning':
      return line(`warning: ${toSingleLine(event.text, REASONING_MAX)}`);
    case 'refused':
      return line('refused: a call of a tool was not permitted');
    case 'usage':
    case 'session':
    case 'user':
    case 'result':
      return [];
  }
}

function resultLines(
  label: string,
  event: CallResult,
  call: OpenCall | undefined,
  exits: ExitCodes | undefined,
): readonly string[] {
  const { isError, text, tool } = event;
  const command = call && commandOf(call);
  if (command === undefined) {
    const name = toSingleLine(tool ?? call?.tool ?? 'tool', LABEL_MAX);
    return isError ? [`[${label}] ❌ ${name}: ${toSingleLine(text, DONE_COMMAND_MAX)}`] : [];
  }
  const preview = toIndentedPreview(text, PREVIEW_MAX);
  const done = `[${label}] cmd: ${toSingleLine(command, DONE_COMMAND_MAX)} → exit ${exitCode(event, exits)}`;
  return preview === '' ? [done] : [done, preview];
}

/** As the client says it, there or elsewhere; where it has no other way, a call without an error is a command without one. */
function exitCode({ id, code, text, isError }: CallResult, exits: ExitCodes | undefined): string {
  const said = code ?? exits?.(id) ?? /^(?:Error: )?Exit code (\d{1,10})\b/.exec(text)?.[1];
  return String(said ?? (isError || exits !== undefined ? '?' : 0));
}

/** Icon and words of a call (seed 004: extractToolLabel): 🔍 a search, 🌐 a page, ⚡ a command, 🔧 any other tool. */
export function toolLabel(call: OpenCall): string {
  const command = commandOf(call);
  if (command !== undefined) return `⚡ ${toSingleLine(command, 40)}`;
  const { tool, input } = call;
  if (policyName(tool) === 'web_search') return `🔍 ${aboutCall(call, LABEL_MAX) || 'search'}`;
  const url = readString(input, 'url');
  if (policyName(tool) === 'web_fetch')
    return `🌐 ${url && URL.canParse(url) ? toSingleLine(new URL(url).hostname, LABEL_MAX) : 'page'}`;
  return `🔧 ${[toSingleLine(tool, LABEL_MAX), aboutCall(call, LABEL_MAX)].join(' ').trim()}`;
}

/** The command of a call of a shell, in whatever form the client has it. */
function commandOf({ tool, input }: OpenCall): string | undefined {
  if (policyName(tool) !== 'exec') return undefined;
  const { command } = input;
  return Array.isArray(command)
    ? command.join(' ')
    : (readString(input, 'command') ?? readString(input, 'cmd') ?? '');
}

function aboutCall({ input }: OpenCall, lengthMax: number): string {
  const found = ABOUT.map((name) => readString(input, name)).find((text) => text);
  return found === undefined ? '' : toSingleLine(found, lengthMax);
}

/** A text on one line, at most so many UTF-16 units with the `…` of what is left out. */
export function toSingleLine(text: string, lengthMax: number): string {
  const safe = inertText(redactSecrets(oneLine(cutText(text, SCANNED_MAX))), SCANNED_MAX);
  return safe.length <= lengthMax ? safe : `${cutText(safe, lengthMax - 1)}…`;
}

/** The beginning of a text with its lines, each indented by two spaces, and `…` where more would follow. */
export function toIndentedPreview(text: string, lengthMax = REASONING_MAX): string {
  const safe = redactSecrets(cleanText(cutText(text, SCANNED_MAX))).trim();
  const cut = safe.length <= lengthMax ? safe : `${cutText(safe, lengthMax).trimEnd()}…`;
  const lines = cut.split('\n').map((line) => `  ${inertText(line.trimEnd(), SCANNED_MAX)}`.trimEnd());
  return safe === '' ? '' : lines.join('\n');
}

/**
 * The events of one turn as lines, in their order: pieces of a message are one line, a result knows its call. The last
 * message is held back, since it is the answer, which is told as a whole. `exits`: as of logEventSummary().
 */
export function eventSummary(label: string, exits?: ExitCodes) {
  const calls = new Map<string, OpenCall>();
  const steps: string[] = [];
  let said = '';
  const heldBack = (): readonly string[] => {
    const text = said;
    said = '';
    return logEventSummary(label, { kind: 'text', text, isPiece: false });
  };
  return {
    /** The lines that can be told after this event. */
    push(event: AgentEvent): readonly string[] {
      if (event.kind === 'text') {
        const before = event.isPiece ? [] : heldBack();
        said = cutText(said + event.text, SCANNED_MAX);
        return before;
      }
      if (event.kind === 'tool-call') calls.set(event.id, event);
      const call = event.kind === 'tool-result' ? calls.get(event.id) : undefined;
      if (event.kind === 'tool-result' && call !== undefined) steps.push(stepOf(event, call, exits));
      const lines = logEventSummary(label, event, call, exits);
      return lines.length === 0 ? [] : [...heldBack(), ...lines];
    },
    /** What was done, on one line: the newest steps, at most so many UTF-16 units. */
    digest: (lengthMax: number): string => digestOf(steps, lengthMax),
  };
}

function stepOf(event: CallResult, call: OpenCall, exits: ExitCodes | undefined): string {
  if (commandOf(call) !== undefined) return `${toolLabel(call)} → exit ${exitCode(event, exits)}`;
  return `${toolLabel(call)}${event.isError ? ' ❌' : ''}`;
}

const MORE = '… ';

function digestOf(steps: readonly string[], lengthMax: number): string {
  const counts: { step: string; times: number }[] = [];
  for (const step of steps) {
    const last = counts.at(-1);
    if (last?.step === step) last.times++;
    else counts.push({ step, times: 1 });
  }
  let digest = '';
  for (const { step, times } of counts.toReversed()) {
    const one = times === 1 ? step : `${step} ×${times}`;
    const longer = digest === '' ? one : `${one}; ${digest}`;
    if (longer.length > lengthMax - MORE.length) return MORE + digest;
    digest = longer;
  }
  return digest;
}

/** `✅ $0.0123 · in=1,515 out=12 · 4.5s`, with what is known alone (seed 004: the cost line). */
export function costLine({ usage, startedAtMs, endedAtMs, state }: Turn): string {
  const { costUsd, inputTokens, outputTokens } = usage;
  const parts = [
    ...(costUsd === null ? [] : [`$${costUsd.toFixed(4)}`]),
    ...(inputTokens === null && outputTokens === null ? [] : [tokensOf(usage)]),
    ...(startedAtMs === null || endedAtMs === null
      ? []
      : [`${((endedAtMs - startedAtMs) / 1000).toFixed(1)}s`]),
  ];
  return [state === 'success' ? '✅' : '❌', parts.join(' · ')].join(' ').trim();
}

/** `in=1,515,404 (cached=1,200,000) out=12,555`. */
export function tokensOf({ inputTokens, outputTokens, cacheReadTokens }: Turn['usage']): string {
  const count = (tokens: number | null) => (tokens === null ? '?' : tokens.toLocaleString('en-US'));
  const cached = cacheReadTokens ? ` (cached=${count(cacheReadTokens)})` : '';
  return `in=${count(inputTokens)}${cached} out=${count(outputTokens)}`;
}

/**
 * The events of one turn without secrets, in their order, those that say something to a reader. The pieces of a message are
 * told by whole lines, as a secret may stand in two of them; `end`: what is left of one that nothing has ended.
 */
export function eventsJson() {
  let begun = '';
  const told = (end: number): object[] => {
    const text = begun.slice(0, end);
    begun = begun.slice(end);
    return text === '' ? [] : [eventJson({ kind: 'text', text, isPiece: true }) ?? []].flat();
  };
  const end = () => told(begun.length);
  return {
    push(event: AgentEvent): object[] {
      if (event.kind !== 'text' || !event.isPiece) return [...end(), eventJson(event) ?? []].flat();
      begun += event.text;
      return told(begun.lastIndexOf('\n') + 1);
    },
    end,
  };
}

/** Undefined: it says nothing to a reader. */
function eventJson(event: AgentEvent): object | undefined {
  const safe = (text: string) => redactSecrets(cleanText(text));
  switch (event.kind) {
    case 'text':
      return { type: 'text', text: safe(event.text), isPiece: event.isPiece };
    case 'reasoning':
    case 'warning':
      return { type: event.kind, text: safe(event.text) };
    case 'tool-call':
      return {
        type: event.kind,
        id: event.id,
        tool: safe(event.tool),
        input: safe(JSON.stringify(event.input)),
      };
    case 'tool-result':
      return { type: event.kind, id: event.id, isError: event.isError, text: safe(event.text) };
    case 'refused':
      return { type: event.kind, id: event.id };
    case 'usage':
      return { type: event.kind, usage: event.usage };
    case 'session':
    case 'user':
    case 'result':
      return undefined;
  }
}
