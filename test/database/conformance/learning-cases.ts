import assert from 'node:assert/strict';
import type { Db } from '../../../src/database/connection.ts';
import { queryEvents } from '../../../src/database/events.ts';
import type { Recording } from '../../../src/hooks/decision.ts';
import { isKnownCall, record } from '../../../src/hooks/store/record.ts';
import type { ErrorGroup, Lesson, Remedy } from '../../../src/lessons/lesson.ts';
import { recordPersonsFix } from '../../../src/lessons/store/error-entries.ts';
import { forgetError } from '../../../src/lessons/store/forget-error.ts';
import { type LearntOptions, readLog, saveLearnt } from '../../../src/lessons/store/lesson-log.ts';
import { readToldLessons } from '../../../src/lessons/store/told-lessons.ts';
import { column, insertRow, valuesIn } from '../../support/rows.ts';
import { count, failure, prompt, sessionEnd, success, test, time } from './context.ts';

/** From a call to its row in the log, and from the log to what is told. */

const SHOP = '/home/dev/shop';
const PORT = 'no port given · npm test';
const FLAG = "unknown option '--bail' · npm";

type Fields = Parameters<typeof failure>[2];
const failed = (fields: Fields = {}) => failure('Bash', PORT, { command: 'npm test', ...fields });
const passed = (fields: Fields = {}) => success('Bash', { command: 'npm test', ...fields });

/** Each is the same call by another way, or one that cannot be told from it. */
const REPEATED: readonly [what: string, told: readonly Recording[], kinds: readonly string[]][] = [
  ['a failure twice', [failed({ id: 'c1' }), failed({ id: 'c1' })], ['tool_error']],
  ['a success twice', [passed({ id: 'c1' }), passed({ id: 'c1' })], ['tool_use']],
  ['a success behind the failure', [failed({ id: 'c1' }), passed({ id: 'c1' })], ['tool_error']],
  ['a failure behind the success', [passed({ id: 'c1' }), failed({ id: 'c1' })], ['tool_use']],
  ['a copy in a forked session', [failed({ id: 'c1' }), failed({ id: 'c1', session: 's2' })], ['tool_error']],
  [
    'calls of different ids, and of none',
    [failed({ id: 'c1' }), failed({ id: 'c2' }), failed(), failed(), passed(), passed()],
    ['tool_error', 'tool_error', 'tool_error', 'tool_error', 'tool_use', 'tool_use'],
  ],
  [
    'a skill called twice by one id',
    [1, 2].map(() => ({ ...success('Skill', { id: 'c1' }), meta: { skill: 'deploy' } }) as Recording),
    ['skill_used', 'tool_use'],
  ],
];

for (const [what, told, expected] of REPEATED)
  test(`record() writes each call once: ${what}`, ({ db, tell }) => {
    tell(...told);
    assert.deepEqual(column(db.sqlite, 'SELECT type FROM events ORDER BY id'), expected);
    const seen = expected.filter((kind) => kind === 'tool_error').length;
    assert.equal(count(db, 'error_kb'), seen > 0 ? 1 : 0);
    assert.equal(db.sqlite.get('SELECT seen_count AS n FROM error_kb')?.n ?? 0, seen);
  });
