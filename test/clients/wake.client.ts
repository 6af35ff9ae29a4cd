import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../src/core/guards.ts';
import { clientEnvironment } from '../../src/setup/live-check.ts';
import {
  answer,
  type ModelRequest,
  type ModelTurn,
  type ScriptedModel,
  say,
  startScriptedModel,
  useTool,
} from '../../src/setup/scripted-model.ts';
import { withMarker } from '../../src/system/processes.ts';
import { BINARY } from '../support/program.ts';
import { startOnTerminal, type TerminalProgram } from '../support/terminal.ts';
import {
  makeWorkspace,
  removeWorkspace,
  runClientOn,
  runProductOrThrow,
  type Workspace,
} from './claude-code.ts';
import { CLIENT_VERSION, installClient } from './install-client.ts';

/** Real sessions of Claude Code on terminals, whose users type one prompt and then nothing more. */

setDefaultTimeout(180_000);

const PATIENCE_MS = 60_000;
/** How long a child works. */
const WORK_MS = 4000;
const TOLD_WITHIN_MS = 3000;
/** In which nothing more is to happen. */
const QUIET_MS = 4000;

type Seen = { readonly request: ModelRequest; readonly atMs: number };
type Announced = {
  readonly number: number;
  readonly label: string;
  readonly state: string;
  readonly ready_at: number;
};

let workspace: Workspace;
let model: ScriptedModel;
const seen: Seen[] = [];

const spawning = (name: string) =>
  answer(
    useTool('Bash', {
      command: `${BINARY} subagents spawn --cli claude --label ${name} '[[conv:child-${name}]] Look whether the bridge holds.'`,
      description: 'Start a sub-agent',
    }),
  );
const session = (name: string) => [
  spawning(name),
  answer(say('Started.')),
  answer(say(`I have heard of ${name}.`)),
];
const WAITING = answer(
  useTool('Bash', { command: `${BINARY} subagents wait last`, description: 'Wait for it' }),
);
const child = (): readonly ModelTurn[] => [{ kind: 'answer', blocks: [say('It holds.')], delayMs: WORK_MS }];
/** The announce step, which has no tools. */
const announced = (body: Json): ModelTurn => {
  const [, name] = [...JSON.stringify(body).matchAll(/\[\[conv:child-(\w+)\]\]/g)].at(-1) ?? [];
  return answer(say(`Result: bridge ${name} holds.`));
};
const NAMES = ['alone', 'left', 'right', 'closed', 'printed'];
/** One whose user has it wait for its run, behind the first turn. */
const WAITS = [...session('waits').slice(0, 2), WAITING, answer(say('It holds.'))];

beforeAll(async () => {
  workspace = await makeWorkspace({ client: await installClient(CLIENT_VERSION), binary: BINARY });
  const script = Object.fromEntries(
    [...NAMES.map((name) => [name, session(name)] as const), ['waits', WAITS] as const].flatMap(
      ([name, turns]) => [
        [name, turns],
        [`child-${name}`, child()],
      ],
    ),
  );
  model = await startScriptedModel({
    script,
    auxiliary: announced,
    onRequest: (request) => seen.push({ request, atMs: Date.now() }),
  });
  await runProductOrThrow(workspace, ['install']);
  const state = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: ['dummy'], rejected: [] },
    projects: { [workspace.project]: { hasTrustDialogAccepted: true, allowedTools: ['Bash'] } },
  };
  writeFileSync(join(workspace.home, '.claude.json'), JSON.stringify(state));
});

afterAll(async () => {
  await model?.stop();
  if (workspace !== undefined) await removeWorkspace(workspace);
});

/** The command lines of the processes of this user. */
function processesOf(home: string): string[] {
  return withMarker({ name: 'HOME', value: home }).map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
}

/** What the model was asked in a session, oldest first. */
const requestsOf = (name: string) =>
  seen.filter(({ request }) => request.kind === 'turn' && request.conversation === name);

const textOf = ({ request }: Seen) => (request.kind === 'other' ? '' : JSON.stringify(request.body));

function announcements(): Announced[] {
  const database = new Database(join(workspace.home, '.self-generation/data/runs.db'), { readonly: true });
  try {
    return database
      .query('SELECT number, label, outbox.state, ready_at FROM outbox JOIN runs ON runs.id = outbox.run_id')
      .all() as Announced[];
  } finally {
    database.close();
  }
}

const announcementOf = (name: string) => announcements().find(({ label }) => label === name);

