import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { StatePaths } from '../../src/core/state-paths.ts';
import { isEnabled, loadConfig } from '../../src/settings/hook-settings.ts';
import { pathsIn } from '../database/conformance/context.ts';

let paths: StatePaths;
beforeEach(() => {
  paths = pathsIn(mkdtempSync(`${tmpdir()}/store-config-`));
});
afterEach(() => rmSync(paths.home, { recursive: true, force: true }));

test('loadConfig() gives the defaults when there is no file or none that can be used', () => {
  const defaults = loadConfig(paths);
  expect(isEnabled(defaults)).toBe(true);
  for (const text of ['', ' ', 'null', '[]', '7', '"x"', '{', '{"retentionDays":-5,"enabled":"false"}']) {
    writeFileSync(paths.config, text);
    expect(loadConfig(paths), text).toEqual(defaults);
  }
});

test('loadConfig() reads the settings, and only enabled: false switches off', () => {
  writeFileSync(paths.config, '{"enabled":false,"retentionDays":30}');
  const config = loadConfig(paths);
  expect([isEnabled(config), config.retentionDays]).toEqual([false, 30]);
});
