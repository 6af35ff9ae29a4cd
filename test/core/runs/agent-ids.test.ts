import { describe, expect, test } from 'bun:test';
import { agentRefusal, allowlistOf, listAgents, normalizeAgentId } from '../../../src/core/runs/agent-ids.ts';
import { readRunSettings } from '../../../src/core/runs/settings.ts';

function settingsWith(list: unknown[], allowAgents?: string[]) {
  return readRunSettings({ agents: { list, defaults: { subagents: { allowAgents } } } });
}

function refusal(agentId: string, requester: string, list: unknown[], defaults?: string[]) {
  return agentRefusal(agentId, requester, allowlistOf(requester, settingsWith(list, defaults)));
}

const main = (...allowAgents: string[]) => ({ id: 'main', subagents: { allowAgents } });
const REFUSED = 'agentId is not allowed for sessions_spawn (allowed: ';

describe('agentRefusal()', () => {
  const rows: readonly [string, string | undefined, Parameters<typeof refusal>][] = [
    ['the requester itself without any list', undefined, ['main', 'main', []]],
    ['another without any list', `${REFUSED}none)`, ['reviewer', 'main', []]],
    ['one of the list', undefined, ['reviewer', 'main', [main('reviewer', 'writer')]]],
    ['one that the list lacks', `${REFUSED}reviewer, writer)`, ['x', 'main', [main('reviewer', 'writer')]]],
    ['one of a list in capitals', undefined, ['reviewer', 'main', [main('Reviewer')]]],
    ['anybody with a star', undefined, ['whoever', 'main', [main('*')]]],
    ['anybody with a star among others', undefined, ['whoever', 'main', [main('a', '*')]]],
    ['the requester itself with an empty list', undefined, ['main', 'main', [main()]]],
    ['another with an empty list, which is one', `${REFUSED}none)`, ['a', 'main', [main()], ['a']]],
    ['one of the defaults when the agent has no list', undefined, ['a', 'main', [{ id: 'main' }], ['a']]],
    ['one of the defaults when the requester is not listed', undefined, ['a', 'other', [main('b')], ['a']]],
    ["one of another requester's list", `${REFUSED}none)`, ['b', 'other', [main('b')]]],
  ];
  for (const [what, expected, call] of rows) {
    test(`${expected === undefined ? 'lets through' : 'refuses'} ${what}`, () => {
      expect(refusal(...call)).toBe(expected as string);
    });
  }
});

test('normalizeAgentId() makes one spelling of many, and never a path', () => {
  const ids = [' Reviewer ', 'a/b', '../../etc', 'Ä', '--x--', 'x'.repeat(100), ''];
  expect(ids.map(normalizeAgentId)).toEqual(['reviewer', 'a-b', 'etc', 'main', 'x', 'x'.repeat(64), 'main']);
});

describe('listAgents()', () => {
  const list = (requester: string, agents: unknown[]) => {
    const settings = settingsWith(agents);
    return listAgents(requester, allowlistOf(requester, settings), settings.agents);
  };

  test('has the requester alone when nothing is allowed', () => {
    expect(list('main', [{ id: 'writer' }])).toEqual([{ id: 'main', configured: true }]);
  });

  test('has the requester first and the allowed ones by their ids, also those that nobody configured', () => {
    const agents = [main('writer', 'absent', 'main'), { id: 'writer', name: 'Writer' }, { id: 'other' }];
    expect(list('main', agents)).toEqual([
      { id: 'main', configured: true },
      { id: 'absent', configured: false },
      { id: 'writer', name: 'Writer', configured: true },
    ]);
  });

  test('has every configured one when any is allowed', () => {
    expect(list('main', [main('*'), { id: 'b' }, { id: 'a' }]).map(({ id }) => id)).toEqual([
      'main',
      'a',
      'b',
    ]);
  });
});
