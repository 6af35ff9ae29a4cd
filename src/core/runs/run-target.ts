import { cutText, oneLine } from '../text.ts';
import type { RunWithTurn } from './run.ts';

const PREFIX_LENGTH_MIN = 4;
const ECHO_LENGTH_MAX = 120;

export type TargetAnswer<T extends RunWithTurn> =
  | { readonly kind: 'found'; readonly run: T }
  | { readonly kind: 'missing' | 'ambiguous' | 'empty'; readonly error: string };

/**
 * The run that is meant: `last`, a number, a session key, the beginning of an id, a label or the only one that begins
 * so. `runs` are all of one requester, archived ones too; `id:` before the beginning of an id keeps its digits from
 * being a number.
 */
export function findTarget<T extends RunWithTurn>(
  words: string | undefined,
  runs: readonly T[],
): TargetAnswer<T> {
  const wanted = (words ?? '').trim();
  if (wanted === '') return { kind: 'empty', error: 'Missing subagent id.' };
  const shown = cutText(oneLine(wanted), ECHO_LENGTH_MAX);
  const unknown = { kind: 'missing', error: `Unknown subagent id: ${shown}` } as const;
  if (wanted.startsWith('id:')) return byId(wanted.slice('id:'.length), shown, runs) ?? unknown;
  if (wanted === 'last') return found(newest(runs)) ?? unknown;
  if (/^#?\d+$/.test(wanted)) {
    const index = wanted.replace('#', '');
    const numbered = found(runs.find(({ run }) => run.number === Number(index)));
    const answer = numbered ?? (index === wanted ? byId(wanted, shown, runs) : undefined);
    return answer ?? { kind: 'missing', error: `Invalid subagent index: ${cutText(index, ECHO_LENGTH_MAX)}` };
  }
  const keyed = found(runs.find(({ run }) => run.childKey === wanted));
  const answer = keyed ?? byId(wanted, shown, runs) ?? byLabel(wanted, shown, runs);
  if (answer !== undefined) return answer;
  return wanted.includes(':') ? { kind: 'missing', error: `Unknown subagent session: ${shown}` } : unknown;
}

function found<T extends RunWithTurn>(run: T | undefined): TargetAnswer<T> | undefined {
  return run && { kind: 'found', run };
}

function newest<T extends RunWithTurn>(runs: readonly T[]): T | undefined {
  return runs.toSorted((left, right) => right.run.number - left.run.number)[0];
}

/** Ids are written without dashes, and in a session key with them. */
function byId<T extends RunWithTurn>(
  wanted: string,
  shown: string,
  runs: readonly T[],
): TargetAnswer<T> | undefined {
  const prefix = wanted.toLowerCase().replaceAll('-', '');
  if (prefix.length < PREFIX_LENGTH_MIN || !/^[0-9a-f]+$/.test(prefix)) return undefined;
  const begun = runs.filter(({ run }) => run.id.startsWith(prefix));
  return onlyOne(begun, `Ambiguous run id prefix: ${shown.replace(/^id:/, '')}`);
}

function byLabel<T extends RunWithTurn>(
  wanted: string,
  shown: string,
  runs: readonly T[],
): TargetAnswer<T> | undefined {
  const exact = runs.filter(({ run }) => run.label === wanted);
  if (exact.length > 0) return onlyOne(exact, `Ambiguous subagent label: ${shown}`);
  const begun = runs.filter(({ run }) => run.label?.startsWith(wanted));
  return onlyOne(begun, `Ambiguous subagent label prefix: ${shown}`);
}

function onlyOne<T extends RunWithTurn>(matching: readonly T[], error: string): TargetAnswer<T> | undefined {
  const [run, ...others] = matching;
  return others.length === 0 ? found(run) : { kind: 'ambiguous', error };
}
