import { type Command, InvalidArgumentError } from 'commander';
import { resultString, type SubAgentResult } from '../../runs/context/agents.ts';
import { missingSections, readDecision } from '../../runs/context/plan.ts';
import { decide } from '../../runs/context/plan-loop.ts';
import {
  approvedState,
  approvePlan,
  currentVersion,
  findPlan,
  listPlans,
  type Plan,
  readPlan,
  savePlan,
} from '../../runs/context/plan-store.ts';
import {
  caughtUp,
  draftPlan,
  EXPLORERS_DEFAULT,
  EXPLORERS_MAX,
  type Planned,
  refinePlan,
} from '../../runs/context/planning.ts';
import { timeAgo } from '../../runs/model/stats.ts';
import { loadRunSettings } from '../../settings/run-settings.ts';
import { readInput } from '../../system/files.ts';
import {
  type CliContext,
  EXIT,
  type Given,
  newCommand,
  objectionToAgent,
  PROGRAM,
  subcommand,
} from '../context.ts';
import { newTable, printJson, shortened, shownText } from '../output.ts';
import {
  answer,
  complain,
  complainUsage,
  type JsonFlag,
  type RunsHere,
  seesAllProjects,
  visibleLine,
  withRunsHere,
} from '../subagents/runs-here.ts';
import {
  AGENT_CODES,
  type AgentFlags,
  readTask,
  requestHanding,
  resultJson,
  tellOnce,
  tellResult,
  withAgentOptions,
  withAgents,
} from './agent-call.ts';
import { withHandoverOptions } from './handover-options.ts';

type PlanFlags = AgentFlags & { readonly explore?: number | true };

const AFTER = `
The agent reads, may have something explored, and changes nothing. On a terminal the draft is shown and decided on: type
approve, cancel, show, undo, or what is to be changed. Elsewhere "plan resume" and "plan approve" go on with it.
It is handed what context.* of the settings says of your newest conversation here, all of it by default; --context none:
nothing.

Examples:
  $ self-generation plan 'Expire sessions after 30 days'
  $ self-generation plan --explore 2 --client claude 'Move the settings into one file'
  $ self-generation plan --context recent 'What we have just talked about'
  $ self-generation plan resume last 'Name the tests of step 2'
${AGENT_CODES}`;

/** `plan`: an agent that only reads writes a plan, and changes it until somebody approves it. */
export function planCommand(context: CliContext, read = readInput): Command {
  const inRuns = (flags: JsonFlag, act: (here: RunsHere) => void | Promise<void>) =>
    withRunsHere({ context, read }, flags, 'plan', act);
  const group = newCommand('plan', context)
    .description('have a plan written by an agent that only reads, and decide on it')
    .enablePositionalOptions()
    .argument('[task...]', 'what is to be planned; "-" reads it from standard input')
    .addHelpText('after', AFTER)
    .option('--json', 'print as JSON')
    .option(
      '--explore [N]',
      `first have so many agents explore at once: at most ${EXPLORERS_MAX}; without N ${EXPLORERS_DEFAULT}`,
      readExplorers,
    );
  withHandoverOptions(withAgentOptions(group)).action((words: readonly string[], flags: PlanFlags) =>
    inRuns(flags, (here) => plan(here, flags, words)),
  );
  const list = subcommand(
    'plan list',
    { description: 'list the plans of this project', calls: ['', '--all-projects'], codes: [0, 1, 2, 3, 4] },
    context,
    (flags: ListFlags) => inRuns(flags, (here) => tellList(here, flags)),
  ).option('--all-projects', 'of all projects');
  const show = subcommand(
    'plan show',
    {
      description: 'show a plan, also an earlier version of it',
      calls: ['last', '1a2b --version 2'],
      codes: [0, 1, 2, 3, 4],
    },
    context,
    (flags: ShowFlags, id?: string) => inRuns(flags, (here) => tellPlan(here, flags, id)),
  )
    .argument('[id]', 'of the plan, its beginning, or "last"')
    .option('--version <N>', 'this version of it', readNumber);
  const resume = subcommand(
    'plan resume',
    {
      description: 'go on with a draft',
      calls: ['last', "1a2b 'Leave the database out'"],
      after: `\n${AGENT_CODES}`,
    },
    context,
    (flags: JsonFlag, id?: string, words: readonly string[] = []) =>
      inRuns(flags, (here) => resumePlan(here, id, words)),
  )
    .argument('[id]', 'of the plan, its beginning, or "last"')
    .argument('[feedback...]', 'what is to be changed; without it, it is decided on here');
  const approve = subcommand(
    'plan approve',
    { description: 'approve a draft: it is written as Markdown', calls: ['last'], codes: [0, 1, 2, 3, 4] },
    context,
    (flags: JsonFlag, id?: string) => inRuns(flags, (here) => approveById(here, id)),
  ).argument('[id]', 'of the plan, its beginning, or "last"');
  for (const command of [list, show, resume, approve]) group.addCommand(command);
  return group;
}

