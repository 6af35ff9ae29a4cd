import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_NAMES, type ClientName } from '../core/client-name.ts';
import { isRecord, type Json, lookOr, parseJson, readRecords, readString } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../system/atomic-file.ts';
import { readRegularFile } from '../system/files.ts';
import { type Decision, RULES } from './decision.ts';

/** What was decided for a session, and what came of it. */
export type Pruned = {
  readonly client: ClientName;
  readonly sessionId: string;
  readonly directory: string;
  /** The user wants all of it to be shown. */
  readonly isOff: boolean;
  /** Those that held in the newest request. */
  readonly decisions: readonly Decision[];
  readonly requests: number;
  /** Of all requests together: what they said, without the system's part, and by how much they were shorter. */
  readonly sentChars: number;
  readonly savedChars: number;
  /** What a provider had cached, and had to read again because something before it had changed. */
  readonly readAgainChars: number;
  /** When the newest request was made, ISO 8601 in UTC. */
  readonly updatedAt: string;
};

/** A new decision as it may be kept, and so has to be applied: of a failed call its placeholder quotes the input. */
export function keepable(decision: Decision): Decision {
  if (decision.rule !== 'purge-errors') return decision;
  return { ...decision, placeholder: redactSecrets(decision.placeholder) };
}

type Place = Pick<StatePaths, 'pruned'>;

const VERSION = 1;
const KEPT_MS = 90 * 24 * 3_600_000;
/** Each request changes what was counted, few of them what was decided, which may be much: so it stands in a file of its own. */
const ENDING = '.json';
const COUNTS_ENDING = '.counts.json';
const COUNTS = ['requests', 'sentChars', 'savedChars', 'readAgainChars'] as const;

/** What is kept of a session; undefined where nothing is, or what nobody here can read. Never throws. */
export function readPruned(place: Place, sessionId: string): Pruned | undefined {
  const path = fileOf(place, sessionId);
  const pruned = path === undefined ? undefined : readFrom(path);
  return pruned?.sessionId === sessionId ? pruned : undefined;
}

/** What is another text once somebody has written what is kept of the session. Never throws. */
export function stampOf(place: Place, sessionId: string): string {
  const path = fileOf(place, sessionId);
  if (path === undefined) return '';
  return [path, countsOf(path)]
    .map((one) => lookOr(() => statSync(one, { throwIfNoEntry: false }), undefined))
    .map((file) => `${file?.ino} ${file?.mtimeMs}`) // Each writing makes another file.
    .join(' ');
}

/**
 * Keeps it in place of what was kept of the session; `before`: that, where it is known. With a new session, those that are
 * 90 days old go. @throws Error that names the path.
 */
export function writePruned(place: Place, pruned: Pruned, nowMs: number, before?: Pruned): void {
  const path = fileOf(place, pruned.sessionId);
  if (path === undefined)
    throw new Error(`Cannot keep what was pruned: "${pruned.sessionId}" is no session's id`);
  ensurePrivateDirectory(place.pruned);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) removeOld(place, nowMs);
  // A request waits for it, and what is lost is decided again.
  const write = (path: string, text: object) =>
    writeFileAtomic(path, `${JSON.stringify({ version: VERSION, ...text })}\n`, { isDurable: false });
  const { client, sessionId, directory, isOff, decisions, ...counts } = pruned;
  const isSame =
    before?.isOff === isOff &&
    before.decisions.length === decisions.length &&
    before.decisions.every((decision, at) => decision === decisions[at]);
  if (!isSame) write(path, { client, sessionId, directory, isOff, decisions });
  write(countsOf(path), counts);
}

/** What is kept of all sessions, the newest first. Never throws. */
export function allPruned(place: Place): Pruned[] {
  const all = filesIn(place).flatMap((path) => readFrom(path) ?? []);
  return all.sort((left, right) => (left.updatedAt < right.updatedAt ? 1 : -1));
}

/** Undefined for what may be no name of a file. */
function fileOf({ pruned }: Place, sessionId: string): string | undefined {
  return /^[\w-]{1,128}$/.test(sessionId) ? join(pruned, `${sessionId}${ENDING}`) : undefined;
}

function countsOf(path: string): string {
  return `${path.slice(0, -ENDING.length)}${COUNTS_ENDING}`;
}

function filesIn({ pruned }: Place): string[] {
  const names = lookOr(() => readdirSync(pruned), []);
  const own = names.filter((name) => name.endsWith(ENDING) && !name.endsWith(COUNTS_ENDING));
  return own.map((name) => join(pruned, name));
}

function removeOld(place: Place, nowMs: number): void {
  for (const path of filesIn(place)) {
    const both = [path, countsOf(path)];
    const modifiedMs = both.map((one) => statSync(one, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (nowMs - Math.max(...modifiedMs) > KEPT_MS) for (const one of both) rmSync(one, { force: true });
  }
}

function jsonOf(path: string): Json | undefined {
  const found = parseJson(lookOr(() => readRegularFile(path), undefined) ?? '');
  return isRecord(found) && found.version === VERSION ? found : undefined;
}

function readFrom(path: string): Pruned | undefined {
  const found = jsonOf(path);
  if (found === undefined) return undefined;
  const counted = jsonOf(countsOf(path)) ?? {};
  const client = CLIENT_NAMES.find((name) => name === found.client);
  const [sessionId, directory] = [readString(found, 'sessionId'), readString(found, 'directory')];
  const updatedAt = readString(counted, 'updatedAt') ?? new Date(0).toISOString();
  if (client === undefined || sessionId === undefined || directory === undefined) return undefined;
  const [requests = 0, sentChars = 0, savedChars = 0, readAgainChars = 0] = COUNTS.map((name) =>
    count(counted, name),
  );
  const decisions = readRecords(found.decisions).filter(isDecision);
  const isOff = found.isOff === true;
  const counts = { requests, sentChars, savedChars, readAgainChars };
  return { client, sessionId, directory, isOff, decisions, ...counts, updatedAt };
}

function count(found: Json, name: string): number {
  const value = found[name];
  return typeof value === 'number' && value >= 0 ? value : 0;
}

function isDecision(found: Json): found is Json & Decision {
  const { callId, rule, part, placeholder, savedChars, anchor } = found;
  return (
    [callId, placeholder].every((text) => typeof text === 'string') &&
    RULES.some((one) => one === rule) &&
    (part === 'output' || part === 'input') &&
    typeof savedChars === 'number' &&
    (anchor === null || typeof anchor === 'string')
  );
}
