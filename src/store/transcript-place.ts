import { fileStamp, readTextPart } from '#runtime';
import type { Db } from './connection.ts';

/** What has grown by more is looked at by whoever can read it as well. */
const GROWTH_LOOKED_AT_BYTES_MAX = 64 * 1024;

/**
 * Whether a session's transcript tells of calls that have ended and are not recorded: whole lines with a result, behind
 * the place up to which it has been looked at. The line of the call that starts a sub-agent is none. Costs one row, one
 * look at the file and, when that has grown, what it has grown by. Never throws for a file.
 */
export function hasUnreadResults(path: string, db: Db): boolean {
  const { bytes } = fileStamp(path);
  if (!(bytes > 0)) return false; // Of what is no file this may be endless.
  const row = db.sqlite.get(
    'SELECT COALESCE(bytes_seen, bytes_done) AS seen FROM imports WHERE path = ?',
    path,
  );
  const seen = Number(row?.seen ?? 0);
  if (bytes <= seen) return bytes < seen; // A shorter one was written anew.
  if (bytes - seen > GROWTH_LOOKED_AT_BYTES_MAX) return true;
  const text = readTextPart(path, seen, bytes);
  return text === undefined || text.lastIndexOf('"tool_result"', text.lastIndexOf('\n')) >= 0;
}
