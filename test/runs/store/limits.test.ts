import { describe, expect } from 'bun:test';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import { NO_USAGE } from '../../../src/runs/model/turn.ts';
import {
  type BudgetShare,
  judgeBudget,
  type SpawnLimits,
  spent,
  usdLeft,
} from '../../../src/runs/store/limits.ts';
import { getRun } from '../../../src/runs/store/runs.ts';
import { changeTurn, endTurn, requestStop } from '../../../src/runs/store/turns.ts';
import { test } from '../in-home.ts';
import {
  A,
  accepted,
  appended,
  B,
  ending,
  LIMITS,
  NOW_MS,
  type RunFields,
  spawn,
  started,
  usageOf,
} from './made-up.ts';

const DAY_MS = 86_400_000;

function used(db: Sqlite, tokens: number, costUsd: number | null, fields: RunFields = {}): string {
  const turn = started(db, fields);
  const usage = usageOf(tokens, costUsd);
  endTurn(turn, ending({ usage, endedAtMs: fields.createdAtMs ?? NOW_MS }), null, db);
  return turn.runId;
}

function ask(db: Sqlite, budget: Partial<SpawnLimits['budget']>, fields: RunFields = {}) {
  return spawn(db, fields, { ...LIMITS, budget: { ...LIMITS.budget, ...budget } });
}

test('spent() adds up what a run, a requester or a day took, announce steps included, and counts unknown costs apart', ({
  db,
}) => {
  const runId = used(db, 100, 0.5);
  used(db, 10, null);
  used(db, 1000, 2, { key: B, createdAtMs: NOW_MS - DAY_MS });
  const step = appended(db, runId, { kind: 'announce', announces: 1, state: 'starting' });
  changeTurn(step, { launchedAtMs: NOW_MS, usage: usageOf(7, 0.25) }, db);
  expect(spent({ runId }, db)).toEqual({ tokens: 107, usd: 0.75, unknownUsd: 0 });
  expect(spent({ requester: A }, db)).toEqual({ tokens: 117, usd: 0.75, unknownUsd: 1 });
  expect(spent({ requester: B }, db)).toEqual({ tokens: 1000, usd: 2, unknownUsd: 0 });
  expect(spent({ sinceMs: NOW_MS - DAY_MS + 1 }, db)).toEqual({ tokens: 117, usd: 0.75, unknownUsd: 1 });
  expect(spent({ sinceMs: NOW_MS - DAY_MS }, db)).toEqual({ tokens: 1117, usd: 2.75, unknownUsd: 1 });
  expect(spent({ runId: 'none' }, db)).toEqual({ tokens: 0, usd: 0, unknownUsd: 0 });
});

test('what a plan run has looked up counts for who has asked for the plan', ({ db }) => {
  const limits = { iterations: null, tokens: null, usd: null, observationChars: null };
  const plan = started(db, { profile: { kind: 'plan', limits } });
  const key = getRun(plan.runId, db)?.run.childKey ?? '';
  used(db, 60, 0.5, { key });
  expect(spent({ requester: A }, db)).toMatchObject({ tokens: 60, usd: 0.5 });
  expect(spent({ requester: B }, db)).toMatchObject({ tokens: 0 });
  const budget = { requester: { tokens: 60, usd: null } };
  expect(ask(db, budget)).toMatchObject({ why: 'budget' });
  expect(ask(db, budget, { key })).toMatchObject({ why: 'budget' });
  expect(ask(db, budget, { key: B }).kind).toBe('inserted');
  // Also what such a run may still take.
  const reserved = { requester: { tokens: 100, usd: null }, run: { tokens: 30, usd: null } };
  expect(ask(db, reserved).kind).toBe('inserted');
  expect(ask(db, reserved, { key })).toMatchObject({ why: 'budget' });
});

test('spent() says nothing of what never started', ({ db }) => {
  const { runId } = accepted(db);
  requestStop(runId, { reason: 'requested', by: 'x', atMs: NOW_MS }, db);
  expect(spent({ requester: A }, db)).toEqual({ tokens: 0, usd: 0, unknownUsd: 0 });
});

