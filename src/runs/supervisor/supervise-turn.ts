import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Conclusion, TurnReader } from '../../clients/client.ts';
import { endClient, findClient, STDERR_BYTES_MAX } from '../../clients/client-process.ts';
import { clientNamed } from '../../clients/clients.ts';
import { TEXT_LENGTH_MAX } from '../../clients/reading.ts';
import { reasonOf } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cutText, oneLine } from '../../core/text.ts';
import type { ModelPrice } from '../../settings/run-settings.ts';
import { GrowingFile, readTail } from '../../system/lines.ts';
import type { Exit } from '../../system/process-identity.ts';
import { isAway } from '../model/pool-role.ts';
import { type Run, type TurnFiles, turnFiles } from '../model/run.ts';
import { priced } from '../model/stats.ts';
import { type Ending, NO_USAGE, NOTHING_SAID, type Outcome, type Stop, type Turn } from '../model/turn.ts';
import { type AwayEnding, type AwayTurn, withAwayEnding } from '../pool/away-ending.ts';
import { worksAway } from '../pool/spec.ts';
import { changeRun, getRun } from '../store/runs.ts';
import { logRunFailure } from '../world.ts';
import {
  enterStart,
  launchAway,
  launchTurn,
  sessionOf,
  timeoutOf,
  usageBefore,
  type Working,
} from './launch.ts';
import { SHUT_DOWN, type TurnEffects, turnEffects } from './turn-effects.ts';
import { NotOurs, type TurnRow } from './turn-row.ts';
import { AFTER_RESULT_MS, OUTPUT_BYTES_MAX, TurnWatch } from './turn-watch.ts';

/** How long to wait for the exit of a client that was killed. */
const EXIT_WAIT_MS = 2000;
/** How long to wait until a client on another machine has ended. */
const GRACE_AWAY_MS = 20_000;
/** The model that was asked for, and then the client's own. */
const TRIES_MAX = 2;
const WARNING_LENGTH_MAX = 1000;

export type TurnEnd = {
  readonly ending: Ending;
  readonly run: Run;
  /** Whether a supervisor watched the client to its end; a turn that was only found ended starts nothing more. */
  readonly wasWatched: boolean;
  /** The client refused its model before it did anything. */
  readonly isModelRefused: boolean;
};

/** Supervises a turn from its present state to its end, which the caller has to store. @throws NotOurs */
export async function superviseTurn(row: TurnRow, before: Turn): Promise<TurnEnd> {
  let found: Turn | undefined = before.launchedAtMs === null ? undefined : before;
  for (let tries = 1; ; tries++) {
    const run = runOf(row);
    const end = await comeToEnd(row, run, found);
    found = undefined;
    if (tries >= TRIES_MAX || !isRetried(end, run, row)) return end;
  }
}

/** Prepares a second try with the client's own model, in the session before, if the model was refused; false if there is none. */
function isRetried({ run, ending, isModelRefused }: TurnEnd, { sessionId }: Run, row: TurnRow): boolean {
  const { supervision } = row;
  const { db } = supervision;
  const model = run.model.resolved;
  // For another machine, that tries again: what this one has written is on its way already.
  if (run.pool?.kind === 'served') return false;
  if (!isModelRefused || model === null || row.refresh().stop !== null) return false;
  const words = `the model "${model}" was refused, so ${run.client} used its own: ${ending.error}`;
  // A secret that was cut in two would not be seen as one.
  const safe = redactSecrets(oneLine(run.warning === null ? words : `${run.warning}; ${words}`));
  const warning = cutText(safe, WARNING_LENGTH_MAX);
  db.transaction(() => {
    changeRun(run.id, { model: { resolved: null }, warning, sessionId }, db);
    row.change(() => ({ launchedAtMs: null, process: null, usage: NO_USAGE }));
  });
  supervision.note(row.turn, 'model refused', words);
  supervision.checkpoint('after-model-refused');
  return true;
}

/** The run of a turn. @throws Error when there is none. */
export function runOf({ turn: { runId }, supervision }: TurnRow): Run {
  const found = getRun(runId, supervision.db);
  if (found === undefined) throw new Error(`Cannot supervise run "${runId}": there is no such run`);
  return found.run;
}

/** One try at a turn. `notes`: for the announcement. */
type Try = {
  readonly row: TurnRow;
  readonly files: TurnFiles;
  readonly effects: TurnEffects;
  readonly notes: string[];
};

/** `found`: the turn as the supervisor before left it, if that had launched the client. */
async function comeToEnd(row: TurnRow, run: Run, found: Turn | undefined): Promise<TurnEnd> {
  const files = turnFiles(row.supervision.world.paths, run.id, row.turn.number);
  const one: Try = { row, files, effects: turnEffects(row, run), notes: [] };
  const ending = found === undefined || isAway(run) ? begin(one, found) : goOn(found, one);
  const end = await ending.finally(() => one.effects.end());
  // Not when this throws: a client that still runs for another supervisor needs it. What came from another machine is not
  // there again, so it stays until the end is stored.
  if (!isAway(end.run)) rmSync(files.home, { recursive: true, force: true });
  return end;
}

