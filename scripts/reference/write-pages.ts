/** Writes docs/commands.md and docs/settings.md: a part of `npm run docs`. */
import { CONFIG_FIELDS } from '../../src/settings/all-settings.ts';
import { commandsPage } from './commands-page.ts';
import { programReference } from './program.ts';
import { settingsPage } from './settings-page.ts';

/** The pages that are made, by their paths in the repository. */
export function referencePages(): Readonly<Record<string, string>> {
  return {
    'docs/commands.md': commandsPage(programReference()),
    'docs/settings.md': settingsPage(CONFIG_FIELDS),
  };
}

if (import.meta.main)
  for (const [path, text] of Object.entries(referencePages()))
    await Bun.write(`${import.meta.dir}/../../${path}`, text);
