import type { CommandRun } from '../runs/context/commands-run.ts';
import { formatDuration, formatUsd, isoTime } from '../runs/model/stats.ts';
import { runtimeMs } from '../runs/model/turn.ts';
import type { EndedFact } from './model/facts.ts';
import type { Asked, Attempt, OrchestrationState, Work } from './model/state.ts';
import { phaseName, WRITING_PHASE } from './prompts/phase-gates.ts';
import { inertPart, inertWords } from './prompts/quote.ts';
import { isFailed } from './prompts/review.ts';
import { gateOf, standingOf } from './standing.ts';

/**
 * The worklog of an orchestration as Markdown, made of its state whenever somebody reads it (seed 004). Nothing is read back
 * from it. Texts of agents are quoted or on one line, so that none of them begins a section or a column.
 */

const TITLE_LENGTH_MAX = 80;
const LINE_LENGTH_MAX = 500;
const PLAN_LENGTH_MAX = 8000;
const RESULT_LENGTH_MAX = 1500;
const FILES_MAX = 20;
const NONE = '(none)';
/** Git cannot say. */
const NOT_KNOWN = '(not known)';

/** All of it, with the seed's headings. */
export function worklogMarkdown(state: OrchestrationState): string {
  const { number, works, ended, createdAtMs, endedAtMs } = state;
  const { status, round, usage } = standingOf(state);
  return [
    `# Work Log: ${line(state.prompt, TITLE_LENGTH_MAX)}`,
    '',
    `- Number: ${number}`,
    `- Created: ${isoTime(createdAtMs)}`,
    ...(endedAtMs === null ? [] : [`- Ended: ${isoTime(endedAtMs)}`]),
    `- Status: ${status}`,
    `- Rounds: ${round}`,
    `- Cost: ${usage.costUsd === null ? 'n/a' : formatUsd(usage.costUsd)}`,
    ...triageLine(state),
    '',
    '## Plan',
    '',
    ...planLines(state),
    '',
    '## Verification Criteria',
    '',
    ...listOr(works.flatMap(criteriaLines)),
    '',
    '## Agent Status Matrix',
    '',
    ...matrix(state),
    '',
    '## Execution Log',
    ...executionLog(state),
    '',
    '## Final Summary',
    '',
    ...(ended === null ? [NONE] : quoted(endText(ended), PLAN_LENGTH_MAX)),
    '',
  ].join('\n');
}

/** Of one that was stopped, the text says by whom; without a text, one agent does it. */
function endText({ state, text }: EndedFact): string {
  if (state === 'answered' && text === '') return 'Said to the main agent of the project.';
  return state === 'stopped' ? `Stopped by ${text}.` : text;
}

/** One line in which nothing is a column, a picture or a heading. */
function line(text: string, lengthMax = LINE_LENGTH_MAX): string {
  return inertWords(text, lengthMax).replace(/[\\|]/g, '\\$&').replaceAll('![', '!\\[');
}

function quoted(text: string, lengthMax: number): string[] {
  const inert = inertPart(text, lengthMax).replaceAll('![', '!\\[');
  return inert === '' ? [NONE] : inert.split('\n').map((one) => `> ${one}`.trimEnd());
}

function listOr(lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [NONE] : lines;
}

function triageLine({ triage }: OrchestrationState): string[] {
  if (triage === null) return [];
  const evidence = line(triage.evidence, TITLE_LENGTH_MAX * 2);
  return [`- Triage: ${triage.label}, by ${triage.by}${evidence === '' ? '' : ` (${evidence})`}`];
}

function planLines({ plan, works, layout }: OrchestrationState): readonly string[] {
  if (plan === null) return [NONE];
  const parallel = layout?.parallel ?? [];
  return [
    ...(plan.text.trim() === '' ? [] : [...quoted(plan.text, PLAN_LENGTH_MAX), '']),
    ...works.map(({ agent, role, task }) => {
      const apart = parallel.includes(agent) ? ', in a working tree of its own' : '';
      return `- ${line(agent)} (${line(role)}${apart}): ${line(task)}`;
    }),
    ...(layout?.reason == null ? [] : [`- One after the other: ${line(layout.reason)}`]),
  ];
}

function criteriaLines({ agent, verification }: Work): string[] {
  if (verification === null) return [];
  const { pass_criteria: passes, fail_criteria: fails, affected_files: files } = verification;
  return [
    `- ${line(agent)}`,
    `  - Pass: ${line(passes) || NONE}`,
    `  - Fail: ${line(fails) || NONE}`,
    `  - Files: ${fileList(files)}`,
  ];
}

