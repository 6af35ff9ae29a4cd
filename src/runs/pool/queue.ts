import { type ConstructorOptions, PgBoss } from 'pg-boss';
import type { Statements } from '../../database/postgres.ts';

/**
 * The queues of pools, by pg-boss: one for each pool of a team, of ids alone. What a run is and whose it is stands in the
 * team's own tables. A job goes in with its run, by the same function of the server, so that who asks needs no pg-boss; it comes
 * out with the claim, in one transaction: so none is taken twice, none expires, and nobody has to look after them.
 */

export const QUEUE_SCHEMA = 'self_generation_queue';

export type PoolQueue = {
  /** Takes the oldest ids, and so many at the most. */
  readonly take: (queue: string, most: number, statements: Statements) => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
};

/** It reads what a queue is when that is first named. */
const OF_QUEUES = /^\s*SELECT\s[^;]*\sFROM self_generation_queue\.queue q\s/;
/** So seldom does pg-boss read its list of queues anew by itself: a queue is never changed. */
const NEVER_SECONDS = 86_400;

/** The queues over this connection, whose schema is made by the team's migrations. @throws Error from the server */
export async function openQueue(statements: Statements): Promise<PoolQueue> {
  let hasBegun = false;
  const boss = new PgBoss({
    db: {
      executeSql: async (sql, values) => {
        // What it does by itself would get into a transaction of ours, and end that where it is refused.
        if (hasBegun && !OF_QUEUES.test(sql)) throw new Error('pg-boss does nothing by itself here');
        return await databaseOf(statements).executeSql(sql, values);
      },
    },
    schema: QUEUE_SCHEMA,
    ...{ migrate: false, createSchema: false, supervise: false, schedule: false },
    queueCacheIntervalSeconds: NEVER_SECONDS,
  });
  boss.on('error', () => {}); // Whoever calls is told by what that throws.
  await boss.start();
  hasBegun = true;
  return {
    take: async (queue, most, within) => {
      const db = databaseOf(within);
      const jobs = await boss.fetch<unknown>(queue, { batchSize: most, db });
      if (jobs.length > 0) {
        const ids = jobs.map(({ id }) => id);
        await boss.deleteJob(queue, ids, { db });
      }
      return jobs.flatMap(({ data }) => runIn(data));
    },
    close: () => boss.stop({ graceful: false, close: false }),
  };
}

/** Every value comes as text: that of a job is read here, the others pg-boss makes numbers of itself. */
function databaseOf({ all }: Statements): NonNullable<ConstructorOptions['db']> {
  return { executeSql: async (sql, values) => ({ rows: await all(sql, values) }) };
}

function runIn(data: unknown): string[] {
  const value: unknown = typeof data === 'string' ? JSON.parse(data) : data;
  const run = typeof value === 'object' && value !== null && 'run' in value ? value.run : undefined;
  return typeof run === 'string' ? [run] : [];
}
