import type { Language } from '../../core/told-texts.ts';
import type { CommandRun } from '../../runs/context/commands-run.ts';
import { criteriaLines, type Verification } from './criteria.ts';
import { type Phase, phaseGate, phaseName, WRITING_PHASE } from './phase-gates.ts';
import {
  type Fence,
  fences,
  inertPart,
  inertWords,
  NAME_LENGTH_MAX,
  PATH_LENGTH_MAX,
  REPORT_LENGTH_MAX,
  REQUEST_LENGTH_MAX,
} from './quote.ts';
import { WORDS, type Words } from './words.ts';

/** What a reviewer is asked: a verdict on each piece of the work (seed 004). */

/** What a reviewer is shown of one piece of the work. */
export type Reviewed = {
  readonly agent: string;
  readonly role: string;
  readonly phase: Phase;
  readonly task: string;
  readonly criteria: Verification | null;
  readonly report: string;
  /** A unified diff; empty: nothing was changed; null: git cannot say. */
  readonly diff: string | null;
  /** The working tree of its own in which its changes are; null: they are in the project. */
  readonly tree: string | null;
  /** The branch and commit before and after; null: they are the same. */
  readonly moved: string | null;
  /** All that it ran, in order. */
  readonly commands: readonly CommandRun[];
};

/** The JSON that a reviewer answers with. */
export const VERDICT_SHAPE = `{"verdicts": [{"agent": "NAME", "phase": 3, "pass": true, "evidence": "…", "feedback": "…"}],
  "allDone": false, "summary": "…"}`;

const DIFF_LENGTH_MAX = 16_000;
/** Of all pieces together, in equal parts. */
const DIFFS_LENGTH_MAX = 80_000;
const COMMANDS_MAX = 15;
const COMMAND_LENGTH_MAX = 300;
const OUTPUT_LENGTH_MAX = 600;

/** Asks for a verdict on each piece of the work, from somebody who had no part in it. */
export function reviewPrompt(asked: {
  /** From 1. */
  readonly round: number;
  /** Of the user, for the whole. */
  readonly request: string;
  readonly items: readonly Reviewed[];
  /** What had passed all of its phases before. */
  readonly done: readonly Pick<Reviewed, 'agent' | 'task'>[];
  readonly language: Language;
}): string {
  const { round, request, items, done, language } = asked;
  const words = WORDS[language];
  const { nonce, fence } = fences(asked);
  const diffMax = Math.min(DIFF_LENGTH_MAX, Math.floor(DIFFS_LENGTH_MAX / items.length));
  return [
    words.review(round),
    ...words.reviewRules,
    '',
    words.quoted(nonce),
    '',
    words.asked,
    fence('REQUEST', request, REQUEST_LENGTH_MAX),
    '',
    ...doneLines(done, words),
    ...items.flatMap((item) => [...itemLines(item, { fence, diffMax }, language), '']),
    words.planAnswer,
    VERDICT_SHAPE,
  ].join('\n');
}

function doneLines(done: readonly Pick<Reviewed, 'agent' | 'task'>[], words: Words): string[] {
  if (done.length === 0) return [];
  const lines = done.map(
    ({ agent, task }) => `- ${inertWords(agent, NAME_LENGTH_MAX)}: ${inertWords(task, PATH_LENGTH_MAX)}`,
  );
  return [words.done, ...lines, ''];
}

type Room = { readonly fence: Fence; readonly diffMax: number };

function itemLines(item: Reviewed, room: Room, language: Language): string[] {
  const { fence } = room;
  const words = WORDS[language];
  const { agent, role, phase, task, criteria, report, commands } = item;
  return [
    `${words.item(inertWords(agent, NAME_LENGTH_MAX), inertWords(role, NAME_LENGTH_MAX))} · ${phase} ${phaseName(phase, language)}`,
    `${words.task}:`,
    fence('TASK', task, REPORT_LENGTH_MAX),
    ...criteriaLines(criteria, phase, words).slice(0, -1),
    words.gate,
    ...phaseGate(phase, language).map((point) => `- ${point}`),
    words.said,
    fence('REPORT', report, REPORT_LENGTH_MAX),
    ...diffLines(item, room, words),
    ...(item.moved === null ? [] : [words.moved(inertWords(item.moved, PATH_LENGTH_MAX))]),
    ...commandLines(commands, fence, words),
  ];
}

function diffLines({ phase, diff, tree }: Reviewed, { fence, diffMax }: Room, words: Words): string[] {
  if (phase < WRITING_PHASE) return [words.looksOnly];
  if (diff === null) return [words.unseen];
  if (diff.trim() === '') return [words.noDiff];
  const where = tree === null ? [] : [words.apart(inertWords(tree, PATH_LENGTH_MAX))];
  return [words.diff, fence('DIFF', diff, diffMax), ...where];
}

/** The newest ones, and before them those that failed. */
function commandLines(commands: readonly CommandRun[], fence: Fence, words: Words): string[] {
  if (commands.length === 0) return [words.noCommands];
  const failed = commands.filter(isFailed).slice(-COMMANDS_MAX);
  const newest = new Set([...failed, ...commands.slice(-COMMANDS_MAX)]);
  const shown = commands.filter((one) => newest.has(one));
  const text = shown.map((one) => {
    const { command, exitCode, output } = one;
    const unknown = isFailed(one) ? words.failed : words.unknown;
    const exit = exitCode === null ? unknown : words.exit(exitCode);
    const said = inertPart(output, OUTPUT_LENGTH_MAX).replace(/^/gm, '  ');
    return `$ ${inertWords(command, COMMAND_LENGTH_MAX)} → ${exit}${said.trim() === '' ? '' : `\n${said}`}`;
  });
  const left = commands.length - shown.length;
  return [
    words.commands,
    ...(left === 0 ? [] : [words.earlier(left)]),
    fence('COMMANDS', text.join('\n'), Number.POSITIVE_INFINITY),
  ];
}

/** Whether a command ended with an error, as far as its client says. */
export function isFailed({ exitCode, isError }: Pick<CommandRun, 'exitCode' | 'isError'>): boolean {
  return exitCode === null ? isError : exitCode !== 0;
}
