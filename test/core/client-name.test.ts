import { expect, test } from 'bun:test';
import * as TABLE from '../../src/clients/table.ts';
import { CLIENT_NAMES } from '../../src/core/client-name.ts';

test('the folders of clients are the rows of their table', () => {
  expect(CLIENT_NAMES).toEqual(Object.keys(TABLE).sort());
});
