import { expect, test } from 'bun:test';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { logHookFailure } from '../../src/system/failure-log.ts';
import { hookFailures, temporaryHome } from '../support/home.ts';

const NOW = new Date('2026-05-01T10:00:00.000Z');

test('logHookFailure() appends one private line for each failure', () => {
  using home = temporaryHome();
  const { paths } = home;
  logHookFailure('Stop', 'first\nline', paths, NOW);
  logHookFailure('Stop', 'x'.repeat(5000), paths, NOW);
  expect(hookFailures(paths)).toEqual([
    { ts: NOW.toISOString(), hook: 'Stop', message: 'first\nline' },
    { ts: NOW.toISOString(), hook: 'Stop', message: 'x'.repeat(1000) },
  ]);
  expect(statSync(paths.hookLog).mode & 0o777).toBe(0o600);
});

test('logHookFailure() begins a new log when the old one is full, and keeps one predecessor', () => {
  using home = temporaryHome();
  const { paths } = home;
  logHookFailure('Stop', 'first', paths, NOW);
  for (const message of ['second', 'third']) {
    writeFileSync(paths.hookLog, `${JSON.stringify({ message: 'full' })}${' '.repeat(300_000)}\n`);
    logHookFailure('Stop', message, paths, NOW);
  }
  expect(hookFailures(paths)).toEqual([{ ts: NOW.toISOString(), hook: 'Stop', message: 'third' }]);
  expect(JSON.parse(readFileSync(`${paths.hookLog}.1`, 'utf8'))).toEqual({ message: 'full' });
});

test('logHookFailure() does not throw when nothing can be written', () => {
  using home = temporaryHome();
  mkdirSync(home.paths.hookLog, { recursive: true });
  expect(() => logHookFailure('Stop', 'lost', home.paths, NOW)).not.toThrow();
});
