import type { AgentEvent, Conclusion } from '../../clients/client.ts';
import { turnPermissions } from '../model/permissions.ts';
import { isAway } from '../model/pool-role.ts';
import { limitReached, workCounter } from '../model/profile.ts';
import type { Run } from '../model/run.ts';
import { priced } from '../model/stats.ts';
import type { Turn, Usage } from '../model/turn.ts';
import { reconcile } from '../reconcile.ts';
import { type BudgetShare, judgeBudget } from '../store/limits.ts';
import { dataVersion } from '../store/rows.ts';
import { changeRun } from '../store/runs.ts';
import { refusedCalls } from '../workspace/refused-calls.ts';
import { failureRecorder } from '../workspace/tool-failures.ts';
import { logRunFailure, orLogged } from '../world.ts';
import { beginsSession, isLastAnswer } from './launch.ts';
import { NotOurs, type TurnRow } from './turn-row.ts';

/** So many warnings of a client are logged in one turn. */
const WARNINGS_MAX = 10;

/** Why a client is stopped whose supervisor has to end. */
export const SHUT_DOWN = { reason: 'shutdown', by: 'the end of its supervisor' } as const;

export type TurnEffects = ReturnType<typeof turnEffects>;

/** What a client's output causes. Failed writes are logged and do not end the turn; everything can be repeated by a later supervisor. */
export function turnEffects(row: TurnRow, accepted: Run) {
  const { supervision } = row;
  const { db, world, settings } = supervision;
  const failures = failureRecorder(accepted, world.paths);
  const refused = refusedCalls({ ...accepted, permissions: turnPermissions(accepted, row.turn) });
  const warnings = new Set<string>();
  const counter = workCounter();
  /** It only puts into words what was found before a limit was reached: no limit but its time is its own. */
  const isPlan = accepted.profile?.kind === 'plan';
  const isLast = isLastAnswer(row.turn, accepted);
  let run = accepted;
  let knownVersion: number | undefined;
  let shares: readonly BudgetShare[] | undefined;
  let isNearBudget = false;
  let isUnstoredSaid = false;

  const logged = <T>(work: () => T) => orLogged(accepted.id, world.paths, work);
  // Once for each turn, also with several supervisors one after another.
  const onWarning = (words: string) => supervision.note(row.turn, 'warning', words, { once: true });
  const enterWarning = (words: string) => {
    if (warnings.has(words) || warnings.size >= WARNINGS_MAX) return;
    warnings.add(words);
    onWarning(words);
  };
  /** The session of the first turn that has one is the run's; later turns go on in it. */
  const enterSession = (id: string, model: string | null) => {
    const sessionId = beginsSession(row.turn, run) ? id : run.sessionId;
    const observed = model ?? run.model.observed;
    if (sessionId === run.sessionId && observed === run.model.observed) return;
    run = { ...run, sessionId, model: { ...run.model, observed } };
    logged(() => changeRun(run.id, { sessionId, model: { observed } }, db));
  };

  return {
    onWarning,
    nowMs: supervision.nowMs,
    /** Flushes what is buffered. */
    end: failures.flush,
    /** With what became known of it. */
    get run(): Run {
      return run;
    },
    set run(changed: Run) {
      run = changed;
    },
    /** Notes for the announcement. */
    notes: (): string[] => refused.notes(settings.tools.permitted),
    onEvent(event: AgentEvent): void {
      refused.observe(event);
      counter.observe(
        event.kind === 'usage' ? { ...event, usage: priced(event.usage, settings.prices) } : event,
      );
      if (event.kind === 'tool-call' || event.kind === 'tool-result') failures.observe(event);
      else if (event.kind === 'session') enterSession(event.id, event.model);
      else if (event.kind === 'warning') enterWarning(event.text);
      else if (event.kind === 'result') supervision.checkpoint('after-result');
    },
    /** Stores what is known only at the end. */
    enterConclusion({ sessionId, usage }: Conclusion): void {
      const known = run.sessionId ?? sessionId;
      if (known !== null) enterSession(known, run.model.observed ?? usage.model);
    },
    /** Which limit of its profile the turn has gone beyond; undefined if none. */
    overLimit: (): string | undefined =>
      accepted.profile === null || isLast ? undefined : limitReached(accepted.profile.limits, counter.work()),
    /** Why the usage so far exceeds a budget; undefined if it does not. */
    overBudget(usage: Usage): string | undefined {
      if (isLast) return undefined;
      shares ??= logged(() => supervision.sharesOf(run, row.turn)) ?? [];
      const verdict = judgeBudget(shares, priced(usage, settings.prices));
      if (verdict.kind === 'exceeded') return verdict.words;
      if (verdict.kind === 'near' && !isNearBudget) {
        isNearBudget = true;
        onWarning(verdict.words);
      }
      return undefined;
    },
    /** The turn as it is in the database; undefined if the database has not changed since the last call. */
    turnIfChanged(): Turn | undefined {
      if (supervision.isShuttingDown() && row.turn.stop === null) {
        // The other machine works on: whoever supervises next is told what came of it.
        if (isAway(run)) throw new NotOurs('the next supervisor goes on with it');
        const stop = { ...SHUT_DOWN, atMs: supervision.nowMs() };
        return row.change((turn) => ({ stop: turn.stop ?? stop }));
      }
      const version = dataVersion(db);
      if (version === knownVersion) return undefined;
      knownVersion = version;
      if (isPlan) reconcile(world); // It may have asked for something to be looked up, which is started from here.
      return row.refresh();
    },
    /** Stores the usage; false if it cannot be written now. */
    store(said: Usage): boolean {
      const usage = priced(said, settings.prices);
      const error = row.changeSoon(() => ({ usage }));
      // Once: it is tried again each second.
      if (error !== undefined && !isUnstoredSaid) {
        isUnstoredSaid = true;
        logRunFailure(run.id, error, world.paths);
      }
      shares = undefined; // What other runs have used is read again.
      supervision.checkpoint('after-progress');
      return error === undefined;
    },
  };
}
