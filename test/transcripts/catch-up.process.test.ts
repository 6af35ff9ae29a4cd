import { describe, expect, test } from 'bun:test';
import { appendFileSync, mkdirSync, readdirSync, renameSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { ANALYSIS_MARK } from '../../src/core/told-texts.ts';
import { readUnreadNote } from '../../src/transcripts/catch-up.ts';
import { type MadeCall, type MadeSession, PUT } from '../support/client-sessions.ts';
import { CLIENTS } from '../support/clients.ts';
import { type Home, hookFailures, readEvents, readRows, temporaryHome } from '../support/home.ts';
import { contextOf, type ProcessResult, runHookProcess, runProgram } from '../support/hook-process.ts';
import { FAILING, learnt, SAYS, tell, USE } from '../support/ledger.ts';
import { agentStart, PROJECT } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';
import { insertRow } from '../support/rows.ts';
import { withDatabase } from '../support/seed.ts';
import { Clock, importHome, putText, Transcript, transcriptPath } from '../support/transcripts.ts';

const MIB = 1024 * 1024;

type Fields = Record<string, unknown>;

/** Runs a hook of a session whose transcript lies where the client would put it. */
function hook(home: Home, event: string, fields: Fields = {}, session = 's1'): Promise<ProcessResult> {
  const common = {
    session_id: session,
    transcript_path: `${home.path}/${transcriptPath(session)}`,
    cwd: PROJECT,
    hook_event_name: event,
  };
  return runHookProcess({ ...common, ...fields }, { home: home.path });
}

const AGENT_CALL = { tool_name: 'Agent', tool_input: { prompt: 'Do it.' }, tool_use_id: 'toolu_agent' };

function beforeAgent(home: Home, session?: string): Promise<ProcessResult> {
  return hook(home, 'PreToolUse', AGENT_CALL, session);
}

function put(home: Home, transcript: Transcript, session = 's1', agent?: string): string {
  return putText(home, transcriptPath(session, agent), transcript.text);
}

/** The ids of the recorded calls, in the order in which they were written. */
function calls(home: Home): unknown[] {
  return readEvents(home.paths)
    .filter(({ type }) => type === 'tool_use' || type === 'tool_error')
    .map(({ data }) => data.toolUseId);
}

function place(path: string, home: Home): { done: unknown; seen: unknown } | undefined {
  const [row] = readRows(home.paths, 'SELECT bytes_done, bytes_seen FROM imports WHERE path = ?', path);
  return row && { done: row.bytes_done, seen: row.bytes_seen };
}

/** Waits for the reader that a hook has left behind: itself reads what that one has not. */
async function settle(home: Home, path: string): Promise<void> {
  for (let round = 0; round < 200; round++) {
    await runProgram([BINARY, 'catch-up', path], { home: home.path });
    const isFree = !readdirSync(home.paths.data).some((name) => name.endsWith('.lock'));
    if (isFree && place(path, home)?.seen === statSync(path).size) return;
  }
  throw new Error(`Nobody reads "${path}" to its end`);
}

function bash(command: string): Fields {
  return { command };
}

/** So many calls of about so many bytes each. */
function longSession(count: number, bytesEach: number, options = {}): Transcript {
  const transcript = new Transcript(options).prompt('Work for long.');
  for (let index = 0; index < count; index++)
    transcript.succeed('Bash', bash(`make part-${index}`), `${index} `.padEnd(bytesEach / 2, 'x'));
  return transcript;
}

describe('a hook reads what the transcript has gained', () => {
  test('each call once, however often', async () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('Make the test pass.').succeed('Bash', bash('ls'));
    const path = put(home, transcript);
    await beforeAgent(home);
    expect(calls(home)).toEqual(['toolu_s1__0']);
    transcript.fail('Bash', bash('npm test'), 'Exit code 1\nError: no port');
    put(home, transcript);
    await beforeAgent(home);
    await beforeAgent(home);
    await hook(home, 'Stop');
    expect(calls(home)).toEqual(['toolu_s1__0', 'toolu_s1__1']);
    expect(readEvents(home.paths, 'prompt')).toHaveLength(1);
    expect(place(path, home)?.seen).toBe(transcript.text.length);
    expect(hookFailures(home.paths)).toEqual([]);
  });

  test('what was only called comes with its result, and with what was said before it', async () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('Go.').succeed('Bash', bash('ls'));
    const start = transcript.text.length;
    transcript.say('First the linter.', null);
    const id = transcript.call('Bash', bash('npm run lint'));
    const path = put(home, transcript);
    await beforeAgent(home);
    expect(place(path, home)).toEqual({ done: start, seen: transcript.text.length });
    transcript.result(id, 'ok', { toolUseResult: { stdout: 'ok', stderr: '' } });
    put(home, transcript);
    await hook(home, 'Stop');
    const last = readEvents(home.paths, 'tool_use').at(-1)?.data;
    const call = { toolUseId: id, command: 'npm run lint', directory: '' };
    expect(last).toMatchObject({ ...call, remark: 'First the linter.' });
    expect(place(path, home)?.done).toBe(transcript.text.length);
  });

  test('what came of what was told is settled by the reader, and by no hook', async () => {
    using home = temporaryHome();
    withDatabase(home.paths, (db) => {
      learnt(db);
      tell({ session: 's1', ts: '2026-11-20T09:00:00.000Z' }, db);
    });
    const transcript = new Transcript()
      .prompt('Go.')
      .fail('Bash', bash(FAILING), SAYS)
      .succeed('Bash', bash(USE));
    const path = put(home, transcript);
    const outcome = () => readRows(home.paths, 'SELECT failed_call, calls, ended FROM exposures');
    await hook(home, 'PreToolUse', AGENT_CALL);
    expect(outcome()).toEqual([{ failed_call: null, calls: null, ended: null }]);
    await settle(home, path);
    expect(outcome()).toEqual([{ failed_call: 'toolu_s1__0', calls: 1, ended: 'passed' }]);
  });

  test('a line that is being written waits until it is whole', async () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('Go.').succeed('Bash', bash('ls'));
    const path = put(home, transcript);
    truncateSync(path, transcript.text.length - 40);
    await hook(home, 'Stop');
    expect(calls(home)).toEqual([]);
    appendFileSync(path, transcript.text.slice(-40));
    await hook(home, 'Stop');
    expect(calls(home)).toEqual(['toolu_s1__0']);
  });

  test('a transcript that was written anew is read anew', async () => {
    using home = temporaryHome();
    put(home, longSession(20, 2000));
    await hook(home, 'Stop');
    const anew = new Transcript().prompt('Something else.');
    anew.result(anew.call('Bash', bash('date'), 'new'), 'Friday');
    const path = put(home, anew);
    await hook(home, 'Stop');
    expect(calls(home)).toHaveLength(21);
    expect(calls(home).at(-1)).toBe('new');
    expect(place(path, home)?.seen).toBe(anew.text.length);
  });

  test('a session of our own analysis is not recorded', async () => {
    using home = temporaryHome();
    put(home, new Transcript().prompt(`${ANALYSIS_MARK} Look.`).succeed('Bash', bash('ls')));
    await hook(home, 'Stop');
    expect(readEvents(home.paths)).toEqual([]);
  });

  test('a failed call is recorded with what was said before it, which only the transcript knows', async () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('Go.').say('I try the tests.', null);
    const id = transcript.call('Bash', bash('npm test'));
    put(home, transcript);
    const call = { tool_name: 'Bash', tool_input: bash('npm test'), tool_use_id: id };
    const failure = { ...call, error: 'Exit code 1\nError: no port', is_interrupt: false };
    await beforeAgent(home);
    await hook(home, 'PostToolUseFailure', failure);
    transcript.failure(id, failure.error);
    put(home, transcript);
    await hook(home, 'Stop');
    expect(readEvents(home.paths, 'tool_error').map(({ data }) => [data.toolUseId, data.remark])).toEqual([
      [id, 'I try the tests.'],
    ]);
  });
});

