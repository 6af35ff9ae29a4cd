import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import type { Db } from '../../../src/database/connection.ts';
import { queryEvents } from '../../../src/database/events.ts';
import type { Recording } from '../../../src/hooks/decision.ts';
import { isSpoolWaiting, record, spool } from '../../../src/hooks/store/record.ts';
import { column } from '../../support/rows.ts';
import { allEnded, checkIntegrity, count, failure, prompt, success, test, time } from './context.ts';

/** Recordings that wait for a writer. */

function textsInOrder(db: Db): unknown[] {
  return column(db.sqlite, "SELECT json_extract(data, '$.text') FROM events ORDER BY id");
}

const sound = JSON.stringify(prompt('x'));
const DAMAGED: readonly [what: string, content: string][] = [
  ['an empty file', ''],
  ['half a file', sound.slice(0, 40)],
  ['no list', sound],
  ['values that are no recordings', '[null, 7, "x", [], {}, {"kind":"prompt"}, {"at":null}]'],
  ['an unknown kind', `[${sound.replace('"prompt"', '"of-a-later-version"')}]`],
  ['a missing session', `[${sound.replace('"sessionId":"s1"', '"sessionId":null')}]`],
  ['a value of another type', `[${sound.replace('"s1"', '{"a":1}')}]`],
  ['errors that are no list', `[${JSON.stringify({ ...failure('Bash', 'x'), errors: 7 })}]`],
  ['errors that are nothing', `[${JSON.stringify({ ...failure('Bash', 'x'), errors: [null] })}]`],
  ['bytes that are no text', '\u0000\ufffd\u0001'],
];

test('spool() keeps recordings private, and record() takes them in order before its own', ({ db, paths }) => {
  assert.equal(isSpoolWaiting(paths), false);
  spool([prompt('second'), prompt('third')], paths, 2000);
  spool([prompt('fourth')], paths, 10_000);
  spool([prompt('first')], paths, 999);
  assert.equal(isSpoolWaiting(paths), true);
  assert.equal(statSync(paths.spool).mode & 0o777, 0o700);
  for (const name of readdirSync(paths.spool)) {
    assert.equal(statSync(`${paths.spool}/${name}`).mode & 0o777, 0o600);
  }
  record([prompt('last')], paths, db);
  assert.deepEqual(textsInOrder(db), ['first', 'second', 'third', 'fourth', 'last']);
  assert.equal(existsSync(paths.spool), false);
  assert.equal(isSpoolWaiting(paths), false);
});
test('record() notes an error that waited, and knows its call when it comes in again', ({ db, paths }) => {
  const waiting = failure('Bash', 'Error: no port given', { command: 'npm test', id: 'c1' });
  spool([waiting], paths, 1);
  record([waiting, success('Bash', { command: 'npm test' })], paths, db);
  assert.deepEqual({ ...db.sqlite.get('SELECT seen_count AS n FROM error_kb') }, { n: 1 });
  assert.equal(count(db, 'events'), 2);
});
test('record() takes a file once even if it reappears after a crash', ({ db, paths, home }) => {
  spool([prompt('once')], paths, 1);
  cpSync(paths.spool, `${home}/copy`, { recursive: true });
  record([], paths, db);
  cpSync(`${home}/copy`, paths.spool, { recursive: true });
  record([], paths, db);
  assert.deepEqual(textsInOrder(db), ['once']);
  assert.equal(isSpoolWaiting(paths), false);
});
test('record() leaves the spool as it was when it fails', ({ db, paths }) => {
  spool([prompt('waiting')], paths, 1);
  assert.throws(() => record([{ kind: 'unknown', at: {} } as unknown as Recording], paths, db));
  assert.equal(count(db, 'events') + count(db, 'spool_taken'), 0);
  record([], paths, db);
  assert.deepEqual(textsInOrder(db), ['waiting']);
});
for (const [what, content] of DAMAGED)
  test(`record() is not blocked by a waiting file with ${what}`, (context) => {
    const { paths } = context;
    const db = context.open();
    spool([prompt('before')], paths, 1);
    writeFileSync(`${paths.spool}/00000000000002-1-damaged.json`, content);
    spool([prompt('after')], paths, 3);
    record([prompt('own')], paths, db);
    assert.deepEqual(textsInOrder(db), ['before', 'after', 'own']);
    assert.equal(existsSync(paths.spool), false);
    checkIntegrity(db);
  });
