import { type BudgetLimit, type RunSettings, WARNING_SHARE } from '../../core/runs/settings.ts';
import type { Row, Sqlite, Value } from '../sqlite.ts';
import { ACTIVE_TURNS, IS_ACTIVE } from './run-rows.ts';

/** What runs have taken, announce steps included, and whether one more may begin. */

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

export const MS_PER_DAY = 86_400_000;

const SUMS = `COALESCE(SUM(COALESCE(tokens_in, 0) + COALESCE(tokens_out, 0)), 0) AS tokens,
  COALESCE(SUM(cost_usd), 0) AS usd,
  COALESCE(SUM(launched_at IS NOT NULL AND cost_usd IS NULL), 0) AS unknown_usd`;

/** What the turns of a run or a requester have taken, or all that ended since then or has not ended yet. */
export function spent(scope: SpentScope, db: Sqlite): Spent {
  const sum = (rows: string, ...values: Value[]) =>
    readSpent(db.get(`SELECT ${SUMS} FROM ${rows}`, ...values));
  if ('runId' in scope) return sum('turns WHERE run_id = ?', scope.runId);
  if ('requester' in scope)
    return sum('runs JOIN turns ON turns.run_id = runs.id WHERE runs.requester = ?', scope.requester);
  const ended = sum('turns WHERE ended_at >= ?', scope.sinceMs);
  const active = sum(`turns WHERE ${IS_ACTIVE}`);
  return {
    tokens: ended.tokens + active.tokens,
    usd: ended.usd + active.usd,
    unknownUsd: ended.unknownUsd + active.unknownUsd,
  };
}

export type BudgetAnswer =
  | { readonly kind: 'granted'; readonly warnings: string[] }
  | { readonly kind: 'refused'; readonly words: string };

/**
 * Whether a run may begin. What active runs may still take up to the limit of a run counts as taken: it is given back
 * when they end. A cost that nobody knows counts as nothing, since a guess would be no better; the tokens do count.
 */
export function checkBudget(
  { requester, nowMs }: { requester: string; nowMs: number },
  budget: RunSettings['budget'],
  db: Sqlite,
): BudgetAnswer {
  const warnings: string[] = [];
  const scopes = [
    { name: 'requester', limit: budget.requester, scope: { requester } },
    { name: 'day', limit: budget.day, scope: { sinceMs: nowMs - MS_PER_DAY } },
  ] as const;
  for (const { name, limit, scope } of scopes) {
    if (limit.tokens === null && limit.usd === null) continue;
    const taken = spent(scope, db);
    const reserved = reservedFor('requester' in scope ? scope.requester : null, budget.run, db);
    for (const unit of ['tokens', 'usd'] as const) {
      const max = limit[unit];
      if (max === null) continue;
      const used = taken[unit] + reserved[unit];
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

function reservedFor(
  requester: string | null,
  limit: BudgetLimit,
  db: Sqlite,
): Pick<Spent, 'tokens' | 'usd'> {
  if (limit.tokens === null && limit.usd === null) return { tokens: 0, usd: 0 };
  const values: Value[] = requester === null ? [] : [requester];
  const rows = db.all(
    `SELECT DISTINCT turns.run_id FROM ${ACTIVE_TURNS} ${requester === null ? '' : 'AND runs.requester = ?'}`,
    ...values,
  );
  let tokens = 0;
  let usd = 0;
  for (const row of rows) {
    const taken = spent({ runId: String(row.run_id) }, db);
    tokens += Math.max(0, (limit.tokens ?? 0) - taken.tokens);
    usd += Math.max(0, (limit.usd ?? 0) - taken.usd);
  }
  return { tokens, usd };
}

/** An amount of a budget in words. */
export function show(amount: number, unit: 'tokens' | 'usd'): string {
  return unit === 'usd' ? `$${amount.toFixed(2)}` : `${Math.round(amount)} tokens`;
}

function readSpent(row: Row | undefined): Spent {
  return {
    tokens: Number(row?.tokens ?? 0),
    usd: Number(row?.usd ?? 0),
    unknownUsd: Number(row?.unknown_usd ?? 0),
  };
}