describe('sub-agents', () => {
  test('are read with their session, and their end is recorded once', async () => {
    using home = temporaryHome();
    const startMs = Date.now() - 20_000;
    const clock = new Clock(startMs);
    put(home, new Transcript({ clock }).prompt('Delegate.'));
    const agent = new Transcript({ agent: 'abc1', clock })
      .prompt('Do it.')
      .fail('Bash', bash('npm test'), 'Exit code 1\nError: no port')
      .say('Done.', 'end_turn', { timestamp: new Date().toISOString() });
    const path = put(home, agent, 's1', 'abc1');
    const agentStop = { agent_id: 'abc1', agent_type: 'executor', agent_transcript_path: path };
    await hook(home, 'SubagentStop', agentStop);
    await hook(home, 'Stop');
    expect(readEvents(home.paths, 'tool_error').map(({ data }) => data.agentId)).toEqual(['abc1']);
    expect(readEvents(home.paths, 'subagent_stop')).toHaveLength(1);
  });

  test('of an old client lie beside their session', async () => {
    using home = temporaryHome();
    put(home, new Transcript().prompt('Delegate.'));
    const { text } = new Transcript({ agent: 'abc2' }).succeed('Bash', bash('ls'));
    const path = putText(home, '.claude/projects/-home-dev-app/agent-abc2.jsonl', text);
    await hook(home, 'SubagentStop', { agent_id: 'abc2', agent_transcript_path: path });
    expect(readEvents(home.paths, 'tool_use').map(({ data }) => data.agentId)).toEqual(['abc2']);
  });

  test('are started without anything being read again or written', async () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('Go.').succeed('Bash', bash('ls'));
    const path = put(home, transcript);
    await beforeAgent(home);
    const before = place(path, home);
    transcript.say('I delegate.', null);
    transcript.call('Agent', { prompt: 'Do it.' }, 'toolu_agent');
    put(home, transcript);
    const start = { agent_id: 'abc3', agent_type: 'executor' };
    await hook(home, 'SubagentStart', start);
    expect(place(path, home)).toEqual(before);
    transcript.succeed('Bash', bash('pwd'));
    put(home, transcript);
    await hook(home, 'SubagentStart', start);
    expect(place(path, home)?.seen).toBe(transcript.text.length);
    expect(calls(home)).toHaveLength(2);
  });
});

