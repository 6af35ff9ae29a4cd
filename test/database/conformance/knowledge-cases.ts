import assert from 'node:assert/strict';
import type { Db } from '../../../src/database/connection.ts';
import { getCachedAnalysis } from '../../../src/database/events.ts';
import { recordPersonsFix } from '../../../src/lessons/store/error-entries.ts';
import { searchErrorKB } from '../../../src/lessons/store/error-search.ts';
import { noteRepository, sameInClones, setShared } from '../../../src/lessons/store/lesson-log.ts';
import { countShown, recordSeen, wasDecided } from '../../../src/lessons/store/seen-errors.ts';
import { findResolution } from '../../../src/lessons/store/told-lessons.ts';
import { insertRow, valuesIn } from '../../support/rows.ts';
import { count, failure, test, time } from './context.ts';

/** The error knowledge base and the cache of analyses. */

type Learned = {
  readonly project?: string | null;
  readonly fix?: string;
  readonly uses?: number;
  /** As it was printed; nothing of it is known otherwise. */
  readonly raw?: string;
};

function learn(db: Db, error: string, { project = SHOP, fix, uses = 1, raw }: Learned = {}): void {
  const at = { ts: time(0), projectPath: project };
  if (raw !== undefined) recordSeen(error, { ...at, said: raw, errorRaw: raw }, db);
  recordPersonsFix(error, { ...at, summary: fix ?? `fix in ${project}` }, db);
  const statement = 'UPDATE error_kb SET use_count = ? WHERE error_normalized = ? AND project_path = ?';
  db.sqlite.run(statement, uses, error, project ?? '');
}

function summary(known: { resolution: string } | null | undefined): unknown {
  return known ? (JSON.parse(known.resolution) as { summary: unknown }).summary : known;
}

function noteRepositories(db: Db, repositories: Record<string, string | null>): void {
  for (const [name, repository] of Object.entries(repositories))
    noteRepository(`/home/dev/${name}`, repository, db);
}

function share(db: Db, project: string, isShared = true): void {
  const row = db.sqlite.get('SELECT id FROM error_kb WHERE project_path = ?', project);
  assert.equal(setShared(Number(row?.id), isShared, db), true);
}

const SHOP = '/home/dev/shop';
const UNDEFINED = 'TypeError: Cannot read properties of undefined (reading <STR>)';
const NULL = 'TypeError: Cannot read properties of null (reading <STR>)';

const SEARCHES: readonly [what: string, stored: string, asked: string, found: boolean][] = [
  ['the same error', UNDEFINED, UNDEFINED, true],
  ['null for undefined: another error', UNDEFINED, NULL, false],
  ['undefined for null: another error', NULL, UNDEFINED, false],
  ['the same beginning with a little more', `${UNDEFINED} at <PATH>`, UNDEFINED, true],
  [
    'the same words behind another beginning',
    'frobnicator exploded unexpectedly',
    'Uncaught Error: frobnicator exploded unexpectedly',
    true,
  ],
  [
    'thirty shared characters and another end',
    'relation of the customer table does not exist',
    'relation of the customer table violates constraint invoice_total',
    false,
  ],
  ['nothing shared', UNDEFINED, 'ENOSPC: no space left on device', false],
  ['wildcards asked', 'ZZZZZ happened today', '%%%%%', false],
  ['wildcards and letters asked', 'module shop-core not found', 'module ____-____ not %', false],
  ['wildcards stored', '100% of _tests_ failed badly', '100% of _tests_ failed badly', true],
  ['quotes asked', 'unexpected token in parser', 'unexpected "token" in (parser*', true],
  ['an empty text', UNDEFINED, '', false],
  ['an exit code alone', 'Exit code 1', 'Exit code 1', false],
  ['placeholders alone', '<PATH>: <N>', '<PATH>: <N>', false],
  ['한국어', '설정 파일을 찾을 수 없습니다', '설정 파일을 찾을 수 없습니다', true],
  [
    'the same cause in other words',
    'fatal: Could not resolve host',
    'fatal: remote: Name or service not known',
    true,
  ],
  [
    'the same cause of another program',
    'fatal: Could not resolve host',
    'psql: error: Name or service not known',
    false,
  ],
  [
    'the same cause in another language',
    'bash: jq: command not found',
    'bash: jq: 명령어를 찾을 수 없음',
    true,
  ],
  ['another missing program', 'bash: jq: command not found', 'bash: pnpm: command not found', false],
  [
    'an error of the same frame only',
    'make: *** [all] Error 1 in parser',
    'make: *** [test] Error 2 in linker',
    false,
  ],
  [
    'words that the search index takes for its own',
    'parser AND NEAR OR grammar',
    'NEAR parser OR NOT grammar',
    true,
  ],
  [
    'a pair cut by the prefix',
    `${'a'.repeat(29)}😀 broke the parser`,
    `${'a'.repeat(29)}😀 broke the parser now`,
    true,
  ],
];

