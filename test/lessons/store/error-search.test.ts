import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Db } from '../../../src/database/connection.ts';
import { getDb } from '../../../src/database/db.ts';
import { normalizeError } from '../../../src/lessons/errors/normalize-error.ts';
import type { Remedy } from '../../../src/lessons/lesson.ts';
import {
  type ErrorFilter,
  findErrors,
  recordPersonsFix,
  searchErrors,
} from '../../../src/lessons/store/error-entries.ts';
import { searchErrorKB } from '../../../src/lessons/store/error-search.ts';
import { recordSeen } from '../../../src/lessons/store/seen-errors.ts';
import { temporaryHome } from '../../support/home.ts';
import { seedLearnt } from '../../support/lessons.ts';
import { isoBeforeNow } from '../../support/seed.ts';

const SHOP = '/home/dev/shop';
const BANK = '/home/dev/bank';
const ANY: ErrorFilter = { projects: undefined, state: 'any' };

type Seen = {
  readonly raw: string;
  readonly project?: string;
  readonly fix?: string;
};

function record(db: Db, errors: readonly Seen[]): void {
  db.sqlite.transaction(() => {
    for (const [index, { raw, project = SHOP, fix }] of errors.entries()) {
      const at = { ts: isoBeforeNow(errors.length - index), projectPath: project };
      const error = normalizeError(raw);
      recordSeen(error, { ...at, said: raw, errorRaw: raw }, db);
      if (fix !== undefined) recordPersonsFix(error, { ...at, summary: fix }, db);
    }
  });
}

type Opened = Disposable & { readonly db: Db };

function databaseWith(errors: readonly Seen[]): Opened {
  const home = temporaryHome();
  const db = getDb(home.paths, { mode: 'write', busyTimeoutMs: 1000 });
  record(db, errors);
  return {
    db,
    [Symbol.dispose]: () => {
      db.sqlite.close();
      home[Symbol.dispose]();
    },
  };
}

type Options = { readonly filter?: ErrorFilter; readonly own?: string; readonly limit?: number };

/** The raw texts of what is found, best first. */
function search(db: Db, text: string, { filter = ANY, own = SHOP, limit = 20 }: Options = {}): string[] {
  const ids = searchErrors({ text, filter, ownProject: [own], limit }, db);
  return findErrors(ids, db).map(({ raw }) => String(raw));
}

