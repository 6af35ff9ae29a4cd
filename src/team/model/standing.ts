import type { Trust } from '../../settings/team-settings.ts';
import type { Fact, FactBody, LessonBody } from './fact.ts';

/** What the facts about one lesson or rule come to: a pure function of them in the order of the server's numbers. */

type Opinion = { readonly accepts: boolean; readonly isReviewers: boolean };

export type Standing = {
  readonly about: string;
  readonly repository: string;
  readonly kind: 'lesson' | 'rule';
  readonly content: LessonBody | FactBody<'rule'>;
  /** Who shares it, the first one first. */
  readonly authors: readonly string[];
  /** In how many sessions it was seen to help, of all authors. */
  readonly sessions: number;
  readonly opinions: ReadonlyMap<string, Opinion>;
  /** Null: it is not. */
  readonly withdrawn: {
    readonly by: string;
    readonly reason: string;
    readonly isContradiction: boolean;
  } | null;
};

/** What one author says counts up to this: nobody comes first by naming a large number. */
const SESSIONS_MAX = 50;

const isReviewers = (role: string) => role === 'reviewer' || role === 'owner';

/** Undefined where nobody shares it: all others are words about nothing. */
export function standingOf(facts: readonly Fact[]): Standing | undefined {
  const sessions = new Map<string, number>();
  const opinions = new Map<string, Opinion>();
  let first: (Fact & { kind: 'lesson' | 'rule' }) | undefined;
  let withdrawn: Standing['withdrawn'] = null;
  for (const fact of facts) {
    const { author, role } = fact;
    switch (fact.kind) {
      case 'lesson':
      case 'rule':
        first ??= fact;
        sessions.set(
          author,
          Math.max(sessions.get(author) ?? 0, 'text' in fact.body ? 1 : fact.body.sessions),
        );
        break;
      case 'support':
        if (sessions.has(author))
          sessions.set(author, Math.max(sessions.get(author) ?? 0, fact.body.sessions));
        break;
      case 'verdict':
        if (fact.body.accepts === null) opinions.delete(author);
        else opinions.set(author, { accepts: fact.body.accepts, isReviewers: isReviewers(role) });
        break;
      case 'withdraw':
        // The server lets nobody else; but who believes a server need not believe this one.
        if (isReviewers(role) || sessions.has(author))
          withdrawn = { by: author, reason: fact.body.reason, isContradiction: false };
        break;
      case 'contradicted':
        withdrawn ??= { by: author, reason: fact.body.reason, isContradiction: true };
        break;
      case 'restore':
        if (isReviewers(role)) withdrawn = null;
        break;
      default:
    }
  }
  if (first === undefined) return undefined;
  return {
    about: first.about,
    repository: first.repository,
    kind: first.kind,
    content: first.body,
    authors: [...sessions.keys()],
    sessions: [...sessions.values()].reduce((sum, one) => sum + Math.min(one, SESSIONS_MAX), 0),
    opinions,
    withdrawn,
  };
}

/** Whose eyes a standing is seen with. */
export type Asker = {
  readonly trust: Trust;
  readonly me: string;
  /** Who takes part in the repository. */
  readonly participants: ReadonlySet<string>;
};

/**
 * Whether agents may be told it: somebody whom the asker trusts has accepted it. Nobody's word counts for what they share
 * themselves, and of reviewers the latest refusal weighs as much as an acceptance.
 */
export function isAccepted({ opinions, authors }: Standing, { trust, me, participants }: Asker): boolean {
  const others = [...opinions].filter(([login]) => !authors.includes(login));
  const own = opinions.get(me)?.accepts;
  switch (trust) {
    case 'me':
      return own === true;
    case 'reviewers': {
      const reviewers = others.filter(([, opinion]) => opinion.isReviewers);
      return own !== false && reviewers.length > 0 && reviewers.every(([, { accepts }]) => accepts);
    }
    case 'majority': {
      const entitled = [...participants].filter((login) => !authors.includes(login));
      const accepting = others.filter(([login, { accepts }]) => accepts && participants.has(login));
      return own !== false && accepting.length * 2 > entitled.length;
    }
  }
}

/** Those who take part in a repository, by the latest word of each. */
export function participantsIn(facts: readonly Fact[]): Set<string> {
  const there = new Set<string>();
  for (const fact of facts) {
    if (fact.kind !== 'part') continue;
    if (fact.body.takesPart) there.add(fact.author);
    else there.delete(fact.author);
  }
  return there;
}
