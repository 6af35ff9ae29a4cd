import { stripVTControlCharacters } from 'node:util';
import { Argument, type Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { type CommandName, commandText } from '../clients/claude/setup.ts';
import { reasonOf } from '../core/guards.ts';
import { getProjectPath } from '../core/project.ts';
import { type Environment, type StatePaths, VERSION } from '../core/state-paths.ts';
import { cutText } from '../core/text.ts';
import { HOOKS } from '../hooks/hooks.ts';
import { agentMark } from '../runs/requester.ts';
import { thisProcess } from '../runs/world.ts';
import { skillPlaces } from '../suggestions/model/skill-files.ts';
import { becomeLongLived, currentDirectory } from '../system/process-identity.ts';
import { pathExists, readTextFile } from '../system/runtime-bun.ts';
import { exploreCommand } from './agents/explore.ts';
import { planCommand } from './agents/plan.ts';
import { analyzeCommand } from './analyze.ts';
import { completeCommand, completionsCommand } from './completion/completions.ts';
import { configCommand } from './config.ts';
import { type CliContext, EXIT, exitCodes, failWith, newCommand, PROGRAM } from './context.ts';
import { memoryCommand } from './conversation/memory.ts';
import { orchestrateCommand } from './conversation/orchestrate.ts';
import { queueCommand } from './conversation/queue.ts';
import { runCommand, steerCommand } from './conversation/run.ts';
import { worklogCommand } from './conversation/worklog.ts';
import { doctorCommand } from './doctor.ts';
import { importCommand } from './import.ts';
import { installCommand, uninstallCommand } from './install.ts';
import { errorsCommand } from './learned/errors.ts';
import { lessonsCommand } from './learned/lessons.ts';
import { mcpCommand } from './mcp.ts';
import { proofCommand } from './proof/proof.ts';
import { pruneCommand } from './prune.ts';
import { reportCommand } from './report.ts';
import { statsCommand } from './stats.ts';
import { statusCommand } from './status.ts';
import { subagentsCommand } from './subagents/subagents.ts';
import { applyCommand, dismissCommand, undoCommand } from './suggestions/decide.ts';
import { suggestionsCommand } from './suggestions/suggestions.ts';
import { teamCommand } from './team/team.ts';
import { askOnTerminal, confirmOnTerminal } from './terminal/ask.ts';
import { asksForJson } from './terminal/problem.ts';
import { cutToWidth, wrapped } from './terminal/width.ts';
import { updateCommand } from './update.ts';
import { workerCommand } from './worker.ts';

/** Room behind the line of progress for the `^C` of the terminal and the cursor. */
const CTRL_C_COLUMNS = 3;

const EXAMPLES = `
Examples:
  $ self-generation install     register the hooks in Claude Code
  $ self-generation doctor      check that they work
  $ self-generation status      see what has been learned

With --json a command that does not do what it was called for prints one line on standard output, and no error elsewhere:
{"type":"error","error":{"code":"not-found","message":"Cannot …","hint":"…"}}

${exitCodes([0, 1, 2, 3, 4, 5]).slice(0, -1)}; of what was waited for:
6 timed out or done in part, 7 stopped, 8 goes on, 130 interrupted by Ctrl-C.`;

/** What is loaded by the commands that talk to a server. */
export type ServerParts = Pick<CliContext, 'connectServer' | 'startWorker'>;

/** The commands for a person. Returns the exit code; nothing below this ends the process. */
export async function runCli(words: readonly string[], parts: ServerParts): Promise<number> {
  becomeLongLived();
  // Failed writes to stdout are reported below; those to stderr cannot be reported anywhere.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  let exitCode = 0;
  const output = watchedOutput();
  const setExitCode = (code: number) => {
    exitCode = code;
  };
  const context = processContext({ output, setExitCode, parts }, asksForJson(words));
  await parseTold(program(context), words, context);
  const failure = await output.failure();
  // `doctor | head` closes the pipe early, which is no failure.
  if (failure === undefined || failure.code === 'EPIPE') return exitCode;
  const advice =
    'What it did stays: run it again, with an output that can be written, if it may be done twice';
  context.stderr(`error: Cannot write to standard output: ${reasonOf(failure)}. ${advice}.\n`);
  return EXIT.failed;
}

/** Runs what the words call for; whatever else fails than a command that has said so itself is told here. */
async function parseTold(command: Command, words: readonly string[], context: CliContext): Promise<void> {
  try {
    try {
      await command.parseAsync([...words], { from: 'user' });
    } catch (error) {
      if (error instanceof CommanderError) throw error;
      failWith({ exitCode: EXIT.failed, message: reasonOf(error) }, context);
    }
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
}

/** Standard output, and the first failure of all that was written to it. */
function watchedOutput() {
  let failure: NodeJS.ErrnoException | undefined;
  let last = Promise.resolve();
  const write = (text: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    process.stdout.write(text, (error) => {
      failure ??= error ?? undefined;
      resolve();
    });
  };
  return { write, failure: () => last.then(() => failure) };
}

/** In the order in which the help lists them. */
const COMMANDS: readonly ((context: CliContext) => Command)[] = [
  ...[installCommand, updateCommand, uninstallCommand, doctorCommand, statusCommand, reportCommand],
  ...[analyzeCommand, suggestionsCommand, applyCommand, dismissCommand, undoCommand],
  ...[runCommand, steerCommand, queueCommand, memoryCommand, orchestrateCommand, worklogCommand],
  ...[
    importCommand,
    subagentsCommand,
    exploreCommand,
    planCommand,
    pruneCommand,
    statsCommand,
    errorsCommand,
    lessonsCommand,
    proofCommand,
    teamCommand,
    workerCommand,
    configCommand,
    completionsCommand,
    mcpCommand,
    hookCommand,
  ],
];

/** All commands. Without an action of its own: called alone it shows its help, and a word that it does not know is an error. */
export function program(context: CliContext): Command {
  const root = newCommand(PROGRAM, context)
    .description('Gives sub-agents of coding agents what the project has already learned.')
    .enablePositionalOptions() // What stands behind a command is that command's: "plan show --version 2".
    .version(VERSION, '-v, --version', 'print the version')
    .addHelpText('after', EXAMPLES);
  for (const command of COMMANDS) root.addCommand(command(context));
  return root.addCommand(completeCommand(context), { hidden: true });
}

/** What comes in from outside of the commands. */
type Outside = Pick<CliContext, 'setExitCode'> & {
  readonly output: ReturnType<typeof watchedOutput>;
  readonly parts: ServerParts;
};

/** The working directory is looked up only by who asks for it: it may be gone. */
function processContext({ output, setExitCode, parts }: Outside, isJson: boolean): CliContext {
  const { env, stdout, stderr } = process;
  const fitted = (text: string, { isTTY, columns }: NodeJS.WriteStream) =>
    isTTY && !isJson ? wrapped(text, columns || Number.POSITIVE_INFINITY) : text;
  const inColour = wantsColour(env, stderr.isTTY === true);
  return {
    env,
    platform: process.platform,
    stdout: (text) => output.write(fitted(text, stdout)),
    verbatim: output.write,
    isJson,
    written: async () => (await output.failure()) === undefined,
    stderr: (text) => {
      const fitting = fitted(text, stderr);
      stderr.write(inColour ? fitting : stripVTControlCharacters(fitting));
    },
    progress: (text) => {
      if (stderr.isTTY) stderr.write(`\r\x1b[K${cutToWidth(text, stderr.columns - CTRL_C_COLUMNS)}`);
    },
    showsProgress: stderr.isTTY === true,
    screen: () => (stdout.isTTY ? { columns: stdout.columns, rows: stdout.rows } : undefined),
    onInterrupt: (act) => {
      process.on('SIGINT', act);
      return () => void process.off('SIGINT', act);
    },
    executablePath: process.execPath,
    ...parts,
    isCompiled: Bun.isStandaloneExecutable,
    colours: pc.createColors(wantsColour(env, stdout.isTTY === true)),
    isInteractive: process.stdin.isTTY === true && stdout.isTTY === true,
    confirm: confirmOnTerminal,
    ask: askOnTerminal,
    agentMark: () => agentMark(env),
    setExitCode,
    now: () => new Date(),
    get cwd() {
      return currentDirectory();
    },
  };
}

/** NO_COLOR wins, then FORCE_COLOR, then whether it is a terminal. */
function wantsColour(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== '0') return true;
  return isTerminal && env.TERM !== 'dumb';
}

const HOOK_EXAMPLES = `
Without NAME the event on standard input decides. A hook ends with 0 whatever happens and prints nothing but its answer.

Examples:
  $ self-generation hook subagent-context < event.json
  $ self-generation hook < event.json
  $ self-generation hook applied s1a2b3c4d5e < event.json      the hook of an applied suggestion

Exit codes: 0 ran, 1 no such hook. Never 2, which the client takes for a veto; only result-waiter ends so, to wake the session.`;

/** `hook`: what the client runs. main.ts itself runs the hooks; only calls for help and wrong calls come here. */
function hookCommand(context: CliContext): Command {
  const command = newCommand('hook', context, EXIT.failed)
    .description('run one hook on the event on standard input; the client does that')
    .addArgument(new Argument('[name]').choices([...HOOKS.map((hook) => hook.name), 'applied']))
    .argument('[id]', 'of the suggestion, for an applied one')
    .addHelpText('after', HOOK_EXAMPLES)
    .action((name?: string) => {
      if (name === 'applied') command.error('error: an applied hook is called by the id of its suggestion');
      command.error('error: a hook reads its event from standard input');
    });
  return command;
}

/** `/subagents …` and `/stop …` as a person types them in Claude Code, answered by the hook that gets the prompt. */

/** From the start of the hook, which the client ends after five seconds. */
const ANSWER_WITHIN_MS = 3000;
/** The client writes longer texts of hooks to a file. */
const ANSWER_LENGTH_MAX = 9900;
const UNFINISHED = '⏳ It is asked for and goes on by itself: "/subagents list" shows how it stands.\n';

/** The hook that got the prompt. */
type PromptHook = {
  readonly event: { readonly sessionId: string; readonly cwd: string | undefined };
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly now: Date;
};

/** Returns the answer to this prompt, also when the command fails; undefined when the prompt is none of our commands. */
export async function answerPrompt(prompt: string, run: PromptHook): Promise<string | undefined> {
  const [, plugin, name, typed = ''] =
    /^\/(self-generation:)?(subagents|stop)(?:\s+(.*))?$/s.exec(prompt.trim()) ?? [];
  const cwd = run.event.cwd ?? run.paths.home;
  const isKnown = plugin !== undefined || isOurs(name as CommandName, cwd, run.env);
  if (name === undefined || !isKnown) return undefined;
  let said = '';
  const say = (text: string) => {
    said += text;
  };
  const fits = () => said.length <= ANSWER_LENGTH_MAX;
  let words: readonly string[] = [];
  const context = contextOf(run, cwd, { say, fits, isJson: () => asksForJson(words) });
  const group = subagentsCommand(context, async () => '');
  const line = name === 'stop' ? `stop ${typed || 'all'}` : typed;
  words = wordsIn(line, group);
  const inTerminal = `in a terminal in this directory: ${PROGRAM} subagents ${line}`;
  group.hook('preAction', (_group, command) => {
    if (!waits(command)) return;
    say(`⚙️ This waits, and a prompt is answered at once. Run it ${inTerminal}\n`);
    throw new CommanderError(EXIT.usage, 'waits', '');
  });
  const isDone = await Promise.race([
    parseTold(group, words, context).then(() => new Promise(setImmediate)), // What a command starts it starts behind its answer.
    Bun.sleep(ANSWER_WITHIN_MS - (Date.now() - run.now.getTime())).then(() => UNFINISHED),
  ]);
  if (isDone === UNFINISHED) say(UNFINISHED);
  const answer = said.trimEnd().toWellFormed();
  if (answer.length <= ANSWER_LENGTH_MAX) return answer;
  return `${cutText(answer, ANSWER_LENGTH_MAX)}\n… (cut; all of it ${inTerminal})`;
}

/** Whether the command that the client knows under this name is what install wrote. */
function isOurs(name: CommandName, cwd: string, env: Environment): boolean {
  const { global, project } = skillPlaces(env, getProjectPath(cwd, env));
  const others = [`${project}/commands/${name}.md`, `${project}/skills/${name}/SKILL.md`];
  const isHidden = project !== null && project !== global && others.some(pathExists);
  return !isHidden && readTextFile(`${global}/commands/${name}.md`) === commandText(name);
}

type Answering = {
  readonly say: (text: string) => void;
  readonly fits: () => boolean;
  readonly isJson: () => boolean;
};

/** The reader is a person, the requester is the session with its agent's permissions. A cut answer counts as not written. */
function contextOf(
  { env, event, now }: PromptHook,
  cwd: string,
  { say, fits, isJson }: Answering,
): CliContext {
  const { platform, executablePath, isCompiled } = thisProcess();
  const ofSession = { ...env, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: event.sessionId };
  return {
    ...{ env: ofSession, platform, executablePath, isCompiled, cwd },
    ...{ stdout: say, verbatim: say },
    get isJson() {
      return isJson();
    },
    written: async () => fits(),
    stderr: say,
    progress: () => {},
    showsProgress: false,
    screen: () => undefined,
    onInterrupt: () => () => {},
    colours: pc.createColors(false),
    isInteractive: false,
    isPrompt: true,
    confirm: async () => false,
    ask: async () => undefined,
    agentMark: () => agentMark(ofSession),
    setExitCode: () => {},
    connectServer: noServer,
    startWorker: noServer,
    now: () => now,
  };
}

/** None of the commands that are typed as a prompt talks to one. */
function noServer(): never {
  throw new Error('Cannot reach a server from a prompt');
}

function waits(command: Command): boolean {
  const { wait, follow, watch } = command.opts<{ wait?: true; follow?: true; watch?: true }>();
  return ['wait', 'attach'].includes(command.name()) || wait === true || follow === true || watch === true;
}

/** Splits a typed line at quotes and blanks, without expansion. The task of `spawn` and the message of `send` stay one word. `send` never waits. */
function wordsIn(typed: string, group: Command): string[] {
  const words: string[] = [];
  let rest = typed.trim();
  const take = () => {
    const [quoted = ''] = /^(?:"[^"]*"|'[^']*'|\S)*/.exec(rest) ?? [];
    rest = rest.slice(quoted.length).trimStart();
    words.push(quoted.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'));
  };
  if (rest !== '') take();
  const [action] = words;
  const command = group.commands.find((one) => one.name() === action);
  const takeOptions = () => {
    while (rest.startsWith('--')) {
      take();
      const option = command?.options.find((one) => one.long === words.at(-1));
      if (option?.required && rest !== '') take();
    }
  };
  if (action !== 'spawn' && action !== 'send') {
    while (rest !== '') take();
    return words;
  }
  takeOptions();
  if (action === 'send' && rest !== '') {
    take();
    takeOptions();
  }
  const [, double, single] = /^(?:"([^"]*)"|'([^']*)')$/.exec(rest) ?? [];
  const immediately = action === 'send' ? ['--timeout', '0'] : [];
  return [...words, ...immediately, ...(rest === '' ? [] : ['--', double ?? single ?? rest])];
}
