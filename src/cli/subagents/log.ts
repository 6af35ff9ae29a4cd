import { statSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { cutText } from '../../core/text.ts';
import { type Run, turnFiles } from '../../runs/model/run.ts';
import {
  entryLabel,
  isShown,
  type LogChoice,
  type LogEntry,
  lastEntries,
  logLimit,
} from '../../runs/model/run-log.ts';
import { isTerminal, type Turn } from '../../runs/model/turn.ts';
import { readLog } from '../../runs/read-log.ts';
import { readRuns } from '../../runs/store/rows.ts';
import { turnsOf } from '../../runs/store/turns.ts';
import type { CliContext } from '../context.ts';
import { shownText } from '../output.ts';
import {
  answer,
  complainUsage,
  findRun,
  type JsonFlag,
  nameOf,
  type RunsHere,
  type SubagentsCommand,
  visibleLine,
} from './runs-here.ts';

type LogFlags = JsonFlag & { readonly follow?: true };
const USAGE = 'log <id|#> [limit] [tools]';
const FOLLOW_INTERVAL_MS = 300;
/** A sequence of this length is taken to be unique in a log. */
const MATCHED = 16;
const TEXT_LENGTH_MAX = 8192;

/** `subagents log`: what was said in a run, and with `tools` what was done. */
export const log: SubagentsCommand = {
  name: 'log',
  does: 'show the log',
  description: 'show what was said',
  calls: ['3', '3 50 tools', 'last --follow'],
  define: (command) =>
    command
      .argument('[words...]', 'the run, how many messages (20, at most 200), and "tools" for what was done')
      .option('--follow', 'go on until the run is over'),
  act: show,
};

async function show(here: RunsHere, flags: LogFlags, words: readonly string[]): Promise<void> {
  const [target, ...rest] = words;
  const asked = readWords(rest);
  if (target === undefined || asked === undefined || (flags.json && flags.follow))
    return complainUsage(flags.follow ? `${USAGE} --follow` : USAGE, here);
  const { run, turn } = findRun(target, here);
  const title = `📜 Subagent log: ${nameOf(run)}\n`;
  if (flags.follow) {
    here.context.stdout(title);
    return follow(run, asked, here);
  }
  const entries = lastEntries(readLog(run, here.world), asked);
  const lines = entries.length === 0 ? '(no messages)\n' : linesOf(entries, here.context);
  answer({ runId: run.id, number: run.number, status: turn.state, entries }, title + lines, here);
}

/** The first number is the limit, `tools` may stand anywhere; undefined when there is another word. */
function readWords(words: readonly string[]): LogChoice | undefined {
  const isNumber = (word: string) => /^\d+$/.test(word);
  const isTools = (word: string) => word.toLowerCase() === 'tools';
  if (words.some((word) => !isNumber(word) && !isTools(word))) return undefined;
  const limit = words.find(isNumber);
  return { limit: logLimit(limit === undefined ? undefined : Number(limit)), withTools: words.some(isTools) };
}

function linesOf(entries: readonly LogEntry[], { colours: { bold, red } }: CliContext): string {
  return entries
    .map((entry) => {
      const isError = entry.kind === 'tool-result' && entry.isError;
      const label = (isError ? red : bold)(`${visibleLine(entryLabel(entry))}:`);
      const text = shownText(cutText(entry.text, TEXT_LENGTH_MAX)).replace(/\s+/g, ' ').trim();
      return `${label} ${text}${entry.text.length > TEXT_LENGTH_MAX ? '…' : ''}\n`;
    })
    .join('');
}

/** Prints the end of the log, and then what comes, until the run is over. */
async function follow(run: Run, asked: LogChoice, here: RunsHere): Promise<void> {
  let printed: Printed | undefined;
  let sizes: string | undefined;
  let isHeldBack = false;
  for (;;) {
    // States are read before the log, so that the log read last is complete for turns that have ended.
    const turns = readRuns(here.world.paths, (db) => turnsOf(run.id, db)) ?? [];
    const isOver = turns.every(({ state }) => isTerminal(state));
    const sizesNow = sizesOf(run, turns, here);
    const isQuiet = sizesNow === sizes;
    sizes = sizesNow;
    if (!isQuiet || isHeldBack || isOver) {
      const all = readLog(run, here.world);
      const entries = all.filter((entry) => isShown(entry, asked.withTools));
      isHeldBack = all.at(-1)?.kind === 'assistant' && !isQuiet && !isOver;
      printed ??= upTo(entries, Math.max(0, entries.length - asked.limit));
      const until = isHeldBack ? entries.length - 1 : entries.length;
      const at = resumeAt(entries, printed);
      if (until >= at) {
        here.context.stdout(linesOf(newsOf(entries.slice(0, until), at, printed), here.context));
        printed = upTo(entries, until);
      }
    }
    if (isOver) return;
    await wait(FOLLOW_INTERVAL_MS);
  }
}

/** How far a log has been printed, and its last entries, by which the place is found when the log was cut at its beginning. */
type Printed = { readonly count: number; readonly last: readonly LogEntry[] };

function upTo(entries: readonly LogEntry[], count: number): Printed {
  return { count, last: entries.slice(0, count).slice(-MATCHED) };
}

/** How many of these entries have been printed. */
function resumeAt(entries: readonly LogEntry[], { count, last }: Printed): number {
  const isAt = (end: number) =>
    last.every((entry, index) => {
      const now = entries[end - last.length + index];
      return now?.kind === entry.kind && now.text.startsWith(entry.text);
    });
  let at = Math.min(count, entries.length);
  while (at > 0 && !isAt(at)) at--;
  return at;
}

/** The entries since then, with the continuation of the last message. */
function newsOf(entries: readonly LogEntry[], at: number, { last }: Printed): LogEntry[] {
  const grown = entries[at - 1];
  const more = grown?.text.slice(last.at(-1)?.text.length ?? 0) ?? '';
  return [
    ...(grown === undefined || last.length === 0 || more === '' ? [] : [{ ...grown, text: more }]),
    ...entries.slice(at),
  ];
}

function sizesOf(run: Run, turns: readonly Turn[], { world }: RunsHere): string {
  const sizes = turns.map(({ number }) => {
    const { output } = turnFiles(world.paths, run.id, number);
    return statSync(output, { throwIfNoEntry: false })?.size ?? 0;
  });
  return sizes.join(' ');
}
