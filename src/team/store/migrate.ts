import type { Server } from '../../database/postgres.ts';
import knowledge from './schema/001-knowledge.sql' with { type: 'text' };
import queue from './schema/002-queue.sql' with { type: 'text' };
import pool from './schema/003-pool.sql' with { type: 'text' };

/** The team's schema on the server, in versions: each a script that is never changed again. */
const MIGRATIONS: readonly string[] = [knowledge, queue, pool];

/** The version that this program makes, and the oldest one that it works with. */
export const TEAM_SCHEMA = { made: MIGRATIONS.length, least: 1 } as const;

export type TeamSchema = {
  /** 0: there is none. */
  readonly version: number;
  /** The oldest `TEAM_SCHEMA.made` of a program that the server still works with. */
  readonly leastProgram: number;
};

/** What version the server has; a login without any right there sees none. */
export async function schemaOf(server: Pick<Server, 'all'>): Promise<TeamSchema> {
  const [there] = await server.all(
    `SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'self_generation' AND tablename = 'versions'`,
  );
  if (there === undefined) return { version: 0, leastProgram: 0 };
  const [row] = await server.all(
    'SELECT version, least_program FROM self_generation.versions ORDER BY version DESC LIMIT 1',
  );
  return { version: Number(row?.version ?? 0), leastProgram: Number(row?.least_program ?? 0) };
}

const VERSIONS = `
  CREATE SCHEMA IF NOT EXISTS self_generation;
  CREATE TABLE IF NOT EXISTS self_generation.versions (
    version integer PRIMARY KEY,
    least_program integer NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
  );
  GRANT USAGE ON SCHEMA self_generation TO PUBLIC;
  GRANT SELECT ON self_generation.versions TO PUBLIC;
`;

/** One after the other, in one transaction each, however many programs try at once. Returns the version that it was before. */
export async function migrateTeam(server: Server): Promise<number> {
  await server.transaction((statements) => lockedSchema(statements));
  const { version: before } = await schemaOf(server);
  for (const [index, script] of MIGRATIONS.entries()) {
    await server.transaction(async (statements) => {
      await statements.all(LOCK);
      const { version } = await schemaOf(statements);
      if (version >= index + 1) return;
      await statements.all(script);
      await statements.all('INSERT INTO self_generation.versions (version, least_program) VALUES ($1, $2)', [
        index + 1,
        TEAM_SCHEMA.least,
      ]);
    });
  }
  return before;
}

const LOCK = `SELECT pg_advisory_xact_lock(hashtext('self_generation.migrate'))`;

async function lockedSchema(statements: Pick<Server, 'all'>): Promise<void> {
  await statements.all(LOCK);
  await statements.all(VERSIONS);
}
