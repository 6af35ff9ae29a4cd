import { describe, expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { geminiExits } from '../../src/clients/gemini/stream.ts';
import { type Home, temporaryHome } from '../support/home.ts';

const call = (id: string, output: unknown) => ({
  id,
  name: 'run_shell_command',
  result: [{ functionResponse: { id, name: 'run_shell_command', response: { output } } }],
});
const message = (...toolCalls: unknown[]) => JSON.stringify({ type: 'gemini', content: '', toolCalls });
const keep = (home: Home, name: string, ...lines: string[]) =>
  home.put(`run/${name}`, lines.map((line) => `${line}\n`).join(''));
const CHATS = 'turn-0.home/.gemini/tmp/app/chats';

describe('geminiExits()', () => {
  test('reads the exit codes of all calls in the conversations of a run', () => {
    using home = temporaryHome();
    keep(home, `${CHATS}/a.jsonl`, message(call('one', 'x\nExit Code: 2'), call('two', 'Output: x')));
    keep(home, `${CHATS}/b.jsonl`, message(call('three', 'x\nExit Code: 127\nProcess Group PGID: 5')));
    const exits = geminiExits(`${home.path}/run`);
    expect(['one', 'two', 'three', 'four'].map(exits)).toEqual([2, 0, 127, undefined]);
  });

  test('takes what was said of a call last', () => {
    using home = temporaryHome();
    const earlier = message({ id: 'one', name: 'x' });
    keep(home, `${CHATS}/a.jsonl`, earlier, message(call('one', 'x\nExit Code: 1')));
    expect(geminiExits(`${home.path}/run`)('one')).toBe(1);
  });

  test('is not misled by what a command prints', () => {
    using home = temporaryHome();
    const inside = 'a\nExit Code: 1\nb\nProcess Group PGID: 5';
    const outputs = ['Exit Code: 1', inside, 'a\nExit Code: 9\nExit Code: 3'];
    keep(home, `${CHATS}/a.jsonl`, message(...outputs.map((output, index) => call(String(index), output))));
    const exits = geminiExits(`${home.path}/run`);
    expect(['0', '1', '2'].map(exits)).toEqual([0, 0, 3]);
  });

  test('reads a conversation once that the home of a turn leads to', () => {
    using home = temporaryHome();
    keep(home, `${CHATS}/a.jsonl`, message(call('one', 'x\nExit Code: 2')));
    home.put('run/turn-1.home/.gemini/settings.json', '{}');
    symlinkSync('../../turn-0.home/.gemini/tmp', `${home.path}/run/turn-1.home/.gemini/tmp`);
    expect(geminiExits(`${home.path}/run`)('one')).toBe(2);
  });

  test('says nothing where nothing can be read', () => {
    using home = temporaryHome();
    expect(geminiExits(`${home.path}/missing`)('one')).toBeUndefined();
    keep(home, `${CHATS}/a.jsonl`, 'garbage "toolCalls"', message(5, {}, call('one', 7)), '{"toolCalls":{}}');
    expect(geminiExits(`${home.path}/run`)('one')).toBeUndefined();
  });
});
