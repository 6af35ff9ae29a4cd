import { pathExists, writeMark, writeStdout } from '#runtime';
import type { Db } from '../database/connection.ts';
import { hasUnreadResults } from '../database/events.ts';
import { noteGiven, readTask } from '../database/given-note.ts';
import { isEnabled, loadConfig } from '../settings/hook-settings.ts';
import { logHookFailure } from '../system/failure-log.ts';
import type { Decision, Project, Reply } from './decision.ts';
import type { HookEvent, HookEventOf } from './event.ts';
import {
  attempt,
  type Chunks,
  type Decide,
  decideOnData,
  type HookRun,
  messageOf,
  type Others,
  type Unread,
} from './invocation.ts';
import { projectAt } from './project.ts';
import { decideSubagentStart } from './subagent-context.ts';

/**
 * One hook invocation: settings, decision, effects. Each effect fails for itself: an answer is given although the
 * recording has to wait, and the recording is kept although nobody reads the answer.
 *
 * SubagentStart keeps a sub-agent waiting and only reads, so it is served by what is loaded already. All other hooks,
 * and all writing, are in others.ts.
 */
export async function runHook(run: HookRun): Promise<void> {
  const { event, paths, now } = run;
  const config = loadConfig(paths);
  if (!isEnabled(config)) return;
  const context = { config, now, project: projectAt(event.cwd, run.env) };
  if (event.name === 'SubagentStart') {
    const decision = await decideContext(event, context, run);
    if (decision?.reply) {
      await answer(decision.reply, run);
      note(decision.reply, context.project, run);
    }
    if (pathExists(paths.spool)) (await run.chunks.others()).takeWaiting(run);
  } else {
    const others = await run.chunks.others();
    const decide = await deciderOf(event, others, run.chunks);
    await others.serve(context, run, { decide, answer: (reply) => answer(reply, run) });
  }
  // The sign of life for doctor. Only where we are installed: a reading hook creates nothing.
  if (pathExists(paths.home)) writeMark(`${paths.heartbeats}/${event.name}`, now.toISOString());
}

/** The one that searches brings the most code along; no other hook loads it. */
async function deciderOf(
  event: Exclude<HookEvent, { name: 'SubagentStart' }>,
  { decideOther }: Others,
  { failures }: Chunks,
): Promise<Decide> {
  if (event.name === 'PostToolUseFailure') {
    const { decidePostToolUseFailure } = await failures();
    return (context, remark) =>
      decidePostToolUseFailure({ ...event, remark: remark ?? event.remark }, context);
  }
  return (context) => decideOther(event, context);
}

/** Why a first look at the database is not enough for a decision. */
type Shortcoming = 'foreign' | 'behind';

async function decideContext(
  event: HookEventOf<'SubagentStart'>,
  context: Unread,
  run: HookRun,
): Promise<Decision | undefined> {
  const first = lookAndDecide(event, context, run, (db) => {
    if (!db.isOwn) return 'foreign';
    return event.transcriptPath !== undefined && hasUnreadResults(event.transcriptPath, db)
      ? 'behind'
      : undefined;
  });
  if (first.shortcoming === undefined) return first.decision;
  const others = await run.chunks.others();
  if (first.shortcoming === 'foreign') return others.decideOnForeignData(event, context, run);
  await others.catchUp(run);
  return lookAndDecide(event, context, run).decision;
}

function lookAndDecide(
  event: HookEventOf<'SubagentStart'>,
  context: Unread,
  run: HookRun,
  judge?: (db: Db) => Shortcoming | undefined,
): { decision: Decision | undefined; shortcoming: Shortcoming | undefined } {
  let shortcoming: Shortcoming | undefined;
  const decision = attempt(run, () =>
    decideOnData((open) => {
      const knowledge = () => {
        const db = open();
        shortcoming = db && judge?.(db);
        return shortcoming === undefined ? db : undefined;
      };
      return decideSubagentStart(event, { ...context, knowledge, taskOf: taskOf(run) });
    }, run),
  );
  return { decision, shortcoming };
}

/** What PreToolUse has left for this sub-agent. */
function taskOf({ paths }: HookRun): (event: HookEvent) => string {
  return ({ sessionId, agentType }) => readTask({ sessionId, agentType: agentType ?? '' }, paths);
}

/** Which agent got what, for status. Only where we are installed: a reading hook creates nothing. */
function note({ context: text }: Reply, project: Project, { event, paths, now }: HookRun): void {
  const { sessionId, agentId, agentType } = event;
  if (agentId === null || !pathExists(paths.home)) return;
  const ts = now.toISOString();
  noteGiven(
    { ts, sessionId, agentId, agentType, project: project.name, projectPath: project.path ?? '', text },
    paths,
  );
}

/** Whether it could be said. */
async function answer(reply: Reply, run: HookRun): Promise<boolean> {
  try {
    const output = { hookEventName: reply.event, additionalContext: reply.context.toWellFormed() };
    await writeStdout(JSON.stringify({ hookSpecificOutput: output }));
    return true;
  } catch (error) {
    logHookFailure(run.event.name, `Cannot answer: ${messageOf(error)}`, run.paths, run.now);
    return false;
  }
}
