import { hostname } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { reasonOf } from '../core/guards.ts';
import { statePaths } from '../core/state-paths.ts';
import { grantProblem, splitGrants } from '../runs/model/permissions.ts';
import { POOL_NAME } from '../runs/model/pool-role.ts';
import { parseSeconds } from '../runs/model/stats.ts';
import { refusalInside } from '../runs/requester.ts';
import type { RunsWorld } from '../runs/world.ts';
import { type CliContext, EXIT, fail, type Given, limitUpTo, NO_HOME, newCommand } from './context.ts';
import { shownText } from './output.ts';
import { PERMISSIONS } from './subagents/spawn.ts';

const SLOTS = 2;
const SLOTS_MAX = 64;
const LOST_AFTER_SECONDS = 30;
const LOST_AFTER_SECONDS_MAX = 86_400;

const EXAMPLES = `
It runs in the foreground, and does the runs as this user's own: with the login, the settings, limits and permissions of this
machine. Whoever is in the team may have something done here: start it as a user, or in a container, that may do just that.
Ctrl-C: it takes no more and ends after its runs. Ctrl-C once more: it stops them.

Examples:
  $ self-generation worker --pool build --slots 4
  $ self-generation worker --pool build --permissions 'edit,exec(npm test:*)'
  $ self-generation subagents spawn --on build 'Run the tests and say which fail'      on another machine

Exit codes: 0 done, 1 failed, 2 wrong usage, 4 forbidden.`;

type WorkerFlags = { readonly pool: string } & Given<'name' | 'permissions', string> &
  Given<'slots' | 'lostAfter', number> &
  Given<'allowLocalRemotes' | 'json'>;

/** `worker`: does runs of the team on this machine. */
export function workerCommand(context: CliContext): Command {
  return newCommand('worker', context)
    .description('do background runs of your team on this machine')
    .requiredOption('--pool <NAME>', 'the pool whose runs it takes', readPool)
    .option('--slots <N>', `how many at a time (default: ${SLOTS})`, limitUpTo(SLOTS_MAX))
    .option('--name <NAME>', "what it is called (default: this machine's name)")
    .option('--permissions <P>', PERMISSIONS)
    .option(
      '--lost-after <S>',
      `its runs are given up when the server hears nothing of it for so long (default: ${LOST_AFTER_SECONDS})`,
      readLostAfter,
    )
    .option('--allow-local-remotes', 'fetch from directories of this machine too')
    .option('--json', 'print each line as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: WorkerFlags) => work(flags, context));
}

async function work(flags: WorkerFlags, context: CliContext): Promise<void> {
  const action = `start a worker of the pool "${flags.pool}"`;
  const { env, platform, cwd, executablePath, isCompiled, now } = context;
  const paths = statePaths(env, platform);
  if (paths === undefined) return fail(context, EXIT.failed, `${action}: ${NO_HOME}`);
  const world: RunsWorld = { paths, env, platform, cwd, executablePath, isCompiled, now };
  const inside = refusalInside('worker', world);
  if (inside !== undefined) return fail(context, EXIT.forbidden, `${action}: ${inside.error}`);
  const mark = context.agentMark();
  if (mark !== undefined)
    return fail(
      context,
      EXIT.forbidden,
      `${action}: an agent seems to run this (${mark}), and a person decides that`,
    );
  const grants = flags.permissions === undefined ? undefined : splitGrants(flags.permissions);
  const problem = grants?.map(grantProblem).find((one) => one !== undefined);
  if (problem !== undefined) return fail(context, EXIT.usage, `${action}: ${problem}`);
  const say = (line: string) =>
    context.isJson
      ? context.stdout(`${JSON.stringify({ at: now().toISOString(), text: shownText(line) })}\n`)
      : context.stdout(`${shownText(line)}\n`);
  const options = {
    pool: flags.pool,
    slots: flags.slots ?? SLOTS,
    name: (flags.name ?? hostname()).slice(0, 64) || 'worker',
    lostAfterMs: (flags.lostAfter ?? LOST_AFTER_SECONDS) * 1000,
    allowsLocal: flags.allowLocalRemotes ? 'local too' : 'remote alone',
    grants,
  } as const;
  try {
    await (await context.startWorker())(options, world, { say, onEnd: (act) => onEnd(act, context) });
  } catch (error) {
    return fail(context, EXIT.failed, `${action}: ${reasonOf(error)}`);
  }
}

/** Ctrl-C, or the SIGTERM of a service manager. */
function onEnd(act: () => void, context: CliContext): () => void {
  const forget = context.onInterrupt(act);
  process.on('SIGTERM', act);
  return () => {
    forget();
    process.off('SIGTERM', act);
  };
}

function readPool(text: string): string {
  if (POOL_NAME.test(text)) return text;
  throw new InvalidArgumentError('It has small letters, digits, - and _, at most 41.');
}

function readLostAfter(text: string): number {
  const seconds = parseSeconds(text);
  if (seconds !== undefined && seconds >= 1 && seconds <= LOST_AFTER_SECONDS_MAX) return seconds;
  throw new InvalidArgumentError('It is a number of seconds from 1 on, or such as 90s, 10m, 2h.');
}
