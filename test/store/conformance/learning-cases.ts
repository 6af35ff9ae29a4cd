import assert from 'node:assert/strict';
import { parseJson } from '../../../src/core/guards.ts';
import type { Recording } from '../../../src/core/recording.ts';
import type { Db } from '../../../src/store/connection.ts';
import { queryOpenErrors } from '../../../src/store/open-errors.ts';
import { record } from '../../../src/store/record.ts';
import { type Case, count, failure, prompt, sessionEnd, success, tell, time } from './context.ts';

/** From an error to its lesson, through record() as the hooks call it. */

const PORT = 'Error: settings.ini has no port';

type Lesson = Record<string, unknown> & {
  readonly error: string;
  readonly use: number;
  readonly seen: number;
};

function lessons(db: Db): Lesson[] {
  return db.sqlite.all('SELECT * FROM error_kb WHERE resolution IS NOT NULL ORDER BY id').map((row) => ({
    ...(parseJson(String(row.resolution)) as Record<string, unknown>),
    error: String(row.error_normalized),
    use: Number(row.use_count),
    seen: Number(row.seen_count),
  }));
}

function open(db: Db, session = 's1'): string[] {
  return queryOpenErrors(session, db).map((error) => error.error);
}

type Story = {
  readonly title: string;
  readonly told: readonly Recording[];
  readonly learned: readonly string[];
  readonly open?: readonly string[];
};

const failed = (command = 'npm test', fields: Parameters<typeof failure>[2] = {}) =>
  failure('Bash', PORT, { command, ...fields });
const passed = (command = 'npm test', fields: Parameters<typeof success>[1] = {}) =>
  success('Bash', { command, ...fields });
const edited = (file = 'settings.ini', fields: Parameters<typeof success>[1] = {}) =>
  success('Edit', { file, ...fields });
const rejected = (error = 'File has not been read yet') => failure('Edit', error, { file: 'src/a.ts' });

