import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { readConfig } from '../../src/settings/hook-settings.ts';
import { type ImportOptions, importAll } from '../../src/transcripts/import.ts';
import { PREDECESSOR, writeOldDatabase } from '../database/conformance/old-databases.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../support/home.ts';
import { PROJECT } from '../support/payloads.ts';
import { seedErrors, withDatabase } from '../support/seed.ts';
import {
  Clock,
  importedRows,
  leftBehind,
  NOW,
  projectAt,
  putText,
  Transcript,
  transcriptPath,
} from '../support/transcripts.ts';

function run(home: Home, changes: Partial<ImportOptions> = {}) {
  return importAll({
    roots: [`${home.path}/.claude/projects`],
    projectPath: undefined,
    sinceMs: undefined,
    ofRuns: new Set<string>(),
    clients: [],
    config: readConfig({}),
    env: { HOME: home.path },
    projectAt,
    paths: home.paths,
    now: () => NOW,
    onProgress: () => {},
    isRehearsal: false,
    ...changes,
  });
}

function put(home: Home, session: string, start: string): void {
  putText(home, transcriptPath(session), textOf(session, start));
}

function textOf(session: string, start: string, cwd = PROJECT): string {
  return new Transcript({ session, cwd, clock: new Clock(Date.parse(start)) })
    .prompt('Make the test pass.')
    .fail('Bash', { command: 'npm test' }, 'Exit code 1\nError: PORT is not set')
    .succeed('Bash', { command: 'PORT=8080 npm test' })
    .succeed('Edit', { file_path: `${cwd}/settings.ini` }).text;
}

describe('importAll()', () => {
  test('says what came of it', () => {
    using home = temporaryHome();
    put(home, 's1', '2026-11-20T09:00:00Z');
    const progress: number[] = [];
    const report = run(home, {
      onProgress: (of) => void progress.push('bytes' in of ? of.bytesDone / of.bytes : 0),
    });
    expect(report).toMatchObject({ transcripts: { sessions: 1 }, fixes: 1, removed: 0 });
    expect(progress.at(-1)).toBe(1);
  });

  test('learns from what is too old, keeps none of it, and does not count it again', () => {
    using home = temporaryHome();
    put(home, 'old', '2026-07-01T09:00:00Z');
    put(home, 'new', '2026-11-20T09:00:00Z');
    expect(run(home)).toMatchObject({ transcripts: { added: { prompt: 2, tool_use: 4 } }, removed: 4 });
    expect(new Set(readEvents(home.paths).map((event) => event.sessionId))).toEqual(new Set(['new']));
    expect(readRows(home.paths, 'SELECT seen_count FROM error_kb')).toEqual([{ seen_count: 2 }]);
    const before = importedRows(home);
    expect(run(home)).toMatchObject({ transcripts: { added: {}, filesUnchanged: 2 }, fixes: 0, removed: 0 });
    expect(importedRows(home)).toEqual(before);
  });

  test('forgets more rows than one transaction takes', () => {
    using home = temporaryHome();
    const transcript = new Transcript({ clock: new Clock(Date.parse('2026-07-01T09:00:00Z')) });
    for (let count = 0; count < 1200; count++) transcript.succeed('Read', { file_path: 'a.ts' });
    putText(home, transcriptPath('s1'), transcript.text);
    expect(run(home)).toMatchObject({ transcripts: { added: { tool_use: 1200 } }, removed: 1200 });
    expect(readEvents(home.paths)).toEqual([]);
  });
});

