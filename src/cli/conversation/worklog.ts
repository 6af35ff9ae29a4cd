import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { readOrchestration } from '../../orchestrate/engine.ts';
import type { Orchestration } from '../../orchestrate/model/state.ts';
import { leftNote, standingOf } from '../../orchestrate/standing.ts';
import { isCarriedOn, orchestrationsOf } from '../../orchestrate/store.ts';
import { worklogMarkdown } from '../../orchestrate/worklog.ts';
import { isoTime, timeAgo } from '../../runs/model/stats.ts';
import { readRuns } from '../../runs/store/rows.ts';
import { type CliContext, EXIT, type Given, newCommand, PROGRAM } from '../context.ts';
import { newTable, shortened, shownText } from '../output.ts';
import { answer, complain, type RunsHere, safeText, withRunsHere } from '../subagents/runs-here.ts';
import { leaveStream } from './run.ts';
import { watchOrchestration } from './watch.ts';

type WorklogFlags = Given<'json' | 'list' | 'watch'>;

const PROMPT_LENGTH_MAX = 60;
const LISTED_MAX = 50;
const LOOK_MS = 500;
/** A process that carries it on may just be starting. */
const STARTING_MS = 5000;

const AFTER = `
It is made of what is stored, whenever it is asked for; nothing is read back from it. Without a number it is that of the
newest orchestration of this project. "${PROGRAM} orchestrate --continue" goes on with one that is not done.

Examples:
  $ self-generation worklog             the newest
  $ self-generation worklog 3 > log.md
  $ self-generation worklog --list      which there are
  $ self-generation worklog --watch     while another process carries it on

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found.`;

/** `worklog`: what an orchestration has done, as Markdown. */
export function worklogCommand(context: CliContext): Command {
  const command = newCommand('worklog', context)
    .description('show what an orchestration has done')
    .argument('[number]', 'of the orchestration, in this project', readNumber)
    .option('--list', 'list the orchestrations of this project')
    .option('--watch', 'show it while it goes on; Ctrl-C leaves it alone')
    .option('--json', 'print as JSON')
    .addHelpText('after', AFTER);
  command.action((number: number | undefined, flags: WorklogFlags) =>
    withRunsHere({ context, read: async () => '' }, flags, 'show the worklog', (here) =>
      flags.list ? tellList(here) : tellOne(number, flags, here),
    ),
  );
  return command;
}

function readNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is the number of an orchestration.');
}

function orchestrationsHere({ requester, world }: RunsHere): readonly Orchestration[] {
  return readRuns(world.paths, (db) => orchestrationsOf(requester.key, db)) ?? [];
}

function tellList(here: RunsHere): void {
  const { context } = here;
  const found = orchestrationsHere(here).slice(0, LISTED_MAX);
  const table = newTable(['#', 'state', 'age', 'prompt'], context);
  for (const { id, number, state, createdAtMs, prompt } of found) {
    const age = timeAgo(createdAtMs, context.now().getTime());
    const shown = state !== 'open' ? state : isAtWork(id, here) ? 'at work' : 'left';
    table.push([number, shown, age, shortened(safeText(prompt), PROMPT_LENGTH_MAX)]);
  }
  const orchestrations = found.map(({ id, number, state, createdAtMs, endedAtMs, prompt }) => {
    const times = { createdAt: isoTime(createdAtMs), endedAt: isoTime(endedAtMs) };
    return { number, state, isCarriedOn: isAtWork(id, here), ...times, prompt: safeText(prompt) };
  });
  answer(
    { orchestrations },
    found.length === 0 ? 'There is no orchestration in this project.\n' : `${table}\n`,
    here,
  );
}

async function tellOne(number: number | undefined, { watch }: WorklogFlags, here: RunsHere): Promise<void> {
  const all = orchestrationsHere(here);
  const meant = number === undefined ? all[0] : all.find((one) => one.number === number);
  const state = meant && readOrchestration(meant.id, here.world);
  if (state === undefined) complain(missing(number, all), EXIT.notFound, here);
  if (watch) return watchToItsEnd(state, here);
  const markdown = worklogMarkdown(state);
  const isCarriedOn = isAtWork(state.id, here);
  answer({ ...standingOf(state), isCarriedOn, worklog: markdown }, shownText(markdown), here);
  const note = leftNote(state, isCarriedOn);
  if (note !== undefined && !here.isJson) here.context.stderr(`${note}\n`);
}

function isAtWork(id: string, { world }: RunsHere): boolean {
  return readRuns(world.paths, (db) => isCarriedOn(id, db)) ?? false;
}

/** Until it has ended, nobody carries it on any more, or its reader leaves. */
async function watchToItsEnd({ id, number }: Orchestration, here: RunsHere): Promise<void> {
  const { context, world } = here;
  const watch = watchOrchestration(here);
  let isLeft = false;
  let seenMs = Date.now();
  const release = context.onInterrupt(() => {
    isLeft = true;
  });
  try {
    for (;;) {
      const state = readOrchestration(id, world);
      if (state !== undefined) watch.onState(state);
      if (isLeft || state === undefined || state.ended !== null) break;
      if (isAtWork(id, here)) seenMs = Date.now();
      if (Date.now() - seenMs > STARTING_MS) {
        watch.stop();
        const next = `"${PROGRAM} orchestrate --continue ${number}" goes on with it`;
        complain(`Nobody carries on orchestration ${number}: ${next}.`, EXIT.failed, here);
      }
      await sleep(LOOK_MS);
    }
  } finally {
    watch.stop();
    release();
  }
  if (isLeft) leaveStream('The worklog was left', '"worklog --watch" shows it again', here);
}

function missing(number: number | undefined, all: readonly Orchestration[]): string {
  const what = number === undefined ? 'the worklog' : `the worklog of orchestration ${number}`;
  if (all.length === 0)
    return `Cannot show ${what}: there is no orchestration in this project. "${PROGRAM} orchestrate PROMPT" begins one.`;
  return `Cannot show ${what}: there is no such number here. "${PROGRAM} worklog --list" shows which there are.`;
}
