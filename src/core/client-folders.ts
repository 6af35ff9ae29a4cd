import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The names of the folders in src/clients, in the order of the alphabet. Called by the bundler, never by the program. */
export function foldersOfClients(): string[] {
  const entries = readdirSync(join(import.meta.dir, '../clients'), { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}
