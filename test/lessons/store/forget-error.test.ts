import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import fc from 'fast-check';
import { fingerprint } from '../../../src/core/text.ts';
import { readLedger, recordTellings, verifyLedger } from '../../../src/database/ledger.ts';
import { decide, parseHookEvent } from '../../../src/hooks/hooks.ts';
import { writeDatabase } from '../../../src/hooks/store/use-database.ts';
import { decideSubagentStart } from '../../../src/hooks/subagent-context.ts';
import { isInformative } from '../../../src/lessons/errors/normalize-error.ts';
import { readFailure } from '../../../src/lessons/failure.ts';
import { eraseTraces, forgetError } from '../../../src/lessons/store/forget-error.ts';
import { checkIntegrity } from '../../database/conformance/context.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../../support/home.ts';
import { APP, bench, eventOf } from '../../support/hook-context.ts';
import { seedLearnt } from '../../support/lessons.ts';
import { agentStart, bashFailure, bashSuccess, type Payload, payload } from '../../support/payloads.ts';
import { isoBeforeNow, seedAnalysis, seedErrors, seedFixes, withDatabase } from '../../support/seed.ts';

/** Words that stand nowhere else. */
const SAID = 'Error: unknown option "Quilloxene" <of> zanzibarium in /home/dev/app/wombatine.ts 47';
const RAW = `Exit code 1\n${SAID}`;
const ERROR = keyOf(RAW);
const WORDS = /zanzibarium|quilloxene|wombatine/i;
const OTHER = 'Error: unknown option --ordinary';

/** The form under which what `npm test` printed is recognised. */
function keyOf(text: string): string {
  return readFailure({ tool: 'Bash', line: 'npm test', text }).key;
}
const BANK = { name: 'bank', path: '/home/dev/bank', spellings: ['/home/dev/bank'] };

/** What hooks do with payloads: the answers, and what they record. */
function play(home: Home, payloads: readonly Payload[], project = APP): (string | undefined)[] {
  using work = bench(home, { project, now: new Date() });
  return payloads.map((one) => {
    const event = parseHookEvent(one);
    if (event === undefined) throw new Error('Cannot play the payload: it is no event');
    const decision = decide(event, work.context);
    work.keep(decision);
    return decision.reply?.context;
  });
}

function contextIn(home: Home): string | undefined {
  using work = bench(home);
  return decideSubagentStart(eventOf('SubagentStart', agentStart('executor')), work.context).reply?.context;
}

function given(home: Home, text: string): void {
  const sql =
    "INSERT INTO given_contexts(ts, session_id, agent_id, project_path, text) VALUES (?, 's', ?, '', ?)";
  const agent = `agent-${text.length}-${text}`.slice(0, 40);
  withDatabase(home.paths, (db) => db.sqlite.run(sql, isoBeforeNow(1), agent, text));
}

test('forgetError() empties what the ledger has of its words, and leaves the rest of it', () => {
  using home = temporaryHome();
  const project = { place: '/home/dev/app' };
  const telling = { kind: 'rule', channel: 'start', holdPercent: 0, isHeld: false, callId: null } as const;
  writeDatabase(home.paths, (db) => {
    seedFixes(home.paths, [
      { error: ERROR, resolution: 'x' },
      { error: OTHER, resolution: 'y' },
    ]);
    const withdrawal = `INSERT INTO withdrawals(ts, error_id, reason, detail, resolution, resolved_by)
      SELECT '', id, 'user', error_normalized, '', 'user' FROM error_kb`;
    db.sqlite.exec(withdrawal);
    const tellings = [ERROR, OTHER].map((key) => ({
      ...telling,
      group: { ...project, key },
      text: `- ${key}`,
    }));
    db.sqlite.transaction(() =>
      recordTellings({ ts: isoBeforeNow(1), sessionId: 's', agentId: null, tellings }, db),
    );
    forgetError(ERROR, isoBeforeNow(0), db);
    expect(readLedger(db).map(({ id, key, text }) => [id, key, text])).toEqual([
      [1, null, ''],
      [2, OTHER, `- ${OTHER}`],
    ]);
    expect(verifyLedger(db)).toEqual([]);
  });
  expect(readRows(home.paths, 'SELECT detail FROM withdrawals')).toEqual([{ detail: OTHER }]);
  for (const table of ['failure_groups', 'lesson_versions', 'exposures'])
    expect(JSON.stringify(readRows(home.paths, `SELECT * FROM ${table}`))).not.toMatch(WORDS);
});

