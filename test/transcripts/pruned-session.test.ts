import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import type { SessionEntry } from '../../src/core/conversation.ts';
import { isPruned } from '../../src/prune/placeholder.ts';
import { loadPruneSettings } from '../../src/settings/prune-settings.ts';
import { pruneSession } from '../../src/transcripts/pruned-session.ts';
import {
  type SessionSource,
  sourceInFile,
  sourceInStore,
  writeCopy,
} from '../../src/transcripts/session-source.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { LONG, putRepeated, turnsIn, UNIQUE } from '../support/repeated-session.ts';
import { Transcript } from '../support/transcripts.ts';

let home: Home;
let project: string;
beforeEach(() => {
  home = temporaryHome();
  project = `${home.path}/project`;
});
afterEach(() => home[Symbol.dispose]());

const ignore = () => {};
const settings = () => loadPruneSettings(home.paths);

function sourceOf(found: ReturnType<typeof sourceInFile>): SessionSource {
  if ('reason' in found) throw new Error(found.reason);
  return found;
}

function stored(name: ClientName): SessionSource {
  const id = putRepeated(name, home.path, project);
  return sourceOf(sourceInStore(id, name, { HOME: home.path }));
}

function copied(source: SessionSource): { path: string; copy: SessionSource } {
  const path = `${home.path}/copy-${crypto.randomUUID()}`;
  writeCopy(source, pruneSession(source, settings(), ignore).change, path, ignore);
  return { path, copy: sourceOf(sourceInFile(path, undefined)) };
}

const results = (source: SessionSource) =>
  turnsIn(source)
    .flat()
    .flatMap((entry) => (entry.kind === 'result' ? [entry.text] : []));
const withoutTexts = (entry: SessionEntry) =>
  entry.kind === 'result' ? { ...entry, text: '', end: undefined } : entry;
const isPlaceholder = (output: string) => isPruned({ id: '', tool: '', input: {}, state: 'done', output });

