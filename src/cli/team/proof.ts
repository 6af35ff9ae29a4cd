import type { Command } from 'commander';
import { ENOUGH } from '../../benefit/evidence/e-value.ts';
import { teamEvidence } from '../../benefit/evidence/members.ts';
import { counted } from '../../core/text.ts';
import { latestEvidence } from '../../team/store/copy.ts';
import { withCopy } from '../../team/store/copy-file.ts';
import { type CliContext, type Given, subcommand, withState } from '../context.ts';
import { printJson } from '../output.ts';
import { membershipHere } from './here.ts';

type Flags = Given<'json'>;

/** `team proof`: what the members' proofs say together. */
export function teamProofCommand(context: CliContext): Command {
  const proof = {
    description: "add the members' proofs up: whether telling lessons helps",
    calls: ['', '--json'],
  };
  return subcommand('team proof', proof, context, ({ json }: Flags) =>
    withState(context, 'add the proofs up', async ({ paths }) => {
      membershipHere('add the proofs up', paths, context);
      const facts = await withCopy(paths, latestEvidence);
      const found = teamEvidence(facts.flatMap((fact) => (fact.kind === 'evidence' ? [fact.body] : [])));
      if (json) return printJson(found, context);
      if (found.members === 0) return context.stdout('No member has sent counts of a proof yet.\n');
      const { prevention, cure } = found;
      const { failures, told, held, best, low, high } = prevention;
      const risk =
        best === null
          ? ''
          : ` Where told, the risk is ${times(best)} (95 %: ${times(low)} to ${times(high)}).`;
      context.stdout(
        `From ${counted(found.members, 'member')}, as of the last sync.\n\nAt a start: ${counted(failures, 'failure')}, ${told} told and ${held} held out, added up by probability: the same as one ledger of all.${risk} ${verdict(prevention)}\n\nAt a failure: ${counted(cure.episodes, 'episode')} of ${counted(cure.members, 'member')}. Costs are compared within a member only, and the members' evidences multiplied. ${verdict(cure)}\n`,
      );
    }),
  );
}

const DIGITS = 2;
const times = (ratio: number) => (Number.isFinite(ratio) ? `${ratio.toFixed(DIGITS)}-fold` : 'without bound');

function verdict({ evidence, harm }: { readonly evidence: number; readonly harm: number }): string {
  if (evidence >= ENOUGH) return `It helps: evidence ${evidence.toPrecision(3)} of ${ENOUGH}.`;
  if (harm >= ENOUGH) return `It does harm: evidence ${harm.toPrecision(3)} of ${ENOUGH}.`;
  return `Open: evidence that it helps ${evidence.toPrecision(3)}, that it harms ${harm.toPrecision(3)}, of ${ENOUGH}.`;
}
