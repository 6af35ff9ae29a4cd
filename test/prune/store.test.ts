import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { allPruned, type Pruned, readPruned, stampOf, writePruned } from '../../src/prune/store.ts';
import { temporaryHome } from '../support/home.ts';

const DAY_MS = 24 * 3_600_000;

function prunedOf(sessionId: string, change: Partial<Pruned> = {}): Pruned {
  return {
    client: 'opencode',
    sessionId,
    directory: '/home/dev/app',
    isOff: false,
    decisions: [
      {
        callId: 'call_1',
        rule: 'deduplicate',
        part: 'output',
        placeholder: '[Output removed to save context: a test]',
        savedChars: 500,
        anchor: 'call_0',
      },
    ],
    requests: 3,
    sentChars: 1000,
    savedChars: 1500,
    readAgainChars: 20,
    updatedAt: '2026-11-23T10:00:00.000Z',
    ...change,
  };
}

/** What of it stands in the file that is named after the session. */
function decidedOf({ client, sessionId, directory, isOff, decisions }: Pruned) {
  return { version: 1, client, sessionId, directory, isOff, decisions };
}

test('what is kept of a session is read again, from a file of this user alone, with a version', () => {
  using home = temporaryHome();
  writePruned(home.paths, prunedOf('ses_1'), 0);
  expect(readPruned(home.paths, 'ses_1')).toEqual(prunedOf('ses_1'));
  const path = `${home.paths.pruned}/ses_1.json`;
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ version: 1, sessionId: 'ses_1' });
  expect([statSync(path).mode & 0o777, statSync(home.paths.pruned).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(readPruned(home.paths, 'ses_2')).toBeUndefined();
});

test('what nobody can read is nothing', () => {
  using home = temporaryHome();
  const path = home.put('.self-generation/prune/ses_1.json', '');
  const kept = decidedOf(prunedOf('ses_1'));
  for (const text of ['', '{"version":1', 'null', JSON.stringify({ ...kept, version: 2 })]) {
    writeFileSync(path, text);
    expect(readPruned(home.paths, 'ses_1')).toBeUndefined();
  }
  for (const change of [{ sessionId: 'ses_2' }, { client: 'other' }, { directory: 1 }]) {
    writeFileSync(path, JSON.stringify({ ...kept, ...change }));
    expect(readPruned(home.paths, 'ses_1')).toBeUndefined();
  }
});

test('of what is no decision nothing is taken', () => {
  using home = temporaryHome();
  const [decision] = prunedOf('ses_1').decisions;
  const wrong = [{ rule: 'other' }, { part: 'both' }, { placeholder: 1 }, { savedChars: '1' }, { anchor: 1 }];
  const decisions = [decision, ...wrong.map((change) => ({ ...decision, ...change })), null, 'x'];
  writePruned(home.paths, prunedOf('ses_1'), 0);
  const kept = { ...decidedOf(prunedOf('ses_1')), decisions, isOff: 'yes' };
  home.put('.self-generation/prune/ses_1.json', JSON.stringify(kept));
  expect(readPruned(home.paths, 'ses_1')).toEqual(prunedOf('ses_1'));
});

test('what was counted is nothing where nobody can read it, and what was decided holds', () => {
  using home = temporaryHome();
  writePruned(home.paths, prunedOf('ses_1'), 0);
  const nothing = { requests: 0, sentChars: 0, savedChars: 0, readAgainChars: 0 };
  const never = prunedOf('ses_1', { ...nothing, updatedAt: '1970-01-01T00:00:00.000Z' });
  for (const text of ['', '{"version":1', JSON.stringify({ version: 2, requests: 1 })]) {
    home.put('.self-generation/prune/ses_1.counts.json', text);
    expect(readPruned(home.paths, 'ses_1')).toEqual(never);
  }
  home.put('.self-generation/prune/ses_1.counts.json', '{"version":1,"requests":-1,"sentChars":7}');
  expect(readPruned(home.paths, 'ses_1')).toEqual({ ...never, sentChars: 7 });
});

test('of 10,000 decisions nothing is written again for a request that decides nothing', () => {
  using home = temporaryHome();
  const [decision] = prunedOf('ses_1').decisions;
  if (decision === undefined) throw new Error('nothing was decided');
  const decisions = Array.from({ length: 10_000 }, (_, at) => ({ ...decision, callId: `call_${at}` }));
  const before = prunedOf('ses_1', { decisions });
  writePruned(home.paths, before, 0);
  const path = `${home.paths.pruned}/ses_1.json`;
  const { ino } = statSync(path);
  const after = { ...before, decisions: [...decisions], requests: 4 };
  writePruned(home.paths, after, 0, before);
  expect(statSync(path).ino).toBe(ino);
  expect(statSync(`${home.paths.pruned}/ses_1.counts.json`).size).toBeLessThan(300);
  expect(readPruned(home.paths, 'ses_1')).toEqual(after);
  const more = [...decisions, { ...decision, callId: 'call_new' }];
  for (const change of [{ isOff: true }, { decisions: more }, { decisions: decisions.slice(1) }]) {
    writePruned(home.paths, { ...after, ...change }, 0, after);
    expect(readPruned(home.paths, 'ses_1')).toEqual({ ...after, ...change });
  }
});

test('who has written it is seen', () => {
  using home = temporaryHome();
  const stamps = [stampOf(home.paths, 'ses_1'), stampOf(home.paths, '../config')];
  for (const change of [{}, { isOff: true }, { isOff: true, requests: 10 }]) {
    writePruned(home.paths, prunedOf('ses_1', change), 0);
    expect(stampOf(home.paths, 'ses_1')).toBe(stampOf(home.paths, 'ses_1'));
    stamps.push(stampOf(home.paths, 'ses_1'));
  }
  expect(new Set(stamps).size).toBe(5);
});

test('an id that is no name of a file is neither read nor written', () => {
  using home = temporaryHome();
  home.put('.self-generation/config.json', JSON.stringify(decidedOf(prunedOf('../config'))));
  expect(readPruned(home.paths, '../config')).toBeUndefined();
  expect(() => writePruned(home.paths, prunedOf('../config'), 0)).toThrow('"../config" is no session');
});

test('all of them are listed, the newest first', () => {
  using home = temporaryHome();
  expect(allPruned(home.paths)).toEqual([]);
  writePruned(home.paths, prunedOf('ses_1', { updatedAt: '2026-11-20T10:00:00.000Z' }), 0);
  writePruned(home.paths, prunedOf('ses_2'), 0);
  home.put('.self-generation/prune/ses_3.json', 'broken');
  expect(allPruned(home.paths).map(({ sessionId }) => sessionId)).toEqual(['ses_2', 'ses_1']);
});

test('with a new session those go that have not been written for 90 days', () => {
  using home = temporaryHome();
  const nowMs = Date.now();
  for (const [id, decidedDays, countedDays] of [
    ['ses_old', 92, 91],
    ['ses_new', 92, 89],
  ] as const) {
    writePruned(home.paths, prunedOf(id), nowMs);
    for (const [name, days] of [
      [id, decidedDays],
      [`${id}.counts`, countedDays],
    ]) {
      const at = new Date(nowMs - Number(days) * DAY_MS);
      utimesSync(`${home.paths.pruned}/${name}.json`, at, at);
    }
  }
  writePruned(home.paths, prunedOf('ses_1'), nowMs);
  const names = ['ses_1', 'ses_new'].flatMap((id) => [`${id}.counts.json`, `${id}.json`]);
  expect(readdirSync(home.paths.pruned).sort()).toEqual(names);
});
