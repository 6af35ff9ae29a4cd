import { clientNamed } from '../clients/clients.ts';
import { isSession } from '../runs/model/part.ts';
import { runDirectory } from '../runs/model/run.ts';
import { isTerminal } from '../runs/model/turn.ts';
import { readTurnEvents } from '../runs/read-log.ts';
import { type PartRun, type PlacedTurn, partRuns } from '../runs/store/parts.ts';
import { readRuns } from '../runs/store/rows.ts';
import { orLogged, type RunsWorld } from '../runs/world.ts';
import { eventSummary } from './event-lines.ts';
import { type HistoryMessage, withoutBlock } from './history.ts';
import { RECALL_HEADING } from './memory/entries.ts';

/** What was said in a conversation, taken from the turns of its sessions. */

export type Session = { readonly run: PartRun['run']; readonly turns: readonly PlacedTurn[] };
/** A turn with the session that it is of. */
export type Said = { readonly run: PartRun['run']; readonly turn: PlacedTurn };

/** The history never has room for more; nor for what was done in more than these of them. */
const TURNS_MAX = 40;
const DIGESTS_MAX = 10;
const DIGEST_MAX = 400;

/** All runs of a conversation. */
export function partsOf({ id }: { readonly id: string }, { paths }: RunsWorld): readonly PartRun[] {
  return readRuns(paths, (db) => partRuns({ kind: 'conversation', id }, db)) ?? [];
}

/** The sessions of a conversation, the oldest first. */
export function sessionsOf(parts: readonly PartRun[]): Session[] {
  return parts.filter(({ run }) => isSession(run.part));
}

/** The turns of all sessions in the order in which they were asked for, but for what was dropped before it began. */
export function turnsSaid(parts: readonly PartRun[]): Said[] {
  return sessionsOf(parts)
    .flatMap(({ run, turns }) => turns.map((turn) => ({ run, turn })))
    .filter(
      ({ turn }) =>
        turn.kind !== 'announce' &&
        !(isTerminal(turn.state) && turn.launchedAtMs === null && turn.stop !== null),
    )
    .sort((one, other) => one.turn.position - other.turn.position);
}

/** What its user typed in a turn. */
export function typedIn({ run, turn }: Said): string {
  return turn.kind === 'task' ? run.task : withoutBlock(turn.message, RECALL_HEADING);
}

/** What was asked in a turn and what was answered, without what was done for it. */
export function messagesIn(said: Said): readonly [asked: HistoryMessage, answered: HistoryMessage] {
  const { position: id, state, result, error } = said.turn;
  const answer = { id, role: 'assistant', text: result ?? error ?? '', digest: '' } as const;
  return [
    { id, role: 'user', text: typedIn(said), digest: '', state: 'whole' },
    { ...answer, state: stateOf(state) },
  ];
}

function stateOf(state: PlacedTurn['state']): HistoryMessage['state'] {
  if (!isTerminal(state)) return 'unanswered';
  if (state === 'success') return 'whole';
  return state === 'error' ? 'failed' : 'interrupted';
}

/** The newest messages, the oldest of them first, with what was done for the answers. */
export function recentMessages(parts: readonly PartRun[], world: RunsWorld): HistoryMessage[] {
  const newest = turnsSaid(parts).slice(-TURNS_MAX);
  return newest.flatMap((said, index) => {
    const [asked, answered] = messagesIn(said);
    const isTold = index >= newest.length - DIGESTS_MAX;
    return [asked, isTold ? { ...answered, digest: digestOf(said, world) } : answered];
  });
}

/** A log that cannot be read is one of nothing. */
function digestOf({ run, turn }: Said, world: RunsWorld): string {
  if (turn.launchedAtMs === null) return '';
  const exits = clientNamed(run.client).exitCodes?.(runDirectory(world.paths, run.id));
  const { push, digest } = eventSummary('main', exits);
  orLogged(run.id, world.paths, () => readTurnEvents(run, turn.number, world, { onEvent: push }));
  return digest(DIGEST_MAX);
}
