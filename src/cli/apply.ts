import type { Command } from 'commander';
import pc from 'picocolors';
import { unreachable } from '../core/guards.ts';
import type { Suggestion } from '../core/suggestion.ts';
import { oneLine } from '../core/text.ts';
import type { Applied } from '../learn/apply/applied.ts';
import { type ApplyPlan, planApply } from '../learn/apply/apply.ts';
import { carryOut, listEarlier } from '../learn/apply/decide.ts';
import { diffOf, NO_CHANGE } from '../learn/apply/file-change.ts';
import { type Finding, passesAudit } from '../learn/apply/hook-audit.ts';
import { planLesson } from '../learn/apply/lesson.ts';
import { locate } from '../setup/place.ts';
import { agentMark } from './agent-mark.ts';
import {
  type CliContext,
  type CliState,
  EXIT_FAILED,
  fail,
  newCommand,
  PROGRAM,
  withState,
} from './context.ts';
import { projectHere } from './project.ts';
import { pickSuggestion } from './suggestion-list.ts';
import { colouredDiff, visible } from './visible.ts';

type Flags = {
  readonly global?: true;
  readonly yes?: true;
  readonly enableHook?: true;
  readonly json?: true;
};

const AUDIT_PASSED =
  'Audit: found nothing that starts a program, uses the network or makes code out of text. That is a filter and not a ' +
  'sandbox, so read the code. It may read and change files. Claude Code gets a context and a message of it, no decision.';

const EXAMPLES = `
A rule goes into .claude/CLAUDE.md of its project, between two marks of ours; a skill becomes
.claude/commands/<name>.md; a hook becomes a script in ~/.self-generation that Claude Code runs. A diff is shown first. A lesson goes into no file: agents
are told it when its error happens.
No file of yours is overwritten, and "undo" takes exactly this back.

Examples:
  $ self-generation apply 1                       the first that "self-generation suggestions" lists
  $ self-generation apply s1a2b --global          into ~/.claude, for all projects
  $ self-generation apply 2 --yes                 do not ask
  $ self-generation apply 3                       of a hook: show its code and what there is to say about it
  $ self-generation apply 3 --enable-hook         let Claude Code run it; it runs only as long as it stays as shown

A hook is enabled by a person: where CLAUDECODE or AI_AGENT is set, which is what an agent's commands see, --enable-hook is
refused, also with --yes.

Exit codes: 0 applied or there already, 1 refused or failed, 2 wrong usage, 3 not found or ambiguous.`;

/** `apply`: puts a suggestion where it takes effect. */
export function applyCommand(context: CliContext): Command {
  return newCommand('apply', context)
    .description('apply a suggestion; shows a diff and asks first')
    .argument('<ID|N>', 'the beginning of its id, or its number in "suggestions"')
    .option('--global', 'for all projects')
    .option('--yes', 'do not ask')
    .option('--enable-hook', 'let Claude Code run the code of a suggested hook')
    .option('--json', 'print the outcome as JSON; needs --yes to change anything')
    .addHelpText('after', EXAMPLES)
    .action((word: string, flags: Flags) =>
      withState(context, 'apply a suggestion', (state) => run(word, flags, state, context)),
    );
}

async function run(word: string, flags: Flags, state: CliState, context: CliContext): Promise<void> {
  const suggestion = pickSuggestion(word, state.paths, context);
  if (suggestion === undefined) return;
  const report = new Report(suggestion, flags, context);
  const decided = decidedAlready(suggestion);
  if (decided !== undefined) return report.refuse(decided);
  if (suggestion.type === 'lesson') return applyLesson(suggestion, report, state, context);
  const place = locate(context.env, context.platform);
  if (place.kind === 'failed') return report.refuse(`${place.reason}. ${place.advice}`);
  const project = projectHere(state.paths, context);
  const plan = planApply(suggestion, {
    scope: flags.global ? 'global' : 'own',
    claudeDirectory: place.claudeDirectory,
    project,
    place,
    platform: context.platform,
    language: state.config.language,
    earlier: listEarlier(state.paths),
  });
  report.show(plan);
  if (suggestion.type === 'hook' && !flags.enableHook) return report.notEnabled(plan);
  if (plan.kind === 'refused') return report.refuse(plan.reason);
  const mark = agentMark(context);
  if (suggestion.type === 'hook' && mark !== undefined) return report.refuse(byPerson(mark, suggestion));
  if (plan.kind === 'present') return report.present(plan.path, plan.line);
  if (plan.change.files.length > 0 && !(await report.isAgreed())) return;
  const own = plan.applied.scope === 'project' && suggestion.projectPath !== '' ? suggestion : undefined;
  const event = {
    scope: plan.applied.scope,
    project: own?.project ?? project.name,
    projectPath: own?.projectPath ?? project.path,
  };
  const verdict = { kind: 'applied', applied: plan.applied } as const;
  carryOut({ suggestion, verdict, change: plan.change, event }, state.paths, context.now());
  report.applied(plan.applied);
}

