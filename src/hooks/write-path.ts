import { pathExists, readTextFile, writeStdout } from '#runtime';
import { getProjectPath } from '../core/project.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { type Db, openForReading } from '../database/connection.ts';
import { getDb } from '../database/db.ts';
import { takeGiven } from '../database/given-contexts.ts';
import { noteTask } from '../database/given-note.ts';
import { redactText, withoutSecrets } from '../database/redact-rows.ts';
import { pruneBackups, pruneOldEvents } from '../database/retention.ts';
import { isAgentTool } from '../lessons/command.ts';
import { isRepositoryKnown } from '../lessons/store/lesson-log.ts';
import { inboxMark, requesterKey } from '../runs/model/run.ts';
import { loadSkills, skillPlaces } from '../suggestions/skill-files.ts';
import { expireSuggestions } from '../suggestions/store.ts';
import { logHookFailure } from '../system/failure-log.ts';
import { decideOther } from './decide.ts';
import type { Decision, FullContext, Recording, Reply } from './decision.ts';
import type { HookEvent, HookEventOf } from './event.ts';
import {
  attempt,
  type CatchUpLimits,
  type Decide,
  type Deed,
  type Deliveries,
  decideOnData,
  type Errand,
  type HookRun,
  messageOf,
  type Others,
  type Unread,
} from './invocation.ts';
import { projectAt } from './project.ts';
import { record } from './store/record.ts';
import { isSpoolWaiting, spool } from './store/spool.ts';
import { decideSubagentStart } from './subagent-context.ts';

/** Everything that writes, and what the hooks besides SubagentStart have in common: loaded when one of them is called. */

export { decideOther };

/** How long a hook waits for the database's lock before its recording goes to the spool. */
const LOCK_TIMEOUT_MS = 400;
const MIGRATION_BYTES_MAX = 16 * 1024 * 1024;
/** A suggestion that nobody decides on for a month is no longer wanted. */
const SUGGESTION_AGE_MAX_MS = 30 * 86_400_000;

/** The client takes 10,000 UTF-16 units; what is longer it puts into a file. */
const CONTEXT_LENGTH_MAX = 9_900;

/** Decides, records, and says what is to be said, with what background runs have to tell behind it. */
export async function serve(context: Unread, run: HookRun, { decide, answer }: Deed): Promise<void> {
  if (await isCommandAnswered(run)) return;
  if (run.name === 'result-waiter') return wait(context, run);
  const forWriting = writingOnce(run, LOCK_TIMEOUT_MS);
  const remark = await readNews(run, forWriting);
  const deciding = { context, run, decide: (full: FullContext) => decide(full, remark) };
  const reply = decideAndRecord(deciding, forWriting);
  const errand = attempt(run, () => errandFor(context, run));
  const deliveries = errand && (await loadDeliveries(run));
  const own = reply === undefined ? '' : `${reply.context}\n\n`;
  const news =
    deliveries && attempt(run, () => deliveries.deliverToHook(errand, CONTEXT_LENGTH_MAX - own.length, run));
  if (news === undefined) {
    if (reply) await answer(reply);
    return;
  }
  const isSaid = await answer({ event: run.event.name, context: own + news.text });
  attempt(run, () => news.settle(isSaid));
}

const COMMAND = /^\/(?:subagents|stop)(?!\S)/;

/**
 * A command of ours that the user typed is carried out here, and the prompt goes no further: no model is asked, nothing is
 * recorded as a wish, and what waits for the session is left to its next hook, because a blocked prompt takes no context.
 */
async function isCommandAnswered(run: HookRun): Promise<boolean> {
  const { event } = run;
  if (event.name !== 'UserPromptSubmit' || event.agentId !== null || !COMMAND.test(event.prompt))
    return false;
  try {
    const commands = await run.chunks.commands?.();
    const reason = await commands?.answerPrompt(event.prompt, run);
    if (reason === undefined) return false;
    const hookSpecificOutput = { hookEventName: event.name, suppressOriginalPrompt: true };
    await writeStdout(JSON.stringify({ decision: 'block', reason, hookSpecificOutput }));
    return true;
  } catch (error) {
    logHookFailure(event.name, messageOf(error), run.paths, run.now);
    return false;
  }
}

/**
 * Where the session may be left alone by its user: one that prints and ends would not end before. Claude Code sets both,
 * also when it is started from inside another one (measured with 2.1.328).
 */
