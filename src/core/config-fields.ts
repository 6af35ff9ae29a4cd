import {
  type Config,
  type ConfigProblem,
  FIELDS,
  NO_SUCH_SETTING,
  readConfig,
  readPath,
  writePath,
} from './config.ts';
import { isRecord, type Json } from './guards.ts';
import { takeRunSettings } from './runs/read-run-settings.ts';
import { RUN_FIELDS, readRunField } from './runs/run-settings-fields.ts';

const BOOLEAN = 'true or false';

/** Of each setting: what it may be, and what it means. */
const WORDS: readonly (readonly [key: string, expected: string, description: string])[] = [
  ['enabled', BOOLEAN, 'master switch: false makes every hook do nothing'],
  ['language', '"ko" or "en"', 'language of the texts that agents are given'],
  ['collectPromptText', BOOLEAN, 'false stores [REDACTED] instead of what you typed'],
  ['retentionDays', 'a number above 0, at most 36500', 'how long recorded events are kept'],
  [
    'subagentContext.agents',
    'a list of non-empty names',
    'agent types, beside the built-in code agents, that are given context',
  ],
  ['subagentContext.excludeAgents', 'a list of non-empty names', 'agent types that are never given context'],
  [
    'lessons.model',
    '"off", "suggest" or "daily"',
    "whether a model is asked at a session's end, once a day, what failing calls teach: never, with lessons that wait for you, or also telling agents at once their commands that ran here with success",
  ],
  [
    'analysisOnSessionEnd',
    BOOLEAN,
    'true analyses the log after a session: a call to a model, within the budget below',
  ],
  ['analysisCli', '"claude", "codex", "gemini" or "opencode"', 'the program that analyses the log'],
  [
    'analysisModel',
    'the name of a model',
    'the model that analyses the log; the default is for claude, the others choose their own',
  ],
  ['analysisDays', 'a number above 0, at most 365', 'how many days of the log are analysed'],
  [
    'analysisDailyBudgetUsd',
    'a number above 0, at most 1000',
    'what all analyses of a day may cost together, in USD',
  ],
  [
    'analysisMinIntervalMinutes',
    'a number above 0, at most 10080',
    'how long no session of a project starts another analysis of it',
  ],
  [
    'analysisCacheMaxAgeHours',
    'a number above 0, at most 8760',
    'how old suggestions of another implementation may be to be announced',
  ],
];

const HOOK_FIELDS = FIELDS.map((field) => {
  const [, expected = '', description = ''] = WORDS.find(([key]) => key === field.key) ?? [];
  return { ...field, expected, description };
});

/**
 * One row per setting, in words too: the README's table, `config` and `doctor` read this. Those of background runs come
 * last; hooks know nothing of them.
 */
export const CONFIG_FIELDS = [
  ...HOOK_FIELDS,
  ...RUN_FIELDS.map((field) => ({
    key: field.key,
    default: field.default,
    accepts: (value: unknown) => value !== undefined && readRunField(field, value).problems.length === 0,
    expected: field.expected,
    description: field.description,
  })),
];

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
  for (const field of HOOK_FIELDS) {
    const found = readPath(source, field.key);
    if (found === undefined || field.accepts(found)) continue;
    const message = `expected ${field.expected}; ${JSON.stringify(field.default)} is used`;
    problems.push({ key: field.key, found, message });
  }
  problems.push(...takeRunSettings(source).problems);
  reportUnknown(source, '', problems);
  return { config: readConfig(value), problems };
}

/** What is in force at every setting, in the shape of `config.json`. */
export function effectiveSettings(value: unknown): Json {
  const settings = takeRunSettings(value).document;
  const config = readConfig(value) as unknown as Json;
  for (const { key } of HOOK_FIELDS) writePath(settings, key, readPath(config, key));
  return settings;
}

/** Reports keys that name no setting, and sections that are no objects. `section` ends with a dot or is empty. */
function reportUnknown(source: Json, section: string, problems: ConfigProblem[]): void {
  for (const name of Object.keys(source)) {
    const key = section + name;
    const found = source[name];
    let isSetting = false;
    let isSection = false;
    // A dot in a name leads nowhere: what stands there is not read.
    for (const field of name.includes('.') ? [] : CONFIG_FIELDS) {
      isSetting ||= field.key === key;
      isSection ||= field.key.startsWith(`${key}.`);
    }
    if (isSection && isRecord(found)) reportUnknown(found, `${key}.`, problems);
    else if (isSection)
      problems.push({ key, found, message: 'expected an object; its settings have defaults' });
    else if (!isSetting) problems.push({ key, found, message: NO_SUCH_SETTING });
  }
}
