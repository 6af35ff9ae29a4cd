import { partsOf, turnsSaid, typedIn } from '../../conversation/messages.ts';
import { isoTime, timeAgo } from '../../runs/model/stats.ts';
import { conversationsOf } from '../../runs/store/parts.ts';
import { readRuns } from '../../runs/store/rows.ts';
import { newTable, shortened } from '../output.ts';
import { answer, type RunsHere, safeText } from '../subagents/runs-here.ts';

const SHOWN_MAX = 20;
const TEXT_LENGTH_MAX = 72;

/** Prints the newest conversations of the project, by the numbers with which "run --resume" goes on with them. */
export function listConversations(here: RunsHere): void {
  const { requester, world, context } = here;
  const all = readRuns(world.paths, (db) => conversationsOf(requester.key, db)) ?? [];
  const used = all.filter(({ usedAtMs }) => usedAtMs > 0);
  const conversations = used.slice(0, SHOWN_MAX).map((one) => {
    const turns = turnsSaid(partsOf(one, world));
    const [first] = turns;
    return {
      number: one.number,
      client: turns.at(-1)?.run.client ?? null,
      messages: turns.length,
      usedAt: isoTime(one.usedAtMs),
      begins: first === undefined ? '' : safeText(typedIn(first)),
    };
  });
  const nowMs = context.now().getTime();
  const table = newTable(['#', 'used', 'client', 'messages', 'begins with'], context);
  for (const { number, usedAt, client, messages, begins } of conversations) {
    const age = timeAgo(Date.parse(usedAt ?? ''), nowMs);
    table.push([number, age, client ?? '', messages, shortened(begins, TEXT_LENGTH_MAX)]);
  }
  const none = 'There is no conversation in this project yet.\n';
  answer({ conversations }, conversations.length === 0 ? none : `${table}\n`, here);
}