describe('prompts come in by their hook and by the transcript', () => {
  const now = () => new Date().toISOString();
  const prompts = (home: Home) => readEvents(home.paths, 'prompt').map(({ data }) => data.text);

  test('first by the hook', async () => {
    using home = temporaryHome();
    await hook(home, 'UserPromptSubmit', { prompt: 'Fix it.' });
    put(home, new Transcript().prompt('Fix it.', { timestamp: now() }));
    await hook(home, 'Stop');
    expect(prompts(home)).toEqual(['Fix it.']);
  });

  test('first by the transcript', async () => {
    using home = temporaryHome();
    put(home, new Transcript().prompt('Fix it.', { timestamp: now() }));
    await hook(home, 'UserPromptSubmit', { prompt: 'Fix it.' });
    expect(prompts(home)).toEqual(['Fix it.']);
  });

  test('typed while the agent worked, first by the transcript, long before the hook', async () => {
    using home = temporaryHome();
    const timestamp = new Date(Date.now() - 10 * 60_000).toISOString();
    put(home, new Transcript().queued('And the docs.', { timestamp }));
    await hook(home, 'UserPromptSubmit', { prompt: 'And the docs.' });
    expect(prompts(home)).toEqual(['And the docs.']);
  });

  test('by two hooks at once', async () => {
    using home = temporaryHome();
    await hook(home, 'SessionStart', { source: 'startup' });
    await Promise.all([1, 2, 3].map(() => hook(home, 'UserPromptSubmit', { prompt: 'Fix it.' })));
    expect(prompts(home)).toEqual(['Fix it.']);
  });

  test('and a person may say the same twice', async () => {
    using home = temporaryHome();
    const timestamp = new Date(Date.now() - 60_000).toISOString();
    put(home, new Transcript().prompt('continue', { timestamp }));
    await hook(home, 'UserPromptSubmit', { prompt: 'continue' });
    expect(prompts(home)).toEqual(['continue', 'continue']);
  });
});

