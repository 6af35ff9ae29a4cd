import { describe, expect, test } from 'bun:test';
import type { Recording } from '../../src/core/recording.ts';
import {
  countFixes,
  ImportInterference,
  type ImportStep,
  ImportWriter,
  loadProgress,
  progressByFile,
} from '../../src/store/imports.ts';
import { writeDatabase } from '../../src/store/use-database.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../support/home.ts';
import { PROJECT } from '../support/payloads.ts';
import { seedFixes } from '../support/seed.ts';

const NOW = new Date('2026-11-21T09:00:00.000Z');
const LONG = { now: NOW, budgetMs: 60_000 };

const at = (ts: string, sessionId = 's1', agentId: string | null = null) => ({
  ts,
  sessionId,
  project: 'app',
  projectPath: PROJECT,
  agentId,
  agentType: null,
});

const clock = (seconds: number) =>
  new Date(Date.parse('2026-11-20T09:00:00.000Z') + seconds * 1000).toISOString();

function use(seconds: number, toolUseId: string, sessionId?: string): Recording {
  const call = { tool: 'Read', meta: {}, toolUseId, command: null, file: null, language: 'en' } as const;
  return { kind: 'tool-use', at: at(clock(seconds), sessionId), ...call };
}

function prompt(seconds: number, text: string, sessionId?: string): Recording {
  return { kind: 'prompt', at: at(clock(seconds), sessionId), text, charCount: text.length };
}

function stop(seconds: number, agentId: string): Recording {
  return { kind: 'subagent-stop', at: at(clock(seconds), 's1', agentId) };
}

function steps(...recordings: (Recording | undefined)[]): ImportStep[] {
  return recordings.map((recording, index) => ({
    path: '/a.jsonl',
    head: 'h',
    bytesDone: index + 1,
    ...(recording && { recording, delayMsMax: 10_000 }),
  }));
}

function write(home: Home, list: readonly ImportStep[], options = LONG) {
  return writeDatabase(home.paths, (db) =>
    new ImportWriter(loadProgress(db), home.paths, db).write(list, options),
  );
}

