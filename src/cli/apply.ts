import type { Command } from 'commander';
import pc from 'picocolors';
import { unreachable } from '../core/guards.ts';
import { diffOf, NO_CHANGE } from '../setup/file-plan.ts';
import { locate } from '../setup/manifest.ts';
import { type ApplyPlan, planApply, planLesson } from '../suggestions/apply.ts';
import { type Applied, carryOutDecision, listEarlier } from '../suggestions/decide.ts';
import type { Suggestion } from '../suggestions/suggestion.ts';
import { describeDeclaration, type HookDeclaration } from '../suggestions/suggestion.ts';
import {
  type CliContext,
  type CliState,
  EXIT_FAILED,
  fail,
  newCommand,
  objectionToAgent,
  PROGRAM,
  withState,
} from './context.ts';
import { colouredDiff, shownJson, shownLine, shownText, visible } from './output.ts';
import { projectHere } from './project.ts';
import { pickSuggestion } from './suggestions.ts';

type Flags = {
  readonly global?: true;
  readonly yes?: true;
  readonly json?: true;
};

const EXAMPLES = `
A rule goes into .claude/CLAUDE.md of its project, between two marks of ours; a skill becomes
.claude/commands/<name>.md; a hook is registered in Claude Code's settings and answered by this program: it tells a text or
denies a call, and contains no code. A lesson goes into no file: agents are told it when its error happens. A diff is shown
first. No file of yours is overwritten, and "undo" takes exactly this back.

Examples:
  $ self-generation apply 1                       the first that "self-generation suggestions" lists
  $ self-generation apply s1a2b --global          for all projects
  $ self-generation apply 2 --yes                 do not ask

A person decides: where an agent of Claude Code, Codex, Gemini or OpenCode seems to run this, it is refused, also with --yes.

Exit codes: 0 applied or there already, 1 refused or failed, 2 wrong usage, 3 not found or ambiguous.`;

/** `apply`: puts a suggestion where it takes effect. */
export function applyCommand(context: CliContext): Command {
  return newCommand('apply', context)
    .description('apply a suggestion; shows a diff and asks first')
    .argument('<ID|N>', 'the beginning of its id, or its number in "suggestions"')
    .option('--global', 'for all projects')
    .option('--yes', 'do not ask')
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
    project,
    place,
    platform: context.platform,
    language: state.config.language,
    now: context.now,
    earlier: listEarlier(state.paths),
  });
  report.show(plan);
  if (plan.kind === 'refused') return report.refuse(plan.reason);
  const agent = objectionToAgent(`apply ${suggestion.id}`, context);
  if (agent !== undefined) return report.refuse(agent);
  if (plan.kind === 'present') return report.present(plan.path, plan.line);
  if (plan.change.files.length > 0 && !(await report.isAgreed())) return;
  const own = plan.applied.scope === 'project' && suggestion.projectPath !== '' ? suggestion : undefined;
  const event = {
    scope: plan.applied.scope,
    project: own?.project ?? project.name,
    projectPath: own?.projectPath ?? project.path,
  };
  const verdict = { kind: 'applied', applied: plan.applied } as const;
  carryOutDecision({ suggestion, verdict, change: plan.change, event }, state.paths, context.now());
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
  const agent = objectionToAgent(`apply ${suggestion.id}`, context);
  if (agent !== undefined) return report.refuse(agent);
  if (!(await report.isAgreed())) return;
  const { project, projectPath } = suggestion;
  const verdict = { kind: 'applied', applied: plan.applied } as const;
  const event = { scope: 'project', project, projectPath } as const;
  carryOutDecision(
    { suggestion, verdict, change: NO_CHANGE, event, store: plan.store },
    paths,
    context.now(),
  );
  report.toldFromNowOn();
}

function decidedAlready({ id, status, why }: Suggestion): string | undefined {
  if (status === 'applied') return `it is applied already; take it back with "${PROGRAM} undo ${id}"`;
  if (status !== 'dismissed') return undefined;
  const reason = why === null ? '' : ` (${shownLine(why)})`;
  return `it was dismissed${reason}; "${PROGRAM} undo ${id}" makes it wait again`;
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
    const diff = plan.kind === 'ready' ? diffOf(plan.change) : '';
    const notes = plan.kind === 'ready' ? plan.notes : [];
    this.#known = { diff, notes };
    if (this.#flags.json) return;
    this.#heading();
    if (type === 'hook') this.#hook(details.hook);
    if (plan.kind === 'refused' && details.hook === undefined) this.#context.stdout(`${visible(text)}\n\n`);
    else this.#context.stdout(colouredDiff(diff, this.#context));
    for (const note of notes) this.#context.stdout(`${note}.\n`);
  }

  /** A lesson is one line: the advice, and for which error. */
  showLesson(): void {
    const { text, details, project } = this.#suggestion;
    this.#known = { advice: text, error: details.lesson?.errorKey ?? null };
    if (this.#flags.json) return;
    this.#heading();
    const error = shownLine(details.lesson?.said ?? '');
    this.#context.stdout(
      `Agents in ${shownLine(project)} are told this, for "${error}":\n${visible(text)}\n\n`,
    );
  }

  toldFromNowOn(): void {
    this.#done({}, 'agents are told from now on.');
  }

  #heading(): void {
    const { bold, dim } = pc.createColors(this.#context.colour);
    const { type, summary, evidence, id } = this.#suggestion;
    this.#context.stdout(`${bold(`[${type}] ${shownLine(summary)}`)} ${dim(id)}\n`);
    if (evidence !== '') this.#context.stdout(`${dim(shownLine(evidence))}\n`);
    this.#context.stdout('\n');
  }

  #hook(declaration: HookDeclaration | undefined): void {
    if (declaration === undefined) return;
    const { project, projectPath } = this.#suggestion;
    const isEverywhere = this.#flags.global || projectPath === '';
    const place = isEverywhere ? 'In every project' : `In the project ${shownLine(project)}`;
    this.#context.stdout(`${place}. ${visible(describeDeclaration(declaration))}\n\n`);
  }

  refuse(reason: string): void {
    this.#end('refused', { reason });
    if (!this.#flags.json)
      fail(this.#context, EXIT_FAILED, `apply ${this.#suggestion.id}: ${shownText(reason)}`);
    this.#context.setExitCode(EXIT_FAILED);
  }

  present(path: string, line: number): void {
    this.#end('present', { path, line });
    if (this.#flags.json) return;
    this.#context.stdout(`The same rule stands already in line ${line} of ${path}. Nothing was changed.\n`);
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
    this.#done({ scope, path }, effect(applied));
  }

  #done(more: Record<string, unknown>, words: string): void {
    this.#end('applied', more);
    if (this.#flags.json) return;
    const { green } = pc.createColors(this.#context.colour);
    const again = `"${PROGRAM} undo ${this.#suggestion.id}" takes it back.`;
    this.#context.stdout(`${green('Applied')}: ${words} ${again}\n`);
  }

  #end(kind: string, more: Record<string, unknown>): void {
    if (!this.#flags.json) return;
    const { id, type } = this.#suggestion;
    this.#context.stdout(shownJson({ kind, id, type, ...more, ...this.#known }));
  }
}

function effect({ kind, path }: Applied): string {
  switch (kind) {
    case 'skill':
      return `the command is in ${path}.`;
    case 'claude_md':
      return `the rule is in ${path}.`;
    case 'declaration':
    case 'hook':
      return `the hook is registered in ${path} for new sessions.`;
    default:
      return unreachable(kind);
  }
}
