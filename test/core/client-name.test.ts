import { expect, test } from 'bun:test';
import * as TABLE from '../../src/clients/table.ts';
import { CLIENT_NAMES, type ClientName } from '../../src/core/client-name.ts';

test('the folders of clients are the rows of their table, and another name is none to the type checker', () => {
  expect(CLIENT_NAMES).toEqual(Object.keys(TABLE).sort() as ClientName[]);
  // @ts-expect-error: there is no such row.
  const other: ClientName = 'cursor';
  expect(CLIENT_NAMES).not.toContain(other);
});
