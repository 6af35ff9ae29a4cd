import { parseJson5, readTextFile } from '#runtime';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { parseJson } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { boolean, isWord, names, oneOf, positive, readSection, row, typeOf, type Values } from './setting.ts';

const modelName = typeOf<string>('the name of a model', isWord);

/** The settings that hooks read, one row each: type, default and meaning. */
export const HOOK_SETTINGS = {
  enabled: row(boolean, true, 'master switch: false makes every hook do nothing'),
  language: row(oneOf('ko', 'en'), 'ko', 'language of the texts that agents are given'),
  collectPromptText: row(boolean, true, 'false stores [REDACTED] instead of what you typed'),
  retentionDays: row(positive(36500), 90, 'how long events are kept'),
  subagentContext: {
    agents: row(names, [], 'agent types, beside the built-in code agents, that are given context'),
    excludeAgents: row(names, [], 'agent types that are never given context'),
  },
  lessons: {
    model: row(
      oneOf('off', 'suggest', 'daily'),
      'off',
      'lessons that a model writes once a day: none, for you to judge, or told at once where their commands ran',
    ),
  },
  analysisOnSessionEnd: row(boolean, false, 'true analyses the log after every session, within the budget'),
  analysisCli: row(oneOf(...CLIENT_NAMES), 'claude', 'the program that asks the model'),
  analysisModel: row(modelName, 'sonnet', 'its model; the default is for claude, others choose their own'),
  analysisDays: row(positive(365), 7, 'how many days of the log are analysed'),
  analysisDailyBudgetUsd: row(positive(1000), 1, 'what all analyses of 24 hours may cost together, in USD'),
  analysisMinIntervalMinutes: row(positive(10_080), 60, 'how long a project waits for the next analysis'),
  analysisCacheMaxAgeHours: row(positive(8760), 24, 'how old an analysis may be to be announced'),
};

/** The user's settings, `config.json`, as far as hooks read them. */
export type Config = Values<typeof HOOK_SETTINGS>;

/** The settings of a document of any shape: what cannot be used has its default. */
export function readConfig(document: unknown): Config {
  return readSection(HOOK_SETTINGS, document);
}

/** The user's settings; a missing or unreadable file means the defaults (REQ-INF-102). */
export function loadConfig(paths: StatePaths): Config {
  return readConfig(parseSettings(readTextFile(paths.config) ?? '{}'));
}

/** A settings file: JSON, or JSON5 with comments and names without quotes. Undefined when it is neither; never throws. */
export function parseSettings(text: string): unknown {
  return parseJson(text) ?? parseJson5(text);
}

/** Off only when the settings say `enabled: false` (RA-407). */
export function isEnabled(config: Config): boolean {
  return config.enabled !== false;
}
