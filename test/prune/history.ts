import type { Json } from '../../src/core/guards.ts';
import type { Call, Message } from '../../src/prune/call.ts';
import { type DecideOptions, decide } from '../../src/prune/decide.ts';
import { type Decision, prunedCall } from '../../src/prune/decision.ts';
import { jsonChars } from '../../src/prune/input.ts';
import { readSection } from '../../src/settings/hook-settings.ts';
import { PRUNE_SETTINGS, type PruneSettings } from '../../src/settings/prune-settings.ts';

export const SETTINGS: PruneSettings = readSection(PRUNE_SETTINGS, {}).prune;
export const PROJECT = '/home/dev/project';

/** A text of so many characters that differs with its seed. */
export function text(seed: string, length = 1000): string {
  return `${seed} ${'.'.repeat(length)}`.slice(0, length);
}

/** What OpenCode's read shows of a file with these lines, numbered from `first`. */
export function shown(lines: readonly string[], { first = 1, isWhole = true } = {}): string {
  const numbered = lines.map((line, index) => `${index + first}: ${line}`).join('\n');
  const end = isWhole
    ? `(End of file - total ${lines.length} lines)`
    : `(Showing lines ${first}-${first + lines.length - 1} of 900. Use offset=${first + lines.length} to continue.)`;
  return `<path>${PROJECT}/a.ts</path>\n<type>file</type>\n<content>\n${numbered}\n\n${end}\n</content>`;
}

type Made = Partial<Omit<Call, 'input'>> & { readonly input?: Json };

export function call(id: string, made: Made = {}): Call {
  return { id, tool: 'bash', input: { command: 'ls' }, state: 'done', output: text('listing'), ...made };
}

export function read(id: string, version: string, filePath = 'a.ts'): Call {
  return call(id, { tool: 'read', input: { filePath }, output: shown([text(version)]) });
}

export function edit(id: string, filePath = 'a.ts'): Call {
  const input = { filePath, oldString: text('old', 400), newString: text('new', 400) };
  return call(id, { tool: 'edit', input, output: 'Edit applied successfully.' });
}

export function write(id: string, version: string, filePath = 'a.ts'): Call {
  const input = { filePath, content: text(version) };
  return call(id, { tool: 'write', input, output: 'Wrote file successfully.' });
}

export const PROMPT: Message = { by: 'user', chars: 100, calls: [] };

/** An answer with these calls. */
export function answer(...calls: readonly Call[]): Message {
  return { by: 'model', chars: 50, calls };
}

/** A prompt, and an answer for each of the calls. */
export function session(...calls: readonly Call[]): Message[] {
  return [PROMPT, ...calls.map((one) => answer(one))];
}

type Asked = Partial<Omit<DecideOptions, 'settings'>> & { readonly settings?: Partial<PruneSettings> };

export function decided(messages: readonly Message[], { settings, ...asked }: Asked = {}) {
  const options = { earlier: [], project: PROJECT, nowMs: 0, ...asked };
  return decide(messages, { ...options, settings: { ...SETTINGS, ...settings } });
}

/** The same where nothing is cached, so that nothing waits: `rule of call → anchor`. */
export function decidedAtOnce(messages: readonly Message[], settings: Partial<PruneSettings> = {}): string[] {
  const { decisions } = decided(messages, { settings: { cachedPriceRatio: 1, ...settings } });
  return decisions.map(
    ({ rule, callId, anchor }) => `${rule} ${callId}${anchor === null ? '' : ` → ${anchor}`}`,
  );
}

/** The messages as they are shown under the decisions. */
export function pruned(messages: readonly Message[], decisions: readonly Decision[]): Message[] {
  const decisionOf = new Map(decisions.map((decision) => [decision.callId, decision]));
  return messages.map((message) => ({
    ...message,
    calls: message.calls.map((one) => {
      const decision = decisionOf.get(one.id);
      return decision === undefined ? one : { ...one, ...prunedCall(one, decision) };
    }),
  }));
}

/** What stands in a request, piece by piece: its text as a name, and how many characters it has. */
export function piecesOf(messages: readonly Message[]): (readonly [name: string, chars: number])[] {
  return messages.flatMap(({ chars, calls }, index) => [
    [`message ${index}`, chars] as const,
    ...calls.map(({ input }) => [JSON.stringify(input), jsonChars(input)] as const),
    ...calls.map(({ output }) => [output, output.length] as const),
  ]);
}
