import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import type { Json } from '../../src/core/guards.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { getRun } from '../../src/runs/store/runs.ts';
import { ended, spawn } from '../runs/store/made-up.ts';
import { commitNothing } from '../runs/workspace/tree-place.ts';
import { putSessions, sessionsOf } from '../support/client-sessions.ts';
import { temporaryHome } from '../support/home.ts';
import { homePerTest } from '../support/per-test.ts';
import { type Connected, connect, keyOf, projectIn, SERVER } from './mcp-client.ts';

/** Each test starts processes, and the machine may be busy. */
setDefaultTimeout(60_000);

const SESSION = 'the-session-of-claude';
const CLAUDE = { env: { CLAUDE_CODE_SESSION_ID: SESSION } };
const allowing = (...allowAgents: string[]) => ({
  agents: { list: [{ id: 'main', subagents: { allowAgents } }, { id: 'reviewer' }] },
});

const home = homePerTest();
const rows = (sql: string) => withRuns(home.paths, (db) => db.all(sql));
const outbox = () => rows('SELECT result, state, attempts FROM outbox ORDER BY position');
const runsStored = () => rows('SELECT * FROM runs ORDER BY number');

async function listed({ client }: Connected) {
  const { tools } = await client.listTools();
  return tools;
}

/** A parameter of the first tool, as it is advertised. */
function spawnProperty([tool]: Awaited<ReturnType<typeof listed>>, name: string) {
  const properties = (tool?.inputSchema.properties ?? {}) as Record<string, { enum?: string[] }>;
  return properties[name];
}

describe('the list of tools', () => {
  test('has the eleven tools, what each takes, and no more', async () => {
    await using connected = await connect(home);
    const tools = await listed(connected);
    const names =
      'sessions_spawn sessions_list sessions_history sessions_send explore plan orchestrate worklog agents_list subagents known_errors';
    expect(tools.map(({ name }) => name)).toEqual(names.split(' '));
    for (const { inputSchema } of tools) expect(inputSchema).toMatchObject({ additionalProperties: false });
    const looking = tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name);
    expect(looking).toEqual([
      ...['sessions_list', 'sessions_history', 'explore', 'worklog', 'agents_list', 'known_errors'],
    ]);
    expect(tools[0]?.inputSchema.required).toEqual(['task']);
    expect(tools.every(({ outputSchema }) => outputSchema === undefined)).toBe(true);
    expect(JSON.stringify(tools).length).toBeLessThan(8700);
    expect(connected.client.getInstructions()).toContain('sessions_spawn');
  });

  test('asks the client to offer four of them at once, and these are short', async () => {
    await using connected = await connect(home);
    const atOnce = (await listed(connected)).filter(({ _meta }) => _meta?.['anthropic/alwaysLoad'] === true);
    expect(atOnce.map(({ name }) => name)).toEqual([
      'sessions_spawn',
      'sessions_send',
      'subagents',
      'known_errors',
    ]);
    const offered = atOnce.map(({ name, description, inputSchema }) => [name, description, inputSchema]);
    expect(JSON.stringify(offered).length).toBeLessThan(3700);
  });

  test('names the allowed agents and the clients, and is the same everywhere but for these', async () => {
    using configured = temporaryHome();
    configured.writeConfig(allowing('reviewer', 'main'));
    await using first = await connect(home);
    await using second = await connect(configured, { cwd: configured.path });
    const [one, other] = [await listed(first), await listed(second)];
    expect(spawnProperty(one, 'agentId')?.enum).toEqual(['main']);
    expect(spawnProperty(other, 'agentId')?.enum).toEqual(['main', 'reviewer']);
    expect(spawnProperty(other, 'client')?.enum).toEqual(['claude', 'codex', 'gemini', 'opencode']);
    const without = (tools: typeof one) => JSON.stringify(tools).replace(/"enum":\["main"[^\]]*\]/, '');
    expect(without(other)).toBe(without(one));
    configured.writeConfig({});
    expect(spawnProperty(await listed(second), 'agentId')?.enum).toEqual(['main']);
  });

  test('with any agent allowed, every configured one is named', async () => {
    home.writeConfig(allowing('*'));
    await using connected = await connect(home);
    const agentId = spawnProperty(await listed(connected), 'agentId');
    expect(agentId).toEqual({ type: 'string', enum: ['main', 'reviewer'] } as object);
  });
});