const failed = (error: string, id: string, changes: Payload = {}) =>
  bashFailure(error, { tool_input: { command: 'npm test' }, tool_use_id: id, ...changes });

/** With a lesson in one project, open at the end of a session in another, told, and quoted. */
function story(home: Home): void {
  play(home, [failed(RAW, 't1'), failed(RAW, 't4')]);
  writeDatabase(home.paths, (db) => {
    const remedy = { kind: 'fixer', failing: 'npm test', use: 'npm ci' } as const;
    seedLearnt({ key: ERROR, said: SAID, remedy, projectPath: APP.path, ts: isoBeforeNow(1) }, db);
  });
  play(home, [failed(OTHER, 't5'), failed(RAW, 't6'), payload('session-end')], BANK);
  play(home, [failed(OTHER, 't7')]);
  given(home, contextIn(home) ?? '');
  given(home, `이 프로젝트의 최근 에러 패턴:\n- ${OTHER} (Bash)`);
  for (const evidence of [`${SAID} again`, `${ERROR} again and again`, OTHER])
    seedAnalysis(home.paths, { suggestions: [{ evidence }] });
}

function forget(home: Home) {
  return writeDatabase(home.paths, (db) => ({
    deleted: forgetError(ERROR, new Date().toISOString(), db),
    erased: eraseTraces(db),
  }));
}

/** The files below the home directory whose bytes have one of the words. */
function filesWithWords({ paths }: Home): string[] {
  return readdirSync(paths.home, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const file = `${paths.home}/${name}`;
    return statSync(file).isFile() && WORDS.test(readFileSync(file, 'latin1'));
  });
}

const count = (home: Home, table: string, condition: string, ...values: string[]) =>
  Number(readRows(home.paths, `SELECT COUNT(*) AS n FROM ${table} WHERE ${condition}`, ...values)[0]?.n);

