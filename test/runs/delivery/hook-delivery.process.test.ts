import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Requester } from '../../../src/runs/model/run.ts';
import { spawnRun } from '../../../src/runs/spawn.ts';
import { enterListener, listenerOf } from '../../../src/runs/store/outbox.ts';
import { readRuns, withRuns } from '../../../src/runs/store/rows.ts';
import { getTurn } from '../../../src/runs/store/turns.ts';
import { identityNow, isAlive } from '../../../src/system/process-identity.ts';
import { BINARY } from '../../support/program.ts';
import { accepted, runsHome } from '../runs-home.ts';
import { tell } from '../told.ts';

/** The hook that wakes, as a process of its own behind a client that a sleeping process stands for. */

setDefaultTimeout(60_000);

const SESSION = 'the-session';

async function bench(settings: Record<string, unknown> = {}) {
  const runs = runsHome({ announce: { mode: 'raw', ...settings } });
  const { world, project, home } = runs;
  const client = Bun.spawn(['sleep', '600']);
  const requesterOf = (session: string): Requester => ({ ...runs.requester, session, client: 'claude' });
  const ofClaude = { CLAUDE_CODE_ENTRYPOINT: 'cli', CLAUDE_CODE_SESSION_ATTENDED: '1' };
  return {
    ...runs,
    client,
    spawn: (task: string, session = SESSION, runTimeoutSeconds = 0) =>
      accepted(spawnRun({ task, runTimeoutSeconds }, requesterOf(session), world)),
    tell: (result: string, session = SESSION) => tell(requesterOf(session), home.paths, { result }),
    outbox: () =>
      readRuns(home.paths, (db) => db.all('SELECT state, attempts FROM outbox ORDER BY position')) ?? [],
    /** The hook, as a process of its own, with what it says to whom it wakes. */
    stop: (env: Record<string, string> = {}, stderr: 'pipe' | Bun.BunFile = 'pipe') => {
      const child = Bun.spawn([BINARY, 'hook', 'result-waiter'], {
        cwd: project,
        env: { ...world.env, ...ofClaude, CLAUDE_PID: String(client.pid), ...env },
        stdin: Buffer.from(JSON.stringify({ hook_event_name: 'Stop', session_id: SESSION, cwd: project })),
        stdout: 'ignore',
        stderr,
      });
      const text = stderr === 'pipe' ? (child.stderr as ReadableStream).text() : '';
      const ended = Promise.all([child.exited, text]).then(([code, told]) => ({ code, told }));
      return { pid: child.pid, ended, [Symbol.dispose]: () => child.kill('SIGKILL') };
    },
    waits: ({ pid }: { pid: number }) => {
      const waiter = () => readRuns(home.paths, (db) => listenerOf('waiter', SESSION, db)?.process.pid);
      return runs.until('it waits', () => waiter() === pid);
    },
    /** What happens in between at another hook of the session. */
    event: (name: string, more: Record<string, unknown> = {}) =>
      runs.hook({ hook_event_name: name, session_id: SESSION, ...more } as never),
    [Symbol.asyncDispose]: async () => {
      client.kill('SIGKILL');
      await runs[Symbol.asyncDispose]();
    },
  };
}

