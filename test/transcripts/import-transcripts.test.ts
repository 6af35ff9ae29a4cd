import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { isRecord } from '../../src/core/guards.ts';
import { redactSecrets } from '../../src/core/redact.ts';
import { ANALYSIS_MARK } from '../../src/core/told-texts.ts';
import type { Recording } from '../../src/hooks/decision.ts';
import { parseHookEvent } from '../../src/hooks/hooks.ts';
import type { HookRun } from '../../src/hooks/invocation.ts';
import { record, spool } from '../../src/hooks/store/record.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { readConfig } from '../../src/settings/hook-settings.ts';
import { catchUpForHook } from '../../src/transcripts/catch-up.ts';
import type { TranscriptImport } from '../../src/transcripts/import.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../support/home.ts';
import { SECRETS } from '../support/made-up.ts';
import { PROJECT } from '../support/payloads.ts';
import { insertRow } from '../support/rows.ts';
import { withDatabase } from '../support/seed.ts';
import {
  Clock,
  importedRows,
  importHome,
  NOW,
  putText,
  Transcript,
  transcriptPath,
} from '../support/transcripts.ts';

const FIXTURES = `${import.meta.dir}/../fixtures/transcripts`;

function put(home: Home, transcript: Transcript, session: string, agent?: string): string {
  return putText(home, transcriptPath(session, agent), transcript.text);
}

function recorded(home: Home, type?: string): Record<string, unknown>[] {
  return readEvents(home.paths, type).map((event) => ({ ...event.data, session: event.sessionId }));
}

/** A test fails, a file is edited, the same test passes. */
function learning(options: ConstructorParameters<typeof Transcript>[0] = {}): Transcript {
  return new Transcript(options)
    .prompt('Make the test pass.')
    .fail('Bash', { command: 'npm test' }, 'Exit code 1\nError: settings.ini has no port')
    .succeed('Edit', { file_path: `${PROJECT}/settings.ini` })
    .succeed('Bash', { command: 'npm test' });
}

describe('importTranscripts() and genuine transcripts', () => {
  type Names = 'type' | 'ts' | 'session_id' | 'project_path';
  type Row = Record<Names, string> & { data: Record<string, unknown> };

  /** By what a row is the same, however its call was kept then. */
  const bare = ({ type, session_id, project_path, data }: Row) => {
    const { toolUseId, tool, text, agentId, agentType, skillName } = data;
    return { type, session_id, project_path, toolUseId, tool, text, agentId, agentType, skillName };
  };
  const sortKey = ({ type, session_id, data }: Row) =>
    [type, session_id, data.toolUseId, data.agentId, data.text, data.skillName].join(' ');
  const inOrder = (rows: readonly Row[]) =>
    rows.toSorted((left, right) => (sortKey(left) < sortKey(right) ? -1 : 1)).map(bare);
  /** Whether a command was one of the user's skills depends on files that are not there any more. */
  const isOwnCommand = ({ type, data }: Row) => type === 'prompt' && String(data.text).startsWith('/');

  for (const name of ['tasks', 'turns']) {
    const recordedThen = JSON.parse(readFileSync(`${FIXTURES}/${name}/recorded.json`, 'utf8')) as Row[];
    const commands = new Set(recordedThen.filter(isOwnCommand).map((row) => row.session_id));
    const hooks = recordedThen.filter((row) => row.type !== 'skill_used' || !commands.has(row.session_id));
    const install = (home: Home) =>
      cpSync(`${FIXTURES}/${name}`, `${home.path}/.claude/projects`, { recursive: true });

    test(`records of "${name}" what the hooks recorded`, () => {
      using home = temporaryHome();
      install(home);
      importHome(home);
      const rows = readRows(home.paths, 'SELECT type, ts, session_id, project_path, data FROM events');
      const imported = rows.map((row) => ({ ...row, data: JSON.parse(String(row.data)) })) as Row[];
      expect(imported).toHaveLength(hooks.length);
      expect(inOrder(imported)).toEqual(inOrder(hooks));
    });

    test(`adds nothing of "${name}" where the hooks have recorded it`, () => {
      using home = temporaryHome();
      install(home);
      withDatabase(home.paths, ({ sqlite }) => {
        for (const { type, ts, session_id, project_path, data } of hooks) {
          const row = { type, ts, session_id, project: 'app', project_path, data: JSON.stringify(data) };
          insertRow(sqlite, 'events', row);
        }
      });
      const report = importHome(home);
      expect(report.added).toEqual({});
      expect(report.known).toBeGreaterThan(15);
      expect(readRows(home.paths, 'SELECT COUNT(*) AS count FROM events')).toEqual([{ count: hooks.length }]);
    });
  }
});