async function wait({ project }: Unread, run: HookRun): Promise<void> {
  const { env, event, paths } = run;
  const isAttended = env.CLAUDE_CODE_ENTRYPOINT === 'cli' && env.CLAUDE_CODE_SESSION_ATTENDED !== '0';
  if (!isAttended || event.agentId !== null || project.path === null) return;
  if (!pathExists(paths.runsDatabase)) return;
  const waiter = await run.chunks.waiter?.();
  await waiter?.waitForResult(requesterKey(project.path, { readTextFile, pathExists }), run);
}

/** Neither is lost by the other's failure. */
async function loadDeliveries(run: HookRun): Promise<Deliveries | undefined> {
  try {
    return await run.chunks.deliveries?.();
  } catch (error) {
    logHookFailure(run.event.name, messageOf(error), run.paths, run.now);
    return undefined;
  }
}

const MIB = 1024 * 1024;
/** What somebody waits for. */
const BRIEFLY = { bytes: MIB / 2, ms: 40, isNewestFirst: false, isThorough: false };
/** What nobody waits for where the client can start a hook without waiting, and not long where it cannot. */
const WHOLLY = { bytes: 16 * MIB, ms: 500, isNewestFirst: false, isThorough: true };

/** How much of the transcripts is read before this event is served; undefined for a hook that is handed its call. */
function limitsFor(event: HookEvent): CatchUpLimits | undefined {
  switch (event.name) {
    case 'PostToolUse':
    case 'PostToolBatch':
      return undefined;
    case 'PreToolUse':
      return isAgentTool(event.tool) ? { ...BRIEFLY, isNewestFirst: true } : undefined;
    case 'SubagentStart':
      return { ...BRIEFLY, isNewestFirst: true };
    case 'Stop':
    case 'SubagentStop':
      return WHOLLY;
    default:
      return BRIEFLY;
  }
}

/**
 * Records what the session's transcripts have gained, and leaves to a process of its own what is too much for a hook.
 * Gives what the agent said before the call that is at hand. Never throws.
 */
async function readNews(run: HookRun, forWriting: Writing): Promise<string | undefined> {
  const { event, paths } = run;
  const limits = limitsFor(event);
  if (limits === undefined || (event.transcriptPath === undefined && limits !== WHOLLY)) return undefined;
  try {
    const caughtUp = (await run.chunks.catchUps?.())?.catchUpForHook(run, limits, forWriting);
    const { transcriptPath } = event;
    // The client may end before a hook that it does not wait for has learnt from the whole.
    const project = projectAt(event.cwd, run.env).path;
    const isWanted = caughtUp?.isMore || event.name === 'SessionEnd' || isNewHere(project, run, forWriting);
    if (transcriptPath !== undefined && isWanted) {
      startDetached(['catch-up', transcriptPath, ...(project === null ? [] : [project])], paths);
    }
    return caughtUp?.remark;
  } catch (error) {
    const outcome = 'Cannot read the transcript now, the next hook does';
    logHookFailure(event.name, `${outcome}: ${messageOf(error)}`, paths, run.now);
    return undefined;
  }
}

/**
 * At its first session what another clone of its repository has learnt is not found yet. Where nothing has been written
 * so far, this only reads: a database of an earlier implementation stays as it is.
 */
function isNewHere(project: string | null, { event, paths }: HookRun, { opened }: Writing): boolean {
  if (event.name !== 'SessionStart' || project === null) return false;
  const db = opened ?? openForReading(paths, START_LOCK_TIMEOUT_MS);
  try {
    return db?.isOwn === true && !isRepositoryKnown(project, db);
  } finally {
    if (db !== opened) db?.sqlite.close();
  }
}

/** How long a sub-agent's start waits for the database's lock. */
const START_LOCK_TIMEOUT_MS = 100;

/** Records what is new before a sub-agent is told of it. Never throws. */
export async function catchUp(run: HookRun): Promise<void> {
  const forWriting = writingOnce(run, START_LOCK_TIMEOUT_MS);
  await readNews(run, forWriting);
}

/** Gives what the hook itself says. Never throws. */
function decideAndRecord(deciding: Deciding, forWriting: Writing): Reply | undefined {
  const { context, run } = deciding;
  const decision = attempt(run, () => decideEvent(deciding, forWriting));
  if (decision?.recording) keep(decision.recording, forWriting, run);
  else takeWaiting(run);
  if (run.event.name === 'SubagentStop')
    attempt(run, () => takeGiven(run.paths, run.now.getTime(), forWriting()));
  if (decision?.prune) {
    attempt(run, () => {
      pruneOldEvents(context.config.retentionDays, run.now, forWriting());
      expireSuggestions(new Date(run.now.getTime() - SUGGESTION_AGE_MAX_MS).toISOString(), forWriting());
      pruneBackups(context.config.retentionDays, run.now, run.paths);
    });
  }
  const { launch, task } = decision ?? {};
  if (task && pathExists(run.paths.home)) noteTask(task, run.paths);
  if (launch)
    attempt(run, () =>
      startDetached(['analyze', '--session-end', '--project', launch.projectPath], run.paths),
    );
  return decision?.reply;
}

