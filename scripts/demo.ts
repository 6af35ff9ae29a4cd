/**
 * What self-generation does, in a small project made for it: an agent's command really fails and its correction really
 * works; then the built program's hooks run as Claude Code runs them, before and after. What they learn from is the
 * transcript, written here as the client writes it. All of that in a throw-away home; at the end a look at what past
 * sessions of this machine would teach, which writes nothing.
 *
 *   npm run demo
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pc from 'picocolors';
import { cutToWidth } from '../src/cli/terminal/width.ts';
import { Clock, Transcript } from '../test/support/transcripts.ts';

const BINARY = join(import.meta.dir, '..', 'dist', 'self-generation');
const IMPORT_MS_MAX = 2000;
const IMPORT_LINES_MAX = 12;
const COLUMNS = 80;

/** A command that was run in the project: what its output says in one line, and its exit code. */
export type Call = { readonly command: string; readonly says: string; readonly exitCode: number };
/** `before`, `after`: what the hook gives a sub-agent, by lines; `hookMs`: how long the process took that did. */
export type Story = {
  readonly calls: readonly Call[];
  readonly task: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly hookMs: number;
};

const TASK = 'Round discounts, and run their test.';
const FILES = {
  'cart.mjs': 'export const discounted = (cents, percent) => cents - (cents * percent) / 100;\n',
  'cart.test.mjs': [
    "import assert from 'node:assert';",
    "import { test } from 'node:test';",
    "import { discounted } from './cart.mjs';",
    "test('a discount', () => assert.equal(discounted(1000, 20), 800));",
    "test('no rebate', () => assert.equal(discounted(1000, 0), 1000));\n",
  ].join('\n'),
};

/**
 * Plays the story in temporary directories and removes them. Throws if a command does not do what the story tells, or
 * nothing is learned.
 */
export function playStory(): Story {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'self-generation-demo-')));
  const [home, project] = [join(root, 'home'), join(root, 'shop')];
  try {
    for (const directory of [home, project]) mkdirSync(directory);
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(project, name), text);
    ours(['config', 'set', 'language', 'en'], home);
    const start = { hook_event_name: 'SubagentStart', agent_id: 'a1', agent_type: 'executor' };
    const before = hook({ ...start, session_id: 's0' }, home, project);
    const calls = [
      callIn(project, 'node --test --grep discount', /bad option.*/),
      callIn(project, 'node --test --test-name-pattern discount', /pass 1$/m),
    ];
    const transcript = new Transcript({
      session: 's1',
      cwd: project,
      clock: new Clock(Date.now() - 60_000),
    }).prompt('Check the discount.');
    for (const { command, exitCode, says } of calls) {
      if (exitCode === 0) transcript.succeed('Bash', { command }, says);
      else transcript.fail('Bash', { command }, `Exit code ${exitCode}\n${says}`);
    }
    const transcriptPath = join(home, '.claude', 'projects', 'shop', 's1.jsonl');
    mkdirSync(join(transcriptPath, '..'), { recursive: true });
    writeFileSync(transcriptPath, transcript.text);
    const stop = { hook_event_name: 'Stop', transcript_path: transcriptPath, stop_hook_active: false };
    hook({ ...stop, session_id: 's1' }, home, project);
    const after = hook({ ...start, session_id: 's2' }, home, project);
    if (before.lines.length > 0 || after.lines.length === 0)
      throw new Error('Cannot show the demo: a sub-agent was told something before, or nothing after');
    return { calls, task: TASK, before: before.lines, after: after.lines, hookMs: after.elapsedMs };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Runs a command of the story, whose output has to say this. */
function callIn(cwd: string, command: string, expected: RegExp): Call {
  const { stdout, stderr, exitCode } = Bun.spawnSync(command.split(' '), { cwd, stdin: 'ignore' });
  const output = stdout.toString() + stderr.toString();
  const says = output.split('\n').find((line) => expected.test(line));
  if (says === undefined) throw new Error(`Cannot show the demo: "${command}" printed ${output}`);
  return { command, says: says.replace(/^\S*node\S*: /, 'node: ').replace(/^\W+/, ''), exitCode };
}

