import { redactSecrets } from '../../core/redact.ts';
import type { Sqlite } from '../../database/sqlite.ts';
import type { RunSettings } from '../../settings/run-settings.ts';
import { isGone, isJudged, type ProcessIdentity } from '../../system/process-identity.ts';
import { orLogged } from '../failure-log.ts';
import { isTerminal, type Turn } from '../model/turn.ts';
import { addRunEvent } from '../store/rows.ts';
import { changeTurn, getTurn, type TurnChanges } from '../store/turns.ts';
import type { RunsWorld } from '../world.ts';

/** What a supervisor works with. */
export type Supervision = {
  readonly db: Sqlite;
  readonly world: RunsWorld;
  readonly settings: RunSettings;
  readonly self: ProcessIdentity;
  /** Whether this process was told to end. */
  readonly isShuttingDown: () => boolean;
};

/** Notes what happened to a run. A note that cannot be written is missed by nobody but the log. */
export function noteEvent(
  { runId, number }: Pick<Turn, 'runId' | 'number'>,
  type: string,
  detail: string,
  { db, world }: Supervision,
  add: typeof addRunEvent = addRunEvent,
): void {
  const event = { runId, turn: number, atMs: world.now().getTime(), actor: 'supervisor', type };
  orLogged(runId, world.paths, () => add({ ...event, detail: redactSecrets(detail) }, db));
}

/** The turn has ended, or another supervisor looks after it: this one has nothing more to say. */
export class NotOurs extends Error {}

const TRIES_MAX = 20;

/** A turn as this supervisor knows it. Only the owner changes it here, and every change is made on what stands there. */
export class TurnRow {
  readonly #db: Sqlite;
  readonly #owner: ProcessIdentity;
  #turn: Turn;
  #unstored: TurnChanges = {};

  private constructor(db: Sqlite, owner: ProcessIdentity, turn: Turn) {
    this.#db = db;
    this.#owner = owner;
    this.#turn = turn;
  }

  /** Takes a turn that has a slot and that nobody living looks after. `before`: as it was, with its last owner. */
  static take(
    { runId, number }: Pick<Turn, 'runId' | 'number'>,
    owner: ProcessIdentity,
    db: Sqlite,
  ): { readonly row: TurnRow; readonly before: Turn } | undefined {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const before = getTurn(runId, number, db);
      if (before === undefined || before.state === 'queued' || isTerminal(before.state)) return undefined;
      if (isLookedAfter(before, owner)) return undefined;
      const taken = changeTurn(before, { owner }, db);
      if (taken !== undefined) return { row: new TurnRow(db, owner, taken), before };
    }
    return undefined;
  }

  /** As it was last read. */
  get turn(): Turn {
    return this.#turn;
  }

  /** Reads what others have changed: a stop. @throws NotOurs */
  refresh(): Turn {
    const turn = getTurn(this.#turn.runId, this.#turn.number, this.#db);
    if (turn === undefined || isTerminal(turn.state) || !isSame(turn.owner, this.#owner)) {
      throw new NotOurs(`Turn ${this.#turn.number} of run "${this.#turn.runId}" is not ours any more`);
    }
    this.#turn = turn;
    return turn;
  }

  /** Changes the turn now; a stop that comes in between stands in the turn that is given back. @throws as SQLite, NotOurs */
  change(changes: Changes): Turn {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { state, ...rest } = { ...this.#unstored, ...changes(this.#turn) };
      const isNew = state !== undefined && state !== this.#turn.state;
      const changed = changeTurn(this.#turn, isNew ? { ...rest, state } : rest, this.#db);
      if (changed !== undefined) {
        this.#unstored = {};
        this.#turn = changed;
        return changed;
      }
      this.refresh();
    }
    const { number, runId } = this.#turn;
    throw new Error(`Cannot change turn ${number} of run "${runId}": it never stands still`);
  }

  /** Changes the turn now or, where the disk is full or the database locked, with the next change. @throws NotOurs */
  changeSoon(changes: Changes, onFailure: (error: unknown) => void): void {
    try {
      this.change(changes);
    } catch (error) {
      if (error instanceof NotOurs) throw error;
      this.#unstored = { ...this.#unstored, ...changes(this.#turn) };
      onFailure(error);
    }
  }
}

type Changes = (turn: Turn) => TurnChanges;

/** Or may be: whether a client in another namespace of process ids runs can only be seen from there. */
function isLookedAfter({ owner, process }: Turn, by: ProcessIdentity): boolean {
  if (process !== null && !isJudged(process)) return true;
  return owner !== null && !isSame(owner, by) && !isGone(owner);
}

function isSame(one: ProcessIdentity | null, other: ProcessIdentity): boolean {
  return one !== null && one.pid === other.pid && one.start === other.start && one.boot === other.boot;
}