describe('what is too much for a hook', () => {
  test('is left to a reader; before a sub-agent starts, the newest part is there at once', async () => {
    using home = temporaryHome();
    const error = 'Exit code 1\nError: the newest';
    const transcript = longSession(500, 10_000).fail('Bash', bash('npm test'), error);
    const path = put(home, transcript);
    expect(transcript.text.length).toBeGreaterThan(5 * MIB);
    await beforeAgent(home);
    const [newest] = readEvents(home.paths, 'tool_error');
    expect(newest?.data.said).toBe('Error: the newest');
    await settle(home, path);
    expect(calls(home)).toHaveLength(501);
    expect(new Set(calls(home)).size).toBe(501);
    expect(readEvents(home.paths, 'prompt')).toHaveLength(1);
    expect(hookFailures(home.paths)).toEqual([]);
  });

  test('is read by a hook as far as it may, from where the place is', async () => {
    using home = temporaryHome();
    home.writeConfig({});
    const path = put(home, longSession(500, 10_000));
    // A file where the program should be: nobody can read on.
    putText(home, '.self-generation/hooks/self-generation', '');
    await hook(home, 'UserPromptSubmit', { prompt: 'Go on.' });
    const seen = Number(place(path, home)?.seen);
    expect(seen).toBeGreaterThan(0);
    expect(seen).toBeLessThan(1.2 * MIB);
    await hook(home, 'UserPromptSubmit', { prompt: 'Go on with it.' });
    expect(Number(place(path, home)?.seen)).toBeGreaterThan(seen);
    await settle(home, path);
    expect(new Set(calls(home)).size).toBe(500);
    expect(calls(home)).toHaveLength(500);
  });

  test('a line longer than a hook reads is left to the reader', async () => {
    using home = temporaryHome();
    const transcript = new Transcript().succeed('Bash', bash('cat big'), 'x'.repeat(2 * MIB));
    transcript.succeed('Bash', bash('ls'));
    const path = put(home, transcript);
    await hook(home, 'UserPromptSubmit', { prompt: 'Go on.' });
    await settle(home, path);
    expect(calls(home)).toEqual(['toolu_s1__0', 'toolu_s1__1']);
  });

  test('a call that was open for long is found by the reader', async () => {
    using home = temporaryHome();
    const transcript = new Transcript();
    const id = transcript.call('Bash', bash('make everything'));
    for (let index = 0; index < 60; index++)
      transcript.succeed('Bash', bash(`ls ${index}`), 'x'.repeat(5000));
    const path = put(home, transcript);
    await hook(home, 'UserPromptSubmit', { prompt: 'Go on.' });
    await settle(home, path);
    expect(transcript.text.length - Number(place(path, home)?.done)).toBeLessThan(256 * 1024);
    transcript.result(id, 'made').succeed('Bash', bash('pwd'));
    put(home, transcript);
    await hook(home, 'UserPromptSubmit', { prompt: 'And on.' });
    await settle(home, path);
    expect(calls(home)).toHaveLength(62);
    const found = readEvents(home.paths, 'tool_use').find(({ data }) => data.toolUseId === id);
    expect(found?.data.command).toBe('make everything');
  });

  test('a result whose call is nowhere keeps nobody busy', async () => {
    using home = temporaryHome();
    const transcript = new Transcript()
      .succeed('Bash', bash('ls'))
      .result('toolu_gone', 'what')
      .succeed('Bash', bash('ls'));
    const path = put(home, transcript);
    await hook(home, 'UserPromptSubmit', { prompt: 'Go.' });
    await settle(home, path);
    expect(place(path, home)).toEqual({ done: transcript.text.length, seen: transcript.text.length });
    expect(calls(home)).toHaveLength(2);
  });

  test('readers of one transcript do not stand in each other’s way', async () => {
    using home = temporaryHome();
    const path = put(home, longSession(300, 10_000));
    await Promise.all([1, 2, 3].map(() => runProgram([BINARY, 'catch-up', path], { home: home.path })));
    await settle(home, path);
    expect(calls(home)).toHaveLength(300);
    expect(hookFailures(home.paths)).toEqual([]);
  });
});

