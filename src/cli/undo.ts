import type { Command } from 'commander';
import pc from 'picocolors';
import type { Db } from '../database/connection.ts';
import { takeBackLesson } from '../lessons/store/model-lessons.ts';
import { diffOf, NO_CHANGE } from '../setup/file-plan.ts';
import { locate } from '../setup/manifest.ts';
import { planUndo, type UndoPlan } from '../suggestions/apply.ts';
import { carryOutDecision, listApplied, readAppliedLesson } from '../suggestions/decide.ts';
import {
  type CliContext,
  type CliState,
  EXIT_FAILED,
  fail,
  newCommand,
  objectionToAgent,
  withState,
} from './context.ts';
import { colouredDiff, shownJson, shownLine, shownText } from './output.ts';
import { pickSuggestion } from './suggestions.ts';

type Flags = { readonly yes?: true; readonly json?: true };

const EXAMPLES = `
Examples:
  $ self-generation undo s1a2b          take back what "apply" did, after showing it
  $ self-generation undo s1a2b --yes    do not ask

What you have edited since is left alone. A dismissed suggestion waits for a decision again.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 not found or ambiguous.`;

/** `undo`: takes a decision back, with everything that followed from it. */
export function undoCommand(context: CliContext): Command {
  return newCommand('undo', context)
    .description('take back what apply or dismiss did')
    .argument('<ID>', 'the beginning of its id; see "suggestions --all"')
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON; needs --yes to change a file')
    .addHelpText('after', EXAMPLES)
    .action((word: string, flags: Flags) =>
      withState(context, 'undo', (state) => run(word, flags, state, context)),
    );
}

async function run(word: string, flags: Flags, { paths }: CliState, context: CliContext): Promise<void> {
  const suggestion = pickSuggestion(word, paths, context);
  if (suggestion === undefined) return;
  const { id, type, summary } = suggestion;
  const lesson = suggestion.status === 'applied' ? readAppliedLesson(suggestion.applied) : undefined;
  const place = locate(context.env, context.platform);
  const plan: UndoPlan =
    lesson !== undefined
      ? { kind: 'ready', change: NO_CHANGE, notes: ['Agents are not told it any more'] }
      : place.kind === 'failed'
        ? { kind: 'refused', reason: `${place.reason}. ${place.advice}` }
        : planUndo(suggestion, {
            place,
            platform: context.platform,
            now: context.now,
            others: listApplied(paths, id),
          });
  const end = (kind: string, more: Record<string, unknown>) => {
    if (flags.json) context.stdout(shownJson({ kind, id, type, ...more }));
    if (kind !== 'undone') context.setExitCode(EXIT_FAILED);
  };
  if (plan.kind === 'refused') {
    if (!flags.json) fail(context, EXIT_FAILED, `undo ${id}: ${shownText(plan.reason)}`);
    end('refused', { reason: plan.reason });
    return;
  }
  const agent = objectionToAgent(`undo ${id}`, context);
  if (agent !== undefined) {
    if (!flags.json) fail(context, EXIT_FAILED, `undo ${id}: ${agent}`);
    end('refused', { reason: agent });
    return;
  }
  const diff = diffOf(plan.change);
  const { notes } = plan;
  if (!flags.json) {
    context.stdout(colouredDiff(diff, context));
    for (const note of notes) context.stdout(`${note}.\n`);
  }
  if (diff !== '' && !flags.yes) {
    const isAgreed = !flags.json && context.isInteractive && (await context.confirm('Take this back?'));
    if (!isAgreed) {
      const advice = context.isInteractive ? '' : ': nobody can be asked here. Pass --yes to take this back';
      if (!flags.json) context.stderr(`Nothing was changed${advice}.\n`);
      end('not-confirmed', { diff, notes });
      return;
    }
  }
  const store = lesson && ((_ts: string, db: Db) => takeBackLesson(lesson, db));
  const verdict = { kind: 'undone' } as const;
  carryOutDecision(
    { suggestion, verdict, change: plan.change, ...(store ? { store } : {}) },
    paths,
    context.now(),
  );
  const { green } = pc.createColors(context.colour);
  if (!flags.json)
    context.stdout(`${green('Undone')}: "${shownLine(summary)}" waits for a decision again.\n`);
  end('undone', { diff, notes });
}
