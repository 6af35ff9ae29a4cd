import assert from 'node:assert/strict';
import type { Db } from '../../../src/database/connection.ts';
import { getCachedAnalysis } from '../../../src/database/events.ts';
import {
  countShown,
  recordPersonsFix,
  recordSeen,
  wasShown,
} from '../../../src/lessons/store/error-entries.ts';
import { searchErrorKB } from '../../../src/lessons/store/error-search.ts';
import { noteRepository, sameInClones, setShared } from '../../../src/lessons/store/lesson-log.ts';
import { findResolution } from '../../../src/lessons/store/told-lessons.ts';
import { type Case, count, failure, tell, time } from './context.ts';

/** The error knowledge base and the cache of analyses. */

type Learned = {
  readonly project?: string | null;
  readonly fix?: string;
  readonly uses?: number;
  readonly seconds?: number;
  /** As it was printed; nothing of it is known otherwise. */
  readonly raw?: string;
};

function learn(
  db: Db,
  error: string,
  { project = '/home/dev/shop', fix, uses = 1, seconds = 0, raw }: Learned = {},
): void {
  const at = { ts: time(seconds), projectPath: project };
  if (raw !== undefined) recordSeen(error, { ...at, said: raw, errorRaw: raw }, db);
  recordPersonsFix(error, { ...at, summary: fix ?? `fix in ${project}` }, db);
  db.sqlite.run(
    'UPDATE error_kb SET use_count = ? WHERE error_normalized = ? AND project_path = ?',
    uses,
    error,
    project ?? '',
  );
}

function summary(known: { resolution: string } | null | undefined): unknown {
  return known ? (JSON.parse(known.resolution) as { summary: unknown }).summary : known;
}

const IN_CLONES: Case = {
  title: 'sameInClones() returns the rows of an error in all clones of its repository, and no other',
  run: ({ open }) => {
    const db = open();
    for (const name of ['shop', 'shop2', 'fork', 'plain', 'plain2'])
      learn(db, UNDEFINED, { project: `/home/dev/${name}` });
    learn(db, NULL, { project: '/home/dev/shop2' });
    const repositories = { shop: 'one', shop2: 'one', fork: 'two', plain: null, plain2: null };
    for (const [name, repository] of Object.entries(repositories))
      noteRepository(`/home/dev/${name}`, repository, db);
    assert.deepEqual(
      [1, 3, 4, 9].map((id) => sameInClones(id, db).toSorted()),
      [[1, 2], [3], [4], [9]],
    );
  },
};

function share(db: Db, project: string, isShared = true): void {
  const row = db.sqlite.get('SELECT id FROM error_kb WHERE project_path = ?', project);
  assert.equal(setShared(Number(row?.id), isShared, db), true);
}

const SHOP = '/home/dev/shop';
const UNDEFINED = 'TypeError: Cannot read properties of undefined (reading <STR>)';
const NULL = 'TypeError: Cannot read properties of null (reading <STR>)';