describe('the hook behind a turn', () => {
  test('wakes the session with the result of its run, which the next prompt of the client settles', async () => {
    await using made = await bench();
    made.spawn('[[slow 700]] work');
    const { code, told } = await made.stop().ended;
    expect(code).toBe(2);
    expect(told).toContain('1 background run of yours ended');
    expect(told).toContain('Status: success');
    expect(made.outbox()).toEqual([{ state: 'leased', attempts: 1 }]);
    const prompt = `<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n${told}`;
    expect(await made.event('UserPromptSubmit', { prompt })).toBeUndefined();
    expect(made.outbox()).toEqual([{ state: 'acked', attempts: 1 }]);
    expect((await made.stop().ended).code).toBe(0);
  });

  test('that was killed before it ended has woken nobody: it is told again, and says so', async () => {
    await using made = await bench();
    made.tell('told to nobody');
    expect((await made.stop().ended).code).toBe(2); // And now as if it had been killed: no prompt comes of it.
    const again = made.stop();
    await made.waits(again);
    expect(made.outbox()).toEqual([{ state: 'leased', attempts: 1 }]);
    const prompt = '<task-notification>of something else</task-notification>';
    await made.event('UserPromptSubmit', { prompt });
    withRuns(made.home.paths, (db) => db.run('UPDATE outbox SET lease_until = 1'));
    const { code, told } = await again.ended;
    expect(code).toBe(2);
    expect(told).toContain('told to nobody');
    expect(told).toContain('redelivery: true');
  });

  test('settles an answer of the server of its session only where that lives', async () => {
    await using made = await bench();
    const server = Bun.spawn(['sleep', '60']);
    const lease = (pid: number) =>
      withRuns(made.home.paths, (db) => {
        made.tell('in an answer');
        const listener = { kind: 'server', session: SESSION, requester: made.requester.key } as const;
        enterListener({ ...listener, client: 'claude', process: identityNow(pid) }, Date.now(), db);
        db.run(
          `UPDATE outbox SET state = 'leased', lease_owner = ?, lease_until = ? WHERE state = 'pending'`,
          `mcp:${pid}:x:1`,
          Date.now() + 600_000,
        );
      });
    lease(server.pid);
    expect(await made.stop().ended).toEqual({ code: 0, told: '' });
    expect(made.outbox()).toMatchObject([{ state: 'acked' }]);
    lease(server.pid);
    server.kill('SIGKILL');
    await server.exited;
    using waiting = made.stop();
    await made.waits(waiting);
    expect(made.outbox()).toMatchObject([{ state: 'acked' }, { state: 'leased' }]);
  });

  test('tells together what comes within two seconds', async () => {
    await using made = await bench();
    for (const ms of [300, 600, 900]) made.spawn(`[[slow ${ms}]] work`);
    const { told } = await made.stop().ended;
    expect(told).toContain('3 background runs of yours ended');
  });

  test('does not wait for a longer one with what the others have to tell', async () => {
    await using made = await bench();
    made.spawn('[[slow 20000]] long');
    made.tell('short one');
    const { code, told } = await made.stop().ended;
    expect([code, told.includes('short one')]).toEqual([2, true]);
  });

  test('leaves a result to the command of its session that waits for it, which alone tells it', async () => {
    await using made = await bench();
    for (const task of ['one', 'two', 'three']) {
      const { number } = made.spawn(`[[slow 1200]] ${task}`);
      const hook = made.stop();
      await made.waits(hook);
      const command = Bun.spawn([BINARY, 'subagents', 'wait', String(number)], {
        cwd: made.project,
        env: { ...made.world.env, CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: SESSION },
        stderr: 'ignore',
      });
      expect(await command.stdout.text()).toContain(`${number}) success`);
      expect(await hook.ended).toEqual({ code: 0, told: '' });
      expect(made.outbox().at(-1)).toEqual({ state: 'acked', attempts: 1 });
    }
  });

  for (const [how, env] of [
    ['in print mode', { CLAUDE_CODE_ENTRYPOINT: 'sdk-cli' }],
    ['where nobody attends', { CLAUDE_CODE_SESSION_ATTENDED: '0' }],
    ['inside a run', { SELF_GENERATION_RUN: 'x/1' }],
  ] as const) {
    test(`ends at once ${how}, and takes nothing`, async () => {
      await using made = await bench();
      made.tell('waits');
      expect(await made.stop(env).ended).toEqual({ code: 0, told: '' });
      expect(made.outbox()).toEqual([{ state: 'pending', attempts: 0 }]);
    });
  }

  test('ends at once where waking is switched off, or no run of this session is there', async () => {
    await using made = await bench({ wake: 'off' });
    made.tell('waits');
    expect((await made.stop().ended).code).toBe(0);
    await using other = await bench();
    other.tell('of another', 'another session');
    other.spawn('[[slow 5000]] work', 'another session');
    expect(await other.stop().ended).toEqual({ code: 0, told: '' });
  });

  test('is one for each session', async () => {
    await using made = await bench();
    made.spawn('[[slow 1500]] work');
    using first = made.stop();
    await made.waits(first);
    expect((await made.stop().ended).code).toBe(0);
    expect((await first.ended).code).toBe(2);
  });

  test('takes the place of one that was killed', async () => {
    await using made = await bench();
    made.spawn('[[slow 1500]] work');
    const first = made.stop();
    await made.waits(first);
    first[Symbol.dispose]();
    await first.ended;
    expect((await made.stop().ended).code).toBe(2);
  });

  test('leaves the result waiting when the client dies, and when its session ends', async () => {
    await using made = await bench();
    made.spawn('[[slow 4000]] work');
    using left = made.stop();
    await made.waits(left);
    made.client.kill('SIGKILL');
    expect((await left.ended).code).toBe(0);
    await using other = await bench();
    other.spawn('[[slow 4000]] work');
    using over = other.stop();
    await other.waits(over);
    await other.event('SessionEnd', { reason: 'clear' });
    expect((await over.ended).code).toBe(0);
    expect(isAlive(over.pid)).toBe(false);
    expect(other.outbox()).toEqual([]);
  });

  test('wakes no more often than the settings say, until the user types something', async () => {
    await using made = await bench({ wakesMax: 2 });
    for (const expected of [2, 2, 0]) {
      made.tell('news');
      expect((await made.stop().ended).code).toBe(expected);
    }
    await made.event('UserPromptSubmit', { prompt: '<task-notification>\n</task-notification>' });
    made.tell('news');
    expect((await made.stop().ended).code).toBe(0);
    await made.event('UserPromptSubmit', { prompt: 'and now?' });
    made.tell('news');
    expect((await made.stop().ended).code).toBe(2);
  });

  test('ends a run at its time whose supervisor was killed, and wakes the session with that', async () => {
    await using made = await bench();
    const { runId } = made.spawn('[[hang]]', SESSION, 2);
    const turn = () => readRuns(made.home.paths, (db) => getTurn(runId, 1, db));
    await made.until('its client runs', () => turn()?.process != null);
    process.kill(turn()?.owner?.pid ?? 0, 'SIGKILL');
    const { code, told } = await made.stop().ended;
    expect([code, told.includes('Status: timeout')]).toEqual([2, true]);
    const { endedAtMs, deadlineAtMs } = turn() ?? {};
    expect((endedAtMs ?? 0) - (deadlineAtMs ?? 0)).toBeWithin(0, 5000);
  });

  test('ends when it cannot write, and leaves the result waiting', async () => {
    await using made = await bench();
    made.tell('waits');
    expect((await made.stop({}, Bun.file('/dev/full')).ended).code).toBe(0);
    expect(made.outbox()).toEqual([{ state: 'pending', attempts: 1 }]);
  });

  test('settles what the session was told within the turn that has ended', async () => {
    await using made = await bench();
    made.tell('told by a hook');
    const use = { tool_name: 'Bash', tool_input: {}, tool_use_id: 't' };
    expect(await made.event('PostToolUse', use)).toContain('told by a hook');
    expect(await made.stop().ended).toEqual({ code: 0, told: '' });
    expect(made.outbox()).toEqual([{ state: 'acked', attempts: 1 }]);
  });
});
