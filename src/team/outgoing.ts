import type { Withdrawal } from '../lessons/store/withdrawals.ts';
import { bodyOf, contentId, idOf, type LessonBody, type NewFact } from './model/fact.ts';
import type { Known } from './store/copy.ts';
import { isByTeam, type LocalLesson, type TeamDecision } from './store/knowledge.ts';

/** What leaves this machine for a repository that its user shares: decided as values, nothing is sent here. */

/** What is known here of a repository. */
export type Local = {
  readonly repository: string;
  readonly projects: readonly string[];
  readonly lessons: readonly LocalLesson[];
  readonly rules: readonly string[];
  readonly withdrawals: readonly Withdrawal[];
  readonly decisions: readonly TeamDecision[];
};

/** What the team knows already, as its copy here has it. */
export type Sent = {
  /** This member's login. */
  readonly me: string;
  /** Ids of this member's facts. */
  readonly ids: ReadonlySet<string>;
  readonly knownOf: (about: string) => Known | undefined;
  /** The whole id of what begins so. */
  readonly aboutOf: (prefix: string) => string | undefined;
  /** In how many sessions this member has said so far that it helped. */
  readonly sessionsOf: (about: string) => number;
  /** Whether this member takes part in the repository, and how often that was said either way. */
  readonly part: { readonly takesPart: boolean; readonly said: number };
};

export type Outgoing = {
  readonly facts: readonly NewFact[];
  /** Lessons that stay: a path outside of the repository is in them, or nothing is left without what must not leave. */
  readonly keptBack: readonly string[];
};

/** A lesson as the team would have it; undefined when it must not leave this machine. */
export function sharedForm(lesson: LocalLesson, repository: string) {
  const { key, said, remedy, support, projectPath } = lesson;
  const inside = JSON.parse(JSON.stringify({ key, said, remedy }), (_name, value) =>
    typeof value === 'string' ? insideProject(value, projectPath) : value,
  ) as Pick<LessonBody, 'key' | 'said' | 'remedy'>;
  const body = bodyOf('lesson', { ...inside, ...support });
  if (body === undefined || [body.key, body.said, ...Object.values(body.remedy)].some(leadsOutside))
    return undefined;
  return { body, about: contentId({ kind: 'lesson', repository, body }) };
}

/** The project's own path is nobody else's: what lies below it is named from there, it itself is a dot. */
function insideProject(text: string, projectPath: string): string {
  if (projectPath === '') return text;
  const path = projectPath.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const below = new RegExp(`${path}[\\\\/](?=[\\w.@-])`, 'g');
  const itself = new RegExp(`${path}[\\\\/]?(?![\\w.@-])`, 'g');
  return text.replace(below, '').replace(itself, '.');
}

/** What stands before the beginning of a path: nothing, a blank, a quote, a bracket, an operator, an option of one letter. */
const BEFORE = String.raw`(?:(?<![\w/.~@*?%+)\]}<>-])|(?<=(?:^|[^A-Z<]|[^<][A-Z]{1,4})>)|(?<=(?:^|[\s"'=])-[A-Za-z]))`;
/** Paths from a root or a home, on any system. What devices are called, and addresses of the web, are none. */
const LEADS_OUTSIDE = new RegExp(
  [
    String.raw`${BEFORE}/(?!/|dev/(?:null|stdin|stdout|stderr|tty)\b)[\w.@~-]+/[\w.@~-]`,
    String.raw`${BEFORE}~[\w-]*/`,
    String.raw`${BEFORE}\.\./`,
    String.raw`\$\{?(?:HOME|USERPROFILE|TMPDIR|PWD|OLDPWD)\b`,
    String.raw`%\w+%[\\/]`,
    String.raw`(?<!\w)[A-Za-z]:[\\/](?!/)`,
    String.raw`(?<![\w\\])\\\\[\w.-]+\\`,
    String.raw`\b(?!(?:https?|wss?|ssh|git|git\+ssh|git\+https|postgres|postgresql|redis|mysql|npm)://)[a-z][a-z+.-]*://`,
  ].join('|'),
  'i',
);

/** Whether a text names a place outside of the repository. */
export function leadsOutside(text: string): boolean {
  return LEADS_OUTSIDE.test(text);
}

/** A reason for the others as it may leave this machine: without secrets, and without what names a place outside. */
export function sharedReason(reason: string): string {
  const { reason: clean = '' } = bodyOf('withdraw', { reason }) ?? {};
  return clean === '' || leadsOutside(clean) ? 'the reason names a place outside of the repository' : clean;
}

