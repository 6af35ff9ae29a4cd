import { pathExists } from '#runtime';
import { CLIENT_NAMES } from '../core/client-name.ts';
import { isRecord, readString } from '../core/guards.ts';
import { type Environment, statePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import { hasUnreadResults } from '../database/events.ts';
import { readTask } from '../database/given-note.ts';
import { logHookFailure } from '../system/failure-log.ts';
import { HOOK_INPUT, readHookInput } from '../system/stdin.ts';
import type { Decision } from './decision.ts';
import { type EventBase, type HookEventOf, readEventBase } from './event.ts';
import {
  attempt,
  type Chunks,
  contextFor,
  decideOnData,
  type HookHost,
  type HookRun,
  noteHeartbeat,
  noteTold,
  type UnopenedContext,
  writeDecision,
} from './invocation.ts';
import { isRunBySettings } from './plugin-caller.ts';
import { decideSubagentStart } from './subagent-context.ts';

type SubagentStart = HookEventOf<'SubagentStart'>;
type StartRun = HookRun<SubagentStart>;

/** The one hook that is served by what is loaded already: it keeps a sub-agent waiting, and only reads. */
export const HOT_HOOK = 'subagent-context';

/** No file of ours is for other users' eyes; SQLite's and the spool's are made with this as well. */
const PRIVATE_UMASK = 0o077;

/** Which hook is called, and who says so: another client, or Claude Code's plugin; nobody in Claude Code's settings. */
export type HookCall = { readonly name: string | undefined; readonly caller?: string | undefined };

/**
 * A hook's whole process: standard input to standard output. Without a name the input's `hook_event_name` decides.
 * Never throws and writes nothing but one JSON document to standard output; the caller exits with 0 (RA-406).
 * `empty`: nothing at all came in; `unknown`: there is no hook of this name.
 */
export async function hookProcess(
  { name: calledAs, caller = '' }: HookCall,
  env: Environment,
  chunks: Chunks,
): Promise<'done' | 'empty' | 'unknown'> {
  const now = new Date();
  const paths = statePaths(env, process.platform);
  let name = calledAs;
  try {
    process.umask(PRIVATE_UMASK);
    const reading = readHookInput(HOOK_INPUT);
    const isInternal = env.SELF_GENERATION_INTERNAL === '1';
    // While the input comes in, what serves it is loaded.
    if (!isInternal && name !== undefined && name !== HOT_HOOK)
      name = (await chunks.writePath()).hookNameOf(name);
    // The plugin and the program are updated apart.
    if (name === undefined && calledAs !== undefined) return caller === 'plugin' ? 'done' : 'unknown';
    if (caller === 'plugin' && isRunBySettings(name ?? '', env, process.platform)) return 'done';
    const input = await reading;
    if (input.kind === 'empty') return 'empty';
    if (paths === undefined || isInternal) return 'done';
    const value = input.kind === 'unreadable' ? undefined : input.value;
    // Nothing else in another client's event says whose it is.
    const isOther = caller !== '' && CLIENT_NAMES.includes(caller);
    const said = isOther && isRecord(value) ? { ...value, client: caller } : value;
    const isOurs = await runHook(said, name, { env, paths, now, chunks });
    if (!isOurs) logHookFailure(name ?? 'hook', `Cannot read the event: input is ${input.kind}`, paths, now);
  } catch (error) {
    if (paths) logHookFailure(name ?? 'hook', String(error), paths, now);
  }
  return 'done';
}

/**
 * One hook invocation, from the client's JSON to the answer; resolves with false when the input is no event of ours.
 * `name`: of the hook; without it `hook_event_name` decides. Each effect fails for itself: an answer is given although
 * the recording has to wait, and the recording is kept although nobody reads the answer. All hooks but one, all
 * writing, and what other clients name in another way are in write-path.ts.
 */
export async function runHook(value: unknown, name: string | undefined, host: HookHost): Promise<boolean> {
  const { hook_event_name: said, client } = isRecord(value) ? value : {};
  const isNamed = name === HOT_HOOK && client === undefined;
  const isHot = isNamed || (said === 'SubagentStart' && (name ?? HOT_HOOK) === HOT_HOOK);
  if (!isHot) return (await host.chunks.writePath()).serve(value, name, host);
  if (!isRecord(value)) return false;
  const event = { ...readEventBase(value, 'SubagentStart'), task: readString(value, 'task') };
  const context = contextFor(event, host);
  if (context === undefined) return true;
  const run = { ...host, event };
  const decision = await decideContext(context, run);
  if (decision !== undefined && (await writeDecision(decision, run))) noteTold(decision, context, run);
  if (pathExists(host.paths.spool)) (await host.chunks.writePath()).takeWaiting(run);
  noteHeartbeat(event, host);
  return true;
}

/** Why a first look at the database is not enough for a decision. */
type Shortcoming = 'foreign' | 'behind';

async function decideContext(context: UnopenedContext, run: StartRun): Promise<Decision | undefined> {
  const { transcriptPath } = run.event;
  const first = lookAndDecide(context, run, (db) => {
    if (!db.isOwn) return 'foreign';
    return transcriptPath !== undefined && hasUnreadResults(transcriptPath, db) ? 'behind' : undefined;
  });
  if (first.shortcoming === undefined) return first.decision;
  const writePath = await run.chunks.writePath();
  if (first.shortcoming === 'foreign')
    return attempt(run, () => writePath.decideOnForeignData(run.event, context, run));
  await writePath.catchUp(run);
  return lookAndDecide(context, run).decision;
}

function lookAndDecide(
  context: UnopenedContext,
  run: StartRun,
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
      // Else what PreToolUse has left for this sub-agent.
      const taskOf = ({ sessionId, agentType }: EventBase) =>
        run.event.task ?? readTask({ sessionId, agentType: agentType ?? '' }, run.paths);
      return decideSubagentStart(run.event, { ...context, knowledge, taskOf });
    }, run),
  );
  return { decision, shortcoming };
}
