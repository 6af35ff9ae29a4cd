import { expect, test } from 'bun:test';
import { armOf } from '../../src/benefit/model/coin.ts';
import { groupFingerprint, type Telling } from '../../src/benefit/model/telling.ts';
import type { Db } from '../../src/database/connection.ts';
import {
  ensureCoin,
  linkSession,
  readLedger,
  recordTellings,
  saveOutcomes,
} from '../../src/database/ledger.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { temporaryHome } from '../support/home.ts';

const BYTES_MAX = 150;
const WEEKS = 52;
/** Of an active developer, and rather too few of what shares a tree's row: 27 tellings at starts a week, 3 behind failures. */
const TREES_A_WEEK = 9;
const TELLINGS_A_TREE = 3;
const FAILURES_A_WEEK = 3;
const FORK_EVERY = 12;
const LESSONS = 71;
const MS_A_WEEK = 7 * 86_400_000;

const uuid = (index: number) =>
  `${Bun.hash(`${index}`).toString(16).padStart(8, '0').slice(0, 8)}-7c1e-4b0a-9f3d-2a6b4c8d9e0f`;
const agentId = (index: number) =>
  `a${Bun.hash(`agent ${index}`).toString(16).padStart(16, '0').slice(0, 16)}`;

function tell(db: Db, index: number, lesson: number, channel: Telling['channel'], ts: number): void {
  const { key } = ensureCoin(db, new Date(ts));
  const group = { place: '8f'.repeat(32), key: `error ${lesson}: unknown option '--bail' · npm run lint` };
  const root = uuid(index);
  const isHeld = armOf({ key, channel, root, group: groupFingerprint(group), holdPercent: 50 });
  const text = `- error ${lesson}: unknown option '--bail' (Bash)\n  fix: "npm run lint without --bail"`;
  const callId = channel === 'failure' ? `toolu_01${uuid(index).slice(0, 8)}AbCdEfGhIjKlMn` : null;
  const tellings = [{ group, kind: 'rule', text, channel, holdPercent: 50, isHeld, callId } as const];
  const agent = index % 2 === 0 ? agentId(index) : null;
  recordTellings(
    { ts: new Date(ts).toISOString(), sessionId: root, agentId: agent, client: 'claude', tellings },
    db,
  );
}

function settle(db: Db): void {
  const rows = readLedger(db);
  saveOutcomes(
    rows.map(({ id, ts, channel, failedCall }) => {
      const isFailing = channel === 'failure' || id % 10 === 0;
      const none = { failedAt: null, failedCall: null, calls: null, ms: null, chars: null, ended: null };
      const cost = { calls: 6, ms: 84_000, chars: 9000, ended: 'passed' } as const;
      const failure = {
        failedAt: ts + 60_000,
        failedCall: failedCall ?? `toolu_01${uuid(id).slice(0, 8)}AbCdEfGhIjKlMn`,
      };
      const flags = { adviceFailed: false, formWorked: false, leaked: false, settledAt: ts + 90_000_000 };
      return { id, ...(isFailing ? { ...failure, ...cost } : none), ...flags };
    }),
    db,
  );
}

test(`an exposure takes at most ${BYTES_MAX} bytes of the database, with its tree, its lesson and what came of it`, () => {
  using home = temporaryHome();
  const pages = (db: Db) => {
    const { bytes } = db.sqlite.get(
      'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
    ) ?? { bytes: 0 };
    return Number(bytes);
  };
  writeDatabase(home.paths, (db) => {
    const before = pages(db);
    db.sqlite.transaction(() => {
      for (let week = 0; week < WEEKS; week++) {
        for (let one = 0; one < TREES_A_WEEK; one++) {
          const index = week * TREES_A_WEEK + one;
          const ts = 1_800_000_000_000 + week * MS_A_WEEK + one * 1000;
          if (index % FORK_EVERY === 0) linkSession(uuid(100_000 + index), uuid(index), db);
          for (let told = 0; told < TELLINGS_A_TREE; told++)
            tell(db, index, (index * 5 + told) % LESSONS, 'start', ts);
          if (one < FAILURES_A_WEEK) tell(db, index, (index * 5) % LESSONS, 'failure', ts + 500);
        }
      }
      settle(db);
    });
    const exposures = readLedger(db).length;
    expect(exposures).toBe(WEEKS * (TREES_A_WEEK * TELLINGS_A_TREE + FAILURES_A_WEEK));
    const bytes = (pages(db) - before) / exposures;
    expect(bytes).toBeLessThanOrEqual(BYTES_MAX);
  });
});
