import type { Command } from 'commander';
import { redactSecrets } from '../../core/redact.ts';
import { cutText, oneLine } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { takeBackLesson } from '../../lessons/store/model-lessons.ts';
import { READING_CLIENTS } from '../../setup/clients/agent-files.ts';
import { diffOf, NO_CHANGE } from '../../setup/file-plan.ts';
import { locate, type Place } from '../../setup/manifest.ts';
import { planLesson, planUndo, type UndoPlan } from '../../suggestions/apply.ts';
import {
  type AppliedLesson,
  carryOut,
  filesOf,
  listApplied,
  readAppliedLesson,
} from '../../suggestions/decide.ts';
import { describeDeclaration, type Suggestion } from '../../suggestions/model/suggestion.ts';
import { planTeamLesson, takeBackTeamLesson } from '../../team/decide.ts';
import {
  agree,
  type CliContext,
  type CliState,
  choice,
  EXIT,
  failWith,
  newCommand,
  objectionToAgent,
  PROGRAM,
  projectHere,
  sentence,
  withState,
} from '../context.ts';
import { colouredDiff, printJson, shownLine, shownText, visible } from '../output.ts';
import { type Destination, pickSuggestion, planHere } from './suggestions-here.ts';

/** The decisions on a suggestion: `apply`, `dismiss` and `undo`. */

type Flags = { readonly yes?: true; readonly json?: true };

const APPLY_EXAMPLES = `
A rule goes between two marks of ours into what agents read in every session: .claude/CLAUDE.md, AGENTS.md and GEMINI.md of
its project, those that are there for the clients that are set up. A skill becomes skills/<name>/SKILL.md in .claude, or in
.agents for the other clients. A hook is registered in Claude Code's settings and answered by this program: it tells a text
or denies a call, and contains no code. A lesson goes into no file: agents are told it when its error happens. A diff is
shown first. No file of yours is overwritten, and "undo" takes exactly this back.

Examples:
  $ self-generation apply 1                       the first that "self-generation suggestions" lists
  $ self-generation apply s1a2b --global          for all projects
  $ self-generation apply 2 --client codex        into what Codex reads, whatever is there
  $ self-generation apply 2 --yes                 do not ask

A person decides: where an agent of Claude Code, Codex, Gemini or OpenCode seems to run this, it is refused, also with --yes.

Exit codes: 0 applied or there already, 1 refused or failed, 2 wrong usage, 3 not found or ambiguous.`;

type ApplyFlags = Flags & Destination;

/** `apply`: puts a suggestion where it takes effect. */
export function applyCommand(context: CliContext): Command {
  return newCommand('apply', context)
    .description('apply a suggestion; shows a diff and asks first')
    .argument('<ID|N>', 'the beginning of its id, or its number in "suggestions"')
    .option('--global', 'for all projects')
    .addOption(choice('--client <NAME>', 'a rule or a skill: for this client alone', READING_CLIENTS))
    .option('--yes', 'do not ask')
    .option('--json', 'print the outcome as JSON; needs --yes to change anything')
    .addHelpText('after', APPLY_EXAMPLES)
    .action((word: string, flags: ApplyFlags) =>
      decideOn(word, 'apply', flags, context, (report, state) => {
        const { type } = report.suggestion;
        if (flags.client !== undefined && type !== 'claude_md' && type !== 'skill')
          return report.refuse('a client can be named for a rule or a skill only');
        return type === 'lesson' ? applyLesson(report, state) : applyFiles(report, flags, state);
      }),
    );
}

