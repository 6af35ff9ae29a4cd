import { pathExists, readTextFile } from '#runtime';
import { isRecord } from '../core/guards.ts';
import { getProjectPath } from '../core/project.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { redactText, withoutSecrets } from '../database/adopt.ts';
import { type Db, openForReading } from '../database/connection.ts';
import { getDb } from '../database/db.ts';
import { takeGiven } from '../database/given-contexts.ts';
import { noteTask } from '../database/given-note.ts';
import { pruneBackups, pruneOldEvents } from '../database/retention.ts';
import { inboxMark, requesterKey } from '../runs/model/run.ts';
import { loadSkills, skillPlaces } from '../suggestions/model/skill-files.ts';
import { expireSuggestions } from '../suggestions/model/store.ts';
import type { Decision, Recording } from './decision.ts';
import { type HookEvent, type HookEventOf, otherClientIn } from './event.ts';
import { type Hook, hookByName, readHookCall } from './hooks.ts';
import {
  attempt,
  type CatchUpLimits,
  contextFor,
  type DeliveryRequest,
  decideOnData,
  type HookDelivery,
  type HookHost,
  type HookRun,
  NEWEST_CATCH_UP,
  noteFailure,
  noteHeartbeat,
  noteTold,
  projectAt,
  type UnopenedContext,
  writeDecision,
  writeReply,
} from './invocation.ts';
import { isRepositoryKnown, isSpoolWaiting, record, spool } from './store/record.ts';
import { decideSubagentStart } from './subagent-context.ts';

/** Everything that writes, and what the hooks besides SubagentStart have in common: loaded when one of them is called. */

/** How long a hook waits for the database's lock before its recording goes to the spool. */
const LOCK_TIMEOUT_MS = 400;
/** How long a sub-agent's start waits for it. */
const START_LOCK_TIMEOUT_MS = 100;
const MIGRATION_BYTES_MAX = 16 * 1024 * 1024;
/** A suggestion that nobody decides on for a month is no longer wanted. */
const SUGGESTION_AGE_MAX_MS = 30 * 86_400_000;

/** The client takes 10,000 UTF-16 units; what is longer it puts into a file. */
const CONTEXT_LENGTH_MAX = 9_900;

/** The name of the hook that is called by this name; undefined when there is none. */
export function hookNameOf(calledAs: string): string | undefined {
  return hookByName(calledAs)?.name;
}

/** Serves any event but SubagentStart; resolves with false when the input is none of ours. */
export async function serve(value: unknown, name: string | undefined, host: HookHost): Promise<boolean> {
  const isOthers = isRecord(value) && otherClientIn(value) !== undefined;
  const other = isOthers ? (await host.chunks.callers?.())?.translated(value) : undefined;
  const call = other === undefined ? readHookCall(value, name) : readHookCall(other.event);
  if (call === undefined) return false;
  const { hook } = call;
  const { callId } = other ?? {};
  // An id of ours is no name that a client gives.
  const event = callId === undefined ? call.event : ({ ...call.event, toolUseId: callId } as HookEvent);
  const context = contextFor(event, host);
  if (context === undefined) return true;
  const run = { ...host, event, output: other?.output };
  const isDone = other === undefined && (await hook.handler.replaces?.(run as never, context));
  if (!isDone) await handle({ hook, context, run, forWriting: writingOnce(run, LOCK_TIMEOUT_MS) });
  noteHeartbeat(event, host);
  return true;
}

/** A call that is served: by which hook, and with what. */
type Served = {
  readonly hook: Hook;
  readonly context: UnopenedContext;
  readonly run: HookRun;
  readonly forWriting: Writing;
};

/** Catches up with the transcripts, decides, records, and answers, with results of background runs behind the answer. */
async function handle(served: Served): Promise<void> {
  const { hook, context, run, forWriting } = served;
  const { catchUp: limits, catchUpInBackground, searchesErrors } = hook.handler;
  const wanted = typeof limits === 'function' ? limits(run.event as never) : limits;
  const isOther = run.event.client !== undefined;
  if (isOther && wanted?.isNewestFirst) await readSession(run, NEWEST_WAIT_MS);
  const remark = isOther ? undefined : await readTranscripts(wanted, catchUpInBackground, run, forWriting);
  // Only the event of a call has one, and only the transcript knows it.
  const event = remark === undefined ? run.event : { ...run.event, remark };
  const search = searchesErrors ? await run.chunks.errorSearch() : undefined;
  const decision = attempt(run, () => {
    const decide = (knowledge: () => Db | undefined) =>
      hook.handler.decide(event as never, {
        ...context,
        knowledge,
        taskOf: () => (event.name === 'SubagentStart' && event.task) || '',
        skills: () => loadSkills(skillPlaces(run.env, getProjectPath(event.cwd, run.env))),
        searchErrors: search?.searchErrorKB,
      });
    // Rows of earlier implementations may hold what those did not redact.
    const safe = (db: Db | undefined) => (db === undefined || db.isOwn ? db : withoutSecrets(db));
    if (search === undefined || isOther)
      return decideOnData((open) => decide(() => safe(forWriting.opened ?? open())), run);
    // It records in any case, so it reads through the connection that it writes with.
    return decide(() => (pathExists(run.paths.database) ? attempt(run, forWriting) : undefined));
  });
  perform(decision ?? {}, served);
  const isDelivered = await answer(decision ?? {}, served);
  if (decision !== undefined && isDelivered) noteTold(decision, context, run);
  // It also takes the note of what was told.
  if (isOther && READ_BEHIND.has(run.event.name)) await readSession(run);
}