describe('mcp --knowledge', () => {
  const command = [...SERVER, '--knowledge'];

  test('has the one tool, which answers, and says what it is for', async () => {
    await using connected = await connect(home, { command });
    expect((await listed(connected)).map(({ name }) => name)).toEqual(['known_errors']);
    expect(connected.client.getInstructions()).toContain('known_errors');
    expect(connected.client.getInstructions()).not.toContain('sessions_spawn');
    const told = await connected.client.callTool({ name: 'known_errors', arguments: { query: 'port' } });
    expect(told).toEqual({ content: [{ type: 'text', text: expect.stringContaining('Nothing is known') }] });
    await expect(connected.client.callTool({ name: 'sessions_spawn' })).rejects.toThrow('There is no tool');
  });

  test('leaves alone what waits of background runs, and makes no file', async () => {
    await using unused = await connect(home, { command });
    await unused.client.callTool({ name: 'known_errors', arguments: { query: 'port' } });
    expect(existsSync(home.paths.home)).toBe(false);
    withRuns(home.paths, (db) => ended(db, { key: keyOf(projectIn(home)) }));
    const told = await unused.client.callTool({ name: 'known_errors', arguments: { query: 'port' } });
    expect(told.content).toHaveLength(1);
    expect(outbox()).toMatchObject([{ state: 'pending', attempts: 0 }]);
  });
});

describe('parameters', () => {
  const WRONG: readonly [string, Json, string][] = [
    ['sessions_spawn', { task: 'x', at: 'y' }, 'sessions_spawn does not know "at"; it takes task, label, '],
    ['sessions_spawn', {}, 'sessions_spawn needs "task"'],
    ['sessions_spawn', { task: '' }, 'sessions_spawn needs "task"'],
    ['sessions_spawn', { task: 'x', cleanup: 'burn' }, 'sessions_spawn cannot use "cleanup" "burn": '],
    ['sessions_spawn', { task: 'x', client: 'vim' }, 'sessions_spawn cannot use "client" "vim": '],
    ['sessions_spawn', { task: 'x', context: 'half' }, 'sessions_spawn cannot use "context" "half": '],
    [
      'sessions_spawn',
      { task: 'x', context: 'full' },
      'Cannot tell which session of Claude Code asks: none in ',
    ],
    ['sessions_spawn', { task: 'x', thinking: 'hardest' }, 'Invalid thinking level "hardest". Use one of: '],
    ['sessions_list', { limit: 0 }, 'sessions_list cannot use "limit" 0: '],
    ['sessions_history', {}, 'sessions_history needs "sessionKey"'],
    ['sessions_history', { sessionKey: 'nobody' }, 'Unknown subagent id: nobody'],
    ['sessions_send', { message: 'x' }, 'sessions_send needs "sessionKey" or "label"'],
    ['known_errors', {}, 'known_errors needs "query" or "error", one of them'],
    ['agents_list', { all: true }, 'agents_list does not know "all"; it takes nothing'],
    ['subagents', { action: 'kill' }, 'subagents cannot use "action" "kill": '],
    ['subagents', { action: 'stop' }, 'Missing subagent id; no sub-agent of this project was ever started'],
    [
      'subagents',
      { action: 'stop', message: 'x' },
      'subagents stop does not know "message"; it takes target',
    ],
    ['subagents', { action: 'send', target: 'last' }, 'subagents send needs "message"'],
    ['subagents', { target: 'last' }, 'subagents list does not know "target"; it takes limit'],
  ];
  test('that are unknown, missing or wrong are refused, with what is wrong', async () => {
    await using connected = await connect(home);
    for (const [tool, args, words] of WRONG) {
      const told = await connected.call(tool, args);
      expect(told).toMatchObject({ isError: true, value: { status: 'error' } });
      expect(told.value.error).toStartWith(words);
    }
    await expect(connected.client.callTool({ name: 'sessions_kill' })).rejects.toThrow('There is no tool');
  });

  test('that a model leaves empty are as if they were not there', async () => {
    await using connected = await connect(home);
    const told = await connected.call('sessions_list', { limit: null, includeArchived: null });
    expect(told.value).toEqual({ count: 0, sessions: [] });
  });
});