async function applyFiles(report: DecisionReport, flags: ApplyFlags, state: CliState) {
  const { paths } = state;
  const { suggestion, context } = report;
  const { type, details, text, projectPath } = suggestion;
  const place = report.locate();
  const project = projectHere(paths, context);
  const plan = planHere(suggestion, { ...flags, place }, state, context);
  report.sayHeading();
  if (type === 'hook' && details.hook !== undefined) {
    const isEverywhere = flags.global || projectPath === '';
    const where = isEverywhere ? 'In every project' : `In the project ${shownLine(suggestion.project)}`;
    report.say(`${where}. ${visible(describeDeclaration(details.hook))}\n\n`);
  }
  if (plan.kind === 'refused' && details.hook === undefined) report.say(`${visible(text)}\n\n`);
  report.showChange(plan.kind === 'ready' ? plan : { change: NO_CHANGE, notes: [] });
  if (plan.kind === 'refused') return report.refuse(plan.reason);
  report.keepFromAgent();
  if (plan.kind === 'present') {
    const { path, line } = plan;
    report.say(`The same rule stands already in line ${line} of ${path}. Nothing was changed.\n`);
    return report.end('present', { path, line });
  }
  const { applied, change } = plan;
  if (change.files.length > 0) await report.agree('Apply this?', 'apply this');
  const { scope } = applied;
  const here = { project: project.name, projectPath: project.path };
  const own = { project: suggestion.project, projectPath };
  const event = { scope, ...(scope === 'project' && projectPath !== '' ? own : here) };
  carryOut({ suggestion, verdict: { kind: 'applied', applied }, change, event }, paths, context.now());
  const written = filesOf(applied).map((file) => file.path);
  const where = written.join(' and ');
  const registered = `the hook is registered in ${applied.path} for new sessions.`;
  const effects = {
    skill: `the skill is in ${where}.`,
    claude_md: `the rule is in ${where}.`,
  };
  report.sayApplied({ declaration: registered, hook: registered, ...effects }[applied.kind]);
  report.end('applied', { scope, path: applied.path, ...(written.length > 1 && { paths: written }) });
}

/** From then on agents are told it when its error happens, and sub-agents of its project when they start. */
async function applyLesson(report: DecisionReport, { paths }: CliState): Promise<void> {
  const { suggestion, context } = report;
  const { id, text, details, project, projectPath, origin } = suggestion;
  const ofTeam = origin === 'team' ? await planTeamLesson(id, projectPath, paths) : undefined;
  const planned = planLesson(suggestion);
  const plan = ofTeam === undefined || planned.kind === 'refused' ? planned : { ...planned, ...ofTeam };
  report.sayHeading();
  const error = shownLine(details.lesson?.said ?? '');
  report.say(`Agents in ${shownLine(project)} are told this, for "${error}":\n${visible(text)}\n\n`);
  report.detail({ advice: text, error: details.lesson?.errorKey ?? null });
  if (plan.kind === 'refused') return report.refuse(plan.reason);
  report.keepFromAgent();
  await report.agree('Apply this?', 'apply this');
  const verdict = { kind: 'applied', applied: plan.applied } as const;
  const event = { scope: 'project', project, projectPath } as const;
  carryOut({ suggestion, verdict, change: NO_CHANGE, event, store: plan.store }, paths, context.now());
  const isToldNow = ofTeam?.kind !== 'ready' || ofTeam.isToldNow;
  report.sayApplied(
    isToldNow
      ? 'agents are told from now on.'
      : 'agents are told once those whose word counts accept it too.',
  );
  report.end('applied', { isToldNow });
}

type DismissFlags = Flags & { readonly why?: string };

const WHY_LENGTH_MAX = 300;

const DISMISS_EXAMPLES = `
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
    .addHelpText('after', DISMISS_EXAMPLES)
    .action((word: string, flags: DismissFlags) =>
      decideOn(word, 'dismiss', flags, context, (report, { paths }) => dismiss(report, flags, paths)),
    );
}

function dismiss(report: DecisionReport, flags: DismissFlags, paths: CliState['paths']): void {
  const { suggestion, context } = report;
  const { id, summary } = suggestion;
  // Redacted whole, and cut then: half a secret is not recognised as one.
  const why = cutText(oneLine(redactSecrets(flags.why ?? '')), WHY_LENGTH_MAX) || null;
  carryOut({ suggestion, verdict: { kind: 'dismissed', why }, change: NO_CHANGE }, paths, context.now());
  report.say(`Dismissed: ${shownLine(summary)}. "${PROGRAM} undo ${id}" makes it wait again.\n`);
  report.end('dismissed', { why });
}

const UNDO_EXAMPLES = `
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
    .addHelpText('after', UNDO_EXAMPLES)
    .action((word: string, flags: Flags) => decideOn(word, 'undo', flags, context, undo));
}

async function undo(report: DecisionReport, { paths }: CliState): Promise<void> {
  const { suggestion, context } = report;
  const lesson = suggestion.status === 'applied' ? readAppliedLesson(suggestion.applied) : undefined;
  const planFiles = () => {
    const others = listApplied(paths, suggestion.id);
    return planUndo(suggestion, { place: report.locate(), now: context.now, others });
  };
  const plan = lesson === undefined ? planFiles() : LESSON_UNDONE;
  if (plan.kind === 'refused') return report.refuse(plan.reason);
  report.keepFromAgent();
  report.showChange(plan);
  if (diffOf(plan.change) !== '') await report.agree('Take this back?', 'take this back');
  const takeBack = (applied: AppliedLesson, db: Db) =>
    suggestion.origin === 'team'
      ? takeBackTeamLesson(suggestion.id, suggestion.projectPath, db)
      : takeBackLesson(applied, db);
  const store = lesson && ((_ts: string, db: Db) => takeBack(lesson, db));
  const verdict = { kind: 'undone' } as const;
  carryOut({ suggestion, verdict, change: plan.change, ...(store ? { store } : {}) }, paths, context.now());
  report.say(
    `${context.colours.green('Undone')}: "${shownLine(suggestion.summary)}" waits for a decision again.\n`,
  );
  report.end('undone');
}

