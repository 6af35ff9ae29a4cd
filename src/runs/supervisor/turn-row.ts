import { redactSecrets } from '../../core/redact.ts';
import type { Sqlite } from '../../database/sqlite.ts';
import { loadRunSettings } from '../../settings/run-settings.ts';
import {
  identityNow,
  isGone,
  isJudged,
  isSameIdentity,
  type ProcessIdentity,
} from '../../system/process-identity.ts';
import type { Run } from '../model/run.ts';
import { isTerminal, type Turn } from '../model/turn.ts';
import type { BeginAwayTurn } from '../pool/away-ending.ts';
import { sharesOf } from '../store/limits.ts';
import { addRunEvent } from '../store/rows.ts';
import { changeTurn, getTurn, type TurnChanges } from '../store/turns.ts';
import { checkpoint, orLogged, type RunsWorld, type TurnKey } from '../world.ts';

export type Supervision = ReturnType<typeof supervisionOf>;

/** What asks other machines: loaded for a turn that works on one. */
export type LoadAway = () => Promise<BeginAwayTurn>;

/** What a supervisor works with. `isShuttingDown`: whether it was told to end. */
export function supervisionOf(
  db: Sqlite,
  world: RunsWorld,
  { isShuttingDown, loadAway }: { readonly isShuttingDown: () => boolean; readonly loadAway: LoadAway },
) {
  const settings = loadRunSettings(world.paths);
  const nowMs = () => world.now().getTime();
  return {
    ...{ db, world, settings, isShuttingDown, loadAway, nowMs, self: identityNow(process.pid) },
    /** Kills this process if a test names this checkpoint. */
    checkpoint: (place: string) => checkpoint(place, world.env),
    /** Adds an event to the run's log; a failure of that is logged. */
    note({ runId, number }: TurnKey, type: string, detail: string, how?: { readonly once: boolean }) {
      const event = { runId, turn: number, atMs: nowMs(), actor: 'supervisor', type };
      const said = { ...event, detail: redactSecrets(detail) };
      orLogged(runId, world.paths, () => addRunEvent(said, db, how));
    },
    /** The budget limits that are set, with what all turns but this one have taken. */
    sharesOf: (run: Run, turn: Turn) => sharesOf({ run, turn, nowMs: nowMs() }, settings.budget, db),
  };
}

/** The turn has ended, or another supervisor has taken it over. */
export class NotOurs extends Error {}

const TRIES_MAX = 20;

/** The row of a turn that this supervisor owns. */
export class TurnRow {
  readonly supervision: Supervision;
  #turn: Turn;
  #unstored: TurnChanges = {};

  private constructor(supervision: Supervision, turn: Turn) {
    this.supervision = supervision;
    this.#turn = turn;
  }

  /** Takes over a turn that has a slot and no living supervisor. `before`: the turn with its last owner. */
  static take(
    { runId, number }: TurnKey,
    supervision: Supervision,
  ): { readonly row: TurnRow; readonly before: Turn } | undefined {
    const { self: owner, db } = supervision;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const before = getTurn(runId, number, db);
      if (before === undefined || before.state === 'queued' || isTerminal(before.state)) return undefined;
      if (isSupervised(before, owner)) return undefined;
      const taken = changeTurn(before, { owner }, db);
      if (taken !== undefined) return { row: new TurnRow(supervision, taken), before };
    }
    return undefined;
  }

  /** As it was last read. */
  get turn(): Turn {
    return this.#turn;
  }

  /** Reads what others have changed: a stop. @throws NotOurs */
  refresh(): Turn {
    const turn = getTurn(this.#turn.runId, this.#turn.number, this.supervision.db);
    if (turn === undefined || isTerminal(turn.state) || !isSameIdentity(turn.owner, this.supervision.self))
      throw new NotOurs(`Turn ${this.#turn.number} of run "${this.#turn.runId}" is not ours any more`);
    this.#turn = turn;
    return turn;
  }

  /** Changes the turn; the returned turn has a stop that came in between. @throws Error from SQLite, NotOurs */
  change(changes: Changes): Turn {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { state, ...rest } = { ...this.#unstored, ...changes(this.#turn) };
      const isNew = state !== undefined && state !== this.#turn.state;
      const changed = changeTurn(this.#turn, isNew ? { ...rest, state } : rest, this.supervision.db);
      if (changed !== undefined) {
        this.#unstored = {};
        this.#turn = changed;
        return changed;
      }
      this.refresh();
    }
    const { number, runId } = this.#turn;
    throw new Error(
      `Cannot change turn ${number} of run "${runId}": another process changes it again and again`,
    );
  }

  /** Changes the turn now or with the next change; returns the error if the database cannot be written now. @throws NotOurs */
  changeSoon(changes: Changes): unknown {
    try {
      this.change(changes);
      return undefined;
    } catch (error) {
      if (error instanceof NotOurs) throw error;
      this.#unstored = { ...this.#unstored, ...changes(this.#turn) };
      return error;
    }
  }
}

type Changes = (turn: Turn) => TurnChanges;

/** Also true for a client in another namespace of process ids, which can only be seen from there. */
function isSupervised({ owner, process }: Turn, by: ProcessIdentity): boolean {
  if (process !== null && !isJudged(process)) return true;
  return owner !== null && !isSameIdentity(owner, by) && !isGone(owner);
}
