import { type Command, InvalidArgumentError } from 'commander';
import { withContext } from '../../runs/context/with-context.ts';
import { type ContextWish, HANDOVER_MODES, type HandoverMode } from '../../runs/model/handover-settings.ts';
import type { SpawnRequest } from '../../runs/spawn-plan.ts';
import type { Refusal } from '../../runs/world.ts';
import { choice, EXIT, failWith, type Given } from '../context.ts';
import type { RunsHere } from '../subagents/runs-here.ts';

/** What a command is called with that hands something of a conversation over. */
export type HandoverFlags = Given<'context', HandoverMode> &
  Given<'recent' | 'maxChars', number> &
  Given<'includeSystem' | 'pruned'> &
  Given<'session', string>;

const CHARS_MAX = 100_000_000;

/** Adds the options that say what of a conversation a sub-agent is handed, and whose. */
export function withHandoverOptions(command: Command): Command {
  return command
    .addOption(choice('--context <MODE>', 'what of this conversation it is handed', HANDOVER_MODES))
    .option('--recent <N>', 'the newest N messages of it, in whole turns', readCount)
    .option('--include-system', 'also what the client has put into it')
    .option('--max-chars <N>', 'so many characters of it at most; 0: as much as can be taken', readCount)
    .option('--pruned', 'without results that pruning would not show any more')
    .option('--session <ID>', 'of this session of any client, and not of the one that calls');
}

/** What the flags say of it. */
export function contextWish(flags: HandoverFlags): ContextWish {
  const { context: mode, recent: recentN, includeSystem, maxChars, pruned, session } = flags;
  return { mode, recentN, includeSystem, maxChars, pruned, session };
}

/** The request with what its run is handed over, with progress on a terminal; Ctrl-C ends a summary that is made. */
export async function withContextHere(
  request: SpawnRequest,
  wish: ContextWish,
  { requester, world, context }: Pick<RunsHere, 'requester' | 'world' | 'context'>,
): Promise<SpawnRequest | Refusal> {
  const interrupt = new AbortController();
  const release = context.onInterrupt(() => interrupt.abort());
  try {
    const asking = { signal: interrupt.signal, onProgress: context.progress };
    const answer = await withContext(request, wish, requester, world, asking);
    if (interrupt.signal.aborted) {
      const message = 'Nothing was handed over: it was interrupted.';
      return failWith({ exitCode: EXIT.interrupted, message }, context);
    }
    return answer;
  } finally {
    context.progress('');
    release();
  }
}

function readCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,9}$/.test(text) && count <= CHARS_MAX) return count;
  throw new InvalidArgumentError(`It is a whole number from 0 to ${CHARS_MAX}.`);
}
