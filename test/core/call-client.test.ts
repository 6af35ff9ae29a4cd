import { expect, test } from 'bun:test';
import { callIdIn, clientOfCall } from '../../src/core/call-client.ts';
import { CLIENT_NAMES } from '../support/clients.ts';

test.each(CLIENT_NAMES)('the id of a call in %s says so', (client) => {
  expect(clientOfCall(callIdIn(client, 'x:y'))).toBe(client);
});

test.each(['toolu_01AbC', '', ':x', 'redacted-1kaqn83g9zk', 'other:x', '0a1b2c3d:x'])(
  'the id "%s" is one of Claude Code',
  (id) => expect(clientOfCall(id)).toBe('claude'),
);