describe('sessions_spawn', () => {
  test('answers with the words of the allowlist, and starts nothing', async () => {
    await using connected = await connect(home);
    const spawnAs = (agentId: string) => connected.call('sessions_spawn', { task: 'x', agentId });
    const refused = 'agentId is not allowed for sessions_spawn';
    expect((await spawnAs('nobody')).value).toEqual({
      status: 'forbidden',
      error: `${refused} (allowed: none): to spawn "nobody", add it to allowAgents in the settings`,
    });
    home.writeConfig(allowing('reviewer'));
    expect((await spawnAs('nobody')).value.error).toStartWith(`${refused} (allowed: reviewer): `);
    const path = await spawnAs('../..');
    expect(path).toMatchObject({ isError: true, value: { status: 'error' } });
    expect(path.value.error).toStartWith('Invalid agentId "../..": ');
    expect(runsStored()).toEqual([]);
  });

  test('hands over what it is asked to of the session that asks, and says whose', async () => {
    putSessions(home.path, 'claude', projectIn(home));
    const [session = ''] = sessionsOf('claude', home.path, projectIn(home)).map(({ id }) => id);
    await using connected = await connect(home, { ...CLAUDE, env: { CLAUDE_CODE_SESSION_ID: session } });
    const context = { mode: 'recent', recentN: 2 };
    const told = await connected.call('sessions_spawn', { task: 'x', label: 'handed', context });
    const report = { mode: 'recent', session: { client: 'claude', id: session }, degraded: false };
    expect(told.value).toMatchObject({ status: 'accepted', handover: report });
    const info = await connected.call('subagents', { action: 'info', target: 'handed' });
    expect(info.value.context).toStartWith(`recent of session ${session} of claude; `);
    const [row] = withRuns(home.paths, (db) => db.all('SELECT text FROM handovers'));
    expect(row?.text).toMatch(/^<conversation-.*\nuser: .*\n<\/conversation-\w+>$/s);
    const unasked = await connected.call('sessions_spawn', { task: 'y' });
    expect(unasked.value).not.toHaveProperty('handover');
  });

  test('refuses a worktree that cannot be made, and warns of what it does not have', async () => {
    home.writeConfig({ agents: { defaults: { subagents: { worktree: 'always' } } } });
    await using connected = await connect(home);
    const { isError, value: refusal } = await connected.call('sessions_spawn', { task: 'x' });
    const reason = `Cannot make a worktree: "${projectIn(home)}" is in no git repository that can be used: `;
    expect({ isError, refusal }).toMatchObject({
      isError: true,
      refusal: { error: expect.stringContaining(reason) },
    });
    await commitNothing(projectIn(home));
    const { value } = await connected.call('sessions_spawn', { task: 'x' });
    const warning = '1 file is not committed, and so not in its worktree: commit first what it needs';
    expect(value).toMatchObject({ warning });
  });

  test('writes the run down for who asks, and its result comes with the answer of wait', async () => {
    await using connected = await connect(home, CLAUDE);
    const request = { task: 'count the files', label: 'count', cleanup: 'keep' };
    const spawned = await connected.call('sessions_spawn', request);
    const { runId, childSessionKey: key } = spawned.value;
    expect(Object.keys(spawned.value).slice(0, 3)).toEqual(['status', 'runId', 'childSessionKey']);
    expect(spawned.value).toMatchObject({ status: 'accepted', number: 1 });
    const asker = { requester_session: SESSION, requester_client: 'claude' };
    const run = { requester: keyOf(projectIn(home)), ...asker, client: 'claude', label: 'count' };
    expect(runsStored()).toMatchObject([run]);
    const waited = await connected.call('subagents', { action: 'wait', target: '1', timeoutSeconds: 60 });
    const listed = { number: 1, status: 'success', label: 'count' };
    expect(waited.value).toMatchObject({ status: 'ended', runs: [listed] });
    expect(waited.news).toContain('Status: success');
    // The words of the announce step: it waited for these too.
    expect(waited.news).toContain('in better words');
    expect(outbox()).toMatchObject([{ state: 'leased' }]);

    const sessions = await connected.call('sessions_list', { messageLimit: 5 });
    expect(sessions.news).toBeUndefined();
    const session = { key, kind: 'subagent', status: 'success', displayName: 'count' };
    expect(sessions.value).toMatchObject({ count: 1, sessions: [session] });
    expect(outbox()).toMatchObject([{ state: 'acked' }]);
    const info = await connected.call('subagents', { action: 'info', target: 'count' });
    expect(info.value).toMatchObject({ status: 'success', run: runId, session: key, cleanup: 'keep' });

    const history = await connected.call('sessions_history', { sessionKey: '1' });
    expect(history.value).toMatchObject({ sessionKey: key, contentTruncated: false });
    const said = { role: 'assistant', text: 'the work is done' };
    expect(history.value.messages).toContainEqual(said);
    const last = await connected.call('sessions_history', { sessionKey: '1', limit: 1 });
    expect(last.value.messages).toHaveLength(1);
    const log = await connected.call('subagents', { action: 'log', target: 'count', limit: 20 });
    expect(log.value).toMatchObject({ number: 1, label: 'count', droppedMessages: 0 });
    expect(log.value.messages).toContainEqual(said);

    const message = { label: 'count', message: 'and more', timeoutSeconds: 60 };
    const sent = await connected.call('sessions_send', message);
    expect(sent.value).toMatchObject({ status: 'ok', reply: 'the work is done' });
    // The reply was the answer: it is not told as well.
    expect(sent.news).toBeUndefined();
    expect(outbox().at(-1)).toMatchObject({ state: 'leased', attempts: 1 });
    const again = await connected.call('subagents', { action: 'stop', target: 'last' });
    expect(again.value).toMatchObject({ status: 'done', alreadyFinished: [{ number: 1 }] });
    expect(again.news).toBeUndefined();
    expect(outbox().at(-1)).toMatchObject({ state: 'acked', attempts: 1 });
    const retried = await connected.call('subagents', { action: 'retry', target: '1' });
    expect(retried.value).toMatchObject({ status: 'accepted', number: 2 });
    const all = await connected.call('subagents', { action: 'wait', target: 'all', timeoutSeconds: 60 });
    expect(all.value.status).toBe('ended');
  });

  test('stop ends what runs, and a wait that is given up leaves it running', async () => {
    await using connected = await connect(home);
    const { value } = await connected.call('sessions_spawn', { task: '[[hang]]' });
    const waited = await connected.call('subagents', { action: 'wait', target: 'last', timeoutSeconds: 0.2 });
    expect(waited.value).toMatchObject({ status: 'timeout', runs: [{ number: 1 }] });
    const message = { sessionKey: 'last', message: 'more', timeoutSeconds: 0 };
    const sent = await connected.call('sessions_send', message);
    expect(sent.value).toMatchObject({ status: 'accepted', turn: 2 });
    const stopped = await connected.call('subagents', { action: 'stop', target: 'all' });
    const done = { status: 'done', stopped: [{ runId: value.runId }], survivors: [] };
    expect(stopped.value).toMatchObject(done);
    const { turn } = withRuns(home.paths, (db) => getRun(String(value.runId), db)) ?? {};
    expect(turn?.state).toBe('stopped');
  });
});