/** The connection for writing, opened at the first call; `opened`: it, if it is open. */
type Writing = { (): Db; opened?: Db };

function writingOnce({ paths }: HookHost, busyTimeoutMs: number): Writing {
  const writing: Writing = () => {
    writing.opened ??= getDb(paths, { mode: 'write', busyTimeoutMs, migrationBytesMax: MIGRATION_BYTES_MAX });
    return writing.opened;
  };
  return writing;
}

/** Catches up with the transcripts before a sub-agent gets its context. Never throws. */
export async function catchUp(run: HookRun): Promise<void> {
  await readTranscripts(NEWEST_CATCH_UP, undefined, run, writingOnce(run, START_LOCK_TIMEOUT_MS));
}

/**
 * Records what the session's transcripts have gained, and leaves to a process of its own what is too much for a hook.
 * Returns what the agent said before the call that is at hand. Never throws.
 */
async function readTranscripts(
  limits: CatchUpLimits | undefined,
  inBackground: Hook['handler']['catchUpInBackground'],
  run: HookRun,
  forWriting: Writing,
): Promise<string | undefined> {
  const { event, paths } = run;
  const { transcriptPath } = event;
  if (limits === undefined || (transcriptPath === undefined && !limits.isThorough)) return undefined;
  try {
    const caughtUp = (await run.chunks.catchUps?.())?.catchUpForHook(run, limits, forWriting);
    const project = projectAt(event.cwd, run.env).path;
    const isWanted =
      caughtUp?.isMore ||
      inBackground === 'always' ||
      (inBackground === 'new-project' && isNewHere(project, paths, forWriting));
    if (transcriptPath !== undefined && isWanted) {
      startDetached(['catch-up', transcriptPath, ...(project === null ? [] : [project])], paths);
    }
    return caughtUp?.remark;
  } catch (error) {
    return noteFailure(run, error, 'Cannot read the transcript now, the next hook does');
  }
}

/**
 * Whether what another clone of the project's repository has learnt is not found yet. Where nothing has been written so
 * far, this only reads: a database of an earlier implementation stays as it is.
 */
function isNewHere(project: string | null, paths: StatePaths, { opened }: Writing): boolean {
  if (project === null) return false;
  const db = opened ?? openForReading(paths, START_LOCK_TIMEOUT_MS);
  try {
    return db?.isOwn === true && !isRepositoryKnown(project, db);
  } finally {
    if (db !== opened) db?.sqlite.close();
  }
}

/** How long a sub-agent waits until the newest of another client's session is read. */
const NEWEST_WAIT_MS = 1000;
/** Another client's session is read behind these. */
const READ_BEHIND = new Set<HookEvent['name']>(['PostToolUseFailure', 'Stop', 'SessionEnd']);

/**
 * Has another client's session read, by a process of its own: what happened in it is recorded from what the client writes down,
 * not by its hooks. `waitMs`: how long it is waited for. Never throws.
 */
async function readSession(run: HookRun, waitMs = 0): Promise<void> {
  const { client, sessionId, name, cwd } = run.event;
  if (!/^[\w-]+$/.test(sessionId)) return;
  // At the end of a turn the whole project is learnt from as well.
  const project = name === 'Stop' || name === 'SessionEnd' ? projectAt(cwd, run.env).path : null;
  const words = ['catch-up', `${client}#${sessionId}`, ...(project === null ? [] : [project])];
  const reader = attempt(run, () => startDetached(words, run.paths));
  if (reader === undefined || waitMs === 0) return;
  await new Promise((resolve) => {
    for (const event of ['exit', 'error']) reader.once(event, resolve);
    setTimeout(resolve, waitMs);
  });
}