test('hooks at the same time lose nothing and record nothing twice', async () => {
  using home = temporaryHome();
  await hook(home, 'SessionStart', { source: 'startup' });
  const clock = new Clock();
  const agents = ['abc1', 'abc2', 'abc3'];
  const path = put(home, longSession(60, 4000, { clock }));
  for (const agent of agents) put(home, longSession(40, 4000, { clock, agent }), 's1', agent);
  const ended = await Promise.all([
    ...agents.map((agent) => hook(home, 'SubagentStop', { agent_id: agent, agent_type: 'executor' })),
    beforeAgent(home),
    beforeAgent(home),
    hook(home, 'Stop'),
    hook(home, 'UserPromptSubmit', { prompt: 'At the same time.' }),
  ]);
  expect(ended.map(({ exitCode }) => exitCode)).toEqual(ended.map(() => 0));
  await settle(home, path);
  await hook(home, 'Stop');
  expect(calls(home)).toHaveLength(180);
  expect(new Set(calls(home)).size).toBe(180);
});

describe('copies', () => {
  const session = () => longSession(10, 1000).fail('Bash', bash('npm test'), 'Exit code 1\nError: no port');

  test('a fork has the calls of the session that it goes on from: they are known, and it belongs to that', async () => {
    using home = temporaryHome();
    put(home, session());
    await hook(home, 'Stop');
    const text = session().text.replaceAll('"sessionId":"s1"', '"sessionId":"s2"');
    putText(home, transcriptPath('s2'), text);
    await hook(home, 'SessionStart', { source: 'fork' }, 's2');
    await hook(home, 'Stop', {}, 's2');
    expect(calls(home)).toHaveLength(11);
    expect(readEvents(home.paths, 'prompt')).toHaveLength(1);
    expect(readRows(home.paths, 'SELECT seen_count FROM error_kb')).toEqual([{ seen_count: 1 }]);
    expect(readRows(home.paths, 'SELECT session, root FROM forks')).toEqual([{ session: 's2', root: 's1' }]);
  });

  test('a fork that has no more than a prompt of the other belongs to it, and a session of its own to itself', async () => {
    using home = temporaryHome();
    const text = new Transcript().prompt('Go on with this.').text;
    putText(home, transcriptPath('s1'), text);
    await hook(home, 'Stop');
    putText(home, transcriptPath('s2'), text.replaceAll('"sessionId":"s1"', '"sessionId":"s2"'));
    await hook(home, 'Stop', {}, 's2');
    put(home, new Transcript({ session: 's3' }).prompt('Something else.').succeed('Bash', bash('ls')), 's3');
    await hook(home, 'Stop', {}, 's3');
    expect(readRows(home.paths, 'SELECT session, root FROM forks')).toEqual([{ session: 's2', root: 's1' }]);
  });

  test('an import of what hooks have read adds nothing, and the other way round', async () => {
    using home = temporaryHome();
    put(home, session());
    await hook(home, 'Stop');
    expect(importHome(home).added).toEqual({});
    put(home, session(), 's1');
    await hook(home, 'Stop');
    expect(calls(home)).toHaveLength(11);
  });

  test('calls that each hook was handed are known', async () => {
    using home = temporaryHome();
    const transcript = new Transcript().prompt('Go.').succeed('Bash', bash('ls'));
    put(home, transcript);
    const call = { tool_name: 'Bash', tool_input: bash('ls'), tool_use_id: 'toolu_s1__0' };
    await hook(home, 'PostToolUse', { ...call, tool_response: { stdout: 'ok', stderr: '' } });
    await hook(home, 'Stop');
    expect(calls(home)).toEqual(['toolu_s1__0']);
  });
});

