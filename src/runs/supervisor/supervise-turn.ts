import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import type { Conclusion, TurnReader } from '../../clients/client.ts';
import { endClient, findClient, type LiveClient, STDERR_BYTES_MAX } from '../../clients/client-process.ts';
import { clientNamed } from '../../clients/clients.ts';
import { reasonOf } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cutText, oneLine } from '../../core/text.ts';
import { GrowingFile, readTail } from '../../system/growing-file.ts';
import type { Exit } from '../../system/process-identity.ts';
import { logRunFailure } from '../failure-log.ts';
import type { Run } from '../model/run.ts';
import { type TurnFiles, turnFiles } from '../model/run.ts';
import type { Ending, Stop, Turn } from '../model/turn.ts';
import { NO_USAGE } from '../model/turn.ts';
import { changeRun, getRun } from '../store/runs.ts';
import { checkpoint } from '../world.ts';
import { enterStart, launchTurn, sessionOf, timeoutOf, usageBefore } from './launch.ts';
import { TurnEffects } from './turn-effects.ts';
import { type ClientEnd, endingOf, endingWithout } from './turn-ending.ts';
import { NotOurs, noteEvent, type Supervision, type TurnRow } from './turn-row.ts';
import { OUTPUT_BYTES_MAX, TurnWatch } from './turn-watch.ts';

/** How long the end of a client that was killed may take to be told. */
const EXIT_WAIT_MS = 2000;
/** The model that was asked for, and then the client's own. Never a third. */
const TRIES_MAX = 2;
const WARNING_LENGTH_MAX = 1000;

export type TurnEnd = {
  readonly ending: Ending;
  readonly run: Run;
  /** Whether somebody looked after the client to its end; a turn that was only found ended starts nothing more. */
  readonly wasWatched: boolean;
  /** Its model was refused, and nothing was done. */
  readonly isModelRefused: boolean;
};

/** One turn from where it stands to how it ended. What is written down of that end is the caller's. @throws NotOurs */
export async function superviseTurn(row: TurnRow, before: Turn, supervision: Supervision): Promise<TurnEnd> {
  let found: Turn | undefined = before.launchedAtMs === null ? undefined : before;
  for (let tries = 1; ; tries++) {
    const run = runOf(row.turn, supervision);
    const end = await new TurnSupervisor(row, run, supervision).comeToEnd(found);
    found = undefined;
    if (tries >= TRIES_MAX || !isRetried(end, row, supervision)) return end;
  }
}

/** A refused model has done nothing: once, and written down before it is, the client's own is tried. */
function isRetried(
  { run, ending, isModelRefused }: TurnEnd,
  row: TurnRow,
  supervision: Supervision,
): boolean {
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
  noteEvent(row.turn, 'model refused', words, supervision);
  checkpoint('after-model-refused', supervision.world.env);
  return true;
}

/** The run of a turn. @throws Error when there is none. */
export function runOf({ runId }: Turn, { db }: Supervision): Run {
  const found = getRun(runId, db);
  if (found === undefined) throw new Error(`Cannot look after run "${runId}": there is no such run`);
  return found.run;
}

/** One try at a turn. */
class TurnSupervisor {
  readonly #row: TurnRow;
  readonly #supervision: Supervision;
  readonly #files: TurnFiles;
  readonly #notes: string[] = [];
  readonly #effects: TurnEffects;

  constructor(row: TurnRow, run: Run, supervision: Supervision) {
    this.#row = row;
    this.#supervision = supervision;
    this.#files = turnFiles(supervision.world.paths, run.id, row.turn.number);
    this.#effects = new TurnEffects(row, run, supervision);
  }