describe('importTranscripts() and what happened', () => {
  test('counts an error, and names the project that has something new', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    expect(importHome(home)).toMatchObject({
      filesFound: 1,
      sessions: 1,
      added: { prompt: 1, tool_error: 1, tool_use: 2 },
      known: 0,
      projects: [PROJECT],
    });
    const [row] = readRows(home.paths, 'SELECT * FROM error_kb');
    expect(row).toMatchObject({ seen_count: 1, shown_count: 0, project_path: PROJECT });
  });

  test('keeps the times and the projects', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    importHome(home);
    const rows = readRows(home.paths, 'SELECT ts, project, project_path FROM events ORDER BY id');
    expect(rows[0]).toEqual({ ts: '2026-11-20T09:00:01.000Z', project: 'app', project_path: PROJECT });
  });

  test('follows the sub-agents of a session side by side with it', () => {
    using home = temporaryHome();
    const clock = new Clock();
    const main = new Transcript({ clock }).prompt('Delegate.');
    const agent = new Transcript({ agent: 'abc1', clock }).prompt('Do the job.');
    const call = main.call('Agent', { subagent_type: 'executor' });
    agent
      .fail('Bash', { command: 'npm test' }, 'Exit code 1\nError: settings.ini has no port')
      .say('I failed.');
    main.result(call, 'It failed.').succeed('Edit', { file_path: `${PROJECT}/settings.ini` });
    main.succeed('Bash', { command: 'npm test' });
    put(home, main, 's1');
    put(home, agent, 's1', 'abc1');
    putText(home, transcriptPath('s1', 'abc1').replace('.jsonl', '.meta.json'), '{"agentType":"executor"}');
    importHome(home);
    const types = readEvents(home.paths).map((event) => event.type);
    expect(types.join(' ')).toBe('prompt tool_error subagent_stop tool_use tool_use tool_use');
    const byAgent = { agentId: 'abc1', agentType: 'executor', session: 's1' };
    expect(recorded(home, 'subagent_stop')).toMatchObject([byAgent]);
    expect(recorded(home, 'tool_error')).toMatchObject([byAgent]);
  });

  test('finds the sub-agents of older versions, which lie beside the session', () => {
    using home = temporaryHome();
    const clock = new Clock();
    const main = new Transcript({ clock }).prompt('Delegate.');
    const agent = new Transcript({ agent: 'abc1', clock })
      .succeed('Bash', { command: 'npm test' })
      .say('Done.');
    put(home, main, 's1');
    putText(home, '.claude/projects/-home-dev-app/agent-abc1.jsonl', agent.text);
    const report = importHome(home);
    expect(report.sessions).toBe(1);
    expect(recorded(home, 'tool_use')).toMatchObject([{ agentId: 'abc1', session: 's1' }]);
    expect(recorded(home, 'subagent_stop')).toMatchObject([{ agentId: 'abc1', session: 's1' }]);
  });

  test("passes over the end of the client's own helpers", () => {
    using home = temporaryHome();
    put(home, new Transcript({ agent: 'acompact-1a2b' }).say('A summary.'), 's1', 'acompact-1a2b');
    importHome(home);
    expect(recorded(home)).toEqual([]);
  });

  test('takes the session that began first first, whatever their names', () => {
    using home = temporaryHome();
    const later = new Clock(Date.parse('2026-11-20T12:00:00Z'));
    put(home, learning({ session: 'a', clock: later }), 'a');
    put(home, learning({ session: 'b' }), 'b');
    importHome(home);
    const sessions = readEvents(home.paths, 'prompt').map((event) => event.sessionId);
    expect(sessions).toEqual(['b', 'a']);
  });
});

