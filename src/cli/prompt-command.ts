import { type Command, CommanderError } from 'commander';
import pc from 'picocolors';
import { type CommandName, commandText } from '../clients/claude/setup.ts';
import { reasonOf } from '../core/guards.ts';
import { getProjectPath } from '../core/project.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import { cutText } from '../core/text.ts';
import { agentMark } from '../runs/requester.ts';
import { thisProcess } from '../runs/world.ts';
import { skillPlaces } from '../suggestions/model/skill-files.ts';
import { pathExists, readTextFile } from '../system/runtime-bun.ts';
import { type CliContext, EXIT, PROGRAM } from './context.ts';
import { subagentsCommand } from './subagents/subagents.ts';

/** `/subagents …` and `/stop …` as a person types them in Claude Code, answered by the hook that gets the prompt. */

/** From the start of the hook, which the client ends after five seconds. */
const ANSWER_WITHIN_MS = 3000;
/** The client writes longer texts of hooks to a file. */
const ANSWER_LENGTH_MAX = 9900;
const UNFINISHED = '⏳ It is asked for and goes on by itself: "/subagents list" shows how it stands.\n';

/** The hook that got the prompt. */
export type PromptHook = {
  readonly event: { readonly sessionId: string; readonly cwd: string | undefined };
  readonly env: Environment;
  readonly paths: StatePaths;
  readonly now: Date;
};

/** Returns the answer to this prompt, also when the command fails; undefined when the prompt is none of our commands. */
export async function answerPrompt(prompt: string, run: PromptHook): Promise<string | undefined> {
  const [, name, typed = ''] = /^\/(subagents|stop)(?:\s+(.*))?$/s.exec(prompt.trim()) ?? [];
  const cwd = run.event.cwd ?? run.paths.home;
  if (name === undefined || !isOurs(name as CommandName, cwd, run.env)) return undefined;
  let said = '';
  const say = (text: string) => {
    said += text;
  };
  const fits = () => said.length <= ANSWER_LENGTH_MAX;
  const group = subagentsCommand(contextOf(run, cwd, { say, fits }), async () => '');
  const words = name === 'stop' ? `stop ${typed || 'all'}` : typed;
  const inTerminal = `in a terminal in this directory: ${PROGRAM} subagents ${words}`;
  group.hook('preAction', (_group, command) => {
    if (!waits(command)) return;
    say(`⚙️ This waits, and a prompt is answered at once. Run it ${inTerminal}\n`);
    throw new CommanderError(EXIT.usage, 'waits', '');
  });
  const isDone = await Promise.race([
    parseWords(group, wordsIn(words, group), say),
    Bun.sleep(ANSWER_WITHIN_MS - (Date.now() - run.now.getTime())).then(() => false),
  ]);
  if (!isDone) say(UNFINISHED);
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

/** The reader is a person, the requester is the session with its agent's permissions. A cut answer counts as not written. */
function contextOf(
  { env, event, now }: PromptHook,
  cwd: string,
  { say, fits }: { readonly say: (text: string) => void; readonly fits: () => boolean },
): CliContext {
  const { platform, executablePath, isCompiled } = thisProcess();
  const ofSession = { ...env, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: event.sessionId };
  return {
    ...{ env: ofSession, platform, executablePath, isCompiled, cwd },
    stdout: say,
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
    agentMark: () => agentMark(ofSession),
    setExitCode: () => {},
    now: () => now,
  };
}

function waits(command: Command): boolean {
  const { wait, follow, watch } = command.opts<{ wait?: true; follow?: true; watch?: true }>();
  return ['wait', 'attach'].includes(command.name()) || wait === true || follow === true || watch === true;
}

async function parseWords(group: Command, words: string[], say: (text: string) => void): Promise<boolean> {
  try {
    await group.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) say(`error: ${reasonOf(error)}\n`);
  }
  await new Promise(setImmediate); // What a command starts it starts behind its answer.
  return true;
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
