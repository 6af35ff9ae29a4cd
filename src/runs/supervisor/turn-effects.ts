import type { AgentEvent, Conclusion } from '../../clients/client.ts';
import { turnPermissions } from '../model/permissions.ts';
import type { Run } from '../model/run.ts';
import { priced } from '../model/stats.ts';
import type { Turn, Usage } from '../model/turn.ts';
import { type BudgetShare, judgeBudget } from '../store/limits.ts';
import { dataVersion } from '../store/rows.ts';
import { changeRun } from '../store/runs.ts';
import { RefusedCalls } from '../workspace/refused-calls.ts';
import { FailureRecorder } from '../workspace/tool-failures.ts';
import { logRunFailure, orLogged } from '../world.ts';
import type { Supervision, TurnRow } from './turn-row.ts';

/** So many warnings of a client are logged in one turn. */
const WARNINGS_MAX = 10;

/** What a client's output causes. Failed writes are logged and do not end the turn; everything can be repeated by a later supervisor. */
export class TurnEffects {
  readonly #row: TurnRow;
  readonly #supervision: Supervision;
  readonly #failures: FailureRecorder;
  readonly #refused: RefusedCalls;
  /** With what became known of it. */
  run: Run;
  #dataVersion: number | undefined;
  #shares: readonly BudgetShare[] | undefined;
  #isNearBudget = false;
  readonly #warnings = new Set<string>();
  #isUnstoredSaid = false;

  constructor(row: TurnRow, run: Run) {
    this.#row = row;
    this.run = run;
    this.#supervision = row.supervision;
    this.#failures = new FailureRecorder(run, row.supervision.world.paths);
    this.#refused = new RefusedCalls({ ...run, permissions: turnPermissions(run, row.turn) });
  }

  /** Flushes what is buffered. */
  end(): void {
    this.#failures.flush();
  }

  nowMs(): number {
    return this.#supervision.nowMs();
  }

  /** Notes for the announcement. */
  notes(): string[] {
    return this.#refused.notes(this.#supervision.settings.tools.permitted);
  }

  onEvent(event: AgentEvent): void {
    this.#refused.observe(event);
    if (event.kind === 'tool-call' || event.kind === 'tool-result') this.#failures.observe(event);
    else if (event.kind === 'session') this.#enterSession(event.id, event.model);
    else if (event.kind === 'warning') this.#enterWarning(event.text);
    else if (event.kind === 'result') this.#supervision.checkpoint('after-result');
  }

  /** Stores what is known only at the end. */
  enterConclusion({ sessionId, usage }: Conclusion): void {
    const known = this.run.sessionId ?? sessionId;
    if (known !== null) this.#enterSession(known, this.run.model.observed ?? usage.model);
  }

  /** Why the usage so far exceeds a budget; undefined if it does not. */
  overBudget(usage: Usage): string | undefined {
    this.#shares ??= this.#orLogged(() => this.#supervision.sharesOf(this.run, this.#row.turn)) ?? [];
    const verdict = judgeBudget(this.#shares, priced(usage, this.#supervision.settings.prices));
    if (verdict.kind === 'exceeded') return verdict.words;
    if (verdict.kind === 'near' && !this.#isNearBudget) {
      this.#isNearBudget = true;
      this.onWarning(verdict.words);
    }
    return undefined;
  }

  /** The turn as it is in the database; undefined if the database has not changed since the last call. */
  turnIfChanged(): Turn | undefined {
    const { db, isShuttingDown } = this.#supervision;
    if (isShuttingDown() && this.#row.turn.stop === null) {
      const by = 'the end of its supervisor';
      const stop = { reason: 'shutdown', by, atMs: this.nowMs() } as const;
      return this.#row.change((turn) => ({ stop: turn.stop ?? stop }));
    }
    const version = dataVersion(db);
    if (version === this.#dataVersion) return undefined;
    this.#dataVersion = version;
    return this.#row.refresh();
  }

  /** Stores the usage; false if it cannot be written now. */
  store(said: Usage): boolean {
    const usage = priced(said, this.#supervision.settings.prices);
    const error = this.#row.changeSoon(() => ({ usage }));
    // Once: it is tried again each second.
    if (error !== undefined && !this.#isUnstoredSaid) {
      this.#isUnstoredSaid = true;
      logRunFailure(this.run.id, error, this.#supervision.world.paths);
    }
    this.#shares = undefined; // What other runs have used is read again.
    this.#supervision.checkpoint('after-progress');
    return error === undefined;
  }

  onWarning(words: string): void {
    // Once for each turn, also with several supervisors one after another.
    this.#supervision.note(this.#row.turn, 'warning', words, { once: true });
  }

  #enterWarning(words: string): void {
    if (this.#warnings.has(words) || this.#warnings.size >= WARNINGS_MAX) return;
    this.#warnings.add(words);
    this.onWarning(words);
  }

  /** The session of the first turn is the run's; later turns go on in it. */
  #enterSession(id: string, model: string | null): void {
    const { run } = this;
    const sessionId = this.#row.turn.kind === 'task' ? id : run.sessionId;
    const observed = model ?? run.model.observed;
    if (sessionId === run.sessionId && observed === run.model.observed) return;
    this.run = { ...run, sessionId, model: { ...run.model, observed } };
    const changes = { sessionId, model: { observed } };
    this.#orLogged(() => changeRun(this.run.id, changes, this.#supervision.db));
  }

  #orLogged<T>(work: () => T): T | undefined {
    return orLogged(this.run.id, this.#supervision.world.paths, work);
  }
}
