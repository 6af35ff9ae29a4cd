import { pathExists, readTextFile } from '#runtime';
import { isRecord } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { inAscii } from '../runs/model/tool-policy.ts';
import { type ConfigProblem, parseConfig } from './hook-setting-fields.ts';
import { parseSettings } from './load-hook-settings.ts';
import { type RunSettings, readRunSettings } from './run-settings.ts';
import { NO_SUCH_SETTING } from './take-section.ts';

/** The settings as far as a new run may rely on them. `warnings`: what is wrong and does not matter that much. */
export type RunConfig =
  | { readonly kind: 'usable'; readonly settings: RunSettings; readonly warnings: readonly string[] }
  | { readonly kind: 'refused'; readonly error: string };

/** What keeps a run within bounds: a mistake there must not mean that there are none. */
const BOUNDS = ['tools.subagents', 'agents.list', 'budget'];
/** Settings of another implementation and of earlier releases, which are none any more and bind nothing. */
const FORMER = [
  ...['dbPath', 'embedding'],
  ...['maxPerRequester', 'maxPerClient', 'maxPerSession'].map((name) => `agents.defaults.subagents.${name}`),
];
/** Where the settings of runs stand. */
const SECTIONS = ['agents', 'tools', 'announce', 'notify', 'budget', 'models'];
/** A single tool that is denied or allowed. */
const TOOL_ENTRY = /\.tools\.(?:deny|allow)\[/;
const WARNINGS_MAX = 3;
const ADVICE = 'Correct it: "self-generation doctor" and "self-generation config" say what is wrong';

/** The settings of background runs. A file of its own: what hooks load knows nothing of them. */
export function loadRunSettings(paths: StatePaths): RunSettings {
  const text = readTextFile(paths.config);
  return readRunSettings(parseSettings(text ?? '{}'));
}

/** As loadRunSettings(), for what is to be started: refused when it is not known what it may do, or what it may cost. */
export function loadRunConfig(paths: StatePaths): RunConfig {
  const text = readTextFile(paths.config);
  if (text === undefined && !pathExists(paths.config)) return usable({}, []);
  const document = parseSettings(text ?? '');
  if (!isRecord(document)) {
    return {
      kind: 'refused',
      error: `the settings "${paths.config}" are no object of JSON or JSON5. ${ADVICE}`,
    };
  }
  const { isStrict } = readRunSettings(document).tools;
  const problems = parseConfig(document).problems.filter((one) => isIn(one.key, SECTIONS) || mayBeBound(one));
  const [first, ...more] = problems.filter((one) => {
    if (TOOL_ENTRY.test(one.key)) return isStrict;
    const holdsBound = BOUNDS.some((bound) => isIn(bound, [one.key]));
    return isIn(one.key, BOUNDS) || holdsBound || (isStrict && mayBeBound(one));
  });
  if (first === undefined) return usable(document, problems);
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  const error = `the settings do not say what a sub-agent may do: ${inWords(first)}${others}. ${ADVICE}`;
  return { kind: 'refused', error };
}

/** A name that is no setting, wherever it stands, may be a bound that is misspelt or in the wrong place. */
function mayBeBound({ key, message }: ConfigProblem): boolean {
  return message === NO_SUCH_SETTING && !isIn(key, FORMER);
}

function usable(document: unknown, problems: readonly ConfigProblem[]): RunConfig {
  const named = problems.slice(0, WARNINGS_MAX).map(({ key, message }) => `settings: ${key}: ${message}`);
  const left = problems.length - named.length;
  const warnings = left === 0 ? named : [...named, `settings: ${left} more problems`];
  return { kind: 'usable', settings: readRunSettings(document), warnings };
}

/** Without what would be used instead. */
function inWords({ key, message }: ConfigProblem): string {
  const end = message.lastIndexOf('; ');
  return `${inAscii(key)}: ${end < 0 ? message : message.slice(0, end)}`;
}

function isIn(key: string, sections: readonly string[]): boolean {
  return sections.some((one) => key.startsWith(one) && ['', '.', '['].includes(key.charAt(one.length)));
}