type SearchRow = readonly [what: string, stored: string, asked: string, found: boolean];
const SEARCHES: readonly SearchRow[] = [
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

const ERROR_KB_CASES: readonly Case[] = [
  IN_CLONES,
  {
    title:
      'findResolution() returns the most used of the own project, and nothing of another project or of none',
    run: ({ open }) => {
      const db = open();
      learn(db, UNDEFINED, { project: '/home/dev/bank', uses: 5 });
      learn(db, UNDEFINED, { project: '/home/dev/shop', uses: 2 });
      assert.equal(summary(findResolution(UNDEFINED, '/home/dev/shop', db)), 'fix in /home/dev/shop');
      assert.equal(findResolution(UNDEFINED, '/home/dev/none', db), undefined);
      assert.equal(findResolution(UNDEFINED, null, db), undefined);
      learn(db, UNDEFINED, { project: null, uses: 3 });
      assert.equal(summary(findResolution(UNDEFINED, '/home/dev/shop', db)), 'fix in /home/dev/shop');
      assert.equal(findResolution(UNDEFINED, '/home/dev/none', db), undefined);
      assert.equal(summary(findResolution(UNDEFINED, null, db)), 'fix in null');
      assert.equal(findResolution('never seen before', '/home/dev/shop', db), undefined);
    },
  },
  {
    title: 'findResolution() passes over rows without a resolution in words',
    run: ({ open }) => {
      const db = open();
      for (const resolution of ['NULL', "x'7b7d'"]) {
        db.sqlite.exec(`INSERT INTO error_kb(ts, error_normalized, resolution, project_path)
          VALUES ('${time(0)}', '${NULL}', ${resolution}, ${resolution === 'NULL' ? "'/a'" : "'/b'"})`);
      }
      for (const project of ['/a', '/b']) {
        assert.equal(findResolution(NULL, project, db), undefined);
        assert.equal(searchErrorKB(`${NULL} at <PATH>`, project, db), null);
      }
    },
  },
  ...SEARCHES.map(
    ([what, stored, asked, found]): Case => ({
      title: `searchErrorKB() ${found ? 'finds' : 'does not find'} ${what}`,
      run: ({ open }) => {
        const db = open();
        learn(db, stored, { fix: 'the fix' });
        const known = searchErrorKB(asked, '/home/dev/shop', db);
        assert.equal(known === null ? null : summary(known), found ? 'the fix' : null);
      },
    }),
  ),
  {
    title:
      'searchErrorKB() takes the exact error before one that is only alike, and the own project before what is shared',
    run: ({ open }) => {
      const db = open();
      learn(db, UNDEFINED, { project: '/home/dev/bank', fix: 'shared', uses: 9 });
      share(db, '/home/dev/bank');
      assert.equal(summary(searchErrorKB(UNDEFINED, '/home/dev/shop', db)), 'shared');
      learn(db, `${UNDEFINED} now`, { uses: 9, fix: 'alike' });
      assert.equal(summary(searchErrorKB(UNDEFINED, '/home/dev/shop', db)), 'alike');
      learn(db, UNDEFINED, { fix: 'own' });
      assert.equal(summary(searchErrorKB(UNDEFINED, '/home/dev/shop', db)), 'own');
    },
  },
  ...([findResolution, searchErrorKB] as const).flatMap((search): Case[] => [
    {
      title: `${search.name}() returns what a person shares to every project, with its origin, until it changes or is taken back`,
      run: ({ open }) => {
        const db = open();
        learn(db, UNDEFINED, { project: '/home/dev/bank', fix: 'shared' });
        const ask = (project: string | null) => search(UNDEFINED, project, db);
        share(db, '/home/dev/bank');
        for (const project of ['/home/dev/shop', null])
          assert.deepEqual([summary(ask(project)), ask(project)?.origin], ['shared', 'bank']);
        assert.equal(ask('/home/dev/bank')?.origin, null);
        learn(db, UNDEFINED, { project: '/home/dev/bank', fix: 'another one' });
        assert.equal(ask('/home/dev/shop') ?? null, null);
        share(db, '/home/dev/bank');
        assert.equal(summary(ask('/home/dev/shop')), 'another one');
        share(db, '/home/dev/bank', false);
        assert.equal(ask('/home/dev/shop') ?? null, null);
      },
    },
    {
      title: `${search.name}() returns what another clone of the repository has learnt, and nothing of another repository`,
      run: ({ open }) => {
        const db = open();
        learn(db, UNDEFINED, { project: '/home/dev/shop2', fix: 'of a clone' });
        learn(db, UNDEFINED, { project: '/home/dev/fork', fix: 'of a fork' });
        learn(db, UNDEFINED, { project: '/home/dev/plain', fix: 'of none' });
        const repositories = { shop: 'one', shop2: 'one', fork: 'two', plain: null, empty: null };
        for (const [name, repository] of Object.entries(repositories))
          noteRepository(`/home/dev/${name}`, repository, db);
        const known = search(UNDEFINED, '/home/dev/shop', db);
        assert.deepEqual([summary(known), known?.origin], ['of a clone', null]);
        for (const project of ['/home/dev/empty', '/home/dev/unknown', null])
          assert.equal(search(UNDEFINED, project, db) ?? null, null);
        noteRepository('/home/dev/shop2', 'three', db);
        assert.equal(search(UNDEFINED, '/home/dev/shop', db) ?? null, null);
      },
    },
  ]),
  {
    title: 'searchErrorKB() returns nothing that another project has learnt, exact or alike',
    run: ({ open }) => {
      const db = open();
      learn(db, UNDEFINED, { project: '/home/dev/bank' });
      learn(db, `${UNDEFINED} now`, { project: '/home/dev/bank' });
      for (const project of ['/home/dev/shop', '/home/dev', null])
        assert.equal(searchErrorKB(UNDEFINED, project, db), null);
      assert.equal(summary(searchErrorKB(UNDEFINED, '/home/dev/bank', db)), 'fix in /home/dev/bank');
    },
  },
  {
    title: 'searchErrorKB() says what was printed',
    run: ({ open }) => {
      const db = open();
      learn(db, UNDEFINED, { raw: 'TypeError: Cannot read properties of undefined (reading "id")' });
      learn(db, 'another failure of a parser');
      const { said, errorNormalized } = searchErrorKB(UNDEFINED, '/home/dev/shop', db) ?? {};
      assert.equal(said, 'TypeError: Cannot read properties of undefined (reading "id")');
      assert.equal(errorNormalized, UNDEFINED);
      assert.equal(searchErrorKB('another failure of a parser', '/home/dev/shop', db)?.said, null);
    },
  },
  {
    title: 'searchErrorKB() stays quick and right among many errors of one beginning',
    run: ({ open }) => {
      const db = open();
      db.sqlite.transaction(() => {
        for (let index = 0; index < 3000; index++) {
          learn(db, `The very same long beginning of all errors kind${index}`, { fix: `fix ${index}` });
        }
      });
      const known = searchErrorKB(
        'The very same long beginning of all errors kind2999 at <PATH>',
        '/home/dev/shop',
        db,
      );
      assert.equal(summary(known), 'fix 2999');
    },
  },
  {
    title: 'searchErrorKB() tells errors apart by what their normalised text masks',
    run: ({ open }) => {
      const db = open();
      const masked = 'AxiosError: Request failed with status code <N>';
      const failed = (status: number) => `AxiosError: Request failed with status code ${status}`;
      learn(db, masked, { fix: 'wait a minute', raw: failed(429) });
      assert.equal(summary(searchErrorKB(masked, SHOP, db, failed(429))), 'wait a minute');
      assert.equal(searchErrorKB(masked, SHOP, db, failed(404)), null);
      assert.equal(summary(searchErrorKB(masked, SHOP, db)), 'wait a minute');
    },
  },
  {
    title: 'searchErrorKB() finds the telling line behind the end of the normalised text',
    run: ({ open }) => {
      const db = open();
      const lines = Array.from(
        { length: 9 },
        (_, index) => `  File "/home/dev/a${index}.py", line 1, in f\n    f(x)\n`,
      );
      const stack = `Traceback (most recent call last):\n${lines.join('')}ValueError: unknown currency in the list`;
      learn(db, 'ValueError: unknown currency in the list', { fix: 'add it' });
      const masked = 'Traceback (most recent call last):\n  File <STR>, line <N>, in f';
      assert.equal(summary(searchErrorKB(masked, SHOP, db, stack)), 'add it');
      assert.equal(searchErrorKB(masked, SHOP, db), null);
    },
  },
  {
    title: 'searchErrorKB() finds what is solved among newer errors that are not',
    run: ({ open }) => {
      const db = open();
      learn(db, 'the parser lost its grammar at once', { fix: 'the fix' });
      db.sqlite.transaction(() => {
        for (let index = 0; index < 150; index++) {
          const errorRaw = `the parser lost its grammar in step${index}`;
          recordSeen(errorRaw, { ts: time(index), projectPath: SHOP, said: errorRaw, errorRaw }, db);
        }
      });
      assert.equal(summary(searchErrorKB('the parser lost its grammar again', SHOP, db)), 'the fix');
    },
  },
  {
    title: 'recordSeen() counts and keeps the newest line and text',
    run: ({ open }) => {
      const db = open();
      const at = { projectPath: SHOP, errorRaw: 'raw' };
      recordSeen(UNDEFINED, { ...at, ts: time(9), said: 'one' }, db);
      recordSeen(UNDEFINED, { ...at, ts: time(5), said: 'two', errorRaw: 'newer' }, db);
      recordSeen(UNDEFINED, { ...at, ts: time(5), said: 'elsewhere', projectPath: null }, db);
      const columns = 'ts, said, error_raw, seen_count, project_path, resolution, state, sessions';
      assert.deepEqual(
        db.sqlite.all(`SELECT ${columns} FROM error_kb ORDER BY id`).map((row) => Object.values(row)),
        [
          [time(9), 'two', 'newer', 2, SHOP, null, null, 0],
          [time(5), 'elsewhere', 'raw', 1, '', null, null, 0],
        ],
      );
    },
  },
  {
    title: 'recordSeen() keeps nothing of an error that says too little',
    run: ({ open }) => {
      const db = open();
      for (const error of ['', 'Exit code 1', 'exit code <N>', '<PATH>: <STR>', '???'])
        recordSeen(error, { ts: time(0), projectPath: SHOP, said: error, errorRaw: error }, db);
      assert.equal(count(db, 'error_kb'), 0);
    },
  },
  {
    title: "recordPersonsFix() replaces what was learnt, counts as one solution and is no model's",
    run: ({ open }) => {
      const db = open();
      db.sqlite.run(
        `INSERT INTO error_kb(ts, error_normalized, project_path, resolution, resolved_by, use_count, state)
         VALUES (?, ?, ?, '{"kind":"command"}', 'lesson', 7, 'open')`,
        time(0),
        UNDEFINED,
        SHOP,
      );
      for (const fix of ['set PORT', 'set PORT again'])
        recordPersonsFix(UNDEFINED, { ts: time(9), projectPath: SHOP, summary: fix }, db);
      recordPersonsFix(NULL, { ts: time(9), projectPath: null, summary: 'new' }, db);
      const columns = 'resolution, resolved_by, use_count, state, last_used, project_path';
      assert.deepEqual(
        db.sqlite.all(`SELECT ${columns} FROM error_kb ORDER BY id`).map((row) => Object.values(row)),
        [
          ['{"summary":"set PORT again","resolvedBy":"user"}', 'user', 7, null, time(9), SHOP],
          ['{"summary":"new","resolvedBy":"user"}', 'user', 1, null, time(9), ''],
        ],
      );
    },
  },
  {
    title: 'wasShown() knows what a session was told by the failure that it was told at',
    run: (context) => {
      const db = context.open();
      learn(db, UNDEFINED);
      learn(db, NULL);
      assert.equal(wasShown(1, 's1', db), false);
      tell(context, db, failure('Bash', UNDEFINED, { shown: 1 }), failure('Bash', NULL));
      assert.deepEqual(
        [wasShown(1, 's1', db), wasShown(2, 's1', db), wasShown(1, 's2', db)],
        [true, false, false],
      );
      db.sqlite.run(
        "INSERT INTO events(type, ts, session_id, data) VALUES ('tool_error', ?, 's1', '{broken')",
        time(1),
      );
      assert.equal(wasShown(2, 's1', db), false);
      countShown(2, time(50), db);
      const shown = db.sqlite.all('SELECT shown_count AS n, last_used AS ts FROM error_kb ORDER BY id');
      assert.deepEqual(
        shown.map(({ n, ts }) => [n, ts]),
        [
          [1, time(0)],
          [1, time(50)],
        ],
      );
    },
  },
];

type Cached = {
  readonly project?: string;
  readonly path?: string | null;
  readonly ts?: string;
  readonly analysis?: string;
};

function cache(
  db: Db,
  rule: string,
  { project = 'shop', path = null, ts = time(0), analysis }: Cached = {},
): void {
  db.sqlite.run(
    'INSERT INTO analysis_cache(ts, project, project_path, analysis) VALUES (?, ?, ?, ?)',
    ts,
    project,
    path,
    analysis ?? JSON.stringify({ suggestions: [{ type: 'claude_md', rule }] }),
  );
}

function cached(db: Db, projectPath: string | null = '/home/dev/shop', seconds = 60): unknown {
  const query = { projectPath, now: new Date(time(seconds)) };
  return getCachedAnalysis(1, 'shop', query, db)?.suggestions.map((suggestion) => suggestion.rule) ?? null;
}

const ANALYSIS_CASES: readonly Case[] = [
  {
    title: "getCachedAnalysis() returns the project's newest row, and the global one when there is none",
    run: ({ open }) => {
      const db = open();
      assert.equal(cached(db), null);
      cache(db, 'global', { project: 'all', ts: time(9) });
      cache(db, 'of another', { project: 'bank', ts: time(9) });
      assert.deepEqual(cached(db), ['global']);
      cache(db, 'older', { ts: time(1) });
      cache(db, 'newest', { ts: time(3) });
      cache(db, 'same time, stored later', { ts: time(3) });
      cache(db, 'old', { ts: time(2) });
      assert.deepEqual(cached(db), ['same time, stored later']);
    },
  },
  {
    title: 'getCachedAnalysis() returns nothing older than the hours',
    run: ({ open }) => {
      const db = open();
      cache(db, 'rule');
      assert.deepEqual(cached(db, '/home/dev/shop', 3600), ['rule']);
      assert.equal(cached(db, '/home/dev/shop', 3601), null);
    },
  },
  {
    title: 'getCachedAnalysis() keeps a row with a path for that path',
    run: ({ open }) => {
      const db = open();
      cache(db, 'other shop', { path: '/other/shop', ts: time(5) });
      assert.equal(cached(db), null);
      assert.equal(cached(db, null), null);
      cache(db, 'this shop', { path: '/home/dev/shop', ts: time(1) });
      assert.deepEqual(cached(db), ['this shop']);
      assert.deepEqual(cached(db, '/other/shop'), ['other shop']);
    },
  },
  ...['', 'no json', '[]', '7', 'null', '{}', '{"suggestions":{}}', '{"suggestions":"all"}'].map(
    (analysis): Case => ({
      title: `getCachedAnalysis() passes over the analysis ${JSON.stringify(analysis)}`,
      run: ({ open }) => {
        const db = open();
        cache(db, 'sound', { ts: time(1) });
        cache(db, 'global', { project: 'all', ts: time(1) });
        cache(db, '', { analysis, ts: time(2) });
        assert.deepEqual(cached(db), ['sound']);
      },
    }),
  ),
  {
    title: 'getCachedAnalysis() drops suggestions that are no records',
    run: ({ open }) => {
      const db = open();
      cache(db, '', { analysis: '{"suggestions":[null,7,"x",[1],{"rule":"sound"}]}' });
      assert.deepEqual(cached(db), ['sound']);
    },
  },
];

export const KNOWLEDGE_CASES = [...ERROR_KB_CASES, ...ANALYSIS_CASES];