describe('searchErrors()', () => {
  const port = 'Error: no port given at src/server.ts:10';
  const module = '오류: 모듈을 찾을 수 없습니다';
  const type = `TypeError: Cannot read properties of undefined (reading "id")`;
  const database = 'SqliteError: database is locked';
  const all: Seen[] = [
    { raw: port, fix: 'edited settings.ini, then `npm test` passed' },
    { raw: module },
    { raw: type },
    { raw: database, project: BANK, fix: 'closed the other connection' },
  ];
  const opened = databaseWith(all);
  afterAll(() => opened[Symbol.dispose]());

  const rows: [what: string, text: string, found: string[]][] = [
    ['words of the error', 'cannot properties', [type]],
    ['beginnings of words', 'prop undef', [type]],
    ['any case', 'typeERROR', [type]],
    ['words that only the raw text has', '"id"', [type]],
    ['words of the fix', 'closed connection', [database]],
    ['a file by its path', 'src/server.ts', [port]],
    ['a file that stands in the fix', 'settings.ini', [port]],
    ['the beginning of a Korean word', '모듈', [module]],
    ['a syllable', '찾', [module]],
    ['what has one of the words, when none has all', 'locked zebra', [database]],
    ['the beginning of one of the words', 'lock zebra', [database]],
    ['what has all words first', 'no port error', [port]],
    ['nothing', 'zebra', []],
    ['nothing for no word', '?!', []],
    ['what looks like the language of the index', 'NOT "port" OR (a* NEAR', [port]],
    ['what stands together, where it stands together', 'port:given', [port]],
    ['nothing else for it', 'error:port', []],
  ];
  for (const [what, text, found] of rows) {
    test(`finds ${what}: ${text}`, () => {
      expect(search(opened.db, text).slice(0, Math.max(1, found.length))).toEqual(found);
    });
  }

  const pairs: [text: string, raw: string, isFound: boolean][] = [
    ['cannot', 'Cannot read', true],
    ['annot', 'Cannot read', false],
    ['read.', 'Cannot read', true],
    ['rea--', 'Cannot read', true],
    ['db.ts', 'at open (src/db.ts:10:5)', true],
    ['src\\db.ts', 'at open (src/db.ts:10:5)', true],
    ['db.ts', 'src/mydb.ts', false],
    ['db.ts', 'src/db.tsx', false],
    ['lib/db.ts', 'src/db.ts', false],
    ['src/d', 'src/db.ts', false],
    ['src/db', 'src/dbase.ts', true],
    ['e', 'never', false],
    ['e', 'code e', true],
    ['모', '모듈을 찾을 수 없습니다', true],
    ['모듈'.normalize('NFD'), '모듈을 찾을 수 없습니다', true],
    ['듈', '모듈을 찾을 수 없습니다', false],
    ['cafe', 'Café closed', true],
    ['CAFÉ', 'cafe closed', true],
    ['2345', 'error TS2345', false],
    ['ts2345', 'error TS2345: Argument', true],
    ['"quoted" (a) b* ^c {d}:', 'b quoted c a d', true],
    ['!!! -- "" * 🎉 \ud83d', '🎉 !!!', false],
  ];
  for (const [text, raw, isFound] of pairs) {
    test(`${isFound ? 'finds' : 'does not find'} ${text} in ${raw}`, () => {
      using own = databaseWith([{ raw: `Failed: ${raw}` }]);
      expect(search(own.db, text)).toEqual(isFound ? [`Failed: ${raw}`] : []);
      expect(search(own.db, 'failed')).toHaveLength(1);
    });
  }

  const orders: [why: string, text: string, first: Seen, second: Seen][] = [
    ['all words before some', 'port refused', { raw: 'refused on that port' }, { raw: 'port port port' }],
    [
      'all words before the own project',
      'read port',
      { raw: 'port is read', project: BANK },
      { raw: 'read' },
    ],
    ['the phrase before the words', 'read port', { raw: 'cannot read port' }, { raw: 'port read' }],
    [
      'the phrase before the own ones',
      'read port',
      { raw: 'read port', project: BANK },
      { raw: 'port read' },
    ],
    ['a phrase that ends within a word', 'read po', { raw: 'cannot read port' }, { raw: 'port was read' }],
    ['the own project before others', 'port', { raw: 'no port' }, { raw: 'port port port', project: BANK }],
    ['the whole word before its beginning', 'port', { raw: 'port' }, { raw: 'portal' }],
    ['the short text before the long one', 'port', { raw: 'port' }, { raw: `port ${'and more '.repeat(9)}` }],
    ['the error before its fix', 'port', { raw: 'port failed', fix: 'x' }, { raw: 'x failed', fix: 'port' }],
  ];
  for (const [why, text, first, second] of orders) {
    test(`puts ${why}`, () => {
      using own = databaseWith([first, second]);
      expect(search(own.db, text)).toEqual([first.raw, second.raw]);
    });
  }

  const filters: [what: string, filter: ErrorFilter, found: string[]][] = [
    ['everything', ANY, [type, port, database]],
    ['one project', { projects: [SHOP], state: 'any' }, [type, port]],
    ['another', { projects: [BANK, `${BANK}/`], state: 'any' }, [database]],
    ['none', { projects: ['/home/dev/none'], state: 'any' }, []],
    ['no spelling', { projects: [], state: 'any' }, []],
    ['open ones', { projects: undefined, state: 'open' }, [type]],
    ['solved ones', { projects: undefined, state: 'solved' }, [port, database]],
    ['solved ones of a project', { projects: [BANK], state: 'solved' }, [database]],
  ];
  for (const [what, filter, found] of filters) {
    test(`keeps to ${what}`, () => {
      const texts = search(opened.db, 'error typeerror sqliteerror', { filter });
      expect(texts.filter((text) => text !== module).sort()).toEqual(found.toSorted());
    });
  }

  test('puts the own project first', () => {
    const text = 'error typeerror sqliteerror';
    expect(search(opened.db, text, { own: BANK })[0]).toBe(database);
    expect(search(opened.db, text, { own: SHOP })[0]).not.toBe(database);
  });

  test('gives no more than asked for', () => {
    expect(search(opened.db, 'error', { limit: 1 })).toHaveLength(1);
  });

  test('finds an error under its newer fix, and no longer under the old one', () => {
    using own = databaseWith([{ raw: port, fix: 'restarted the daemon' }]);
    record(own.db, [{ raw: port, fix: 'wrote the number down' }]);
    expect([search(own.db, 'daemon'), search(own.db, 'number')]).toEqual([[], [port]]);
  });

  const remedies: [remedy: Remedy, words: string[]][] = [
    [{ kind: 'command', failing: 'gulp', use: 'corepack pnpm' }, ['gulp', 'corepack', 'pnpm']],
    [{ kind: 'without', failing: 'gulp', leaveOut: '--bail' }, ['gulp', 'bail']],
    [{ kind: 'directory', use: 'gulp', directory: 'packages/web' }, ['gulp', 'packages/web']],
    [{ kind: 'lint', rule: 'no-console', message: 'Never print' }, ['no-console', 'never']],
  ];
  for (const [remedy, words] of remedies) {
    test(`finds an error by what its lesson says: ${remedy.kind}`, () => {
      using own = databaseWith([{ raw: port }, { raw: database }]);
      const at = { projectPath: SHOP, ts: isoBeforeNow(0) };
      seedLearnt({ key: normalizeError(port), remedy, ...at }, own.db);
      for (const word of words) expect(search(own.db, word), word).toEqual([port]);
      // Not by how a lesson is stored.
      expect(search(own.db, 'kind')).toEqual([]);
      const other = { kind: 'fixer', failing: 'x', use: 'xylophone' } as const;
      seedLearnt({ key: normalizeError(port), remedy: other, ...at }, own.db);
      expect([search(own.db, words[0] ?? ''), search(own.db, 'xylophone')]).toEqual([[], [port]]);
    });
  }

  test('takes any search without a fault, and says the same twice', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.stringMatching(/^[ "'*^(){}:+\-.\\a-zA-Z]{0,40}$/),
      fc.constantFrom(
        ...`AND OR NOT§NEAR(a b, 2)§"§""§'; DROP TABLE events; --§{error raw} : x§\0§%`.split('§'),
      ),
      fc.constantFrom('a'.repeat(5000), '. '.repeat(3000), 'x.'.repeat(400), 'मॉड्यूल', 'ﬀ ß İ Σς'),
    );
    const state = fc.constantFrom('any', 'open', 'solved');
    const projects = fc.constantFrom(undefined, [SHOP], []);
    fc.assert(
      fc.property(text, state, projects, (words, state, projects) => {
        const filter = { projects, state } as ErrorFilter;
        expect(search(opened.db, words, { filter })).toEqual(search(opened.db, words, { filter }));
      }),
      { numRuns: 400 },
    );
  });

  test('finds any error by any of its words', () => {
    // Letters that the index and we take for letters: it knows those of an older Unicode.
    const unit = fc.constantFrom(...`abXY09 _-./\\:"'(){}<>*^,;=%ÀéßñЖжλ모듈을 없다ㅋ🎉…`);
    const texts = fc.array(fc.string({ unit, maxLength: 60 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(texts, (texts) => {
        const all = texts.map((raw) => `Failed: ${raw}`);
        using own = databaseWith(all.map((raw) => ({ raw })));
        for (const { raw } of own.db.sqlite.all('SELECT error_raw AS raw FROM error_kb')) {
          const words = String(raw)
            .split(' ')
            .filter((one) => /[\p{L}\p{N}]/u.test(one));
          for (const word of words) expect(search(own.db, word, { limit: 100 })).toContain(String(raw));
        }
      }),
      { numRuns: 15 },
    );
  });
});

/** More than are looked at one by one: here the filter decides how they are found. */
const MANY = 12_000;
const TINY = '/home/dev/tiny';
const OLD = '/home/dev/old';
const MIXED = '/home/dev/mixed';

describe('searchErrors() among many', () => {
  const letters = (index: number) =>
    index.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] ?? '');
  const opened = databaseWith(
    Array.from({ length: MANY }, (_, index): Seen => {
      const isLate = index >= MANY - 100;
      const project = index < 3 ? TINY : index < 1800 ? OLD : isLate || index < 1900 ? MIXED : SHOP;
      const planted = index === 17 ? ' wallaby' : index === 5000 ? ' of common' : isLate ? '' : ' earlier';
      const raw = `Error: common failure of ${letters(index)} module${letters(index)}${planted}`;
      return { raw, project, ...(index % 2 === 0 ? {} : { fix: 'wrote it' }) };
    }),
  );
  afterAll(() => opened[Symbol.dispose]());
  const of = (project: string, state: ErrorFilter['state'] = 'any'): Options => ({
    filter: { projects: [project], state },
    own: project,
  });

  const rows: [what: string, text: string, options: Options, count: number][] = [
    ['a word that all have', 'common', {}, 20],
    ['the beginning of a word that all have', 'comm', {}, 20],
    ['a word that all have, in a project with three', 'common', of(TINY), 3],
    ['the beginning of it, there', 'comm fail', of(TINY), 3],
    ['a word that all have, in a project that is only old', 'common', of(OLD), 20],
    ['the beginning of a thousand words, there', 'mod', of(OLD), 20],
    ['one word that all have and one that none has, there', 'common giraffe', of(OLD), 20],
    ['one word that all have and one that one has, there', 'common wallaby', of(OLD), 20],
    ['open ones', 'common', of(TINY, 'open'), 2],
    ['solved ones', 'common', of(TINY, 'solved'), 1],
    ['old ones of a project of which there are new ones', 'earlier', of(MIXED), 20],
    ['one that is alone', 'wallaby', {}, 1],
    ['two words that never meet', 'wallaby modulet', {}, 20],
  ];
  for (const [what, text, options, count] of rows) {
    test(`finds ${what}`, () => {
      expect(search(opened.db, text, options)).toHaveLength(count);
    });
  }

  test('puts the one with both words first', () => {
    for (const options of [{}, of(OLD)])
      expect(search(opened.db, 'comm walla', options)[0]).toEndWith(' wallaby');
  });

  test('puts the one with the phrase first, also when it is old', () => {
    expect(search(opened.db, 'of common')[0]).toEndWith(' of common');
  });

  test('gives the newest among equals', () => {
    const [first] = search(opened.db, 'common failure', of(MIXED, 'solved'));
    expect(first).toContain(` ${letters(MANY - 1)} `);
  });

  test('finds those of a project of which the newest rows have any part', () => {
    const some = (project: string, count: number): Seen[] =>
      Array.from({ length: count }, (_, index) => ({
        raw: `Error: rare ${project} ${letters(index)}`,
        project,
      }));
    for (const count of [3, 7, 9, 11]) {
      using own = databaseWith([...some(SHOP, 1000), ...some(BANK, count)]);
      expect(search(own.db, 'rare', of(BANK))).toHaveLength(count);
    }
  });

  test('puts the own project first, also when its errors are rare', () => {
    const newest: Seen[] = [{ raw: 'Error: common failure of mine', project: BANK }];
    record(opened.db, [...newest, { raw: 'Error: common failure of theirs' }]);
    expect(search(opened.db, 'common', { own: BANK })[0]).toBe('Error: common failure of mine');
  });
});

test('searchErrorKB() tells what helped one program of no other', () => {
  using own = databaseWith([]);
  const key = (program: string, what: string) => `unrecognized arguments in the ${what} file · ${program}`;
  const raw = 'error: unrecognized arguments in the settings file';
  recordSeen(
    key('pytest', 'settings'),
    { ts: isoBeforeNow(1), projectPath: SHOP, said: raw, errorRaw: raw },
    own.db,
  );
  const fix = { ts: isoBeforeNow(0), projectPath: SHOP, summary: 'a fix' };
  recordPersonsFix(key('pytest', 'settings'), fix, own.db);
  const found = (program: string) => searchErrorKB(key(program, 'other'), SHOP, own.db, raw)?.id;
  expect([found('pytest'), found('mypy')]).toEqual([1, undefined]);
});