describe('a session without a transcript that can be read', () => {
  test('is noted where there is none', async () => {
    using home = temporaryHome();
    mkdirSync(home.paths.home);
    await hook(home, 'SessionStart', { source: 'startup' });
    await hook(home, 'UserPromptSubmit', { prompt: 'Go.' });
    expect(readUnreadNote(home.paths, new Date())).toBeUndefined();
    for (const session of ['s1', 's1', 's2', 's1', 's2']) await hook(home, 'Stop', {}, session);
    const note = { sessionId: 's2', reason: 'missing', sessions: 2 };
    expect(readUnreadNote(home.paths, new Date())).toMatchObject(note);
    expect(readUnreadNote(home.paths, new Date(Date.now() + 8 * 86_400_000))).toBeUndefined();
    const { stdout } = await runProgram([BINARY, 'status'], { home: home.path });
    expect(stdout).toContain('install --hooks=per-call');
  });

  test('is noted where the client names none', async () => {
    using home = temporaryHome();
    mkdirSync(home.paths.home);
    await hook(home, 'UserPromptSubmit', { prompt: 'Go.', transcript_path: undefined });
    expect(readUnreadNote(home.paths, new Date())).toBeUndefined();
    await hook(home, 'Stop', { transcript_path: undefined });
    expect(readUnreadNote(home.paths, new Date())).toMatchObject({ reason: 'missing', path: '' });
  });

  test('is noted where nothing in it is known', async () => {
    using home = temporaryHome();
    putText(home, transcriptPath('s1'), '{"kind":"speech","of":"nobody"}\n{"kind":"speech"}\n');
    await hook(home, 'Stop');
    expect(readUnreadNote(home.paths, new Date())).toMatchObject({ reason: 'unknown' });
  });

  test('is not noted where there is one', async () => {
    using home = temporaryHome();
    put(home, new Transcript().prompt('Go.'));
    await hook(home, 'Stop');
    expect(readUnreadNote(home.paths, new Date())).toBeUndefined();
  });

  test('and what is no transcript is not opened', async () => {
    using home = temporaryHome();
    const path = putText(home, 'secret.txt', new Transcript().prompt('Go.').text);
    for (const transcript_path of [path, 'relative.jsonl', `${path}\0.jsonl`, 7])
      await hook(home, 'Stop', { transcript_path });
    expect(readEvents(home.paths)).toEqual([]);
  });
});

describe('calls that an earlier implementation recorded without their ids', () => {
  test('are replaced by those of the transcript, and kept where there is none', async () => {
    using home = temporaryHome();
    const nameless = {
      type: 'tool_error',
      ts: '2026-05-01T10:00:00Z',
      data: '{"tool":"Bash","error":"old"}',
    };
    withDatabase(home.paths, ({ sqlite }) => {
      for (const session_id of ['s1', 's2']) insertRow(sqlite, 'events', { ...nameless, session_id });
    });
    put(home, new Transcript().prompt('Go.').fail('Bash', { command: 'npm test' }, 'Exit code 1\nno port'));
    await hook(home, 'Stop');
    const errors = readEvents(home.paths, 'tool_error').map(({ data }) => data.error);
    expect(errors).toEqual(['old', 'no port · npm test']);
  });
});