describe('importTranscripts() and where a session worked', () => {
  test('counts what was done below the directory of the start to its project', () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('Go.').succeed('Bash', { command: 'cd src' });
    const below = new Transcript({ cwd: `${PROJECT}/src` }).succeed('Bash', { command: 'ls' }).entries;
    const beside = new Transcript({ cwd: `${PROJECT}2`, session: 's1' });
    beside.result(beside.call('Bash', { command: 'pwd' }, 'toolu_beside'), 'ok');
    const text = [...below, ...beside.entries].map((entry, index) =>
      JSON.stringify(entry).replaceAll('toolu_s1__0', `toolu_${index < 2 ? 'below' : ''}`),
    );
    putText(home, transcriptPath('s1'), `${transcript.text}${text.join('\n')}\n`);
    importHome(home);
    const projects = readEvents(home.paths).map((event) => event.projectPath);
    expect(projects).toEqual([PROJECT, PROJECT, PROJECT, `${PROJECT}2`]);
  });

  test('asks for each directory once', () => {
    using home = temporaryHome();
    const asked: string[] = [];
    put(home, learning(), 's1');
    importHome(home, {
      projectAt: (directory) => {
        asked.push(directory);
        return { name: 'main', path: '/home/dev/main', spellings: ['/home/dev/main', directory] };
      },
    });
    expect(asked).toEqual([PROJECT]);
    expect(readEvents(home.paths).every((event) => event.projectPath === '/home/dev/main')).toBe(true);
  });
});

describe('importTranscripts() and what it leaves out', () => {
  test('skips the sessions of our own analysis, with all that belongs to them', () => {
    using home = temporaryHome();
    const analysis = new Transcript({ session: 'own' }).prompt(`[${ANALYSIS_MARK}]\nYou analyse the log`);
    put(home, analysis.succeed('Bash', { command: 'ls' }), 'own');
    const agent = new Transcript({ session: 'own', agent: 'abc1' }).succeed('Bash', { command: 'ls' });
    put(home, agent, 'own', 'abc1');
    const quoting = new Transcript().prompt(`Why does ${'x'.repeat(100)} say ${ANALYSIS_MARK}?`);
    put(home, quoting, 's1');
    const report = importHome(home);
    expect(report).toMatchObject({ sessions: 1, added: { prompt: 1 }, passedOver: { analyses: 1 } });
    expect(importHome(home)).toMatchObject({ filesUnchanged: 3, sessions: 0, passedOver: { analyses: 0 } });
  });

  test('counts broken and endless lines and goes on behind them', () => {
    using home = temporaryHome();
    const [prompt = ''] = learning().text.split('\n');
    const text = `{"type":"user","message"\n\n   \n${'x'.repeat(33 * 1024 * 1024)}\n[1]\nnull\n\x00\x01\n${prompt}\n`;
    putText(home, transcriptPath('s1'), text);
    const report = importHome(home);
    expect(report).toMatchObject({ added: { prompt: 1 }, passedOver: { brokenLines: 2, longLines: 1 } });
  });

  test('takes what has a time in the future', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    expect(importHome(home, { now: () => new Date('2026-11-20T08:00:00Z') }).added).toMatchObject({
      tool_use: 2,
    });
  });

  test('takes only the project that is asked for, and the rest when it is asked for', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    put(home, learning({ session: 's2', cwd: '/home/dev/other' }), 's2');
    expect(importHome(home, { projectPath: '/home/dev/other' })).toMatchObject({
      sessions: 1,
      passedOver: { notAskedFor: 1 },
    });
    expect(new Set(readEvents(home.paths).map((event) => event.sessionId))).toEqual(new Set(['s2']));
    expect(importHome(home)).toMatchObject({ sessions: 1, filesUnchanged: 1, added: { prompt: 1 } });
  });

  test('takes only sessions that were written to since, and the rest when it is asked for', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    expect(importHome(home, { sinceMs: Date.now() + 60_000 })).toMatchObject({
      sessions: 0,
      passedOver: { notAskedFor: 1 },
    });
    expect(existsSync(home.paths.database) && readEvents(home.paths)).toEqual([]);
    expect(importHome(home, { sinceMs: Date.now() - 60_000 })).toMatchObject({ sessions: 1 });
  });

  test('stores no secret', () => {
    using home = temporaryHome();
    const transcript = new Transcript();
    for (const { text } of SECRETS) {
      transcript.prompt(`Use ${text}`).prompt(`<private>${text}</private> Use it`).queued(text);
      transcript.succeed('Bash', { command: `deploy ${text}` });
      transcript.fail('Bash', { command: `deploy ${text}` }, `Exit code 1\nError: refused ${text}`);
      transcript.succeed('Edit', { file_path: `${PROJECT}/${text}/a.ts`, new_string: text });
      transcript.fail('Edit', { file_path: 'a.ts' }, `<tool_use_error>Not found: ${text}</tool_use_error>`);
    }
    put(home, transcript, 's1');
    importHome(home);
    expect(recorded(home).length).toBeGreaterThan(40);
    const stored = ['', '-wal'].map((suffix) => `${home.paths.database}${suffix}`).filter(existsSync);
    const bytes = Buffer.concat(stored.map((path) => readFileSync(path)));
    for (const { secret } of SECRETS) expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes('[REDACTED]')).toBe(true);
    // The same look at the transcript itself would find them.
    expect(SECRETS.every(({ secret }) => transcript.text.includes(secret))).toBe(true);
    expect(SECRETS.every(({ text, secret }) => !redactSecrets(text).includes(secret))).toBe(true);
  });

  test('stores no prompts where they are not wanted', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    importHome(home, { config: readConfig({ collectPromptText: false }) });
    expect(recorded(home, 'prompt')).toMatchObject([{ text: '[REDACTED]', charCount: 19 }]);
  });
});