/** Events at which a session is told besides. */
const IN_BETWEEN: ReadonlySet<string> = new Set(['PostToolUse', 'PostToolUseFailure', 'SessionEnd']);

/**
 * What a main session's hook has to do about background runs: nothing, mostly. Where there are none it costs one look.
 * What happens at the pace of a person also looks after runs whose supervisor died.
 */
function errandFor({ project }: Unread, { event, paths }: HookRun): Errand | undefined {
  if (event.agentId !== null || project.path === null) return undefined;
  const isAtHumanPace = event.name === 'UserPromptSubmit' || event.name === 'SessionStart';
  if (!isAtHumanPace && !IN_BETWEEN.has(event.name)) return undefined;
  if (!pathExists(paths.runsDatabase)) return undefined;
  const requester = requesterKey(project.path, { readTextFile, pathExists });
  const isMarked = pathExists(inboxMark(requester, paths));
  return isMarked || isAtHumanPace || event.name === 'SessionEnd' ? { requester, isMarked } : undefined;
}

/** SubagentStart on a database that an earlier implementation made and no writer has taken over yet. */
export function decideOnForeignData(
  event: HookEventOf<'SubagentStart'>,
  context: Unread,
  run: HookRun,
): Decision | undefined {
  return attempt(run, () =>
    decideOnData(
      (knowledge) => decideSubagentStart(event, { ...context, knowledge, clean: redactText }),
      run,
    ),
  );
}

/** Rows of earlier implementations may hold what those did not redact. */
function safely(open: () => Db | undefined): () => Db | undefined {
  return () => {
    const db = open();
    return db === undefined || db.isOwn ? db : withoutSecrets(db);
  };
}

/** Writes what other hooks left in the spool. Never throws. */
export function takeWaiting(run: HookRun): void {
  attempt(run, () => {
    if (isSpoolWaiting(run.paths)) record([], run.paths, writingOnce(run, LOCK_TIMEOUT_MS)());
  });
}

type Deciding = { readonly context: Unread; readonly run: HookRun; readonly decide: Decide };

/** A hook that has written, or records anyway, reads through the connection that it writes with. */
function decideEvent({ context, run, decide }: Deciding, forWriting: Writing): Decision {
  const { event, paths, env } = run;
  const skills = () => loadSkills(skillPlaces(env, getProjectPath(event.cwd, env)));
  if (event.name !== 'PostToolUseFailure') {
    return decideOnData(
      (open) => decide({ ...context, skills, knowledge: safely(() => forWriting.opened ?? open()) }),
      run,
    );
  }
  const knowledge = () => (pathExists(paths.database) ? attempt(run, forWriting) : undefined);
  return decide({ ...context, skills, knowledge });
}

/** The connection for writing, opened at the first call; `opened`: it, if it is open. */
type Writing = { (): Db; opened?: Db };

function writingOnce({ paths }: HookRun, busyTimeoutMs: number): Writing {
  const writing: Writing = () => {
    writing.opened ??= getDb(paths, {
      mode: 'write',
      busyTimeoutMs,
      migrationBytesMax: MIGRATION_BYTES_MAX,
    });
    return writing.opened;
  };
  return writing;
}

function keep(recording: Recording, forWriting: () => Db, run: HookRun): void {
  try {
    record([recording], run.paths, forWriting());
  } catch (error) {
    const isKept = attempt(run, () => {
      spool([recording], run.paths, run.now.getTime());
      return true;
    });
    const outcome = isKept ? 'Cannot record now, kept in the spool' : 'Cannot record, the event is lost';
    logHookFailure(run.event.name, `${outcome}: ${messageOf(error)}`, run.paths, run.now);
  }
}

/**
 * Starts the installed program, in its own session and with nothing of ours to hold: a child that kept standard output
 * open would cost the client's answer.
 */
function startDetached(args: readonly string[], paths: StatePaths): void {
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
}

({ serve, catchUp, decideOnForeignData, takeWaiting, decideOther }) satisfies Others;
