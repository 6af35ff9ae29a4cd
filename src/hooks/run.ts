import { pathExists, readTextFile, writeMark, writeStdout } from '#runtime';
import {
  canonicalProjectPath,
  getProjectName,
  getProjectPath,
  projectPathSpellings,
} from '../core/project.ts';
import type { Recording } from '../core/recording.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import { isEnabled, loadConfig } from '../store/config.ts';
import { type Db, getDb } from '../store/db.ts';
import { logHookFailure } from '../store/hook-log.ts';
import { openQuietly, type QuietRead } from '../store/quiet-read.ts';
import { record } from '../store/record.ts';
import { pruneOldEvents } from '../store/retention.ts';
import { isSpoolWaiting, spool } from '../store/spool.ts';
import { decide } from './decide.ts';
import type { Decision, HookContext, Project, Reply } from './decision.ts';
import type { HookEvent } from './event.ts';

/** How long a hook waits for the database's lock before its recording goes to the spool. */
const LOCK_TIMEOUT_MS = 400;
/** Reading never needs the lock in WAL mode; only a database that is being migrated makes a reader wait. */
const READ_TIMEOUT_MS = 100;
const MIGRATION_BYTES_MAX = 16 * 1024 * 1024;

export type HookRun = {
  readonly event: HookEvent;
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly now: Date;
};

/**
 * One hook invocation: settings, decision, effects. Each effect fails for itself: an answer is given although the
 * recording has to wait, and the recording is kept although nobody reads the answer.
 */
export async function runHook(run: HookRun): Promise<void> {
  const config = loadConfig(run.paths);
  if (!isEnabled(config)) return;
  const forWriting = writingOnce(run);
  const context = { config, now: run.now, project: projectOf(run.event, run.env) };
  const decision = attempt(run, () => decideOnce(run, context, forWriting));
  if (decision?.recording) keep(decision.recording, forWriting, run);
  if (decision?.reply) await answer(decision.reply, run);
  followUp(decision, config.retentionDays, forWriting, run);
}

/** The connection for writing, opened at the first call. */
function writingOnce({ paths }: HookRun): () => Db {
  let writing: Db | undefined;
  return () => {
    writing ??= getDb(paths, {
      mode: 'write',
      busyTimeoutMs: LOCK_TIMEOUT_MS,
      migrationBytesMax: MIGRATION_BYTES_MAX,
    });
    return writing;
  };
}

/**
 * Decides on what the database says. A hook that records anyway reads through the connection that it writes with; one
 * that only reads tries to do so without locks, and once more with them when somebody wrote meanwhile.
 */
function decideOnce(run: HookRun, context: Omit<HookContext, 'knowledge'>, forWriting: () => Db): Decision {
  const { event, paths, now } = run;
  if (event.name === 'PostToolUseFailure') {
    const knowledge = () => (pathExists(paths.database) ? attempt(run, forWriting) : undefined);
    return decide(event, { ...context, knowledge });
  }
  const reading: { quiet?: QuietRead | undefined } = {};
  const quietly = () => {
    reading.quiet = openQuietly(paths, now.getTime());
    return reading.quiet?.db ?? lockedRead(paths);
  };
  try {
    const decision = decide(event, { ...context, knowledge: quietly });
    if (reading.quiet === undefined || reading.quiet.isStillTrue()) return decision;
  } catch (error) {
    if (reading.quiet === undefined) throw error; // Else it may be a page that was being written.
  }
  return decide(event, { ...context, knowledge: () => lockedRead(paths) });
}

function lockedRead(paths: StatePaths): Db | undefined {
  return getDb(paths, { mode: 'read', busyTimeoutMs: READ_TIMEOUT_MS });
}

function projectOf(event: HookEvent, env: Environment): Project {
  const given = getProjectPath(event.cwd, env);
  if (given === null) return { name: getProjectName(null), path: null, spellings: [] };
  const path = canonicalProjectPath(given, { readTextFile, pathExists });
  return { name: getProjectName(path), path, spellings: projectPathSpellings(path, given) };
}

function keep(recording: Recording, forWriting: () => Db, run: HookRun): void {
  try {
    record([recording], run.paths, forWriting());
  } catch (error) {
    const cause = messageOf(error);
    attempt(run, () => spool([recording], run.paths, run.now.getTime()));
    logHookFailure(run.event.name, `Cannot record now, kept in the spool: ${cause}`, run.paths, run.now);
  }
}

async function answer(reply: Reply, run: HookRun): Promise<void> {
  try {
    const output = { hookEventName: reply.event, additionalContext: reply.context.toWellFormed() };
    await writeStdout(JSON.stringify({ hookSpecificOutput: output }));
  } catch (error) {
    logHookFailure(run.event.name, `Cannot answer: ${messageOf(error)}`, run.paths, run.now);
  }
}

/** What nobody waits for: the sign of life, what other hooks left in the spool, old rows. */
function followUp(
  decision: Decision | undefined,
  retentionDays: number,
  forWriting: () => Db,
  run: HookRun,
): void {
  const { event, paths, now } = run;
  if (pathExists(paths.home)) writeMark(`${paths.heartbeats}/${event.name}`, now.toISOString());
  attempt(run, () => {
    if (decision?.recording === undefined && isSpoolWaiting(paths)) record([], paths, forWriting());
    if (decision?.prune) pruneOldEvents(retentionDays, now, forWriting());
  });
}

/** The value, or undefined after noting why there is none. */
function attempt<T>({ event, paths, now }: HookRun, operation: () => T): T | undefined {
  try {
    return operation();
  } catch (error) {
    logHookFailure(event.name, messageOf(error), paths, now);
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
