import { reasonOf } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { counted } from '../../core/text.ts';
import { type OwnAway, readPools, reap } from '../../runs/pool/store/pool-store.ts';
import { readRuns } from '../../runs/store/rows.ts';
import { getRun } from '../../runs/store/runs.ts';
import { openTeamServer, readMembership } from '../../team/membership.ts';
import { type CliContext, EXIT, fail, type Given, withState } from '../context.ts';
import { printJson, shownText } from '../output.ts';

/** `team pool`: the machines of the team, what waits for them, and one's own runs there. */
export const teamPool = {
  name: 'pool',
  description: "show the team's machines, what waits for them, and your runs there",
  calls: ['', '--json'],
  act: showPools,
} as const;

const ACTION = "show the team's machines";

function showPools(flags: Given<'json'>, context: CliContext): Promise<void> {
  return withState(context, ACTION, ({ paths }) => printPools(flags, paths, context));
}

async function printPools({ json }: Given<'json'>, paths: StatePaths, context: CliContext): Promise<void> {
  const membership = readMembership(paths);
  if (membership === undefined)
    return fail(
      context,
      EXIT.failed,
      `${ACTION}: you are in no team`,
      'See "self-generation team join --help"',
    );
  let pools: Awaited<ReturnType<typeof readPools>>;
  try {
    const server = await openTeamServer(membership, context.env, context.connectServer);
    try {
      await reap(server);
      pools = await readPools(membership.team, server);
    } finally {
      await server.close();
    }
  } catch (error) {
    return fail(context, EXIT.failed, `${ACTION}: ${reasonOf(error)}`);
  }
  const numbered = (readRuns(paths, (db) =>
    pools.own.map(({ origin }) => getRun(origin, db)?.run.number ?? null),
  ) ?? []) as readonly (number | null)[];
  const own = pools.own.map((run, index) => ({ ...run, number: numbered[index] ?? null }));
  if (json) return printJson({ team: membership.team, ...pools, own }, context);
  context.stdout(tell({ ...pools, own }));
}

type Shown = Omit<Awaited<ReturnType<typeof readPools>>, 'own'> & {
  readonly own: readonly (OwnAway & { readonly number: number | null })[];
};

function tell({ machines, queues, own }: Shown): string {
  const names = [...new Set([...machines, ...queues].map(({ pool }) => pool))].sort();
  if (names.length === 0)
    return 'No machine works for the team. "self-generation worker --pool NAME" makes this one do.\n';
  const lines = names.flatMap((pool) => {
    const there = machines.filter((one) => one.pool === pool);
    const waiting = queues.find((one) => one.pool === pool);
    const slots = there.reduce((sum, one) => sum + one.slots, 0);
    const busy = there.reduce((sum, one) => sum + one.busy, 0);
    const oldest = waiting === undefined ? '' : `, the oldest for ${waiting.oldestSeconds} s`;
    return [
      `${pool}: ${counted(there.length, 'machine')} · ${busy} of ${slots} slots used · ${waiting?.queued ?? 0} queued${oldest}`,
      ...there.map(
        ({ name, login, slots: all, busy: used, heartbeatSeconds }) =>
          `  ${shownText(name)} (${shownText(login)}): ${used} of ${all} slots used, heard ${heartbeatSeconds} s ago`,
      ),
    ];
  });
  const runs = own.map(({ number, origin, turn, pool, state, machine, forSeconds }) => {
    const name = number === null ? `of another machine of yours, ${origin.slice(0, 8)}` : `#${number}`;
    const where = machine === null ? pool : `${pool} on ${shownText(machine)}`;
    return `  ${name}${turn > 1 ? `, turn ${turn}` : ''}: ${state} for ${forSeconds} s in ${where}`;
  });
  return `${[...lines, ...(runs.length === 0 ? [] : ['Your runs there:', ...runs])].join('\n')}\n`;
}
