import { expect, test } from 'bun:test';
import { maskLine, sharedWords } from '../../src/lessons/likeness.ts';

test('what differs from one time to the next is masked', () => {
  const cases: [line: string, masked: string][] = [
    ['Error: took 1200ms at line 12', 'took #ms at line #'],
    ['npm error code 404', '#'],
    ['fatal: bad object 3f1c9e0a77', 'bad object #'],
    ['id 77fc0be8-7322-b47a-d485-7c25049dccd4 is gone', 'id # is gone'],
    ['GET https://example.test/a?b=1 failed', 'GET … failed'],
    ['open /home/anna/my app/src/a.ts: no such file', 'open …: no such file'],
    ['open C:\\Users\\anna\\a.ts failed', 'open … failed'],
    ['/repo/build is not a directory', '… is not a directory'],
    [`unknown "${'x'.repeat(60)}"`, 'unknown "…"'],
    ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED #:5432'],
    ['connect ECONNREFUSED 127.0.0.1:51234', 'connect ECONNREFUSED #:#'],
    ['address already in use :::3000', 'address already in use :::3000'],
    ["No module named 'psycopg2'", "No module named 'psycopg2'"],
    ['bash: line 1: tsc: command not found', 'tsc: command not found'],
  ];
  for (const [line, masked] of cases) expect(maskLine(line)).toBe(masked);
});

test('what messages about one rule share', () => {
  expect(sharedWords(['Expect Run to be called once', 'Expect Stop to be called once'])).toBe(
    'Expect … to be called once',
  );
  expect(sharedWords(['Do not nest'])).toBe('Do not nest');
  expect(sharedWords([`Avoid ${'a'.repeat(40)} here`])).toBe('Avoid … here');
  expect(sharedWords([])).toBe('');
});
