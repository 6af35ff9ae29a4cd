import { asRecord, parseJson, readRecord, readString } from '../core/guards.ts';
import { type StatePaths, statePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { closing, getDb } from '../database/db.ts';
import { readToldLessons } from '../lessons/store/told-lessons.ts';
import { requesterHere } from '../runs/requester.ts';
import { undelivered } from '../runs/store/outbox.ts';
import { readRuns } from '../runs/store/rows.ts';
import { countRuns } from '../runs/store/runs.ts';
import { isEnabled, loadConfig } from '../settings/hook-settings.ts';
import { listSuggestions } from '../suggestions/model/store.ts';
import type { readInputSoon } from '../system/files.ts';
import { type CliContext, projectHere } from './context.ts';

/** A client that draws its status line waits for it. */
const INPUT_WITHIN_MS = 50;
const INPUT_BYTES_MAX = 64 * 1024;
const BUSY_TIMEOUT_MS = 50;

/**
 * `status --line`: what there is for the project of the session that the client hands over on standard input, in a few words.
 * Looks only, waits for nobody, and never fails: a client shows the line again and again.
 */
export async function printStatusLine(context: CliContext, readSoon: typeof readInputSoon): Promise<void> {
  const { env, platform, stdout } = context;
  const paths = statePaths(env, platform);
  if (paths === undefined) return;
  const cwd = (await sessionDirectory(readSoon)) ?? context.cwd;
  try {
    stdout(
      `${isEnabled(loadConfig(paths)) ? wordsOf(paths, { ...context, cwd }) : 'self-generation is off'}\n`,
    );
  } catch {
    stdout('see self-generation doctor\n'); // Which says what is wrong.
  }
}

/** Where the session was started; undefined where nothing that says so comes in at once. */
async function sessionDirectory(readSoon: typeof readInputSoon): Promise<string | undefined> {
  if (process.stdin.isTTY) return undefined;
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), 2 * INPUT_WITHIN_MS);
  const text = await Promise.race([readSoon(INPUT_BYTES_MAX, INPUT_WITHIN_MS), late]);
  // Neither the rest of the time nor an input that nobody ends must keep this process.
  clearTimeout(timer);
  process.stdin.destroy();
  const session = asRecord(parseJson(text ?? ''));
  const workspace = readRecord(session, 'workspace');
  return (
    readString(workspace, 'project_dir') || readString(workspace, 'current_dir') || readString(session, 'cwd')
  );
}

/** `3 lessons · 1 run active · 2 suggestions` */
function wordsOf(paths: StatePaths, here: Pick<CliContext, 'env' | 'cwd'>): string {
  const project = projectHere(paths, here);
  const db = getDb(paths, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
  const learned =
    db &&
    closing(db.sqlite, () => ({
      lessons: readToldLessons(project.spellings, db).lessons.length,
      suggestions: listSuggestions({ project }, db).filter(
        ({ status }) => status === 'new' || status === 'shown',
      ).length,
    }));
  const { key } = requesterHere(here);
  const runs = readRuns(paths, (sqlite) => ({
    active: countRuns({ requester: key }, sqlite).active,
    unread: undelivered(key, sqlite),
  }));
  const { lessons = 0, suggestions = 0 } = learned ?? {};
  const { active = 0, unread = 0 } = runs ?? {};
  const parts = [
    lessons === 0 ? 'no lesson yet' : counted(lessons, 'lesson'),
    ...(active > 0 ? [`${counted(active, 'run')} active`] : []),
    ...(unread > 0 ? [`${counted(unread, 'result')} to read`] : []),
    ...(suggestions > 0 ? [counted(suggestions, 'suggestion')] : []),
  ];
  return parts.join(' · ');
}
