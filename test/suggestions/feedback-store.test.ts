import { describe, expect, test } from 'bun:test';
import type { Db } from '../../src/database/connection.ts';
import { insertEvent } from '../../src/database/events.ts';
import { feedbackSummary, ruleEffects, skillUses } from '../../src/suggestions/feedback-store.ts';
import type { Verdict } from '../../src/suggestions/model/store.ts';
import type { Proposal } from '../../src/suggestions/model/suggestion.ts';
import { APPLIED, DISMISSED, madeProposal, seedDecided } from '../support/decided.ts';
import { databasePerTest, homePerTest } from '../support/per-test.ts';

const SHOP = '/home/dev/shop';
const SCOPE = { name: 'shop', path: SHOP };
const ALL = { name: 'all', path: null };
const DECIDED = '2026-11-10T12:00:00.000Z';

const db = databasePerTest(homePerTest());

/** `where`: the project's name and path, when it is not the shop's. */
function decided(
  text: string,
  verdict: Verdict,
  changes: Partial<Proposal> = {},
  [project, projectPath]: readonly [string, string] = ['shop', SHOP],
): string {
  return seedDecided(db, madeProposal(text, changes), [verdict], { ts: DECIDED, project, projectPath });
}

/** Of a rule: which error it is to prevent. */
const PORT = { details: { errors: ['no port'] } };
const OTHER = ['other', '/home/dev/other'] as const;

function errorAt(ts: string, error: string, projectPath: string | null = SHOP): void {
  const event = { type: 'tool_error', sessionId: 's', project: 'shop', projectPath } as const;
  insertEvent({ ...event, ts, data: { tool: 'Bash', error } }, db);
}

/** How SQLite finds the events for each statement that the work makes. */
function plansOf(work: (db: Db) => unknown): string[] {
  const plans: string[] = [];
  const all: Db['sqlite']['all'] = (sql, ...values) => {
    const steps = db.sqlite.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail));
    plans.push(...steps.filter((step) => /\b(?:events|e)\b/.test(step)));
    return db.sqlite.all(sql, ...values);
  };
  const { shape, isOwn, sqlite } = db;
  work({ shape, isOwn, sqlite: { ...sqlite, all, get: (sql, ...values) => all(sql, ...values)[0] } });
  return plans;
}

describe('feedbackSummary()', () => {
  test('is null as long as nothing was decided', () => expect(feedbackSummary(SCOPE, db)).toBeNull());

  test('says what was accepted and refused, and why; the newest verdict of each counts', () => {
    decided('a', APPLIED);
    decided('b', { kind: 'dismissed', why: 'we have CI' });
    decided('c', APPLIED, { type: 'skill', details: { skillName: 'c' } });
    decided('c', { kind: 'undone' }, { type: 'skill', details: { skillName: 'c' } });
    decided('d', APPLIED);
    decided('d', DISMISSED);
    expect(feedbackSummary(SCOPE, db)).toEqual({
      accepted: 1,
      rejected: 2,
      rate: 1 / 3,
      byType: { claude_md: { accepted: 1, rejected: 2 } },
      recentRejections: [
        { summary: 'd', why: null },
        { summary: 'b', why: 'we have CI' },
      ],
      recentAcceptances: ['a'],
    });
  });

  test('reads rows of the predecessor, which knew ids only', () => {
    const values = "('2026', 'suggest-0', 'dismissed')";
    db.sqlite.run(`INSERT INTO feedback(ts, suggestion_id, action) VALUES ${values}`);
    const recentRejections = [{ summary: 'suggest-0', why: null }];
    expect(feedbackSummary(ALL, db)).toMatchObject({ rejected: 1, recentRejections });
    expect(feedbackSummary(SCOPE, db)).toBeNull();
  });

  test('of one project knows what belongs to it or to none, and nothing of another one', () => {
    decided('own', APPLIED);
    decided('global', APPLIED, {}, ['all', '']);
    decided('own by its name', APPLIED, {}, ['shop', '']);
    decided('of another', APPLIED, {}, OTHER);
    decided('of another by its name', APPLIED, {}, ['other', '']);
    decided('of a namesake', { kind: 'dismissed', why: 'secret plan' }, {}, ['shop', '/home/dev/old/shop']);
    expect(feedbackSummary(SCOPE, db)).toMatchObject({
      accepted: 3,
      rejected: 0,
      recentAcceptances: ['own by its name', 'global', 'own'],
    });
    expect(feedbackSummary(ALL, db)).toMatchObject({ accepted: 5, rejected: 1 });
  });

  test('has a bounded number of types, whatever another program wrote', () => {
    for (let n = 0; n < 50; n++)
      db.sqlite.run(
        `INSERT INTO feedback(ts, suggestion_id, action, suggestion_type) VALUES ('2026', 's${n}', 'accepted', 't${n}')`,
      );
    expect(feedbackSummary(ALL, db)?.byType).toEqual({ unknown: { accepted: 50, rejected: 0 } });
  });
});