describe.each([...CLIENT_NAMES])('a session of %s', (name) => {
  test('would be shown without the results that stand above', () => {
    const { calls, removed } = pruneSession(stored(name), settings(), ignore);
    expect(calls).toBe(7);
    expect(removed.map(({ rule, part, what }) => [rule, part, what])).toEqual([
      ['deduplicate', 'output', 'npm test'],
      ['deduplicate', 'output', 'npm test'],
    ]);
  });

  test('is copied with placeholders in their place, and all else as it was', () => {
    const source = stored(name);
    const { path, copy } = copied(source);
    const shapes = (one: SessionSource) => turnsIn(one).map((turn) => turn.map(withoutTexts));
    expect(shapes(copy)).toEqual(shapes(source));
    const [before, after] = [results(source), results(copy)];
    expect(after.map(isPlaceholder)).toEqual([false, false, true, false, false, false, true]);
    expect(after.filter((text) => !isPlaceholder(text))).toEqual(before.toSpliced(6, 1).toSpliced(2, 1));
    expect(after.slice(0, 2).join('')).toContain(LONG);
    expect(after[1]).toContain(UNIQUE);
    expect(statSync(path).size).toBeGreaterThan(0);
  });

  test('has nothing more to go in the copy, which is for its user alone', () => {
    const { path, copy } = copied(stored(name));
    const again = pruneSession(copy, settings(), ignore);
    expect(again.removed).toEqual([]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const { path: second } = copied(copy);
    expect(readFileSync(second, 'utf8')).toBe(readFileSync(path, 'utf8'));
  });

  test('stays as it is when it is copied', () => {
    const source = stored(name);
    const before = turnsIn(source);
    copied(source);
    expect(turnsIn(source)).toEqual(before);
  });

  test('is left alone where it is a sub-agent’s', () => {
    if (name === 'gemini') return; // Its store finds only main sessions: see the file below.
    const id = putRepeated(name, home.path, project, 'the-main-one');
    expect(sourceInStore(id, undefined, { HOME: home.path })).toMatchObject({ kind: 'sub-agent' });
  });
});

describe('a file', () => {
  const long = (text: string) => text.repeat(400);
  const transcript = () =>
    new Transcript({ session: 's1', cwd: '/p' })
      .prompt('Look.')
      .succeed('Bash', { command: 'ls' }, long('x'))
      .succeed('Bash', { command: 'ls' }, long('x'));
  const put = (text: string) => home.put('session.jsonl', text);

  test('keeps every line that no result is taken from byte for byte, also one that is no JSON, is empty or has no end', () => {
    const lines = transcript().text.trimEnd().split('\n');
    const odd = [...lines, '{"torn', '', '{"n":1.0,"e":1e2,  "b":12345678901234567890}'].join('\n');
    const { path } = copied(sourceOf(sourceInFile(put(odd), undefined)));
    const [before, after] = [odd.split('\n'), readFileSync(path, 'utf8').split('\n')];
    expect(after).toHaveLength(before.length);
    expect(after.flatMap((line, at) => (line === before[at] ? [] : [at]))).toEqual([4]);
    expect(after[4]).toContain('[Output removed to save context');
  });

  test('keeps a line that is too long to be looked into', () => {
    const huge = `{"type":"x","text":"${'y'.repeat(33 * 1024 * 1024)}"}`;
    const { path } = copied(sourceOf(sourceInFile(put(`${transcript().text}${huge}\n`), undefined)));
    expect(readFileSync(path, 'utf8').endsWith(`\n${huge}\n`)).toBe(true);
  });

  test('is never written over', () => {
    const source = sourceOf(sourceInFile(put(transcript().text), undefined));
    const there = home.put('there', 'mine');
    const { change } = pruneSession(source, settings(), ignore);
    expect(() => writeCopy(source, change, there, ignore)).toThrow('EEXIST');
    expect(readFileSync(there, 'utf8')).toBe('mine');
  });

  test('leaves no half copy behind when it cannot be copied', () => {
    const path = put(transcript().text);
    const source = sourceOf(sourceInFile(path, undefined));
    const change = {
      input: (_: string, input: object) => ({ ...input }),
      output: () => {
        throw new Error('no');
      },
    };
    expect(() => writeCopy(source, change, `${home.path}/half`, ignore)).toThrow('no');
    expect(() => statSync(`${home.path}/half`)).toThrow('ENOENT');
  });

  test('of which nothing says whose it is names no client', () => {
    expect(sourceInFile(put('{"a":1}\nhello\n'), undefined)).toMatchObject({ kind: 'unclear' });
    expect(sourceInFile(put(transcript().text), 'codex')).toMatchObject({ kind: 'unclear' });
    expect(sourceInFile(`${home.path}/none`, undefined)).toMatchObject({ kind: 'not-found' });
    expect(sourceInFile(home.path, undefined)).toMatchObject({ kind: 'no-file' });
  });

  test.each([
    ['of Claude Code', JSON.stringify({ type: 'user', isSidechain: true, sessionId: 's', message: {} })],
    [
      'of Codex',
      JSON.stringify({ type: 'session_meta', payload: { id: 'i', source: { subagent: 'review' } } }),
    ],
    ['of Gemini CLI', JSON.stringify({ sessionId: 's', projectHash: 'h', kind: 'subagent' })],
    ['of OpenCode', JSON.stringify({ info: { id: 's', projectID: 'p', parentID: 'm' }, messages: [] })],
    [
      'forked from one of OpenCode',
      JSON.stringify({
        info: { id: 's', projectID: 'p', title: 'x (@general subagent) (fork #1)' },
        messages: [],
      }),
    ],
  ])('%s that is a sub-agent’s is refused', (_client, text) => {
    expect(sourceInFile(put(text), undefined)).toMatchObject({ kind: 'sub-agent' });
  });

  test('of Claude Code keeps pictures, and what its screen shows, where a result goes', () => {
    const picture = { type: 'image', source: { media_type: 'image/png', data: 'AAAA' } };
    const content = [{ type: 'text', text: long('x') }, picture];
    const shown = new Transcript({ session: 's1', cwd: '/p' });
    for (let at = 0; at < 2; at++)
      shown.result(shown.call('Look', { at: 1 }), content, { toolUseResult: { at } });
    const { path } = copied(sourceOf(sourceInFile(put(shown.text), undefined)));
    const last = JSON.parse(readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? '');
    expect(last.message.content[0].content).toEqual([
      { type: 'text', text: expect.stringMatching(/^\[Output removed to save context/) },
      picture,
    ]);
    expect(last.toolUseResult).toEqual({ at: 1 });
  });

  test('has the long texts of a failed call taken from its input, and that said behind its error', () => {
    const failed = new Transcript({ session: 's1', cwd: '/p' });
    const input = { file_path: '/p/a.ts', old_string: long('a'), new_string: long('b') };
    const error = '<tool_use_error>String to replace not found</tool_use_error>';
    failed.prompt('Change it.').fail('Edit', input, error);
    for (let at = 0; at < 6; at++) failed.succeed('Bash', { command: `echo ${at}` });
    const { copy } = copied(sourceOf(sourceInFile(put(failed.text), undefined)));
    const [, call, result] = turnsIn(copy).flat();
    expect(call).toMatchObject({ kind: 'call', input: '{"file_path":"/p/a.ts"}' });
    expect(result).toMatchObject({
      kind: 'result',
      isError: true,
      text: expect.stringMatching(/^String to replace not found\n\[Input removed to save context/),
    });
  });
});

describe('the sums', () => {
  /** A prompt of 10 characters, and a call with each of these outputs. */
  const session = (...outputs: string[]) => {
    const made = new Transcript({ session: 's1', cwd: '/p' }).prompt('0123456789');
    for (const output of outputs) made.succeed('Bash', { command: 'ls' }, output);
    writeFileSync(`${home.path}/s.jsonl`, made.text);
    return pruneSession(sourceOf(sourceInFile(`${home.path}/s.jsonl`, undefined)), settings(), ignore);
  };

  test('are those of each request: what stood before it', () => {
    const [x, y] = ['x'.repeat(1000), 'y'.repeat(2000)];
    const { chars, removed, asItWas, pruned } = session(x, y, x, y);
    const call = (chars - 10 - 6000) / 4;
    expect(removed).toEqual([]); // It said something else in between.
    expect(asItWas.requests).toBe(4);
    // 10; with the first call; with the second; with the third.
    expect(asItWas.sentChars).toBe(10 + (10 + call + 1000) + (10 + 2 * call + 3000) + (10 + 3 * call + 4000));
    expect(pruned).toEqual(asItWas);
  });

  test('count a duplicate as never sent, and its placeholder as sent', () => {
    const x = 'x'.repeat(1000);
    const { removed, asItWas, pruned } = session(x, x, 'y');
    const [{ savedChars = 0 } = {}] = removed;
    expect(removed).toHaveLength(1);
    // One request comes after it.
    expect(asItWas.sentChars - pruned.sentChars).toBe(savedChars);
    expect(pruned.againChars).toBe(0);
    // It would have been read once, at the full price.
    expect(asItWas.cost - pruned.cost).toBeCloseTo(savedChars);
  });
});
