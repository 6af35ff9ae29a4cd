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
  /** What a model may do for lessons: nothing by itself, propose them, or also have those told that are proven. */
  readonly lessons: { readonly model: 'off' | 'suggest' | 'daily' };
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

export const NO_SUCH_SETTING = 'no such setting; it has no effect';

type Field = {
  readonly key: string;
  readonly default: unknown;
  readonly accepts: (value: unknown) => boolean;
};

const LESSON_MODES = ['off', 'suggest', 'daily'];
const ANALYSIS_CLIS = ['claude', 'codex', 'gemini', 'opencode'];

const isBoolean = (value: unknown) => typeof value === 'boolean';

function isNames(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  for (const name of value) if (typeof name !== 'string' || name.trim() === '') return false;
  return true;
}

function positive(most: number) {
  return (value: unknown) =>
    typeof value === 'number' && Number.isFinite(value) && value > 0 && value <= most;
}

/** One row per setting. What they mean is in config-fields.ts: a hook does without words. */
export const FIELDS: readonly Field[] = [
  { key: 'enabled', default: true, accepts: isBoolean },
  { key: 'language', default: 'ko', accepts: (value) => value === 'ko' || value === 'en' },
  { key: 'collectPromptText', default: true, accepts: isBoolean },
  { key: 'retentionDays', default: 90, accepts: positive(36500) },
  { key: 'subagentContext.agents', default: [], accepts: isNames },
  { key: 'subagentContext.excludeAgents', default: [], accepts: isNames },
  {
    key: 'lessons.model',
    default: 'off',
    accepts: (value) => typeof value === 'string' && LESSON_MODES.includes(value),
  },
  { key: 'analysisOnSessionEnd', default: false, accepts: isBoolean },
  {
    key: 'analysisCli',
    default: 'claude',
    accepts: (value) => typeof value === 'string' && ANALYSIS_CLIS.includes(value),
  },
  {
    key: 'analysisModel',
    default: 'sonnet',
    accepts: (value) => typeof value === 'string' && value.trim() !== '',
  },
  { key: 'analysisDays', default: 7, accepts: positive(365) },
  { key: 'analysisDailyBudgetUsd', default: 1, accepts: positive(1000) },
  { key: 'analysisMinIntervalMinutes', default: 60, accepts: positive(10_080) },
  { key: 'analysisCacheMaxAgeHours', default: 24, accepts: positive(8760) },
];

/** The settings of a document of any shape: each field that is not acceptable has its default. */
export function readConfig(value: unknown): Config {
  const source = isRecord(value) ? value : {};
  const config: Json = {};
  for (const field of FIELDS) {
    const found = readPath(source, field.key);
    const used = found !== undefined && field.accepts(found) ? found : field.default;
    writePath(config, field.key, Array.isArray(used) ? used.slice() : used);
  }
  return config as unknown as Config;
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