/** A lesson that is seen in so many times more sessions than was said is worth a word. */
const GROWTH = 2;

/** All that the team is to be told, of which it knows nothing yet. */
export function outgoing(local: Local, sent: Sent): Outgoing {
  const { repository } = local;
  const facts: NewFact[] = [];
  const keptBack: string[] = [];
  if (!sent.part.takesPart) facts.push(partFact(repository, true, sent.me, sent.part.said));
  for (const lesson of local.lessons) {
    if (lesson.fromTeam !== undefined) continue;
    const shared = sharedForm(lesson, repository);
    if (shared === undefined) {
      keptBack.push(lesson.said);
      continue;
    }
    const { body, about } = shared;
    const said = sent.sessionsOf(about);
    if (!sent.ids.has(about)) facts.push({ id: about, about, repository, kind: 'lesson', body });
    else if (body.sessions >= said * GROWTH) {
      const { sessions, failed, helped } = body;
      const id = idOf('support', about, sessions);
      if (!sent.ids.has(id))
        facts.push({ id, about, repository, kind: 'support', body: { sessions, failed, helped } });
    }
  }
  for (const rule of local.rules) {
    const body = bodyOf('rule', { text: rule });
    if (body === undefined || leadsOutside(body.text)) {
      keptBack.push(rule);
      continue;
    }
    const about = contentId({ kind: 'rule', repository, body });
    if (!sent.ids.has(about)) facts.push({ id: about, about, repository, kind: 'rule', body });
  }
  facts.push(...withdrawn(local, sent), ...decided(local, sent));
  return { facts: unique(facts), keptBack };
}

/** Says that this member takes part in a repository, or does not any more. `said`: how often it was said before. */
export function partFact(repository: string, takesPart: boolean, login: string, said: number): NewFact {
  const id = idOf('part', repository, takesPart, login, said);
  return { id, about: id, repository, kind: 'part', body: { takesPart } };
}

/** What was withdrawn here by a person, or by what the log has shown. What a file's absence withdrew may be a branch. */
function withdrawn({ repository, withdrawals }: Local, sent: Sent): NewFact[] {
  return withdrawals.flatMap(({ resolution, key, said, reason, detail, ts, project }): NewFact[] => {
    if ((reason !== 'user' && reason !== 'contradiction') || isByTeam(detail)) return [];
    const lesson = lessonIn({ resolution, key, said, project });
    const shared = lesson && sharedForm(lesson, repository);
    const known = shared && sent.knownOf(shared.about);
    if (shared === undefined || known === undefined || known.withdrawn !== null) return [];
    // Who shared it first withdraws it; another one's log only speaks against it.
    const isFirst = known.author === sent.me;
    if (reason === 'user' && !isFirst) return [];
    const kind = isFirst ? 'withdraw' : 'contradicted';
    const id = idOf(kind, shared.about, ts);
    if (sent.ids.has(id)) return [];
    return [{ id, about: shared.about, repository, kind, body: { reason: sharedReason(detail) } }];
  });
}

type Told = Pick<Withdrawal, 'resolution' | 'key' | 'said' | 'project'>;

function lessonIn({ resolution, key, said, project }: Told): LocalLesson | undefined {
  const remedy = bodyOf('lesson', { ...NOTHING, key, said, remedy: JSON.parse(resolution) })?.remedy;
  const summary = summaryIn(resolution);
  const found = remedy ?? (summary === undefined ? undefined : ({ kind: 'words', summary } as const));
  return (
    found && { row: 0, projectPath: project, key, said, remedy: found, support: NOTHING, fromTeam: undefined }
  );
}

const NOTHING = { sessions: 1, failed: 0, helped: 0 };

function summaryIn(resolution: string): string | undefined {
  const { summary } = JSON.parse(resolution) as { summary?: unknown };
  return typeof summary === 'string' ? summary : undefined;
}

/** What was decided here on what others share, each decision once: the same login may decide otherwise on another machine. */
function decided({ repository, decisions }: Local, sent: Sent): NewFact[] {
  return decisions.flatMap(({ prefix, accepts, ts, why }): NewFact[] => {
    const about = sent.aboutOf(prefix);
    if (about === undefined) return [];
    const body = { accepts, why: why === null ? null : sharedReason(why) };
    const id = idOf('verdict', about, accepts, ts);
    return sent.ids.has(id) ? [] : [{ id, about, repository, kind: 'verdict', body }];
  });
}

function unique(facts: readonly NewFact[]): NewFact[] {
  return [...new Map(facts.map((fact) => [fact.id, fact])).values()];
}