describe('forgetError()', () => {
  test('deletes the error in every project, and nothing else', () => {
    using home = temporaryHome();
    story(home);
    const before = readRows(home.paths, "SELECT id, ts FROM events WHERE type = 'session_summary'");
    const others = count(home, 'events', "data NOT LIKE '%zanzibarium%'");
    expect(forget(home)).toEqual({
      deleted: { errors: 2, events: 3, summaries: 1, contexts: 1, analyses: 2 },
      erased: { kind: 'erased' },
    });
    const left = readRows(home.paths, 'SELECT error_normalized AS error FROM error_kb');
    expect(left.map(({ error }) => error)).toEqual([keyOf(OTHER), keyOf(OTHER)]);
    expect(readRows(home.paths, "SELECT id, ts FROM events WHERE type = 'session_summary'")).toEqual(before);
    expect(readEvents(home.paths, 'session_summary')[0]?.data.uniqueErrors).toEqual([OTHER]);
    expect(count(home, 'events', '1')).toBe(others + 1);
    expect(readRows(home.paths, 'SELECT text FROM given_contexts')).toHaveLength(1);
    const [forgotten] = readRows(home.paths, 'SELECT fingerprint FROM forgotten_errors');
    expect(forgotten).toEqual({ fingerprint: fingerprint(ERROR) });
    writeDatabase(home.paths, checkIntegrity);
  });

  test('leaves no word of it in any file', () => {
    using home = temporaryHome();
    story(home);
    expect(filesWithWords(home)).not.toEqual([]);
    forget(home);
    expect(filesWithWords(home)).toEqual([]);
  });

  test('overwrites what it deletes, also when nothing is erased afterwards', () => {
    using home = temporaryHome();
    // Without the search index, which keeps words until its parts are joined.
    const index = 'DROP TRIGGER events_text_insert; DROP TRIGGER events_text_delete; DROP TABLE event_text';
    withDatabase(home.paths, (db) => db.sqlite.exec(index));
    seedErrors(home.paths, [{ error: ERROR }]);
    writeDatabase(home.paths, (db) => db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
    expect(filesWithWords(home)).not.toEqual([]);
    writeDatabase(home.paths, (db) => {
      forgetError(ERROR, isoBeforeNow(0), db);
      db.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    });
    expect(filesWithWords(home)).toEqual([]);
  });

  test('is the end of it: it is neither recorded nor told again', () => {
    using home = temporaryHome();
    story(home);
    expect(contextIn(home)).toMatch(WORDS);
    forget(home);
    const events = count(home, 'events', '1');
    const batch = payload('post-tool-batch-rejected');
    const [call] = batch.tool_calls as Payload[];
    const bash = { tool_name: 'Bash', tool_input: { command: 'npm test' } };
    const rejected = { ...call, ...bash, tool_response: `<tool_use_error>${RAW}</tool_use_error>` };
    const answers = play(home, [
      failed(RAW, 'u1'),
      failed(RAW.replace('zanzibarium', 'ZANZIBARIUM'), 'u2'),
      { ...batch, tool_calls: [rejected] },
      bashSuccess('npm test', { tool_use_id: 'u3' }),
      payload('pre-tool-use-bash', { tool_input: { command: 'npm test' } }),
    ]);
    expect(answers.join('')).not.toMatch(/zanzibarium/);
    expect(contextIn(home)).not.toMatch(/zanzibarium/);
    // The one in capital letters is another error; beside it there is the success.
    expect(count(home, 'events', '1')).toBe(events + 2);
    expect(count(home, 'events', "instr(data, 'zanzibarium') > 0")).toBe(0);
    expect(count(home, 'error_kb', "instr(error_normalized, 'zanzibarium') > 0")).toBe(0);
  });

  test('still records and tells other errors', () => {
    using home = temporaryHome();
    story(home);
    forget(home);
    play(home, [failed('Error: unknown option --new', 'u1')]);
    expect(contextIn(home)).toContain('unknown option --new');
  });

  test('drops it from recordings that wait in the spool', () => {
    using home = temporaryHome();
    using work = bench(home);
    seedErrors(home.paths, [{ error: ERROR }]);
    forget(home);
    const event = parseHookEvent(failed(RAW, 'u1'));
    const { recording } = event === undefined ? {} : decide(event, work.context);
    home.put('.self-generation/spool/00000000000001-1-x.json', JSON.stringify([recording]));
    writeDatabase(home.paths, () => {});
    expect(existsSync(home.paths.spool)).toBe(false);
    expect(count(home, 'events', '1') + count(home, 'error_kb', '1')).toBe(0);
  });

  test('deletes what quotes the line that was printed, at any time and however it was cut', () => {
    using home = temporaryHome();
    const long = `${SAID} ${'zanzibarium '.repeat(20)}`.trim().slice(0, 240);
    seedErrors(home.paths, [
      { error: ERROR, said: SAID },
      { error: ERROR, said: long },
      { error: keyOf(OTHER), said: OTHER },
    ]);
    for (const said of [SAID, `${long.slice(0, 200)}`, OTHER])
      given(home, `Errors:\n- ${said.replaceAll('<of>', '(of>')} (Bash)`);
    expect(forget(home).deleted).toMatchObject({ errors: 0, events: 2, contexts: 2 });
    expect(filesWithWords(home)).toEqual([]);
    expect(readRows(home.paths, 'SELECT text FROM given_contexts')).toEqual([
      { text: `Errors:\n- ${OTHER} (Bash)` },
    ]);
  });

  const quotes: [what: string, text: string, isQuote: boolean][] = [
    ['on one line', `Errors:\n- ${ERROR.replaceAll('<of>', '(of>')} (Bash) ×2\n  Fix: "x"`, true],
    ['as it is', `- ${ERROR} (Bash)`, true],
    ['cut off', `Errors:\n- ${ERROR.slice(0, 25)}…`, true],
    ['cut off after next to nothing', 'Errors:\n- Error…', false],
    ['within another line', `- Another error after ${ERROR}`, false],
    ['not at all', `- ${OTHER} (Bash)`, false],
  ];
  for (const [what, text, isQuote] of quotes) {
    test(`${isQuote ? 'deletes' : 'keeps'} a note that quotes it ${what}`, () => {
      using home = temporaryHome();
      given(home, text);
      expect(forget(home).deleted.contexts).toBe(isQuote ? 1 : 0);
      expect(count(home, 'given_contexts', '1')).toBe(isQuote ? 0 : 1);
    });
  }

  test('passes over rows of any shape', () => {
    using home = temporaryHome();
    withDatabase(home.paths, (db) => {
      const odd = ['', 'no json', '[]', 'null', '{"error": 7, "uniqueErrors": "x"}', '{"uniqueErrors": [7]}'];
      for (const type of ['tool_error', 'session_summary'])
        for (const data of odd)
          db.sqlite.run("INSERT INTO events(type, ts, session_id, data) VALUES (?, '', '', ?)", type, data);
    });
    const nothing = { errors: 0, events: 0, summaries: 0, contexts: 0, analyses: 0 };
    expect(forget(home).deleted).toEqual(nothing);
    expect(count(home, 'events', '1')).toBe(12);
  });

  test('works on more notes and summaries than it reads at once', () => {
    using home = temporaryHome();
    const summary = "INSERT INTO events(type, ts, session_id, data) VALUES ('session_summary', '', '', ?)";
    const note = "INSERT INTO given_contexts(ts, session_id, agent_id, text) VALUES ('', 's', ?, ?)";
    withDatabase(home.paths, (db) => {
      for (let index = 0; index < 1200; index++) {
        const isQuote = index % 3 === 0;
        const error = isQuote ? ERROR : OTHER;
        db.sqlite.run(summary, JSON.stringify({ uniqueErrors: [error] }));
        db.sqlite.run(note, String(index), `- ${error} (Bash)`);
      }
    });
    expect(forget(home).deleted).toMatchObject({ summaries: 400, contexts: 400 });
    expect([count(home, 'events', '1'), count(home, 'given_contexts', '1')]).toEqual([1200, 800]);
  });

  test('leaves nothing of any error', () => {
    const texts = (unit: 'grapheme' | 'binary') => fc.string({ unit, maxLength: 60 });
    const text = fc.oneof(texts('grapheme'), texts('binary'));
    fc.assert(
      fc.property(text, (words) => {
        using home = temporaryHome();
        const printed = `Error: unknown option --x of ${words}`;
        play(home, [failed(printed, 't1'), payload('session-end')]);
        const error = String(readEvents(home.paths, 'tool_error')[0]?.data.error);
        expect(isInformative(error)).toBe(true);
        writeDatabase(home.paths, (db) => forgetError(error, isoBeforeNow(0), db));
        const tables = ['events', 'event_text', 'error_kb', 'error_kb_text'];
        // The summary of the session stays.
        expect(tables.map((table) => count(home, table, '1'))).toEqual([1, 0, 0, 0]);
        play(home, [failed(printed, 't2')]);
        expect(count(home, 'error_kb', '1')).toBe(0);
      }),
      { numRuns: 25 },
    );
  });
});

describe('eraseTraces()', () => {
  test('says so when another program reads the database meanwhile', () => {
    using home = temporaryHome();
    seedFixes(home.paths, [{ error: ERROR, resolution: 'x' }]);
    const reader = new Database(home.paths.database, { readonly: true });
    reader.run('BEGIN');
    reader.query('SELECT * FROM error_kb').all();
    const erased = writeDatabase(home.paths, (db) => {
      db.sqlite.exec('PRAGMA busy_timeout = 50');
      forgetError(ERROR, isoBeforeNow(0), db);
      return eraseTraces(db);
    });
    expect(erased).toEqual({ kind: 'failed', reason: 'another program is reading it' });
    reader.close();
    expect(count(home, 'error_kb', '1')).toBe(0);
  });
});
