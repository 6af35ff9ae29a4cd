import assert from 'node:assert/strict';
import type { Db } from '../../../src/database/connection.ts';
import { type EventFilter, insertEvent, type NewEvent, queryEvents } from '../../../src/database/events.ts';
import { pruneOldEvents } from '../../../src/database/retention.ts';
import { checkIntegrity, count, origin, test, time, type Where } from './context.ts';

/** Storing, finding and searching events. */

type Fields = Where & {
  readonly type?: NewEvent['type'];
  readonly text?: string;
  readonly data?: NewEvent['data'];
};

function add(db: Db, { type = 'prompt', text, data, ...where }: Fields): number {
  const { ts, sessionId, project, projectPath } = origin(where);
  return insertEvent({ type, ts, sessionId, project, projectPath, data: data ?? { text } }, db);
}

function texts(db: Db, filter: EventFilter): unknown[] {
  return queryEvents(filter, db).map((event) => event.text);
}

const PROMPTS = [
  'rename foo-bar in node.js',
  'set a:b and c:d',
  'what does NEAR OR AND NOT mean',
  '한국어로 설명해줘',
  'say "hello" (twice) * 3',
  'snake_case_name _private',
  'Crème brûlée',
];

const SEARCHES: readonly [search: string, expected: readonly string[]][] = [
  ['foo-bar', ['rename foo-bar in node.js']],
  ['node.js', ['rename foo-bar in node.js']],
  ['a:b', ['set a:b and c:d']],
  ['text:set', []],
  ['(', []],
  ['"', []],
  ['*', []],
  ['', []],
  ['   ', []],
  ['_', []],
  ['NEAR', ['what does NEAR OR AND NOT mean']],
  ['OR', ['what does NEAR OR AND NOT mean']],
  ['near AND mean', ['what does NEAR OR AND NOT mean']],
  ['NOT', ['what does NEAR OR AND NOT mean']],
  ['hello OR nothing', []],
  ['한국', ['한국어로 설명해줘']],
  ['한국어로 설명', ['한국어로 설명해줘']],
  ['"hello" (twice', ['say "hello" (twice) * 3']],
  ["hello'; DROP TABLE events; --", []],
  ['ren nod', ['rename foo-bar in node.js']],
  ['snake_case', ['snake_case_name _private']],
  ['creme brulee', ['Crème brûlée']],
  ['{text} : hello', []],
  ['^say', ['say "hello" (twice) * 3']],
  ['\u0000hello\ud83d', ['say "hello" (twice) * 3']],
];

