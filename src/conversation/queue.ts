import type { Requester, TurnName } from '../runs/model/run.ts';
import { isTerminal, type Stop } from '../runs/model/turn.ts';
import { dropTurns } from '../runs/stop.ts';
import { type Conversation, currentConversation } from '../runs/store/parts.ts';
import { readRuns, runsTransaction } from '../runs/store/rows.ts';
import { requestStopOfTurn } from '../runs/store/turns.ts';
import type { Refusal, RunsWorld } from '../runs/world.ts';
import { partsOf, type Said as SaidTurn, turnsSaid } from './messages.ts';
import type { Speaker } from './say.ts';

/** What is answered in a conversation, and what waits, in the order in which it is answered. */
export type Queue = {
  readonly conversation: Conversation;
  readonly atWork: readonly SaidTurn[];
  readonly waiting: readonly SaidTurn[];
};

/** The queue of the current conversation; undefined: there is none. */
export function readQueue({ key }: Requester, world: RunsWorld): Queue | undefined {
  const conversation = readRuns(world.paths, (db) => currentConversation(key, db));
  if (conversation === undefined) return undefined;
  const active = turnsSaid(partsOf(conversation, world)).filter(({ turn }) => !isTerminal(turn.state));
  const waiting = active.filter(({ turn }) => turn.state === 'queued');
  return {
    conversation,
    atWork: active.filter(({ turn }) => turn.state !== 'queued'),
    waiting: [...waiting.filter(({ turn }) => turn.ahead), ...waiting.filter(({ turn }) => !turn.ahead)],
  };
}

/** Drops these messages, which are not answered then, unless one of them has begun to be; returns those that were dropped. */
export function dropWaiting(
  waiting: readonly SaidTurn[],
  by: string,
  { requester, world }: Speaker,
): readonly SaidTurn[] | Refusal {
  const names = waiting.map(({ turn }) => ({ runId: turn.runId, turn: turn.number }));
  const answer = dropTurns(names, requester, by, world);
  if (answer.status !== 'done') return answer;
  return waiting.filter(({ turn }) =>
    answer.dropped.some((one) => one.runId === turn.runId && one.turn === turn.number),
  );
}

/** Stops a turn that waits or works, without waiting for its end; what waits behind it comes next. */
export function stopAnswer(name: TurnName, by: string, { requester, world }: Speaker): void {
  const { paths, now } = world;
  const session = requester.session ?? '';
  const stop: Stop = { reason: 'requested', by, session, atMs: now().getTime() };
  runsTransaction(paths, (db) => void requestStopOfTurn(name, 'any', stop, db));
}
