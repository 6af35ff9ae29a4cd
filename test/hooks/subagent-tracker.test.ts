import { expect, test } from 'bun:test';
import { decideSubagentStop } from '../../src/hooks/subagent-tracker.ts';
import { readEvents, temporaryHome } from '../support/home.ts';
import { bench, eventOf } from '../support/hook-context.ts';
import { payload } from '../support/payloads.ts';

function stored(name: string) {
  using home = temporaryHome();
  using work = bench(home);
  const decision = decideSubagentStop(eventOf('SubagentStop', payload(name)), work.context);
  expect(decision.reply).toBeUndefined();
  work.keep(decision);
  return readEvents(home.paths).map(({ type, data }) => ({ type, data }));
}

test('decideSubagentStop() records the agent and its type', () => {
  const data = { agentId: 'a93c15b5ec73dbd1e', agentType: 'general-purpose' };
  expect(stored('subagent-stop')).toEqual([{ type: 'subagent_stop', data }]);
});

test('decideSubagentStop() records an agent of a client that names no type', () => {
  expect(stored('subagent-stop-2.0.76')).toEqual([{ type: 'subagent_stop', data: { agentId: 'a7a5fc8' } }]);
});

test('decideSubagentStop() does not take a compaction for an agent', () => {
  expect(stored('subagent-stop-compact')).toEqual([]);
});
