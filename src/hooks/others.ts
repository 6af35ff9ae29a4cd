import { pathExists } from '#runtime';
import { unreachable } from '../core/guards.ts';
import type { Recording } from '../core/recording.ts';
import { redactSecrets } from '../core/redact.ts';
import type { Db } from '../store/connection.ts';
import { getDb } from '../store/db.ts';
import { logHookFailure } from '../store/hook-log.ts';
import { record } from '../store/record.ts';
import { pruneOldEvents } from '../store/retention.ts';
import { isSpoolWaiting, spool } from '../store/spool.ts';
import { type Decision, type HookContext, NOTHING, type Reply } from './decision.ts';
import { decidePostToolBatch, decidePostToolUseFailure } from './error-logger.ts';
import type { HookEvent } from './event.ts';
import { decidePreToolUse } from './pre-tool-guide.ts';
import { decideUserPromptSubmit } from './prompt-logger.ts';
import { attempt, decideOnData, type HookRun, messageOf } from './run.ts';
import { decideSessionStart } from './session-analyzer.ts';
import { decideSessionEnd } from './session-summary.ts';
import { decideSubagentStop } from './subagent-tracker.ts';
import { decidePostToolUse } from './tool-logger.ts';

/** Every hook but SubagentStart, and everything that writes: loaded only when one of them is called. */

/** How long a hook waits for the database's lock before its recording goes to the spool. */
const LOCK_TIMEOUT_MS = 400;
const MIGRATION_BYTES_MAX = 16 * 1024 * 1024;

/** Decides, records, and gives what is to be said. Never throws. */
export function serve(context: Omit<HookContext, 'knowledge'>, run: HookRun): Reply | undefined {
  const forWriting = writingOnce(run);
  const decision = attempt(run, () => decideEvent(context, forWriting, run));
  if (decision?.recording) keep(decision.recording, forWriting, run);
  else takeWaiting(run);
  if (decision?.prune) {
    attempt(run, () => pruneOldEvents(context.config.retentionDays, run.now, forWriting()));
  }
  // Rows of earlier implementations, read before they are taken over, may hold what those did not redact.
  return decision?.reply && redactReply(decision.reply);
}

/** The same reply without secrets. */
export function redactReply(reply: Reply): Reply {
  return { ...reply, context: redactSecrets(reply.context) };
}

/** Writes what other hooks left in the spool. Never throws. */
export function takeWaiting(run: HookRun): void {
  attempt(run, () => {
    if (isSpoolWaiting(run.paths)) record([], run.paths, writingOnce(run)());
  });
}

/** A hook that records anyway reads through the connection that it writes with. */
function decideEvent(context: Omit<HookContext, 'knowledge'>, forWriting: () => Db, run: HookRun): Decision {
  const { event, paths } = run;
  if (event.name !== 'PostToolUseFailure') {
    return decideOnData((knowledge) => decide(event, { ...context, knowledge }), run);
  }
  const knowledge = () => (pathExists(paths.database) ? attempt(run, forWriting) : undefined);
  return decide(event, { ...context, knowledge });
}

/** What the event calls for. Reads through the context, changes nothing. */
export function decide(event: HookEvent, context: HookContext): Decision {
  switch (event.name) {
    case 'UserPromptSubmit':
      return decideUserPromptSubmit(event, context);
    case 'PreToolUse':
      return decidePreToolUse(event, context);
    case 'PostToolUse':
      return decidePostToolUse(event, context);
    case 'PostToolUseFailure':
      return decidePostToolUseFailure(event, context);
    case 'PostToolBatch':
      return decidePostToolBatch(event, context);
    case 'SubagentStart':
      return NOTHING; // Served by run.ts.
    case 'SubagentStop':
      return decideSubagentStop(event, context);
    case 'SessionStart':
      return decideSessionStart(event, context);
    case 'SessionEnd':
      return decideSessionEnd(event, context);
    default:
      return unreachable(event);
  }
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

function keep(recording: Recording, forWriting: () => Db, run: HookRun): void {
  try {
    record([recording], run.paths, forWriting());
  } catch (error) {
    attempt(run, () => spool([recording], run.paths, run.now.getTime()));
    const message = `Cannot record now, kept in the spool: ${messageOf(error)}`;
    logHookFailure(run.event.name, message, run.paths, run.now);
  }
}
