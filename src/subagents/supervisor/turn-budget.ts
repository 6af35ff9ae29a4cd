import type { Run } from '../../core/runs/run.ts';
import { type BudgetLimit, WARNING_SHARE } from '../../core/runs/settings.ts';
import type { Turn } from '../../core/runs/turn.ts';
import type { Usage } from '../../core/runs/usage.ts';
import { MS_PER_DAY, type SpentScope, show, spent } from '../../store/runs/budget.ts';
import type { Supervision } from './supervision.ts';

type Unit = 'tokens' | 'usd';

/** What others have taken of a limit: the turn itself comes on top. */
export type BudgetShare = {
  readonly name: 'run' | 'requester' | 'day';
  readonly limit: BudgetLimit;
  readonly others: Readonly<Record<Unit, number>>;
};

export type BudgetVerdict =
  | { readonly kind: 'within' }
  | { readonly kind: 'near'; readonly words: string }
  | { readonly kind: 'exceeded'; readonly words: string };

/** How the limits stand for a turn that has taken this, as far as it is known. */
export function judgeBudget(shares: readonly BudgetShare[], usage: Usage): BudgetVerdict {
  let near: BudgetVerdict = { kind: 'within' };
  for (const { name, limit, others } of shares) {
    for (const unit of ['tokens', 'usd'] as const) {
      const max = limit[unit];
      if (max === null) continue;
      const taken = others[unit] + takenBy(usage, unit);
      const limited = `${show(max, unit)} for the ${name}`;
      if (taken >= max)
        return { kind: 'exceeded', words: `budget exceeded: ${show(taken, unit)} of ${limited}` };
      if (taken >= max * WARNING_SHARE) near = { kind: 'near', words: `near the budget of ${limited}` };
    }
  }
  return near;
}

/** What may still be spent in USD; null: there is no such limit. */
export function usdLeft(shares: readonly BudgetShare[], usage: Usage): number | null {
  const left = shares.flatMap(({ limit, others }) =>
    limit.usd === null ? [] : [limit.usd - others.usd - takenBy(usage, 'usd')],
  );
  return left.length === 0 ? null : Math.max(0, Math.min(...left));
}

/** The limits that are set, with what all turns but this one have taken. */
export function sharesOf(run: Run, turn: Turn, { settings, db, world }: Supervision): BudgetShare[] {
  const scopes: readonly (readonly [BudgetShare['name'], SpentScope])[] = [
    ['run', { runId: run.id }],
    ['requester', { requester: run.requester.key }],
    ['day', { sinceMs: world.now().getTime() - MS_PER_DAY }],
  ];
  return scopes.flatMap(([name, scope]) => {
    const limit = settings.budget[name];
    if (limit.tokens === null && limit.usd === null) return [];
    const all = spent(scope, db);
    const others = (unit: Unit) => Math.max(0, all[unit] - takenBy(turn.usage, unit));
    return [{ name, limit, others: { tokens: others('tokens'), usd: others('usd') } }];
  });
}

function takenBy(usage: Usage, unit: Unit): number {
  return unit === 'usd' ? (usage.costUsd ?? 0) : (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
}
