import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import type { Conclusion, TurnReader } from '../../clients/client.ts';
import { endClient, findClient, type LiveClient, STDERR_BYTES_MAX } from '../../clients/client-process.ts';
import { clientNamed } from '../../clients/clients.ts';
import { reasonOf } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cutText, oneLine } from '../../core/text.ts';
import type { ModelPrice } from '../../settings/run-settings.ts';
import { GrowingFile, readTail } from '../../system/lines.ts';
import type { Exit } from '../../system/process-identity.ts';
import { type Run, type TurnFiles, turnFiles } from '../model/run.ts';
import { priced } from '../model/stats.ts';
import { type Ending, NO_USAGE, NOTHING_SAID, type Outcome, type Stop, type Turn } from '../model/turn.ts';
import { changeRun, getRun } from '../store/runs.ts';
import { logRunFailure } from '../world.ts';
import { enterStart, launchTurn, sessionOf, timeoutOf, usageBefore } from './launch.ts';
import { TurnEffects } from './turn-effects.ts';
import { NotOurs, type Supervision, type TurnRow } from './turn-row.ts';
import { OUTPUT_BYTES_MAX, TurnWatch } from './turn-watch.ts';

/** How long to wait for the exit of a client that was killed. */
const EXIT_WAIT_MS = 2000;
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
    const end = await new TurnSupervisor(row, run).comeToEnd(found);
    found = undefined;
    if (tries >= TRIES_MAX || !isRetried(end, row)) return end;
  }
}

