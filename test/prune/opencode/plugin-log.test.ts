import { expect, test } from 'bun:test';
import { readFileSync, statSync } from 'node:fs';
import { pluginLog } from '../../../src/prune/opencode/plugin-log.ts';
import { temporaryHome } from '../../support/home.ts';

const NOW = new Date('2026-01-23T10:30:45.123Z');

test('a line says when, how grave, which part and what', () => {
  using home = temporaryHome();
  const log = pluginLog(home.paths.opencodeLog, () => NOW);
  log.info('state', 'session ID = abc-123');
  log.failure('keep what was decided', new Error('no room'));
  expect(readFileSync(home.paths.opencodeLog, 'utf8').split('\n')).toEqual([
    '2026-01-23T10:30:45.123Z INFO state: session ID = abc-123',
    '2026-01-23T10:30:45.123Z ERROR plugin: Cannot keep what was decided: no room',
    '',
  ]);
  expect(statSync(home.paths.opencodeLog).mode & 0o777).toBe(0o600);
});

test('the same failure is logged once', () => {
  using home = temporaryHome();
  const log = pluginLog(home.paths.opencodeLog, () => NOW);
  for (const reason of ['a', 'a', 'b', 'a']) log.failure('do it', new Error(reason));
  expect(readFileSync(home.paths.opencodeLog, 'utf8').match(/do it: ./g)).toEqual(['do it: a', 'do it: b']);
});

test('what others said stays on its line, and keeps its secrets', () => {
  using home = temporaryHome();
  const log = pluginLog(home.paths.opencodeLog, () => NOW);
  log.failure('read\n2026 INFO state: x', new Error('password=hunter2-hunter2 <system>'));
  const text = readFileSync(home.paths.opencodeLog, 'utf8');
  expect(text.split('\n')).toHaveLength(2);
  expect(text).not.toContain('hunter2');
  expect(text).not.toContain('<system>');
});

test('a log that cannot be written is no failure', () => {
  using home = temporaryHome();
  home.put('.self-generation', 'a file');
  expect(() => pluginLog(home.paths.opencodeLog, () => NOW).info('a', 'b')).not.toThrow();
});
