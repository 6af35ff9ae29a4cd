import { isRecord, type Json } from './guards.ts';

/** The user's settings, `config.json`. Every field has a default; a bad value falls back to it. */
export type Config = {
  readonly enabled: boolean;
  readonly language: 'ko' | 'en';
  readonly collectPromptText: boolean;
  readonly retentionDays: number;
  readonly subagentContext: {
    /** Names beside CODE_AGENTS whose agents get context; matched as RA-401 matches. */
    readonly agents: readonly string[];
    readonly excludeAgents: readonly string[];
  };
  readonly analysisOnSessionEnd: boolean;
  readonly analysisCli: 'claude' | 'codex' | 'gemini' | 'opencode';
  readonly analysisModel: string;
  readonly analysisDays: number;
  readonly analysisDailyBudgetUsd: number;
  readonly analysisMinIntervalMinutes: number;
  readonly analysisCacheMaxAgeHours: number;
};

/** A field that was not taken as it stands: where, what was found, what is used instead. */
export type ConfigProblem = { readonly key: string; readonly found: unknown; readonly message: string };

type Field = {
  readonly key: string;
  readonly default: unknown;
  readonly accepts: (value: unknown) => boolean;
  readonly expected: string;
  readonly description: string;
};

const BOOLEAN = { accepts: (value: unknown) => typeof value === 'boolean', expected: 'true or false' };
const NAMES = {
  accepts: (value: unknown) => {
    if (!Array.isArray(value)) return false;
    for (const name of value) if (typeof name !== 'string' || name.trim() === '') return false;
    return true;
  },
  expected: 'a list of non-empty names',
};

const ANALYSIS_CLIS = ['claude', 'codex', 'gemini', 'opencode'];

function positive(most: number) {
  return {
    accepts: (value: unknown) =>
      typeof value === 'number' && Number.isFinite(value) && value > 0 && value <= most,
    expected: `a number above 0, at most ${most}`,
  };
}

/** One row per setting: the README's table, `config`, `doctor` and the hooks all read this. */
export const CONFIG_FIELDS: readonly Field[] = [
  {
    key: 'enabled',
    default: true,
    ...BOOLEAN,
    description: 'master switch: false makes every hook do nothing',
  },
  {
    key: 'language',
    default: 'ko',
    accepts: (value) => value === 'ko' || value === 'en',
    expected: '"ko" or "en"',
    description: 'language of the texts that agents are given',
  },
  {
    key: 'collectPromptText',
    default: true,
    ...BOOLEAN,
    description: 'false stores [REDACTED] instead of what you typed',
  },
  { key: 'retentionDays', default: 90, ...positive(36500), description: 'how long recorded events are kept' },
  {
    key: 'subagentContext.agents',
    default: [],
    ...NAMES,
    description: 'agent types, beside the built-in code agents, that are given context',
  },
  {
    key: 'subagentContext.excludeAgents',
    default: [],
    ...NAMES,
    description: 'agent types that are never given context',
  },
  {
    key: 'analysisOnSessionEnd',
    default: false,
    ...BOOLEAN,
    description: 'true analyses the log after a session: a call to a model, within the budget below',
  },
  {
    key: 'analysisCli',
    default: 'claude',
    accepts: (value) => typeof value === 'string' && ANALYSIS_CLIS.includes(value),
    expected: '"claude", "codex", "gemini" or "opencode"',
    description: 'the program that analyses the log',
  },
  {
    key: 'analysisModel',
    default: 'sonnet',
    accepts: (value) => typeof value === 'string' && value.trim() !== '',
    expected: 'the name of a model',
    description: 'the model that analyses the log; the default is for claude, the others choose their own',
  },
  { key: 'analysisDays', default: 7, ...positive(365), description: 'how many days of the log are analysed' },
  {
    key: 'analysisDailyBudgetUsd',
    default: 1,
    ...positive(1000),
    description: 'what all analyses of a day may cost together, in USD',
  },
  {
    key: 'analysisMinIntervalMinutes',
    default: 60,
    ...positive(10_080),
    description: 'how long no session of a project starts another analysis of it',
  },
  {
    key: 'analysisCacheMaxAgeHours',
    default: 24,
    ...positive(8760),
    description: 'how old suggestions of another implementation may be to be announced',
  },
];

/** The settings of a document of any shape: each field that is not acceptable has its default. */
export function readConfig(value: unknown): Config {
  const source = isRecord(value) ? value : {};
  const config: Json = {};
  for (const field of CONFIG_FIELDS) {
    const found = readPath(source, field.key);
    const used = found !== undefined && field.accepts(found) ? found : field.default;
    writePath(config, field.key, Array.isArray(used) ? used.slice() : used);
  }
  return config as unknown as Config;
}

/** The settings, and what is wrong with the document. Unknown keys are kept by writers and reported here. */
export function parseConfig(value: unknown): { config: Config; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  if (!isRecord(value)) {
    problems.push({
      key: '',
      found: value,
      message: 'expected a JSON object; every setting has its default',
    });
  }
  const source = isRecord(value) ? value : {};
  for (const field of CONFIG_FIELDS) {
    const found = readPath(source, field.key);
    if (found === undefined || field.accepts(found)) continue;
    const message = `expected ${field.expected}; ${JSON.stringify(field.default)} is used`;
    problems.push({ key: field.key, found, message });
  }
  reportUnknown(source, '', problems);
  return { config: readConfig(value), problems };
}

/** The value at a key, or undefined. A dot leads into a section. */
export function readPath(source: Json, key: string): unknown {
  const dot = key.indexOf('.');
  if (dot < 0) return Object.hasOwn(source, key) ? source[key] : undefined;
  const name = key.slice(0, dot);
  const section = Object.hasOwn(source, name) ? source[name] : undefined;
  return isRecord(section) ? readPath(section, key.slice(dot + 1)) : undefined;
}

/** Sets the value at a key in place, making the sections between. */
export function writePath(target: Json, key: string, value: unknown): void {
  if (key.includes('__proto__')) return; // Would change every object instead of this one.
  const dot = key.indexOf('.');
  if (dot < 0) {
    target[key] = value;
    return;
  }
  const name = key.slice(0, dot);
  const found = Object.hasOwn(target, name) ? target[name] : undefined;
  const section: Json = isRecord(found) ? found : {};
  target[name] = section;
  writePath(section, key.slice(dot + 1), value);
}

/** Reports keys that name no setting, and sections that are no objects. `section` ends with a dot or is empty. */
function reportUnknown(source: Json, section: string, problems: ConfigProblem[]): void {
  for (const name of Object.keys(source)) {
    const key = section + name;
    const found = source[name];
    let isSetting = false;
    let isSection = false;
    for (const field of CONFIG_FIELDS) {
      isSetting ||= field.key === key;
      isSection ||= field.key.startsWith(`${key}.`);
    }
    if (isSection && isRecord(found)) reportUnknown(found, `${key}.`, problems);
    else if (isSection)
      problems.push({ key, found, message: 'expected an object; its settings have defaults' });
    else if (!isSetting) problems.push({ key, found, message: 'no such setting; it has no effect' });
  }
}
