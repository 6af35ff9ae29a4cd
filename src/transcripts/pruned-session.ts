import type { CallChange } from '../clients/session-format.ts';
import { type SessionStep, turnsOf } from '../core/conversation.ts';
import type { Json } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import { cutText } from '../core/text.ts';
import type { SentRequest } from '../prune/batch.ts';
import type { Call } from '../prune/call.ts';
import { decide } from '../prune/decide.ts';
import { type Decision, prunedCall, type Rule } from '../prune/decision.ts';
import { namedPath } from '../prune/files.ts';
import { jsonChars } from '../prune/input.ts';
import { messagesOf } from '../prune/messages.ts';
import type { PruneSettings } from '../settings/prune-settings.ts';
import type { OnShare, SessionSource } from './session-source.ts';

/** Something of a call that would be shown no more. */
export type Removed = {
  readonly callId: string;
  readonly rule: Rule;
  readonly part: Decision['part'];
  readonly tool: string;
  /** What it was called for: its file, its command. */
  readonly what: string;
  readonly savedChars: number;
};

/** What all requests of a session come to, in characters. `cost`: in characters at the full price of input. */
export type Sums = {
  readonly requests: number;
  readonly sentChars: number;
  readonly againChars: number;
  readonly cost: number;
};

/** What pruning would do to a session. */
export type PrunedSession = {
  readonly calls: number;
  /** Of all that was said and done in it. */
  readonly chars: number;
  readonly removed: readonly Removed[];
  /** Its requests as they were, and as they would have been. */
  readonly asItWas: Sums;
  readonly pruned: Sums;
  /** What makes a pruned copy of it. */
  readonly change: CallChange;
};

/**
 * What pruning would do to the session: on the whole, where all goes that any rule names, and over its requests, as if it had
 * been pruned from the first one on. Holds its results in memory. @throws Error from the system when it cannot be read.
 */
export function pruneSession(
  source: SessionSource,
  settings: PruneSettings,
  onShare: OnShare,
): PrunedSession {
  const messages = messagesOf(turnsOf(stepsOf(source, onShare)));
  const at = { project: source.head.cwd ?? '', earlier: [], nowMs: Number.NaN };
  const { decisions } = decide(messages, { ...at, settings: { ...settings, cachedPriceRatio: 1 } });
  const ofCall = new Map(decisions.map((decision) => [decision.callId, decision]));
  const calls = messages.flatMap((message) => message.calls);
  const sums = (rules: PruneSettings): Sums => {
    const sums = { requests: 0, sentChars: 0, againChars: 0, cost: 0 };
    const onRequest = ({ sentChars, cachedChars, againChars }: SentRequest) => {
      sums.requests++;
      sums.sentChars += sentChars;
      sums.againChars += againChars;
      sums.cost += sentChars - (1 - rules.cachedPriceRatio) * cachedChars;
    };
    decide(messages, { ...at, settings: rules, onRequest });
    return sums;
  };
  return {
    calls: calls.length,
    chars:
      messages.reduce((sum, { chars }) => sum + chars, 0) + calls.reduce((sum, one) => sum + charsOf(one), 0),
    removed: calls.flatMap((call) => {
      const decision = ofCall.get(call.id);
      if (decision === undefined) return [];
      const { callId, rule, part, savedChars } = decision;
      return [{ callId, rule, part, tool: call.tool, what: purposeOf(call, at.project), savedChars }];
    }),
    asItWas: sums({ ...settings, ...NO_RULES }),
    pruned: sums(settings),
    change: changeBy(ofCall),
  };
}

const READ_LENGTH_MAX = 4096;
const SHOWN_LENGTH_MAX = 300;
const NO_RULES = { deduplicate: false, supersedeWrites: false, purgeErrors: false };

function* stepsOf({ client, records }: SessionSource, onShare: OnShare): Generator<SessionStep> {
  const reader = client.sessions.format.reader();
  for (const record of records(onShare)) yield* reader.read(record);
}

function charsOf({ input, output }: Call): number {
  return jsonChars(input) + output.length;
}

/** What a call was made for, in its own words, cut and without secrets; a file below the project without that. */
function purposeOf(call: Call, project: string): string {
  const path = namedPath(call);
  if (path !== undefined) return path.startsWith(`${project}/`) ? path.slice(project.length + 1) : path;
  const said = ['command', 'cmd', 'pattern', 'query', 'url', 'prompt'].map((key) => call.input[key]);
  const words = said.find((one) => typeof one === 'string' || Array.isArray(one));
  const text = Array.isArray(words) ? words.join(' ') : String(words ?? JSON.stringify(call.input));
  return cutText(redactSecrets(cutText(text, READ_LENGTH_MAX)), SHOWN_LENGTH_MAX);
}

/** Each call as its decision has it shown. */
function changeBy(decisions: ReadonlyMap<string, Decision>): CallChange {
  const shown = (id: string, input: Json, output: string) => {
    const decision = decisions.get(id);
    const call: Call = { id, tool: '', input, state: 'done', output };
    return decision === undefined ? call : prunedCall(call, decision);
  };
  return {
    input: (id, input) => (decisions.get(id)?.part === 'input' ? shown(id, input, '').input : input),
    output: (id, text) => shown(id, {}, text).output,
  };
}
