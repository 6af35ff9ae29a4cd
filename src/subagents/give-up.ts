import { isTerminal, type Turn } from '../core/runs/turn.ts';
import { withRuns } from '../store/runs/runs-db.ts';
import { endTurn, getTurn } from '../store/runs/turns.ts';
import { isJudged } from '../sys/process-identity.ts';
import type { RunsWorld, TurnName } from './features.ts';

/**
 * Ends the turns among these that belong to a container or a sandbox which no longer answers: from here nobody can see
 * whether its processes live, and only a supervisor there could have ended them. To be called when that has had its time.
 * No process is signalled. Gives those that were given up.
 */
export function giveUpUnseen(names: readonly TurnName[], { paths, now }: RunsWorld): Turn[] {
  return withRuns(paths, (db) =>
    db.transaction(() =>
      names.flatMap(({ runId, turn: number }) => {
        const turn = getTurn(runId, number, db);
        if (turn === undefined || isTerminal(turn.state) || !isUnseen(turn)) return [];
        const error = 'Its container or sandbox does not answer: what runs there is not known';
        const ending = { outcome: 'lost', result: turn.result, error, exit: null } as const;
        const rest = { notes: turn.notes, usage: turn.usage, endedAtMs: now().getTime() };
        return endTurn(turn, { ...ending, ...rest }, null, db) ?? [];
      }),
    ),
  );
}

function isUnseen({ owner, process }: Turn): boolean {
  return [owner, process].some((identity) => identity !== null && !isJudged(identity));
}
