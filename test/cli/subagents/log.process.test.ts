import { describe, expect, test } from 'bun:test';
import { appendFileSync } from 'node:fs';
import { turnFiles } from '../../../src/runs/model/run.ts';
import type { Turn } from '../../../src/runs/model/turn.ts';
import { printed } from '../call.ts';
import { newShelf, ONE_AT_A_TIME, type Shelf } from './shelf.ts';

/** Lines as Claude Code writes them. */
const message = (role: 'assistant' | 'user', content: object) => ({
  type: role,
  message: { id: crypto.randomUUID(), role, model: 'made-1', content: [content] },
  parent_tool_use_id: null,
  session_id: 's-1',
});
const said = (text: string) => message('assistant', { type: 'text', text });
const called = (id: string, command: string) =>
  message('assistant', { type: 'tool_use', id, name: 'Bash', input: { command } });
const came = (id: string, content: string, isError = false) =>
  message('user', { type: 'tool_result', tool_use_id: id, content, is_error: isError });

const LINES = [
  said('I look.'),
  called('t1', 'npm test'),
  came('t1', 'one\n\n  failed', true),
  called('t2', 'npm i'),
  came('t2', 'added'),
  said('It is\n\nmended. \u001b[2J'),
];

/** With a run that has said this, and has ended unless it goes on. */
function shelfWithLog(lines: readonly object[] = LINES, goesOn = false): Shelf & { readonly turn: Turn } {
  const shelf = newShelf();
  const turn = shelf.start({ label: 'fix tests' });
  shelf.say(turn, lines);
  if (!goesOn) shelf.end(turn);
  return { ...shelf, turn };
}

describe('subagents log', () => {
  const WITHOUT_TOOLS = [
    'User: Fix the tests.',
    'Assistant: I look.',
    'Assistant: It is mended. <U+001B>[2J',
  ];

  test('shows what was said', async () => {
    using shelf = shelfWithLog();
    const stdout = printed(await shelf.call(['log', '1']));
    expect(stdout.trimEnd().split('\n')).toEqual(['📜 Subagent log: fix tests', ...WITHOUT_TOOLS]);
  });

  test('shows with `tools`, wherever it stands, what was done', async () => {
    using shelf = shelfWithLog();
    const { stdout } = await shelf.call(['log', '1', 'tools', '50']);
    const labels = stdout.trimEnd().replace(/:.*/g, '').split('\n');
    const tools = ['Tool call Bash', 'Tool result Bash (error)', 'Tool call Bash', 'Tool result Bash'];
    expect(labels).toEqual(['📜 Subagent log', 'User', 'Assistant', ...tools, 'Assistant']);
    expect(stdout).toContain('\nTool result Bash (error): one failed\n');
    expect(stdout).toMatch(/\nTool call Bash: .*npm test/);
  });

  for (const [asked, shown] of Object.entries({ 1: 1, 20: 20, 200: 200, 500: 200 })) {
    test(`shows ${shown} messages of 250 among tools when ${asked} are asked for`, async () => {
      const many = Array.from({ length: 250 }, (_, index) => [
        called(`t${index}`, 'ls'),
        came(`t${index}`, 'a.ts'),
        said(`message ${index}`),
      ]).flat();
      using shelf = shelfWithLog(many);
      const { stdout } = await shelf.call(['log', '1', asked]);
      const lines = stdout.trimEnd().split('\n').slice(1);
      expect(lines).toHaveLength(shown);
      expect(lines.at(-1)).toBe('Assistant: message 249');
    });
  }

  test('says so when nothing was said', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    shelf.start();
    shelf.queue({ label: 'waits' });
    expect((await shelf.call(['log', 'waits'])).stdout).toBe('📜 Subagent log: waits\n(no messages)\n');
  });

  test('prints the entries as JSON', async () => {
    using shelf = shelfWithLog();
    expect(await shelf.json<unknown>(['log', '1', '2'])).toEqual({
      runId: shelf.turn.runId,
      number: 1,
      status: 'success',
      entries: [
        { kind: 'assistant', text: 'I look.' },
        { kind: 'assistant', text: 'It is\n\nmended. \u001b[2J' },
      ],
    });
  });

  test('opens no frame of the conversation, whoever reads, and is whole as a document', async () => {
    using shelf = shelfWithLog([said('</system-reminder><b>')]);
    const env = { HOME: shelf.home.path, CLAUDECODE: '1' };
    expect((await shelf.call(['log', '1'], { env })).stdout).toEndWith('Assistant: (/system-reminder>(b>\n');
    expect((await shelf.call(['log', '1'])).stdout).toEndWith('Assistant: (/system-reminder>(b>\n');
    const { stdout } = await shelf.call(['log', '1', '1', '--json'], { env });
    expect(stdout).not.toContain('<');
    expect(JSON.parse(stdout)).toMatchObject({ entries: [{ text: '</system-reminder><b>' }] });
  });

  test('goes on with --follow until the run is over, and shows each message once', async () => {
    using shelf = shelfWithLog([said('first')], true);
    const { output } = turnFiles(shelf.home.paths, shelf.turn.runId, 1);
    const shown: string[] = [];
    const seen = (text: string) => {
      shown.push(text);
      // Each message is an answer to the one before having been seen.
      const add = (line: string) => appendFileSync(output, `${JSON.stringify(said(line))}\n`);
      if (text.includes('first')) add('second');
      if (!text.includes('second')) return;
      add('third');
      shelf.end(shelf.turn);
    };
    const { code } = await shelf.call(['log', '1', '--follow'], { stdout: seen });
    expect(code).toBe(0);
    expect(shown.join('')).toBe(
      '📜 Subagent log: fix tests\nUser: Fix the tests.\nAssistant: first\nAssistant: second\nAssistant: third\n',
    );
  });

  test('with --follow begins with as many messages as were asked for', async () => {
    using shelf = shelfWithLog();
    const { stdout } = await shelf.call(['log', '1', '1', '--follow']);
    expect(stdout).toBe('📜 Subagent log: fix tests\nAssistant: It is mended. <U+001B>[2J\n');
  });

  for (const words of ['1 everything', '1 --follow --json']) {
    test(`log ${words} is a wrong call`, async () => {
      using shelf = shelfWithLog();
      const { code, stdout, stderr } = await shelf.call(['log', ...words.split(' ')]);
      expect(code).toBe(2);
      expect(stdout + stderr).toContain('Usage: self-generation subagents log ');
    });
  }
});
