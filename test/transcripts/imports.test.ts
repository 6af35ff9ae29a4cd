import { describe, expect, test } from 'bun:test';
import type { TranscriptPlace } from '../../src/clients/claude/transcript-files.ts';
import type { Recording } from '../../src/hooks/decision.ts';
import { record } from '../../src/hooks/store/record.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { countFixes } from '../../src/lessons/store/error-entries.ts';
import {
  type ImportStep,
  loadProgress,
  progressByFile,
  progressInDatabase,
  readPlace,
  savePlace,
  writeSteps,
} from '../../src/transcripts/imports-store.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../support/home.ts';
import { PROJECT } from '../support/payloads.ts';
import { seedFixes } from '../support/seed.ts';
import { START } from '../support/transcripts.ts';

const NOW = new Date('2026-11-21T09:00:00.000Z');
const LONG = { now: NOW, budgetMs: 60_000 };

const clock = (seconds: number) => new Date(Date.parse(START) + seconds * 1000).toISOString();

const at = (ts: string, sessionId = 's1', agentId: string | null = null) => {
  return { ts, sessionId, project: 'app', projectPath: PROJECT, agentId, agentType: null };
};

function use(seconds: number, toolUseId: string, sessionId?: string): Recording {
  const call = {
    tool: 'Read',
    toolUseId,
    command: null,
    line: null,
    directory: null,
    remark: null,
    chars: 0,
  };
  return { kind: 'tool-use', at: at(clock(seconds), sessionId), meta: {}, ...call, file: null };
}

function prompt(seconds: number, text: string, sessionId?: string): Recording {
  return { kind: 'prompt', at: at(clock(seconds), sessionId), text, charCount: text.length };
}

function stop(seconds: number, agentId: string): Recording {
  return { kind: 'subagent-stop', at: at(clock(seconds), 's1', agentId) };
}

function place(bytesDone: number, head = 'h', bytesSeen = bytesDone): TranscriptPlace {
  return { head, bytesDone, bytesSeen };
}

const read = (path: string, bytes: number, head = 'h') => ({ path, fileBytes: 100, ...place(bytes, head) });

function steps(...recordings: (Recording | undefined)[]): ImportStep[] {
  return recordings.map((recording, index) => ({
    read: read('/a.jsonl', index + 1),
    ...(recording && { recording, delayMsMax: 10_000 }),
  }));
}

function write(home: Home, list: readonly ImportStep[], options = LONG) {
  return writeDatabase(home.paths, (db) => writeSteps(list, { ...options, paths: home.paths }, db));
}

const placesIn = (home: Home) =>
  readRows(home.paths, 'SELECT path, bytes_done, bytes_seen, head FROM imports ORDER BY path');

