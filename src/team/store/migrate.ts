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

/** What has to be there before the first version, made by whoever may make roles and schemas on the server. */
const GROUND = `
  DO $$
  BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'self_generation_tables') THEN
      CREATE ROLE self_generation_tables NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'self_generation_member') THEN
      CREATE ROLE self_generation_member NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'self_generation_reviewer') THEN
      CREATE ROLE self_generation_reviewer NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'self_generation_owner') THEN
      CREATE ROLE self_generation_owner NOLOGIN;
    END IF;
  END $$;
  GRANT self_generation_member TO self_generation_reviewer;
  GRANT self_generation_reviewer TO self_generation_owner;
  GRANT self_generation_tables TO CURRENT_USER;
  GRANT self_generation_owner TO CURRENT_USER;
  CREATE SCHEMA IF NOT EXISTS self_generation AUTHORIZATION self_generation_tables;
  CREATE SCHEMA IF NOT EXISTS self_generation_queue AUTHORIZATION self_generation_tables;
`;

/** Everything belongs to a role as which nobody can log in: rights bind its makers too. */
const AS_OWNER_OF_TABLES = 'SET LOCAL ROLE self_generation_tables';

const VERSIONS = `
  CREATE TABLE IF NOT EXISTS self_generation.versions (
    version integer PRIMARY KEY,
    least_program integer NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
  );
  GRANT USAGE ON SCHEMA self_generation TO PUBLIC;
  GRANT SELECT ON self_generation.versions TO PUBLIC;
`;

const LOCK = `SELECT pg_advisory_xact_lock(hashtext('self_generation.migrate'))`;

/**
 * Brings the schema up to date, all of it or nothing, however many programs try at once. Returns the version that it was before.
 * @throws ServerError where this login may make no roles and schemas.
 */
export function migrateTeam(server: Server): Promise<number> {
  return server.transaction(async (statements) => {
    await statements.all(LOCK);
    await statements.all(GROUND);
    await statements.all(AS_OWNER_OF_TABLES);
    await statements.all(VERSIONS);
    const { version: before } = await schemaOf(statements);
    for (const [index, script] of MIGRATIONS.entries()) {
      if (index < before) continue;
      await statements.all(script);
      await statements.all('INSERT INTO self_generation.versions (version, least_program) VALUES ($1, $2)', [
        index + 1,
        TEAM_SCHEMA.least,
      ]);
    }
    await statements.all('RESET ROLE');
    await statements.all('REVOKE self_generation_tables FROM CURRENT_USER');
    return before;
  });
}