const STORIES: readonly Story[] = [
  {
    title: 'names the edited file when the same command passes after an edit',
    told: [failed(), edited(), passed()],
    learned: ['edited settings.ini, then `npm test` passed'],
  },
  {
    title: 'says it in Korean when the language is Korean',
    told: [failed(), edited(), passed('npm test', { language: 'ko' })],
    learned: ['settings.ini 수정 후 `npm test` 통과'],
  },
  {
    title: 'does not take five other commands for the solution (D15)',
    told: [failed(), ...Array.from({ length: 5 }, () => passed('ls -la'))],
    learned: [],
    open: [PORT],
  },
  {
    title: 'solves an error once',
    told: [failed(), edited(), passed(), passed(), passed()],
    learned: ['edited settings.ini, then `npm test` passed'],
  },
  {
    title: 'says so when trying again without a change was enough',
    told: [failed(), passed()],
    learned: ['tried again without a change: `npm test` passed'],
  },
  {
    title: 'names commands that were run between',
    told: [failed(), passed('npm install'), passed()],
    learned: ['ran `npm install`, then `npm test` passed'],
  },
  {
    title: 'does not count what was done before the error',
    told: [edited('early.ts'), failed(), passed()],
    learned: ['tried again without a change: `npm test` passed'],
  },
  {
    title: 'takes a run of everything for one of a part',
    told: [failed('npm test -- src/a.test.ts'), edited('src/a.ts'), passed('npm test')],
    learned: ['edited src/a.ts, then `npm test` passed'],
  },
  {
    title: 'does not take a run of another part for the solution',
    told: [failed('npm test -- src/a.test.ts'), passed('npm test -- src/b.test.ts')],
    learned: [],
    open: [PORT],
  },
  {
    title: 'does not trust a success whose failure a pipe hides',
    told: [failed(), edited(), passed('npm test | tail -5'), passed('npm test; true')],
    learned: [],
    open: [PORT],
  },
  {
    title: "does not let another agent's success solve it",
    told: [
      failed('npm test', { agent: 'a1' }),
      edited('x.ts', { agent: 'a2' }),
      passed('npm test', { agent: 'a2' }),
    ],
    learned: [],
    open: [PORT],
  },
  {
    title: "does not let an agent's success solve an error of the main session",
    told: [failed(), passed('npm test', { agent: 'a1' })],
    learned: [],
    open: [PORT],
  },
  {
    title: "lets the main session finish what its agent began, with both agents' steps and nobody else's",
    told: [
      failed('npm test', { agent: 'a1' }),
      edited('by-agent.ts', { agent: 'a1' }),
      edited('by-stranger.ts', { agent: 'a2' }),
      edited('by-main.ts'),
      passed(),
    ],
    learned: ['edited by-agent.ts, by-main.ts, then `npm test` passed'],
  },
  {
    title: "does not let another session's success solve it",
    told: [failed(), passed('npm test', { session: 's2' })],
    learned: [],
    open: [PORT],
  },
  {
    title: 'learns both of two different errors of one command family',
    told: [
      failed(),
      failure('Bash', 'Error: colour is missing', { command: 'npm test' }),
      edited(),
      passed(),
    ],
    learned: ['edited settings.ini, then `npm test` passed', 'edited settings.ini, then `npm test` passed'],
  },
  {
    title: 'forgets an error that says too little once it is solved',
    told: [failure('Bash', 'Exit code 1', { command: 'npm test' }), edited(), passed()],
    learned: [],
  },
  {
    title: 'solves an error of a file tool by the same file, also through another editing tool',
    told: [
      failure('Edit', 'String to replace not found in file', { file: 'src/a.ts' }),
      success('Read', { file: 'src/a.ts' }),
      success('Edit', { file: 'src/b.ts' }),
      success('Write', { file: 'src/a.ts' }),
    ],
    learned: ['edited src/b.ts, then Write succeeded'],
  },
  {
    title: 'learns nothing from an edit that just worked at the second time, and closes its error',
    told: [rejected(), edited('src/a.ts')],
    learned: [],
  },
  {
    title: 'learns nothing from an edit after a look with a command, and closes its error',
    told: [rejected(), passed('cat src/a.ts'), passed('git status'), edited('src/a.ts')],
    learned: [],
  },
  {
    title: 'learns what was read before a rejected edit worked',
    told: [rejected(), success('Read', { file: 'src/a.ts' }), edited('src/a.ts')],
    learned: ['read src/a.ts, then Edit succeeded'],
  },
  {
    title: "does not take what was read before the rejection, or by another agent, for the edit's help",
    told: [
      success('Read', { file: 'src/a.ts' }),
      rejected(),
      success('Read', { file: 'src/a.ts', agent: 'a1' }),
      edited('src/a.ts'),
    ],
    learned: [],
  },
  {
    title: 'closes both errors of a file when its edit teaches nothing',
    told: [rejected(), rejected('String to replace not found in file'), edited('src/a.ts')],
    learned: [],
  },
  {
    title: 'does not take reading commands for the solution',
    told: [failed(), passed('git status'), passed('cat settings.ini'), passed('npm ls'), passed()],
    learned: ['tried again without a change: `npm test` passed'],
  },
  {
    title: 'names what was changed and not what was looked at',
    told: [
      failed(),
      passed('git diff'),
      success('Read', { file: 'README' }),
      passed('npm install'),
      passed(),
    ],
    learned: ['ran `npm install`, then `npm test` passed'],
  },
  {
    title: 'does not solve an error of reading by writing, nor one without a file',
    told: [
      failure('Read', 'File does not exist at all', { file: 'src/a.ts' }),
      failure('WebFetch', 'host name not known'),
      success('Write', { file: 'src/a.ts' }),
      success('WebFetch'),
    ],
    learned: [],
    open: ['File does not exist at all', 'host name not known'],
  },
  {
    title: 'does not learn from a command that is no command',
    told: [failed('ls'), passed('ls'), failed(''), passed('')],
    learned: [],
    open: [PORT, PORT],
  },
];

const STORY_CASES = STORIES.map(
  ({ title, told, learned, open: unsolved = [] }): Case => ({
    title: `record() ${title}`,
    run: (context) => {
      const db = context.open();
      tell(context, db, ...told);
      assert.deepEqual(
        lessons(db).map((lesson) => lesson.summary),
        learned,
      );
      assert.deepEqual(open(db), unsolved);
    },
  }),
);