function readExplorers(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0 && count <= EXPLORERS_MAX) return count;
  throw new InvalidArgumentError(
    `It is a number from 0 to ${EXPLORERS_MAX}. To leave the number out, put --explore behind the task.`,
  );
}

function readNumber(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is the number of a version.');
}

async function plan(here: RunsHere, flags: PlanFlags, words: readonly string[]): Promise<void> {
  const task = await readTask('plan', words, here);
  const { explore = 0 } = flags;
  const explorers = explore === true ? EXPLORERS_DEFAULT : explore;
  const request = await requestHanding('plan', task, flags, here);
  const planned = await withAgents(request, here, (setting) => draftPlan(task, explorers, setting));
  await goOn(planned, here);
}

/** On a terminal it is decided on; elsewhere it is said how to go on. */
async function goOn(planned: Planned, here: RunsHere): Promise<void> {
  const { result } = planned;
  const { context } = here;
  const hasDraft = currentVersion(planned.plan) !== undefined;
  if (context.isInteractive && !here.isJson && hasDraft) {
    const tell = () => {
      if (result.output === '') tellResult('plan', result, here);
      else context.stderr(incompleteLine(result));
    };
    await tellOnce(result, tell, here);
    return decideOn(planned.plan, here);
  }
  const tell = () => {
    if (here.isJson)
      return printJson({ ...resultJson('plan', result, here), plan: planJson(planned.plan) }, context);
    tellResult('plan', result, here);
    if (hasDraft) context.stderr(`${lackingLine(planned.plan)}${nextLine(planned.plan)}`);
  };
  await tellOnce(result, tell, here);
}

/** Shows the plan and does what is typed, until it is approved, cancelled or left. */
async function decideOn(first: Plan, here: RunsHere): Promise<void> {
  const { context, world } = here;
  const { rounds } = loadRunSettings(world.paths).plan;
  let current = first;
  showPlan(current, here);
  for (;;) {
    const version = currentVersion(current)?.number;
    const typed = await context.ask(
      `plan ${current.id}, version ${version} · approve, cancel, show, undo, or feedback: `,
    );
    if (typed === undefined) {
      context.setExitCode(EXIT.interrupted);
      return context.stderr(nextLine(current));
    }
    const stored = readPlan(current.id, world.paths) ?? current;
    const isAsShown = stored.current === version && stored.status === 'draft';
    current = stored;
    if (!isAsShown) {
      context.stderr(`Plan ${current.id} was changed elsewhere. It is ${statusWords(current)}, and reads:\n`);
      showPlan(current, here);
      if (current.status === 'draft') continue;
      return context.setExitCode(EXIT.failed);
    }
    const step = decide(current, readDecision(typed), rounds);
    switch (step.kind) {
      case 'say':
        context.stderr(`${step.words}\n`);
        break;
      case 'show':
        current = step.plan === current ? current : savePlan(step.plan, world.paths);
        showPlan(current, here);
        break;
      case 'approve':
        return approve(current, here);
      case 'over':
        savePlan(step.plan, world.paths);
        context.setExitCode(EXIT.stopped);
        return context.stdout(`Plan ${current.id} is cancelled.\n`);
      case 'refine': {
        const planned = await withAgents({}, here, (setting) => refinePlan(current, step.feedback, setting));
        const isNew = planned.plan.current !== current.current;
        current = planned.plan;
        const tell = () => {
          if (!isNew) return tellFailure(planned.result, here);
          context.stderr(incompleteLine(planned.result));
          showPlan(current, here);
        };
        await tellOnce(planned.result, tell, here);
      }
    }
  }
}

function tellFailure(result: SubAgentResult, { world, context }: RunsHere): void {
  context.stderr(`${shownText(resultString('plan', result, world))}\nThe plan is as it was.\n`);
}

function incompleteLine({ status, errors }: SubAgentResult): string {
  return status === 'incomplete' ? `This draft is incomplete: ${visibleLine(errors.join('; '))}.\n` : '';
}

function showPlan(plan: Plan, { context }: RunsHere): void {
  const text = currentVersion(plan)?.text ?? '';
  context.verbatim(`\n${shownText(text).trimEnd()}\n\n`);
  context.stderr(lackingLine(plan));
}

function lackingLine(plan: Plan): string {
  const lacking = missingSections(currentVersion(plan)?.text ?? '');
  return lacking.length === 0 ? '' : `This version lacks: ${lacking.join(', ')}.\n`;
}

function nextLine({ id }: Plan): string {
  const call = `${PROGRAM} plan`;
  return `Plan ${id} is a draft. "${call} approve ${id}" approves it, "${call} resume ${id} 'what to change'" goes on.\n`;
}

function planJson(plan: Plan) {
  const text = currentVersion(plan)?.text;
  const lacking = text === undefined ? [] : missingSections(text);
  return { ...plan, lacking, file: plan.approved === null ? null : approvedState(plan) };
}

type ListFlags = JsonFlag & Given<'allProjects'>;

const OTHERS = 'an agent sees none of another project';