test('insertEvent() returns the id, queryEvents() columns and data as one flat record', ({ db }) => {
  const id = add(db, { data: { text: 'go', nested: { list: [1] }, id: 'mine', type: 'mine' } });
  const at = { ts: time(0), sessionId: 's1', project: 'shop', projectPath: '/home/dev/shop' };
  const event = { id, type: 'prompt', ...at, text: 'go', nested: { list: [1] } };
  assert.deepEqual(queryEvents({}, db), [event]);
  assert.equal(db.sqlite.get('SELECT v FROM events')?.v, 1);
  assert.equal(add(db, { text: 'next' }), id + 1);
});
test('queryEvents() applies each filter and all of them together', ({ db }) => {
  add(db, { text: 'plain', ts: time(1) });
  add(db, { text: 'kind', ts: time(2), type: 'tool_error' });
  add(db, { text: 'session', ts: time(3), session: 's2' });
  add(db, { text: 'path', ts: time(4), projectPath: '/other/shop' });
  add(db, { text: 'name', ts: time(5), projectPath: '/home/dev/bank' });
  add(db, { text: 'nowhere', ts: time(6), projectPath: null });
  assert.deepEqual(texts(db, { type: 'tool_error' }), ['kind']);
  assert.deepEqual(texts(db, { sessionId: 's2' }), ['session']);
  assert.deepEqual(texts(db, { projectPath: '/other/shop' }), ['path']);
  assert.deepEqual(texts(db, { project: 'shop' }), ['path', 'session', 'kind', 'plain']);
  assert.deepEqual(texts(db, { since: time(5) }), ['nowhere', 'name']);
  assert.deepEqual(texts(db, { search: 'path' }), ['path']);
  assert.deepEqual(texts(db, { limit: 2 }), ['nowhere', 'name']);
  assert.deepEqual(texts(db, { limit: 0 }), []);
  const at = { sessionId: 's1', projectPath: '/home/dev/shop', project: 'shop' };
  const all = { ...at, type: 'prompt', search: 'pla' };
  assert.deepEqual(texts(db, { ...all, since: time(1), limit: 5 }), ['plain']);
  assert.deepEqual(texts(db, { ...all, since: time(2), limit: 5 }), []);
  assert.deepEqual(texts(db, { type: "x' OR 1 = 1 --" }), []);
});
test('queryEvents() returns the newest first, of one millisecond the last written (D20)', ({ db }) => {
  for (const text of ['one', 'two', 'early', 'three']) add(db, { text, ts: time(text === 'early' ? 1 : 5) });
  assert.deepEqual(texts(db, {}), ['three', 'two', 'one', 'early']);
  assert.deepEqual(texts(db, { sessionId: 's1', limit: 2 }), ['three', 'two']);
  // An index happens to give this order; a database without one has to as well.
  for (const index of ['session', 'project_type', 'ts']) db.sqlite.exec(`DROP INDEX idx_events_${index}`);
  assert.deepEqual(texts(db, {}), ['three', 'two', 'one', 'early']);
});
for (const [search, expected] of SEARCHES)
  test(`queryEvents() finds what a person means by ${JSON.stringify(search)}`, ({ db }) => {
    for (const text of PROMPTS) add(db, { text });
    assert.deepEqual(texts(db, { search }), expected);
  });
test('queryEvents() survives a search of very many words', ({ db }) => {
  add(db, { text: 'word after word' });
  assert.deepEqual(texts(db, { search: 'word '.repeat(20_000) }), ['word after word']);
  const different = Array.from({ length: 5000 }, (_, index) => `w${index}`).join(' ');
  assert.deepEqual(texts(db, { search: different }), []);
});
test('queryEvents() searches errors too, and nothing that was pruned', ({ db }) => {
  add(db, { type: 'tool_error', data: { error: 'cannot frobnicate', text: undefined }, ts: time(0) });
  add(db, { text: 'frobnicate again', ts: time(86_400) });
  assert.equal(queryEvents({ search: 'frob' }, db).length, 2);
  pruneOldEvents(1, new Date(time(86_401)), db);
  assert.deepEqual(texts(db, { search: 'frob' }), ['frobnicate again']);
  checkIntegrity(db);
});
test('queryEvents() skips rows whose data is damaged, and such rows can be stored and deleted', ({ db }) => {
  const values = ["'{broken'", "'[1]'", "'7'", "'null'", "''", "x'7b7d'", "x'00ff'", '\'"text"\''];
  const columns = 'type, ts, session_id, data';
  for (const value of values)
    db.sqlite.exec(`INSERT INTO events(${columns}) VALUES ('prompt', '${time(9)}', 's1', ${value})`);
  add(db, { text: 'sound' });
  assert.deepEqual(texts(db, {}), ['sound']);
  assert.deepEqual(texts(db, { search: 'text' }), []);
  assert.equal(pruneOldEvents(1, new Date(time(200_000)), db).removed, values.length + 1);
  checkIntegrity(db);
});
test('events cannot be changed, only added and removed', ({ db }) => {
  add(db, { text: 'as it was' });
  assert.throws(() => db.sqlite.run("UPDATE events SET type = 'other'"), /INSERT-only/);
  assert.throws(() => db.sqlite.run("UPDATE events SET data = '{}'"), /INSERT-only/);
  assert.deepEqual(texts(db, {}), ['as it was']);
  db.sqlite.run('DELETE FROM events');
  assert.equal(count(db, 'event_text'), 0);
});
