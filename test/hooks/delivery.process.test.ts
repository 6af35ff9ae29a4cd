import { describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { withRuns } from '../../src/runs/store/rows.ts';
import { CHECKPOINT_VARIABLE } from '../../src/runs/world.ts';
import { runsHome } from '../runs/runs-home.ts';
import { tell } from '../runs/told.ts';
import { hookFailures, readEvents } from '../support/home.ts';
import { answerIn, runProgram } from '../support/hook-process.ts';
import type { Payload } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';

/** What background runs have to tell, in the hooks of a main session: real processes. */

const SESSION = 'session-1';
const of = (hook_event_name: string, rest: object = {}) => ({
  hook_event_name,
  session_id: SESSION,
  ...rest,
});
const prompt = of('UserPromptSubmit', { prompt: 'go on' });
const read = { tool_name: 'Read', tool_input: { file_path: 'a.ts' }, tool_response: {} };
const toolUse = of('PostToolUse', read);
const end = of('SessionEnd', { reason: 'exit' });
const start = (source: string) => of('SessionStart', { source });

function bench() {
  const runs = runsHome();
  return {
    ...runs,
    /** What a run of this session has to tell. */
    tell: (result: string, session: string | null = SESSION) =>
      tell({ ...runs.requester, session }, runs.home.paths, { result }),
    [Symbol.asyncDispose]: () => runs[Symbol.asyncDispose](),
  };
}

describe('a main session is told', () => {
  for (const payload of [prompt, toolUse, start('startup'), start('clear')]) {
    test(`by ${payload.hook_event_name}, once, and the event is recorded as ever`, async () => {
      await using made = bench();
      const id = made.tell('the tests pass now');
      const told = await made.hook(payload);
      expect(told).toContain('the tests pass now');
      expect(told).toContain(id);
      expect(await made.hook(toolUse)).toBeUndefined();
      expect(made.waiting()).toEqual([]);
      expect(readEvents(made.home.paths).length).toBeGreaterThan(0);
      expect(hookFailures(made.home.paths)).toEqual([]);
    });
  }

  test('also where it is one of Codex: by its prompt, and by a call of its', async () => {
    const inCodex = async (
      { home, project }: Awaited<ReturnType<typeof bench>>,
      name: string,
      payload: Payload,
    ) => {
      const stdin = JSON.stringify({ cwd: project, ...payload });
      const { stdoutBytes } = await runProgram([BINARY, 'hook', name, 'codex'], { home: home.path, stdin });
      return answerIn(stdoutBytes);
    };
    for (const [name, payload] of [
      ['prompt-logger', prompt],
      ['error-logger', of('PostToolUse', { ...read, tool_name: 'Bash', tool_response: 'ok' })],
    ] as const) {
      await using made = bench();
      const id = made.tell('the tests pass now');
      const told = await inCodex(made, name, payload);
      expect(told?.hookEventName).toBe(payload.hook_event_name);
      expect(told?.additionalContext).toContain(id);
      expect(await inCodex(made, name, payload)).toBeUndefined();
      expect(readEvents(made.home.paths)).toEqual([]);
    }
  });

  test('behind what the hook says itself', async () => {
    await using made = bench();
    await made.hook(prompt);
    await made.hook(end);
    made.tell('the tests pass now');
    const told = await made.hook(start('startup'));
    const own = told?.indexOf('go on') ?? -1;
    expect(own).toBeGreaterThanOrEqual(0);
    expect(told?.indexOf('the tests pass now')).toBeGreaterThan(own);
    expect(told?.length).toBeLessThan(10_000);
  });

  test('in as many hooks as it takes, each short enough for the client', async () => {
    await using made = bench();
    for (let index = 0; index < 9; index++) made.tell(`${index} ${'r'.repeat(4000)}`);
    let told = 0;
    for (let text = await made.hook(toolUse); text; text = await made.hook(toolUse)) {
      expect(text.length).toBeLessThan(10_000);
      told += text.split('announceId').length - 1;
    }
    expect(told).toBe(9);
  });

  test('again when it is resumed before any other hook came, for its client may have died with the answer', async () => {
    await using made = bench();
    const id = made.tell('the tests pass now');
    await made.hook(toolUse);
    const again = await made.hook(start('resume'));
    expect(again).toContain(id);
    expect(again).toContain('redelivery: true');
    await made.hook(toolUse);
    expect(await made.hook(start('resume'))).toBeUndefined();
  });

  test('again, a moment later, when the hook that was to tell it was ended before it could', async () => {
    await using made = bench();
    const id = made.tell('the tests pass now');
    const { exitCode, stdout } = await runProgram([BINARY, 'hook'], {
      home: made.home.path,
      env: { [CHECKPOINT_VARIABLE]: 'after-lease' },
      cwd: made.project,
      stdin: JSON.stringify({ cwd: made.project, ...toolUse }),
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: null, stdout: '' });
    expect(await made.hook(toolUse)).toBeUndefined(); // It may still be saying it: its lease has not run out.
    withRuns(made.home.paths, (db) => db.run('UPDATE outbox SET lease_until = 1'));
    const told = await made.hook(toolUse);
    expect(told).toContain(id);
    expect(told).toContain('redelivery: true');
    expect(await made.hook(toolUse)).toBeUndefined();
    expect(made.waiting()).toEqual([]);
  });

  test('not again when it ended in order, or was only made shorter', async () => {
    await using made = bench();
    made.tell('one');
    await made.hook(toolUse);
    await made.hook(end);
    expect(made.waiting()).toEqual([]);
    made.tell('two');
    await made.hook(toolUse);
    expect((await made.hook(start('compact'))) ?? '').not.toContain('two');
  });
});

describe('nothing is told', () => {
  const rows: readonly [string, Payload][] = [
    ['to a sub-agent of the client', { ...toolUse, agent_id: 'a1', agent_type: 'executor' }],
    ['to another session', { ...toolUse, session_id: 'session-2' }],
    ['by hooks that come before a call', of('PreToolUse', { tool_name: 'Read', tool_input: {} })],
    ['in another project', { ...toolUse, cwd: '/usr' }],
  ];
  for (const [what, payload] of rows) {
    test(what, async () => {
      await using made = bench();
      made.tell('the tests pass now');
      expect((await made.hook(payload)) ?? '').not.toContain('the tests pass now');
      expect(made.waiting()).toMatchObject([{ state: 'pending' }]);
    });
  }

  test('and nothing made, where there are no runs', async () => {
    await using made = bench();
    for (const payload of [start('startup'), prompt, toolUse]) await made.hook(payload);
    expect(existsSync(made.home.paths.runsDatabase)).toBe(false);
    expect(existsSync(made.home.paths.inboxMarks)).toBe(false);
  });
});

test('what a hook says itself is said although the runs cannot be read, and the failure is noted', async () => {
  await using made = bench();
  await made.hook(prompt);
  await made.hook(end);
  made.tell('the tests pass now');
  writeFileSync(made.home.paths.runsDatabase, 'this is no database'.repeat(100));
  expect(await made.hook(start('startup'))).toContain('go on');
  expect(hookFailures(made.home.paths)).toHaveLength(1);
});
