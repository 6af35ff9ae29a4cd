import { describe, expect, test } from 'bun:test';
import type { Environment } from '../../../src/core/state-paths.ts';
import { languageByLocale, languageWords } from '../../../src/setup/config/language.ts';
import type { RunCommand } from '../../../src/system/run-command.ts';

/** What `defaults` of macOS says, or that there is none. */
const says =
  (stdout?: string): RunCommand =>
  async () =>
    stdout === undefined
      ? { kind: 'failed', reason: 'not found' }
      : { kind: 'exited', code: 0, signal: null, stdout, stderr: '' };

async function languageOf(env: Environment, platform = 'linux', elsewhere = '') {
  const choice = await languageByLocale({ env, platform, run: says(elsewhere), intl: elsewhere });
  return choice?.language;
}

describe('languageByLocale()', () => {
  const rows: [Environment, 'ko' | 'en' | undefined][] = [
    [{ LANG: 'ko_KR.UTF-8' }, 'ko'],
    [{ LANG: 'ko' }, 'ko'],
    [{ LANG: 'kok_IN' }, 'en'],
    [{ LANG: 'de_DE.UTF-8' }, 'en'],
    [{ LANG: 'ko_KR.UTF-8', LC_ALL: 'en_US.UTF-8' }, 'en'],
    [{ LANG: 'en_US.UTF-8', LC_MESSAGES: 'ko_KR.UTF-8' }, 'ko'],
    [{ LANG: 'en_US.UTF-8', LANGUAGE: 'ko:en' }, 'ko'],
    [{ LANG: 'C.UTF-8', LANGUAGE: 'ko' }, undefined],
    [{ LANG: 'ko_KR.UTF-8', LC_ALL: 'C' }, undefined],
    [{ LANG: 'POSIX' }, undefined],
    [{ LANG: '' }, undefined],
    [{}, undefined],
  ];
  for (const [env, expected] of rows)
    test(`is ${expected} for ${JSON.stringify(env)}`, async () => {
      expect(await languageOf(env)).toBe(expected);
    });

  test('asks the system where locales are kept elsewhere', async () => {
    expect(await languageOf({}, 'darwin', 'ko_KR\n')).toBe('ko');
    expect(await languageOf({}, 'win32', 'ko-KR')).toBe('ko');
    expect(await languageOf({}, 'win32', 'en-US')).toBe('en');
    expect(await languageOf({ LANG: 'en_US.UTF-8' }, 'darwin', 'ko_KR')).toBe('en');
    expect(await languageByLocale({ env: {}, platform: 'darwin', run: says() })).toBeUndefined();
  });
});

describe('languageWords()', () => {
  test('says by what the language was chosen', () => {
    expect(languageWords({ language: 'ko', by: 'locale', locale: 'ko_KR' })).toBe(
      'texts in Korean, by your locale ko_KR',
    );
    expect(languageWords({ language: 'en', by: 'default' })).toBe('texts in English, as no locale is set');
    expect(languageWords({ language: 'en', by: 'user' })).toBe('texts in English');
  });
});
