import { pathExists, readTextFile } from '#runtime';
import { asRecord, isRecord, type Json } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { inAscii } from '../runs/model/tool-policy.ts';
import { CONVERSATION_SETTINGS } from './conversation-settings.ts';
import {
  type Config,
  HOOK_SETTINGS,
  isSetting,
  parseSettings,
  readSection,
  type Section,
  type Setting,
} from './hook-settings.ts';
import { PRUNE_SETTINGS } from './prune-settings.ts';
import {
  NO_SUCH_SETTING,
  RUN_SETTINGS,
  type RunSettings,
  readRunSettings,
  takeSection,
  takeSetting,
} from './run-settings.ts';
import { TEAM_SETTINGS } from './team-settings.ts';

const SETTINGS = {
  ...HOOK_SETTINGS,
  ...RUN_SETTINGS,
  ...CONVERSATION_SETTINGS,
  ...PRUNE_SETTINGS,
  ...TEAM_SETTINGS,
};

/** A field that was not taken as it stands: where, what was found, what is used instead. */
export type ConfigProblem = { readonly key: string; readonly found: unknown; readonly message: string };
export type ConfigField = Setting & { readonly key: string };

/** One row per setting, in the order in which they are listed: the README's table and `config` read this. */
export const CONFIG_FIELDS = fieldsOf(SETTINGS, '');

function fieldsOf(section: Section, place: string): ConfigField[] {
  return Object.entries(section).flatMap(([name, row]) =>
    isSetting(row) ? { key: place + name, ...row } : fieldsOf(row, `${place}${name}.`),
  );
}

/** Whether nothing is wrong with the value. */
export function isAccepted(field: ConfigField, value: unknown): boolean {
  let problems = 0;
  takeSetting(field, value, () => problems++);
  return problems === 0;
}

/** The value in force of every setting, and what is wrong with the document. Unknown keys are kept by writers. */
export function parseConfig(document: unknown): { config: Config & Json; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const report = (key: string, found: unknown, message: string) => problems.push({ key, found, message });
  if (!isRecord(document)) report('', document, 'expected a JSON object; every setting has its default');
  takeSection(SETTINGS, document, report);
  return { config: readSection(SETTINGS, document), problems };
}

/** The value at a key, or undefined. A dot leads into a section. */
export function readPath(source: unknown, key: string): unknown {
  return key
    .split('.')
    .reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), source);
}

/** Sets the value at a key in place, making the sections between. */
export function writePath(target: Json, key: string, value: unknown): void {
  if (key.includes('__proto__')) return; // Would change every object instead of this one.
  const names = key.split('.');
  const last = names.pop() as string;
  let section = target;
  for (const name of names) {
    const found = readPath(section, name);
    const next: Json = asRecord(found);
    section[name] = next;
    section = next;
  }
  section[last] = value;
}

/** The settings as far as a new run may rely on them. `warnings`: problems that do not keep a run from starting. */
export type RunConfig =
  | { readonly kind: 'usable'; readonly settings: RunSettings; readonly warnings: readonly string[] }
  | { readonly kind: 'refused'; readonly error: string };

/** What keeps a run within bounds: a mistake there must not mean that there are none. */
const BOUNDS = ['tools.subagents', 'agents.list', 'budget', 'explore', 'plan', 'orchestrate'];
/** Settings of another implementation and of earlier releases, which bind nothing. */
const FORMER = [
  ...['dbPath', 'embedding'],
  ...['maxPerRequester', 'maxPerClient', 'maxPerSession'].map((name) => `agents.defaults.subagents.${name}`),
];
/** A single tool that is denied or allowed. */
const TOOL_ENTRY = /\.tools\.(?:deny|allow)\[/;
const WARNINGS_MAX = 3;
const ADVICE = 'Correct it: "self-generation doctor" and "self-generation config" say what is wrong';

/** The settings for what is to be started: refused when they do not say for certain what it may do, or may cost. */
export function loadRunConfig(paths: StatePaths): RunConfig {
  const text = readTextFile(paths.config);
  const document = text === undefined && !pathExists(paths.config) ? {} : parseSettings(text ?? '');
  if (!isRecord(document)) {
    const error = `the settings "${paths.config}" are no object of JSON or JSON5. ${ADVICE}`;
    return { kind: 'refused', error };
  }
  const settings = readRunSettings(document);
  const { isStrict } = settings.tools;
  const problems = parseConfig(document).problems.filter(
    (one) => isIn(one.key, Object.keys(RUN_SETTINGS)) || mayBeBound(one),
  );
  const [first, ...more] = problems.filter((one) => {
    if (TOOL_ENTRY.test(one.key)) return isStrict;
    const holdsBound = BOUNDS.some((bound) => isIn(bound, [one.key]));
    return isIn(one.key, BOUNDS) || holdsBound || (isStrict && mayBeBound(one));
  });
  if (first !== undefined) {
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    const reason = `${inAscii(first.key)}: ${first.message.replace(/; [^;]*$/, '')}`; // Without what is used instead.
    const error = `the settings do not say what a sub-agent may do: ${reason}${others}. ${ADVICE}`;
    return { kind: 'refused', error };
  }
  const warnings = problems.slice(0, WARNINGS_MAX).map(({ key, message }) => `settings: ${key}: ${message}`);
  const left = problems.length - warnings.length;
  if (left > 0) warnings.push(`settings: ${left} more problems`);
  return { kind: 'usable', settings, warnings };
}

/** A name that is no setting, wherever it stands, may be a bound that is misspelt or in the wrong place. */
function mayBeBound({ key, message }: ConfigProblem): boolean {
  return message === NO_SUCH_SETTING && !isIn(key, FORMER);
}

function isIn(key: string, sections: readonly string[]): boolean {
  return sections.some((one) => key.startsWith(one) && ['', '.', '['].includes(key.charAt(one.length)));
}
