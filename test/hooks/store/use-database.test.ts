import { describe, expect, test } from 'bun:test';
import { copyDatabase, writeDatabase } from '../../../src/hooks/store/use-database.ts';
import { readEvents, temporaryHome } from '../../support/home.ts';
import { seedErrors } from '../../support/seed.ts';

describe('copyDatabase()', () => {
  test('copies a database that somebody has open, with what is only in its log yet', () => {
    using home = temporaryHome();
    const copy = { ...home.paths, database: `${home.path}/copy.db` };
    writeDatabase(home.paths, ({ sqlite }) => {
      seedErrors(home.paths, [{ error: 'Error: a' }]);
      sqlite.exec('BEGIN IMMEDIATE');
      sqlite.run('DELETE FROM events');
      copyDatabase(home.paths, copy.database);
      sqlite.exec('ROLLBACK');
    });
    expect(readEvents(copy).map(({ data }) => data.error)).toEqual(['Error: a']);
  });

  test('says what to do about one that cannot be copied', () => {
    using home = temporaryHome();
    const copy = () => copyDatabase(home.paths, `${home.path}/copy.db`);
    const { database } = home.paths;
    const advice = 'Run "self-generation doctor"';
    expect(copy).toThrow(`Cannot read "${database}": it cannot be opened. ${advice}`);
    home.put('.self-generation/data/self-gen.db', 'This is no database. '.repeat(200));
    expect(copy).toThrow(`Cannot read "${database}": file is not a database. ${advice}`);
  });
});