describe('writeSteps()', () => {
  test('writes recordings and how far their files have been read', () => {
    using home = temporaryHome();
    const other = { read: read('/b.jsonl', 9, 'i') };
    const written = write(home, [...steps(prompt(1, 'x'), undefined, use(2, 't1')), other]);
    const added = { prompt: 1, tool_use: 1 };
    expect(written).toEqual({ steps: 4, added, known: 0, projects: [PROJECT] });
    expect(placesIn(home)).toEqual([
      { path: '/a.jsonl', bytes_done: 3, bytes_seen: 3, head: 'h' },
      { path: '/b.jsonl', bytes_done: 9, bytes_seen: 9, head: 'i' },
    ]);
    expect(writeDatabase(home.paths, loadProgress).get('/b.jsonl')).toEqual(place(9, 'i'));
  });

  test('names no project of which there are no new calls', () => {
    using home = temporaryHome();
    expect(write(home, steps(prompt(1, 'x'))).projects).toEqual([]);
    write(home, steps(use(2, 't1')));
    expect(write(home, steps(use(2, 't1'))).projects).toEqual([]);
  });

  test('leaves the place of a file alone of which only a part was read', () => {
    using home = temporaryHome();
    write(home, [{ read: undefined, recording: use(1, 't1') }]);
    expect([placesIn(home), readEvents(home.paths).length]).toEqual([[], 1]);
  });

  test('takes no more than fits into the time, one step at least', () => {
    using home = temporaryHome();
    const list = steps(use(1, 't1'), use(2, 't2'), use(3, 't3'));
    expect(write(home, list, { ...LONG, budgetMs: -1 })).toMatchObject({ steps: 1, added: { tool_use: 1 } });
    expect(readRows(home.paths, 'SELECT bytes_done FROM imports')).toEqual([{ bytes_done: 1 }]);
  });

  test('leaves nothing behind when one of the recordings cannot be written', () => {
    using home = temporaryHome();
    const broken = { kind: 'tool-use', at: at(null as never), toolUseId: null } as unknown as Recording;
    expect(() => write(home, steps(use(1, 't1'), broken))).toThrow();
    expect([readEvents(home.paths), readRows(home.paths, 'SELECT * FROM imports')]).toEqual([[], []]);
  });

  const pairs: [string, Recording, Recording, boolean][] = [
    ['a call of the same id', use(1, 't1'), use(500, 't1'), true],
    ['a call of another id', use(1, 't1'), use(1, 't2'), false],
    ['a copy of a call in another session', use(1, 't1'), use(2, 't1', 's2'), true],
    ['a copy of a call with another time', use(1, 't1'), use(50, 't1', 's2'), true],
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
    test(`${isKnown ? 'knows' : 'takes'} ${what}`, () => {
      using home = temporaryHome();
      writeDatabase(home.paths, (db) => record([there], home.paths, db));
      const again = { read: read('/b.jsonl', 1), recording: comes, delayMsMax: 10_000 };
      expect(write(home, [again]).known).toBe(isKnown ? 1 : 0);
      expect(readEvents(home.paths)).toHaveLength(isKnown ? 1 : 2);
    });
  }

  test('knows what it has read before, and no other prompt of the same words', () => {
    using home = temporaryHome();
    const list = [prompt(1, 'x'), prompt(9, 'x'), stop(20, 'a1'), stop(27, 'a1')];
    expect(write(home, steps(...list.toReversed()))).toMatchObject({ known: 0 });
    expect(write(home, steps(...list))).toMatchObject({ added: {}, known: 4 });
  });

  test('knows what stands twice among its own steps', () => {
    using home = temporaryHome();
    const twice = [use(1, 't1'), use(1, 't1'), prompt(2, 'x'), prompt(2, 'x'), stop(3, 'a1'), stop(3, 'a1')];
    expect(write(home, steps(...twice))).toMatchObject({ known: 3 });
  });

  test('is not disturbed by rows of others that are no JSON', () => {
    using home = temporaryHome();
    writeDatabase(home.paths, ({ sqlite }) => {
      for (const type of ['prompt', 'tool_use', 'subagent_stop'])
        sqlite.run("INSERT INTO events(type, ts, session_id, data) VALUES (?, ?, 's1', '{')", type, clock(1));
    });
    expect(write(home, steps(use(1, 't1'), prompt(3, 'x'), stop(1, 'a1')))).toMatchObject({ known: 0 });
  });
});

