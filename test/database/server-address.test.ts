import { describe, expect, test } from 'bun:test';
import { readServerAddress } from '../../src/database/server-address.ts';

const read = (url: string, env: Record<string, string> = {}) => readServerAddress(url, env);
const wrong = (url: string, env: Record<string, string> = {}) => {
  const found = read(url, env);
  return found.kind === 'wrong' ? found.reason : found;
};

describe('readServerAddress()', () => {
  test('takes TLS for another machine, and none for this one', () => {
    expect(read('postgres://ada@db.example.com/team')).toEqual({
      kind: 'address',
      address: { host: 'db.example.com', port: 5432, database: 'team', user: 'ada', tls: 'on' },
    });
    for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]'])
      expect(read(`postgresql://ada@${host}:54321/team`)).toMatchObject({
        address: { port: 54_321, tls: 'off' },
      });
  });

  test('refuses to go unencrypted to another machine, whatever it is called', () => {
    const hosts = [
      'db.example.com',
      '10.0.0.1',
      '128.0.0.1',
      'localhost.example.com',
      '127.0.0.1.example.com',
      '[::2]',
    ];
    for (const host of hosts)
      expect(wrong(`postgres://ada@${host}/team?sslmode=disable`)).toContain(
        'is another machine, and TLS is off',
      );
  });

  test('knows no mode in which a certificate is not checked', () => {
    for (const mode of ['require', 'prefer', 'allow', 'verify-ca', 'no-verify'])
      expect(wrong(`postgres://ada@db.example.com/team?sslmode=${mode}`)).toContain('sslmode is verify-full');
  });

  test('refuses a password in the address, which is kept in a file', () => {
    expect(wrong('postgres://ada:secret@db.example.com/team')).toContain('there is a password in it');
    expect(wrong('postgres://ada:secret@db.example.com/team')).not.toContain('"secret"');
  });

  test('takes a password from the environment, by the name that the address gives, else PGPASSWORD', () => {
    const url = 'postgres://ada@db.example.com/team';
    expect(read(url, { PGPASSWORD: 'x' })).toMatchObject({ address: { password: 'x' } });
    expect(read(`${url}?passwordenv=TEAM_DB`, { TEAM_DB: 'y', PGPASSWORD: 'x' })).toMatchObject({
      address: { password: 'y' },
    });
    expect(wrong(`${url}?passwordenv=TEAM_DB`, { PGPASSWORD: 'x' })).toBe(
      'the variable TEAM_DB that it names is not set',
    );
  });

  test('takes the login from PGUSER where the address has none, and fails without one', () => {
    expect(read('postgres://db.example.com/team', { PGUSER: 'ben' })).toMatchObject({
      address: { user: 'ben' },
    });
    expect(wrong('postgres://db.example.com/team')).toBe('it names no login or no database');
    expect(wrong('postgres://ada@db.example.com')).toBe('it names no login or no database');
  });

  test('refuses what it would not heed, and what is no address of a PostgreSQL', () => {
    expect(wrong('postgres://ada@db.example.com/team?options=-c%20x')).toContain(
      'the parameter "options" is not known',
    );
    for (const url of ['', 'db', 'mysql://ada@db/team', 'postgres:/ada@db', 'https://db/team'])
      expect(wrong(url)).toContain('it is no address');
  });

  test('reads what is escaped in it', () => {
    expect(read('postgres://a%40b@db.example.com/my%20team')).toMatchObject({
      address: { user: 'a@b', database: 'my team' },
    });
  });
});