test('sameInClones() returns the rows of an error in all clones of a repository', ({ db }) => {
  for (const name of ['shop', 'shop2', 'fork', 'plain', 'plain2'])
    learn(db, UNDEFINED, { project: `/home/dev/${name}` });
  learn(db, NULL, { project: '/home/dev/shop2' });
  noteRepositories(db, { shop: 'one', shop2: 'one', fork: 'two', plain: null, plain2: null });
  const same = [1, 3, 4, 9].map((id) => sameInClones(id, db).toSorted());
  assert.deepEqual(same, [[1, 2], [3], [4], [9]]);
});
test('findResolution() returns the most used of the own project, and of no other', ({ db }) => {
  learn(db, UNDEFINED, { project: '/home/dev/bank', uses: 5 });
  learn(db, UNDEFINED, { project: SHOP, uses: 2 });
  assert.equal(summary(findResolution(UNDEFINED, SHOP, db)), 'fix in /home/dev/shop');
  assert.equal(findResolution(UNDEFINED, '/home/dev/none', db), undefined);
  assert.equal(findResolution(UNDEFINED, null, db), undefined);
  learn(db, UNDEFINED, { project: null, uses: 3 });
  assert.equal(summary(findResolution(UNDEFINED, SHOP, db)), 'fix in /home/dev/shop');
  assert.equal(findResolution(UNDEFINED, '/home/dev/none', db), undefined);
  assert.equal(summary(findResolution(UNDEFINED, null, db)), 'fix in null');
  assert.equal(findResolution('never seen before', SHOP, db), undefined);
});
test('findResolution() passes over rows without a resolution in words', ({ db }) => {
  for (const resolution of ['NULL', "x'7b7d'"]) {
    db.sqlite.exec(`INSERT INTO error_kb(ts, error_normalized, resolution, project_path)
          VALUES ('${time(0)}', '${NULL}', ${resolution}, ${resolution === 'NULL' ? "'/a'" : "'/b'"})`);
  }
  for (const project of ['/a', '/b']) {
    assert.equal(findResolution(NULL, project, db), undefined);
    assert.equal(searchErrorKB(`${NULL} at <PATH>`, project, db), null);
  }
});
for (const [what, stored, asked, found] of SEARCHES)
  test(`searchErrorKB() ${found ? 'finds' : 'does not find'} ${what}`, ({ db }) => {
    learn(db, stored, { fix: 'the fix' });
    const known = searchErrorKB(asked, SHOP, db);
    assert.equal(known === null ? null : summary(known), found ? 'the fix' : null);
  });
