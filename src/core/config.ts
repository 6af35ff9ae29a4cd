import { CLIENT_NAMES } from './client-name.ts';
import {
  boolean,
  isWord,
  names,
  oneOf,
  positive,
  readSection,
  setting,
  typeOf,
  type Values,
} from './setting.ts';

const modelName = typeOf<string>('the name of a model', isWord);

/** The settings that hooks read, one row each: type, default and meaning. Those of runs are in runs/settings.ts. */
export const HOOK_SETTINGS = {
  enabled: setting(boolean, true, 'master switch: false makes every hook do nothing'),
  language: setting(oneOf('ko', 'en'), 'ko', 'language of the texts that agents are given'),
  collectPromptText: setting(boolean, true, 'false stores [REDACTED] instead of what you typed'),
  retentionDays: setting(positive(36500), 90, 'how long recorded events are kept'),
  subagentContext: {
    agents: setting(names, [], 'agent types, beside the built-in code agents, that are given context'),
    excludeAgents: setting(names, [], 'agent types that are never given context'),
  },
  lessons: {
    model: setting(
      oneOf('off', 'suggest', 'daily'),
      'off',
      'whether a model writes lessons of failing calls, once a day: never, ones that wait for you, or also told at once when their command ran here',
    ),
  },
  analysisOnSessionEnd: setting(boolean, false, 'true asks a model after a session, within the budget below'),
  analysisCli: setting(oneOf(...CLIENT_NAMES), 'claude', 'the program that analyses the log'),
  analysisModel: setting(
    modelName,
    'sonnet',
    'its model; the default is for claude, others choose their own',
  ),
  analysisDays: setting(positive(365), 7, 'how many days of the log are analysed'),
  analysisDailyBudgetUsd: setting(positive(1000), 1, 'what all analyses of a day may cost, in USD'),
  analysisMinIntervalMinutes: setting(positive(10_080), 60, 'how long a project has no second analysis'),
  analysisCacheMaxAgeHours: setting(positive(8760), 24, 'how old suggestions may be to be announced'),
};

/** The user's settings, `config.json`, as far as hooks read them. */
export type Config = Values<typeof HOOK_SETTINGS>;

/** The settings of a document of any shape: what is not acceptable has its default. */
export function readConfig(document: unknown): Config {
  return readSection(HOOK_SETTINGS, document);
}