describe('importTranscripts() once more', () => {
  test('adds nothing', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    importHome(home);
    const before = importedRows(home);
    expect(importHome(home)).toMatchObject({ filesUnchanged: 1, sessions: 0, bytes: 0, added: {}, known: 0 });
    expect(importedRows(home)).toEqual(before);
  });

  test('adds what a file has grown by, a call that was under way included', () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('Go.');
    const call = transcript.call('Bash', { command: 'npm test' });
    const path = put(home, transcript, 's1');
    expect(importHome(home).added).toEqual({ prompt: 1 });
    const length = transcript.text.length;
    transcript.result(call, 'ok');
    appendFileSync(path, transcript.text.slice(length));
    expect(importHome(home)).toMatchObject({ added: { tool_use: 1 }, passedOver: { resultsWithoutCall: 0 } });
    expect(recorded(home, 'tool_use')).toMatchObject([
      { tool: 'Bash', command: 'npm test', toolUseId: call },
    ]);
  });

  test('waits for the end of a line that is being written', () => {
    using home = temporaryHome();
    const { text } = learning();
    const path = putText(home, transcriptPath('s1'), text.slice(0, -20));
    expect(importHome(home)).toMatchObject({ added: { tool_use: 1 }, passedOver: { brokenLines: 0 } });
    appendFileSync(path, text.slice(-20));
    expect(importHome(home).added).toEqual({ tool_use: 1 });
  });

  test('takes a last line that lacks nothing but its end', () => {
    using home = temporaryHome();
    const { text } = learning();
    const path = putText(home, transcriptPath('s1'), text.slice(0, -1));
    expect(importHome(home).added).toMatchObject({ tool_use: 2 });
    appendFileSync(path, `\n${JSON.stringify(learning().entries[0]).replace('pass.', 'pass now.')}\n`);
    expect(importHome(home)).toMatchObject({ passedOver: { brokenLines: 0 } });
  });

  test('reads a file anew that another one has replaced', () => {
    using home = temporaryHome();
    const path = put(home, learning(), 's1');
    importHome(home);
    const other = new Transcript({ session: 's1', clock: new Clock(Date.parse('2026-11-20T15:00:00Z')) });
    other.prompt('Something else.').succeed('Read', { file_path: 'a.ts' }).prompt('x'.repeat(5000));
    writeFileSync(path, other.text.replaceAll('toolu_s1_', 'toolu_other'));
    expect(importHome(home).added).toEqual({ prompt: 2, tool_use: 1 });
  });

  test('reads a file anew that has become shorter, and takes nothing twice', () => {
    using home = temporaryHome();
    const path = put(home, learning(), 's1');
    importHome(home);
    const before = importedRows(home);
    const { text } = learning();
    writeFileSync(path, text.slice(0, text.indexOf('\n', text.length / 2) + 1));
    expect(importHome(home)).toMatchObject({ sessions: 1, added: {} });
    expect(importedRows(home).events).toEqual(before.events ?? []);
  });

  test('takes nothing twice when it is found under another name', () => {
    using home = temporaryHome();
    const path = put(home, learning(), 's1');
    importHome(home);
    const before = importedRows(home);
    rmSync(path);
    putText(home, '.claude/projects/-home-dev-moved/s1.jsonl', learning().text);
    expect(importHome(home)).toMatchObject({ sessions: 1, added: {}, known: 4 });
    expect(importedRows(home).errors).toEqual(before.errors ?? []);
  });

  test('goes on where it was when a file has been moved, also when its events are gone', () => {
    using home = temporaryHome();
    const transcript = learning();
    const path = put(home, transcript, 's1');
    importHome(home);
    withDatabase(home.paths, ({ sqlite }) => sqlite.run('DELETE FROM events'));
    const before = importedRows(home).errors;
    rmSync(path);
    const moved = '.claude/projects/-home-dev-moved/s1.jsonl';
    putText(home, moved, transcript.text);
    const lines = transcript.text.split('\n').slice(0, 3);
    putText(home, '.claude/projects/-home-dev-older/s1.jsonl', `${lines.join('\n')}\n`);
    expect(importHome(home)).toMatchObject({ filesFound: 2, filesUnchanged: 2, sessions: 0, added: {} });
    putText(home, moved, transcript.prompt('Go on.').text);
    expect(importHome(home)).toMatchObject({ sessions: 1, added: { prompt: 1 } });
    expect(importedRows(home).errors).toEqual(before ?? []);
  });
});

