import { getProjectName } from '../core/project.ts';
import { counted, cutText, oneLine } from '../core/text.ts';
import type { Db } from '../database/connection.ts';
import { adviceOf, asShown, harmIn } from './model/fact.ts';
import type { Standing } from './model/standing.ts';
import { sharedForm } from './outgoing.ts';
import {
  type Known,
  knownOf,
  noteHandled,
  noteUnoffered,
  standingOn,
  unhandled,
  waiting,
} from './store/copy.ts';
import type { Copy } from './store/copy-file.ts';
import {
  expireOffers,
  localLessons,
  objectionHere,
  offer,
  restoreForTeam,
  tellTeamLesson,
  untellTeamLesson,
  withdrawForTeam,
} from './store/knowledge.ts';

/** What the team's history changes here: in what agents are told, and in what waits for the user's word. */

/** So many wait for a decision at a time, the best first: nobody judges a thousand. Of one author at most so many. */
const OFFERS_MAX = 50;
const OF_EACH_AUTHOR_MAX = 30;
const HANDLED_AT_ONCE = 500;
const SUMMARY_LENGTH_MAX = 200;

type Here = {
  readonly repository: string;
  readonly projects: readonly string[];
  readonly now: Date;
};

export type Changes = { told: number; withdrawn: number; offered: number };

/**
 * Carries out here what has changed in the team. Can be repeated and stopped anywhere: what is done is noted only after it
 * is stored.
 */
export function carryOut(here: Here, copy: Copy, db: Db): Changes {
  const changes = { told: 0, withdrawn: 0, offered: 0 };
  const local = ownRows(here, db);
  withdrawLearned(local, here, changes, copy, db);
  for (;;) {
    const some = unhandled(here.repository, HANDLED_AT_ONCE, copy);
    if (some.length === 0) break;
    // What only waits, and is not told here, changes nothing.
    const matters = some.filter(
      ({ about, isAccepted, withdrawn, isMine, ownOpinion }) =>
        isAccepted || withdrawn !== null || isMine || ownOpinion !== null || local.has(about),
    );
    if (matters.length > 0)
      db.sqlite.transaction(() => {
        for (const known of matters) carryOutOne(known, { ...here, local }, changes, copy, db);
      });
    noteHandled(
      some.map(({ about }) => about),
      copy,
    );
  }
  changes.offered = offerWaiting(here, copy, db);
  return changes;
}

type OwnRow = { readonly row: number; readonly isFromTeam: boolean };

/** The rows that are told here, by their id in the team. */
function ownRows({ repository, projects }: Here, db: Db): Map<string, OwnRow[]> {
  const rows = new Map<string, OwnRow[]>();
  for (const lesson of localLessons(projects, db)) {
    const about = lesson.fromTeam ?? sharedForm(lesson, repository)?.about;
    if (about === undefined) continue;
    const own = { row: lesson.row, isFromTeam: lesson.fromTeam !== undefined };
    rows.set(about, [...(rows.get(about) ?? []), own]);
  }
  return rows;
}

/** What the team has withdrawn may have been learned here since: it goes, and is not among `local` any more. */
function withdrawLearned(
  local: Map<string, OwnRow[]>,
  { now }: Here,
  changes: Changes,
  copy: Copy,
  db: Db,
): void {
  const ts = now.toISOString();
  for (const [about, rows] of local) {
    const known = knownOf(about, copy);
    if (known === undefined || known.withdrawn === null || known.isContradicted) continue;
    const { withdrawn } = known;
    db.sqlite.transaction(() => {
      for (const { row } of rows) withdrawForTeam(row, { about, withdrawn, ts }, db);
    });
    changes.withdrawn += rows.length;
    local.delete(about);
  }
}

