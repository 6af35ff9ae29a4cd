import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { withRuns } from '../../src/runs/store/rows.ts';
import { endTurn } from '../../src/runs/store/turns.ts';
import { ended, ending, started } from '../runs/store/made-up.ts';
import { homePerTest } from '../support/per-test.ts';
import { type Connected, connect, keyOf, projectIn } from './mcp-client.ts';

/** Each test starts processes, and the machine may be busy. */
setDefaultTimeout(60_000);

const SESSION = 'the-session-of-claude';
const CLAUDE = { env: { CLAUDE_CODE_SESSION_ID: SESSION } };
const home = homePerTest();
const key = () => keyOf(projectIn(home));

/** Something that a run of this project has to tell to the session of Claude Code. */
function tell(result: string, fields: { session?: string | null; label?: string } = {}, readyAtMs?: number) {
  const tells = { stats: 'Stats: runtime 1s • sessionKey x', result, ...(readyAtMs && { readyAtMs }) };
  withRuns(home.paths, (db) => ended(db, { key: key(), session: SESSION, ...fields }, tells));
}

const outbox = () =>
  withRuns(home.paths, (db) => db.all('SELECT result, state, attempts FROM outbox ORDER BY position'));

/** What comes with the next answer. */
const newsOf = async (connected: Connected) => (await connected.call('agents_list')).news;

/** Waits for a run, and gives up before the answer. */
async function giveUp({ client }: Connected, target: string): Promise<void> {
  const given = new AbortController();
  const wait = { name: 'subagents', arguments: { action: 'wait', target, timeoutSeconds: 600 } };
  const call = client.callTool(wait, undefined, { signal: given.signal });
  given.abort();
  await expect(call).rejects.toThrow();
}

describe('what waits for the requester', () => {
  test('comes after the answer, alone without a structured part, and the next call says that it arrived', async () => {
    tell('forty-two');
    await using connected = await connect(home, CLAUDE);
    const first = await connected.call('agents_list');
    expect(first.value).toMatchObject({ requester: 'main' });
    expect(first.news).toContain('forty-two');
    expect(first.raw).not.toHaveProperty('structuredContent');
    expect(outbox()).toMatchObject([{ state: 'leased', attempts: 1 }]);
    const second = await connected.call('agents_list');
    expect(second.news).toBeUndefined();
    expect(second.raw.structuredContent).toEqual(second.value);
    expect(outbox()).toMatchObject([{ state: 'acked', attempts: 1 }]);
  });

  test('is given again, and marked, when the connection died before it asked again', async () => {
    tell('forty-two');
    await using first = await connect(home, CLAUDE);
    expect(await newsOf(first)).toContain('forty-two');
    process.kill(first.pid, 'SIGKILL');
    await using second = await connect(home, CLAUDE);
    expect(await newsOf(second)).toBeUndefined(); // It may still be read: the lease has not run out.
    withRuns(home.paths, (db) => db.run('UPDATE outbox SET lease_until = 1'));
    const again = await second.call('agents_list');
    expect(again.news).toContain('forty-two');
    expect(again.news).toContain('redelivery');
    await second.call('agents_list');
    expect(outbox()).toMatchObject([{ state: 'acked', attempts: 2 }]);
  });

  test('of one requester is given to one of two connections', async () => {
    for (let n = 0; n < 4; n++) tell(`result-${n}-end`, { session: null });
    await using first = await connect(home);
    await using second = await connect(home, { name: 'opencode' });
    const told = await Promise.all([first, second, first, second].map((one) => one.call('agents_list')));
    const news = told.map(({ news }) => news ?? '').join();
    for (let n = 0; n < 4; n++) expect(news.split(`result-${n}-end`)).toHaveLength(2);
  });

  test('for another session stays with that session', async () => {
    await using other = await connect(home, { env: { CLAUDE_CODE_SESSION_ID: 'another' } });
    await other.call('agents_list');
    tell('forty-two', {}, Date.now());
    expect(await newsOf(other)).toBeUndefined();
    // Another client that was started from a tool of Claude Code has its variable, and is not meant.
    await using codex = await connect(home, { ...CLAUDE, name: 'codex-mcp-client' });
    expect(await newsOf(codex)).toBeUndefined();
    await using own = await connect(home, CLAUDE);
    expect(await newsOf(own)).toContain('forty-two');
  });

  test('for a session that is over comes at once to the only other one of that client', async () => {
    const as = (session: string, name = 'claude-code') =>
      connect(home, { env: { CLAUDE_CODE_SESSION_ID: session }, name });
    tell('makes the database', { session: null });
    await using left = await as('left');
    await left.call('agents_list');
    await using third = await as('third');
    await third.call('agents_list');
    await left.close();
    tell('forty-two', { session: 'left' }, Date.now());
    await using heir = await as('heir');
    expect(await newsOf(heir)).toBeUndefined(); // Who is meant is not sure: there are two.
    await third.close();
    await using codex = await as('codex', 'codex-mcp-client');
    expect(await newsOf(codex)).toBeUndefined();
    expect(await newsOf(heir)).toContain('forty-two');
  });

  test('is not lost with an answer that nobody waits for, or that is a refusal', async () => {
    tell('forty-two');
    await using connected = await connect(home, CLAUDE);
    expect((await connected.call('sessions_list', { x: 1 })).news).toBeUndefined();
    withRuns(home.paths, (db) => started(db, { key: key(), label: 'endless' }));
    await giveUp(connected, 'endless');
    expect(await newsOf(connected)).toContain('forty-two');
  });

  test('does not go with an answer that the client no longer waits for', async () => {
    tell('forty-two');
    tell('still being put into words', { label: 'b' }, Date.now() + 3_600_000);
    await using connected = await connect(home, CLAUDE);
    await giveUp(connected, 'b');
    expect(await newsOf(connected)).toContain('forty-two');
  });

  test('does not go with a long answer, which clients cut', async () => {
    withRuns(home.paths, (db) =>
      db.transaction(() => {
        for (let n = 0; n < 30; n++)
          endTurn(started(db, { key: key(), label: `a label ${n}` }), ending(), null, db);
      }),
    );
    tell('forty-two');
    await using connected = await connect(home, CLAUDE);
    expect((await connected.call('sessions_list', { includeArchived: true })).news).toBeUndefined();
    expect((await connected.call('sessions_list', { limit: 1 })).news).toContain('forty-two');
  });
});
