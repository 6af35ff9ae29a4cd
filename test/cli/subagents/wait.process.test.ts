import { describe, expect, test } from 'bun:test';
import { resultText } from '../../../src/cli/subagents/wait.ts';
import { appendTurn } from '../../../src/runs/store/turns.ts';
import { madeRun, madeTurn } from '../../support/made-run.ts';
import { BINARY } from '../../support/program.ts';
import { NOW_MS, newShelf } from './shelf.ts';

const said = (...content: object[]) => ({ type: 'assistant', message: { content } });

test('resultText() says what was noted of the turn behind its last message, or its report, and of one without a message', () => {
  const notes = ['Not permitted in default mode: Edit a.ts.', 'left \u001b[1malone'];
  const said = (result: string | null) =>
    resultText({ run: madeRun(), turn: madeTurn({ result, notes }) }, undefined);
  const noted = 'Note: Not permitted in default mode: Edit a.ts.\nNote: left <U+001B>[1malone\n';
  expect(said('Done.\n')).toBe(`Done.\n${noted}`);
  expect(said(null)).toBe(noted);
  expect(resultText({ run: madeRun(), turn: madeTurn({ result: null, notes: [] }) }, undefined)).toBe('');
  const reported = (notes: string) =>
    resultText({ run: madeRun(), turn: madeTurn() }, { result: 'It holds.', notes });
  expect([reported('- (none)'), reported('- a bolt')]).toEqual([
    'It holds.\n',
    'It holds.\n\nNotes:\n- a bolt\n',
  ]);
});

describe('waiting', () => {
  test('shows the newest line of work: what was said, or the tool that was called, without secrets', async () => {
    using shelf = newShelf();
    const turn = shelf.start({ label: 'docs' });
    const key = `sk-ant-api03-${'a'.repeat(40)}`;
    const text = 'First.\n\u001b[2JNow \u202ethe tests.\n';
    const input = { command: `X=${key} npm test` };
    const works: [line: object, shown: string][] = [
      [said({ type: 'text', text }), '<U+001B>[2JNow <U+202E>the tests.'],
      [said({ type: 'tool_use', id: 't', name: 'Bash', input }), 'npm test"}'],
    ];
    const progress: string[] = [];
    const seen = (text: string) => {
      progress.push(text);
      const next = works[progress.length - 1];
      if (next !== undefined) shelf.say(turn, [next[0]]);
      else if (progress.length === 3) shelf.end(turn);
    };
    await shelf.call(['wait', '1'], { progress: seen });
    expect(progress[0]).toBe('waiting 1s: #1 running (docs)');
    expect(progress[1]).toBe(`waiting 2s: #1 running (docs) · ${works[0]?.[1]}`);
    expect(progress[2]).toStartWith('waiting 3s: #1 running (docs) · Bash {"command":"X=');
    expect(progress[2]).toEndWith(works[1]?.[1] ?? '');
    expect(progress.join('')).not.toContain(key);
  });

  test('shows and takes what the sub-agent reported, where its announce step has asked it to', async () => {
    using shelf = newShelf();
    const words = { result: 'In short: it holds.', notes: '- one bolt is loose' };
    const turn = shelf.end(shelf.start(), { result: 'A long last message.' }, words);
    const step = { runId: turn.runId, kind: 'announce', announces: 1, message: '' } as const;
    const asked = shelf.write((db) => appendTurn({ ...step, nowMs: NOW_MS, state: 'starting' }, db));
    shelf.end(asked);
    expect((await shelf.json<{ runs: object[] }>(['wait', '1'])).runs).toMatchObject([{ report: words }]);
    using again = newShelf();
    again.end(again.start(), { result: 'A long last message.' }, words);
    expect((await again.call(['wait', '1'])).stdout).toContain('A long last message.');
  });

  test('outside of a terminal says so at the beginning and when a state changes, and not beside JSON', async () => {
    for (const words of [['wait', 'all'], 'wait all --json'.split(' ')]) {
      using shelf = newShelf();
      const one = shelf.start();
      const two = shelf.start();
      const waiting = shelf.call(words, { showsProgress: false });
      await Bun.sleep(300);
      shelf.end(one);
      await Bun.sleep(500);
      shelf.end(two);
      const lines = ['waiting: 2 running\n', 'waiting: 1 success, 1 running\n'];
      expect((await waiting).stderr).toBe(words.includes('--json') ? '' : lines.join(''));
    }
  });

  test('that Ctrl-C ends says that the run goes on, and how to come back', async () => {
    using shelf = newShelf();
    shelf.start({ label: 'docs' });
    const child = Bun.spawn([BINARY, 'subagents', 'wait', '1'], {
      ...{ cwd: shelf.project, env: { HOME: shelf.home.path, PATH: '/nowhere' } },
      ...({ stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' } as const),
    });
    const errors = child.stderr.getReader();
    const text = async () => new TextDecoder().decode((await errors.read()).value);
    expect(await text()).toBe('waiting: #1 running (docs)\n');
    child.kill('SIGINT');
    expect(await text()).toBe(
      '⚠️ The run goes on: "self-generation subagents wait 1" waits again, "self-generation subagents stop 1" ends it.\n',
    );
    expect([await child.exited, child.signalCode, await child.stdout.text()]).toEqual([130, null, '']);
  });
});