function tellList(here: RunsHere, { allProjects }: ListFlags): void {
  const { world, requester, context } = here;
  if (allProjects && !seesAllProjects(here))
    complain(`Cannot list the plans of all projects: ${OTHERS}`, EXIT.forbidden, here);
  const found = listPlans(allProjects ? null : requester.key, world.paths).map((one) => caughtUp(one, world));
  const table = newTable(['plan', 'status', 'versions', 'age', 'task'], context);
  const nowMs = world.now().getTime();
  for (const one of found) {
    const age = timeAgo(Date.parse(one.createdAt), nowMs);
    table.push([one.id, statusWords(one), one.versions.length, age, shortened(one.task, 60)]);
  }
  answer({ plans: found.map(planJson) }, found.length === 0 ? 'There is no plan.\n' : `${table}\n`, here);
}

function statusWords(plan: Plan): string {
  const state = approvedState(plan);
  if (state !== null) return state === 'as approved' ? 'approved' : `approved, ${state}`;
  if (plan.status === 'draft' && plan.versions.length === 0)
    return plan.pending === null ? 'no draft' : 'being drafted';
  return plan.pending === null ? plan.status : `${plan.status}, being refined`;
}

type ShowFlags = JsonFlag & { readonly version?: number };

function tellPlan(here: RunsHere, { version: wanted }: ShowFlags, id: string | undefined): void {
  const plan = planMeant('show', id, here);
  const version =
    wanted === undefined ? currentVersion(plan) : plan.versions.find(({ number }) => number === wanted);
  if (wanted !== undefined && version === undefined)
    complain(`Plan ${plan.id} has no version ${wanted}: it has ${plan.versions.length}`, EXIT.notFound, here);
  const head = [
    `Plan ${plan.id} · ${statusWords(plan)} · version ${version?.number ?? 0} of ${plan.versions.length}`,
    `Task: ${shortened(plan.task, 500)}`,
    ...(plan.approved === null ? [] : [`File: ${visibleLine(plan.approved.file)}`]),
    ...(version?.feedback ? [`Feedback: ${shortened(version.feedback, 500)}`] : []),
  ];
  answer(
    planJson(plan),
    `${head.join('\n')}\n\n${shownText(version?.text ?? '(no draft)').trimEnd()}\n`,
    here,
  );
}

async function resumePlan(here: RunsHere, id: string | undefined, words: readonly string[]): Promise<void> {
  const plan = planMeant('resume', id, here);
  const { context } = here;
  if (plan.status !== 'draft')
    return complain(
      `Plan ${plan.id} is ${plan.status}: "${PROGRAM} plan TASK" makes a new one`,
      EXIT.failed,
      here,
    );
  if (currentVersion(plan) === undefined) {
    const why = plan.pending === null ? 'it has no draft' : 'its draft is still being written';
    return complain(`Cannot resume plan ${plan.id}: ${why}`, EXIT.failed, here);
  }
  const feedback = words.join(' ').trim();
  if (feedback === '') {
    if (context.isInteractive && !here.isJson) return decideOn(plan, here);
    return complainUsage('resume ID FEEDBACK', here, 'plan ');
  }
  const { rounds } = loadRunSettings(here.world.paths).plan;
  const step = decide(plan, { kind: 'feedback', text: feedback }, rounds);
  if (step.kind !== 'refine')
    return complain(step.kind === 'say' ? step.words : 'it is over', EXIT.limit, here);
  const planned = await withAgents({}, here, (setting) => refinePlan(plan, feedback, setting));
  await goOn(planned, here);
}

function approveById(here: RunsHere, id: string | undefined): void {
  approve(planMeant('approve', id, here), here);
}

/** What was approved already stays as it is, unless its file does not. */
function approve(plan: Plan, here: RunsHere): void {
  const { world, context } = here;
  const objection = objectionToAgent(`plan approve ${plan.id}`, context);
  if (objection !== undefined) complain(`Cannot approve plan ${plan.id}: ${objection}`, EXIT.forbidden, here);
  if (plan.status === 'cancelled')
    complain(`Cannot approve plan ${plan.id}: it is cancelled`, EXIT.failed, here);
  const isDone = approvedState(plan) === 'as approved';
  tellApproved(isDone ? plan : approvePlan(plan, world.now(), world.paths), here);
}

function tellApproved(plan: Plan, here: RunsHere): void {
  here.context.setExitCode(0);
  const { file = '', hash = '' } = plan.approved ?? {};
  answer(planJson(plan), `Plan ${plan.id} is approved: ${visibleLine(file)}\nsha256 ${hash}\n`, here);
}

function planMeant(verb: string, id: string | undefined, here: RunsHere): Plan {
  const { world, requester } = here;
  if (id === undefined || id.trim() === '') return complainUsage(`${verb} ID`, here, 'plan ');
  const own = findPlan(id, listPlans(requester.key, world.paths));
  const isElsewhere = 'error' in own && seesAllProjects(here);
  const found = isElsewhere ? findPlan(id, listPlans(null, world.paths)) : own;
  if ('error' in found) return complain(visibleLine(found.error), EXIT.notFound, here);
  return caughtUp(found, world);
}
