import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { insertRule, objectionToRule, RULES_HEADINGS, removeRule } from '../../src/suggestions/markdown.ts';

const HEADING = RULES_HEADINGS.ko;
const START = '<!-- self-generation:rules -->';
const END = '<!-- /self-generation:rules -->';

/** The block as it is written, without a line end behind it. */
const block = (rules: readonly string[], eol = '\n') =>
  [START, HEADING, ...rules.map((rule) => `- ${rule}`), END].join(eol);

function inserted(text: string, rule: string): string {
  const result = insertRule(text, rule, HEADING);
  if (result.kind !== 'inserted') throw new Error(`expected an insertion, got ${JSON.stringify(result)}`);
  return result.text;
}

function removed(text: string, rule: string): string {
  const result = removeRule(text, rule);
  if (result.kind !== 'removed') throw new Error(`expected a removal, got ${JSON.stringify(result)}`);
  return result.text;
}

describe('insertRule()', () => {
  const rows: [string, string, string][] = [
    ['an empty file', '', `${block(['a'])}\n`],
    ['a byte order mark alone', '\uFEFF', `\uFEFF${block(['a'])}\n`],
    ['a text', '# Mine\n', `# Mine\n\n${block(['a'])}\n`],
    ['a last line that does not end', '# Mine', `# Mine\n\n${block(['a'])}`],
    ['Windows line ends', '# Mine\r\n', `# Mine\r\n\r\n${block(['a'], '\r\n')}\r\n`],
    ['Windows line ends and no last one', 'a\r\nb', `a\r\nb\r\n\r\n${block(['a'], '\r\n')}`],
    ['our block', `# Mine\n${block(['b'])}\nmore`, `# Mine\n${block(['b', 'a'])}\nmore`],
    ['our block alone', block(['b']), block(['b', 'a'])],
    ['our block with other line ends', `x\n${block(['b'], '\r\n')}`, `x\n${block(['b', 'a'], '\r\n')}`],
    ["the predecessor's heading", `${HEADING}\n- b\n`, `${HEADING}\n- b\n\n${block(['a'])}\n`],
    ['a mark within a line', `see ${START}\n`, `see ${START}\n\n${block(['a'])}\n`],
    ['the rule in a sentence', 'say a\n', `say a\n\n${block(['a'])}\n`],
    ['the rule in a longer item', '- a b\n', `- a b\n\n${block(['a'])}\n`],
  ];
  for (const [name, before, after] of rows) {
    test(`into ${name}`, () => {
      expect(inserted(before, 'a')).toBe(after);
      expect(removed(after, 'a')).toBe(before);
    });
  }

  test('into our block with blanks around its marks and nothing in it', () => {
    expect(inserted(` ${START}\n${END} \n`, 'a')).toBe(` ${START}\n- a\n${END} \n`);
  });

  const known: [string, string, number, boolean][] = [
    ['an item of the user', '# Mine\n\n-   a  \n', 3, false],
    ['an item deeper in a list', '- b\n  - a\n', 2, false],
    ['an item with a Windows line end', '- a\r\n', 1, false],
    ["the predecessor's item", `${HEADING}\n- a\n\n${block(['b'])}`, 2, false],
    ['our own item', `x\n${block(['b', 'a'])}\n`, 5, true],
  ];
  for (const [name, text, line, isOurs] of known) {
    test(`says that the rule is there in ${name}`, () => {
      expect(insertRule(text, 'a', HEADING)).toEqual({ kind: 'present', line, isOurs });
    });
  }

  const damages: [string, string, number][] = [
    ['a start without an end', `x\n${START}\n- b\n`, 2],
    ['an end without a start', `x\n\n${END}\n`, 3],
    ['an end before its start', `${END}\n${START}\n`, 1],
    ['two starts', `${START}\n${START}\n${END}\n`, 2],
    ['two blocks', `${block(['b'])}\n${block(['c'])}\n`, 5],
    ['two ends', `${block(['b'])}\n${END}\n`, 5],
  ];
  for (const [name, text, line] of damages) {
    test(`leaves alone ${name}`, () => {
      expect(insertRule(text, 'a', HEADING)).toMatchObject({ kind: 'damaged', line });
      expect(removeRule(text, 'b')).toMatchObject({ kind: 'damaged', line });
    });
  }

  test('takes a megabyte', () => {
    const text = 'a line of some length\n'.repeat(50_000);
    expect(inserted(text, 'a')).toBe(`${text}\n${block(['a'])}\n`);
  });
});