describe('a session of OpenCode that is caught up with by its id', () => {
  const [MAIN, AGENT, OTHER] = ['ses_main1', 'ses_agent1', 'ses_other1'];
  const failed: MadeCall = { run: 'npm test', code: 1, prints: 'Error: PORT is not set\n' };
  const helped: MadeCall = { run: 'PORT=8080 npm test', prints: 'ok\n' };
  const write = (home: Home, session: Omit<MadeSession, 'cwd'>) =>
    PUT.opencode({ cwd: PROJECT, ...session }, home.path);
  const catchUp = (home: Home, ...words: string[]) =>
    runProgram([BINARY, 'catch-up', ...words], { home: home.path });
  const taken = (home: Home) =>
    readEvents(home.paths).map(({ type, sessionId, data }) => [type, sessionId, data.line ?? data.text]);

  test('is taken in with its sub-agents, what is new of it each time, and no other', async () => {
    using home = temporaryHome();
    write(home, { id: MAIN, entries: ['Test it.', failed] });
    write(home, { id: OTHER, entries: ['Something else.', failed] });
    await catchUp(home, `opencode#${MAIN}`);
    const first = [
      ['prompt', MAIN, 'Test it.'],
      ['tool_error', MAIN, 'npm test'],
    ];
    expect(taken(home)).toEqual(first);
    await catchUp(home, `opencode#${MAIN}`);
    expect(taken(home)).toEqual(first);
    write(home, { id: MAIN, entries: ['Test it.', failed, helped] });
    write(home, { id: AGENT, parent: MAIN, entries: ['AGENT', { run: 'ls src' }] });
    await catchUp(home, `opencode#${MAIN}`);
    const later = [
      ['tool_use', MAIN, 'PORT=8080 npm test'],
      ['tool_use', MAIN, 'ls src'],
    ];
    expect(taken(home).slice(0, 2)).toEqual(first);
    expect(taken(home).slice(2).sort()).toEqual(later.sort());
    expect(hookFailures(home.paths)).toEqual([]);
    expect(readdirSync(home.paths.data).filter((name) => name.endsWith('.lock'))).toEqual([]);
  });

  test('reads no message again that stood there when it was read', async () => {
    using home = temporaryHome();
    write(home, { id: MAIN, entries: ['Test it.', { run: 'ls' }, { run: 'ls src' }, { run: 'ls test' }] });
    const session = { id: MAIN, path: '', modifiedMs: 0 };
    const { sessions } = CLIENTS.opencode;
    const stored = sessions.withId(MAIN, { HOME: home.path }) ?? session;
    const ends = [...sessions.read(stored, {})].flatMap((step) => (step.kind === 'result' ? step.ts : []));
    const since = (ts = '') => [...sessions.read(stored, {}, Date.parse(ts))].map((step) => step.kind);
    expect(since(ends[1])).toEqual(['call', 'result', 'call', 'result']);
    expect(since(ends[2])).toEqual(['call', 'result']);
  });

  test('tells the next sub-agent at once what helped, chosen for what it is to do', async () => {
    using home = temporaryHome();
    home.writeConfig({ language: 'en' });
    const fixed = (name: string): MadeCall[] => [
      { run: `./${name} go`, code: 1, prints: `Error: ${name.toUpperCase()}_KEY is not set\n` },
      { run: `${name.toUpperCase()}_KEY=1 ./${name} go`, prints: 'ok\n' },
    ];
    const names = ['alpha', 'bravo', 'charlie', 'delta', 'echoes', 'foxtrot'];
    write(home, { id: MAIN, entries: ['Go.', ...names.flatMap(fixed)] });
    await catchUp(home, `opencode#${MAIN}`);
    for (const name of ['bravo', 'echoes']) {
      const task = `Have a look at ${name}.`;
      const start = { ...agentStart('executor', { cwd: PROJECT, session_id: MAIN }), task };
      const told = contextOf(await runHookProcess(start, { home: home.path })) ?? '';
      const [, first = ''] = /- Error: (\w+)_KEY/.exec(told) ?? [];
      expect(first.toLowerCase()).toBe(name);
    }
  });

  test('is where OPENCODE_DB says, absolute or beside the usual one', async () => {
    using home = temporaryHome();
    const path = write(home, { id: MAIN, entries: ['Test it.', failed] });
    for (const own of [`${home.path}/moved.db`, 'named.db']) {
      const target = own.startsWith('/') ? own : `${dirname(path)}/${own}`;
      renameSync(path, target);
      const env = { OPENCODE_DB: own };
      await runProgram([BINARY, 'catch-up', `opencode#${MAIN}`], { home: home.path, env });
      expect(taken(home)).toHaveLength(2);
      withDatabase(home.paths, ({ sqlite }) => sqlite.exec('DELETE FROM events; DELETE FROM imports'));
      renameSync(target, path);
    }
  });

  test('learns nothing where it is switched off, or where there is no such session', async () => {
    using home = temporaryHome();
    write(home, { id: MAIN, entries: ['Test it.', failed] });
    await catchUp(home, 'opencode#ses_nobody');
    home.writeConfig({ enabled: false });
    await catchUp(home, `opencode#${MAIN}`);
    expect(taken(home)).toEqual([]);
    expect(hookFailures(home.paths)).toEqual([]);
  });
});
