import type { Command } from 'commander';
import { redactSecrets } from '../core/redact.ts';
import { cutText, oneLine } from '../core/text.ts';
import { NO_CHANGE } from '../setup/file-plan.ts';
import { carryOutDecision } from '../suggestions/decide.ts';
import {
  type CliContext,
  type CliState,
  EXIT_FAILED,
  fail,
  newCommand,
  PROGRAM,
  withState,
} from './context.ts';
import { shownLine } from './output.ts';
import { pickSuggestion } from './suggestions.ts';

type Flags = { readonly why?: string; readonly json?: true };

const WHY_LENGTH_MAX = 300;

const EXAMPLES = `
Examples:
  $ self-generation dismiss 2
  $ self-generation dismiss s1a2b --why "we use pnpm here"

The next analysis is told what was dismissed and why. Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 not
found or ambiguous.`;

/** `dismiss`: the user does not want a suggestion. */
export function dismissCommand(context: CliContext): Command {
  return newCommand('dismiss', context)
    .description('refuse a suggestion, so that it is not proposed again')
    .argument('<ID|N>', 'the beginning of its id, or its number in "suggestions"')
    .option('--why <TEXT>', 'the reason, for the next analysis')
    .option('--json', 'print the outcome as JSON')
    .addHelpText('after', EXAMPLES)
    .action((word: string, flags: Flags) =>
      withState(context, 'dismiss a suggestion', (state) => run(word, flags, state, context)),
    );
}

function run(word: string, flags: Flags, { paths }: CliState, context: CliContext): void {
  const suggestion = pickSuggestion(word, paths, context);
  if (suggestion === undefined) return;
  const { id, type, status, summary } = suggestion;
  const refusal =
    status === 'applied'
      ? `it is applied; run "${PROGRAM} undo ${id}" first`
      : status === 'dismissed'
        ? 'it is dismissed already'
        : undefined;
  if (refusal !== undefined) {
    if (flags.json) context.stdout(`${JSON.stringify({ kind: 'refused', id, type, reason: refusal })}\n`);
    else fail(context, EXIT_FAILED, `dismiss ${id}: ${refusal}`);
    context.setExitCode(EXIT_FAILED);
    return;
  }
  // Redacted whole, and cut then: half a secret is not recognised as one.
  const why = cutText(oneLine(redactSecrets(flags.why ?? '')), WHY_LENGTH_MAX) || null;
  carryOutDecision(
    { suggestion, verdict: { kind: 'dismissed', why }, change: NO_CHANGE },
    paths,
    context.now(),
  );
  if (flags.json) context.stdout(`${JSON.stringify({ kind: 'dismissed', id, type, why })}\n`);
  else context.stdout(`Dismissed: ${shownLine(summary)}. "${PROGRAM} undo ${id}" makes it wait again.\n`);
}