const UNTOLD = ['Agents are not told it any more'];
const LESSON_UNDONE = { kind: 'ready', change: NO_CHANGE, notes: UNTOLD } as const;

type Verb = 'apply' | 'dismiss' | 'undo';

/** Finds the suggestion that is meant, refuses what has been decided already, and lets `act` do the rest. */
function decideOn(
  word: string,
  verb: Verb,
  flags: Flags,
  context: CliContext,
  act: (report: DecisionReport, state: CliState) => void | Promise<void>,
): Promise<void> {
  return withState(context, verb === 'undo' ? verb : `${verb} a suggestion`, (state) => {
    const suggestion = pickSuggestion(word, state.paths, context);
    const report = reportOn(verb, suggestion, flags, context);
    const decided = decidedAlready(verb, suggestion);
    return decided === undefined ? act(report, state) : report.refuse(decided);
  });
}

function decidedAlready(verb: Verb, { id, status, why }: Suggestion): string | undefined {
  const undo = `"${PROGRAM} undo ${id}"`;
  const reason = why === null ? '' : ` (${shownLine(why)})`;
  const reasons: Partial<Record<`${Verb} ${string}`, string>> = {
    'apply applied': `it is applied already; take it back with ${undo}`,
    'apply dismissed': `it was dismissed${reason}; ${undo} makes it wait again`,
    'dismiss applied': `it is applied; run ${undo} first`,
    'dismiss dismissed': 'it is dismissed already',
  };
  return reasons[`${verb} ${status}`];
}

type DecisionReport = ReturnType<typeof reportOn>;

/** Says what becomes of a suggestion: to a person as it happens, or to a program as one JSON document at the end. */
function reportOn(verb: Verb, suggestion: Suggestion, flags: Flags, context: CliContext) {
  const { id, type, summary, evidence } = suggestion;
  const { bold, dim, green } = context.colours;
  /** What the JSON document says beside the outcome. */
  let details: object = {};
  /** To a person. */
  const say = (text: string) => {
    if (!flags.json) context.stdout(text);
  };
  /** To a program. */
  const end = (kind: string, more: object = {}) => {
    if (flags.json) printJson({ kind, id, type, ...more, ...details }, context);
  };
  const refuse = (reason: string): never => {
    const message = sentence(`Cannot ${verb} ${id}: ${shownText(reason)}`);
    const report = { kind: 'refused', id, reason, ...details };
    return failWith({ exitCode: EXIT.failed, message }, context, { report });
  };
  return {
    ...{ suggestion, context, say, end, refuse },
    detail: (more: object) => {
      details = more;
    },
    sayHeading: () => {
      say(`${bold(`[${type}] ${shownLine(summary)}`)} ${dim(id)}\n`);
      say(evidence === '' ? '\n' : `${dim(shownLine(evidence))}\n\n`);
    },
    sayApplied: (effect: string) =>
      say(`${green('Applied')}: ${effect} "${PROGRAM} undo ${id}" takes it back.\n`),
    /** What is about to be done to files, before anything is asked. */
    showChange: ({ change, notes }: Pick<Extract<UndoPlan, { kind: 'ready' }>, 'change' | 'notes'>) => {
      const diff = diffOf(change);
      details = { diff, notes };
      if (!flags.json) context.verbatim(colouredDiff(diff, context));
      for (const note of notes) say(`${note}.\n`);
    },
    /** Refuses it where an agent seems to decide. */
    keepFromAgent: () => {
      const objection = objectionToAgent(`${verb} ${id}`, context);
      if (objection !== undefined) refuse(objection);
    },
    /** Ends the command when the user does not want it. */
    agree: (question: string, todo: string) =>
      agree(question, todo, { yes: flags.yes, report: { id, ...details } }, context),
    locate: (): Place => {
      const place = locate(context.env, context.platform);
      return place.kind === 'failed' ? refuse(`${place.reason}. ${place.advice}`) : place;
    },
  };
}
