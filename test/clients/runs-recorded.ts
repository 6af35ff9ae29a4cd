import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { AgentEvent, Client, Conclusion, TurnSession } from '../../src/clients/client.ts';
import { isRecord, type Json, parseJson } from '../../src/core/guards.ts';
import { NO_USAGE, type Usage } from '../../src/runs/model/turn.ts';
import type { Exit } from '../../src/system/process-identity.ts';

/** A turn of a real client as it was recorded; paths and ports are not those of the machine. */
export type RecordedTurn = {
  readonly session: Extract<TurnSession, { readonly id: string }>;
  readonly exit: Exit;
  readonly stdout: string;
  readonly stderr: string;
};

export type ReadTurn = { readonly events: readonly AgentEvent[]; readonly conclusion: Conclusion };

const EXIT_WELL: Exit = { code: 0, signal: null };
const NEW: RecordedTurn['session'] = { kind: 'new', id: '11111111-1111-4111-8111-111111111111' };

/** The recording of this name. */
export function recordedTurn(name: string): RecordedTurn {
  const path = join(import.meta.dir, '..', 'fixtures', 'runs', `${name}.json`);
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** A turn that said these lines and ended well, unless said otherwise. */
export function saidTurn(lines: readonly object[], rest: Partial<RecordedTurn> = {}): RecordedTurn {
  const stdout = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  return { session: NEW, exit: EXIT_WELL, stderr: '', stdout, ...rest };
}

/** The lines of a recording, as objects. */
export function linesOf({ stdout }: RecordedTurn): Json[] {
  return stdout.split('\n').map(parseJson).filter(isRecord);
}

/** What the client's reader makes of a turn. */
export function readTurn(client: Client, turn: RecordedTurn, before: Usage = NO_USAGE): ReadTurn {
  const reader = client.reader({ session: turn.session, before });
  const events = turn.stdout.split('\n').flatMap((line) => [...reader.read(line)]);
  return { events, conclusion: reader.conclude(turn.exit, turn.stderr) };
}

/** The first lines of a turn that was cut off then, whose end nobody saw. */
export function cutTurn(turn: RecordedTurn, lineCount: number): RecordedTurn {
  const lines = turn.stdout.split('\n').slice(0, lineCount);
  return { ...turn, stdout: lines.join('\n'), exit: { code: null, signal: 'SIGKILL' }, stderr: '' };
}

/** Lines of a client as they must never be: its own with anything in their places, and what is no line at all. */
export function strangeLines(known: readonly Json[]): fc.Arbitrary<string> {
  const changed = fc
    .tuple(fc.constantFrom(...known), fc.nat(), fc.jsonValue())
    .map(([line, seed, value]) => JSON.stringify(replaceSomewhere(line, seed, value)));
  return fc.oneof(
    changed,
    fc.json(),
    fc.string(),
    fc.constantFrom('{', '{}', '[]', 'null', '{"type":1}', '{"type":{"toString":{}}}', '\u0000'),
  );
}

/** The value in the place of one of those within. */
function replaceSomewhere(value: unknown, seed: number, replacement: unknown): unknown {
  if (typeof value !== 'object' || value === null) return replacement;
  const keys = Object.keys(value);
  const chosen = keys[seed % Math.max(keys.length, 1)];
  if (chosen === undefined || seed % 5 === 0) return replacement;
  const copy: Record<string, unknown> = { ...value };
  copy[chosen] = replaceSomewhere(copy[chosen], Math.floor(seed / 2), replacement);
  return copy;
}
