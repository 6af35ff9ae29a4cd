import { expect, test } from 'bun:test';
import { formatAge, ordinal, parseSeconds } from '../../../src/runs/model/stats.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const ages: [ms: number, text: string][] = [
  [Number.NaN, 'just now'],
  [-HOUR, 'just now'],
  [MINUTE - 1, 'just now'],
  [MINUTE, '1m ago'],
  [HOUR - 1, '59m ago'],
  [HOUR, '1h ago'],
  [48 * HOUR - 1, '47h ago'],
  [48 * HOUR, '2d ago'],
];
for (const [ms, text] of ages) {
  test(`formatAge() of ${ms} ms is ${text}`, () => {
    expect(formatAge(ms)).toBe(text);
  });
}

const spans: [text: string, seconds: number | undefined][] = [
  ['0', 0],
  ['90', 90],
  [' 90s ', 90],
  ['10m', 600],
  ['2h', 7200],
  ['8760h', 31_536_000],
  ['8761h', undefined],
  ['', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['1d', undefined],
  ['m', undefined],
  ['9999999999', undefined],
];
for (const [text, seconds] of spans) {
  test(`parseSeconds() of ${JSON.stringify(text)} is ${seconds}`, () => {
    expect(parseSeconds(text)).toBe(seconds);
  });
}

test('ordinal() has the endings of English', () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 101, 111].map(ordinal).join(' ')).toBe(
    '1st 2nd 3rd 4th 11th 12th 13th 21st 101st 111th',
  );
});
