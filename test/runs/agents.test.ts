import { expect, test } from 'bun:test';
import { agentsFor } from '../../src/runs/spawn.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { temporaryHome } from '../support/home.ts';

test('agentsFor() lists what the requester may spawn, by the settings', () => {
  using home = temporaryHome();
  const world = { paths: home.paths } as RunsWorld;
  const own = { id: 'main', configured: true };
  expect(agentsFor('main', world)).toEqual({ requester: 'main', allowAny: false, agents: [own] });
  const writer = { id: 'writer', name: 'Writer' };
  home.writeConfig({ agents: { list: [{ id: 'main', subagents: { allowAgents: ['*'] } }, writer] } });
  expect(agentsFor('main', world)).toEqual({
    requester: 'main',
    allowAny: true,
    agents: [own, { ...writer, configured: true }],
  });
  expect(agentsFor('writer', world).agents).toEqual([{ ...writer, configured: true }]);
});