describe('importTranscripts() and what the hooks have recorded', () => {
  const at = (ts: string) => {
    return { ts, sessionId: 's1', project: 'app', projectPath: PROJECT, agentId: null, agentType: null };
  };
  const prompted = (ts: string, text: string): Recording => {
    return { kind: 'prompt', at: at(ts), text, charCount: text.length };
  };

  function recordedBefore(home: Home, ...recordings: Recording[]): void {
    writeDatabase(home.paths, (db) => record(recordings, home.paths, db));
  }

  test('counts the characters of a whole file, of which nothing is kept', () => {
    using home = temporaryHome();
    const [file_path, content] = [`${PROJECT}/a.ts`, 'x'.repeat(40_000)];
    put(home, new Transcript().succeed('Write', { file_path, content }, 'written'), 's1');
    importHome(home);
    expect(recorded(home)).toMatchObject([{ chars: file_path.length + 40_000 + 'written'.length }]);
  });

  test('adds only what they have not', () => {
    using home = temporaryHome();
    const transcript = learning().prompt('Thanks.');
    put(home, transcript, 's1');
    const call = { tool: 'Bash', toolUseId: 'toolu_s1__2', command: null, line: null, directory: null };
    recordedBefore(home, prompted('2026-11-20T09:00:01.015Z', 'Make the test pass.'), {
      kind: 'tool-use',
      at: at('2026-11-20T09:09:00.000Z'),
      meta: {},
      ...call,
      remark: null,
      file: null,
      chars: 0,
    });
    expect(importHome(home)).toMatchObject({ added: { prompt: 1, tool_error: 1, tool_use: 1 }, known: 2 });
  });

  test('takes in what waits in the spool before it looks', () => {
    using home = temporaryHome();
    put(home, new Transcript().prompt('Make the test pass.'), 's1');
    spool([prompted('2026-11-20T09:00:01.015Z', 'Make the test pass.')], home.paths, Date.now());
    expect(importHome(home)).toMatchObject({ added: {}, known: 1 });
    expect(recorded(home, 'prompt')).toHaveLength(1);
  });

  test('sees what a hook records while it is running', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    let turns = 0;
    const report = importHome(home, {
      limits: { events: 1, holdMs: 0 },
      inTurn: (work) => {
        if (turns++ === 2) {
          const row = { type: 'tool_use', ts: NOW.toISOString(), session_id: 's1' };
          const data = '{"toolUseId":"toolu_s1__2"}';
          writeDatabase(home.paths, ({ sqlite }) => insertRow(sqlite, 'events', { ...row, data }));
        }
        return work();
      },
    });
    expect(report).toMatchObject({ added: { prompt: 1, tool_error: 1, tool_use: 1 }, known: 1 });
  });

  test('takes no copy of a session that goes on in another one', () => {
    using home = temporaryHome();
    const original = learning();
    put(home, original, 's1');
    const copies = original.entries.map((entry) => ({ ...entry, sessionId: 's2' }));
    const fork = new Transcript({ session: 's2', clock: new Clock(Date.parse('2026-11-20T10:00:00Z')) });
    fork.add({ type: 'queue-operation' });
    fork.entries.push(...copies);
    fork.prompt('And now?').succeed('Bash', { command: 'git status' });
    put(home, fork, 's2');
    expect(importHome(home)).toMatchObject({
      sessions: 2,
      added: { prompt: 2, tool_error: 1, tool_use: 3 },
      known: 4,
    });
    expect(readRows(home.paths, 'SELECT seen_count FROM error_kb')).toEqual([{ seen_count: 1 }]);
  });

  test('knows a prompt that was queued although its hook ran much later', () => {
    using home = temporaryHome();
    put(home, new Transcript().queued('and hurry'), 's1');
    recordedBefore(home, prompted('2026-11-20T09:10:00.000Z', 'and hurry'));
    expect(importHome(home)).toMatchObject({ added: {}, known: 1 });
  });

  test('keeps the same prompt of another time', () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('continue');
    for (let count = 0; count < 14; count++) transcript.say('…', 'tool_use');
    put(home, transcript.prompt('continue'), 's1');
    expect(importHome(home).added).toEqual({ prompt: 2 });
  });

  test('goes on when another import takes in the same file, and takes nothing twice', () => {
    using home = temporaryHome();
    put(home, learning(), 's1');
    let turns = 0;
    const report = importHome(home, {
      limits: { events: 1, holdMs: 0 },
      inTurn: (work) => {
        if (turns++ === 1) importHome(home);
        return work();
      },
    });
    expect(report).toMatchObject({ added: { prompt: 1 }, known: 3 });
    expect(importHome(home)).toMatchObject({ filesUnchanged: 1, added: {} });
    expect(recorded(home)).toHaveLength(4);
  });
});