test('record() is not blocked later by a damaged error that was taken in', ({ db, paths }) => {
  for (const command of [7, {}, [], { family: 'npm test' }, { family: 'npm test', targets: 'all' }]) {
    const waiting = failure('Bash', 'Error: damaged on disk', { command: 'npm test' });
    const errors = [{ ...waiting.errors[0], command, mentionedFiles: 7 }];
    spool([{ ...waiting, errors } as unknown as Recording], paths, 1);
  }
  record([success('Bash', { command: 'npm test' })], paths, db);
  record([success('Bash', { command: 'npm test src/a.ts' })], paths, db);
  assert.equal(count(db, 'events', "type = 'tool_use'"), 2);
});
test('record() leaves what is not a waiting file alone and still takes the rest', ({ db, paths }) => {
  mkdirSync(`${paths.spool}/00000000000000-folder.json`, { recursive: true });
  writeFileSync(`${paths.spool}/notes.txt`, 'mine');
  spool([prompt('one')], paths, 1);
  record([], paths, db);
  spool([prompt('two')], paths, 2);
  record([], paths, db);
  assert.deepEqual(textsInOrder(db), ['one', 'two']);
  assert.deepEqual(readdirSync(paths.spool).sort(), ['00000000000000-folder.json', 'notes.txt']);
});
test('record() removes drafts of killed processes, but none that is being written', ({ db, paths }) => {
  mkdirSync(paths.spool, { recursive: true });
  const [old, fresh] = [
    `${paths.spool}/.00000000000001-1-old.json`,
    `${paths.spool}/.00000000000002-1-new.json`,
  ];
  writeFileSync(old, '[');
  utimesSync(old, 1000, 1000);
  writeFileSync(fresh, '[');
  record([], paths, db);
  assert.deepEqual(readdirSync(paths.spool), ['.00000000000002-1-new.json']);
  utimesSync(fresh, 1000, 1000);
  record([], paths, db);
  assert.equal(existsSync(paths.spool), false);
});
test('record() takes a bounded number at a time and gets through all of them', ({ db, paths }) => {
  for (let index = 0; index < 450; index++) spool([prompt(String(index))], paths, index);
  let rounds = 0;
  for (; isSpoolWaiting(paths) && rounds < 10; rounds++) record([], paths, db);
  assert.equal(rounds, 3);
  assert.deepEqual(
    textsInOrder(db),
    Array.from({ length: 450 }, (_, index) => String(index)),
  );
});
test('record() gets to new files behind many that cannot be removed', ({ db, paths }) => {
  for (let index = 0; index < 250; index++) {
    mkdirSync(`${paths.spool}/${String(index).padStart(14, '0')}-folder.json`, { recursive: true });
  }
  spool([prompt('behind them')], paths, 1000);
  for (let round = 0; round < 3; round++) record([], paths, db);
  assert.deepEqual(textsInOrder(db), ['behind them']);
});
test('spool() refuses more when too many files wait', ({ paths }) => {
  mkdirSync(paths.spool, { recursive: true });
  writeFileSync(`${paths.spool}/one.json`, '');
  for (let index = 1; index < 10_000; index++)
    linkSync(`${paths.spool}/one.json`, `${paths.spool}/${index}.json`);
  assert.throws(() => spool([prompt('too many')], paths, 1), /10000 already wait/);
});
test('spool() loses nothing while the folder is removed all the time', async ({ paths, startWorker }) => {
  const removers = [startWorker('remove-spool'), startWorker('remove-spool')];
  await Promise.all(removers.map(({ ready }) => ready));
  const workers = Array.from({ length: 40 }, (_, index) => startWorker('spool', '25', `s${index}`));
  const found: string[] = [];
  const empty = () => {
    try {
      for (const name of readdirSync(paths.spool)) {
        if (name.startsWith('.')) continue;
        found.push(readFileSync(`${paths.spool}/${name}`, 'utf8'));
        unlinkSync(`${paths.spool}/${name}`);
      }
      rmdirSync(paths.spool);
    } catch {
      // It is gone, or one more has come in.
    }
  };
  let isOver = false;
  const ends = Promise.all(workers.map(({ ended }) => ended)).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    for (let round = 0; round < 100; round++) empty();
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const remover of removers) remover.kill();
  empty();
  for (const { code, output } of await ends) assert.equal(code, 0, output);
  assert.equal(new Set(found).size, 1000);
});
test('spool() and record() lose and double nothing side by side', async ({ paths, open, startWorker }) => {
  open().sqlite.close();
  const workers = [
    ...Array.from({ length: 4 }, (_, index) => startWorker('spool', '60', `s${index}`)),
    ...Array.from({ length: 4 }, (_, index) => startWorker('record', '60', `r${index}`)),
  ];
  await allEnded(workers);
  const db = open();
  for (let round = 0; isSpoolWaiting(paths) && round < 10; round++) record([], paths, db);
  const texts = textsInOrder(db);
  assert.equal(texts.length, 480);
  assert.equal(new Set(texts).size, 480);
  assert.equal(isSpoolWaiting(paths), false);
  assert.equal(queryEvents({ since: time(0), limit: 1 }, db).length, 1);
  checkIntegrity(db);
});
