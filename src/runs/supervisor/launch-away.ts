import { relative } from 'node:path';
import type { TurnCommand } from '../../clients/client.ts';
import { isAway } from '../model/pool-role.ts';
import type { Run } from '../model/run.ts';
import { type Away, specOf } from '../pool/spec.ts';
import { ownProgram, type RunsWorld } from '../world.ts';

/** Whether the run's client works on another machine. */
export function worksAway(run: Run): run is Away {
  return isAway(run);
}

/** What is started here for a turn there: this program, which waits for it in the client's place. @throws Error without a worktree */
export function awayCommand(
  run: Away,
  turn: { readonly number: number },
  asked: Omit<Parameters<typeof specOf>[1], 'commit' | 'inside'>,
  world: RunsWorld,
): TurnCommand {
  const { worktree, cwd } = run;
  if (worktree?.base === undefined) throw new Error('it has no worktree with a known commit');
  const spec = specOf(run, { ...asked, commit: worktree.base, inside: relative(worktree.path, cwd) });
  const [program, ...args] = ownProgram(world);
  return {
    program,
    args: [...args, 'pool-run', run.id, String(turn.number)],
    stdin: JSON.stringify(spec),
    ...{ files: {}, keeps: [], env: {} },
    passedOn: ['*'], // It is this program, which connects as its user does.
  };
}
