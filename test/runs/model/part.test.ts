import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isSession, lineOf, type Part, partKey, partOf } from '../../../src/runs/model/part.ts';

const word = fc.stringMatching(/^[\w-]{1,64}$/);
const part: fc.Arbitrary<Part> = fc.record({
  kind: fc.constantFrom('conversation', 'orchestration'),
  id: word,
  name: fc.stringMatching(/^[\w.-]{1,128}$/),
});

test('partOf() reads what partKey() writes, and nothing else', () => {
  fc.assert(fc.property(part, (one) => expect(partOf(partKey(one))).toEqual(one)));
  for (const key of [
    '',
    'conversation',
    'conversation a',
    'run a b',
    'conversation a b c',
    'conversation a b\n',
  ])
    expect(partOf(key)).toBeUndefined();
});

test('partKey() refuses an id or a name that would read as another part', () => {
  const named = (id: string, name: string) => () => partKey({ kind: 'conversation', id, name });
  for (const wrong of [
    named('a b', '1'),
    named('a', '1 2'),
    named('', '1'),
    named('a', ''),
    named('a', '1\n'),
  ])
    expect(wrong).toThrow('Cannot name the part');
});

test('lineOf() is one for the sessions of a conversation, and its own for every other run', () => {
  const of = (kind: Part['kind'], name: string) => lineOf('r1', { kind, id: 'c1', name });
  expect([of('conversation', '1'), of('conversation', '2')]).toEqual(['conversation c1', 'conversation c1']);
  for (const own of [of('conversation', 'memory.1'), of('orchestration', 'plan'), lineOf('r1', null)])
    expect(own).toBe('r1');
  expect(isSession({ kind: 'conversation', id: 'c1', name: 'memory.1' })).toBe(false);
});
