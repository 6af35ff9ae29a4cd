import type { Db } from '../database/connection.ts';
import { saveOutcomes } from '../database/ledger.ts';
import { newestEvent } from '../lessons/store/lesson-log.ts';
import { groupFingerprint } from './model/telling.ts';
import { applyVerdict, groupsOf, noteAnswered, restoreFound, verdictsOn } from './store/lessons-told.ts';
import { changedOutcomes, noteSettled, treesToSettle } from './store/outcomes.ts';

/**
 * Settles the outcomes of all trees of which something has come in, then withdraws, quiets and wakes lessons and notes what
 * is answered. Can be repeated, and stopped anywhere: what is not done is done the next time, and nothing twice. Holds
 * the database for nothing but writing. Not for a hook that somebody waits for. Throws what SQLite throws.
 */
export function settleNew({ now }: { readonly now: Date }, db: Db): void {
  const newest = newestEvent(db); // Before anything is read: what comes in meanwhile is settled the next time.
  const trees = treesToSettle(now, db);
  for (const tree of trees) settleTree(tree, now, db);
  const groups = trees.flatMap((tree) => groupsOf(tree, db));
  for (const group of new Map(groups.map((one) => [groupFingerprint(one), one])).values()) {
    const verdicts = verdictsOn(group, now, db);
    db.sqlite.transaction(() => {
      for (const verdict of verdicts) applyVerdict(verdict, now, db);
    });
  }
  db.sqlite.transaction(() => {
    if (trees.length > 0) noteAnswered(now, db);
    restoreFound(now, db);
    noteSettled(newest, db);
  });
}

const ATTEMPTS_MAX = 3;

/** Another process may settle the same tree: what it has found since this one has looked is not overwritten. */
function settleTree(tree: number, now: Date, db: Db): void {
  for (let attempt = 1; ; attempt++) {
    const seen = newestEvent(db);
    const outcomes = changedOutcomes(tree, now, db);
    const isSaved = db.sqlite.transaction(() => {
      if (newestEvent(db) !== seen && attempt < ATTEMPTS_MAX) return false;
      saveOutcomes(outcomes, db);
      return true;
    });
    if (isSaved) return;
  }
}