describe('removeRule()', () => {
  const rows: [string, string, string][] = [
    ['one of two', `${block(['a', 'b'])}\n`, `${block(['b'])}\n`],
    ['the last with a text behind', `x\n\n${block(['a'])}\ny\n`, `x\ny\n`],
    ['the last without an empty line before', `x\n${block(['a'])}\ny\n`, `x\ny\n`],
    ['the last in a text that begins with it', `${block(['a'])}\ny\n`, 'y\n'],
    ['the last under another heading', block(['a']).replace(HEADING, RULES_HEADINGS.en), ''],
    ['the last with empty lines in the block', block(['a']).replace(HEADING, `\n${HEADING}\n`), ''],
    [
      'the last where the user wrote into the block',
      block(['a']).replace(END, `mine\n${END}`),
      block(['a']).replace('- a\n', '').replace(END, `mine\n${END}`),
    ],
  ];
  for (const [name, before, after] of rows) {
    test(name, () => expect(removed(before, 'a')).toBe(after));
  }

  test('does not touch the same words outside of our block', () => {
    for (const text of ['', '- a\n', `- a\n${block(['b'])}\n`, block(['a b'])])
      expect(removeRule(text, 'a')).toEqual({ kind: 'absent' });
  });
});

describe('insertRule() and removeRule()', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '\n',
      '\r\n',
      '\r',
      '\n\n',
      '',
      ' ',
      '\t',
      '\uFEFF',
      '# h',
      '- item',
      '- ',
      HEADING,
      '<!--',
      '-->',
    ),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom('한글', '🎉', '\u2028', '```', START.slice(1), 'x'.repeat(500)),
  );
  const text = fc
    .tuple(fc.constantFrom('', '\uFEFF'), fc.array(piece, { maxLength: 12 }))
    .map(([mark, pieces]) => mark + pieces.join(''));
  const rule = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .filter((one) => objectionToRule(one) === undefined);

  test('one after the other give the same text, in any order of several rules', () => {
    fc.assert(
      fc.property(
        text,
        fc.uniqueArray(rule, { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat()),
        (before, rules, order) => {
          fc.pre(rules.every((one) => insertRule(before, one, HEADING).kind === 'inserted'));
          let now = before;
          for (const one of rules) now = inserted(now, one);
          const left = [...rules];
          while (left.length > 0) {
            const [one = ''] = left.splice(order.next().value % left.length, 1);
            now = removed(now, one);
          }
          expect(now).toBe(before);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('keep every character outside of the block', () => {
    fc.assert(
      fc.property(text, text, rule, rule, (before, after, first, second) => {
        const own = `${before}\n${block([first])}\n${after}`;
        const result = insertRule(own, second, HEADING);
        fc.pre(result.kind === 'inserted' && insertRule(before, 'x', HEADING).kind !== 'damaged');
        const at = result.text.indexOf(START);
        expect(result.text.slice(0, at)).toBe(own.slice(0, at));
        expect(result.text.endsWith(own.slice(own.lastIndexOf(END)))).toBe(true);
        expect(removed(result.text, second)).toBe(own);
      }),
      { numRuns: 500 },
    );
  });

  test('give back the same bytes through UTF-8', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), rule, (bytes, one) => {
        let decoded: string;
        try {
          decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
        } catch {
          return; // Refused before it comes here.
        }
        if (insertRule(decoded, one, HEADING).kind !== 'inserted') return;
        expect(new TextEncoder().encode(removed(inserted(decoded, one), one))).toEqual(bytes);
      }),
    );
  });
});

describe('objectionToRule()', () => {
  const rows: [string, string, string | undefined][] = [
    ['a sentence', 'Use bun, not npm: `bun test` — 항상.', undefined],
    ['a package', 'Import types from `@types/node`.', undefined],
    ['a package that may be a file', 'Import types from @types/node.', 'names a file'],
    ['a hidden file', 'Read @.env before you start.', 'names a file'],
    ['a file of the project', 'Follow @docs/agents/evil.md', 'names a file'],
    ['an e-mail address', 'Ask dev@example.com.', undefined],
    ['nothing', '  ', 'empty'],
    ['two lines', 'a\n- b', 'not one line'],
    ['a carriage return', 'a\rb', 'not one line'],
    ['a line separator', 'a\u2028b', 'not one line'],
    ['NUL', 'a\0b', 'not one line'],
    ['turned text', 'a\u202eb', 'not one line'],
    ['an escape sequence', 'a\x1b[2Jb', 'not one line'],
    ['the end of a comment', 'a --> b', 'comment mark'],
    ['our own mark', END, 'comment mark'],
    ['a file of the user', 'Follow @~/.ssh/id_rsa', 'names a file'],
    ['a file of the machine', 'Follow @/etc/passwd', 'names a file'],
    ['a file above the project', '(@../other/secret.md)', 'names a file'],
    ['a megabyte', 'a'.repeat(1_000_000), 'more than 400'],
  ];
  for (const [name, rule, reason] of rows) {
    test(`says ${reason ?? 'nothing'} to ${name}`, () => {
      if (reason === undefined) expect(objectionToRule(rule)).toBeUndefined();
      else expect(objectionToRule(rule)).toContain(reason);
    });
  }
});