/** Does what the hook has decided on, but for the reply. Never throws. */
function perform({ recording, takesNotes, prune, task, launch }: Decision, served: Served): void {
  const { context, run, forWriting } = served;
  const { event, paths, now } = run;
  const kept = recording && (event.client === undefined ? recording : unreadable(recording));
  if (kept) keep(kept, served);
  else takeWaiting(run);
  if (takesNotes) attempt(run, () => takeGiven(paths, now.getTime(), forWriting()));
  if (prune) {
    attempt(run, () => {
      pruneOldEvents(context.config.retentionDays, now, forWriting());
      expireSuggestions(new Date(now.getTime() - SUGGESTION_AGE_MAX_MS).toISOString(), forWriting());
      pruneBackups(context.config.retentionDays, now, paths);
    });
  }
  if (task && pathExists(paths.home)) noteTask(task, paths);
  if (launch)
    attempt(run, () => startDetached(['analyze', '--session-end', '--project', launch.projectPath], paths));
}

/** What no session of another client says: what was announced, and that the fix of an error was told. */
function unreadable(recording: Recording): Recording | undefined {
  if (recording.kind === 'suggestions-shown') return recording;
  const isTold = recording.kind === 'tool-errors' && recording.shownKbId !== null;
  return isTold ? { ...recording, errors: [] } : undefined;
}

function keep(recording: Recording, { run, forWriting }: Served): void {
  try {
    record([recording], run.paths, forWriting());
  } catch (error) {
    const isKept = attempt(run, () => {
      spool([recording], run.paths, run.now.getTime());
      return true;
    });
    const outcome = isKept ? 'Cannot record now, kept in the spool' : 'Cannot record, the event is lost';
    noteFailure(run, error, outcome);
  }
}

/** Writes what other hooks left in the spool. Never throws. */
export function takeWaiting(run: HookRun): void {
  attempt(run, () => {
    if (isSpoolWaiting(run.paths)) record([], run.paths, writingOnce(run, LOCK_TIMEOUT_MS)());
  });
}

/**
 * Writes the hook's own reply and, behind it, results of background runs. If one fails, the other is still written. Returns
 * false if standard output did not take it.
 */
async function answer(decision: Decision, served: Served): Promise<boolean> {
  const { run } = served;
  const { reply } = decision;
  const own = reply === undefined ? '' : `${reply.context}\n\n`;
  const delivery = await takeDelivery(CONTEXT_LENGTH_MAX - own.length, served);
  if (delivery !== undefined) {
    const isWritten = await writeReply({ event: run.event.name, context: own + delivery.text }, run);
    attempt(run, () => delivery.settle(isWritten));
    return isWritten;
  }
  return writeDecision(decision, run);
}

async function takeDelivery(lengthMax: number, served: Served): Promise<HookDelivery | undefined> {
  const { run } = served;
  const request = attempt(run, () => deliveryRequest(served));
  if (request === undefined) return undefined;
  const deliveries = await run.chunks.deliveries?.().catch((error) => noteFailure(run, error));
  return attempt(run, () => deliveries?.deliverToHook(request, lengthMax, run));
}

/** What a main session's hook asks for; undefined mostly. Where there are no background runs it costs one look. */
function deliveryRequest({ hook, context: { project }, run }: Served): DeliveryRequest | undefined {
  const { delivers } = hook.handler;
  const { event, paths } = run;
  if (delivers === undefined || event.agentId !== null || project.path === null) return undefined;
  if (!pathExists(paths.runsDatabase)) return undefined;
  const requester = requesterKey(project.path, { readTextFile, pathExists });
  const isMarked = pathExists(inboxMark(requester, paths));
  return isMarked || delivers === 'always' ? { requester, isMarked } : undefined;
}

/** SubagentStart on a database that an earlier implementation made and no writer has taken over yet. */
export function decideOnForeignData(
  event: HookEventOf<'SubagentStart'>,
  context: UnopenedContext,
  host: HookHost,
): Decision {
  return decideOnData(
    (knowledge) => decideSubagentStart(event, { ...context, knowledge, clean: redactText }),
    host,
  );
}

/**
 * Starts the installed program, in its own session and with nothing of ours to hold: a child that kept standard output
 * open would cost the client's answer.
 */
function startDetached(args: readonly string[], paths: StatePaths) {
  const isProgram = typeof Bun !== 'undefined' && Bun.isStandaloneExecutable;
  const program = pathExists(paths.binary) ? paths.binary : isProgram ? process.execPath : undefined;
  if (program === undefined) throw new Error(`Cannot start "${args[0]}": there is no "${paths.binary}"`);
  const child = process.getBuiltinModule('node:child_process').spawn(program, args, {
    cwd: paths.home,
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
  });
  child.on('error', () => {}); // What it should have done is still to be done, which the next hook sees.
  child.unref();
  return child;
}