test('searchErrorKB() takes the exact error before one that is alike, the own before shared ones', ({
  db,
}) => {
  learn(db, UNDEFINED, { project: '/home/dev/bank', fix: 'shared', uses: 9 });
  share(db, '/home/dev/bank');
  assert.equal(summary(searchErrorKB(UNDEFINED, SHOP, db)), 'shared');
  learn(db, `${UNDEFINED} now`, { uses: 9, fix: 'alike' });
  assert.equal(summary(searchErrorKB(UNDEFINED, SHOP, db)), 'alike');
  learn(db, UNDEFINED, { fix: 'own' });
  assert.equal(summary(searchErrorKB(UNDEFINED, SHOP, db)), 'own');
});
for (const search of [findResolution, searchErrorKB]) {
  test(`${search.name}() gives every project what a person shares, until that changes`, ({ db }) => {
    learn(db, UNDEFINED, { project: '/home/dev/bank', fix: 'shared' });
    const ask = (project: string | null) => search(UNDEFINED, project, db);
    share(db, '/home/dev/bank');
    for (const project of [SHOP, null])
      assert.deepEqual([summary(ask(project)), ask(project)?.origin], ['shared', 'bank']);
    assert.equal(ask('/home/dev/bank')?.origin, null);
    learn(db, UNDEFINED, { project: '/home/dev/bank', fix: 'another one' });
    assert.equal(ask('/home/dev/shop') ?? null, null);
    share(db, '/home/dev/bank');
    assert.equal(summary(ask('/home/dev/shop')), 'another one');
    share(db, '/home/dev/bank', false);
    assert.equal(ask('/home/dev/shop') ?? null, null);
  });
  test(`${search.name}() returns what another clone has learnt, and no other repository`, ({ db }) => {
    learn(db, UNDEFINED, { project: '/home/dev/shop2', fix: 'of a clone' });
    learn(db, UNDEFINED, { project: '/home/dev/fork', fix: 'of a fork' });
    learn(db, UNDEFINED, { project: '/home/dev/plain', fix: 'of none' });
    noteRepositories(db, { shop: 'one', shop2: 'one', fork: 'two', plain: null, empty: null });
    const known = search(UNDEFINED, SHOP, db);
    assert.deepEqual([summary(known), known?.origin], ['of a clone', null]);
    for (const project of ['/home/dev/empty', '/home/dev/unknown', null])
      assert.equal(search(UNDEFINED, project, db) ?? null, null);
    noteRepository('/home/dev/shop2', 'three', db);
    assert.equal(search(UNDEFINED, SHOP, db) ?? null, null);
  });
}
test('searchErrorKB() returns nothing that another project has learnt, exact or alike', ({ db }) => {
  learn(db, UNDEFINED, { project: '/home/dev/bank' });
  learn(db, `${UNDEFINED} now`, { project: '/home/dev/bank' });
  for (const project of [SHOP, '/home/dev', null]) assert.equal(searchErrorKB(UNDEFINED, project, db), null);
  assert.equal(summary(searchErrorKB(UNDEFINED, '/home/dev/bank', db)), 'fix in /home/dev/bank');
});
test('searchErrorKB() says what was printed', ({ db }) => {
  learn(db, UNDEFINED, { raw: 'TypeError: Cannot read properties of undefined (reading "id")' });
  learn(db, 'another failure of a parser');
  const { said, errorNormalized } = searchErrorKB(UNDEFINED, SHOP, db) ?? {};
  assert.equal(said, 'TypeError: Cannot read properties of undefined (reading "id")');
  assert.equal(errorNormalized, UNDEFINED);
  assert.equal(searchErrorKB('another failure of a parser', SHOP, db)?.said, null);
});
test('searchErrorKB() stays quick and right among many errors of one beginning', ({ db }) => {
  db.sqlite.transaction(() => {
    for (let index = 0; index < 3000; index++) {
      learn(db, `The very same long beginning of all errors kind${index}`, { fix: `fix ${index}` });
    }
  });
  const asked = 'The very same long beginning of all errors kind2999 at <PATH>';
  assert.equal(summary(searchErrorKB(asked, SHOP, db)), 'fix 2999');
});
test('searchErrorKB() tells errors apart by what their normalised text masks', ({ db }) => {
  const masked = 'AxiosError: Request failed with status code <N>';
  const failed = (status: number) => `AxiosError: Request failed with status code ${status}`;
  learn(db, masked, { fix: 'wait a minute', raw: failed(429) });
  assert.equal(summary(searchErrorKB(masked, SHOP, db, failed(429))), 'wait a minute');
  assert.equal(searchErrorKB(masked, SHOP, db, failed(404)), null);
  assert.equal(summary(searchErrorKB(masked, SHOP, db)), 'wait a minute');
});
test('searchErrorKB() finds the telling line behind the end of the normalised text', ({ db }) => {
  const lines = '  File "/home/dev/a.py", line 1, in f\n    f(x)\n'.repeat(9);
  const stack = `Traceback (most recent call last):\n${lines}ValueError: unknown currency in the list`;
  learn(db, 'ValueError: unknown currency in the list', { fix: 'add it' });
  const masked = 'Traceback (most recent call last):\n  File <STR>, line <N>, in f';
  assert.equal(summary(searchErrorKB(masked, SHOP, db, stack)), 'add it');
  assert.equal(searchErrorKB(masked, SHOP, db), null);
});
test('searchErrorKB() finds what is solved among newer errors that are not', ({ db }) => {
  learn(db, 'the parser lost its grammar at once', { fix: 'the fix' });
  db.sqlite.transaction(() => {
    for (let index = 0; index < 150; index++) {
      const errorRaw = `the parser lost its grammar in step${index}`;
      recordSeen(errorRaw, { ts: time(index), projectPath: SHOP, said: errorRaw, errorRaw }, db);
    }
  });
  assert.equal(summary(searchErrorKB('the parser lost its grammar again', SHOP, db)), 'the fix');
});
test('recordSeen() counts and keeps the newest line and text', ({ db }) => {
  const at = { projectPath: SHOP, errorRaw: 'raw' };
  recordSeen(UNDEFINED, { ...at, ts: time(9), said: 'one' }, db);
  recordSeen(UNDEFINED, { ...at, ts: time(5), said: 'two', errorRaw: 'newer' }, db);
  recordSeen(UNDEFINED, { ...at, ts: time(5), said: 'elsewhere', projectPath: null }, db);
  const columns = 'ts, said, error_raw, seen_count, project_path, resolution, state, sessions';
  assert.deepEqual(valuesIn(db.sqlite, `SELECT ${columns} FROM error_kb ORDER BY id`), [
    [time(9), 'two', 'newer', 2, SHOP, null, null, 0],
    [time(5), 'elsewhere', 'raw', 1, '', null, null, 0],
  ]);
});
test('recordSeen() keeps nothing of an error that says too little', ({ db }) => {
  for (const error of ['', 'Exit code 1', 'exit code <N>', '<PATH>: <STR>', '???'])
    recordSeen(error, { ts: time(0), projectPath: SHOP, said: error, errorRaw: error }, db);
  assert.equal(count(db, 'error_kb'), 0);
});
test("recordPersonsFix() replaces what was learnt, counts as one solution and is no model's", ({ db }) => {
  const lesson = { resolution: '{"kind":"command"}', resolved_by: 'lesson', use_count: 7, state: 'open' };
  const row = { ts: time(0), error_normalized: UNDEFINED, project_path: SHOP, ...lesson };
  insertRow(db.sqlite, 'error_kb', row);
  for (const fix of ['set PORT', 'set PORT again'])
    recordPersonsFix(UNDEFINED, { ts: time(9), projectPath: SHOP, summary: fix }, db);
  recordPersonsFix(NULL, { ts: time(9), projectPath: null, summary: 'new' }, db);
  const columns = 'resolution, resolved_by, use_count, state, last_used, project_path';
  assert.deepEqual(valuesIn(db.sqlite, `SELECT ${columns} FROM error_kb ORDER BY id`), [
    ['{"summary":"set PORT again","resolvedBy":"user"}', 'user', 7, null, time(9), SHOP],
    ['{"summary":"new","resolvedBy":"user"}', 'user', 1, null, time(9), ''],
  ]);
});
test('wasDecided() knows what a session was told by the failure that it was told at', ({ db, tell }) => {
  learn(db, UNDEFINED);
  learn(db, NULL);
  assert.equal(wasDecided(1, 's1', db), false);
  tell(failure('Bash', UNDEFINED, { shown: 1 }), failure('Bash', NULL));
  const shown = [wasDecided(1, 's1', db), wasDecided(2, 's1', db), wasDecided(1, 's2', db)];
  assert.deepEqual(shown, [true, false, false]);
  insertRow(db.sqlite, 'events', { type: 'tool_error', ts: time(1), session_id: 's1', data: '{broken' });
  assert.equal(wasDecided(2, 's1', db), false);
  countShown(2, time(50), db);
  const used = valuesIn(db.sqlite, 'SELECT shown_count, last_used FROM error_kb ORDER BY id');
  assert.deepEqual(used.flat(), [1, time(0), 1, time(50)]);
});