/** `found`: as above; what works on another machine is found there. */
async function begin(one: Try, found: Turn | undefined): Promise<TurnEnd> {
  const { row, effects, files } = one;
  const { run } = effects;
  const hasBegun = found !== undefined;
  if (!hasBegun && row.supervision.isShuttingDown() && row.turn.stop === null) {
    if (isAway(run)) throw new NotOurs('the next supervisor begins it');
    const stop = { ...SHUT_DOWN, atMs: row.supervision.nowMs() };
    row.change((now) => ({ stop: now.stop ?? stop }));
  }
  if (row.turn.stop !== null && !hasBegun) return without('stopped before it started', one);
  if (hasBegun) row.supervision.note(found, 'taken over', 'on its way in the pool');
  let launched: Awaited<ReturnType<typeof launchTurn>>;
  try {
    launched = await (worksAway(run) ? launchAway(row, run, files, hasBegun) : launchTurn(row, run, files));
  } catch (error) {
    if (error instanceof NotOurs) throw error;
    return without(reasonOf(error), one);
  }
  if (launched === undefined) return without('stopped before it started', one);
  effects.run = launched.run;
  return watch(launched.client, one);
}

async function goOn(before: Turn, one: Try): Promise<TurnEnd> {
  const { row, effects, files } = one;
  const found = findClient(before, files);
  row.supervision.note(before, 'taken over', found.kind);
  row.supervision.checkpoint('after-find');
  if (found.kind === 'alive') {
    const client = { ...found.client, away: null };
    enterStart(row, effects.run, client);
    return watch(client, one);
  }
  if (found.kind === 'gone') await sweep(null, one);
  return concludeUnseen(found.kind, one);
}

async function watch(client: Working, one: Try): Promise<TurnEnd> {
  const { row, effects, files, notes } = one;
  const { turn, supervision } = row;
  const { reader, output } = openOutput(one);
  // A plan is silent while something is looked up for it.
  const isElsewhere = isAway(effects.run);
  const maySayNothing = turn.kind === 'announce' || isElsewhere || effects.run.profile?.kind === 'plan';
  const idleMs = maySayNothing ? 0 : supervision.settings.idleTimeoutSeconds * 1000;
  // What it has changed may come long after its result.
  const lingerMs = isElsewhere ? 0 : AFTER_RESULT_MS;
  const limits = { runMs: timeoutOf(row, effects.run), idleMs, lingerMs };
  const { errors } = files;
  const watch = new TurnWatch({ client, reader, output, errors, limits, turn, effects });
  try {
    const watched = await watch.follow();
    supervision.checkpoint(`after-${watched.kind}`);
    const stop = watched.kind === 'stop' ? enterStop(watched.stop, one) : row.turn.stop;
    if (watched.kind === 'lingers') notes.push('the client did not end after its result, and was ended');
    supervision.checkpoint('before-signals');
    const there = client.away === null ? await sweep(client, one) : await endAway(client.away);
    supervision.checkpoint('after-signals');
    const exit = await watch.drain(EXIT_WAIT_MS);
    const conclusion = conclude(reader, watched.kind === 'lingers' ? null : exit, one);
    // A client that keeps to a budget itself may have ended at the limit before this could.
    const over = stop === null && conclusion.outcome !== 'success' ? effects.overLimit() : undefined;
    const limited = over === undefined ? stop : enterStop({ reason: 'limit', by: over }, one);
    return ended({ conclusion, exit, stop: limited, there }, true, one);
  } catch (error) {
    if (client.away !== null && !(error instanceof NotOurs)) await endAway(client.away);
    throw error;
  } finally {
    output.close();
  }
}

/** Stores why the client is stopped; returns the first reason, also if it cannot be stored. */
function enterStop(reached: Omit<Stop, 'atMs'> | 'in the row', { row, effects }: Try): Stop | null {
  const { supervision } = row;
  const own = reached === 'in the row' ? null : { ...reached, atMs: supervision.nowMs() };
  try {
    return row.change((now) => ({ state: 'stopping', stop: now.stop ?? own })).stop;
  } catch (error) {
    if (error instanceof NotOurs) throw error;
    logRunFailure(effects.run.id, error, supervision.world.paths);
    return row.turn.stop ?? own;
  }
}

/** Concludes from the output of a client whose exit nobody saw. */
async function concludeUnseen(found: 'gone' | 'other boot', one: Try): Promise<TurnEnd> {
  const { reader, output } = openOutput(one);
  try {
    const take = (line: string) => {
      for (const event of reader.read(line)) one.effects.onEvent(event);
    };
    await output.readRemaining(take, OUTPUT_BYTES_MAX);
  } finally {
    output.close();
  }
  const said = conclude(reader, null, one);
  const error = 'the system was started anew while the client ran';
  const conclusion: Conclusion =
    found === 'gone' ? said : { ...said, outcome: 'unknown', error, isModelRefused: false };
  if (conclusion.outcome !== 'success') one.notes.push(lastActivity(one));
  return ended({ conclusion, exit: null, stop: one.row.turn.stop, there: undefined }, false, one);
}