function fileList(files: readonly string[]): string {
  const more = files.length > FILES_MAX ? `, and ${files.length - FILES_MAX} more` : '';
  return files.length === 0
    ? NONE
    : `${files
        .slice(0, FILES_MAX)
        .map((file) => line(file))
        .join(', ')}${more}`;
}

function matrix({ works, options: { language } }: OrchestrationState): string[] {
  const rows = works.map((work) => {
    const phase = `${work.currentPhase} ${phaseName(work.currentPhase, language)}`;
    const reason = work.reason === null ? '' : `: ${line(work.reason, TITLE_LENGTH_MAX * 2)}`;
    return `| ${line(work.agent)} | ${line(work.role)} | ${phase} | ${gateOf(work, language)}${reason} |`;
  });
  return ['| Agent | Role | Phase | Gate |', '| --- | --- | --- | --- |', ...rows];
}

/** Round by round: what each of them came to, and what the reviewer says of it. */
function executionLog(state: OrchestrationState): string[] {
  const rounds = new Map<number, string[]>();
  for (const work of state.works)
    for (const attempt of work.attempts) {
      const lines = rounds.get(attempt.round) ?? [];
      lines.push(...attemptLines(work, attempt, state));
      rounds.set(attempt.round, lines);
    }
  for (const [index, { problems }] of state.verdicts.entries())
    if (problems.length > 0)
      rounds
        .get(index + 1)
        ?.push('', `### Round ${index + 1} — review`, '', `- Problems: ${line(problems.join('; '))}`);
  const logged = [...rounds].sort(([one], [other]) => one - other).flatMap(([, lines]) => lines);
  const merges = state.works.flatMap(({ agent, merge }) =>
    merge === null
      ? []
      : [
          '',
          `### Merge — ${line(agent)}`,
          '',
          `- Status: ${merge.kind}`,
          `- Files: ${fileList(merge.files)}`,
          ...(merge.reason === null ? [] : [`- Working tree: stays, ${line(merge.reason)}`]),
        ],
  );
  return logged.length === 0 ? ['', NONE] : [...logged, ...merges];
}

function attemptLines({ agent, role }: Work, attempt: Attempt, state: OrchestrationState): string[] {
  const { round, phase, number, asked, changes, verdict } = attempt;
  const name = `${phase} ${phaseName(phase, state.options.language)}`;
  const tried = number === 1 ? '' : `, attempt ${number}`;
  return [
    '',
    `### Round ${round} — ${line(agent)} (${line(role)}, ${name}${tried})`,
    '',
    `- Status: ${statusWords(asked)}`,
    ...(changes === null || phase < WRITING_PHASE
      ? []
      : [`- Files: ${changes.tree === null ? NOT_KNOWN : fileList(changes.files)}`]),
    ...(changes?.moved == null ? [] : [`- Branch and commit: ${line(changes.moved)}`]),
    ...(changes === null || changes.commands.length === 0
      ? []
      : [`- Commands: ${commandWords(changes.commands)}`]),
    ...(verdict === null
      ? []
      : [
          `- Verdict: ${verdict.pass ? 'PASS' : 'FAIL'}${verdict.by === 'engine' ? ' (of no reviewer)' : ''}`,
          ...(verdict.evidence === '' ? [] : [`- Evidence: ${line(verdict.evidence)}`]),
          ...(verdict.feedback === '' ? [] : [`- Feedback: ${line(verdict.feedback)}`]),
        ]),
    ...resultLines(asked, changes?.report ?? null),
  ];
}

function statusWords(asked: Asked | null): string {
  if (asked === null) return 'waiting';
  if (asked.kind === 'refused') return `refused: ${line(asked.error)}`;
  const { turn, run } = asked;
  const took = turn.endedAtMs === null ? '' : `, ${formatDuration(runtimeMs(turn, turn.endedAtMs))}`;
  return `${turn.state} (${run.client}, run ${run.id.slice(0, 8)}${took})${turn.error === null ? '' : `: ${line(turn.error)}`}`;
}

function commandWords(commands: readonly CommandRun[]): string {
  const failed = commands.filter(isFailed).length;
  return `${commands.length}, of which ${failed} failed`;
}

function resultLines(asked: Asked | null, report: string | null): string[] {
  const result = asked?.kind === 'turn' ? (asked.turn.result ?? '') : '';
  if (result.trim() === '') return [];
  const full = report === null ? [] : [`- In full: ${line(report)}`];
  return [...full, '- Result:', '', ...quoted(result, RESULT_LENGTH_MAX)];
}
