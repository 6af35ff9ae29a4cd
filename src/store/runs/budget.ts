import { type BudgetLimit, type RunSettings, WARNING_SHARE } from '../../core/runs/settings.ts';
import type { Sqlite, Value } from '../sqlite.ts';
import { ACTIVE_TURNS, IS_ACTIVE } from './run-rows.ts';

/** What runs have taken, announce steps included, and whether one more may begin. */

const UNITS = ['tokens', 'usd'] as const;
export type Unit = (typeof UNITS)[number];

export type Spent = {
  readonly tokens: number;
  /** Of those turns whose cost is known. */
  readonly usd: number;
  /** How many turns were started whose cost is not known. */
  readonly unknownUsd: number;
};

export type SpentScope =
  | { readonly runId: string }
  | { readonly requester: string }
  | { readonly sinceMs: number };

const MS_PER_DAY = 86_400_000;

const SUMS = `COALESCE(SUM(COALESCE(tokens_in, 0) + COALESCE(tokens_out, 0)), 0) AS tokens,
  COALESCE(SUM(cost_usd), 0) AS usd,
  COALESCE(SUM(launched_at IS NOT NULL AND cost_usd IS NULL), 0) AS unknown_usd`;

/** What the turns of a run or a requester have taken, or all that ended since then or has not ended yet. */
export function spent(scope: SpentScope, db: Sqlite): Spent {
  const sum = (rows: string, ...values: Value[]) => {
    const row = db.get(`SELECT ${SUMS} FROM ${rows}`, ...values);
    return { tokens: Number(row?.tokens), usd: Number(row?.usd), unknownUsd: Number(row?.unknown_usd) };
  };
  if ('runId' in scope) return sum('turns WHERE run_id = ?', scope.runId);
  if ('requester' in scope)
    return sum('runs JOIN turns ON turns.run_id = runs.id WHERE runs.requester = ?', scope.requester);
  const [ended, active] = [sum('turns WHERE ended_at >= ?', scope.sinceMs), sum(`turns WHERE ${IS_ACTIVE}`)];
  const both = (key: keyof Spent) => ended[key] + active[key];
  return { tokens: both('tokens'), usd: both('usd'), unknownUsd: both('unknownUsd') };
}

export type BudgetUse = {
  readonly name: keyof RunSettings['budget'];
  readonly limit: BudgetLimit;
  readonly taken: Spent;
};

/** The limits that are set, with what was taken of each: by a run if one is named, its requester, and all of a day. */
export function budgetUses(
  { runId, requester, nowMs }: { runId?: string; requester: string; nowMs: number },
  budget: RunSettings['budget'],
  db: Sqlite,
): BudgetUse[] {
  const scopes: readonly (readonly [BudgetUse['name'], SpentScope])[] = [
    ...(runId === undefined ? [] : [['run', { runId }] as const]),
    ['requester', { requester }],
    ['day', { sinceMs: nowMs - MS_PER_DAY }],
  ];
  return scopes.flatMap(([name, scope]) => {
    const limit = budget[name];
    return limit.tokens === null && limit.usd === null ? [] : [{ name, limit, taken: spent(scope, db) }];
  });
}

/** Each unit that is limited, with what counts as taken of it. */
export function amountsOf(limit: BudgetLimit, takenOf: (unit: Unit) => number) {
  return UNITS.flatMap((unit) => {
    const max = limit[unit];
    return max === null ? [] : [{ unit, max, taken: takenOf(unit) }];
  });
}

export type BudgetAnswer =
  | { readonly kind: 'granted'; readonly warnings: string[] }
  | { readonly kind: 'refused'; readonly words: string };

/**
 * Whether a run may begin. What active runs may still take up to the limit of a run counts as taken: it is given back
 * when they end. A cost that nobody knows counts as nothing, since a guess would be no better; the tokens do count.
 */
export function checkBudget(
  asker: { requester: string; nowMs: number },
  budget: RunSettings['budget'],
  db: Sqlite,
): BudgetAnswer {
  const warnings: string[] = [];
  for (const { name, limit, taken } of budgetUses(asker, budget, db)) {
    const requester = name === 'day' ? null : asker.requester;
    const reserved = (unit: Unit) => reservedOf(unit, budget.run[unit], requester, db);
    for (const { unit, max, taken: used } of amountsOf(limit, (unit) => taken[unit] + reserved(unit))) {
      const words = `the budget of the ${name}: ${show(used, unit)} of ${show(max, unit)}`;
      if (used >= max) return { kind: 'refused', words: `This would exceed ${words} are taken or reserved` };
      if (unit === 'usd' && taken.unknownUsd > 0) {
        warnings.push(`The budget of the ${name} does not know what ${taken.unknownUsd} turns have cost`);
      }
      if (used >= max * WARNING_SHARE) warnings.push(`Near ${words} are taken or reserved`);
    }
  }
  return { kind: 'granted', warnings };
}

/** What active runs may still take: of one requester, or of all. */
function reservedOf(unit: Unit, max: number | null, requester: string | null, db: Sqlite): number {
  if (max === null) return 0;
  const rows = db.all(`SELECT DISTINCT turns.run_id, runs.requester FROM ${ACTIVE_TURNS}`);
  const runs = rows.filter((row) => requester === null || row.requester === requester);
  const left = runs.map((row) => Math.max(0, max - spent({ runId: String(row.run_id) }, db)[unit]));
  return left.reduce((sum, one) => sum + one, 0);
}

/** An amount of a budget in words. */
export function show(amount: number, unit: Unit): string {
  return unit === 'usd' ? `$${amount.toFixed(2)}` : `${Math.round(amount)} tokens`;
}
