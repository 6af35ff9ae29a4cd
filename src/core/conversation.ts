/** What was said and done in a session of a client, as each client's reader gives it, in the order of its store. */

/** A picture, of which only its size is kept. */
export type Picture = { readonly mediaType: string; readonly bytes: number };

/** How a command ended, as its client says it beside the output. */
export type CommandEnd = {
  /** Null as long as it runs, or where nobody saw its end. */
  readonly code: number | null;
  /** What it printed, without the words of the client. */
  readonly printed: string;
  /** By what the client calls it later, as long as it runs. */
  readonly process?: string | undefined;
};

/**
 * One thing that was said or done. `ts`: when, ISO 8601 in UTC, where the store says it. `answer`: the answer of the model that
 * it is a part of, where the store may tell of its calls' results before it has told of all its calls.
 */
export type SessionEntry = { readonly ts?: string | undefined; readonly answer?: string | undefined } & Said;

type Said =
  /** The user's own words; a turn begins with them. */
  | { readonly kind: 'prompt'; readonly text: string; readonly pictures: readonly Picture[] }
  | { readonly kind: 'answer'; readonly text: string }
  /** `input`: what the tool was given, JSON, or text where the tool takes text. */
  | { readonly kind: 'call'; readonly id: string; readonly tool: string; readonly input: string }
  | {
      readonly kind: 'result';
      readonly id: string;
      readonly text: string;
      readonly isError: boolean;
      readonly end?: CommandEnd | undefined;
      readonly pictures: readonly Picture[];
    }
  /** What the client has put in: instructions, reminders, the output of its own commands. */
  | { readonly kind: 'system'; readonly text: string }
  /** From here on the model has had this in place of what stands before. */
  | { readonly kind: 'compaction'; readonly summary: string };

/** What a record of a store says: an entry, or something about those before. */
export type SessionStep =
  | SessionEntry
  /** The user went back: only so many turns still count. */
  | { readonly kind: 'back-to'; readonly turns: number }
  /** All that was said so far is said anew behind this. */
  | { readonly kind: 'anew' }
  /** It begins with another session's records, those before the number `before`. */
  | { readonly kind: 'fork'; readonly sessionId: string; readonly before: number };

/** A turn: what the user said, and what followed. The first one may begin without words of the user. */
export type Turn = readonly SessionEntry[];

/** The turns to which the steps lead. */
export function turnsOf(steps: Iterable<SessionStep>): Turn[] {
  let turns: SessionEntry[][] = [];
  for (const step of steps) {
    if (step.kind === 'fork') continue;
    if (step.kind === 'anew') turns = [];
    else if (step.kind === 'back-to') turns.length = Math.min(turns.length, step.turns);
    else addEntry(step, turns);
  }
  return turns;
}

/** Adds what was said or done next; a prompt begins a turn. */
export function addEntry(entry: SessionEntry, turns: SessionEntry[][]): void {
  const turn = turns.at(-1);
  if (entry.kind === 'prompt' || turn === undefined) {
    turns.push([entry]);
    return;
  }
  // The answer in which the model wrote the summary says nothing more.
  const last = turn.at(-1);
  if (entry.kind === 'compaction' && last?.kind === 'answer' && entry.summary.endsWith(last.text)) turn.pop();
  turn.push(entry);
}

/** Of a data URL, or undefined. */
export function pictureIn(url: string): Picture | undefined {
  const [head, mediaType = ''] = /^data:([^;,]+);base64,/.exec(url) ?? [];
  return head === undefined ? undefined : pictureOf(mediaType, url.slice(head.length));
}

/** Of its bytes in base64. */
export function pictureOf(mediaType: string, base64: string): Picture {
  const padding = /=*$/.exec(base64.slice(-2))?.[0].length ?? 0;
  return { mediaType, bytes: Math.max(0, Math.floor((base64.length * 3) / 4) - padding) };
}
