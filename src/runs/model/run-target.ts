import { cutText, oneLine } from '../../core/text.ts';
import { isLive, type RunWithMessages } from './run.ts';

const PREFIX_LENGTH_MIN = 4;
const ECHO_LENGTH_MAX = 120;
const CANDIDATES_MAX = 8;

export type RunMatch<T extends RunWithMessages> =
  | { readonly kind: 'found'; readonly run: T }
  | { readonly kind: 'missing' | 'ambiguous' | 'empty'; readonly error: string };

/**
 * The run that is meant: `last`, a number, a session key, the beginning of an id, a label or the only one that begins
 * so; of several with that label the one that works or waits, else the newest. `runs` are all of one requester, archived
 * ones too; `id:` before the beginning of an id keeps its digits from being a number.
 */
export function matchRun<T extends RunWithMessages>(
  words: string | undefined,
  runs: readonly T[],
): RunMatch<T> {
  const wanted = (words ?? '').trim();
  if (wanted === '') return { kind: 'empty', error: 'Missing subagent id.' };
  const shown = cutText(oneLine(wanted), ECHO_LENGTH_MAX);
  const unknown = { kind: 'missing', error: `Unknown subagent id: ${shown}` } as const;
  // Ids are written without dashes, and in a session key with them.
  const withPrefix = (words: string) => {
    const prefix = idPrefix(words);
    return prefix === undefined ? [] : runs.filter(({ run }) => run.id.startsWith(prefix));
  };
  const withId = (words: string) => onlyOne(withPrefix(words), `Ambiguous run id prefix: ${words}`);
  if (wanted.startsWith('id:')) return withId(shown.slice('id:'.length)) ?? unknown;
  if (wanted === 'last') return found(newest(runs)) ?? unknown;
  if (/^#?\d+$/.test(wanted)) {
    const index = wanted.replace('#', '');
    const numbered = found(runs.find(({ run }) => run.number === Number(index)));
    const answer = numbered ?? (index === wanted ? withId(shown) : undefined);
    return answer ?? { kind: 'missing', error: `Invalid subagent index: ${cutText(index, ECHO_LENGTH_MAX)}` };
  }
  const keyed = found(runs.find(({ run }) => run.childKey === wanted));
  const called = () => onlyOne(labelled(wanted, runs), `Ambiguous subagent label prefix: ${shown}`);
  const answer = keyed ?? withId(shown) ?? called();
  if (answer !== undefined) return answer;
  return wanted.includes(':') ? { kind: 'missing', error: `Unknown subagent session: ${shown}` } : unknown;
}

function found<T extends RunWithMessages>(run: T | undefined): RunMatch<T> | undefined {
  return run && { kind: 'found', run };
}

function newest<T extends RunWithMessages>(runs: readonly T[]): T | undefined {
  return runs.toSorted((left, right) => right.run.number - left.run.number)[0];
}

/** Why a run cannot be called so: the label would be read as something else; undefined when it can. */
export function labelProblem(label: string): string | undefined {
  const isWord = ['last', 'all', 'project', '*'].includes(label);
  const isName = /^(?:#?\d+$|id:|agent:.*:subagent:)/.test(label) || idPrefix(label) !== undefined;
  if (!isWord && !isName) return undefined;
  const read = isWord
    ? 'that word has a meaning of its own'
    : "it reads as a run's number, id or session key";
  return `Cannot call a run "${cutText(oneLine(label), ECHO_LENGTH_MAX)}": ${read}. Choose another label`;
}

function idPrefix(words: string): string | undefined {
  const prefix = words.toLowerCase().replaceAll('-', '');
  return prefix.length >= PREFIX_LENGTH_MIN && /^[0-9a-f]+$/.test(prefix) ? prefix : undefined;
}

/** For each label that is meant the run that has it. */
function labelled<T extends RunWithMessages>(wanted: string, runs: readonly T[]): readonly T[] {
  const exact = runs.filter(({ run }) => run.label === wanted);
  const begun = exact.length > 0 ? exact : runs.filter(({ run }) => run.label?.startsWith(wanted));
  const labels = Map.groupBy(begun, ({ run }) => run.label);
  return [...labels.values()].flatMap((same) => newest(same.filter(isLive)) ?? newest(same) ?? []);
}

function onlyOne<T extends RunWithMessages>(runs: readonly T[], error: string): RunMatch<T> | undefined {
  if (runs.length < 2) return found(runs[0]);
  const named = runs.slice(0, CANDIDATES_MAX).map(({ run: { number, label }, turn }) => {
    const name = label === null ? '' : ` "${cutText(oneLine(label), ECHO_LENGTH_MAX)}"`;
    return `#${number}${name} (${turn.state})`;
  });
  const more = runs.length > named.length ? ', …' : '';
  return { kind: 'ambiguous', error: `${error}. It may be ${named.join(', ')}${more}: use the number` };
}
