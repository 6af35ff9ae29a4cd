import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isRecord, parseJson, readRecord, readString, unreachable } from '../../src/core/guards.ts';

const records: [value: unknown, expected: boolean][] = [
  [{}, true],
  [{ a: 1 }, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  [undefined, false],
  ['x', false],
  [5, false],
  [() => 1, false],
];
for (const [value, expected] of records) {
  test(`isRecord() is ${expected} when the value is ${Bun.inspect(value)}`, () => {
    expect(isRecord(value)).toBe(expected);
  });
}

test('readString() returns the string only when it is of that type', () => {
  expect(readString({ a: 'x' }, 'a')).toBe('x');
  expect(readString({ a: '' }, 'a')).toBe('');
  expect(readString({ a: 5 }, 'a')).toBeUndefined();
  expect(readString({ a: null }, 'a')).toBeUndefined();
  expect(readString({}, 'a')).toBeUndefined();
  expect(readString({}, 'constructor')).toBeUndefined();
  expect(readString(JSON.parse('{"__proto__":"x"}'), '__proto__')).toBe('x');
});

test('readRecord() returns the object, and an empty one when there is none', () => {
  expect(readRecord({ a: { b: 1 } }, 'a')).toEqual({ b: 1 });
  expect(readRecord({ a: [1] }, 'a')).toEqual({});
  expect(readRecord({ a: null }, 'a')).toEqual({});
  expect(readRecord({}, 'a')).toEqual({});
  expect(readRecord({}, '__proto__')).toEqual({});
});

test('parseJson() returns undefined when the text is no JSON', () => {
  for (const text of ['', '{', '{"a":}', 'undefined', "{'a':1}", '{"a":1}x'])
    expect(parseJson(text)).toBeUndefined();
  expect(parseJson('null')).toBeNull();
});

test('parseJson() returns the value when the text was made from it', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

test('unreachable() throws an error that shows the value when it is reached', () => {
  expect(() => unreachable({ kind: 'new' } as never)).toThrow('Unreachable: {"kind":"new"}');
});
