import type { Db } from '../../src/database/connection.ts';
import {
  decideSuggestion,
  findSuggestions,
  saveProposals,
  type Verdict,
} from '../../src/suggestions/model/store.ts';
import type { Proposal, Suggestion } from '../../src/suggestions/model/suggestion.ts';
import { PROJECT } from './payloads.ts';
import { isoBeforeNow } from './seed.ts';

export const APPLIED: Verdict = { kind: 'applied', applied: {} };
export const DISMISSED: Verdict = { kind: 'dismissed', why: null };

/** A rule as an analysis proposes it. */
export function madeProposal(text: string, changes: Partial<Proposal> = {}): Proposal {
  return { type: 'claude_md', summary: text, evidence: '', text, priority: 0, details: {}, ...changes };
}

type DecidedWhere = Partial<Pick<Suggestion, 'ts' | 'project' | 'projectPath' | 'origin'>>;

/** A proposal of the recorded project as the user has left it; returns its id. */
export function seedDecided(
  db: Db,
  proposal: Proposal,
  verdicts: readonly Verdict[],
  where: DecidedWhere = {},
): string {
  const { ts = isoBeforeNow(60) } = where;
  const proposed = { project: 'app', projectPath: PROJECT, origin: 'analysis', ...where, ts } as const;
  const [id = ''] = saveProposals([proposal], proposed, db);
  for (const verdict of verdicts)
    for (const suggestion of findSuggestions(id, db)) decideSuggestion(suggestion, verdict, ts, db);
  return id;
}