describe('ImportWriter', () => {
  test('write() writes recordings and how far their sources have been taken in', () => {
    using home = temporaryHome();
    const other = { path: '/b.jsonl', head: 'i', bytesDone: 9 };
    const written = write(home, [...steps(prompt(1, 'x'), undefined, use(2, 't1')), other]);
    expect(written).toEqual({ steps: 4, added: { prompt: 1, tool_use: 1 }, known: 0 });
    expect(readRows(home.paths, 'SELECT * FROM imports ORDER BY path')).toEqual([
      { path: '/a.jsonl', ts: NOW.toISOString(), bytes_done: 3, head: 'h' },
      { path: '/b.jsonl', ts: NOW.toISOString(), bytes_done: 9, head: 'i' },
    ]);
    expect(writeDatabase(home.paths, loadProgress).get('/b.jsonl')).toEqual({ head: 'i', bytesDone: 9 });
  });

  test('write() takes no more than fits into the time, one step at least', () => {
    using home = temporaryHome();
    const list = steps(use(1, 't1'), use(2, 't2'), use(3, 't3'));
    expect(write(home, list, { ...LONG, budgetMs: -1 })).toMatchObject({ steps: 1, added: { tool_use: 1 } });
    expect(readRows(home.paths, 'SELECT bytes_done FROM imports')).toEqual([{ bytes_done: 1 }]);
  });

  test('write() leaves nothing behind when one of the recordings cannot be written', () => {
    using home = temporaryHome();
    const broken = {
      kind: 'tool-use',
      at: at(null as unknown as string),
      toolUseId: null,
    } as unknown as Recording;
    expect(() => write(home, steps(use(1, 't1'), broken))).toThrow();
    expect([readEvents(home.paths), readRows(home.paths, 'SELECT * FROM imports')]).toEqual([[], []]);
  });

  test('write() stops when somebody else has moved on in the same source', () => {
    using home = temporaryHome();
    writeDatabase(home.paths, (db) => {
      const [one, other] = [0, 1].map(() => new ImportWriter(loadProgress(db), home.paths, db));
      one?.write(steps(use(1, 't1')), LONG);
      one?.write([{ path: '/a.jsonl', head: 'h', bytesDone: 5 }], LONG);
      expect(() => other?.write(steps(use(1, 't1')), LONG)).toThrow(ImportInterference);
      other?.write([{ path: '/b.jsonl', head: 'h', bytesDone: 5 }], LONG);
    });
    expect(readRows(home.paths, 'SELECT bytes_done FROM imports')).toEqual([
      { bytes_done: 5 },
      { bytes_done: 5 },
    ]);
  });

  const pairs: [string, Recording, Recording, boolean][] = [
    ['a call of the same id', use(1, 't1'), use(500, 't1'), true],
    ['a call of another id', use(1, 't1'), use(1, 't2'), false],
    ['a copy of a call in another session', use(1, 't1'), use(2, 't1', 's2'), true],
    ['a call of the same id in another session at another time', use(1, 't1'), use(50, 't1', 's2'), false],
    ['a prompt whose hook ran later', prompt(9, 'x'), prompt(1, 'x'), true],
    ['a prompt whose hook ran a little earlier', prompt(1, 'x'), prompt(2.5, 'x'), true],
    ['a prompt of another time', prompt(30, 'x'), prompt(1, 'x'), false],
    ['another prompt soon after', prompt(1, 'x'), prompt(2, 'y'), false],
    ['a prompt whose text differs a little', prompt(1, '[Image #1] x'), prompt(1.1, 'x'), true],
    ['a copy of a prompt in another session', prompt(1, 'x'), prompt(1.5, 'x', 's2'), true],
    ['the same prompt in a session beside it', prompt(1, 'x'), prompt(5, 'x', 's2'), false],
    ['the end of a sub-agent', stop(5, 'a1'), stop(4, 'a1'), true],
    ['the end of another sub-agent', stop(5, 'a1'), stop(5, 'a2'), false],
    ['a second end of a sub-agent', stop(5, 'a1'), stop(60, 'a1'), false],
  ];
  for (const [what, there, comes, isKnown] of pairs) {
    test(`write() ${isKnown ? 'knows' : 'takes'} ${what}`, () => {
      using home = temporaryHome();
      write(home, steps(there));
      const again = { path: '/b.jsonl', head: 'h', bytesDone: 1, recording: comes, delayMsMax: 10_000 };
      expect(write(home, [again]).known).toBe(isKnown ? 1 : 0);
      expect(readEvents(home.paths)).toHaveLength(isKnown ? 1 : 2);
    });
  }

  function failure(seconds: number, toolUseId: string, error: string): Recording {
    const call = { tool: 'Bash', error, errorRaw: error, toolUseId, command: null, file: null };
    const errors = [{ ...call, mentionedFiles: [] }];
    return { kind: 'tool-errors', at: at(clock(seconds)), errors, shownKbId: null };
  }

  const putNameless = (home: Home, rows: readonly [string, number, Record<string, unknown>][]) =>
    writeDatabase(home.paths, ({ sqlite }) => {
      for (const [type, seconds, data] of rows)
        sqlite.run(
          "INSERT INTO events(type, ts, session_id, project, project_path, data) VALUES (?, ?, 's1', 'app', ?, ?)",
          type,
          clock(seconds),
          PROJECT,
          JSON.stringify(data),
        );
    });

  const old = { tool: 'Bash', error: 'Error: <STR>' };
  const nameless: [string, [string, number, Record<string, unknown>], Recording, boolean][] = [
    ['a call', ['tool_use', 9, { tool: 'Read' }], use(1, 't1'), true],
    ['a call of a little earlier', ['tool_use', 1, { tool: 'Read' }], use(2.5, 't1'), true],
    ['a call of much later', ['tool_use', 12, { tool: 'Read' }], use(1, 't1'), false],
    ['a call of earlier', ['tool_use', 1, { tool: 'Read' }], use(4, 't1'), false],
    ['a call of another tool', ['tool_use', 1, { tool: 'Grep' }], use(1, 't1'), false],
    [
      'a call whose row has another id',
      ['tool_use', 1, { tool: 'Read', toolUseId: 'x' }],
      use(1, 't1'),
      false,
    ],
    ['an error', ['tool_error', 9, old], failure(1, 't1', 'Error: <STR>'), true],
    [
      'a raw error',
      ['tool_error', 9, { ...old, error: 'Error: "a"' }],
      failure(1, 't1', 'Error: <STR>'),
      true,
    ],
    [
      'an error in another form',
      ['tool_error', 2, { ...old, error: 'E' }],
      failure(1, 't1', 'Error: b'),
      true,
    ],
    [
      'another error of later',
      ['tool_error', 9, { ...old, error: 'E' }],
      failure(1, 't1', 'Error: b'),
      false,
    ],
    [
      'an error where there is a call',
      ['tool_use', 1, { tool: 'Bash' }],
      failure(1, 't1', 'Error: b'),
      false,
    ],
  ];
  for (const [what, row, comes, isKnown] of nameless) {
    test(`write() ${isKnown ? 'knows' : 'takes'} ${what} that was recorded without its id`, () => {
      using home = temporaryHome();
      putNameless(home, [row]);
      expect(write(home, steps(comes)).known).toBe(isKnown ? 1 : 0);
      const events = readEvents(home.paths);
      expect(events).toHaveLength(isKnown ? 1 : 2);
      if (isKnown) expect(events[0]?.data).toEqual({ ...row[2], toolUseId: 't1' });
    });
  }

  test('write() takes a row without an id for one call only, also in another process', () => {
    using home = temporaryHome();
    const row = { tool: 'Read' };
    putNameless(home, [
      ['tool_use', 1.1, row],
      ['tool_use', 1.2, row],
    ]);
    expect(write(home, steps(use(1, 't1')))).toMatchObject({ known: 1 });
    const rest = [use(1.1, 't2'), use(1.2, 't3')].map((recording) => ({
      ...{ path: '/b.jsonl', head: 'h', bytesDone: 1 },
      recording,
    }));
    expect(write(home, rest)).toMatchObject({ known: 1, added: { tool_use: 1 } });
    expect(readEvents(home.paths).map(({ data }) => data.toolUseId)).toEqual(['t1', 't2', 't3']);
  });

  test('write() prefers the row of the same error', () => {
    using home = temporaryHome();
    putNameless(home, [
      ['tool_error', 1, { ...old, error: 'in another form' }],
      ['tool_error', 2, { ...old, error: 'Error: b' }],
    ]);
    expect(write(home, steps(failure(1, 't1', 'Error: b'), failure(1.5, 't2', 'Error: c'))).known).toBe(2);
    expect(readEvents(home.paths).map(({ data }) => data.toolUseId)).toEqual(['t2', 't1']);
  });

  test('write() knows what stands twice among its own steps', () => {
    using home = temporaryHome();
    const twice = [use(1, 't1'), use(1, 't1'), prompt(2, 'x'), prompt(2, 'x'), stop(3, 'a1'), stop(3, 'a1')];
    expect(write(home, steps(...twice))).toMatchObject({ known: 3 });
  });

  test('write() is not disturbed by rows of others that are no JSON', () => {
    using home = temporaryHome();
    writeDatabase(home.paths, ({ sqlite }) => {
      for (const type of ['prompt', 'tool_use', 'subagent_stop'])
        sqlite.run("INSERT INTO events(type, ts, session_id, data) VALUES (?, ?, 's1', '{')", type, clock(1));
    });
    expect(write(home, steps(use(1, 't1'), prompt(3, 'x'), stop(1, 'a1')))).toMatchObject({ known: 0 });
  });
});

test('progressByFile() finds a file by its path, then by its name and its head', () => {
  const find = progressByFile(
    new Map([
      ['/a/s1.jsonl', { head: 'h', bytesDone: 5 }],
      ['/b/s1.jsonl', { head: 'h', bytesDone: 9 }],
    ]),
  );
  expect(find('/a/s1.jsonl', 'h')).toEqual({ head: 'h', bytesDone: 5 });
  expect(find('/c/s1.jsonl', 'h')).toEqual({ head: 'h', bytesDone: 9, isElsewhere: true });
  expect([find('/c/s1.jsonl', 'i'), find('/c/s2.jsonl', 'h')]).toEqual([undefined, undefined]);
});

test('countFixes() counts the errors that have one', () => {
  using home = temporaryHome();
  seedFixes(home.paths, [
    { error: 'Error: a', resolution: '{}' },
    { error: 'Error: b', resolution: null },
  ]);
  expect(writeDatabase(home.paths, countFixes)).toBe(1);
});
