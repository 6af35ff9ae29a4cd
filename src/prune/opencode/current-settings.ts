import { fileStamp, readTextFile } from '#runtime';
import type { StatePaths } from '../../core/state-paths.ts';
import { boolean, parseSettings, readSection, row, type Values } from '../../settings/hook-settings.ts';
import { PRUNE_SETTINGS } from '../../settings/prune-settings.ts';

const SETTINGS = { enabled: row(boolean, true), ...PRUNE_SETTINGS };

export type PluginSettings = Values<typeof SETTINGS>;

/** What gives the user's settings as they stand now: they are read anew when their file has changed. Never throws. */
export function currentSettings({ config }: Pick<StatePaths, 'config'>): () => PluginSettings {
  let stamp = '';
  let settings = readSection(SETTINGS, {});
  return () => {
    const { bytes, modifiedMs } = fileStamp(config);
    if (stamp !== `${bytes} ${modifiedMs}`) {
      stamp = `${bytes} ${modifiedMs}`;
      settings = readSection(SETTINGS, parseSettings(readTextFile(config) ?? '{}'));
    }
    return settings;
  };
}
