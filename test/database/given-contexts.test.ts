import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { listGiven, takeGiven, waitingGiven } from '../../src/database/given-contexts.ts';
import { type GivenContext, noteGiven } from '../../src/database/given-note.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { type Home, temporaryHome } from '../support/home.ts';

const GIVEN: GivenContext = {
  ts: '2026-11-20T09:00:00.000Z',
  sessionId: 'session',
  agentId: 'a23cc1976113a0ffb',
  agentType: 'executor',
  project: 'app',
  projectPath: '/home/dev/app',
  text: '이 프로젝트의 최근 에러 패턴:\n- x',
};

async function noted(home: Home, ...given: GivenContext[]): Promise<void> {
  mkdirSync(home.paths.given, { recursive: true }); // As install does.
  for (const one of given) noteGiven(one, home.paths);
  // The note is written by the runtime in its own time.
  for (let tries = 0; tries < 100 && waitingGiven(home.paths).length < given.length; tries++)
    await Bun.sleep(2);
}

function take(home: Home): GivenContext[] {
  return writeDatabase(home.paths, (db) => {
    takeGiven(home.paths, Date.now(), db);
    return listGiven(10, db);
  });
}

describe('takeGiven()', () => {
  test('takes each note in once and leaves no file', async () => {
    using home = temporaryHome();
    const later = { ...GIVEN, agentId: 'b1c', agentType: null, ts: '2026-11-20T09:00:01.000Z' };
    await noted(home, GIVEN, later);
    expect(take(home)).toEqual([later, GIVEN]);
    expect(readdirSync(home.paths.given)).toEqual([]);
    await noted(home, { ...GIVEN, text: 'once more' });
    expect(take(home)).toEqual([later, GIVEN]);
  });

  test('keeps a note that may be being written, and drops one that never will be', () => {
    using home = temporaryHome();
    const file = home.put('.self-generation/given/abc.json', '{"ts":"2026');
    expect(take(home)).toEqual([]);
    expect(existsSync(file)).toBe(true);
    utimesSync(file, 1, 1);
    take(home);
    expect(readdirSync(home.paths.given)).toEqual([]);
  });

  test('passes over a note that is none', () => {
    using home = temporaryHome();
    home.put('.self-generation/given/abc.json', '[]');
    home.put('.self-generation/given/abd.json', '{"ts":1,"sessionId":"s","agentId":"a","text":"t"}');
    expect(take(home)).toEqual([]);
  });

  test('takes a note that says no more than who was given what', () => {
    using home = temporaryHome();
    const known = { ts: '2026', sessionId: 's', agentId: 'a', text: 't' };
    home.put('.self-generation/given/abc.json', JSON.stringify(known));
    expect(take(home)).toEqual([{ ...known, agentType: null, project: 'unknown', projectPath: '' }]);
  });
});

describe('noteGiven()', () => {
  test('never has more than 4,096 files, and none outside its directory', async () => {
    using home = temporaryHome();
    for (const agentId of ['../../evil', 'x/../y', 'ÄÖÜ', '']) noteGiven({ ...GIVEN, agentId }, home.paths);
    for (let tries = 0; tries < 100 && !existsSync(home.paths.given); tries++) await Bun.sleep(2);
    await Bun.sleep(20);
    for (const name of readdirSync(home.paths.given)) expect(name).toMatch(/^[0-9a-f]{0,3}\.json$/);
    expect(readdirSync(home.paths.home)).toEqual(['given']);
    expect(statSync(home.paths.given).isDirectory()).toBe(true);
  });
});