const DETAIL_CASES: readonly Case[] = [
  {
    title: 'record() keeps how an error was solved: label, tools, prompt, files',
    run: (context) => {
      const db = context.open();
      const mentioned = ['src/server.ts'];
      tell(
        context,
        db,
        prompt(`make it run ${'😀'.repeat(200)}`),
        failed('npm test', { mentioned, id: 't1' }),
      );
      tell(context, db, edited(), success('Grep'), passed('npm test', { ts: time(60) }));
      const [lesson] = lessons(db);
      assert.deepEqual(
        { ...lesson, promptContext: undefined },
        {
          summary: 'edited settings.ini, then `npm test` passed',
          tool: 'Bash',
          sessionId: 's1',
          resolvedBy: 'cross_tool_resolution',
          errorRaw: PORT,
          filePath: 'settings.ini',
          toolSequence: ['Edit', 'Grep', 'Bash'],
          promptContext: undefined,
          command: 'npm test',
          error: PORT,
          use: 1,
          seen: 1,
        },
      );
      assert.match(String(lesson?.promptContext), /^make it run (?:😀)+$/u);
      const files = db.sqlite.all('SELECT file FROM error_files ORDER BY file').map((row) => row.file);
      assert.deepEqual(files, ['settings.ini', 'src/server.ts']);
    },
  },
  {
    title: 'record() labels a success by the same tool alone success_after_error',
    run: (context) => {
      const db = context.open();
      tell(context, db, failed(), passed('npm install'), passed());
      assert.equal(lessons(db)[0]?.resolvedBy, 'success_after_error');
    },
  },
  {
    title: 'record() counts occurrences, solutions and showings apart',
    run: (context) => {
      const db = context.open();
      tell(context, db, failed(), failed(), passed());
      assert.deepEqual(
        lessons(db).map(({ use, seen }) => ({ use, seen })),
        [{ use: 1, seen: 2 }],
      );
      tell(
        context,
        db,
        failed('npm test', { shown: 1, ts: time(100) }),
        failed('npm test', { shown: 1, ts: time(200) }),
      );
      const row = db.sqlite.get('SELECT use_count, seen_count, shown_count, last_used FROM error_kb');
      assert.deepEqual({ ...row }, { use_count: 1, seen_count: 4, shown_count: 2, last_used: time(200) });
      tell(context, db, passed('npm test', { ts: time(300) }));
      assert.deepEqual(
        lessons(db).map(({ use, seen }) => ({ use, seen })),
        [{ use: 2, seen: 4 }],
      );
      tell(context, db, failed('npm test', { projectPath: '/home/dev/bank', session: 's9' }));
      assert.equal(lessons(db)[0]?.seen, 4);
    },
  },
  {
    title: 'record() writes a call that the client reports twice once',
    run: (context) => {
      const db = context.open();
      const summary = (fields: Parameters<typeof failed>[1]) =>
        ({ ...failed('npm test', fields), isSummary: true }) as const;
      tell(context, db, failed('npm test', { id: 'call-1' }), summary({ id: 'call-1' }));
      tell(context, db, summary({ id: 'call-2' }), summary({ id: 'call-1', session: 's2' }));
      tell(context, db, failed(), failed());
      assert.equal(count(db, 'events', "type = 'tool_error'"), 5);
      assert.equal(open(db).length, 4);
    },
  },
  {
    title: 'record() is not stopped by damaged rows of the same session',
    run: (context) => {
      const db = context.open();
      for (const [type, data] of [
        ['prompt', '{broken'],
        ['tool_error', '{"x'],
        ['tool_use', ']'],
      ]) {
        db.sqlite.run(
          'INSERT INTO events(type, ts, session_id, data) VALUES (?, ?, ?, ?)',
          String(type),
          time(50),
          's1',
          String(data),
        );
      }
      tell(context, db, failed('npm test', { id: 'call-1' }), edited(), passed(), sessionEnd());
      assert.equal(lessons(db).length, 1);
    },
  },
  {
    title: 'record() keeps an open error of every kind bounded, and solved ones do not stay open (D18)',
    run: (context) => {
      const db = context.open();
      for (let index = 0; index < 130; index++) tell(context, db, failed('npm test', { ts: time(index) }));
      assert.ok(count(db, 'open_errors') <= 64);
      tell(context, db, edited(), passed());
      assert.equal(count(db, 'open_errors'), 0);
      assert.equal(lessons(db)[0]?.summary, 'edited settings.ini, then `npm test` passed');
    },
  },
  {
    title: 'record() writes nothing of a recording that fails half-way',
    run: (context) => {
      const db = context.open();
      const broken = {
        ...failed(),
        errors: [...failed().errors, null],
      } as unknown as Recording;
      assert.throws(() => record([prompt('first'), broken], context.paths, db));
      assert.equal(count(db, 'events') + count(db, 'open_errors'), 0);
    },
  },
];

export const LEARNING_CASES = [...STORY_CASES, ...DETAIL_CASES];
