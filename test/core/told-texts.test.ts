import { expect, test } from 'bun:test';
import { type Language, type Messages, messagesIn } from '../../src/core/told-texts.ts';

const KOREAN = messagesIn('ko');
const ENGLISH = messagesIn('en');
const KEYS = Object.keys(KOREAN) as (keyof Messages)[];

test('messagesIn() has the same entries when the language is English', () => {
  expect(Object.keys(ENGLISH)).toEqual(KEYS);
});

test('messagesIn() returns Korean when the language is none that it knows', () => {
  expect(messagesIn('fr' as Language)).toBe(KOREAN);
});

for (const key of KEYS) {
  test(`messagesIn() returns entries of one kind with all their arguments when the entry is ${key}`, () => {
    const [korean, english] = [KOREAN[key], ENGLISH[key]];
    expect(typeof english).toBe(typeof korean);
    for (const entry of [korean, english]) {
      if (typeof entry === 'string') expect(entry.trim()).not.toBe('');
      else {
        expect(entry.length).toBe((korean as typeof entry).length);
        const values = ['§1', '§2'].slice(0, entry.length);
        const text = (entry as (...values: string[]) => string)(...values);
        for (const value of values) expect(text).toContain(value);
        expect(text).not.toContain('undefined');
      }
    }
  });
}

const literals: [key: 'recentErrors' | 'rules' | 'fix', expected: string][] = [
  ['recentErrors', '이 프로젝트의 최근 에러 패턴:'],
  ['rules', '적용할 프로젝트 규칙:'],
  ['fix', '해결:'],
];
for (const [key, expected] of literals) {
  test(`messagesIn() returns the bytes of ${expected} when the entry is ${key}`, () => {
    expect(Buffer.from(KOREAN[key]).equals(Buffer.from(expected))).toBe(true);
    expect(KOREAN[key]).toBe(KOREAN[key].normalize('NFC'));
  });
}

test('messagesIn() returns ASCII and signs only when the language is English', () => {
  for (const key of KEYS) {
    const entry = ENGLISH[key] as string | ((...values: string[]) => string);
    expect(typeof entry === 'string' ? entry : entry('', '')).not.toMatch(/[\uac00-\ud7a3]/);
  }
});
