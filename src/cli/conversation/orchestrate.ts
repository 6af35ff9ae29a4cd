import { type Command, InvalidArgumentError } from 'commander';
import { say } from '../../conversation/say.ts';
import { redactSecrets } from '../../core/redact.ts';
import { carryOn, type EngineOptions } from '../../orchestrate/engine.ts';
import type { Orchestration, OrchestrationState } from '../../orchestrate/model/state.ts';
import { planOrchestration, startEngine } from '../../orchestrate/start.ts';
import { orchestrationsOf } from '../../orchestrate/store.ts';
import { isContinueIntent, needsOrchestration } from '../../orchestrate/triage/signals.ts';
import { decideTriage } from '../../orchestrate/triage/triage.ts';
import { looksOnly, splitGrants } from '../../runs/model/permissions.ts';
import { readRuns } from '../../runs/store/rows.ts';
import { readInput } from '../../system/files.ts';
import { type CliContext, EXIT, type Given, PROGRAM, subcommand } from '../context.ts';
import { shownText } from '../output.ts';
import {
  answer,
  complain,
  complainUsage,
  type RunsHere,
  refuse,
  TASK_BYTES_MAX,
  typedText,
  visibleLine,
  withRunsHere,
} from '../subagents/runs-here.ts';
import { PERMISSIONS } from '../subagents/spawn.ts';
import { shownJson } from '../terminal/json.ts';
import { followSaid, leaveStream } from './run.ts';
import { watchOrchestration } from './watch.ts';

type Flags = Given<'json' | 'explain' | 'direct' | 'pipeline'> &
  Given<'permissions', string> & { readonly wait: boolean; readonly continue?: number | true };

const AFTER = `

Who does it is decided first: your words ("as a team", "yourself, at once") or a flag, else a model, else one agent, which is
the main agent of the project. A team plans, divides the work among the agents of agents.list that have a role, one after
the other or at once where their files do not overlap, and has each piece reviewed by an agent that had no part in it. What
does not pass is tried again with what was found. Ctrl-C stops it; --continue goes on with what was stopped, came to a part
only, or was left when its process died.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 forbidden, 5 limit reached, 6 a part is done, 7 stopped,
130 interrupted.`;

/** `orchestrate`: has something done by a team of agents, or by one, as it is decided. */
export function orchestrateCommand(context: CliContext, read = readInput): Command {
  const described = {
    description: 'have something planned, divided among a team of agents, reviewed and mended',
    calls: [
      "--pipeline 'Add accounts: a form, a server, and a page in the manual'",
      "--explain 'Rename the function'",
      '--continue',
    ],
    after: AFTER,
  };
  const act = (flags: Flags, words: readonly string[]) =>
    withRunsHere({ context, read }, flags, 'orchestrate', (here) => orchestrate(flags, words, here));
  const command = subcommand('orchestrate', described, context, act)
    .argument('[prompt...]', 'what is to be done; "-" reads it from standard input')
    .option('--explain', 'say only who would do it, and why')
    .option('--direct', 'the main agent does it')
    .option('--pipeline', 'the team does it')
    .option('--permissions <P>', PERMISSIONS)
    .option('--continue [N]', 'go on with an orchestration that is not done', readNumber)
    .option('--no-wait', 'do not wait for its end');
  return command;
}

