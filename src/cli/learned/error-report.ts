import { clientNamed } from '../../clients/clients.ts';
import { inertLines, isInstructionShaped } from '../../core/inert-text.ts';
import { counted } from '../../core/text.ts';
import { isInformative } from '../../lessons/errors/normalize-error.ts';
import type { ErrorEntry, ErrorStory, FixEvidence } from '../../lessons/store/error-entries.ts';
import { timeAgo } from '../../runs/model/stats.ts';
import type { CliContext } from '../context.ts';
import { shortened, shownLine } from '../output.ts';

const ERROR_LENGTH_MAX = 120;

/** Prints errors one below the other. Not as a table: each has two long texts, which are wider than a screen. */
export function printErrors(
  errors: readonly ErrorEntry[],
  { withProject }: { withProject: boolean },
  context: CliContext,
): void {
  const { bold, dim, green } = context.colours;
  const width = Math.max(0, ...errors.map(({ id }) => String(id).length));
  const indent = ' '.repeat(width + 2);
  const lines = errors.flatMap((error) => {
    const facts = [
      ...(error.tool === null ? [] : [shownLine(error.tool)]),
      `seen ${error.seen}`,
      ...(error.evidence === null ? [] : [evidenceOf(error.evidence)]),
      ...clientsNamed(error.clients),
      `told ${error.told}`,
      timeAgo(Date.parse(error.ts), context.now().getTime()),
      ...(error.isShared ? ['shared'] : []),
      ...(withProject ? [shownLine(error.project) || 'no project'] : []),
    ];
    const fix = (error.fix === null ? dim : green)(fixOf(error));
    return [
      `${bold(String(error.id).padStart(width))}  ${shortened(error.said, ERROR_LENGTH_MAX)}`,
      `${indent}${fix}`,
      `${indent}${dim(facts.join(' · '))}`,
    ];
  });
  context.stdout(lines.map((line) => `${line}\n`).join(''));
}

/** Named where it is not Claude Code alone. */
function clientsNamed(clients: readonly string[]): string[] {
  const isOrdinary = clients.every((name) => name === 'claude');
  return isOrdinary ? [] : [clients.map((name) => clientNamed(name).title).join(', ')];
}

/** The text in place of a fix, by the state of the error. */
const NO_FIX: Readonly<Record<string, string>> = {
  solved: 'works now; nothing to tell',
  contradicted: 'what was told turned out wrong and is no longer told',
  doubted: 'what a model wrote is in doubt, and is not told',
  withdrawn: 'withdrawn',
};

function fixOf({ fix, state }: ErrorEntry | ErrorStory): string {
  return fix === null ? (NO_FIX[state ?? ''] ?? 'no fix yet') : shownLine(fix);
}

function evidenceOf({ helped, sessions }: FixEvidence): string {
  return `worked ${counted(helped, 'time')} in ${counted(sessions, 'session')}`;
}

/** What agents are told of an error. `reason`: why not all of it; null when they are told all. */
export type Told = {
  readonly told: 'error and fix' | 'error' | 'nothing';
  readonly reason: string | null;
};

/** Decides what agents are told of an error. */
export function toldOf({ error, said, fix }: Pick<ErrorEntry, 'error' | 'said' | 'fix'>): Told {
  const order = 'is shaped like an instruction to its reader';
  if (!isInformative(error))
    return { told: 'nothing', reason: 'the error says too little to be recognised again' };
  if (isInstructionShaped(said)) return { told: 'nothing', reason: `the error ${order}` };
  if (fix === null) return { told: 'error', reason: 'there is no fix yet' };
  if (isInstructionShaped(fix)) return { told: 'error', reason: `the fix ${order}` };
  return { told: 'error and fix', reason: null };
}

/** Prints everything that is known of one error. */
export function printStory(story: ErrorStory, context: CliContext): void {
  const { bold, dim } = context.colours;
  const { told, reason } = toldOf(story);
  const ago = (ts: string) => timeAgo(Date.parse(ts), context.now().getTime());
  const rows: [string, string | null][] = [
    ['id', String(story.id)],
    ['project', shownLine(story.project) || 'none'],
    ['tool', story.tool && shownLine(story.tool)],
    ['clients', clientsNamed(story.clients)[0] ?? null],
    ['seen', timesOf(story.seen, { first: story.firstSeen, last: story.lastSeen }, ago)],
    ['do', fixOf(story)],
    ['how', howKnown(story, ago)],
    ['shared', story.isShared ? 'with every project' : null],
    ['told', tellingsOf(story, ago)],
    ['agents', `are told ${told === 'error' ? 'the error' : told}${reason === null ? '' : `: ${reason}`}`],
    ['raw', story.raw && inertLines(story.raw).trim().replaceAll('\n', INDENTED)],
  ];
  context.stdout(`${bold(inertLines(story.said))}\n\n`);
  for (const [label, value] of rows)
    if (value !== null) context.stdout(`${dim(label.padEnd(LABEL_WIDTH))}${value}\n`);
}

const LABEL_WIDTH = 11;
const INDENTED = `\n${' '.repeat(LABEL_WIDTH)}`;

type Ago = (ts: string) => string;

function timesOf(count: number, times: Readonly<Record<string, string | null>>, ago: Ago): string {
  const known = Object.entries(times).flatMap(([label, ts]) => (ts === null ? [] : [`${label} ${ago(ts)}`]));
  return [counted(count, 'time'), ...known].join(', ');
}

const WAYS: Readonly<Record<string, string>> = {
  user: 'a person wrote it or agreed to it',
  lesson: 'learned from what agents did',
  model: 'written by a model from what agents did',
};

function howKnown({ fix, resolvedBy, evidence }: ErrorStory, ago: Ago): string | null {
  if (fix === null) return null;
  const way = resolvedBy === null ? null : (WAYS[resolvedBy] ?? shownLine(resolvedBy));
  const counts =
    evidence && `${evidenceOf(evidence)}, first ${ago(evidence.first)}, last ${ago(evidence.last)}`;
  return [way, counts].filter((part) => part !== null).join('; ') || null;
}

const PLACES_SHOWN = 3;

/** `3 times, last executor 3 d ago; came back once since` */
function tellingsOf({ told, tellings, cameBack }: ErrorStory, ago: Ago): string {
  const last = tellings.slice(-PLACES_SHOWN).map(({ ts, where }) => `${shownLine(where)} ${ago(ts)}`);
  const count = Math.max(told, tellings.length);
  if (count === 0) return 'never';
  const since =
    cameBack === 0 ? 'it has not come back since' : `it came back ${counted(cameBack, 'time')} since`;
  return `${counted(count, 'time')}${last.length > 0 ? ` (${last.join(', ')})` : ''}; ${since}`;
}
