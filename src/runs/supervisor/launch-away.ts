import type { TurnCommand } from '../../clients/client.ts';
import { type Away, specOf } from '../pool/spec.ts';
import { ownProgram, type RunsWorld } from '../world.ts';

/** What is started here for a turn there: this program, which waits for it in the client's place. */
export function awayCommand(
  run: Away,
  turn: { readonly number: number },
  asked: Parameters<typeof specOf>[1],
  world: RunsWorld,
): TurnCommand {
  const [program, ...args] = ownProgram(world);
  return {
    program,
    args: [...args, 'pool-run', run.id, String(turn.number)],
    stdin: JSON.stringify(specOf(run, asked)),
    ...{ files: {}, keeps: [], env: {} },
    passedOn: ['*'], // It is this program, which connects as its user does.
  };
}