function readNumber(text: string): number {
  const number = Number(text.replace(/^#/, ''));
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('It is the number of an orchestration, as "worklog --list" shows it.');
}

async function orchestrate(flags: Flags, words: readonly string[], here: RunsHere): Promise<void> {
  const prompt = (await typedText(words, here)).trim();
  const isContinued = flags.continue !== undefined || isContinueIntent(prompt);
  const misuse = misuseOf(flags, prompt, isContinued);
  if (misuse !== undefined) complain(`Cannot orchestrate: ${misuse}`, EXIT.usage, here);
  if (isContinued && flags.explain) return tellContinued(meant(flags.continue, here), here);
  if (isContinued) return goOn(meant(flags.continue, here), flags, here);
  if (prompt === '') return complainUsage('orchestrate [options] PROMPT', here, '');
  if (Buffer.byteLength(prompt) > TASK_BYTES_MAX)
    return complain(
      'Cannot orchestrate: what was given is longer than 1 MiB; put it into a file and name that',
      EXIT.failed,
      here,
    );
  if (flags.explain) return explain(prompt, flags, here);
  if (flags.direct) return sayDirectly(prompt, flags, here);
  const permissions = flags.permissions === undefined ? [] : splitGrants(flags.permissions);
  const asked = { mode: flags.pipeline ? 'pipeline' : 'auto', permissions } as const;
  const begun = planOrchestration(prompt, asked, here.requester, here.world);
  if ('status' in begun) return refuse(begun, 'Cannot orchestrate: ', here);
  return goOn(begun, flags, here);
}

function misuseOf(flags: Flags, prompt: string, isContinued: boolean): string | undefined {
  const { direct, pipeline, permissions } = flags;
  if (direct && pipeline) return '--direct is for the main agent and --pipeline for the team';
  if (flags.continue !== undefined && prompt !== '')
    return '--continue goes on with what was asked, and takes no prompt';
  if (isContinued && (direct || pipeline || permissions !== undefined))
    return 'who does it, and with which permissions, was fixed when it began, and stays so when it is continued';
  return undefined;
}

function tellContinued({ number, state, prompt }: Orchestration, here: RunsHere): void {
  const shown = visibleLine(redactSecrets(prompt));
  answer(
    { continues: number, state },
    `it goes on with orchestration ${number} (${state}): ${shown}\n`,
    here,
  );
}

function explain(prompt: string, { direct, pipeline }: Flags, here: RunsHere): void {
  const asked = direct ? 'direct' : null;
  const decided = decideTriage({ prompt, flag: pipeline ? 'pipeline' : asked, answer: null });
  const { label, by, evidence, signals } = decided;
  const decisions = { direct: 'the main agent answers', single: 'one agent does it', team: 'a team does it' };
  const who = by === 'default' ? 'a model is asked, and in doubt it is one agent' : decisions[label];
  const why = {
    flag: `the flag ${evidence}`,
    wish: `your words: "${visibleLine(redactSecrets(evidence))}"`,
    model: '',
    default: 'no flag and no words say who does it',
  }[by];
  const seen = signals.length === 0 ? 'none' : signals.join(', ');
  const text = `${who}: ${why}\nSignals of size, which decide nothing: ${seen}\n`;
  answer(
    { ...decided, evidence: redactSecrets(evidence), needsOrchestration: needsOrchestration(prompt) },
    text,
    here,
  );
}

async function sayDirectly(prompt: string, flags: Flags, here: RunsHere): Promise<void> {
  const permissions = flags.permissions === undefined ? undefined : splitGrants(flags.permissions);
  const said = say(prompt, { permissions }, here);
  if (said.status !== 'accepted') return refuse(said, 'Cannot orchestrate: ', here);
  if (flags.wait) return followSaid(said, here);
  answer(said, `Said to ${said.client}. "${PROGRAM} queue" shows what is answered and what waits.\n`, here);
}

/** The orchestration to go on with: that of the number, else the newest that is not done. */
function meant(number: Flags['continue'], here: RunsHere): Orchestration {
  const all = readRuns(here.world.paths, (db) => orchestrationsOf(here.requester.key, db)) ?? [];
  const isDone = ({ state }: Orchestration) => state === 'done' || state === 'answered';
  const wanted =
    typeof number === 'number' ? all.find((one) => one.number === number) : all.find((one) => !isDone(one));
  if (wanted === undefined) {
    const none = all.length === 0 ? 'this project has had none' : 'all that there were are done';
    const which =
      typeof number === 'number'
        ? `there is no number ${number}; "${PROGRAM} worklog --list" shows them`
        : none;
    return complain(`Cannot continue an orchestration: ${which}`, EXIT.notFound, here);
  }
  if (isDone(wanted))
    return complain(
      `Cannot continue orchestration ${wanted.number}: it is ${wanted.state}`,
      EXIT.failed,
      here,
    );
  return wanted;
}

async function goOn(one: Orchestration, flags: Flags, here: RunsHere): Promise<void> {
  const { id, number } = one;
  const { world, context, isJson } = here;
  if (!flags.wait) {
    startEngine(one, world);
    const text = `Orchestration ${number} has begun. "${PROGRAM} worklog ${number}" shows how it stands.\n`;
    return answer({ status: 'accepted', id, number }, text, here);
  }
  let said: ReturnType<typeof say> | undefined;
  const onSingle = ({ prompt, options: { permissions } }: OrchestrationState) => {
    const granted = permissions.length === 0 ? undefined : permissions;
    said = say(prompt, { name: `orchestration.${id}`, permissions: granted }, here);
    return said.status === 'accepted' ? undefined : said.error;
  };
  const { ended, isStopped } = await watched(id, { onSingle }, here);
  if (ended === null) {
    const next = `"${PROGRAM} orchestrate --continue ${number}" goes on with it`;
    if (!isJson) context.stderr(`left; ${next}\n`);
    return leaveStream('The orchestration was left', next, here);
  }
  if (said?.status === 'accepted') return followSaid(said, here);
  const { state, text } = ended;
  if (isJson) context.stdout(shownJson({ type: 'ended', id, number, state, text }, 0));
  else
    context[state === 'failed' || state === 'stopped' ? 'stderr' : 'stdout'](
      `${shownText(wordsOf(state, text))}\n`,
    );
  context.setExitCode(isStopped ? EXIT.interrupted : EXIT_OF[state]);
}

const EXIT_OF = { done: 0, answered: 0, partial: EXIT.timedOut, failed: EXIT.failed, stopped: EXIT.stopped };

function wordsOf(state: keyof typeof EXIT_OF, text: string): string {
  if (state === 'failed') return `⚠️ ${text}`;
  return state === 'stopped'
    ? `Stopped by ${text}. "${PROGRAM} orchestrate --continue" goes on with it.`
    : text;
}

/** Carries it on before somebody's eyes. Ctrl-C stops it, a second one leaves: then it has not ended. */
async function watched(
  id: string,
  engine: EngineOptions,
  here: RunsHere,
): Promise<{ readonly ended: OrchestrationState['ended']; readonly isStopped: boolean }> {
  const { context, world } = here;
  const stop = new AbortController();
  const leave = new AbortController();
  const watch = watchOrchestration(here);
  const release = context.onInterrupt(() => {
    if (stop.signal.aborted) return leave.abort();
    watch.say('stopping … (Ctrl-C again leaves)');
    stop.abort();
  });
  const told = new Set<string>();
  const onState = (state: OrchestrationState) => {
    for (const words of warningsOf(state)) {
      if (!told.has(words)) watch.say(`warning: ${visibleLine(words)}`);
      told.add(words);
    }
    watch.onState(state);
  };
  try {
    const signals = { signal: stop.signal, leave: leave.signal };
    const state = await carryOn(id, { ...engine, ...signals, onState }, world);
    watch.stop();
    if ('status' in state) return refuse(state, 'Cannot orchestrate: ', here);
    return { ended: state.ended, isStopped: stop.signal.aborted };
  } finally {
    watch.stop();
    release();
  }
}

/** What was said when runs were started, and who cannot do the work that it has. */
function warningsOf({ asked, works }: OrchestrationState): string[] {
  const runs = [...asked.values()].flat().flatMap((one) => (one.kind === 'turn' ? [one.run] : []));
  const said = runs.flatMap(({ part, warning }) => (warning === null ? [] : [`${part?.name}: ${warning}`]));
  const idle = works.flatMap(({ agent, attempts }) => {
    const last = attempts.at(-1)?.asked;
    const looks =
      last?.kind === 'turn' && last.run.profile === null && looksOnly(last.run.policy, last.run.permissions);
    return looks
      ? [`${agent} may look, and not change files: --permissions edit or tools.subagents.allow lets it`]
      : [];
  });
  return [...said, ...idle];
}
