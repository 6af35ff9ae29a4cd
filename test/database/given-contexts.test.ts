import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import type { Telling } from '../../src/benefit/model/telling.ts';
import {
  type GivenContext,
  listGiven,
  takeGiven,
  waitingGiven,
  waitingNotes,
} from '../../src/database/given-contexts.ts';
import { noteGiven } from '../../src/database/given-note.ts';
import { readLedger } from '../../src/database/ledger.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { forgetError } from '../../src/lessons/store/forget-error.ts';
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
  for (const one of given) noteGiven({ ...one, tellings: [] }, home.paths);
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
    mkdirSync(`${home.paths.given}/aaa.json`, { recursive: true });
    utimesSync(`${home.paths.given}/aaa.json`, 1, 1);
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

const TELLING: Telling = {
  ...{ group: { place: '/home/dev/app', key: 'x' }, kind: 'rule', text: 'x', channel: 'start' },
  ...{ holdPercent: 0, isHeld: false, callId: null },
};

describe('takeGiven() and the ledger', () => {
  test('hands over what was told, of main sessions too, and of an agent that was told nothing', async () => {
    using home = temporaryHome();
    mkdirSync(home.paths.given, { recursive: true });
    const notes = [
      { ...GIVEN, text: '', client: 'opencode', tellings: [TELLING] },
      { ...GIVEN, ts: '2026-11-20T09:00:01.000Z', sessionId: 'other', agentId: null, tellings: [TELLING] },
    ];
    for (const note of notes) noteGiven(note, home.paths);
    for (let tries = 0; tries < 100 && waitingNotes(home.paths).length < 2; tries++) await Bun.sleep(2);
    expect(waitingGiven(home.paths)).toEqual([]);
    expect(take(home)).toEqual([]);
    const rows = writeDatabase(home.paths, readLedger);
    expect(rows.map(({ root, agent, client }) => [root, agent, client])).toEqual([
      [GIVEN.sessionId, GIVEN.agentId, 'opencode'],
      ['other', null, null],
    ]);
  });

  test('takes no telling that is none, and the others beside it', () => {
    using home = temporaryHome();
    const broken = [
      null,
      { ...TELLING, group: null },
      { ...TELLING, kind: 'spell' },
      { ...TELLING, holdPercent: 101 },
      { ...TELLING, isHeld: 1 },
      { ...TELLING, callId: 7 },
    ];
    const note = { ...GIVEN, tellings: [...broken, TELLING] };
    home.put('.self-generation/given/abc.json', JSON.stringify(note));
    home.put('.self-generation/given/abd.json', JSON.stringify({ ...GIVEN, agentId: 'b', tellings: 'none' }));
    expect(take(home)).toHaveLength(2);
    expect(writeDatabase(home.paths, readLedger)).toHaveLength(1);
  });
});

test('a note of an error that was forgotten since leaves nothing', () => {
  using home = temporaryHome();
  const key = 'an error to be forgotten';
  writeDatabase(home.paths, (db) => forgetError(key, GIVEN.ts, db));
  const tellings = [{ ...TELLING, group: { ...TELLING.group, key } }, TELLING];
  home.put('.self-generation/given/abc.json', JSON.stringify({ ...GIVEN, text: key, tellings }));
  expect(take(home)).toEqual([]);
  expect(writeDatabase(home.paths, readLedger)).toEqual([]);
  expect(readdirSync(home.paths.given)).toEqual([]);
});

describe('noteGiven()', () => {
  test('overwrites no note that waits, and leaves none where too many wait', async () => {
    using home = temporaryHome();
    mkdirSync(home.paths.given, { recursive: true });
    const note = { ...GIVEN, tellings: [] };
    for (let count = 1; count <= 64; count++) {
      noteGiven(note, home.paths);
      for (let tries = 0; tries < 500 && waitingGiven(home.paths).length < count; tries++) await Bun.sleep(1);
    }
    expect(waitingGiven(home.paths)).toHaveLength(64);
    noteGiven(note, home.paths);
    await Bun.sleep(20);
    expect(waitingGiven(home.paths)).toHaveLength(64);
    expect(new Set(waitingGiven(home.paths).map(({ text }) => text))).toEqual(new Set([GIVEN.text]));
  });

  test('never has more than 4,096 files, and none outside its directory', async () => {
    using home = temporaryHome();
    for (const agentId of ['../../evil', 'x/../y', 'ÄÖÜ', ''])
      noteGiven({ ...GIVEN, agentId, tellings: [] }, home.paths);
    for (let tries = 0; tries < 100 && !existsSync(home.paths.given); tries++) await Bun.sleep(2);
    await Bun.sleep(20);
    for (const name of readdirSync(home.paths.given)) expect(name).toMatch(/^[0-9a-f]{0,3}\.json$/);
    expect(readdirSync(home.paths.home)).toEqual(['given']);
    expect(statSync(home.paths.given).isDirectory()).toBe(true);
  });
});
