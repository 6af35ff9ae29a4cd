import { parseJson } from '../../core/guards.ts';
import { type Row, textIn } from '../../database/sqlite.ts';
import type { Trust } from '../../settings/team-settings.ts';
import { type Fact, readFact, type StoredFact, storedIn } from '../model/fact.ts';
import { type Asker, isAccepted, participantsIn, type Standing, standingOf } from '../model/standing.ts';
import type { Copy } from './copy-file.ts';

/** This machine's copy of what the team shares: the facts of its own repositories, and what they come to. */

/** Under what the copy's standings were worked out. `program`: the version of this one. */
type Condition = 'epoch' | 'login' | 'trust' | 'program';

/** Undefined before it was noted first. */
export function known(name: Condition, { sqlite }: Copy): string | undefined {
  return textIn(sqlite.get('SELECT value FROM known WHERE name = ?', name)?.value) ?? undefined;
}

/** Notes that, once everything has been worked out under it. */
export function note(name: Condition, value: string, { sqlite }: Copy): void {
  const sql =
    'INSERT INTO known (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
  sqlite.run(sql, name, value);
}

/** Whether the members are those that the standings were worked out with. */
export function sameMembers(members: ReadonlyMap<string, string>, copy: Copy): boolean {
  const before = membersIn(copy);
  return before.size === members.size && [...members].every(([login, role]) => before.get(login) === role);
}

/** Takes in who is in the team, with which role. */
export function setMembers(members: ReadonlyMap<string, string>, { sqlite }: Copy): void {
  sqlite.transaction(() => {
    sqlite.run('DELETE FROM members');
    for (const [login, role] of members)
      sqlite.run('INSERT INTO members (login, role) VALUES (?, ?)', login, role);
  });
}

function membersIn({ sqlite }: Copy): Map<string, string> {
  const rows = sqlite.all('SELECT login, role FROM members');
  return new Map(rows.map(({ login, role }) => [String(login), String(role)]));
}

/** Forgets all that was pulled: the server is another one, or has lost what it had. */
export function forgetFacts({ sqlite }: Copy): void {
  sqlite.transaction(() => {
    for (const table of ['facts', 'cursors', 'standings'] as const) sqlite.run(FORGET[table]);
  });
}

const FORGET = {
  facts: 'DELETE FROM facts',
  cursors: 'DELETE FROM cursors',
  standings: 'DELETE FROM standings',
};

/** Up to which number a repository's facts are here. */
export function cursorOf(repository: string, { sqlite }: Copy): number {
  return Number(sqlite.get('SELECT seq FROM cursors WHERE repository = ?', repository)?.seq ?? 0);
}

/** Whose eyes the standings are seen with. */
export type Reader = { readonly me: string; readonly trust: Trust };

