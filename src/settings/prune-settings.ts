import { readTextFile } from '#runtime';
import type { StatePaths } from '../core/state-paths.ts';
import { boolean, names, parseSettings, readSection, row, typeOf, type Values } from './hook-settings.ts';

const steps = typeOf<number>(
  'a whole number from 0 to 1000',
  (found) => Number.isInteger(found) && Number(found) >= 0 && Number(found) <= 1000,
);
const ratio = typeOf<number>(
  'a number from 0 to 1',
  (found) => typeof found === 'number' && found >= 0 && found <= 1,
);

/** Tools whose results are a plan, a list of what is to do, or another agent's work. */
const PROTECTED_TOOLS = ['task', 'todo', 'skill', 'question', 'plan_enter', 'plan_exit'];

/** The settings of pruning and of the plugin of OpenCode, one row each. */
export const PRUNE_SETTINGS = {
  prune: {
    enabled: row(boolean, true, 'false shows every main session of OpenCode as it is'),
    deduplicate: row(boolean, true, 'a result that stands above word for word is not shown again'),
    supersedeWrites: row(
      boolean,
      true,
      'what was written to a file, or read of it, is not shown once it was read or written anew in full',
    ),
    purgeErrors: row(boolean, true, 'long texts in the input of a call that failed are not shown later'),
    errorSteps: row(steps, 4, 'so many answers of the model later'),
    protectedTurns: row(steps, 0, 'nothing is taken from the newest so many prompts and what followed them'),
    protectedTools: row(
      names,
      PROTECTED_TOOLS,
      'tools whose calls are always shown, by any of their names; * is any letters',
    ),
    protectedFiles: row(
      names,
      [],
      'files of which calls are always shown: patterns with *, ** and ?, below the project',
    ),
    cachedPriceRatio: row(
      ratio,
      0.1,
      'what cached input costs, as a part of the price of other input; 1: nothing is cached',
    ),
    cacheMinutes: row(steps, 10, 'so many minutes after a request nothing of it is cached any more'),
  },
  opencode: {
    knowledge: row(
      boolean,
      true,
      'false tells sub-agents of OpenCode nothing, and learns nothing from its sessions as they run',
    ),
  },
};

export type PruneSettings = Values<typeof PRUNE_SETTINGS>['prune'];

/** The user's own, for who prunes anything but a session of OpenCode as it runs: `prune.enabled` is of that alone. */
export function loadPruneSettings(paths: StatePaths): PruneSettings {
  return { ...storedSettings(paths), enabled: true };
}

/** Whether main sessions of OpenCode are pruned as they run, where its plugin is. */
export function prunesMainSessions(paths: StatePaths): boolean {
  return storedSettings(paths).enabled;
}

function storedSettings({ config }: StatePaths): PruneSettings {
  return readSection(PRUNE_SETTINGS, parseSettings(readTextFile(config) ?? '{}')).prune;
}
