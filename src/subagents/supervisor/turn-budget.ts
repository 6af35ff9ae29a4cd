import type { Run } from '../../core/runs/run.ts';
import { WARNING_SHARE } from '../../core/runs/settings.ts';
import type { Turn } from '../../core/runs/turn.ts';
import type { Usage } from '../../core/runs/usage.ts';
import { amountsOf, type BudgetUse, budgetUses, show, type Unit } from '../../store/runs/budget.ts';
import type { Supervision } from './supervision.ts';

/** What others have taken of a limit: the turn itself comes on top. */
export type BudgetShare = Pick<BudgetUse, 'name' | 'limit'> & {
  readonly others: Readonly<Record<Unit, number>>;
};

export type BudgetVerdict =
  | { readonly kind: 'within' }
  | { readonly kind: 'near' | 'exceeded'; readonly words: string };

/** How the limits stand for a turn that has taken this, as far as it is known. */
export function judgeBudget(shares: readonly BudgetShare[], usage: Usage): BudgetVerdict {
  const amounts = shares.flatMap(({ name, limit, others }) =>
    amountsOf(limit, (unit) => others[unit] + takenBy(usage, unit)).map(({ unit, max, taken }) => ({
      ...{ max, taken, shown: show(taken, unit), limited: `${show(max, unit)} for the ${name}` },
    })),
  );
  const over = amounts.find(({ taken, max }) => taken >= max);
  if (over !== undefined)
    return { kind: 'exceeded', words: `budget exceeded: ${over.shown} of ${over.limited}` };
  const near = amounts.findLast(({ taken, max }) => taken >= max * WARNING_SHARE);
  return near === undefined
    ? { kind: 'within' }
    : { kind: 'near', words: `near the budget of ${near.limited}` };
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
  const asker = { runId: run.id, requester: run.requester.key, nowMs: world.now().getTime() };
  return budgetUses(asker, settings.budget, db).map(({ name, limit, taken }) => {
    const others = (unit: Unit) => Math.max(0, taken[unit] - takenBy(turn.usage, unit));
    return { name, limit, others: { tokens: others('tokens'), usd: others('usd') } };
  });
}

function takenBy(usage: Usage, unit: Unit): number {
  return unit === 'usd' ? (usage.costUsd ?? 0) : (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
}
