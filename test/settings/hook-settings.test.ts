import { describe, expect, test } from 'bun:test';
import { loadRunConfig } from '../../src/settings/all-settings.ts';
import { isEnabled, loadConfig, readConfig } from '../../src/settings/hook-settings.ts';
import { temporaryHome } from '../support/home.ts';

const DEFAULTS = readConfig({});

/** As users of OpenClaw have it. */
const JSON5 = `{
  enabled: false, // for now
  agents: {
    defaults: {
      subagents: {
        maxConcurrent: 1
      }
    }
  },
  tools: {
    subagents: {
      tools: {
        // deny wins
        deny: ["gateway", "cron"],
        // allow: ["read", "exec", "process"]
      }
    }
  }
}`;

test('loadConfig() returns the defaults when there is no file', () => {
  using home = temporaryHome();
  expect(loadConfig(home.paths)).toEqual(DEFAULTS);
});

const unusable = ['', ' ', 'null', '[]', '7', '"x"', '{', JSON5.slice(0, -1)];
for (const text of [...unusable, '{"retentionDays":-5,"enabled":"false"}']) {
  test(`loadConfig() returns the defaults when the file is ${JSON.stringify(text)}`, () => {
    using home = temporaryHome();
    home.put('.self-generation/config.json', text);
    expect(loadConfig(home.paths)).toEqual(DEFAULTS);
  });
}

const off: [what: string, text: string, retentionDays: number][] = [
  ['JSON', '{"enabled":false,"retentionDays":30}', 30],
  ['JSON5', JSON5, DEFAULTS.retentionDays],
];
for (const [what, text, retentionDays] of off) {
  test(`loadConfig() reads ${what}, and only enabled: false switches off`, () => {
    using home = temporaryHome();
    home.put('.self-generation/config.json', text);
    const config = loadConfig(home.paths);
    expect(config).toEqual({ ...DEFAULTS, enabled: false, retentionDays });
    expect([isEnabled(config), isEnabled(DEFAULTS)]).toEqual([false, true]);
  });
}

describe('loadRunConfig()', () => {
  test('reads JSON5, what it denies as well', () => {
    using home = temporaryHome();
    home.put('.self-generation/config.json', JSON5);
    expect(loadRunConfig(home.paths)).toMatchObject({
      kind: 'usable',
      settings: { maxConcurrent: 1, tools: { deny: ['gateway', 'cron'] } },
    });
  });

  for (const text of unusable) {
    test(`refuses every run when the file is ${JSON.stringify(text)}`, () => {
      using home = temporaryHome();
      home.put('.self-generation/config.json', text);
      expect(loadRunConfig(home.paths)).toMatchObject({ kind: 'refused' });
    });
  }
});
