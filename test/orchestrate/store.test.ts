import { describe, expect } from 'bun:test';
import {
  claimOwner,
  endOrchestration,
  insertOrchestration,
  orchestrationAtWork,
  orchestrationsOf,
  putFact,
  reopenOrchestration,
  storedOrchestration,
} from '../../src/orchestrate/store.ts';
import { clearOwner } from '../../src/runs/store/queue.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { identityNow } from '../../src/system/process-identity.ts';
import { test } from '../runs/in-home.ts';
import { OPTIONS } from './simulated.ts';

const KEY = 'agent:main:app';
const NEW = {
  requester: KEY,
  session: null,
  client: null,
  cwd: '/home/dev/app',
  prompt: 'Build it.',
  options: OPTIONS,
};
const OWN = identityNow(process.pid);
const GONE = { pid: 1, start: 'long ago', boot: 'another' };

describe('an orchestration in the database', () => {
  test('has a number among those of its requester, and is read as it was written', ({ paths }) => {
    withRuns(paths, (db) => {
      const first = insertOrchestration(NEW, 5, db);
      expect(first).toMatchObject({ ...NEW, number: 1, state: 'open', createdAtMs: 5, endedAtMs: null });
      insertOrchestration({ ...NEW, requester: 'agent:main:other' }, 6, db);
      expect(insertOrchestration(NEW, 7, db).number).toBe(2);
      expect(orchestrationsOf(KEY, db).map(({ number }) => number)).toEqual([2, 1]);
      expect(storedOrchestration(first.id, db)).toEqual({ orchestration: first, facts: [], parts: [] });
      expect(storedOrchestration('none', db)).toBeUndefined();
    });
  });

  test('keeps the first of two facts of one name, and all in their order', ({ paths }) => {
    withRuns(paths, (db) => {
      const { id } = insertOrchestration(NEW, 5, db);
      expect(putFact(id, { name: 'stop.0', value: { by: 'one' } }, 6, db)).toBe(true);
      expect(putFact(id, { name: 'stop.0', value: { by: 'other' } }, 7, db)).toBe(false);
      putFact(id, { name: 'before.a.1', value: { tree: null, head: null } }, 8, db);
      expect(storedOrchestration(id, db)?.facts).toEqual([
        { name: 'stop.0', value: { by: 'one' } },
        { name: 'before.a.1', value: { tree: null, head: null } },
      ]);
    });
  });

  test('is carried on by one living process at a time, of all of a requester', ({ paths }) => {
    withRuns(paths, (db) => {
      const [one, other] = [insertOrchestration(NEW, 5, db), insertOrchestration(NEW, 6, db)];
      const apart = insertOrchestration({ ...NEW, requester: 'agent:main:other' }, 7, db);
      expect(claimOwner(one.id, KEY, GONE, db)).toBeUndefined();
      expect(orchestrationAtWork(KEY, db)).toBeUndefined();
      expect(claimOwner(other.id, KEY, OWN, db)).toBeUndefined();
      expect(orchestrationAtWork(KEY, db)).toMatchObject({ number: 2 });
      expect(claimOwner(one.id, KEY, OWN, db)).toMatchObject({ number: 2 });
      expect(claimOwner(apart.id, 'agent:main:other', OWN, db)).toBeUndefined();
      clearOwner({ id: other.id, owner: OWN }, db);
      expect(claimOwner(one.id, KEY, OWN, db)).toBeUndefined();
    });
  });

  test('ends once and for all until it is continued, and is nobody’s then', ({ paths }) => {
    withRuns(paths, (db) => {
      const { id } = insertOrchestration(NEW, 5, db);
      claimOwner(id, KEY, OWN, db);
      endOrchestration(id, 0, { state: 'partial', text: 'half' }, 9, db);
      expect(orchestrationAtWork(KEY, db)).toBeUndefined();
      expect(orchestrationsOf(KEY, db)).toMatchObject([{ state: 'partial', endedAtMs: 9 }]);
      reopenOrchestration(id, { name: 'continued.1', value: { round: 0, asked: {}, dropped: {} } }, 10, db);
      expect(orchestrationsOf(KEY, db)).toMatchObject([{ state: 'open', endedAtMs: null }]);
      expect(storedOrchestration(id, db)?.facts.map(({ name }) => name)).toEqual(['ended.0', 'continued.1']);
    });
  });
});
