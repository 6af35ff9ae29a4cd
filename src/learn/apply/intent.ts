import { readdirSync, rmSync } from 'node:fs';
import { parseJson } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { writeFileAtomic } from '../../sys/atomic-file.ts';
import { readPlainFile } from '../../sys/plain-file.ts';
import { type Applied, readApplied } from './applied.ts';

/**
 * What apply is about to do, in a file that exists only while it does it. If the process is ended in between, the files
 * are changed and no verdict says by whom: when the same is applied again it would find its own work and take it for the
 * user's.
 */
const NAME = /^applying-.+\.json$/;
const INTENTS_MAX = 1000;

/** Gives what takes the note away again, once the verdict is recorded or the files are as before. */
export function noteIntent(id: string, applied: Applied, { data }: StatePaths): () => void {
  const path = `${data}/applying-${id}.json`;
  writeFileAtomic(path, `${JSON.stringify(applied)}\n`, { mode: 0o600 });
  return () => rmSync(path, { force: true });
}

/** What was begun, and neither finished nor taken back. */
export function readIntents({ data }: StatePaths): Applied[] {
  return namesIn(data)
    .map((name) => readApplied(parseJson(readPlainFile(`${data}/${name}`).toString())))
    .filter((applied) => applied !== undefined);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => NAME.test(name))
      .slice(0, INTENTS_MAX);
  } catch {
    return []; // Nothing has been learned here yet.
  }
}
