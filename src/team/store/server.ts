import type { Statements } from '../../database/postgres.ts';
import { type NewFact, type Role, type StoredFact, storedIn } from '../model/fact.ts';

/** What is asked of the team's server. Its rights decide who may; nothing here checks them again. */

export type Seat = {
  readonly team: number;
  readonly keyCheck: string;
  /** Of the team as it was set up on this server. */
  readonly epoch: string;
  readonly role: Role;
};

/** As whom the connected login sits in a team; undefined when in none of this name. */
export async function seatIn(team: string, server: Statements): Promise<Seat | undefined> {
  const [row] = await server.all(
    `SELECT t.id, t.key_check, t.epoch, m.role FROM self_generation.teams AS t
       JOIN self_generation.members AS m ON m.team = t.id
     WHERE t.name = $1 AND m.login = session_user AND m.removed_at IS NULL`,
    [team],
  );
  if (row === undefined) return undefined;
  return {
    team: Number(row.id),
    keyCheck: String(row.key_check),
    epoch: String(row.epoch),
    role: String(row.role) as Role,
  };
}

/** The names of the teams that the connected login is in. */
export async function teamsOf(server: Statements): Promise<string[]> {
  const rows = await server.all(
    `SELECT t.name FROM self_generation.teams AS t JOIN self_generation.members AS m ON m.team = t.id
     WHERE m.login = session_user AND m.removed_at IS NULL ORDER BY t.name`,
  );
  return rows.map(({ name }) => String(name));
}

/** Makes a team, whose owner is the connected login. */
export async function createTeam(name: string, keyCheck: string, server: Statements): Promise<void> {
  await server.all('INSERT INTO self_generation.teams (name, key_check) VALUES ($1, $2)', [name, keyCheck]);
}

export type Member = { readonly login: string; readonly role: string; readonly isRemoved: boolean };

/** Who is and was in a team. */
export async function membersOf(team: number, server: Statements): Promise<Member[]> {
  const rows = await server.all(
    'SELECT login, role, removed_at FROM self_generation.members WHERE team = $1 ORDER BY login',
    [team],
  );
  return rows.map(({ login, role, removed_at }) => ({
    login: String(login),
    role: String(role),
    isRemoved: removed_at !== null,
  }));
}

/** Takes somebody in, or gives a member another role; without one a member keeps theirs. */
export async function setMember(
  team: number,
  login: string,
  role: Role | undefined,
  server: Statements,
): Promise<void> {
  await server.all(
    `INSERT INTO self_generation.members (team, login, role) VALUES ($1, $2, COALESCE($3, 'member'))
     ON CONFLICT (team, login) DO UPDATE SET role = COALESCE($3, members.role), removed_at = NULL`,
    [team, login, role ?? null],
  );
}

/** Who leaves stays in the history. Returns false when there is no such member. */
export async function removeMember(team: number, login: string, server: Statements): Promise<boolean> {
  const rows = await server.all(
    `UPDATE self_generation.members SET removed_at = now()
     WHERE team = $1 AND login = $2 AND removed_at IS NULL RETURNING login`,
    [team, login],
  );
  return rows.length > 0;
}

/** Adds facts, each once, however often they are sent. Returns how many were new. */
export async function pushFacts(
  team: number,
  facts: readonly NewFact[],
  server: Statements,
): Promise<number> {
  const rows = await server.all(
    `INSERT INTO self_generation.facts (team, id, kind, repository, about, body)
     SELECT $1, f.id, f.kind, f.repository, f.about, f.body
       FROM jsonb_to_recordset($2::jsonb) AS f(id text, kind text, repository text, about text, body jsonb)
     ON CONFLICT (team, author, id) DO NOTHING RETURNING id`,
    [team, JSON.stringify(facts)],
  );
  return rows.length;
}

type Pull = { readonly team: number; readonly repository: string; readonly after: number };

/** So much comes at once that it arrives in time on a slow line, whatever somebody has written. */
const PULLED_BYTES_MAX = 2_000_000;
const PULLED_MAX = 20_000;

/** Facts of a repository behind a number, in order: those that come next, at least one; none where there are no more. */
export async function pullFacts(
  { team, repository, after }: Pull,
  server: Statements,
): Promise<StoredFact[]> {
  const rows = await server.all(
    `SELECT seq, author, role, id, kind, repository, about, body, at FROM (
       SELECT *, sum(octet_length(body::text)) OVER (ORDER BY seq) AS total, row_number() OVER (ORDER BY seq) AS nth FROM (
         SELECT seq, author, role, id, kind, repository, about, body, at FROM self_generation.facts
         WHERE team = $1 AND repository = $2 AND seq > $3 ORDER BY seq LIMIT $4
       ) AS next
     ) AS summed WHERE total <= $5 OR nth = 1 ORDER BY seq`,
    [team, repository, after, PULLED_MAX, PULLED_BYTES_MAX],
  );
  return rows.map(storedIn);
}

/** Whether the server has this fact under its number: written by the same, at the same time. */
export async function hasFact(
  { seq, author, id, at }: StoredFact,
  team: number,
  server: Statements,
): Promise<boolean> {
  const rows = await server.all(
    'SELECT 1 FROM self_generation.facts WHERE team = $1 AND seq = $2 AND author = $3 AND id = $4 AND at = $5',
    [team, seq, author, id, at],
  );
  return rows.length > 0;
}