describe('importAll() that was killed', () => {
  const SHOP = '/home/dev/shop';
  /** Of the one that is too old nothing stays but what it taught. */
  const texts = {
    old: textOf('old', '2026-07-01T09:00:00Z'),
    shop: textOf('shop', '2026-11-20T09:00:00Z', SHOP),
    new: textOf('new', '2026-11-20T10:00:00Z'),
  };

  function homeWithTranscripts(): Home {
    const home = temporaryHome();
    for (const [session, text] of Object.entries(texts)) putText(home, transcriptPath(session), text);
    return home;
  }

  function rowsIn(home: Home) {
    const lessons = `SELECT project_path, said, resolution, resolved_by, state, sessions, use_count, last_used, evidence
      FROM error_kb ORDER BY error_normalized, project_path`;
    return { ...importedRows(home), lessons: readRows(home.paths, lessons) };
  }

  function rowsAtOnce() {
    using home = homeWithTranscripts();
    run(home);
    return rowsIn(home);
  }

  test('behind any of its transactions, it ends with the same rows and lessons', () => {
    const expected = rowsAtOnce();
    expect(expected.lessons).toMatchObject([
      { project_path: PROJECT, resolved_by: 'lesson', sessions: 2 },
      { project_path: SHOP, resolved_by: 'lesson', sessions: 1 },
    ]);
    let writes = 0;
    for (let isKilled = true; isKilled; writes++) {
      using home = homeWithTranscripts();
      let left = writes;
      const onProgress = () => {
        if (left-- === 0) throw new Error('killed');
      };
      try {
        run(home, { limits: { events: 1, holdMs: 0 }, onProgress });
        isKilled = false;
      } catch (error) {
        expect(error).toEqual(new Error('killed'));
      }
      run(home);
      expect(rowsIn(home)).toEqual(expected);
    }
    expect(writes).toBeGreaterThan(12);
  });

  test('when it had learnt from some of the projects, it learns from the others', () => {
    using home = homeWithTranscripts();
    withDatabase(home.paths, ({ sqlite }) =>
      sqlite.exec(`CREATE TRIGGER kill BEFORE INSERT ON learnt WHEN NEW.project_path = '${SHOP}'
        BEGIN SELECT RAISE(ABORT, 'killed'); END`),
    );
    expect(() => run(home)).toThrow('killed');
    expect(rowsIn(home).lessons).toMatchObject([{ resolved_by: 'lesson' }, { resolved_by: null }]);
    withDatabase(home.paths, ({ sqlite }) => sqlite.exec('DROP TRIGGER kill'));
    expect(run(home)).toMatchObject({ transcripts: { added: {} }, fixes: 1 });
    expect(rowsIn(home)).toEqual(rowsAtOnce());
  });
});

describe('importAll() as a rehearsal', () => {
  test('reports the same and changes nothing', () => {
    using home = temporaryHome();
    put(home, 's1', '2026-11-20T09:00:00Z');
    writeOldDatabase(home.paths, PREDECESSOR);
    const files = () => readdirSync(home.path, { recursive: true }).map(String).sort();
    const before = [files(), readRows(home.paths, 'SELECT * FROM events')];
    const config = readConfig({ retentionDays: 36_500 });
    const rehearsed = run(home, { config, isRehearsal: true });
    expect([files(), readRows(home.paths, 'SELECT * FROM events')]).toEqual(before);
    expect(rehearsed).toEqual(run(home, { config }));
    expect(readEvents(home.paths).length).toBe(7);
  });

  test('makes no state where there is none', () => {
    using home = temporaryHome();
    put(home, 's1', '2026-11-20T09:00:00Z');
    const left = leftBehind(home, () => {
      expect(run(home, { isRehearsal: true })).toMatchObject({ transcripts: { added: { prompt: 1 } } });
    });
    expect([existsSync(home.paths.home), left]).toEqual([false, []]);
  });

  test('knows what is there already', () => {
    using home = temporaryHome();
    put(home, 's1', '2026-11-20T09:00:00Z');
    seedErrors(home.paths, [{ error: 'Error: a' }]);
    run(home);
    const nothing = { transcripts: { added: {}, filesUnchanged: 1 }, fixes: 0 };
    expect(run(home, { isRehearsal: true })).toMatchObject(nothing);
  });
});