/** Takes facts in and works out what they change, in one transaction with the number up to which they go. */
export function takeIn(facts: readonly StoredFact[], repository: string, reader: Reader, copy: Copy): void {
  const { sqlite } = copy;
  const last = facts.at(-1)?.seq;
  if (last === undefined) return;
  sqlite.transaction(() => {
    for (const { seq, author, role, id, kind, about, body, at } of facts)
      sqlite.run(
        `INSERT OR IGNORE INTO facts (seq, author, role, id, kind, repository, about, body, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[seq, author, role, id, kind, repository, about, body, at],
      );
    sqlite.run(
      `INSERT INTO cursors (repository, seq) VALUES (?, ?)
       ON CONFLICT (repository) DO UPDATE SET seq = MAX(seq, excluded.seq)`,
      ...[repository, last],
    );
    const isAboutAll = facts.some(({ kind }) => kind === 'part');
    const stale = isAboutAll ? judged(repository, copy) : [];
    work([...facts.map(({ about }) => about), ...stale], repository, reader, copy);
  });
}

/** Works out again what may be another by now: all of it, or what somebody has an opinion on. */
export function workAgain(what: 'all' | 'judged', repository: string, reader: Reader, copy: Copy): void {
  const abouts = what === 'judged' ? judged(repository, copy) : aboutsIn(repository, copy);
  copy.sqlite.transaction(() => work(abouts, repository, reader, copy));
}

function aboutsIn(repository: string, { sqlite }: Copy): string[] {
  const rows = sqlite.all('SELECT DISTINCT about FROM facts WHERE repository = ?', repository);
  return rows.map(({ about }) => String(about));
}

function judged(repository: string, { sqlite }: Copy): string[] {
  const rows = sqlite.all(
    "SELECT DISTINCT about FROM facts WHERE repository = ? AND kind = 'verdict'",
    repository,
  );
  return rows.map(({ about }) => String(about));
}

function work(abouts: readonly string[], repository: string, { me, trust }: Reader, copy: Copy): void {
  const { sqlite } = copy;
  const parts = factsIn(
    sqlite.all("SELECT * FROM facts WHERE repository = ? AND kind = 'part' ORDER BY seq", repository),
  );
  const asker = { me, trust, participants: participantsIn(parts), members: membersIn(copy) };
  const rows = sqlite.all(
    'SELECT * FROM facts WHERE about IN (SELECT value FROM json_each(?)) ORDER BY about, seq',
    JSON.stringify([...new Set(abouts)]),
  );
  for (const facts of Map.groupBy(factsIn(rows), ({ about }) => about).values()) {
    const standing = standingOf(facts);
    if (standing?.repository === repository) keep(standing, asker, copy);
  }
}

function keep(standing: Standing, asker: Asker, { sqlite }: Copy): void {
  const { about, repository, kind, authors, sessions, opinions, withdrawn } = standing;
  const own = opinions.get(asker.me)?.accepts;
  sqlite.run(
    `INSERT INTO standings
       (about, repository, kind, author, authors, sessions, is_mine, own_opinion, is_accepted, withdrawn,
       is_contradicted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (about) DO UPDATE SET authors = excluded.authors, sessions = excluded.sessions,
       is_mine = excluded.is_mine, own_opinion = excluded.own_opinion, is_accepted = excluded.is_accepted,
       withdrawn = excluded.withdrawn, is_contradicted = excluded.is_contradicted, handled = 0`,
    ...[
      about,
      repository,
      kind,
      authors[0] ?? '',
      authors.length,
      sessions,
      authors.includes(asker.me) ? 1 : 0,
    ],
    own === undefined ? null : own ? 1 : 0,
    isAccepted(standing, asker) ? 1 : 0,
    withdrawn === null ? null : `${withdrawn.by}: ${withdrawn.reason}`,
    withdrawn?.isContradiction ? 1 : 0,
  );
}

/** What the facts about a lesson or rule come to; undefined where nobody shares it. */
export function standingOn(about: string, { sqlite }: Copy): Standing | undefined {
  return standingOf(factsIn(sqlite.all('SELECT * FROM facts WHERE about = ? ORDER BY seq', about)));
}

function factsIn(rows: readonly Row[]): Fact[] {
  return rows.flatMap((row) => readFact(storedIn(row), parseJson) ?? []);
}

/** The ids of an author's facts of a repository: what need not be sent again. */
export function sentBy(author: string, { sqlite }: Copy): Set<string> {
  return new Set(sqlite.all('SELECT id FROM facts WHERE author = ?', author).map(({ id }) => String(id)));
}

/** What a member has said so far of a lesson's sessions, and of taking part. */
export function saidBy(author: string, repository: string, copy: Copy) {
  const { sqlite } = copy;
  const own = (about: string) =>
    factsIn(sqlite.all('SELECT * FROM facts WHERE about = ? AND author = ? ORDER BY seq', about, author));
  const parts = factsIn(
    sqlite.all(
      "SELECT * FROM facts WHERE repository = ? AND kind = 'part' AND author = ? ORDER BY seq",
      ...[repository, author],
    ),
  );
  return {
    sessionsOf: (about: string) =>
      Math.max(
        0,
        ...own(about).map((fact) =>
          fact.kind === 'lesson' || fact.kind === 'support' ? fact.body.sessions : 0,
        ),
      ),
    part: { takesPart: participantsIn(parts).has(author), said: parts.length },
  };
}

/** What is known of a lesson or rule without its facts. */
export type Known = {
  readonly about: string;
  readonly kind: 'lesson' | 'rule';
  readonly isMine: boolean;
  /** Who shared it first. */
  readonly author: string;
  /** Null: none. */
  readonly ownOpinion: boolean | null;
  readonly isAccepted: boolean;
  /** Who and why; null: it is not withdrawn. */
  readonly withdrawn: string | null;
  /** That is somebody's log alone: what others have learned themselves stays. */
  readonly isContradicted: boolean;
};

function knownIn(row: Row): Known {
  return {
    about: String(row.about),
    kind: row.kind === 'rule' ? 'rule' : 'lesson',
    isMine: row.is_mine === 1,
    author: String(row.author),
    ownOpinion: row.own_opinion === null ? null : row.own_opinion === 1,
    isAccepted: row.is_accepted === 1,
    withdrawn: textIn(row.withdrawn),
    isContradicted: row.is_contradicted === 1,
  };
}

/** Of one lesson or rule; undefined where nobody shares it. */
export function knownOf(about: string, { sqlite }: Copy): Known | undefined {
  const row = sqlite.get('SELECT * FROM standings WHERE about = ?', about);
  return row && knownIn(row);
}

/** Those whose beginning of the id this is. */
export function knownByPrefix(prefix: string, { sqlite }: Copy): Known[] {
  return sqlite
    .all('SELECT * FROM standings WHERE about >= ? AND about < ? LIMIT 10', prefix, `${prefix}g`)
    .map(knownIn);
}

/** What has changed and has not been done here yet, by id; noteHandled() takes it off. */
export function unhandled(repository: string, limit: number, { sqlite }: Copy): Known[] {
  const sql = 'SELECT * FROM standings WHERE repository = ? AND handled = 0 LIMIT ?';
  return sqlite.all(sql, repository, limit).map(knownIn);
}

/** What they come to has been done here. */
export function noteHandled(abouts: readonly string[], { sqlite }: Copy): void {
  sqlite.run(
    'UPDATE standings SET handled = 1 WHERE about IN (SELECT value FROM json_each(?))',
    JSON.stringify(abouts),
  );
}

/** Why this user is not asked about it: `instruction` and `secret` are harm, `known` is what is told of its error here. */
export type Unoffered = 'instruction' | 'secret' | 'known';

/** Notes that. */
export function noteUnoffered(about: string, why: Unoffered, { sqlite }: Copy): void {
  sqlite.run('UPDATE standings SET unoffered = ? WHERE about = ?', why, about);
}

const WAITING =
  "is_mine = 0 AND own_opinion IS NULL AND (is_accepted = 0 OR kind = 'rule') AND withdrawn IS NULL AND unoffered IS NULL";

/**
 * The ids of what waits for this member's word: of each author so many, shared by most and seen most often first. Nobody who
 * shares a thousand takes the place of the others. Reads the index alone, from author to author.
 */
export function waiting(repository: string, ofEach: number, { sqlite }: Copy): string[] {
  const nextAuthor = `SELECT author FROM standings WHERE repository = ? AND ${WAITING} AND author > ? ORDER BY author LIMIT 1`;
  const best = `SELECT about, authors, sessions FROM standings WHERE repository = ? AND author = ? AND ${WAITING}
    ORDER BY authors DESC, sessions DESC LIMIT ?`;
  const rows: Row[] = [];
  for (let author = ''; ; ) {
    const next = sqlite.get(nextAuthor, repository, author);
    if (next === undefined) break;
    author = String(next.author);
    rows.push(...sqlite.all(best, repository, author, ofEach));
  }
  const by = (name: string) => (left: Row, right: Row) => Number(right[name]) - Number(left[name]);
  rows.sort((left, right) => by('authors')(left, right) || by('sessions')(left, right));
  return rows.map(({ about }) => String(about));
}

/** Rules that this user has applied and the team has withdrawn since. */
export function withdrawnRules(repository: string, { sqlite }: Copy): string[] {
  const sql = `SELECT about FROM standings WHERE repository = ? AND kind = 'rule' AND own_opinion = 1 AND withdrawn IS NOT NULL`;
  return sqlite.all(sql, repository).map(({ about }) => String(about));
}

/** How much of a repository is here. */
export function countsOf(repository: string, { sqlite }: Copy) {
  const row = sqlite.get(
    `SELECT COUNT(*) AS shared, TOTAL(is_mine) AS mine, TOTAL(is_accepted AND withdrawn IS NULL) AS accepted,
       TOTAL(withdrawn IS NOT NULL) AS withdrawn, TOTAL(unoffered IN ('instruction', 'secret')) AS refused,
       TOTAL(${WAITING}) AS waiting FROM standings WHERE repository = ?`,
    repository,
  );
  const count = (name: string) => Number(row?.[name] ?? 0);
  return {
    shared: count('shared'),
    mine: count('mine'),
    accepted: count('accepted'),
    withdrawn: count('withdrawn'),
    waiting: count('waiting'),
    refused: count('refused'),
  };
}

/** The newest facts, newest first. */
export function latestFacts(limit: number, { sqlite }: Copy): StoredFact[] {
  return sqlite.all('SELECT * FROM facts ORDER BY seq DESC LIMIT ?', limit).map(storedIn);
}

/** How many facts there are about the same. */
export function factsAbout(about: string, { sqlite }: Copy): number {
  return Number(sqlite.get('SELECT COUNT(*) AS count FROM facts WHERE about = ?', about)?.count);
}

/** The fact with this number, as it stands; undefined where it is not here. */
export function factAt(seq: number, { sqlite }: Copy): StoredFact | undefined {
  const row = sqlite.get('SELECT * FROM facts WHERE seq = ?', seq);
  return row && storedIn(row);
}

/** The latest evidence of each author's ledgers: one login may have several machines. */
export function latestEvidence({ sqlite }: Copy): Fact[] {
  const rows = sqlite.all("SELECT * FROM facts WHERE kind = 'evidence' ORDER BY seq");
  const latest = new Map<string, Fact>();
  for (const fact of factsIn(rows))
    if (fact.kind === 'evidence') latest.set(`${fact.body.ledger} ${fact.author}`, fact);
  return [...latest.values()];
}