function carryOutOne(
  known: Known,
  { projects, now, local }: Here & { readonly local: ReadonlyMap<string, readonly OwnRow[]> },
  changes: Changes,
  copy: Copy,
  db: Db,
): void {
  const ts = now.toISOString();
  const { about, withdrawn, isAccepted, isMine, isContradicted } = known;
  // A rule stands in a file of the user, who takes it out: `team status` says so.
  if (known.kind === 'rule') return;
  if (withdrawn !== null) {
    for (const { row, isFromTeam } of local.get(about) ?? []) {
      if (isContradicted && !isFromTeam) continue;
      withdrawForTeam(row, { about, withdrawn, ts }, db);
      changes.withdrawn++;
    }
    return;
  }
  const standing = standingOn(about, copy);
  if (standing === undefined || 'text' in standing.content) return;
  const { authors } = standing;
  const content = asShown(standing.content);
  const { key } = content;
  for (const projectPath of projects) restoreForTeam({ about, key, projectPath }, ts, db);
  if (isMine) return;
  if (!isAccepted || refuse(standing, copy)) {
    for (const projectPath of projects) untellTeamLesson({ about, key, projectPath }, db);
    return;
  }
  // What was withdrawn in one clone is not told by way of another.
  if (projects.some((path) => objectionHere(key, about, path, db) === 'withdrawn-here')) return;
  const lesson = { about, author: authors[0] ?? '', content, ts };
  if (local.has(about)) return;
  const outcomes = projects.map((projectPath) => tellTeamLesson({ ...lesson, projectPath }, db));
  if (outcomes.includes('told')) changes.told++;
}

/** Notes of what is harmful that it is, and returns whether it is. */
function refuse({ about, content }: Standing, copy: Copy): boolean {
  const harm = harmIn(content);
  if (harm !== undefined) noteUnoffered(about, harm, copy);
  return harm !== undefined;
}

function offerWaiting({ repository, projects, now }: Here, copy: Copy, db: Db): number {
  const [projectPath = ''] = projects;
  const offers: Standing[] = [];
  for (const about of waiting(repository, OF_EACH_AUTHOR_MAX, copy)) {
    if (offers.length === OFFERS_MAX) break;
    const standing = standingOn(about, copy);
    if (standing === undefined || refuse(standing, copy)) continue;
    const { content } = standing;
    const isKnown =
      !('text' in content) &&
      projects.some((path) => objectionHere(content.key, about, path, db) !== undefined);
    if (isKnown) noteUnoffered(about, 'known', copy);
    else offers.push(standing);
  }
  const place = { project: getProjectName(projectPath), projectPath, ts: now.toISOString() };
  db.sqlite.transaction(() => {
    for (const standing of offers) offer({ ...offerOf(standing), ...place }, db);
    expireOffers(
      projects,
      offers.map(({ about }) => about),
      db,
    );
  });
  return offers.length;
}

/** What failed so, where the error does not say it: the same finding of two checks is two lessons. */
function programOf(key: string, said: string): string {
  const [, program] = / · (.+)$/.exec(key) ?? [];
  return program === undefined || said.includes(program) ? '' : ` (${program})`;
}

function offerOf({ about, content, authors, sessions, kind }: Standing) {
  const [first = '', ...others] = authors;
  const more = others.length === 0 ? '' : ` and ${counted(others.length, 'other')}`;
  const shared = `shared in the team by ${first}${more}`;
  if ('text' in content) {
    const summary = cutText(oneLine(content.text), SUMMARY_LENGTH_MAX);
    return {
      about,
      kind,
      summary,
      evidence: shared,
      text: content.text,
      priority: authors.length,
      details: {},
    };
  }
  const { key, said, failed, helped } = asShown(content);
  const often = `it failed ${counted(failed, 'time')} and this helped ${counted(helped, 'time')}, in ${counted(sessions, 'session')}`;
  return {
    ...{ about, kind, text: adviceOf(content), priority: authors.length + Math.min(sessions, 99) / 100 },
    summary: cutText(oneLine(`${said}${programOf(key, said)}`), SUMMARY_LENGTH_MAX),
    evidence: `${shared}; ${often}`,
    details: { lesson: { errorKey: key, said, kind: 'team', confidence: 1, evidence: {} } },
  };
}
