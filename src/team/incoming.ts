import { getProjectName } from '../core/project.ts';
import { counted, cutText, oneLine } from '../core/text.ts';
import type { Db } from '../database/connection.ts';
import { adviceOf, harmIn } from './model/fact.ts';
import type { Standing } from './model/standing.ts';
import { sharedForm } from './outgoing.ts';
import {
  type Copy,
  type Known,
  noteHandled,
  noteHarm,
  standingOn,
  unhandled,
  waiting,
} from './store/copy.ts';
import {
  expireOffers,
  localLessons,
  offer,
  restoreForTeam,
  tellTeamLesson,
  untellTeamLesson,
  withdrawForTeam,
} from './store/knowledge.ts';

/** What the team's history changes here: in what agents are told, and in what waits for the user's word. */

/** So many wait for a decision at a time, the best first: nobody judges a thousand. */
const OFFERS_MAX = 50;
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
  for (;;) {
    const some = unhandled(here.repository, HANDLED_AT_ONCE, copy);
    if (some.length === 0) break;
    // What only waits changes nothing that is told.
    const matters = some.filter(
      ({ isAccepted, withdrawn, isMine, ownOpinion }) =>
        isAccepted || withdrawn !== null || isMine || ownOpinion !== null,
    );
    if (matters.length > 0) {
      const local = ownRows(here, db);
      db.sqlite.transaction(() => {
        for (const known of matters) carryOutOne(known, { ...here, local }, changes, copy, db);
      });
    }
    noteHandled(
      some.map(({ about }) => about),
      copy,
    );
  }
  changes.offered = offerWaiting(here, copy, db);
  return changes;
}

/** The rows that are told here, by their id in the team. */
function ownRows({ repository, projects }: Here, db: Db): Map<string, number[]> {
  const rows = new Map<string, number[]>();
  for (const lesson of localLessons(projects, db)) {
    const about = lesson.fromTeam ?? sharedForm(lesson, repository)?.about;
    if (about !== undefined) rows.set(about, [...(rows.get(about) ?? []), lesson.row]);
  }
  return rows;
}

function carryOutOne(
  known: Known,
  { projects, now, local }: Here & { readonly local: ReadonlyMap<string, number[]> },
  changes: Changes,
  copy: Copy,
  db: Db,
): void {
  const ts = now.toISOString();
  const { about, withdrawn, isAccepted, isMine } = known;
  if (known.kind === 'rule') return;
  if (withdrawn !== null) {
    for (const row of local.get(about) ?? []) {
      withdrawForTeam(row, withdrawn, ts, db);
      changes.withdrawn++;
    }
    return;
  }
  const standing = standingOn(about, copy);
  if (standing === undefined || 'text' in standing.content) return;
  const { content, authors } = standing;
  for (const projectPath of projects) {
    restoreForTeam(content.key, projectPath, ts, db);
    if (isMine) continue;
    if (!isAccepted) untellTeamLesson(about, content.key, projectPath, db);
    else if (refuse(standing, copy) === undefined) {
      const author = authors[0] ?? '';
      if (local.has(about)) continue;
      if (tellTeamLesson({ about, author, content, projectPath, ts }, db) === 'told') changes.told++;
    }
  }
}

/** Notes of what is harmful that it is; undefined where it is not. */
function refuse({ about, content }: Standing, copy: Copy): string | undefined {
  const harm = harmIn(content);
  if (harm !== undefined) noteHarm(about, harm, copy);
  return harm;
}

function offerWaiting({ repository, projects, now }: Here, copy: Copy, db: Db): number {
  const [projectPath = ''] = projects;
  const known = new Set(localLessons(projects, db).map(({ key }) => key));
  const offered: string[] = [];
  const ts = now.toISOString();
  db.sqlite.transaction(() => {
    // Of what is harmful or known here the next ones take the place.
    for (let looked = OFFERS_MAX; offered.length < OFFERS_MAX; looked *= 2) {
      const all = waiting(repository, looked, copy);
      for (const { about } of all) {
        if (offered.length >= OFFERS_MAX || offered.includes(about)) continue;
        const standing = standingOn(about, copy);
        if (standing === undefined || refuse(standing, copy) !== undefined) continue;
        if (!('text' in standing.content) && known.has(standing.content.key)) continue;
        offer({ ...offerOf(standing), project: getProjectName(projectPath), projectPath, ts }, db);
        offered.push(about);
      }
      if (all.length < looked) break;
    }
    expireOffers(projects, offered, db);
  });
  return offered.length;
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
  const { key, said, failed, helped } = content;
  const often = `it failed ${counted(failed, 'time')} and this helped ${counted(helped, 'time')}, in ${counted(sessions, 'session')}`;
  return {
    ...{ about, kind, text: adviceOf(content), priority: authors.length + Math.min(sessions, 99) / 100 },
    summary: cutText(oneLine(`${said}: ${adviceOf(content)}`), SUMMARY_LENGTH_MAX),
    evidence: `${shared}; ${often}`,
    details: { lesson: { errorKey: key, said, kind: 'team', confidence: 1, evidence: {} } },
  };
}