describe('subagents wait', () => {
  test('without a target is for the runs of its own session', async () => {
    await using other = await connect(home);
    await other.call('sessions_spawn', { task: '[[hang]]' });
    await using connected = await connect(home);
    const own = await connected.call('subagents', { action: 'wait', timeoutSeconds: 5 });
    expect(own.value).toEqual({ status: 'ended', runs: [] });
    const all = await connected.call('subagents', { action: 'wait', target: 'all', timeoutSeconds: 0 });
    expect(all.value).toMatchObject({ status: 'timeout', runs: [{ number: 1 }] });
    await connected.call('subagents', { action: 'stop', target: 'project' });
  });

  test('shows a session that another one has stopped its run, once, and stop all leaves what others asked for', async () => {
    await using owner = await connect(home);
    await owner.call('sessions_spawn', { task: '[[hang]]', label: 'one' });
    await using other = await connect(home);
    const all = await other.call('subagents', { action: 'stop', target: 'all' });
    expect(all.value).toMatchObject({ status: 'done', stopped: [], othersActive: 1 });
    expect(all.value.note).toContain('target "project" stops them too');
    const single = await other.call('subagents', { action: 'stop', target: 'one' });
    expect(single.value).toMatchObject({ stopped: [{ number: 1, work: true, waitingMessages: 0 }] });
    const waited = await owner.call('subagents', { action: 'wait', timeoutSeconds: 60 });
    const run = { number: 1, status: 'stopped', stoppedBy: 'a session of claude over MCP' };
    expect(waited.value).toMatchObject({ status: 'ended', runs: [run] });
    expect(waited.news).toContain('stopped by a session of claude over MCP');
    const after = await owner.call('subagents', { action: 'wait', timeoutSeconds: 60 });
    expect([after.value, after.news]).toEqual([{ status: 'ended', runs: [] }, undefined]);
    expect(outbox()).toMatchObject([{ state: 'acked', attempts: 1 }]);
  });

  test('gives the result with its answer, and nobody tells it once more', async () => {
    await using connected = await connect(home);
    await connected.call('sessions_spawn', { task: 'quick' });
    const waited = await connected.call('subagents', { action: 'wait', timeoutSeconds: 60 });
    expect(waited.news).toContain('in better words');
    expect((await connected.call('agents_list')).news).toBeUndefined();
    const sent = { sessionKey: 'last', message: '[[no-result 3]]', timeoutSeconds: 60 };
    expect((await connected.call('sessions_send', sent)).isError).toBe(true);
    expect((await connected.call('agents_list')).news).toBeUndefined();
    expect(outbox()).toMatchObject([
      { state: 'acked', attempts: 1 },
      { state: 'acked', attempts: 1 },
    ]);
  });

  test('tells the client again and again that it is worth waiting', async () => {
    await using connected = await connect(home);
    const said: (string | undefined)[] = [];
    const wait = { action: 'wait', timeoutSeconds: 6 };
    await connected.call('sessions_spawn', { task: '[[hang]]' });
    const onprogress = ({ message }: { message?: string | undefined }) => void said.push(message);
    await connected.client.callTool({ name: 'subagents', arguments: wait }, undefined, { onprogress });
    await connected.call('subagents', { action: 'stop', target: 'all' });
    expect(said).toEqual(['1 of 1 still at work', '1 of 1 still at work']);
  });
});

describe('an open server', () => {
  test('starts what waits, without being called', async () => {
    await using _ = await connect(home);
    const { runId } = withRuns(home.paths, (db) => {
      const inserted = spawn(db, { key: keyOf(projectIn(home)), cwd: home.path, createdAtMs: Date.now() });
      if (inserted.kind !== 'inserted') throw new Error(inserted.kind);
      return inserted.turn;
    });
    const stateOf = () => withRuns(home.paths, (db) => getRun(runId, db))?.turn.state;
    const untilMs = Date.now() + 30_000;
    while (stateOf() !== 'success' && Date.now() < untilMs) await Bun.sleep(50);
    expect(stateOf()).toBe('success');
  });
});