test('record() counts the telling of a lesson also where the call is known', ({ db, tell }) => {
  tell(failed({ id: 'c1' }), failed({ id: 'c1', shown: 1, ts: time(9) }));
  const row = 'SELECT seen_count, shown_count, last_used FROM error_kb';
  assert.deepEqual(valuesIn(db.sqlite, row), [[1, 1, time(9)]]);
});
test('isKnownCall() knows calls by their id alone, and looks them up in an index', ({ db, tell }) => {
  tell(failed({ id: 'c1' }), passed({ id: 'c2' }), failed());
  db.sqlite.run("INSERT INTO events(type, ts, session_id, data) VALUES ('tool_use', '', '', '{broken')");
  const ids = ['c1', 'c2', 'c3', '', null];
  const known = ids.map((id) => isKnownCall(id, db));
  assert.deepEqual(known, [true, true, false, false, false]);
  const plan = db.sqlite.all(
    `EXPLAIN QUERY PLAN SELECT 1 FROM events WHERE type IN ('tool_use', 'tool_error')
           AND CASE WHEN json_valid(data) THEN json_extract(data, '$.toolUseId') END = 'x' LIMIT 1`,
  );
  assert.match(String(plan[0]?.detail), /idx_events_call/);
});
test('record() writes a call with all that is known of it, and nothing that is not', ({ db, tell }) => {
  const call = { directory: 'web', remark: 'I try it', chars: 120 };
  const [error] = failed().errors;
  assert.ok(error);
  const failures = { ...failed({ shown: 7, agent: 'a1' }), errors: [{ ...error, ...call }] };
  tell({ ...passed({ id: 'c1' }), ...call } as Recording, failures, success('Read', { file: 'a.ts' }));
  const data = column(db.sqlite, 'SELECT data FROM events ORDER BY id').map((text) =>
    JSON.parse(String(text)),
  );
  const shell = { tool: 'Bash', command: 'npm test', line: 'npm test', ...call };
  assert.deepEqual(data, [
    { ...shell, toolUseId: 'c1', meta: {}, success: true },
    { ...shell, agentId: 'a1', agentType: 'executor', told: 7, error: PORT, said: PORT, errorRaw: PORT },
    { tool: 'Read', file: 'a.ts', chars: 0, meta: {}, success: true },
  ]);
});
test('record() notes only errors that somebody else may meet', ({ db, tell }) => {
  const noises = [null, 'unclear', 'client', 'interrupted', 'secret', 'silent', 'finding'];
  const told = noises.map((noise) => failure('Bash', `error of ${noise}`, { command: 'make', noise }));
  tell(...told, failure('Bash', 'Exit code 1', { command: 'make' }));
  assert.equal(count(db, 'events'), noises.length + 1);
  const noted = column(db.sqlite, 'SELECT error_normalized FROM error_kb ORDER BY id');
  assert.deepEqual(noted, ['error of null', 'error of unclear']);
  const noise = "json_extract(data, '$.noise')";
  assert.equal(count(db, 'events', `${noise} IS NOT NULL`), noises.length - 1);
});
test('record() takes no success for a fix', ({ db, tell }) => {
  tell(failed(), success('Edit', { file: 'settings.ini' }), passed());
  assert.equal(count(db, 'error_kb', 'resolution IS NULL'), 1);
});
test('record() is not stopped by damaged rows of the same session', ({ db, tell }) => {
  for (const [type, data] of Object.entries({ prompt: '{broken', tool_error: '{"x', tool_use: ']' }))
    insertRow(db.sqlite, 'events', { type, ts: time(50), session_id: 's1', data });
  tell(failed({ id: 'call-1' }), passed({ id: 'call-2' }), sessionEnd());
  assert.equal(queryEvents({ type: 'session_summary' }, db).length, 1);
  assert.equal(count(db, 'events'), 6);
});
test('record() writes nothing of a recording that fails half-way', ({ db, paths }) => {
  const broken = { ...failed(), errors: [...failed().errors, null] } as unknown as Recording;
  assert.throws(() => record([prompt('first'), broken], paths, db));
  assert.equal(count(db, 'events') + count(db, 'error_kb'), 0);
});

const REMEDY: Remedy = { kind: 'command', failing: 'npm test', use: 'npm run test:unit' };

type Group = Partial<Omit<ErrorGroup, 'lesson'>> & {
  readonly sessionsHelped?: number;
  readonly remedy?: Remedy | null;
};

/** What was learnt of an error; `remedy` null: nothing is to be told. */
function group({
  key = PORT,
  sessions = 2,
  isOpen = true,
  sessionsHelped = sessions,
  remedy = REMEDY,
}: Group = {}): ErrorGroup {
  const evidence = {
    sessions: sessionsHelped,
    agents: 3,
    failed: 4,
    helped: 5,
    first: time(1),
    last: time(2),
    failedCalls: ['c1'],
    helpedCalls: ['c2'],
  };
  const lesson: Lesson | null = remedy && { key, said: `said: ${key}`, remedy, evidence };
  return { key, sessions, isOpen, lesson };
}

function save(db: Db, groups: readonly ErrorGroup[], options: Partial<LearntOptions> = {}): void {
  saveLearnt(groups, { projectPath: SHOP, scope: 'project', ...options }, db);
}

function stored(db: Db): unknown[] {
  const told = "COALESCE(resolution ->> 'use', resolution ->> 'summary')";
  const columns = `error_normalized, ${told}, resolved_by, state, sessions`;
  return valuesIn(db.sqlite, `SELECT ${columns} FROM error_kb ORDER BY id`);
}

const USE = 'npm run test:unit';
const OTHER: Remedy = { kind: 'fixer', failing: 'npm test', use: 'npm ci' };

