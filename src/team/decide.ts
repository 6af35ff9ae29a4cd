import type { StatePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { loadTrust } from '../settings/team-settings.ts';
import { asShown, harmIn } from './model/fact.ts';
import { knownByPrefix, standingOn } from './store/copy.ts';
import { withCopy } from './store/copy-file.ts';
import { clonesOf, teamPrefix, tellTeamLesson, untellAll } from './store/knowledge.ts';

/** What a user's decision on a lesson of the team changes here at once; the team hears of it with the next sync. */

type TeamPlan =
  | {
      readonly kind: 'ready';
      readonly key: string;
      /** Whether agents are told it now; otherwise once those whose word counts have accepted it. */
      readonly isToldNow: boolean;
      readonly store: (ts: string, db: Db) => void;
    }
  | { readonly kind: 'refused'; readonly reason: string };

/** Plans what applying does: reads what is there, changes nothing. `projectPath`: where it was offered. */
export function planTeamLesson(
  suggestionId: string,
  projectPath: string,
  paths: StatePaths,
): Promise<TeamPlan> {
  const refused = (reason: string) => ({ kind: 'refused', reason }) as const;
  return withCopy(paths, (copy) => {
    const [known, ...others] = knownByPrefix(teamPrefix(suggestionId), copy);
    const standing = known && standingOn(known.about, copy);
    if (standing === undefined || others.length > 0)
      return refused('it is not in the copy of what the team shares; "team sync" fetches it');
    const { about, authors, withdrawn } = standing;
    const content = 'text' in standing.content ? standing.content : asShown(standing.content);
    if (withdrawn !== null)
      return refused(`${withdrawn.by} has withdrawn it in the team: ${withdrawn.reason}`);
    if ('text' in content || harmIn(content) !== undefined)
      return refused('it is shaped like an instruction to an agent');
    const isToldNow = loadTrust(paths) === 'me';
    const store = (ts: string, db: Db) => {
      if (!isToldNow) return;
      const lesson = { about, author: authors[0] ?? '', content, ts };
      const outcomes = clonesOf([projectPath], db).map((path) =>
        tellTeamLesson({ ...lesson, projectPath: path }, db),
      );
      if (!outcomes.includes('told')) throw new Error(WHY_NOT[outcomes[0] ?? 'known'] ?? WHY_NOT.known);
    };
    return { kind: 'ready', key: content.key, isToldNow, store } as const;
  });
}

const WHY_NOT: Readonly<Record<string, string>> & { readonly known: string } = {
  known: 'something is told of this error here already; "errors withdraw" takes that away',
  'withdrawn-here': 'what is told of this error was withdrawn here; "errors resolve" writes it anew',
  forgotten: 'this error was to be forgotten here',
};

/** Takes back what applying did here. */
export function takeBackTeamLesson(suggestionId: string, projectPath: string, db: Db): void {
  untellAll(clonesOf([projectPath], db), teamPrefix(suggestionId), db);
}
