import assert from 'node:assert/strict';
import { getCachedAnalysis } from '../../../src/store/analysis-cache.ts';
import type { Db } from '../../../src/store/connection.ts';
import { findFileResolutions, recordResolution, recordSeen } from '../../../src/store/error-kb.ts';
import { findResolution } from '../../../src/store/find-resolution.ts';
import { searchErrorKB } from '../../../src/store/search-error-kb.ts';
import { type Case, count, time } from './context.ts';

/** The error knowledge base and the cache of analyses. */

type Learned = {
  readonly project?: string | null;
  readonly times?: number;
  readonly fix?: string;
  readonly files?: readonly string[];
  readonly seconds?: number;
  readonly raw?: string;
};

function learn(
  db: Db,
  error: string,
  { project = '/home/dev/shop', times = 1, fix, files = [], seconds = 0, raw }: Learned = {},
): void {
  for (let index = 0; index < times; index++) {
    const resolved = { ts: time(seconds + index), projectPath: project, files, seenCount: 1 };
    recordResolution(
      error,
      {
        summary: fix ?? `fix in ${project}`,
        toolSequence: ['Edit', 'Bash'],
        ...(raw === undefined ? {} : { errorRaw: raw }),
      },
      resolved,
      db,
    );
  }
}

function summary(known: { resolution: string } | null | undefined): unknown {
  return known ? (JSON.parse(known.resolution) as { summary: unknown }).summary : known;
}

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
    'connect ECONNREFUSED <N>.0.0.1:<N>',
    'curl: (<N>) Connection refused',
    true,
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
  {
    title: 'findResolution() prefers the own project, then the most used',
    run: ({ open }) => {
      const db = open();
      learn(db, UNDEFINED, { project: '/home/dev/bank', times: 5 });
      learn(db, UNDEFINED, { project: '/home/dev/shop', times: 1 });
      learn(db, UNDEFINED, { project: null, times: 3 });
      assert.equal(summary(findResolution(UNDEFINED, '/home/dev/shop', db)), 'fix in /home/dev/shop');
      assert.equal(summary(findResolution(UNDEFINED, '/home/dev/none', db)), 'fix in /home/dev/bank');
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
    title: 'searchErrorKB() takes the exact error before one that is only alike, even of another project',
    run: ({ open }) => {
      const db = open();
      learn(db, UNDEFINED, { project: '/home/dev/bank', fix: 'exact' });
      learn(db, `${UNDEFINED} now`, { times: 9, fix: 'alike' });
      assert.equal(summary(searchErrorKB(UNDEFINED, '/home/dev/shop', db)), 'exact');
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
      assert.equal(summary(searchErrorKB(masked, null, db, failed(429))), 'wait a minute');
      assert.equal(searchErrorKB(masked, null, db, failed(404)), null);
      assert.equal(summary(searchErrorKB(masked, null, db)), 'wait a minute');
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
      assert.equal(summary(searchErrorKB(masked, null, db, stack)), 'add it');
      assert.equal(searchErrorKB(masked, null, db), null);
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
          recordSeen(errorRaw, { ts: time(index), projectPath: null, errorRaw, files: [] }, db);
        }
      });
      assert.equal(summary(searchErrorKB('the parser lost its grammar again', null, db)), 'the fix');
    },
  },
  {
    title: 'recordResolution() counts each time and keeps the newer way',
    run: ({ open }) => {
      const db = open();
      learn(db, UNDEFINED, { fix: 'old', seconds: 0 });
      learn(db, UNDEFINED, { fix: 'new', seconds: 60 });
      learn(db, UNDEFINED, { fix: 'elsewhere', project: '/home/dev/bank' });
      const rows = db.sqlite.all('SELECT * FROM error_kb ORDER BY id');
      assert.equal(rows.length, 2);
      assert.deepEqual(
        { ...rows[0], resolution: summary(rows[0] as { resolution: string }) },
        {
          id: 1,
          ts: time(60),
          error_normalized: UNDEFINED,
          error_raw: null,
          resolution: 'new',
          resolved_by: null,
          tool_sequence: '["Edit","Bash"]',
          use_count: 2,
          last_used: time(60),
          project_path: '/home/dev/shop',
          seen_count: 1,
          shown_count: 0,
        },
      );
    },
  },
  {
    title: 'recordResolution() keeps nothing for an error that says too little',
    run: ({ open }) => {
      const db = open();
      for (const error of ['', 'Exit code 1', 'exit code <N>', '<PATH>: <STR>', '???']) {
        learn(db, error, { files: ['src/a.ts'] });
      }
      assert.equal(count(db, 'error_kb') + count(db, 'error_files'), 0);
    },
  },
  {
    title: 'findFileResolutions() gives the newest of the file and project, as many as asked',
    run: ({ open }) => {
      const db = open();
      learn(db, 'first parser failure', { files: ['src/a.ts', 'src/a.ts', 'src/b.ts'], seconds: 1 });
      learn(db, 'second parser failure', { files: ['src/a.ts'], seconds: 2 });
      learn(db, 'third parser failure', { files: ['src/a.ts'], seconds: 3 });
      learn(db, 'other parser failure', { files: ['src/a.ts'], seconds: 4, project: '/home/dev/bank' });
      const errors = (file: string, limit: number) =>
        findFileResolutions(file, '/home/dev/shop', limit, db).map((known) => known.errorNormalized);
      assert.deepEqual(errors('src/a.ts', 2), ['third parser failure', 'second parser failure']);
      assert.deepEqual(errors('src/b.ts', 9), ['first parser failure']);
      assert.deepEqual(errors('src/%', 9), []);
      assert.equal(count(db, 'error_files', "file = 'src/a.ts' AND project_path = '/home/dev/shop'"), 3);
      db.sqlite.exec("DELETE FROM error_kb WHERE error_normalized LIKE 'third%'");
      assert.deepEqual(errors('src/a.ts', 1), ['second parser failure']);
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
    title: "getCachedAnalysis() gives the project's newest row, and the global one when there is none",
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
    title: 'getCachedAnalysis() gives nothing older than the hours',
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
