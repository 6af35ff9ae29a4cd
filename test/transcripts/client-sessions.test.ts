import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { appendFileSync, mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { ANALYSIS_MARK } from '../../src/core/told-texts.ts';
import { readConfig } from '../../src/settings/hook-settings.ts';
import { type ImportOptions, importAll } from '../../src/transcripts/import.ts';
import {
  type MadeCall,
  type MadeSession,
  PUT,
  putSessions,
  RECORDED_IN,
} from '../support/client-sessions.ts';
import { CLIENTS } from '../support/clients.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../support/home.ts';
import { withDatabase } from '../support/seed.ts';
import {
  Clock,
  importedRows,
  NOW,
  projectAt,
  putText,
  Transcript,
  transcriptPath,
} from '../support/transcripts.ts';

const OTHERS = ['codex', 'gemini', 'opencode'] as const;
const PROJECT = '/home/dev/app';
const LATER = new Date('2026-11-24T09:00:00.000Z');

function run(home: Home, changes: Partial<ImportOptions> = {}) {
  return importAll({
    ...{ roots: [], projectPath: undefined, sinceMs: undefined, ofRuns: new Set<string>() },
    ...{ clients: OTHERS.map((name) => CLIENTS[name]), config: readConfig({}), env: { HOME: home.path } },
    ...{ projectAt, paths: home.paths, now: () => NOW, onProgress: () => {}, isRehearsal: false },
    ...changes,
  });
}

const of = (client: (typeof OTHERS)[number], home: Home, changes: Partial<ImportOptions> = {}) => {
  const [report] = run(home, { clients: [CLIENTS[client]], ...changes }).sessions;
  if (report === undefined) throw new Error('no report');
  return report;
};

const ID = '0a1b2c3d-0000-4000-8000-000000000001';
const AGENT = '0a1b2c3d-0000-4000-8000-000000000002';
const NO_PORT = 'Error: PORT is not set\n';
const FAILED: MadeCall = { run: 'npm test', code: 1, prints: NO_PORT };
const HELPED: MadeCall = { run: 'PORT=8080 npm test', prints: 'ok\n' };
const made = (changes: Partial<MadeSession> = {}): MadeSession => ({
  ...{ id: ID, cwd: PROJECT, entries: ['Run the tests.', FAILED, HELPED] },
  ...changes,
});

/** Events with what is in their data beside their columns. */
const eventsIn = (home: Home): Record<string, unknown>[] =>
  readEvents(home.paths).map(({ data, ...columns }) => ({ ...data, ...columns }));

/** Events as they tell what happened. */
const told = (home: Home) =>
  eventsIn(home).map(({ type, tool, line, file, text, error }) =>
    [type, tool, line ?? file, text, error].filter((one) => one !== undefined).join(' '),
  );

describe('a session that the real client wrote', () => {
  for (const client of OTHERS) {
    test(`of ${client} is taken in as the hooks would have recorded it`, () => {
      using home = temporaryHome();
      putSessions(home.path, client);
      expect(of(client, home, { now: () => LATER })).toMatchObject({ unreadable: [], unchanged: 0 });
      const [session] = eventsIn(home);
      const own = eventsIn(home).filter(({ sessionId }) => sessionId === session?.sessionId);
      expect(own.map(({ projectPath }) => projectPath)).toEqual(own.map(() => RECORDED_IN));
      for (const { chars } of own.filter(({ tool }) => tool !== undefined)) expect(chars).toBeGreaterThan(0);
      const reading = client === 'codex' ? 'Bash cat /home/dev/project/src/fifo.v' : 'Read src/fifo.v';
      const writing = client === 'codex' ? 'Edit' : 'Write';
      expect(told(home).slice(0, 6)).toEqual([
        'prompt Make the FIFO asynchronous. Requirement: no new dependencies.',
        `tool_use ${reading}`,
        'tool_use Bash ls src',
        `tool_use ${writing} src/async_fifo.v`,
        'tool_error Bash echo no such tool >&2; exit 3 no such tool · exit #',
        'prompt Look at the wave, please.',
      ]);
      const calls = eventsIn(home).filter(({ type }) => String(type).startsWith('tool_'));
      expect(calls.map(({ toolUseId }) => String(toolUseId).split(':')[0])).toEqual(calls.map(() => client));
      expect(calls[0]?.remark).toBe('I look first.');
      // What the sub-agent was asked, and what the client itself said, is no wish of the user.
      expect(
        told(home).filter((one) => /AGENT-TASK look|session_context|AGENTS\.md|<summary>/.test(one)),
      ).toEqual(told(home).filter((one) => /^tool_use (?:task|invoke_agent|multi_agent_v1)/.test(one)));
    });

    test(`of ${client} is taken in once, its copies in forks and later starts too`, () => {
      using home = temporaryHome();
      putSessions(home.path, client);
      of(client, home, { now: () => LATER });
      const before = importedRows(home);
      expect(new Set(told(home)).size).toBe(told(home).length);
      const { found } = of(client, home, { now: () => LATER });
      expect(of(client, home, { now: () => LATER })).toMatchObject({
        found,
        unchanged: found,
        added: {},
        known: 0,
      });
      withDatabase(home.paths, ({ sqlite }) => sqlite.exec('DELETE FROM imports'));
      expect(of(client, home, { now: () => LATER })).toMatchObject({ unchanged: 0, added: {} });
      expect({ ...importedRows(home), progress: [] }).toEqual({ ...before, progress: [] });
    });
  }
});

describe.each(OTHERS)('a session of %s', (client) => {
  const put = (home: Home, changes: Partial<MadeSession> = {}) => PUT[client](made(changes), home.path);

  test('teaches what helped', () => {
    using home = temporaryHome();
    put(home);
    expect(run(home)).toMatchObject({ fixes: 1 });
    expect(told(home)).toEqual([
      'prompt Run the tests.',
      expect.stringMatching(/^tool_error Bash npm test .*PORT is not set/),
      'tool_use Bash PORT=8080 npm test',
    ]);
    expect(readRows(home.paths, 'SELECT resolution, project_path FROM error_kb')).toEqual([
      {
        project_path: PROJECT,
        resolution: expect.stringContaining('PORT=8080 npm test'),
      },
    ]);
    const [, failed] = eventsIn(home);
    expect(failed?.errorRaw).toBe(`Exit code 1\n${NO_PORT.trim()}`);
  });

  test('that has grown adds what is new, and counts nothing again that is too old to be kept', () => {
    using home = temporaryHome();
    const startMs = Date.parse('2026-07-01T09:00:00Z');
    put(home, { startMs });
    expect(run(home)).toMatchObject({ removed: 3 });
    expect(told(home)).toEqual([]);
    const path = put(home, {
      startMs,
      entries: ['Run the tests.', FAILED, HELPED, { run: 'npm run build' }],
    });
    utimesSync(path, new Date(), new Date(Date.now() + 1000));
    expect(of(client, home)).toMatchObject({ sessions: 1, unchanged: 0, added: { tool_use: 1 } });
    expect(readRows(home.paths, 'SELECT seen_count FROM error_kb')).toEqual([{ seen_count: 1 }]);
  });

  test('is taken in to its end after an import that was killed behind any of its transactions', () => {
    const rowsOf = (kills: (home: Home) => void) => {
      using home = temporaryHome();
      put(home);
      put(home, { id: AGENT, parent: ID, entries: ['AGENT', { run: 'ls src' }] });
      kills(home);
      run(home);
      const { events, errors } = importedRows(home);
      return { events, errors, fixes: readRows(home.paths, 'SELECT resolution, use_count FROM error_kb') };
    };
    const expected = rowsOf(() => {});
    expect(expected.events).toHaveLength(4);
    let writes = 0;
    for (let isKilled = true; isKilled; writes++) {
      const rows = rowsOf((home) => {
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
      });
      expect(rows).toEqual(expected);
    }
    expect(writes).toBeGreaterThan(5);
  });

  test('of a sub-agent is work of the session that started it, and no wish of the user', () => {
    using home = temporaryHome();
    put(home, { entries: ['Look.'] });
    put(home, { id: AGENT, parent: ID, entries: ['AGENT-TASK', FAILED] });
    run(home);
    expect(told(home)).toEqual(['prompt Look.', expect.stringMatching(/^tool_error Bash npm test /)]);
    expect(eventsIn(home).map(({ sessionId, agentId }) => [sessionId, agentId])).toEqual([
      [ID, undefined],
      [ID, AGENT],
    ]);
  });

  test('in which a background run works, or a sub-agent of one, is left out', () => {
    using home = temporaryHome();
    put(home);
    put(home, { id: AGENT, parent: ID, entries: ['AGENT', FAILED] });
    const report = of(client, home, { ofRuns: new Set([ID]) });
    expect(report).toMatchObject({ found: 2, sessions: 0, added: {}, passedOver: { runs: 2 } });
  });

  test('of our own analysis is left out', () => {
    using home = temporaryHome();
    put(home, { entries: [`\n[${ANALYSIS_MARK}]\nSay what you see.`, FAILED] });
    expect(of(client, home)).toMatchObject({ sessions: 0, added: {}, passedOver: { analyses: 1 } });
    expect(of(client, home)).toMatchObject({ unchanged: 1 });
  });

  test('is asked for by its project and by when it was written last', () => {
    using home = temporaryHome();
    put(home, { id: AGENT, cwd: '/home/dev/other', entries: ['There.'] });
    const path = put(home);
    expect(of(client, home, { projectPath: PROJECT })).toMatchObject({
      sessions: 1,
      passedOver: { notAskedFor: 1 },
    });
    expect(told(home)).toHaveLength(3);
    utimesSync(path, new Date(1000), new Date(1000));
    const sinceMs = Date.parse('2026-11-20T10:00:00Z') + (client === 'opencode' ? 0 : 1e12);
    expect(of(client, home, { sinceMs })).toMatchObject({ sessions: 0 });
  });

  test('leaves no secret behind', () => {
    using home = temporaryHome();
    const secret = `ghp_${'aB3dE5fG7h'.repeat(4)}`.slice(0, 40);
    const prints = `fatal: could not read with ${secret}\n`;
    put(home, { entries: [`Use ${secret}.`, { run: `TOKEN=${secret} git push`, code: 128, prints }] });
    run(home);
    const rows = JSON.stringify(importedRows(home));
    expect(rows).toContain('REDACTED');
    expect(rows).not.toContain(secret);
  });

  test('knows where a command was run', () => {
    using home = temporaryHome();
    put(home, { entries: [{ run: 'npm test', workdir: `${PROJECT}/packages/a` }, { run: 'ls' }] });
    run(home);
    expect(eventsIn(home).map(({ directory }) => directory)).toEqual(['packages/a', '']);
  });

  test('is not taken for read when it cannot be', () => {
    using home = temporaryHome();
    put(home);
    const { sessions } = CLIENTS[client];
    const read = function* (...args: Parameters<typeof sessions.read>) {
      yield* [...sessions.read(...args)].slice(0, 1);
      throw new Error('the disk is gone');
    };
    const broken = { ...CLIENTS[client], sessions: { ...sessions, read } };
    const [report] = run(home, { clients: [broken] }).sessions;
    expect(report?.unreadable).toMatchObject([{ reason: 'the disk is gone' }]);
    expect(told(home)).toEqual(['prompt Run the tests.']);
    expect(of(client, home)).toMatchObject({ unchanged: 0, added: { tool_error: 1, tool_use: 1 } });
  });
});

describe('how a call ended', () => {
  type Client = (typeof OTHERS)[number];
  const rows: [client: Client, what: string, call: MadeCall, recorded: string[], leftOut?: number][] = [
    [
      'codex',
      'in JSON',
      {
        run: 'make',
        says: JSON.stringify({ output: 'make: *** No rule to make target', metadata: { exit_code: 2 } }),
      },
      ['tool_error Exit code 2\nmake: *** No rule to make target'],
    ],
    [
      'codex',
      'with an exit code and no id',
      { run: 'make', says: 'Exit code: 2\nWall time: 1 seconds\nOutput:\nno rule' },
      ['tool_error Exit code 2\nno rule'],
    ],
    [
      'codex',
      'well',
      { run: 'make', says: 'Exit code: 0\nWall time: 1 seconds\nOutput:\nProcess exited with code 1' },
      ['tool_use'],
    ],
    ['codex', 'without a word on it', { run: 'make', says: 'hello' }, ['tool_use unfinished']],
    [
      'codex',
      'by a signal',
      { run: 'make', code: -1, prints: 'terminated' },
      ['tool_error Exit code -1\nterminated'],
    ],
    ['codex', 'refused by the user', { run: 'make', says: 'exec command rejected by user' }, [], 1],
    [
      'codex',
      'refused by its rules',
      {
        run: 'make',
        says: 'exec_command failed for `make`: CreateProcess { message: "Rejected(\\"no\\")" }',
      },
      [],
      1,
    ],
    ['codex', 'stopped by the user', { run: 'make', says: 'Wall time: 2.0 seconds\naborted by user' }, [], 1],
    [
      'gemini',
      'with an error of the tool',
      { run: 'make', says: 'spawn failed: no shell' },
      ['tool_error spawn failed: no shell'],
    ],
    [
      'gemini',
      'with an error as its last line',
      { run: 'make', code: 2, prints: 'a\nError: no rule' },
      ['tool_error Exit code 2\na\nError: no rule'],
    ],
    [
      'gemini',
      'well, though it prints an exit code',
      { run: 'make', prints: 'Exit Code: 1\nall is well' },
      ['tool_use'],
    ],
    [
      'gemini',
      'stopped by the user',
      { run: 'make', says: '[Operation Cancelled] Reason: User cancelled' },
      [],
      1,
    ],
    ['gemini', 'refused by its rules', { run: 'make', says: 'Tool execution denied by policy.' }, [], 1],
    [
      'opencode',
      'with an error of the tool',
      { run: 'make', says: 'spawn failed: no shell' },
      ['tool_error spawn failed: no shell'],
    ],
    [
      'opencode',
      'refused by the user',
      { run: 'make', says: 'The user rejected permission to use this specific tool call.' },
      [],
      1,
    ],
    ['opencode', 'stopped by the user', { run: 'make', says: 'Tool execution aborted' }, [], 1],
  ];
  test.each(rows)('%s: %s', (client, _, call, recorded, leftOut = 0) => {
    using home = temporaryHome();
    PUT[client](made({ entries: [call] }), home.path);
    const { passedOver } = of(client, home);
    const events = eventsIn(home).map(({ type, errorRaw, isUnfinished }) =>
      [type, errorRaw, isUnfinished && 'unfinished'].filter(Boolean).join(' '),
    );
    expect(events).toEqual(recorded);
    expect(passedOver.refusedCalls).toBe(leftOut);
  });

  test('of OpenCode, of which nobody knows it, is not taken for good', () => {
    using home = temporaryHome();
    PUT.opencode(made({ entries: [HELPED] }), home.path);
    using database = new Database(`${home.path}/.local/share/opencode/opencode.db`);
    database.run("UPDATE part SET data = json_set(data, '$.state.metadata.exit', NULL)");
    of('opencode', home);
    expect(eventsIn(home)).toMatchObject([{ type: 'tool_use', isUnfinished: true }]);
  });

  test('of Codex, that ran on and was looked after, is that of the command', () => {
    using home = temporaryHome();
    const running =
      'Chunk ID: a1\nWall time: 10.0 seconds\nProcess running with session ID 4711\nOutput:\n> test\n';
    const path = PUT.codex(made({ entries: ['Go.', { run: 'npm test', says: running }] }), home.path);
    const clock = new Clock(Date.parse('2026-11-20T09:10:00Z'));
    const add = (payload: object) =>
      appendFileSync(
        path,
        `${JSON.stringify({ timestamp: clock.tick(), type: 'response_item', payload })}\n`,
      );
    const poll = (call_id: string, output: string) => {
      const args = JSON.stringify({ session_id: 4711, chars: '' });
      add({ type: 'function_call', name: 'write_stdin', arguments: args, call_id });
      add({ type: 'function_call_output', call_id, output });
    };
    of('codex', home);
    expect(told(home)).toEqual(['prompt Go.']);
    poll('call_Poll0123456789AB', running.replace('> test', 'still'));
    poll(
      'call_Poll0123456789CD',
      `Chunk ID: b2\nWall time: 1 seconds\nProcess exited with code 1\nOutput:\n${NO_PORT}`,
    );
    of('codex', home);
    expect(eventsIn(home).slice(1)).toMatchObject([
      {
        type: 'tool_error',
        line: 'npm test',
        errorRaw: `Exit code 1\n> test\nstill\n${NO_PORT.trim()}`,
      },
    ]);
  });
});

test.each(['codex', 'opencode'] as const)(
  'calls of %s that its service numbers anew in each answer are told apart',
  (client) => {
    using home = temporaryHome();
    const [failed, helped] = [FAILED, HELPED].map((call) => ({ ...call, id: 'call_0' }));
    PUT[client](
      made({ entries: ['Go.', failed as MadeCall, helped as MadeCall, helped as MadeCall] }),
      home.path,
    );
    PUT[client](
      made({
        id: AGENT,
        startMs: Date.parse('2026-11-20T10:00:00Z'),
        entries: ['Go on.', failed as MadeCall],
      }),
      home.path,
    );
    run(home);
    expect(told(home).filter((one) => one.startsWith('tool_'))).toHaveLength(4);
    const before = importedRows(home);
    withDatabase(home.paths, ({ sqlite }) => sqlite.exec('DELETE FROM imports'));
    run(home);
    expect(importedRows(home)).toEqual(before);
  },
);

test.each(['codex', 'opencode'] as const)(
  'what an agent of an agent of %s does is work of the session of the user',
  (client) => {
    using home = temporaryHome();
    const deeper = { id: ID.replace(/1$/, '3'), parent: AGENT, root: ID, entries: [FAILED] };
    for (const one of [{ entries: ['Look.'] }, { id: AGENT, parent: ID, entries: ['AGENT'] }, deeper])
      PUT[client](made(one), home.path);
    run(home);
    expect(eventsIn(home).map(({ type, sessionId, agentId }) => [type, sessionId, agentId])).toEqual([
      ['prompt', ID, undefined],
      ['tool_error', ID, deeper.id],
    ]);
  },
);

test.each(['codex', 'opencode'] as const)('a fork of %s has done only what came after', (client) => {
  using home = temporaryHome();
  putSessions(home.path, client);
  of(client, home, { now: () => LATER });
  const sessions = Map.groupBy(eventsIn(home), ({ sessionId }) => sessionId);
  const texts = [...sessions.values()].map((events) => events.map(({ type, text }) => text ?? type));
  expect(texts).toHaveLength(2);
  expect(texts[1]).toEqual(['In the fork only: use two clocks.']);
  const forks = withDatabase(home.paths, ({ sqlite }) => sqlite.all('SELECT session, root FROM forks'));
  const [root, session] = [...sessions.keys()];
  expect(forks).toEqual([{ session, root }]);
});

test('a session is known by its id, wherever its file is moved', () => {
  using home = temporaryHome();
  const path = PUT.codex(made(), home.path);
  of('codex', home);
  mkdirSync(`${home.path}/.codex/sessions/2026/11/21`);
  renameSync(path, path.replace('/20/', '/21/'));
  expect(of('codex', home)).toMatchObject({ found: 1, unchanged: 1, added: {} });
});

test('a place that cannot be looked into has no sessions', () => {
  using home = temporaryHome();
  for (const client of OTHERS) PUT[client](made(), home.path);
  const env = { HOME: home.path, CODEX_HOME: 'here', GEMINI_CLI_HOME: 'here', XDG_DATA_HOME: 'here' };
  expect(run(home, { env }).sessions.map(({ found }) => found)).toEqual([0, 0, 0]);
});

describe('a file that is being written', () => {
  test('is read up to its last whole line, and from there on the next time', () => {
    using home = temporaryHome();
    const path = PUT.codex(made(), home.path);
    const whole = readFileSync(path, 'utf8');
    writeFileSync(path, whole.slice(0, -20));
    expect(of('codex', home)).toMatchObject({ added: { prompt: 1, tool_error: 1 }, unreadable: [] });
    writeFileSync(path, whole);
    utimesSync(path, new Date(), new Date(Date.now() + 1000));
    expect(of('codex', home)).toMatchObject({ added: { tool_use: 1 } });
  });
});

test('transcripts of Claude Code in which background runs work are left out as well', () => {
  using home = temporaryHome();
  putText(home, transcriptPath(ID), new Transcript({ session: ID }).prompt('Of the run.').text);
  putText(
    home,
    transcriptPath(ID, 'a1'),
    new Transcript({ session: ID, agent: 'a1' }).succeed('Bash', { command: 'ls' }).text,
  );
  putText(home, transcriptPath(AGENT), new Transcript({ session: AGENT }).prompt('Of the user.').text);
  const roots = [`${home.path}/.claude/projects`];
  const { transcripts } = run(home, { roots, ofRuns: new Set([ID]) });
  expect(transcripts).toMatchObject({ sessions: 1, added: { prompt: 1 }, passedOver: { runs: 1 } });
  expect(told(home)).toEqual(['prompt Of the user.']);
});

test('one knowledge: what fails in one client and what helps in another count together', () => {
  using home = temporaryHome();
  for (const [at, client] of OTHERS.entries())
    PUT[client](
      made({
        id: ID.replace(/1$/, String(at)),
        startMs: Date.parse('2026-11-20T09:00:00Z') + at * 3_600_000,
      }),
      home.path,
    );
  expect(run(home)).toMatchObject({ fixes: 1 });
  const [row] = readRows(home.paths, 'SELECT sessions, evidence FROM error_kb');
  expect(row?.sessions).toBe(3);
  const { helpedCalls } = JSON.parse(String(row?.evidence));
  expect(helpedCalls.map((id: string) => id.split(':')[0]).sort()).toEqual([...OTHERS]);
});