/** Prepares a second try with the client's own model, if the model was refused; false if there is none. */
function isRetried({ run, ending, isModelRefused }: TurnEnd, row: TurnRow): boolean {
  const { supervision } = row;
  const { db } = supervision;
  const model = run.model.resolved;
  if (!isModelRefused || model === null || row.refresh().stop !== null) return false;
  const words = `the model "${model}" was refused, so ${run.client} used its own: ${ending.error}`;
  // A secret that was cut in two would not be seen as one.
  const safe = redactSecrets(oneLine(run.warning === null ? words : `${run.warning}; ${words}`));
  const warning = cutText(safe, WARNING_LENGTH_MAX);
  db.transaction(() => {
    changeRun(run.id, { model: { resolved: null }, warning }, db);
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

/** One try at a turn. */
class TurnSupervisor {
  readonly #row: TurnRow;
  readonly #supervision: Supervision;
  readonly #files: TurnFiles;
  readonly #notes: string[] = [];
  readonly #effects: TurnEffects;

  constructor(row: TurnRow, run: Run) {
    this.#row = row;
    this.#supervision = row.supervision;
    this.#files = turnFiles(row.supervision.world.paths, run.id, row.turn.number);
    this.#effects = new TurnEffects(row, run);
  }

  /** `found`: the turn as the supervisor before left it, if that had launched the client. */
  async comeToEnd(found: Turn | undefined): Promise<TurnEnd> {
    const ending = found === undefined ? this.#begin() : this.#goOn(found);
    const end = await ending.finally(() => this.#effects.end());
    // Not when this throws: a client that still runs for another supervisor needs it.
    rmSync(this.#files.home, { recursive: true, force: true });
    return end;
  }

  async #begin(): Promise<TurnEnd> {
    if (this.#row.turn.stop !== null) return this.#without('stopped before it started');
    let launched: Awaited<ReturnType<typeof launchTurn>>;
    try {
      launched = await launchTurn(this.#row, this.#effects.run, this.#files);
    } catch (error) {
      if (error instanceof NotOurs) throw error;
      return this.#without(reasonOf(error));
    }
    if (launched === undefined) return this.#without('stopped before it started');
    this.#effects.run = launched.run;
    return this.#watch(launched.client);
  }

  async #goOn(before: Turn): Promise<TurnEnd> {
    const found = findClient(before, this.#files);
    this.#supervision.note(before, 'taken over', found.kind);
    this.#supervision.checkpoint('after-find');
    if (found.kind === 'alive') {
      enterStart(this.#row, this.#effects.run, found.client);
      return this.#watch(found.client);
    }
    if (found.kind === 'gone') await this.#sweep(null);
    return this.#concludeUnseen(found.kind);
  }

  async #watch(client: LiveClient): Promise<TurnEnd> {
    const { reader, output } = this.#openOutput();
    const { turn } = this.#row;
    const effects = this.#effects;
    const idleMs = turn.kind === 'announce' ? 0 : this.#supervision.settings.idleTimeoutSeconds * 1000;
    const limits = { runMs: timeoutOf(this.#row, effects.run), idleMs };
    const { errors } = this.#files;
    const watch = new TurnWatch({ client, reader, output, errors, limits, turn, effects });
    try {
      const watched = await watch.follow();
      this.#supervision.checkpoint(`after-${watched.kind}`);
      const stop = watched.kind === 'stop' ? this.#enterStop(watched.stop) : this.#row.turn.stop;
      if (watched.kind === 'lingers')
        this.#notes.push('the client did not end after its result, and was ended');
      this.#supervision.checkpoint('before-signals');
      await this.#sweep(client);
      this.#supervision.checkpoint('after-signals');
      const exit = await watch.drain(EXIT_WAIT_MS);
      const conclusion = this.#conclude(reader, watched.kind === 'lingers' ? null : exit);
      return this.#ended({ conclusion, exit, stop }, true);
    } finally {
      output.close();
    }
  }

  /** Stores why the client is stopped; returns the first reason, also if it cannot be stored. */
  #enterStop(reached: Omit<Stop, 'atMs'> | 'in the row'): Stop | null {
    const own = reached === 'in the row' ? null : { ...reached, atMs: this.#supervision.nowMs() };
    try {
      return this.#row.change((now) => ({ state: 'stopping', stop: now.stop ?? own })).stop;
    } catch (error) {
      if (error instanceof NotOurs) throw error;
      logRunFailure(this.#effects.run.id, error, this.#supervision.world.paths);
      return this.#row.turn.stop ?? own;
    }
  }

  /** Concludes from the output of a client whose exit nobody saw. */
  async #concludeUnseen(found: 'gone' | 'other boot'): Promise<TurnEnd> {
    const { reader, output } = this.#openOutput();
    try {
      const take = (line: string) => {
        for (const event of reader.read(line)) this.#effects.onEvent(event);
      };
      await output.readRemaining(take, OUTPUT_BYTES_MAX);
    } finally {
      output.close();
    }
    const said = this.#conclude(reader, null);
    const error = 'the system was started anew while the client ran';
    const conclusion: Conclusion =
      found === 'gone' ? said : { ...said, outcome: 'unknown', error, isModelRefused: false };
    if (conclusion.outcome !== 'success') this.#notes.push(this.#lastActivity());
    return this.#ended({ conclusion, exit: null, stop: this.#row.turn.stop }, false);
  }

  #conclude(reader: TurnReader, exit: Exit | null): Conclusion {
    const conclusion = reader.conclude(exit, readTail(this.#files.errors, STDERR_BYTES_MAX));
    this.#effects.enterConclusion(conclusion);
    return conclusion;
  }

  #ended(seen: Pick<ClientEnd, 'conclusion' | 'exit' | 'stop'>, wasWatched: boolean): TurnEnd {
    const notes = [...this.#notes, ...this.#effects.notes()];
    const end = { ...seen, notes, endedAtMs: this.#supervision.nowMs() };
    const isModelRefused = seen.stop === null && seen.conclusion.isModelRefused;
    const ending = endingOf(end, this.#supervision.settings.prices);
    return { ending, run: this.#effects.run, wasWatched, isModelRefused };
  }

  #without(error: string): TurnEnd {
    const turn = { stop: this.#row.turn.stop, usage: NO_USAGE };
    const ending = endingWithout(turn, { outcome: 'error', error, endedAtMs: this.#supervision.nowMs() });
    return { ending, run: this.#effects.run, wasWatched: true, isModelRefused: false };
  }

  #openOutput() {
    const { turn } = this.#row;
    const session = sessionOf(turn, this.#effects.run) ?? { kind: 'new' as const, id: '' };
    const reader: TurnReader = clientNamed(this.#effects.run.client).reader({
      session,
      before: usageBefore(this.#row),
      model: this.#effects.run.model.resolved,
    });
    closeSync(openSync(this.#files.output, 'a', 0o600)); // Somebody may have removed it.
    return { reader, output: new GrowingFile(this.#files.output) };
  }

  async #sweep(client: LiveClient | null): Promise<void> {
    const { turn } = this.#row;
    const { politeSignal } = clientNamed(this.#effects.run.client);
    const { survivors } = await endClient(client, this.#files, politeSignal);
    if (survivors.length === 0) return;
    const words = `could not be ended: ${survivors.map((pid) => `process ${pid}`).join(', ')}`;
    this.#notes.push(words);
    this.#supervision.note(turn, 'survivors', words);
  }

  #lastActivity(): string {
    const modified = statSync(this.#files.output, { throwIfNoEntry: false });
    if (modified === undefined || modified.size === 0) return 'it had written nothing';
    return `its last output is of ${modified.mtime.toISOString()}`;
  }
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
  ...{ requested: 'stopped', shutdown: 'stopped', timeout: 'timeout', idle: 'timeout', budget: 'error' },
};
