import { CLIENT_NAMES } from '../core/client-name.ts';
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
  collectPromptText: setting(boolean, true, 'false stores no prompt, but [REDACTED]'),
  retentionDays: setting(positive(36500), 90, 'how long events are kept'),
  subagentContext: {
    agents: setting(names, [], 'agent types given context, beside the code agents'),
    excludeAgents: setting(names, [], 'agent types never given context'),
  },
  lessons: {
    model: setting(
      oneOf('off', 'suggest', 'daily'),
      'off',
      'lessons by a model, once a day: none, for you to judge, or told at once where their commands ran',
    ),
  },
  analysisOnSessionEnd: setting(boolean, false, 'true asks a model after a session, within the budget'),
  analysisCli: setting(oneOf(...CLIENT_NAMES), 'claude', 'the program that analyses the log'),
  analysisModel: setting(modelName, 'sonnet', 'its model; the default is for claude alone'),
  analysisDays: setting(positive(365), 7, 'how many days of the log are analysed'),
  analysisDailyBudgetUsd: setting(positive(1000), 1, 'what all analyses of a day may cost, in USD'),
  analysisMinIntervalMinutes: setting(positive(10_080), 60, 'how long a project waits for the next one'),
  analysisCacheMaxAgeHours: setting(positive(8760), 24, 'how old an announced suggestion may be'),
};

/** The user's settings, `config.json`, as far as hooks read them. */
export type Config = Values<typeof HOOK_SETTINGS>;

/** The settings of a document of any shape: what is not acceptable has its default. */
export function readConfig(document: unknown): Config {
  return readSection(HOOK_SETTINGS, document);
}