function conclude(reader: TurnReader, exit: Exit | null, { effects, files, notes }: Try): Conclusion {
  const conclusion = reader.conclude(exit, readTail(files.errors, STDERR_BYTES_MAX));
  effects.enterConclusion(conclusion);
  // The cut may have left out half of a letter.
  if ((conclusion.text?.length ?? 0) >= TEXT_LENGTH_MAX - 1)
    notes.push(`the answer is longer than ${TEXT_LENGTH_MAX} characters, and ends there`);
  return conclusion;
}

function ended(
  seen: Pick<ClientEnd, 'conclusion' | 'exit' | 'stop'> & { readonly there: AwayEnding | undefined },
  wasWatched: boolean,
  { row: { supervision }, effects, notes }: Try,
): TurnEnd {
  const end = { ...seen, notes: [...notes, ...effects.notes()], endedAtMs: supervision.nowMs() };
  const isModelRefused = seen.stop === null && seen.conclusion.isModelRefused;
  const here = endingOf(end, supervision.settings.prices);
  const ending = isAway(effects.run) ? withAwayEnding(here, seen.there, seen.stop !== null) : here;
  return { ending, run: effects.run, wasWatched, isModelRefused };
}

function without(error: string, { row, effects }: Try): TurnEnd {
  const turn = { stop: row.turn.stop, usage: NO_USAGE };
  const ending = endingWithout(turn, { outcome: 'error', error, endedAtMs: row.supervision.nowMs() });
  return { ending, run: effects.run, wasWatched: true, isModelRefused: false };
}

function openOutput({ row, effects: { run }, files }: Try) {
  const session = sessionOf(row.turn, run) ?? { kind: 'new' as const, id: '' };
  const reader = clientNamed(run.client).reader({
    session,
    before: usageBefore(row),
    model: run.model.resolved,
  });
  closeSync(openSync(files.output, 'a', 0o600)); // Somebody may have removed it.
  return { reader, output: new GrowingFile(files.output) };
}

/** Ends the client, and all that came from it; what could not be ended is noted. */
async function sweep(
  client: Pick<Working, 'identity'> | null,
  { row, effects, files, notes }: Try,
): Promise<undefined> {
  const { politeSignal } = clientNamed(effects.run.client);
  const { survivors } = await endClient(client?.identity ?? null, files, politeSignal);
  if (survivors.length === 0) return;
  const words = `could not be ended: ${survivors.map((pid) => `process ${pid}`).join(', ')}`;
  notes.push(words);
  row.supervision.note(row.turn, 'survivors', words);
}

/** Has it stopped there, unless it has ended; undefined when nothing was heard of that for long. */
async function endAway({ ended, stop }: AwayTurn): Promise<AwayEnding | undefined> {
  stop();
  return await Promise.race([ended, sleep(GRACE_AWAY_MS, undefined, { ref: false })]);
}

function lastActivity({ files }: Try): string {
  const modified = statSync(files.output, { throwIfNoEntry: false });
  if (modified === undefined || modified.size === 0) return 'it had written nothing';
  return `its last output is of ${modified.mtime.toISOString()}`;
}

/** How a client ended; `exit`: null when nobody saw it, `stop`: why it was stopped, if it was. */
type ClientEnd = Pick<Ending, 'exit' | 'notes' | 'endedAtMs'> & {
  readonly conclusion: Conclusion;
  readonly stop: Stop | null;
};

/** How the turn ended. A stop counts, however well the client ended. */
export function endingOf(end: ClientEnd, prices: readonly ModelPrice[]): Ending {
  const { conclusion, stop, ...rest } = end;
  const { outcome, text: result, error } = conclusion;
  const seen = { ...rest, result, usage: priced(conclusion.usage, prices) };
  if (stop !== null) return { ...seen, outcome: OUTCOME_OF_STOP[stop.reason], error: null };
  return { ...seen, outcome: outcome === 'unknown' ? 'lost' : outcome, error };
}

/** The ending of a turn whose client was not started, or left nothing. */
export function endingWithout(
  { stop, usage }: Pick<Turn, 'stop' | 'usage'>,
  { outcome, error, endedAtMs }: Pick<Ending, 'outcome' | 'error' | 'endedAtMs'>,
): Ending {
  const ending = stop === null ? { outcome, error } : { outcome: OUTCOME_OF_STOP[stop.reason] };
  return { ...NOTHING_SAID, usage, endedAtMs, ...ending };
}

const OUTCOME_OF_STOP: Readonly<Record<Stop['reason'], Outcome>> = {
  ...{ requested: 'stopped', shutdown: 'stopped', timeout: 'timeout', idle: 'timeout' },
  ...{ budget: 'error', limit: 'error' },
};
