import { expect, test } from 'bun:test';
import { decideIn } from '../support/hook-play.ts';
import { payload } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';

const home = homePerTest();

test.each([
  ['the agent and its type', 'subagent-stop', { agentId: 'a93c15b5ec73dbd1e', agentType: 'general-purpose' }],
  [
    'an agent of a client that names no type',
    'subagent-stop-2.0.76',
    { agentId: 'a7a5fc8', agentType: null },
  ],
])('SubagentStop records %s, and says nothing', (_what, name, agent) =>
  expect(decideIn(home, payload(name))).toEqual({
    takesNotes: true,
    recording: { kind: 'subagent-stop', at: expect.objectContaining(agent) },
  }),
);

test('SubagentStop does not take a compaction for an agent', () =>
  expect(decideIn(home, payload('subagent-stop-compact'))).toEqual({ takesNotes: true }));
