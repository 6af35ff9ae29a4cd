import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Proposal } from '../../src/core/suggestion.ts';
import type { Db } from '../../src/store/connection.ts';
import { getDb } from '../../src/store/db.ts';
import { insertEvent } from '../../src/store/events.ts';
import { feedbackSummary, ruleEffects, skillUses } from '../../src/store/feedback.ts';
import {
  decideSuggestion,
  findSuggestions,
  saveProposals,
  type Verdict,
} from '../../src/store/suggestions.ts';
import { type Home, temporaryHome } from '../support/home.ts';

const SHOP = '/home/dev/shop';
const APPLIED = '2026-11-10T12:00:00.000Z';

let home: Home;
let db: Db;
beforeEach(() => {
  home = temporaryHome();
  db = getDb(home.paths, { mode: 'write', busyTimeoutMs: 1000 });
});
afterEach(() => {
  db.sqlite.close();
  home[Symbol.dispose]();
});

function decided(text: string, verdict: Verdict, changes: Partial<Proposal> = {}): string {
  const one: Proposal = {
    type: 'claude_md',
    summary: text,
    evidence: '',
    text,
    priority: 0,
    details: {},
    ...changes,
  };
  const [id = ''] = saveProposals(
    [one],
    { ts: APPLIED, project: 'shop', projectPath: SHOP, origin: 'analysis' },
    db,
  );
  const [suggestion] = findSuggestions(id, db);
  if (suggestion) decideSuggestion(suggestion, verdict, APPLIED, db);
  return id;
}

function errorAt(ts: string, error: string, projectPath = SHOP): void {
  const event = { type: 'tool_error', sessionId: 's', project: 'shop', projectPath } as const;
  insertEvent({ ...event, ts, data: { tool: 'Bash', error } }, db);
}

const APPLY: Verdict = { kind: 'applied', applied: {} };

describe('feedbackSummary()', () => {
  test('is null as long as nothing was decided', () => expect(feedbackSummary(db)).toBeNull());

  test('says what was accepted and refused, and why; the newest verdict of each counts', () => {
    decided('a', APPLY);
    decided('b', { kind: 'dismissed', why: 'we have CI' });
    decided('c', APPLY, { type: 'skill', details: { skillName: 'c' } });
    decided('c', { kind: 'undone' }, { type: 'skill', details: { skillName: 'c' } });
    decided('d', APPLY);
    decided('d', { kind: 'dismissed', why: null });
    expect(feedbackSummary(db)).toEqual({
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
    db.sqlite.run(
      "INSERT INTO feedback(ts, suggestion_id, action) VALUES ('2026', 'suggest-0', 'dismissed')",
    );
    expect(feedbackSummary(db)).toMatchObject({
      rejected: 1,
      recentRejections: [{ summary: 'suggest-0', why: null }],
    });
  });
});

describe('ruleEffects()', () => {
  test("counts the rule's errors in equal times before and after it, in its project", () => {
    const id = decided('Set the port', APPLY, { details: { errors: ['no port'] } });
    for (const day of ['06', '07', '08']) errorAt(`2026-11-${day}T12:00:00.000Z`, 'no port');
    errorAt('2026-11-12T12:00:00.000Z', 'no port');
    errorAt('2026-11-01T12:00:00.000Z', 'no port'); // Longer ago than the rule is old.
    errorAt('2026-11-12T12:00:00.000Z', 'another error');
    errorAt('2026-11-12T12:00:00.000Z', 'no port', '/home/dev/other');
    expect(ruleEffects(new Date('2026-11-15T12:00:00.000Z'), db)).toEqual([
      { id, rule: 'Set the port', appliedTs: APPLIED, windowDays: 5, before: 3, after: 1 },
    ]);
  });

  test('has nothing to say of a rule of today, of one that names no errors, and of one that was not applied', () => {
    decided('today', APPLY, { details: { errors: ['x'] } });
    expect(ruleEffects(new Date('2026-11-10T13:00:00.000Z'), db)).toEqual([]);
    db.sqlite.exec('DELETE FROM suggestions');
    decided('no errors', APPLY);
    decided('dismissed', { kind: 'dismissed', why: null }, { details: { errors: ['x'] } });
    expect(ruleEffects(new Date('2026-11-20T12:00:00.000Z'), db)).toEqual([]);
  });
});

describe('skillUses()', () => {
  test('counts the uses of each skill since a time', () => {
    for (const ts of ['2026-11-01', '2026-11-08', '2026-11-09']) {
      insertEvent(
        {
          type: 'skill_used',
          ts,
          sessionId: 's',
          project: null,
          projectPath: null,
          data: { skillName: 'deploy' },
        },
        db,
      );
    }
    expect([...skillUses('2026-11-05', db)]).toEqual([['deploy', { uses: 2, lastTs: '2026-11-09' }]]);
  });
});