/** From then on agents are told it when its error happens, and sub-agents of its project when they start. */
async function applyLesson(
  suggestion: Suggestion,
  report: Report,
  { paths }: CliState,
  context: CliContext,
): Promise<void> {
  const plan = planLesson(suggestion);
  report.showLesson();
  if (plan.kind === 'refused') return report.refuse(plan.reason);
  if (!(await report.isAgreed())) return;
  const { project, projectPath } = suggestion;
  const verdict = { kind: 'applied', applied: plan.applied } as const;
  const event = { scope: 'project', project, projectPath } as const;
  carryOut({ suggestion, verdict, change: NO_CHANGE, event, store: plan.store }, paths, context.now());
  report.toldFromNowOn();
}

function decidedAlready({ id, status, why }: Suggestion): string | undefined {
  if (status === 'applied') return `it is applied already; take it back with "${PROGRAM} undo ${id}"`;
  if (status !== 'dismissed') return undefined;
  const reason = why === null ? '' : ` (${oneLine(why)})`;
  return `it was dismissed${reason}; "${PROGRAM} undo ${id}" makes it wait again`;
}

/** What an agent runs must not decide what code runs in every session. */
function byPerson(mark: string, { id }: Suggestion): string {
  return `an agent seems to run this (${mark} is set), and a hook is enabled by a person; run "${PROGRAM} apply ${id} --enable-hook" in a terminal of your own`;
}

/** Says what happens, to a person as it happens or to a program at the end. */
class Report {
  readonly #suggestion: Suggestion;
  readonly #flags: Flags;
  readonly #context: CliContext;
  #known: Record<string, unknown> = {};

  constructor(suggestion: Suggestion, flags: Flags, context: CliContext) {
    this.#suggestion = suggestion;
    this.#flags = flags;
    this.#context = context;
  }

