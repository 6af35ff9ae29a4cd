import type { Trust } from '../../settings/team-settings.ts';
import type { Fact, FactBody, LessonBody } from './fact.ts';

/** What the facts about one lesson or rule come to: a pure function of them in the order of the server's numbers. */

type Opinion = {
  readonly accepts: boolean;
  /** Its author was a reviewer by then, as the server saw it. */
  readonly isReviewers: boolean;
  /** Its author shared the same by then: nobody's word counts for their own. */
  readonly isOnOwn: boolean;
};

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

/** Undefined where nobody shares it: all others are words about nothing. What is said in another repository counts nothing here. */
export function standingOf(facts: readonly Fact[]): Standing | undefined {
  const first = facts.find(isContent);
  if (first === undefined) return undefined;
  const sessions = new Map<string, number>();
  const opinions = new Map<string, Opinion>();
  let withdrawn: Standing['withdrawn'] = null;
  let isRestored = false;
  for (const fact of facts) {
    if (fact.repository !== first.repository) continue;
    const { author, role } = fact;
    const seenIn = (count: number) => void sessions.set(author, Math.max(sessions.get(author) ?? 0, count));
    switch (fact.kind) {
      case 'lesson':
      case 'rule':
        seenIn('text' in fact.body ? 1 : fact.body.sessions);
        break;
      case 'support':
        if (sessions.has(author)) seenIn(fact.body.sessions);
        break;
      case 'verdict': {
        const { accepts } = fact.body;
        const how = { isReviewers: isReviewers(role), isOnOwn: sessions.has(author) };
        if (accepts === null) opinions.delete(author);
        else opinions.set(author, { accepts, ...how });
        break;
      }
      case 'withdraw':
        // The server lets nobody else; but who believes a server need not believe this one.
        if (isReviewers(role) || author === first.author)
          withdrawn = { by: author, reason: fact.body.reason, isContradiction: false };
        break;
      case 'contradicted':
        // A reviewer who has restored it knew of it.
        if (!isRestored || isReviewers(role))
          withdrawn ??= { by: author, reason: fact.body.reason, isContradiction: true };
        break;
      case 'restore':
        if (isReviewers(role)) {
          withdrawn = null;
          isRestored = true;
        }
        break;
      default:
    }
  }
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

function isContent(fact: Fact): fact is Fact & { kind: 'lesson' | 'rule' } {
  return fact.kind === 'lesson' || fact.kind === 'rule';
}

/** Whose eyes a standing is seen with. */
export type Asker = {
  readonly trust: Trust;
  readonly me: string;
  /** Who takes part in the repository. */
  readonly participants: ReadonlySet<string>;
  /** Who is in the team by now, with which role. */
  readonly members: ReadonlyMap<string, string>;
};

/**
 * Whether agents may be told it: somebody whom the asker trusts has accepted it. Nobody's word counts for what they shared
 * themselves by then, nor that of who has left; of reviewers a refusal weighs as much as an acceptance.
 */
export function isAccepted({ opinions, authors }: Standing, asker: Asker): boolean {
  const { trust, me, participants, members } = asker;
  const own = opinions.get(me)?.accepts;
  if (trust === 'me') return own === true;
  const others = [...opinions].filter(([login, { isOnOwn }]) => !isOnOwn && members.has(login));
  if (own === false) return false;
  if (trust === 'reviewers') {
    const reviewers = others.filter(
      ([login, opinion]) => opinion.isReviewers && isReviewers(members.get(login) ?? ''),
    );
    return reviewers.length > 0 && reviewers.every(([, { accepts }]) => accepts);
  }
  const entitled = [...participants].filter((login) => members.has(login) && !authors.includes(login));
  const accepting = others.filter(([login, { accepts }]) => accepts && entitled.includes(login));
  return accepting.length * 2 > entitled.length;
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
