import { expect, test } from 'bun:test';
import { ChangedSource } from './changed-source.ts';

test('a copy of the program without a change works and has no type errors', () => {
  using source = new ChangedSource({ files: {}, rows: [] });
  expect(source.run(['--version'])).toMatchObject({ exitCode: 0, stdout: 'source\n' });
  expect(source.typeErrors()).toBe('');
}, 60_000);

test('a change that breaks the program is noticed', () => {
  using source = new ChangedSource({
    files: { 'core/broken.ts': "export const x: number = 'a';\n" },
    rows: [],
  });
  expect(source.typeErrors()).toContain('not assignable');
}, 60_000);
