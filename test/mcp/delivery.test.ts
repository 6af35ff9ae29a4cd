import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { NewAnnouncement } from '../../src/runs/model/announcement.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { endTurn } from '../../src/runs/store/turns.ts';
import { ended, ending, started } from '../runs/store/made-up.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { connect, keyOf, projectIn } from './mcp-client.ts';

/** Each test starts processes, and the machine may be busy. */
setDefaultTimeout(60_000);

const SESSION = 'the-session-of-claude';
const CLAUDE = { env: { CLAUDE_CODE_SESSION_ID: SESSION } };
const ANNOUNCEMENT = { stats: 'Stats: runtime 1s • sessionKey x' };

/** Something that a run of this project has to tell to the session of Claude Code. */
function tell(home: Home, result: string, fields: { session?: string | null; label?: string } = {}) {
  const { session = SESSION, ...rest } = fields;
  const tells: Partial<NewAnnouncement> = { ...ANNOUNCEMENT, result };
  withRuns(home.paths, (db) => ended(db, { key: keyOf(projectIn(home)), session, ...rest }, tells));
}

const outbox = (home: Home) =>
  withRuns(home.paths, (db) => db.all('SELECT result, state, attempts FROM outbox ORDER BY position'));
describe('what waits for the requester', () => {
  test('comes after the answer, alone without a structured part, and the next call says that it arrived', async () => {
    using home = temporaryHome();
    tell(home, 'forty-two');
    await using connected = await connect(home, CLAUDE);
    const first = await connected.call('agents_list');
    expect(first.value).toMatchObject({ requester: 'main' });
    expect(first.news).toContain('forty-two');
    expect(first.raw).not.toHaveProperty('structuredContent');
    expect(outbox(home)).toMatchObject([{ state: 'leased', attempts: 1 }]);
    const second = await connected.call('agents_list');
    expect(second.news).toBeUndefined();
    expect(second.raw.structuredContent).toEqual(second.value);
    expect(outbox(home)).toMatchObject([{ state: 'acked', attempts: 1 }]);
  });

  test('is given again, and marked, when the connection died before it asked again', async () => {
    using home = temporaryHome();
    tell(home, 'forty-two');
    await using first = await connect(home, CLAUDE);
    expect((await first.call('agents_list')).news).toContain('forty-two');
    process.kill(first.pid, 'SIGKILL');
    await using second = await connect(home, CLAUDE);
    expect((await second.call('agents_list')).news).toBeUndefined(); // It may still be read: the lease has not run out.
    withRuns(home.paths, (db) => db.run('UPDATE outbox SET lease_until = 1'));
    const again = await second.call('agents_list');
    expect(again.news).toContain('forty-two');
    expect(again.news).toContain('redelivery');
    await second.call('agents_list');
    expect(outbox(home)).toMatchObject([{ state: 'acked', attempts: 2 }]);
  });

  test('of one requester is given to one of two connections', async () => {
    using home = temporaryHome();
    for (let n = 0; n < 4; n++) tell(home, `result-${n}-end`, { session: null });
    await using first = await connect(home);
    await using second = await connect(home, { name: 'opencode' });
    const told = await Promise.all([first, second, first, second].map((one) => one.call('agents_list')));
    const news = told.map(({ news }) => news ?? '').join();
    for (let n = 0; n < 4; n++) expect(news.split(`result-${n}-end`)).toHaveLength(2);
  });

  test('for another session stays with that session', async () => {
    using home = temporaryHome();
    await using other = await connect(home, { env: { CLAUDE_CODE_SESSION_ID: 'another' } });
    await other.call('agents_list');
    const nowMs = Date.now();
    const tells = { result: 'forty-two', readyAtMs: nowMs };
    withRuns(home.paths, (db) => ended(db, { key: keyOf(projectIn(home)), session: SESSION }, tells));
    expect((await other.call('agents_list')).news).toBeUndefined();
    // Another client that was started from a tool of Claude Code has its variable, and is not meant.
    await using codex = await connect(home, { ...CLAUDE, name: 'codex-mcp-client' });
    expect((await codex.call('agents_list')).news).toBeUndefined();
    await using own = await connect(home, CLAUDE);
    expect((await own.call('agents_list')).news).toContain('forty-two');
  });

  test('for a session that is over comes at once to the only other one of that client', async () => {
    using home = temporaryHome();
    const as = (session: string, name = 'claude-code') =>
      connect(home, { env: { CLAUDE_CODE_SESSION_ID: session }, name });
    const tellNow = (result: string) => {
      const tells = { result, readyAtMs: Date.now() };
      withRuns(home.paths, (db) => ended(db, { key: keyOf(projectIn(home)), session: 'left' }, tells));
    };
    tell(home, 'makes the database', { session: null });
    await using left = await as('left');
    await left.call('agents_list');
    await using third = await as('third');
    await third.call('agents_list');
    await left.close();
    tellNow('forty-two');
    await using heir = await as('heir');
    expect((await heir.call('agents_list')).news).toBeUndefined(); // Who is meant is not sure: there are two.
    await third.close();
    await using codex = await as('codex', 'codex-mcp-client');
    expect((await codex.call('agents_list')).news).toBeUndefined();
    expect((await heir.call('agents_list')).news).toContain('forty-two');
  });

  test('is not lost with an answer that nobody waits for, or that is a refusal', async () => {
    using home = temporaryHome();
    tell(home, 'forty-two');
    await using connected = await connect(home, CLAUDE);
    expect((await connected.call('sessions_list', { x: 1 })).news).toBeUndefined();
    withRuns(home.paths, (db) => started(db, { key: keyOf(projectIn(home)), label: 'endless' }));
    const given = new AbortController();
    const call = connected.client.callTool(
      { name: 'subagents', arguments: { action: 'wait', target: 'endless' } },
      undefined,
      { signal: given.signal },
    );
    given.abort();
    await expect(call).rejects.toThrow();
    expect((await connected.call('agents_list')).news).toContain('forty-two');
  });

  test('does not go with an answer that the client no longer waits for', async () => {
    using home = temporaryHome();
    tell(home, 'forty-two');
    const later = { result: 'still being put into words', readyAtMs: Date.now() + 3_600_000 };
    withRuns(home.paths, (db) =>
      ended(db, { key: keyOf(projectIn(home)), session: SESSION, label: 'b' }, later),
    );
    await using connected = await connect(home, CLAUDE);
    const given = new AbortController();
    const call = connected.client.callTool(
      { name: 'subagents', arguments: { action: 'wait', target: 'b', timeoutSeconds: 600 } },
      undefined,
      { signal: given.signal },
    );
    given.abort();
    await expect(call).rejects.toThrow();
    expect((await connected.call('agents_list')).news).toContain('forty-two');
  });

  test('does not go with a long answer, which clients cut', async () => {
    using home = temporaryHome();
    const key = keyOf(projectIn(home));
    withRuns(home.paths, (db) =>
      db.transaction(() => {
        for (let n = 0; n < 30; n++) endTurn(started(db, { key, label: `a label ${n}` }), ending(), null, db);
      }),
    );
    tell(home, 'forty-two');
    await using connected = await connect(home, CLAUDE);
    expect((await connected.call('sessions_list', { includeArchived: true })).news).toBeUndefined();
    expect((await connected.call('sessions_list', { limit: 1 })).news).toContain('forty-two');
  });
});