test('saveLearnt() stores a lesson with its evidence, so that it is told', ({ db }) => {
  save(db, [group()]);
  const { id: _, ...row } = db.sqlite.get('SELECT * FROM error_kb') ?? {};
  assert.deepEqual(
    { ...row, evidence: JSON.parse(String(row.evidence)) },
    {
      ts: time(2),
      error_normalized: PORT,
      said: `said: ${PORT}`,
      error_raw: `said: ${PORT}`,
      resolution: JSON.stringify(REMEDY),
      resolved_by: 'lesson',
      tool_sequence: null,
      use_count: 5,
      last_used: time(2),
      project_path: SHOP,
      seen_count: 4,
      shown_count: 0,
      state: null,
      shared: null,
      quiet: 0,
      pinned: 0,
      sessions: 2,
      evidence: group().lesson?.evidence,
    },
  );
  const { lessons } = readToldLessons([SHOP], db);
  const [told] = lessons;
  assert.deepEqual([told?.key, told?.sessions], [PORT, 2]);
  assert.deepEqual(readToldLessons(['/home/dev/bank'], db).lessons, []);
});
test('saveLearnt() keeps what is known of an error that was seen', ({ db, tell }) => {
  tell(failed({ errorRaw: 'all that was printed' }), failed());
  save(db, [group()]);
  const row = db.sqlite.get('SELECT seen_count, error_raw, ts FROM error_kb');
  assert.deepEqual({ ...row }, { seen_count: 2, error_raw: PORT, ts: time(0) });
  assert.deepEqual(stored(db), [[PORT, USE, 'lesson', 'open', 2]]);
});
test('saveLearnt() replaces a lesson by what the whole log says now', ({ db, tell }) => {
  tell(failed());
  save(db, [group()]);
  save(db, [group({ remedy: OTHER, sessions: 5, isOpen: false })]);
  assert.deepEqual(stored(db), [[PORT, 'npm ci', 'lesson', 'solved', 5]]);
});
test('saveLearnt() withdraws a lesson that the log speaks against, and remembers it', ({ db, tell }) => {
  tell(failed());
  save(db, [group()]);
  save(db, [group({ remedy: null, sessions: 3 })]);
  assert.deepEqual(stored(db), [[PORT, null, null, 'contradicted', 3]]);
  assert.deepEqual(readToldLessons([SHOP], db).lessons, []);
  save(db, [group({ remedy: null, sessions: 4, isOpen: false })]);
  assert.deepEqual(stored(db), [[PORT, null, null, 'contradicted', 4]]);
  save(db, [group({ remedy: OTHER, sessions: 6 })]);
  assert.deepEqual(stored(db), [[PORT, 'npm ci', 'lesson', 'open', 6]]);
});
test('saveLearnt() says of an error without lesson whether it is open', ({ db, tell }) => {
  tell(failed(), failure('Bash', FLAG, { command: 'npm test' }));
  save(db, [group({ remedy: null }), group({ key: FLAG, remedy: null, isOpen: false, sessions: 1 })]);
  assert.deepEqual(stored(db), [
    [PORT, null, null, 'open', 2],
    [FLAG, null, null, 'solved', 1],
  ]);
  // No row is made of what nobody has noted.
  save(db, [group({ key: 'another error', remedy: null })]);
  assert.equal(count(db, 'error_kb'), 2);
});
test('saveLearnt() takes nothing back, and replaces nothing, by what one session shows', ({ db, tell }) => {
  tell(failed());
  save(db, [group()]);
  save(db, [group({ remedy: null, sessions: 1, isOpen: false })], { scope: 'session' });
  save(db, [group({ remedy: OTHER, sessions: 1 })], { scope: 'session' });
  assert.deepEqual(stored(db), [[PORT, USE, 'lesson', 'open', 2]]);
  save(db, [group({ remedy: null })]);
  save(db, [group({ remedy: OTHER, sessions: 1 })], { scope: 'session' });
  assert.deepEqual(stored(db), [[PORT, null, null, 'contradicted', 2]]);
});
test('saveLearnt() adds what one session has found out where nothing is known', ({ db, tell }) => {
  tell(failed());
  save(db, [group({ sessions: 1 }), group({ key: FLAG, sessions: 1 })], { scope: 'session' });
  assert.deepEqual(stored(db), [
    [PORT, USE, 'lesson', null, 1],
    [FLAG, USE, 'lesson', null, 1],
  ]);
});
for (const scope of ['session', 'project'] as const)
  test(`saveLearnt() leaves what a person or a model said: ${scope}`, (context) => {
    const db = context.open();
    recordPersonsFix(PORT, { ts: time(0), projectPath: SHOP, summary: 'set PORT' }, db);
    recordPersonsFix(FLAG, { ts: time(0), projectPath: SHOP, summary: 'by a model' }, db);
    db.sqlite.run("UPDATE error_kb SET resolved_by = 'model' WHERE error_normalized = ?", FLAG);
    for (const remedy of [OTHER, null])
      save(db, [group({ remedy }), group({ key: FLAG, remedy })], { scope });
    const [state, sessions] = scope === 'project' ? ['open', 2] : [null, 0];
    assert.deepEqual(stored(db), [
      [PORT, 'set PORT', 'user', state, sessions],
      [FLAG, 'by a model', 'model', state, sessions],
    ]);
  });
