import { describe, expect, test } from 'bun:test';
import { loadRunConfig } from '../../src/settings/all-settings.ts';
import { isEnabled, loadConfig } from '../../src/settings/hook-settings.ts';
import { temporaryHome } from '../support/home.ts';

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

describe('settings in JSON5', () => {
  test('count for hooks', () => {
    using home = temporaryHome();
    home.put('.self-generation/config.json', JSON5);
    expect(isEnabled(loadConfig(home.paths))).toBe(false);
  });

  test('count for background runs, what they deny as well', () => {
    using home = temporaryHome();
    home.put('.self-generation/config.json', JSON5);
    expect(loadRunConfig(home.paths)).toMatchObject({
      kind: 'usable',
      settings: { maxConcurrent: 1, tools: { deny: ['gateway', 'cron'] } },
    });
  });

  test('that are neither JSON nor JSON5 mean the defaults for hooks, and no run', () => {
    using home = temporaryHome();
    home.put('.self-generation/config.json', JSON5.slice(0, -1));
    expect(isEnabled(loadConfig(home.paths))).toBe(true);
    expect(loadRunConfig(home.paths)).toMatchObject({ kind: 'refused' });
  });
});
