import { afterAll, describe, expect, test } from 'bun:test';
import { ChangedSource } from './changed-source.ts';

const rows = [
  {
    key: 'greeting',
    file: 'settings/hook-settings.ts',
    behind: "  enabled: row(boolean, true, 'master switch: false makes every hook do nothing'),",
    line: "  greeting: row(oneOf('short', 'long'), 'short', 'how an agent is greeted'),",
  },
  {
    key: 'agents.defaults.subagents.greeting',
    file: 'settings/run-settings.ts',
    behind: "  maxConcurrent: row(count, 8, 'how many sub-agents run at the same time'),",
    line: "  greeting: row(oneOf('short', 'long'), 'short', 'how a sub-agent is greeted'),",
  },
];

for (const { key, ...row } of rows) {
  describe(`a setting is one row: ${key}`, () => {
    const source = new ChangedSource({ files: {}, rows: [row] });
    afterAll(() => source[Symbol.dispose]());
    const config = (...words: string[]) => source.run(['config', ...words]);

    test('and its types are right', () => {
      expect(source.typeErrors()).toBe('');
    }, 60_000);

    test('and config shows, sets and unsets it, and refuses a wrong value', () => {
      expect(config().stdout).toMatch(
        new RegExp(`^${RegExp.escape(key)} +"short" +how an? (sub-)?agent is greeted *$`, 'm'),
      );
      const stderr = `error: Cannot set ${key} to loud: expected "short" or "long".\n`;
      expect(config('set', key, 'loud')).toEqual({ exitCode: 2, stdout: '', stderr });
      expect(config('set', key, 'long')).toMatchObject({ exitCode: 0, stdout: `${key} = "long"\n` });
      expect(config('get', key).stdout).toBe('long\n');
      expect(config('unset', key).stdout).toBe(`${key} = "short" (the default)\n`);
    }, 60_000);
  });
}
