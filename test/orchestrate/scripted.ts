/** What the parts of an orchestration are asked, and what a model may answer. */

/** Prompts by what stands in them. */
export const ASKED = {
  triage: 'Decide how it is handled',
  plan: 'Make a plan that divides',
  work: (agent: string, phase = 3) => `You are "${agent}" of a team[\\s\\S]*Now do phase ${phase} `,
  /** A retry is known by the report that it quotes. */
  retry: (report: string) => `did not let it pass[\\s\\S]*${report}`,
  review: (round: number) => `This is review ${round}\\.`,
  repair: 'Your last answer cannot be used',
} as const;

/** A verdict on each of these. */
export function verdictText(
  passes: Readonly<Record<string, boolean>>,
  summary = 'All of it is there.',
): string {
  const verdicts = Object.entries(passes).map(([agent, pass]) => ({
    ...{ agent, pass, evidence: `src/${agent}.txt:1` },
    feedback: pass ? '' : `${agent} has to say it twice`,
  }));
  return `My verdict:\n${JSON.stringify({ verdicts, allDone: false, summary })}`;
}

/** A plan as a model writes it. */
export function planText(subtasks: readonly object[]): string {
  return `The plan:\n\`\`\`json\n${JSON.stringify({ subtasks })}\n\`\`\`\n`;
}

/** A subtask for an agent. */
export function subtask(agent: string, rest: object = {}): object {
  const verification = {
    pass_criteria: 'it works',
    fail_criteria: 'it does not',
    affected_files: [`src/${agent}.ts`],
  };
  return { agent, role: 'custom', task: `Do ${agent}'s part.`, verification, ...rest };
}