test('saveLearnt() keeps to the project', ({ db, tell }) => {
  tell(failed(), failed({ projectPath: '/home/dev/bank' }), failed({ projectPath: null }));
  save(db, [group()]);
  save(db, [group({ remedy: OTHER })], { projectPath: '/home/dev/bank' });
  save(db, [group({ remedy: null })]);
  assert.deepEqual(stored(db), [
    [PORT, null, null, 'contradicted', 2],
    [PORT, 'npm ci', 'lesson', 'open', 2],
    [PORT, null, null, null, 0],
  ]);
});
test('saveLearnt() stores nothing of what is forgotten or says too little', ({ db }) => {
  forgetError(PORT, time(0), db);
  save(db, [group(), group({ key: 'Exit code 1' }), group({ key: '' }), group({ key: FLAG })]);
  assert.deepEqual(stored(db), [[FLAG, USE, 'lesson', null, 2]]);
});

test('readLog() returns the calls and prompts of a project in order of time', ({ db, tell }) => {
  const said = 'error: no port given';
  tell(
    passed({ ts: time(3), id: 'c3', agent: 'a1' }),
    failed({ ts: time(2), id: 'c2', said, errorRaw: 'all', noise: 'unclear' }),
    prompt('go', { ts: time(1) }),
    { ...passed({ ts: time(4), id: 'c4' }), isUnfinished: true } as Recording,
    success('Edit', { ts: time(5), file: 'a.ts', id: 'c5' }),
    passed({ ts: time(3), projectPath: '/home/dev/bank' }),
    sessionEnd({ ts: time(6) }),
  );
  db.sqlite.run(
    "INSERT INTO events(type, ts, session_id, project_path, data) VALUES ('tool_use', '', 's', ?, '{x')",
    SHOP,
  );
  const common = {
    kind: 'call',
    session: 's1',
    agent: null,
    tool: 'Bash',
    line: 'npm test',
    directory: '',
  };
  assert.deepEqual(readLog({ projectPath: SHOP }, db), [
    { kind: 'prompt', session: 's1', ts: time(1) },
    {
      ...common,
      id: 'c2',
      ts: time(2),
      outcome: { kind: 'failed', key: PORT, said, noise: 'unclear', text: 'all' },
    },
    { ...common, id: 'c3', ts: time(3), agent: 'a1', outcome: { kind: 'worked' } },
    { ...common, id: 'c4', ts: time(4), outcome: { kind: 'unclear' } },
    { ...common, id: 'c5', ts: time(5), tool: 'Edit', line: null, outcome: { kind: 'worked' } },
  ]);
});
test('readLog() returns the newest rows of a session, of equal times the later ones last', ({ db, tell }) => {
  for (const [session, id] of [
    ['s1', 'c1'],
    ['s2', 'c2'],
    ['s1', 'c3'],
    ['s1', 'c4'],
  ] as const)
    tell(passed({ session, id }));
  const ids = (part: Parameters<typeof readLog>[0]) =>
    readLog(part, db).map((entry) => (entry.kind === 'call' ? entry.id : ''));
  assert.deepEqual(ids({ projectPath: SHOP }), ['c1', 'c2', 'c3', 'c4']);
  assert.deepEqual(ids({ projectPath: SHOP, sessionId: 's1' }), ['c1', 'c3', 'c4']);
  assert.deepEqual(ids({ projectPath: SHOP, sessionId: 's1', rowsMax: 2 }), ['c3', 'c4']);
  assert.deepEqual(ids({ projectPath: '/home/dev/none' }), []);
});
test('readLog() reads what an earlier version wrote, which kept no lines', ({ db }) => {
  for (const [type, data] of [
    ['tool_use', { tool: 'Bash', meta: { command: 'npm' }, success: true, command: 'npm test' }],
    ['tool_error', { tool: 'Bash', error: 'boom', errorRaw: 'boom!' }],
  ] as const)
    db.sqlite.run(
      'INSERT INTO events(type, ts, session_id, project_path, data) VALUES (?, ?, ?, ?, ?)',
      type,
      time(1),
      'old',
      SHOP,
      JSON.stringify(data),
    );
  const common = {
    kind: 'call',
    session: 'old',
    ts: time(1),
    agent: null,
    tool: 'Bash',
    line: null,
    directory: '',
  };
  assert.deepEqual(readLog({ projectPath: SHOP }, db), [
    { ...common, id: '1', outcome: { kind: 'worked' } },
    {
      ...common,
      id: '2',
      outcome: { kind: 'failed', key: 'boom', said: 'boom', noise: null, text: 'boom!' },
    },
  ]);
});
