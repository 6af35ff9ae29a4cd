import type { Db } from '../../database/connection.ts';
import { channelIn, readLedger } from '../../database/ledger.ts';
import { answerKey, type HoldOut } from '../model/coin.ts';
import { type Proof, proofOf } from '../report.ts';
import { settleNew } from '../settle-new.ts';
import type { LessonState } from '../state.ts';
import { lessonRate, listLessons } from './lesson-list.ts';

/** What is proven by now, and how many lessons are in which state. */
export type KnownProof = {
  readonly proof: Proof;
  readonly lessons: Readonly<Partial<Record<LessonState, number>>>;
};

type Asked = { readonly holdOut: HoldOut; readonly now: Date };

/** Settles what is new first. Throws what SQLite throws. */
export function settledProof({ holdOut, now }: Asked, db: Db): KnownProof {
  settleNew({ now }, db);
  const lessons: Partial<Record<LessonState, number>> = {};
  for (const { state } of listLessons(undefined, now, db)) lessons[state] = (lessons[state] ?? 0) + 1;
  return { proof: readProof({ holdOut, now }, db), lessons };
}

/** What is proven, by what is settled; only reads. */
export function readProof({ holdOut, now }: Asked, db: Db): Proof {
  const rows = db.sqlite.all('SELECT kind, channel FROM answered');
  const answered = rows.map((row) => answerKey(String(row.kind), channelIn(row)));
  return proofOf(readLedger(db), { holdOut, answered: new Set(answered), rate: lessonRate(now, db) });
}