async function until(what: string, holds: () => boolean, shown: () => string = () => ''): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS;
  while (!holds()) {
    if (Date.now() > endMs) throw new Error(`Waited in vain: ${what}\n${shown().slice(-3000)}`);
    await Bun.sleep(50);
  }
}

/** A user who types one prompt, and waits for the end of the turn. */
async function begin(name: string): Promise<TerminalProgram> {
  const env = clientEnvironment(process.env, workspace, model.url);
  const terminal = startOnTerminal(['claude', '--permission-mode', 'default', '--allowedTools', 'Bash'], {
    cwd: workspace.project,
    env,
  });
  await until('the client is ready', () => terminal.shown().includes('❯'), terminal.shown);
  await Bun.sleep(500);
  terminal.type(`[[conv:${name}]] Have the bridge looked at.`);
  await Bun.sleep(300);
  terminal.type('\r');
  await until(`the turn of ${name} ends`, () => requestsOf(name).length >= 2, terminal.shown);
  return terminal;
}

/** The request by which the session was woken, and how long after its run had something to tell. */
async function woken(name: string, terminal: TerminalProgram): Promise<{ text: string; tookMs: number }> {
  await until('the session is woken', () => requestsOf(name).length >= 3, terminal.shown);
  const request = requestsOf(name)[2] as Seen;
  return { text: textOf(request), tookMs: request.atMs - (announcementOf(name)?.ready_at ?? 0) };
}

/** What the session was told, all in all. */
const timesTold = (name: string, words: string) =>
  textOf(requestsOf(name).at(-1) as Seen).split(words).length - 1;

describe('a session of Claude Code on a terminal whose user types nothing more', () => {
  test('is told of the end of its run within three seconds, once', async () => {
    await using terminal = await begin('alone');
    const { text, tookMs } = await woken('alone', terminal);
    expect(text).toContain('bridge alone holds');
    expect(tookMs).toBeLessThan(TOLD_WITHIN_MS);
    await until('it is settled', () => announcementOf('alone')?.state === 'acked');
    await Bun.sleep(QUIET_MS);
    expect(requestsOf('alone')).toHaveLength(3);
    expect(timesTold('alone', 'bridge alone holds')).toBe(1);
  });

  test('is told of its own run, and not of that of the session beside it', async () => {
    await using left = await begin('left');
    await using right = await begin('right');
    const [one, other] = await Promise.all([woken('left', left), woken('right', right)]);
    expect(one.text).toContain('bridge left holds');
    expect(other.text).toContain('bridge right holds');
    expect(Math.max(one.tookMs, other.tookMs)).toBeLessThan(TOLD_WITHIN_MS);
    await Bun.sleep(QUIET_MS);
    expect([timesTold('left', 'bridge right'), timesTold('right', 'bridge left')]).toEqual([0, 0]);
    expect([requestsOf('left').length, requestsOf('right').length]).toEqual([3, 3]);
  });

  test('is told once where a command of its next turn waits for its run, by that command', async () => {
    await using terminal = await begin('waits');
    await Bun.sleep(500);
    terminal.type('Wait for it.');
    await Bun.sleep(300);
    terminal.type('\r');
    await until('the command has ended', () => requestsOf('waits').length >= 4, terminal.shown);
    await Bun.sleep(QUIET_MS);
    expect(requestsOf('waits')).toHaveLength(4);
    expect(timesTold('waits', 'bridge waits holds')).toBe(1);
    expect(announcementOf('waits')?.state).toBe('acked');
  });

  test('leaves the result of its run waiting, and no process, when it is closed before', async () => {
    const terminal = await begin('closed');
    await Bun.sleep(1000);
    terminal.type('\x03');
    await Bun.sleep(300);
    terminal.type('\x03');
    expect(await terminal.exited).toBe(0);
    await until('the run has ended', () => announcementOf('closed')?.state === 'pending');
    await Bun.sleep(QUIET_MS);
    expect(announcementOf('closed')?.state).toBe('pending');
    expect(processesOf(workspace.home).filter((words) => words.includes('result-waiter'))).toEqual([]);
  });
});

test('a session that prints and ends does not wait for its runs', async () => {
  const prompt = '[[conv:printed]] Have the bridge looked at.';
  const { end } = await runClientOn(model, workspace, { prompt });
  expect(announcementOf('printed')).toBeUndefined(); // Its run works on.
  expect(end).toMatchObject({ kind: 'exited', code: 0 });
  await until('the run has ended', () => announcementOf('printed') !== undefined);
});