describe('ruleEffects()', () => {
  test("counts the rule's errors in equal times before and after it, in its project", () => {
    const id = decided('Set the port', APPLIED, PORT);
    for (const day of ['06', '07', '08']) errorAt(`2026-11-${day}T12:00:00.000Z`, 'no port');
    errorAt('2026-11-12T12:00:00.000Z', 'no port');
    errorAt('2026-11-01T12:00:00.000Z', 'no port'); // Longer ago than the rule is old.
    errorAt('2026-11-12T12:00:00.000Z', 'another error');
    errorAt('2026-11-12T12:00:00.000Z', 'no port', '/home/dev/other');
    expect(ruleEffects(SCOPE, new Date('2026-11-15T12:00:00.000Z'), db)).toEqual([
      { id, rule: 'Set the port', appliedTs: DECIDED, windowDays: 5, before: 3, after: 1 },
    ]);
  });

  test('of one project tells of its rules and of those for all, and counts what happened there', () => {
    const own = decided('own', APPLIED, PORT);
    const global = decided('global', APPLIED, PORT, ['all', '']);
    const other = decided('of another', APPLIED, PORT, OTHER);
    errorAt('2026-11-09T12:00:00.000Z', 'no port');
    errorAt('2026-11-09T12:00:00.000Z', 'no port', '/home/dev/other');
    errorAt('2026-11-11T12:00:00.000Z', 'no port', null);
    const now = new Date('2026-11-15T12:00:00.000Z');
    const counts = (scope: typeof SCOPE | typeof ALL) =>
      Object.fromEntries(ruleEffects(scope, now, db).map(({ id, before, after }) => [id, [before, after]]));
    expect(counts(SCOPE)).toEqual({ [own]: [1, 0], [global]: [1, 0] });
    expect(counts(ALL)).toEqual({ [own]: [1, 0], [global]: [2, 1], [other]: [1, 0] });
  });

  test('says the same all day long while nothing is recorded', () => {
    decided('Set the port', APPLIED, PORT);
    for (const time of ['06T12:30', '07T00:30', '11T00:10', '13T11:59'])
      errorAt(`2026-11-${time}:00.000Z`, 'no port');
    const at = (time: string) => JSON.stringify(ruleEffects(SCOPE, new Date(`2026-11-${time}:00.000Z`), db));
    expect(at('13T12:00')).toBe(at('14T11:59'));
    expect(at('14T12:00')).not.toBe(at('14T11:59'));
  });

  test('finds errors by project and type, however many rules there are, once for all of them', () => {
    for (let n = 0; n < 20; n++) decided(`rule ${n}`, APPLIED, { details: { errors: [`error ${n}`] } });
    decided('global', APPLIED, { details: { errors: ['error'] } }, ['all', '']);
    const now = new Date('2026-11-15T12:00:00.000Z');
    for (const scope of [SCOPE, ALL]) {
      const plans = plansOf((spied) => ruleEffects(scope, now, spied));
      expect(plans.length).toBeLessThan(6);
      for (const plan of plans) {
        if (plan.startsWith('SEARCH e '))
          expect(plan).toContain('project_path=? AND type=? AND ts>? AND ts<?');
        else expect(plan).toMatch(/^SEARCH events USING COVERING INDEX idx_events_project_type/);
      }
    }
  });

  test('has nothing to say of a rule of today, of one that names no errors, and of one that was not applied', () => {
    decided('today', APPLIED, { details: { errors: ['x'] } });
    expect(ruleEffects(SCOPE, new Date('2026-11-10T13:00:00.000Z'), db)).toEqual([]);
    db.sqlite.exec('DELETE FROM suggestions');
    decided('no errors', APPLIED);
    decided('dismissed', DISMISSED, { details: { errors: ['x'] } });
    expect(ruleEffects(SCOPE, new Date('2026-11-20T12:00:00.000Z'), db)).toEqual([]);
  });
});

describe('skillUses()', () => {
  test('counts the uses of each skill since a time', () => {
    const use = { type: 'skill_used', sessionId: 's', project: null, projectPath: null } as const;
    for (const ts of ['2026-11-01', '2026-11-08', '2026-11-09'])
      insertEvent({ ...use, ts, data: { skillName: 'deploy' } }, db);
    expect([...skillUses(ALL, '2026-11-05', db)]).toEqual([['deploy', { uses: 2, lastTs: '2026-11-09' }]]);
    expect([...skillUses(SCOPE, '2026-11-05', db)]).toEqual([]);
  });
});
