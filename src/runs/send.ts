import { clientNamed } from '../clients/clients.ts';
import { redactSecrets } from '../core/redact.ts';
import { cutText, oneLine } from '../core/text.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { loadRunConfig } from '../settings/all-settings.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import { isSession } from './model/part.ts';
import type { Permissions } from './model/permissions.ts';
import type { Requester, Run, RunWithMessages } from './model/run.ts';
import { isTerminal, NEWER, type Turn } from './model/turn.ts';
import { startSupervisors } from './reconcile.ts';
import { attachedProcess, ownRun, refusalInside, senderPermissions } from './requester.ts';
import { gapRefusal, ruleGaps, TASK_LENGTH_MAX } from './spawn-plan.ts';
import { spent } from './store/limits.ts';
import { claimTurns } from './store/queue.ts';
import { runsTransaction } from './store/rows.ts';
import { appendTurn, joinTurn, type NewTurn, requestStopOfLine, turnNamed } from './store/turns.ts';
import { checkpoint, type Refusal, type RunsWorld } from './world.ts';

/** So many messages may wait for one run. */
const WAITING_MAX = 20;
const NAME_LENGTH_MAX = 72;
const NAME_SCANNED_MAX = 4096;

/**
 * Where a message goes of those that wait for the run, or for any session of its conversation. `ahead`: before the others,
 * and what is at work is stopped for it; `alone`: as ahead, and the others are stopped too; `joined`: to the newest that
 * waits, if there is one. `name`: as the caller calls the turn; asking again by the same name gives that turn.
 */
export type Place =
  | {
      readonly name?: string | undefined;
      readonly place?: 'end' | 'ahead' | 'alone' | undefined;
      /** What the turn may do at the most; otherwise as who sends it may. */
      readonly permissions?: Permissions | undefined;
    }
  | { readonly name?: undefined; readonly place: 'joined'; readonly permissions?: undefined };

/** `turn`: the number of the turn to wait for. */
type SendAnswer =
  | {
      readonly status: 'accepted';
      readonly runId: string;
      readonly turn: number;
      readonly deduplicated?: boolean;
    }
  | Refusal;

/**
 * Queues one more turn in the run's session, after its current one unless said otherwise. The supervisor is started after
 * the caller has had its answer. All that a place asks for is done at once: nobody has to live for it afterwards.
 */
export function sendToRun(
  runId: string,
  message: string,
  requester: Requester,
  world: RunsWorld,
  place: Place = {},
): SendAnswer {
  const inside = refusalInside('sessions_send', world);
  if (inside !== undefined) return inside;
  const text = message.trim();
  if (text === '') return error('message is required');
  if (text.length > TASK_LENGTH_MAX) {
    const length = `${text.length} characters, the most is ${TASK_LENGTH_MAX}`;
    return error(`message is too long: ${length}; put it into a file and name that`);
  }
  const config = loadRunConfig(world.paths);
  if (config.kind === 'refused') return error(config.error);
  const { settings } = config;
  const nowMs = world.now().getTime();
  // Outside of the transaction, because it reads files.
  const permissions = place.permissions ?? senderPermissions(requester, settings.tools.permitted, world);
  const { answer, claimed } = runsTransaction(world.paths, (db) => {
    const refused = (answer: Refusal) => ({ answer, claimed: [] });
    const own = ownRun(runId, requester, db);
    if ('status' in own) return refused(own);
    const known = place.name === undefined ? undefined : turnNamed(runId, place.name, db);
    if (known !== undefined) {
      const again: SendAnswer = { status: 'accepted', runId, turn: known.number, deduplicated: true };
      return { answer: again, claimed: [] };
    }
    const refusal = sendRefusal(own, place, settings, db) ?? attachRefusal(own.run, world);
    if (refusal !== undefined) return refused(refusal);
    const client = clientNamed(own.run.client);
    const gaps = permissions === null ? [] : ruleGaps(client, permissions, requester);
    if (gaps.length > 0 && settings.tools.isStrict)
      return refused({ status: 'forbidden', error: gapRefusal(client, gaps) });
    const asked = { runId, kind: 'send', announces: null, message: text, nowMs, state: 'queued' } as const;
    const session = requester.session ?? '';
    const turn = enter({ ...asked, session, permissions }, place, own.run, db);
    checkpoint('within-send', world.env);
    const sent: SendAnswer = { status: 'accepted', runId, turn: turn.number };
    return { answer: sent, claimed: claimTurns(settings, nowMs, db) };
  });
  checkpoint('after-send', world.env);
  if (claimed.length > 0) setImmediate(() => startSupervisors(claimed, world));
  return answer;
}

/** Stops what a place says is to be stopped, and enters the turn. */
function enter(turn: NewTurn, { name, place = 'end' }: Place, run: Run, db: Sqlite): Turn {
  if (place === 'joined') return joinTurn(turn, TASK_LENGTH_MAX, db) ?? appendTurn(turn, db);
  if (place === 'end') return appendTurn({ ...turn, name: name ?? null }, db);
  const stop = { reason: 'requested', by: NEWER, session: turn.session ?? '', atMs: turn.nowMs } as const;
  requestStopOfLine(run, place === 'alone' ? 'all' : 'at work', stop, db);
  return appendTurn({ ...turn, name: name ?? null, ahead: true }, db);
}

function sendRefusal(
  { run, turn, waiting }: RunWithMessages,
  { place }: Place,
  settings: RunSettings,
  db: Sqlite,
): Refusal | undefined {
  const title = redactSecrets(cutText(run.label ?? run.task, NAME_SCANNED_MAX));
  const own = `#${run.number} (${cutText(oneLine(title), NAME_LENGTH_MAX)})`;
  const [name, drop, again] =
    run.part !== null && isSession(run.part)
      ? ['the session', 'drop some with "queue"', 'begin another conversation with "run --new"']
      : [`subagent ${own}`, 'stop it', 'use retry'];
  const limit = (words: string) => ({ ...error(words), limit: true }) as const;
  if (run.archivedAtMs !== null)
    return error(`Subagent ${own} is archived: its session cannot go on. Use retry to run its task again.`);
  // A part that never came to have a session begins one with what it was told so far.
  if (isTerminal(turn.state) && run.sessionId === null && run.part === null)
    return error(`Subagent ${own} has no session that could go on. Use retry to run its task again.`);
  // One that joins another adds none.
  if (waiting >= WAITING_MAX && place !== 'alone' && place !== 'joined')
    return limit(`${waiting} messages to ${name} wait already: wait for an answer first, or ${drop}`);
  const { tokens, usd } = settings.budget.run;
  const taken = spent({ runId: run.id }, db);
  if (taken.tokens < (tokens ?? Number.POSITIVE_INFINITY) && taken.usd < (usd ?? Number.POSITIVE_INFINITY))
    return undefined;
  const most = [...(tokens === null ? [] : [`${tokens} tokens`]), ...(usd === null ? [] : [`$${usd}`])];
  const words = `${name} has taken all that a run may take (${most.join(', ')})`;
  return limit(`budget exceeded: ${words}; raise budget.run in the settings, or ${again}`);
}

/** Inside the transaction, in which nobody can attach to the run meanwhile. */
function attachRefusal(run: Run, { paths }: RunsWorld): Refusal | undefined {
  const process = attachedProcess(run, paths);
  if (process === undefined) return undefined;
  const who = `a person goes on with it on a terminal (PID ${process.pid}), and a session has one writer`;
  return error(`Subagent #${run.number} takes no message: ${who}. Wait until that has ended`);
}

function error(words: string): Refusal {
  return { status: 'error', error: words };
}