test('insertRun() accepts below a budget, warns near it, and refuses from it on', ({ db }) => {
  used(db, 79, 0.79);
  const budget = { requester: { tokens: 100, usd: null } };
  expect(ask(db, budget)).toMatchObject({ kind: 'inserted', warnings: [] });
  used(db, 1, 0.01);
  expect(ask(db, budget)).toMatchObject({
    warnings: ['Near the budget of the requester: 80 tokens of 100 tokens are taken or reserved'],
  });
  used(db, 20, 0.2);
  expect(ask(db, budget)).toEqual({
    kind: 'refused',
    why: 'budget',
    words: 'This would exceed the budget of the requester: 100 tokens of 100 tokens are taken or reserved',
  });
  expect(ask(db, budget, { key: B }).kind).toBe('inserted');
});

test('insertRun() counts what all requesters took within a day against the budget of the day', ({ db }) => {
  used(db, 5, 3, { key: B });
  const budget = { day: { tokens: null, usd: 3 } };
  expect(ask(db, budget)).toMatchObject({
    why: 'budget',
    words: 'This would exceed the budget of the day: $3.00 of $3.00 are taken or reserved',
  });
  expect(ask(db, budget, { createdAtMs: NOW_MS + DAY_MS + 1 }).kind).toBe('inserted');
});

test('insertRun() counts as taken what active runs may still take, until they have ended', ({ db }) => {
  const budget = { run: { tokens: 50, usd: null }, requester: { tokens: 100, usd: null } };
  const first = started(db);
  expect(ask(db, budget).kind).toBe('inserted');
  expect(ask(db, budget)).toMatchObject({ why: 'budget' });
  endTurn(first, ending({ usage: usageOf(10, null) }), null, db);
  expect(ask(db, budget).kind).toBe('inserted');
});

test('insertRun() says that a budget in USD does not know every cost', ({ db }) => {
  used(db, 5, null);
  expect(ask(db, { requester: { tokens: null, usd: 1 } })).toMatchObject({
    warnings: ['The budget of the requester does not know what 1 turns have cost'],
  });
  expect(ask(db, { requester: NO_LIMIT })).toMatchObject({ warnings: [] });
});

const NO_LIMIT = { tokens: null, usd: null };
const taking = (tokens: number, costUsd: number | null = null) => ({
  ...NO_USAGE,
  inputTokens: tokens,
  costUsd,
});
const share = (
  limit: Partial<BudgetShare['limit']>,
  others: Partial<BudgetShare['taken']> = {},
): BudgetShare => ({
  name: 'run',
  limit: { ...NO_LIMIT, ...limit },
  taken: { tokens: 0, usd: 0, unknownUsd: 0, ...others },
});

describe('judgeBudget()', () => {
  const rows: readonly [string, readonly BudgetShare[], ReturnType<typeof taking>, string][] = [
    ['no limit', [share({})], taking(1e9, 1e6), 'within'],
    ['less than the limit', [share({ tokens: 100 })], taking(79), 'within'],
    ['most of the limit', [share({ tokens: 100 })], taking(80), 'near'],
    ['the limit itself', [share({ tokens: 100 })], taking(100), 'exceeded'],
    ['what others have taken', [share({ tokens: 100 }, { tokens: 90 })], taking(10), 'exceeded'],
    ['money', [share({ usd: 1 }, { usd: 0.5 })], taking(0, 0.5), 'exceeded'],
    ['money that nobody knows', [share({ usd: 1 })], taking(1e9), 'within'],
    ['one limit of several', [share({ usd: 1 }), share({ tokens: 10 })], taking(10, 0.1), 'exceeded'],
  ];
  for (const [what, shares, taken, kind] of rows)
    test(`${what}: ${kind}`, () => expect(judgeBudget(shares, taken).kind).toBe(kind as 'within'));

  test('says what was exceeded, by how much, and for whom', () => {
    const verdict = judgeBudget([{ ...share({ usd: 1.5 }, { usd: 1 }), name: 'day' }], taking(0, 0.61));
    expect(verdict).toEqual({ kind: 'exceeded', words: 'budget exceeded: $1.61 of $1.50 for the day' });
  });
});

describe('usdLeft()', () => {
  test('is the least that any limit leaves, never less than nothing, and null without a limit', () => {
    expect(usdLeft([share({ tokens: 5 })], NO_USAGE)).toBeNull();
    expect(usdLeft([share({ usd: 3 }, { usd: 1 }), share({ usd: 1.5 })], taking(0, 0.5))).toBe(1);
    expect(usdLeft([share({ usd: 1 }, { usd: 2 })], NO_USAGE)).toBe(0);
  });
});
