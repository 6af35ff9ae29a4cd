import { fromLog } from './e-value.ts';
import { type Prevention, preventionOf, type Tally } from './prevention.ts';

/** What several people's proofs say together, from counts alone. Their coins are independent of each other. */

/** One person's. `logEvidence`, `logHarm`: natural logarithms of the evidences of {@link cure}. */
export type MemberEvidence = {
  readonly tallies: readonly { readonly holdPercent: number; readonly held: number; readonly told: number }[];
  readonly cures: readonly {
    readonly episodes: number;
    readonly logEvidence: number;
    readonly logHarm: number;
  }[];
};

export type TeamEvidence = {
  readonly members: number;
  /** Exactly what one ledger with all their failures says: counts per probability are all that it depends on. */
  readonly prevention: Prevention;
  /** The product of the members' evidences: costs are compared within a person, never between two. */
  readonly cure: {
    readonly members: number;
    readonly episodes: number;
    readonly evidence: number;
    readonly harm: number;
  };
};

/**
 * Adds up. The product of independent e-values is one: `cure.evidence` reaches 20 in at most 5 % of all cases if telling changes
 * nothing (Vovk & Wang, arXiv 1912.06116).
 */
export function teamEvidence(members: readonly MemberEvidence[]): TeamEvidence {
  const tallies = new Map<number, Tally>();
  for (const { holdPercent, held, told } of members.flatMap((one) => one.tallies)) {
    const p = holdPercent / 100;
    const known = tallies.get(p) ?? { held: 0, told: 0 };
    tallies.set(p, { p, held: known.held + held, told: known.told + told });
  }
  const cures = members.flatMap((one) => one.cures);
  const sum = (count: (one: (typeof cures)[number]) => number) =>
    cures.reduce((total, one) => total + count(one), 0);
  return {
    members: members.length,
    prevention: preventionOf([...tallies.values()]),
    cure: {
      members: members.filter((one) => one.cures.some(({ episodes }) => episodes > 0)).length,
      episodes: sum(({ episodes }) => episodes),
      evidence: fromLog(sum(({ logEvidence }) => logEvidence)),
      harm: fromLog(sum(({ logHarm }) => logHarm)),
    },
  };
}