/** What a hook records of what the transcript has told. */
describe('record() after writeSteps()', () => {
  const pairs: [string, Recording, Recording, boolean][] = [
    ['a prompt of a few seconds ago', prompt(1, 'x'), prompt(9, 'x'), true],
    ['a prompt that the transcript dates a little later', prompt(2.5, 'x'), prompt(1, 'x'), true],
    ['a prompt of another time', prompt(1, 'x'), prompt(30, 'x'), false],
    ['another prompt', prompt(1, 'x'), prompt(1, 'y'), false],
    ['the same prompt in another session', prompt(1, 'x'), prompt(1, 'x', 's2'), false],
    ['the end of a sub-agent', stop(4, 'a1'), stop(5, 'a1'), true],
    ['a second end of a sub-agent', stop(5, 'a1'), stop(60, 'a1'), false],
    ['the end of another sub-agent', stop(5, 'a1'), stop(5, 'a2'), false],
    ['a call', use(1, 't1'), use(900, 't1'), true],
  ];
  for (const [what, there, comes, isKnown] of pairs) {
    test(`${isKnown ? 'knows' : 'takes'} ${what}`, () => {
      using home = temporaryHome();
      write(home, steps(there));
      writeDatabase(home.paths, (db) => record([comes], home.paths, db));
      expect(readEvents(home.paths)).toHaveLength(isKnown ? 1 : 2);
    });
  }

  test('knows a prompt that was typed long before', () => {
    using home = temporaryHome();
    const queued = { read: read('/a.jsonl', 1), recording: prompt(1, 'x'), delayMsMax: 30 * 60_000 };
    write(home, [queued]);
    writeDatabase(home.paths, (db) => record([prompt(900, 'x')], home.paths, db));
    expect(readEvents(home.paths)).toHaveLength(1);
  });

  test('knows its own prompt, and tells apart two that are not kept as text', () => {
    using home = temporaryHome();
    const hidden = (seconds: number, charCount: number): Recording => ({
      ...(prompt(seconds, '[REDACTED]') as Extract<Recording, { kind: 'prompt' }>),
      charCount,
    });
    const list = [prompt(1, 'x'), prompt(1.3, 'x'), prompt(9, 'x'), hidden(20, 5), hidden(20.4, 6)];
    writeDatabase(home.paths, (db) => record(list, home.paths, db));
    expect(readEvents(home.paths).map(({ data }) => [data.text, data.charCount])).toEqual([
      ['x', 1],
      ['x', 1],
      ['[REDACTED]', 5],
      ['[REDACTED]', 6],
    ]);
  });
});

describe('savePlace()', () => {
  const saved = (first: TranscriptPlace, second: TranscriptPlace, fileBytes = 100) => {
    using home = temporaryHome();
    return writeDatabase(home.paths, (db) => {
      for (const one of [first, second]) savePlace({ path: '/a.jsonl', fileBytes, ...one }, NOW, db);
      return readPlace('/a.jsonl', db);
    });
  };

  test('goes on, and not back', () => {
    expect(saved(place(5), place(9))).toEqual(place(9));
    expect(saved(place(9), place(5))).toEqual(place(9));
    expect(saved(place(9, 'h', 20), place(20))).toEqual(place(20));
    expect(saved(place(9, 'h', 20), place(12, 'h', 25))).toEqual(place(12, 'h', 25));
  });

  test('goes back for another file, and for one that has become shorter', () => {
    expect(saved(place(9), place(5, 'i'))).toEqual(place(5, 'i'));
    expect(saved(place(50), place(5), 10)).toEqual(place(5));
  });

  test('a place of an earlier version has been looked at as far as it goes', () => {
    using home = temporaryHome();
    writeDatabase(home.paths, (db) => {
      db.sqlite.run("INSERT INTO imports(path, ts, bytes_done, head) VALUES ('/a.jsonl', 't', 7, 'h')");
      expect(readPlace('/a.jsonl', db)).toEqual(place(7));
    });
  });
});

test('progressByFile() and progressInDatabase() find a file by its path, then by its name and its head', () => {
  using home = temporaryHome();
  const known = new Map([
    ['/a/s1.jsonl', place(5)],
    ['/b/s1.jsonl', place(9)],
  ]);
  writeDatabase(home.paths, (db) => {
    for (const [path, one] of known) savePlace({ path, fileBytes: 100, ...one }, NOW, db);
    for (const find of [progressByFile(known), progressInDatabase(db)]) {
      expect(find('/a/s1.jsonl', 'h')).toEqual(place(5));
      expect(find('/c/s1.jsonl', 'h')).toEqual({ ...place(9), isElsewhere: true });
      expect([find('/c/s1.jsonl', 'i'), find('/c/s2.jsonl', 'h')]).toEqual([undefined, undefined]);
    }
  });
});

test('countFixes() counts the errors that have one', () => {
  using home = temporaryHome();
  seedFixes(home.paths, [
    { error: 'Error: a', resolution: '{}' },
    { error: 'Error: b', resolution: null },
  ]);
  expect(writeDatabase(home.paths, countFixes)).toBe(1);
});