  /** What would be applied, before anything is asked. */
  show(plan: ApplyPlan): void {
    const { text, details, type } = this.#suggestion;
    const findings = plan.findings ?? [];
    const diff = plan.kind === 'ready' ? diffOf(plan.change) : '';
    const notes = plan.kind === 'ready' ? plan.notes : [];
    this.#known = { diff, findings, notes };
    if (this.#flags.json) return;
    this.#heading();
    if (type === 'hook') this.#hook(details.hookEvent ?? '', details.hookMatcher);
    if (plan.kind === 'refused' || (type === 'hook' && !this.#flags.enableHook)) this.#text(text, findings);
    else this.#context.stdout(colouredDiff(diff, this.#context));
    for (const finding of findings) this.#context.stdout(`${this.#finding(finding)}\n`);
    if (type === 'hook' && passesAudit(findings)) this.#context.stdout(`${AUDIT_PASSED}\n`);
    for (const note of notes) this.#context.stdout(`${note}.\n`);
  }

  /** A lesson is one line: the advice, and for which error. */
  showLesson(): void {
    const { text, details, project } = this.#suggestion;
    this.#known = { advice: text, error: details.lesson?.errorKey ?? null };
    if (this.#flags.json) return;
    this.#heading();
    const error = oneLine(details.lesson?.said ?? '');
    this.#context.stdout(
      `Agents in ${oneLine(project)} are told this, for "${visible(error)}":\n${visible(text)}\n\n`,
    );
  }

  toldFromNowOn(): void {
    this.#end('applied', {});
    if (this.#flags.json) return;
    const { green } = pc.createColors(this.#context.colour);
    const again = `"${PROGRAM} undo ${this.#suggestion.id}" takes it back.`;
    this.#context.stdout(`${green('Applied')}: agents are told from now on. ${again}\n`);
  }

  #heading(): void {
    const { bold, dim } = pc.createColors(this.#context.colour);
    const { type, summary, evidence, id } = this.#suggestion;
    this.#context.stdout(`${bold(`[${type}] ${oneLine(summary)}`)} ${dim(id)}\n`);
    if (evidence !== '') this.#context.stdout(`${dim(oneLine(evidence))}\n`);
    this.#context.stdout('\n');
  }

  #hook(event: string, matcher: string | undefined): void {
    const { project } = this.#suggestion;
    const isEverywhere = this.#flags.global || this.#suggestion.projectPath === '';
    const place = isEverywhere ? 'in every project' : `in the project ${oneLine(project)}`;
    const only = matcher === undefined ? '' : ` of ${oneLine(matcher)}`;
    this.#context.stdout(`Runs at each ${oneLine(event)}${only}, ${place}.\n\n`);
  }

  #text(text: string, findings: readonly Finding[]): void {
    const { dim, red } = pc.createColors(this.#context.colour);
    const forbidden = new Set(findings.flatMap(({ kind, line }) => (kind === 'forbidden' ? [line] : [])));
    const lines = visible(text)
      .split('\n')
      .map((line, index) => {
        const number = String(index + 1).padStart(4);
        return `${forbidden.has(index + 1) ? red(number) : dim(number)}  ${line}`;
      });
    this.#context.stdout(`${lines.join('\n')}\n\n`);
  }

  #finding({ kind, line, reason }: Finding): string {
    const { red, yellow } = pc.createColors(this.#context.colour);
    return `${kind === 'forbidden' ? red('forbidden') : yellow('note     ')} line ${line}: ${oneLine(reason)}`;
  }

  refuse(reason: string): void {
    this.#end('refused', { reason });
    if (!this.#flags.json)
      fail(this.#context, EXIT_FAILED, `apply ${this.#suggestion.id}: ${visible(reason)}`);
    this.#context.setExitCode(EXIT_FAILED);
  }

  present(path: string, line: number): void {
    this.#end('present', { path, line });
    if (this.#flags.json) return;
    this.#context.stdout(`The same rule stands already in line ${line} of ${path}. Nothing was changed.\n`);
  }

  notEnabled(plan: ApplyPlan): void {
    const reason = plan.kind === 'refused' ? plan.reason : undefined;
    this.#end('not-enabled', reason === undefined ? {} : { reason });
    this.#context.setExitCode(EXIT_FAILED);
    if (this.#flags.json) return;
    const again = `"${PROGRAM} apply ${this.#suggestion.id} --enable-hook"`;
    this.#context.stderr(
      `Nothing was changed. Read the code first. ${again} writes it to ~/.self-generation/hooks/auto, registers it in ` +
        `Claude Code's settings, and from then on it runs at each such event, as long as the file stays as it is.\n`,
    );
    if (reason !== undefined) this.#context.stderr(`Now that would be refused: ${visible(reason)}.\n`);
  }

  /** Whether the user wants it; says so when not. */
  async isAgreed(): Promise<boolean> {
    const { yes, json } = this.#flags;
    if (yes) return true;
    if (json || !this.#context.isInteractive) {
      this.#end('not-confirmed', {});
      this.#context.setExitCode(EXIT_FAILED);
      if (!json)
        this.#context.stderr('Nothing was changed: nobody can be asked here. Pass --yes to apply this.\n');
      return false;
    }
    if (await this.#context.confirm('Apply this?')) return true;
    this.#context.stdout('Nothing was changed.\n');
    this.#context.setExitCode(EXIT_FAILED);
    return false;
  }

  applied(applied: Applied): void {
    const { path, scope } = applied;
    this.#end('applied', { scope, path });
    if (this.#flags.json) return;
    const { green } = pc.createColors(this.#context.colour);
    const again = `"${PROGRAM} undo ${this.#suggestion.id}" takes it back.`;
    this.#context.stdout(`${green('Applied')}: ${effect(applied)} ${again}\n`);
  }

  #end(kind: string, more: Record<string, unknown>): void {
    if (!this.#flags.json) return;
    const { id, type } = this.#suggestion;
    this.#context.stdout(`${JSON.stringify({ kind, id, type, ...more, ...this.#known }, null, 2)}\n`);
  }
}

function effect(applied: Applied): string {
  switch (applied.kind) {
    case 'skill':
      return `the command is in ${applied.path}.`;
    case 'claude_md':
      return `the rule is in ${applied.path}.`;
    case 'hook':
      return `${applied.path} is registered for each ${applied.event} of new sessions.`;
    default:
      return unreachable(applied);
  }
}