type Ran = { readonly stdout: string; readonly elapsedMs: number };

function ours(words: string[], home: string, input = ''): Ran {
  const startedMs = performance.now();
  const env = { HOME: home, PATH: process.env.PATH };
  const { stdout, exitCode } = Bun.spawnSync([BINARY, ...words], { stdin: Buffer.from(input), env });
  const elapsedMs = performance.now() - startedMs;
  if (exitCode !== 0) throw new Error(`Cannot show the demo: "${words.join(' ')}" ended with ${exitCode}`);
  return { stdout: stdout.toString().trim(), elapsedMs };
}

/** What a hook of ours answers to this event, by lines; none where it has nothing to say. */
function hook(event: Record<string, unknown>, home: string, cwd: string) {
  const { stdout, elapsedMs } = ours(['hook'], home, JSON.stringify({ ...event, cwd }));
  const answer = (stdout === '' ? {} : JSON.parse(stdout)) as {
    hookSpecificOutput?: { additionalContext?: string };
  };
  const text = answer.hookSpecificOutput?.additionalContext ?? '';
  return { lines: text === '' ? [] : text.split('\n'), elapsedMs };
}

type Best = { readonly text: string; readonly sessions: number };

/** What `import --dry-run` would learn from this machine's own sessions; it is ended where it takes long. */
function ownSessions(): string[] {
  const words = ['import', '--dry-run', '--json'];
  const { stdout, exitCode } = Bun.spawnSync([BINARY, ...words], { stdin: 'ignore', timeout: IMPORT_MS_MAX });
  if (exitCode === null)
    return ['There are too many to read in a moment. See: self-generation import --dry-run'];
  const none = ['No lesson: there are no sessions, or nothing in them failed and was mended.'];
  if (exitCode !== 0) return none;
  const { best = [] } = JSON.parse(stdout.toString()) as { best?: Best[] };
  const lines = best.flatMap(({ text }) => text.split('\n'));
  return lines.length === 0
    ? none
    : lines.slice(0, IMPORT_LINES_MAX).map((line) => cutToWidth(line, COLUMNS - 3));
}

/** Cuts a text at blanks into lines of at most so many characters, all but the first indented. */
export function wrapped(text: string, columns: number): string[] {
  const indent = `${/^ */.exec(text)?.[0] ?? ''}  `;
  const lines: string[] = [];
  for (const word of text.split(/(?<=\S) /)) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(indent + word);
  }
  return lines;
}

function print({ calls, task, after, hookMs }: Story): void {
  const { bold, cyan, green, red } = pc;
  const shell = calls.map(({ command, says, exitCode }) => {
    const end = exitCode === 0 ? green('✓') : red(`✗ exit code ${exitCode}`);
    return `   ${bold(`$ ${command}`)}\n   ${says}  ${end}\n`;
  });
  const given = after.flatMap((line) => wrapped(line, COLUMNS - 5));
  process.stdout.write(
    [
      `${bold('1')}  An agent works, fails, and finds out what works:\n\n${shell.join('')}\n`,
      `${bold('2')}  Later a sub-agent starts. Its task: "${task}"\n\n`,
      `   ${bold('Without')} self-generation it is told nothing else.\n`,
      `   ${bold('With')} it, a hook adds in ${Math.round(hookMs)} ms:\n\n`,
      ...given.map((line) => `   ${cyan('│')} ${line}\n`),
      `\n${bold('3')}  What your own sessions on this machine would teach (import --dry-run):\n\n`,
      ...ownSessions().map((line) => `   ${line}\n`),
      `\nInstall it: ${bold('dist/self-generation install')}\n`,
    ].join(''),
  );
}

if (import.meta.main) print(playStory());
