import { describe, expect, test } from 'bun:test';
import { allowlistOf, chooseAgent, listAgents } from '../../src/runs/spawn-plan.ts';
import { readRunSettings } from '../../src/settings/run-settings.ts';

function settingsWith(list: unknown[], allowAgents?: string[]) {
  return readRunSettings({ agents: { list, defaults: { subagents: { allowAgents } } } });
}

function refusal(agentId: string, requester: string, list: unknown[], defaults?: string[]) {
  const chosen = chooseAgent(agentId, requester, settingsWith(list, defaults));
  return chosen.kind === 'chosen' ? undefined : chosen.error;
}

const main = (...allowAgents: string[]) => ({ id: 'main', subagents: { allowAgents } });
const REFUSED = 'agentId is not allowed for sessions_spawn (allowed: ';
const ADD = (id: string) => `: to spawn "${id}", add it to allowAgents in the settings`;
const NEW = 'A new one is added to agents.list in the settings';

describe('chooseAgent()', () => {
  const rows: readonly [string, string | undefined, Parameters<typeof refusal>][] = [
    ['the requester itself without any list', undefined, ['main', 'main', []]],
    ['the requester itself where none is named', undefined, [' ', 'main', []]],
    ['another without any list', `${REFUSED}none)${ADD('reviewer')}`, ['reviewer', 'main', []]],
    ['one of the list', undefined, ['reviewer', 'main', [main('reviewer', 'writer')]]],
    [
      'one that the list lacks',
      `${REFUSED}reviewer, writer)${ADD('x')}`,
      ['x', 'main', [main('reviewer', 'writer')]],
    ],
    ['one of a list in capitals', undefined, ['reviewer', 'main', [main('Reviewer')]]],
    ['one in capitals', undefined, [' Reviewer ', 'main', [main('reviewer')]]],
    ['any that is configured with a star', undefined, ['a', 'main', [main('*'), { id: 'a' }]]],
    ['one of a list with a star', undefined, ['b', 'main', [main('b', '*')]]],
    [
      'one that nobody has configured, with a star, as a misspelling',
      `No agent "reviwer" is configured. Did you mean "reviewer"? ${NEW}`,
      ['reviwer', 'main', [main('*'), { id: 'reviewer' }, { id: 'writer' }]],
    ],
    [
      'one that nobody has configured and that is like none',
      `No agent "x" is configured. Configured: main, reviewer ${NEW}`,
      ['x', 'main', [main('*'), { id: 'reviewer' }]],
    ],
    ['the requester itself with an empty list', undefined, ['main', 'main', [main()]]],
    [
      'another with an empty list, which is one',
      `${REFUSED}none)${ADD('a')}`,
      ['a', 'main', [main()], ['a']],
    ],
    ['one of the defaults when the agent has no list', undefined, ['a', 'main', [{ id: 'main' }], ['a']]],
    ['one of the defaults when the requester is not listed', undefined, ['a', 'other', [main('b')], ['a']]],
    ["one of another requester's list", `${REFUSED}none)${ADD('b')}`, ['b', 'other', [main('b')]]],
  ];
  for (const [what, expected, call] of rows) {
    test(`${expected === undefined ? 'lets through' : 'refuses'} ${what}`, () => {
      expect(refusal(...call)).toBe(expected as string);
    });
  }
});

test('chooseAgent() refuses what is no id, with what was said and what is one', () => {
  for (const id of ['../..', '../../etc', 'a/b', 'Ä', '--x--', 'x'.repeat(65), 'two words', 'a\nb']) {
    const shown = `"${id.replace('\n', ' ')}"`;
    const error = `Invalid agentId ${shown}: it has at most 64 letters, digits, - and _, and begins with a letter or digit`;
    const settings = settingsWith([main('*')]);
    expect(chooseAgent(id, 'main', settings)).toEqual({ kind: 'refused', status: 'error', error });
  }
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