  /** The client's end, and ours. `found`: the turn as the supervisor before left it, when it had launched the client. */
  async comeToEnd(found: Turn | undefined): Promise<TurnEnd> {
    const ending = found === undefined ? this.#begin() : this.#goOn(found);
    const end = await ending.finally(() => this.#effects.end());
    // Not when this throws: of a client that still runs, for another supervisor, it would be taken away.
    rmSync(this.#files.home, { recursive: true, force: true });
    return end;
  }

  async #begin(): Promise<TurnEnd> {
    if (this.#row.turn.stop !== null) return this.#without('stopped before it started');
    let launched: Awaited<ReturnType<typeof launchTurn>>;
    try {
      launched = await launchTurn(this.#row, this.#effects.run, this.#files, this.#supervision);
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
    noteEvent(before, 'taken over', found.kind, this.#supervision);
    checkpoint('after-find', this.#supervision.world.env);
    if (found.kind === 'alive') {
      enterStart(this.#row, this.#effects.run, found.client, this.#supervision);
      return this.#watch(found.client);
    }
    if (found.kind === 'gone') await this.#sweep(null);
    return this.#concludeUnseen(found.kind);
  }

  async #watch(client: LiveClient): Promise<TurnEnd> {
    const { reader, output } = this.#openOutput();
    const { turn } = this.#row;
    const { settings } = this.#supervision;
    const idleMs = turn.kind === 'announce' ? 0 : settings.idleTimeoutSeconds * 1000;
    const limits = { runMs: timeoutOf(turn, this.#effects.run, this.#supervision), idleMs };
    const watch = new TurnWatch({
      ...{ client, reader, output, errors: this.#files.errors, limits, turn },
      effects: this.#effects,
    });
    try {
      const watched = await watch.follow();
      checkpoint(`after-${watched.kind}`, this.#supervision.world.env);
      const stop = watched.kind === 'stop' ? this.#enterStop(watched.stop) : this.#row.turn.stop;
      if (watched.kind === 'lingers')
        this.#notes.push('the client did not end after its result, and was ended');
      checkpoint('before-signals', this.#supervision.world.env);
      await this.#sweep(client);
      checkpoint('after-signals', this.#supervision.world.env);
      const exit = await watch.drain(EXIT_WAIT_MS);
      const conclusion = this.#conclude(reader, watched.kind === 'lingers' ? null : exit);
      return this.#ended({ conclusion, exit, stop }, true);
    } finally {
      output.close();
    }
  }

  /** The reason that came first; it counts even where it cannot be written down. */
  #enterStop(reached: Omit<Stop, 'atMs'> | 'in the row'): Stop | null {
    const own = reached === 'in the row' ? null : { ...reached, atMs: this.#nowMs() };
    const change = () => this.#row.change((now) => ({ state: 'stopping', stop: now.stop ?? own })).stop;
    try {
      return change();
    } catch (error) {
      if (error instanceof NotOurs) throw error;
      logRunFailure(this.#effects.run.id, error, this.#supervision.world.paths);
      return this.#row.turn.stop ?? own;
    }
  }

  /** What can be said of a client whose end nobody saw: what it wrote. */
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
    const end = { ...seen, notes: [...this.#notes, ...this.#effects.notes()], endedAtMs: this.#nowMs() };
    const isModelRefused = seen.stop === null && seen.conclusion.isModelRefused;
    const ending = endingOf(end, this.#supervision.settings.prices);
    return { ending, run: this.#effects.run, wasWatched, isModelRefused };
  }

  #without(error: string): TurnEnd {
    const turn = { stop: this.#row.turn.stop, usage: NO_USAGE };
    const ending = endingWithout(turn, { outcome: 'error', error, endedAtMs: this.#nowMs() });
    return { ending, run: this.#effects.run, wasWatched: true, isModelRefused: false };
  }

  #openOutput() {
    const { turn } = this.#row;
    const session = sessionOf(turn, this.#effects.run) ?? { kind: 'new' as const, id: '' };
    const reader: TurnReader = clientNamed(this.#effects.run.client).reader({
      session,
      before: usageBefore(turn, this.#supervision),
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
    noteEvent(turn, 'survivors', words, this.#supervision);
  }

  #lastActivity(): string {
    const modified = statSync(this.#files.output, { throwIfNoEntry: false });
    if (modified === undefined || modified.size === 0) return 'it had written nothing';
    return `its last output is of ${modified.mtime.toISOString()}`;
  }

  #nowMs(): number {
    return this.#supervision.world.now().getTime();
  }
}
