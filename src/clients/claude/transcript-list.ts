import { findFiles, type Unreadable } from '../../system/files.ts';
import { compare, mainOf, type ProgressOf, placedFile, sessionOf } from './transcript-files.ts';

/**
 * Finds the transcripts below directories, and which of them have something new; the session that began first comes
 * first. Never throws for a single file.
 */
export function listTranscripts(roots: readonly string[], progressOf: ProgressOf) {
  const unreadable: Unreadable[] = [];
  const found = roots.map((root) => findFiles(root, '.jsonl'));
  const files = new Map(found.flatMap((one) => one.files).map((file) => [file.path, file]));
  const onUnreadable = (path: string, reason: string) => void unreadable.push({ path, reason });
  const placing = { progressOf, onUnreadable, isWanted: () => true };
  const placed = [...files.values()].flatMap((file) => placedFile(file, placing));
  const changed = placed.filter(({ seen, bytes }) => seen !== bytes);
  const sessions = [...Map.groupBy(changed, mainOf)].map(([main, group]) => sessionOf(main, group));
  return {
    sessions: sessions.sort((left, right) => compare(left.outline.firstTs, right.outline.firstTs)),
    filesFound: files.size,
    filesUnchanged: files.size - changed.length - unreadable.length,
    linksNotFollowed: found.reduce((sum, one) => sum + one.linksNotFollowed, 0),
    unreadable: [...found.flatMap((one) => one.unreadable), ...unreadable],
  };
}
