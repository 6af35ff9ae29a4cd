import { expect, test } from 'bun:test';
import { utimesSync } from 'node:fs';
import { currentSettings } from '../../../src/prune/opencode/current-settings.ts';
import { temporaryHome } from '../../support/home.ts';

test('settings have their defaults, and comments, and are read anew when their file has changed', () => {
  using home = temporaryHome();
  const settings = currentSettings(home.paths);
  expect(settings()).toMatchObject({
    enabled: true,
    prune: { errorSteps: 4 },
    opencode: { knowledge: true },
  });
  const path = home.put('.self-generation/config.json', '{ /* mine */ prune: { errorSteps: 7 } }');
  expect(settings().prune.errorSteps).toBe(7);
  home.put('.self-generation/config.json', '{ /* mine */ prune: { errorSteps: 9 } }');
  utimesSync(path, new Date(), new Date(Date.now() + 5000));
  expect(settings().prune.errorSteps).toBe(9);
  home.put('.self-generation/config.json', 'enabled: broken');
  expect(settings()).toMatchObject({ enabled: true, prune: { errorSteps: 4 } });
});

test('settings that have not changed are not read again', () => {
  using home = temporaryHome();
  home.writeConfig({ prune: { enabled: false } });
  const settings = currentSettings(home.paths);
  expect(settings()).toBe(settings());
});
