import { readDatabase } from '../../src/hooks/store/use-database.ts';
import { locate } from '../../src/setup/manifest.ts';
import { planApply } from '../../src/suggestions/apply.ts';
import { carryOut, listEarlier } from '../../src/suggestions/decide.ts';
import { findSuggestions } from '../../src/suggestions/model/store.ts';

/** A process that is killed when it has changed the files and not yet recorded it.   bun cut-off.main.ts ID */
const place = locate(process.env, process.platform);
if (place.kind === 'failed') throw new Error(place.reason);
const { paths } = place;
const [suggestion] = readDatabase(paths, (db) => findSuggestions(process.argv[2] ?? '', db)) ?? [];
if (suggestion === undefined) throw new Error('Cannot apply: there is no such suggestion');
const plan = planApply(suggestion, {
  scope: 'own',
  project: { name: 'app', path: process.cwd() },
  place,
  language: 'ko',
  now: () => new Date(),
  earlier: listEarlier(paths),
});
if (plan.kind !== 'ready') throw new Error(`Cannot apply: ${plan.kind}`);
const change = {
  ...plan.change,
  /** What is looked at last. */
  get removes(): string[] {
    process.kill(process.pid, 'SIGKILL');
    return [];
  },
};
carryOut({ suggestion, verdict: { kind: 'applied', applied: plan.applied }, change }, paths, new Date());
