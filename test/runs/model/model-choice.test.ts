import { describe, expect, test } from 'bun:test';
import { chooseModel, type WantedModel } from '../../../src/runs/model/agent-ids.ts';
import { CLIENTS, type ClientName } from '../../support/clients.ts';

const of = (model: string | null, client: ClientName | null = null): WantedModel => ({ model, client });

describe('chooseModel()', () => {
  const rows: readonly [string, string | undefined, WantedModel[], ClientName, string | null][] = [
    ['what was asked for', 'opus', [of('sonnet'), of('haiku')], 'claude', 'opus'],
    ['the first of the others', undefined, [of(null), of('sonnet'), of('haiku')], 'claude', 'sonnet'],
    ["nothing, which is the client's own", undefined, [of(null), of('')], 'claude', null],
    [
      'none that is meant for another client',
      undefined,
      [of('opus', 'claude'), of('gpt-5')],
      'codex',
      'gpt-5',
    ],
    ['one that is meant for this client', undefined, [of('opus', 'claude')], 'claude', 'opus'],
    [
      'a name with everything that providers put into one',
      'eu.a/b-c_1:2@3[1m]',
      [],
      'claude',
      'eu.a/b-c_1:2@3[1m]',
    ],
    ['what was asked for without the blanks around it', ' opus ', [], 'claude', 'opus'],
  ];
  for (const [what, requested, others, client, expected] of rows) {
    test(`takes ${what}`, () => {
      expect(chooseModel(requested, others, CLIENTS[client])).toMatchObject({
        resolved: expected,
        warnings: [],
      });
    });
  }

  const wrong: readonly [string, string, ClientName][] = [
    ['has blanks', 'the best one', 'claude'],
    ['would be an option', '--dangerous', 'claude'],
    ['has line ends', 'a\nb', 'codex'],
    ['is far too long', 'x'.repeat(201), 'claude'],
    ['has no provider where one is needed', 'gpt-5', 'opencode'],
  ];
  for (const [what, model, client] of wrong) {
    test(`leaves out a model that ${what}, takes the next and warns once`, () => {
      const choice = chooseModel(model, [of('provider/next')], CLIENTS[client]);
      expect(choice.resolved).toBe('provider/next');
      expect(choice.requested).toBe(model);
      expect(choice.warnings).toHaveLength(1);
      expect(choice.warnings[0]).toStartWith('model "');
      expect(choice.warnings[0]).not.toInclude('\n');
      expect(choice.warnings[0]?.length).toBeLessThan(200);
    });
  }
});