type Cached = {
  readonly project?: string;
  readonly project_path?: string;
  readonly ts?: string;
  readonly analysis?: string;
};

function cache(db: Db, rule: string, row: Cached = {}): void {
  const analysis = JSON.stringify({ suggestions: [{ type: 'claude_md', rule }] });
  insertRow(db.sqlite, 'analysis_cache', { ts: time(0), project: 'shop', analysis, ...row });
}

function cached(db: Db, projectPath: string | null = SHOP, seconds = 60): unknown {
  const query = { projectPath, now: new Date(time(seconds)) };
  return getCachedAnalysis(1, 'shop', query, db)?.suggestions.map((suggestion) => suggestion.rule) ?? null;
}

test("getCachedAnalysis() returns the project's newest row, and else the global one", ({ db }) => {
  assert.equal(cached(db), null);
  cache(db, 'global', { project: 'all', ts: time(9) });
  cache(db, 'of another', { project: 'bank', ts: time(9) });
  assert.deepEqual(cached(db), ['global']);
  cache(db, 'older', { ts: time(1) });
  cache(db, 'newest', { ts: time(3) });
  cache(db, 'same time, stored later', { ts: time(3) });
  cache(db, 'old', { ts: time(2) });
  assert.deepEqual(cached(db), ['same time, stored later']);
});
test('getCachedAnalysis() returns nothing older than the hours', ({ db }) => {
  cache(db, 'rule');
  assert.deepEqual(cached(db, SHOP, 3600), ['rule']);
  assert.equal(cached(db, SHOP, 3601), null);
});
test('getCachedAnalysis() keeps a row with a path for that path', ({ db }) => {
  cache(db, 'other shop', { project_path: '/other/shop', ts: time(5) });
  assert.equal(cached(db), null);
  assert.equal(cached(db, null), null);
  cache(db, 'this shop', { project_path: SHOP, ts: time(1) });
  assert.deepEqual(cached(db), ['this shop']);
  assert.deepEqual(cached(db, '/other/shop'), ['other shop']);
});
for (const analysis of [
  '',
  'no json',
  '[]',
  '7',
  'null',
  '{}',
  '{"suggestions":{}}',
  '{"suggestions":"all"}',
])
  test(`getCachedAnalysis() passes over the analysis ${JSON.stringify(analysis)}`, ({ db }) => {
    cache(db, 'sound', { ts: time(1) });
    cache(db, 'global', { project: 'all', ts: time(1) });
    cache(db, '', { analysis, ts: time(2) });
    assert.deepEqual(cached(db), ['sound']);
  });
test('getCachedAnalysis() drops suggestions that are no records', ({ db }) => {
  cache(db, '', { analysis: '{"suggestions":[null,7,"x",[1],{"rule":"sound"}]}' });
  assert.deepEqual(cached(db), ['sound']);
});
