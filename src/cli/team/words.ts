import { counted } from '../../core/text.ts';
import { timeAgo } from '../../runs/model/stats.ts';
import type { lastSync, SyncOutcome } from '../../team/sync.ts';
import { type CliContext, PROGRAM, sentence } from '../context.ts';
import { shownLine } from '../output.ts';

/** How the last sync went, in a sentence. */
export function syncWords(last: ReturnType<typeof lastSync>, { now, colours }: CliContext): string {
  if (last === undefined) return `Nothing was sent or fetched yet: "${PROGRAM} team sync" does.`;
  const when = timeAgo(Date.parse(last.at), now().getTime());
  if (last.kind === 'failed')
    return `${colours.yellow(sentence(`The last sync failed ${when}: ${shownLine(last.reason)}`))} What is here works without it; the next one sends what waits.`;
  return `Last sync ${when}: ${doneWords(last)}.`;
}

/** What a sync has done. */
export function doneWords({
  pushed,
  told,
  withdrawn,
  offered,
  keptBack,
  refused,
  moved,
  setAside,
}: DoneSync): string {
  const parts = [
    `${counted(pushed, 'fact')} sent`,
    offered === 0
      ? 'nothing waits for your word'
      : `${counted(offered, 'suggestion')} ${offered === 1 ? 'waits' : 'wait'}`,
    ...(told > 0 ? [`${counted(told, 'lesson')} told from now on`] : []),
    ...(withdrawn > 0 ? [`${counted(withdrawn, 'lesson')} withdrawn`] : []),
    ...(keptBack > 0 ? [`${keptBack} kept here for a place outside of the repository`] : []),
    ...(moved.length > 0
      ? [
          `nothing sent from ${moved.map(shownLine).join(', ')}, which is no clone of what was shared any more`,
        ]
      : []),
    ...(refused.length > 0 ? [`the server refused ${refused.length} (${shownLine(refused[0] ?? '')})`] : []),
    ...(setAside === null ? [] : [`the copy here was damaged, is in ${setAside}, and was fetched anew`]),
  ];
  return parts.join(', ');
}

type DoneSync = Extract<SyncOutcome, { kind: 'done' }>;