/** Each run makes several databases. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 30);
setDefaultTimeout(60_000 + RUNS * 500);

describe('importTranscripts() and interruptions', () => {
  /** A session with sub-agents at work side by side, errors and fixes, calls that overlap. */
  const sessions = () =>
    fc.array(
      fc.record({
        who: fc.constantFrom('main', 'a1', 'a2'),
        what: fc.constantFrom(...'prompt open close fail pass edit reject stop noise both'.split(' ')),
      }),
      { minLength: 1, maxLength: 40 },
    );

  const REJECTED = '<tool_use_error>String to replace not found</tool_use_error>';

  type Happened = { readonly who: string; readonly what: string };

  function write(happened: readonly Happened[]): Map<string, Transcript> {
    const clock = new Clock();
    const transcriptOf = (who: string) => new Transcript({ clock, ...(who !== 'main' && { agent: who }) });
    const transcripts = new Map(['main', 'a1', 'a2'].map((who) => [who, transcriptOf(who)]));
    const open: [string, string][] = [];
    for (const [index, { who, what }] of happened.entries()) {
      const transcript = transcripts.get(who) as Transcript;
      if (what === 'prompt') transcript.prompt(`prompt ${index}`);
      else if (what === 'open') open.push([who, transcript.call('Bash', { command: `make ${index}` })]);
      else if (what === 'close') {
        const [owner, id] = open.shift() ?? [];
        if (owner !== undefined && id !== undefined) transcripts.get(owner)?.result(id, 'ok');
      } else if (what === 'fail')
        transcript.fail('Bash', { command: 'npm test' }, `Exit code 1\nError: case ${who}`);
      else if (what === 'pass') transcript.succeed('Bash', { command: 'npm test' });
      else if (what === 'edit') transcript.succeed('Edit', { file_path: `${PROJECT}/file-${index}.ts` });
      else if (what === 'reject') transcript.fail('Edit', { file_path: 'x.ts' }, REJECTED);
      else if (what === 'stop') transcript.say('done');
      else if (what === 'both') {
        const ids = ['x', 'y'].map((command) => transcript.call('Bash', { command: `${command} ${index}` }));
        const content = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' }));
        transcript.add({ type: 'user', message: { role: 'user', content } });
      } else transcript.add({ type: 'attachment', attachment: { type: 'date' }, text: '한글' });
    }
    return transcripts;
  }

  function putAll(
    home: Home,
    transcripts: ReadonlyMap<string, Transcript>,
    until = Number.POSITIVE_INFINITY,
    part = 0,
  ): void {
    for (const [who, { entries }] of transcripts) {
      const seen = entries.filter((entry) => Date.parse(String(entry.timestamp)) <= until);
      const lines = seen.map((entry) => Buffer.from(`${JSON.stringify(entry)}\n`));
      const next = entries[seen.length];
      const bytes = next === undefined ? Buffer.alloc(0) : Buffer.from(`${JSON.stringify(next)}\n`);
      const whole = Buffer.concat([...lines, bytes.subarray(0, Math.floor(bytes.length * part))]);
      if (whole.length > 0) putText(home, transcriptPath('s1', who === 'main' ? undefined : who), whole);
    }
  }

  function rowsOf(transcripts: ReadonlyMap<string, Transcript>): Record<string, unknown[]> {
    using home = temporaryHome();
    putAll(home, transcripts);
    importHome(home);
    return importedRows(home);
  }

  /** Imports until this transaction; false when there is none. */
  function isKilledAt(turn: number, events: number, home: Home): boolean {
    let turns = 0;
    const inTurn: TranscriptImport['inTurn'] = (work) => {
      if (turns++ === turn) throw new Error('killed');
      return work();
    };
    try {
      importHome(home, { limits: { events, holdMs: 0 }, inTurn });
      return false;
    } catch (error) {
      expect(error).toEqual(new Error('killed'));
      return true;
    }
  }

  test('killed before any of its transactions, it ends with the same rows', () => {
    fc.assert(
      fc.property(sessions(), fc.array(fc.nat(30), { maxLength: 4 }), (happened, kills) => {
        const transcripts = write(happened);
        using home = temporaryHome();
        putAll(home, transcripts);
        for (const kill of kills) isKilledAt(kill, 1 + (kill % 3), home);
        importHome(home);
        expect(importedRows(home)).toEqual(rowsOf(transcripts));
      }),
      { numRuns: RUNS },
    );
  });

  test('killed between two events of one line, it takes the second one later', () => {
    using home = temporaryHome();
    putAll(home, write([{ who: 'main', what: 'both' }]));
    expect(isKilledAt(1, 1, home)).toBe(true);
    expect(recorded(home)).toHaveLength(1);
    expect(importHome(home)).toMatchObject({ added: { tool_use: 1 }, known: 1 });
  });

  test('run while the transcripts grow, cut at any byte, it ends with the same rows', () => {
    const look = fc.record({ at: fc.nat(100), part: fc.double({ min: 0, max: 0.99, noNaN: true }) });
    fc.assert(
      fc.property(sessions(), fc.array(look, { maxLength: 4 }), (happened, looks) => {
        const transcripts = write(happened);
        using home = temporaryHome();
        for (const { at, part } of looks.toSorted((left, right) => left.at - right.at)) {
          putAll(home, transcripts, Date.parse('2026-11-20T09:00:00Z') + at * 1000, part);
          importHome(home);
        }
        putAll(home, transcripts);
        importHome(home);
        expect(importedRows(home)).toEqual(rowsOf(transcripts));
      }),
      { numRuns: RUNS },
    );
  });

  test('read by hooks in small parts while they grow, it ends with the same rows', () => {
    const parts = fc.record({
      at: fc.nat(100),
      part: fc.double({ min: 0, max: 0.99, noNaN: true }),
      bytes: fc.integer({ min: 300, max: 6000 }),
      isNewestFirst: fc.boolean(),
    });
    fc.assert(
      fc.property(sessions(), fc.array(parts, { maxLength: 6 }), (happened, looks) => {
        const transcripts = write(happened);
        using home = temporaryHome();
        for (const { at, part, ...limits } of looks.toSorted((left, right) => left.at - right.at)) {
          putAll(home, transcripts, Date.parse('2026-11-20T09:00:00Z') + at * 1000, part);
          catchUp(home, limits);
        }
        putAll(home, transcripts);
        catchUp(home, { bytes: 3000, isNewestFirst: true });
        importHome(home);
        const rows = importedRows(home);
        const expected = rowsOf(transcripts);
        expect(comparable(rows.events)).toEqual(comparable(expected.events));
        expect(counts(rows.errors)).toEqual(counts(expected.errors));
        expect(rows.progress).toEqual(expected.progress);
      }),
      { numRuns: RUNS },
    );
  });

  /**
   * Where the newest part was read first, what was said before its first call was not part of it, and of two prompts or
   * ends that are taken for one it was the second that came first.
   */
  const comparable = (events: readonly unknown[] = []) =>
    (events as Record<string, unknown>[])
      .map(({ ts, ...event }) => (event.type === 'subagent_stop' ? event : { ...event, ts }))
      .map((event) => JSON.stringify(event).replace(/\\"remark\\":\\".*?\\",/, ''))
      .sort();

  /** What came first may have been read last. */
  const counts = (errors: readonly unknown[] = []) =>
    (errors as Record<string, unknown>[]).map(({ error_normalized, seen_count }) => [
      error_normalized,
      seen_count,
    ]);

  function catchUp(home: Home, limits: { readonly bytes: number; readonly isNewestFirst: boolean }): void {
    const event = parseHookEvent({
      hook_event_name: 'UserPromptSubmit',
      prompt: 'Go.',
      session_id: 's1',
      cwd: PROJECT,
      transcript_path: `${home.path}/${transcriptPath('s1')}`,
    });
    if (event === undefined) throw new Error('Cannot catch up: there is no event');
    const chunks = {} as HookRun['chunks'];
    const run = { event, env: {}, paths: home.paths, now: NOW, chunks };
    writeDatabase(home.paths, (db) =>
      catchUpForHook(run, { ms: 60_000, isThorough: false, ...limits }, () => db),
    );
  }

  test('the rows that are compared would show what is lost or doubled', () => {
    const happened = ['prompt', 'fail', 'edit', 'pass', 'stop'].map((what) => ({ who: 'a1', what }));
    const whole = rowsOf(write(happened));
    for (let index = 1; index < happened.length; index++) {
      const without = rowsOf(write(happened.filter((_, other) => other !== index)));
      expect(without).not.toEqual(whole);
    }
    expect(Object.keys(whole)).toEqual(['events', 'errors', 'progress']);
    expect(isRecord(whole.events?.[0])).toBe(true);
  });
});
