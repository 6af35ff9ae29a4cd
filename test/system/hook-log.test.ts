import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { StatePaths } from '../../src/core/state-paths.ts';
import { logHookFailure } from '../../src/system/failure-log.ts';
import { pathsIn } from '../database/conformance/context.ts';

const NOW = new Date('2026-05-01T10:00:00.000Z');

let paths: StatePaths;
beforeEach(() => {
  paths = pathsIn(mkdtempSync(`${tmpdir()}/store-log-`));
});
afterEach(() => rmSync(paths.home, { recursive: true, force: true }));

function lines(file: string): unknown[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('logHookFailure() appends one private line for each failure', () => {
  logHookFailure('Stop', 'first\nline', paths, NOW);
  logHookFailure('Stop', 'x'.repeat(5000), paths, NOW);
  expect(lines(paths.hookLog)).toEqual([
    { ts: NOW.toISOString(), hook: 'Stop', message: 'first\nline' },
    { ts: NOW.toISOString(), hook: 'Stop', message: 'x'.repeat(1000) },
  ]);
  expect(statSync(paths.hookLog).mode & 0o777).toBe(0o600);
});

test('logHookFailure() begins a new log when the old one is full, and keeps one predecessor', () => {
  logHookFailure('Stop', 'first', paths, NOW);
  for (const message of ['second', 'third']) {
    writeFileSync(paths.hookLog, `${JSON.stringify({ message: 'full' })}${' '.repeat(300_000)}\n`);
    logHookFailure('Stop', message, paths, NOW);
  }
  expect(lines(paths.hookLog)).toEqual([{ ts: NOW.toISOString(), hook: 'Stop', message: 'third' }]);
  expect(lines(`${paths.hookLog}.1`)).toEqual([{ message: 'full' }]);
});

test('logHookFailure() does not throw when nothing can be written', () => {
  mkdirSync(paths.hookLog, { recursive: true });
  expect(() => logHookFailure('Stop', 'lost', paths, NOW)).not.toThrow();
});
