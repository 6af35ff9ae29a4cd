import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Node, parseTree } from 'jsonc-parser';
import {
  appendTo,
  type Document,
  isAlone,
  items,
  jsonOf,
  keyOf,
  positionIn,
  properties,
  propertyValue,
  removeNode,
  replaceNode,
} from '../../src/setup/json-file.ts';

function document(text: string): Document {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) throw new Error(`not JSON: ${text}`);
  return { text, root };
}

/** The value at a path of keys and indices. */
function at({ root }: Document, ...path: (string | number)[]): Node {
  let node: Node | undefined = root;
  for (const step of path) {
    node = typeof step === 'number' ? items(node)[step] : node && propertyValue(node, step);
  }
  if (node === undefined) throw new Error(`nothing at ${path.join('.')}`);
  return node;
}

describe('appendTo()', () => {
  const rows: [string, string, (string | number)[], { key?: string; value: unknown }, string][] = [
    ['an empty object', '{}', [], { key: 'a', value: 1 }, '{\n  "a": 1\n}'],
    ['an empty list of a file on one line', '{"a": []}', ['a'], { value: 1 }, '{"a": [1]}'],
    ['a list on one line of a file on many', '{\n  "a": [1]\n}', ['a'], { value: 2 }, '{\n  "a": [1, 2]\n}'],
    ['a list with a trailing comma', '[\n  1,\n]', [], { value: 2 }, '[\n  1,\n  2,\n]'],
    [
      'a comment at the end',
      '{\n\t"a": 1 // one\n}',
      [],
      { key: 'b', value: 2 },
      '{\n\t"a": 1, // one\n\t"b": 2\n}',
    ],
    ['CRLF', '{\r\n "a": 1\r\n}', [], { key: 'b', value: [2] }, '{\r\n "a": 1,\r\n "b": [\r\n  2\r\n ]\r\n}'],
  ];
  for (const [name, text, path, added, expected] of rows) {
    test(`fits ${name}`, () => {
      const found = document(text);
      expect(appendTo(found, at(found, ...path), added)).toBe(expected);
    });
  }
});

describe('replaceNode()', () => {
  test('keeps on one line what stood on one line, and the indentation of the rest', () => {
    const found = document('{\n    "a": {"b": 1}, // one\n    "c": [\n        1\n    ]\n}');
    expect(replaceNode(found, at(found, 'a'), { b: 2 })).toBe(found.text.replace('{"b": 1}', '{"b":2}'));
    expect(replaceNode(found, at(found, 'c'), [2])).toBe(found.text.replace('        1', '        2'));
  });
});

describe('removeNode()', () => {
  const rows: [string, string, (string | number)[], string][] = [
    ['the only item', '[1]', [0], '[]'],
    ['the only item, on its own line', '[\n  1\n]', [0], '[]'],
    ['the first', '[1, 2]', [0], '[2]'],
    ['the last', '[1, 2]', [1], '[1]'],
    ['the last before a trailing comma', '[1, 2,]', [1], '[1, ]'],
    ['a line of its own', '[\n  1,\n  2,\n  3\n]', [1], '[\n  1,\n  3\n]'],
    ['the last line', '[\n  1,\n  2\n]', [1], '[\n  1\n]'],
    ['one beside comments', '[\n  1, // one\n  2 /* two */\n]', [1], '[\n  1 // one\n   /* two */\n]'],
  ];
  for (const [name, text, path, expected] of rows) {
    test(`takes out ${name}`, () => expect(removeNode(text, at(document(text), ...path))).toBe(expected));
  }

  test('takes back what appendTo() has added, to the byte', () => {
    const value = fc.jsonValue({ maxDepth: 2 });
    const indent = fc.constantFrom('  ', '\t', '    ');
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), value, indent, (list, added, unit) => {
        const before = JSON.stringify({ list }, null, unit);
        const found = document(before);
        const after = document(appendTo(found, at(found, 'list'), { value: added }));
        expect(jsonOf(at(after, 'list'))).toEqual(JSON.parse(JSON.stringify([...list, added])));
        expect(removeNode(after.text, at(after, 'list', list.length))).toBe(before);
      }),
    );
  });
});

describe('reading', () => {
  test('returns properties, items, keys and values, and nothing of what is neither', () => {
    const found = document('{"a": [1, {"b": null}], "a": 2}');
    expect(properties(found.root).map(keyOf)).toEqual(['a', 'a']);
    expect(jsonOf(propertyValue(found.root, 'a'))).toBe(2); // A reader takes the last.
    expect(properties(at(found, 'a'))).toEqual([]);
    expect(items(found.root)).toEqual([]);
    expect(items(undefined)).toEqual([]);
    expect(jsonOf(undefined)).toBeUndefined();
  });

  test('isAlone() says whether the holder would be empty without it', () => {
    const found = document('[[1], [1, 2]]');
    expect([at(found, 0, 0), at(found, 1, 0), found.root].map(isAlone)).toEqual([true, false, false]);
  });

  test('positionIn() counts lines of every kind, and from 1', () => {
    expect(positionIn('ab', 0)).toBe('line 1, column 1');
    expect(positionIn('a\nb\r\nc\rd', 8)).toBe('line 4, column 2');
  });
});
