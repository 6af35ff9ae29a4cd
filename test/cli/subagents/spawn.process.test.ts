import { describe, expect, test } from 'bun:test';
import { chmodSync, readdirSync, rmSync } from 'node:fs';
import type { HandoverReport } from '../../../src/runs/model/handover.ts';
import { getRun, handoverText } from '../../../src/runs/store/runs.ts';
import { appendTurn } from '../../../src/runs/store/turns.ts';
import { putSessions, sessionsOf } from '../../support/client-sessions.ts';
import { printed, refused } from '../call.ts';
import { messageTo, NOW_MS, newShelf, ONE_AT_A_TIME, type Shelf } from './shelf.ts';

type Accepted = Readonly<Record<'status' | 'runId' | 'childSessionKey', string> & Record<string, unknown>>;

/** A shelf with clients on the PATH that are never started, because a run occupies the only slot. */
function shelfWithClients(): Shelf {
  const shelf = newShelf(ONE_AT_A_TIME);
  for (const name of ['claude', 'codex']) chmodSync(shelf.home.put(`bin/${name}`, '#!/bin/sh\n'), 0o755);
  shelf.start({ label: 'busy' });
  return shelf;
}

describe('subagents spawn', () => {
  test('answers with the run and its place, without waiting for it', async () => {
    using shelf = shelfWithClients();
    const stdout = printed(await shelf.call(['spawn', 'Look', 'for dead code']));
    expect(stdout).toMatch(
      /^Spawned subagent main \(session agent:main:subagent:[0-9a-f-]{36}, run [0-9a-f]{8}\)\.\n#2 · queued \(1st\)\nNote: it may look, [^\n]*--permissions edit"\.\n"self-generation subagents wait 2" waits for its result\.\n$/,
    );
  });

  test('answers status, runId and childSessionKey as JSON', async () => {
    using shelf = shelfWithClients();
    const { status, runId, childSessionKey, ...rest } = await shelf.json<Accepted>(['spawn', 'task']);
    expect(status).toBe('accepted');
    expect(childSessionKey.replaceAll('-', '')).toBe(`agent:main:subagent:${runId}`);
    const note = expect.stringContaining('tools.subagents.allow');
    expect(rest).toEqual({ number: 2, queuePosition: 1, note });
  });

  test('writes down every option', async () => {
    using shelf = shelfWithClients();
    const options =
      '--client codex --model made-1 --thinking low --timeout 10m --label docs --cleanup delete';
    const words = ['spawn', ...options.split(' '), '--worktree', 'auto', 'task'];
    const { runId } = await shelf.json<Accepted>(words);
    expect(shelf.write((db) => getRun(runId, db)?.run)).toMatchObject({
      client: 'codex',
      thinking: 'low',
      runTimeoutMs: 600_000,
      label: 'docs',
      cleanup: 'delete',
      worktreeMode: 'auto',
      task: 'task',
      requester: { key: shelf.key, session: null, client: null },
    });
  });

  test('takes the task from standard input with "-"', async () => {
    using shelf = shelfWithClients();
    const { runId } = await shelf.json<Accepted>(['spawn', '-'], { stdin: 'one\ntwo\n' });
    expect(shelf.write((db) => getRun(runId, db)?.run.task)).toBe('one\ntwo');
    const { code, stderr } = await shelf.call(['spawn', '-'], { stdin: ' \n' });
    expect(code).toBe(2);
    expect(stderr).toStartWith('⚙️ Usage: ');
  });

  test('prints the same run to the same call a moment later', async () => {
    using shelf = shelfWithClients();
    const first = await shelf.json<Accepted>(['spawn', 'task']);
    const second = await shelf.json<Accepted>(['spawn', 'task']);
    expect([second.runId, second.deduplicated]).toEqual([first.runId, true]);
    expect((await shelf.call(['spawn', 'task'])).stdout).toContain('the same was asked for a moment ago');
  });

  const refusals: [title: string, words: string, code: number, error: RegExp][] = [
    [
      'an agent that is not allowed',
      '--agent other',
      4,
      /^agentId is not allowed for sessions_spawn \(allowed: /,
    ],
    [
      'a label of a run that works, and says which',
      '--label busy',
      1,
      /^Cannot call a run "busy": run #1 has that label and is running\. Choose another label, or stop that run first/,
    ],
    ['a label that means something else', '--label=\tall\t', 1, /^Cannot call a run "all": /],
    ['a client that is not there', '--cli gemini', 1, /gemini is not on the PATH/],
  ];
  for (const [title, flags, code, error] of refusals) {
    test(`refuses ${title}`, async () => {
      using shelf = shelfWithClients();
      const words = ['spawn', ...flags.split(' '), 'task'];
      const spoken = await shelf.call(words);
      expect(spoken.code).toBe(code);
      expect(spoken.stderr.replace(/^⚠️ Spawn failed: /, '')).toMatch(error);
      const { code: again, stdout } = await shelf.call([...words, '--json']);
      const answer = JSON.parse(stdout) as { error: { code: string; message: string } };
      expect([again, answer.error.code]).toEqual([code, code === 4 ? 'forbidden' : 'failed']);
      expect(answer.error.message.replace(/^Spawn failed: /, '')).toMatch(error);
    });
  }

  test('refuses with exit code 5 what is one too many', async () => {
    using shelf = shelfWithClients();
    shelf.home.writeConfig({ agents: { defaults: { subagents: { maxConcurrent: 1, maxQueued: 1 } } } });
    await shelf.json(['spawn', 'one']);
    const { code, stderr } = await shelf.call(['spawn', 'two']);
    expect(code).toBe(5);
    expect(stderr).toStartWith('⚠️ Spawn failed: ');
  });

  for (const words of [
    '--cli vim task',
    '--timeout soon task',
    '--thinking bogus task',
    '--cleanup maybe task',
  ])
    test(`spawn ${words} is a wrong call`, async () => {
      using shelf = shelfWithClients();
      expect((await shelf.call(['spawn', ...words.split(' ')])).code).toBe(2);
    });
});

describe('subagents spawn --context', () => {
  /** With a session of Claude Code and an older one of Codex in the project. */
  function shelfWithSessions(): Shelf & { readonly claude: string; readonly codex: string } {
    const shelf = shelfWithClients();
    const idOf = (name: 'claude' | 'codex', minutesAgo: number) => {
      putSessions(shelf.home.path, name, shelf.project, NOW_MS - minutesAgo * 60_000);
      return sessionsOf(name, shelf.home.path, shelf.project)[0]?.id ?? '';
    };
    return Object.assign(shelf, { claude: idOf('claude', 30), codex: idOf('codex', 60) });
  }
  const textOf = (shelf: Shelf, runId: string) => shelf.write((db) => handoverText(runId, db));
  type Handed = Accepted & { readonly handover: HandoverReport };

  test('hands the newest session of the project over, and names it', async () => {
    using shelf = shelfWithSessions();
    const stdout = printed(await shelf.call(['spawn', '--context', 'full', 'task']));
    const named = `Context: full of session ${shelf.claude} of claude; `;
    expect(stdout).toContain(`\n${named}`);
    expect(printed(await shelf.call(['info', '2']))).toContain(`\n${named}`);
    const { handover, context } = await shelf.json<Record<string, unknown>>(['info', '2']);
    expect(handover).toMatchObject({ mode: 'full', session: { client: 'claude', id: shelf.claude } });
    expect(context).toStartWith(named.slice('Context: '.length));
  });

  test('hands what the flags say of the session that is named over, and a retry the same text', async () => {
    using shelf = shelfWithSessions();
    const flags = ['--recent', '2', '--max-chars', '300', '--include-system', '--session', shelf.codex];
    const { runId, handover } = await shelf.json<Handed>(['spawn', ...flags, '--label', 'handed', 'task']);
    const text = textOf(shelf, runId) ?? '';
    expect(handover).toMatchObject({ mode: 'recent', session: { client: 'codex', id: shelf.codex } });
    expect(handover.charsOut).toBe(text.length);
    expect(text.length).toBeLessThanOrEqual(300);
    expect(text).toContain('assistant: ');
    await shelf.call(['stop', 'handed']);
    rmSync(`${shelf.home.path}/.codex`, { recursive: true });
    const again = await shelf.json<Handed>(['retry', 'handed']);
    expect(textOf(shelf, again.runId)).toBe(text);
    expect(again.handover).toEqual(handover);
  });

  test('stores nothing without a word about it, and nothing of a call that is refused', async () => {
    using shelf = shelfWithSessions();
    for (const words of [
      ['task'],
      ['--context', 'none', 'other'],
      ['--context', 'full', '--cli', 'gemini', 'x'],
    ])
      await shelf.call(['spawn', ...words]);
    expect(shelf.write((db) => db.all('SELECT * FROM handovers'))).toEqual([]);
    expect(printed(await shelf.call(['info', '2']))).not.toContain('Context: ');
  });

  test('is another run for another mode or session, and the same one for the same', async () => {
    using shelf = shelfWithSessions();
    const numberOf = async (...flags: readonly string[]) =>
      (await shelf.json<{ number: number }>(['spawn', ...flags, 'task'])).number;
    const calls = [[], ['--context', 'full'], ['--recent', '3'], ['--session', shelf.codex]];
    for (const [at, flags] of calls.entries()) {
      expect(await numberOf(...flags)).toBe(at + 2);
      expect(await numberOf(...flags)).toBe(at + 2);
    }
  });

  test('is refused where no session is meant, with what to do', async () => {
    using shelf = shelfWithClients();
    const { code, stderr } = await shelf.call(['spawn', '--context', 'full', 'task']);
    expect(code).toBe(1);
    expect(stderr).toStartWith('⚠️ Spawn failed: Cannot find a session that was started in ');
    expect(stderr).toContain('--session ID');
  });

  test('starts nothing, and leaves no question behind, when its summary is interrupted', async () => {
    using shelf = shelfWithSessions();
    chmodSync(shelf.home.put('bin/claude', '#!/bin/sh\nexec /bin/sleep 60\n'), 0o755);
    const onInterrupt = (act: () => void) => {
      const timer = setTimeout(act, 300);
      return () => clearTimeout(timer);
    };
    const { code, stdout } = await shelf.call(['spawn', '--context', 'summary', 'task'], { onInterrupt });
    expect([code, stdout]).toEqual([130, '']);
    expect(shelf.write((db) => db.all('SELECT * FROM runs'))).toHaveLength(1);
    expect(readdirSync(shelf.home.paths.summaries)).toEqual([]);
  });

  for (const words of ['--context half task', '--recent -1 task', '--max-chars many task'])
    test(`spawn ${words} is a wrong call`, async () => {
      using shelf = shelfWithClients();
      expect((await shelf.call(['spawn', ...words.split(' ')])).code).toBe(2);
    });
});

describe('subagents retry', () => {
  test('starts a run that has ended anew, under its own number', async () => {
    using shelf = shelfWithClients();
    const first = shelf.write((db) => getRun(shelf.queue({ label: 'again', cwd: shelf.project }).runId, db));
    await shelf.call(['stop', 'again']);
    const { runId, number } = await shelf.json<Accepted>(['retry', 'again']);
    expect(runId).not.toBe(first?.run.id ?? '');
    expect(number).toBe(3);
    const again = { label: 'again', task: 'Fix the tests.' };
    expect(shelf.write((db) => getRun(runId, db)?.run)).toMatchObject(again);
  });

  test('refuses one that a message waits for', async () => {
    using shelf = shelfWithClients();
    const { runId } = shelf.end(shelf.start({ label: 'done', cwd: shelf.project }));
    shelf.write((db) => appendTurn(messageTo(runId, null), db));
    expect(await shelf.call(['retry', 'done'])).toEqual(
      refused(1, '⚠️ Spawn failed: Subagent #2 has a message waiting: stop it first.\n'),
    );
    await shelf.call(['stop', 'done']);
    expect((await shelf.call(['retry', 'done'])).code).toBe(0);
  });

  test('refuses one that is still at work', async () => {
    using shelf = shelfWithClients();
    expect(await shelf.call(['retry', 'busy'])).toEqual(
      refused(1, '⚠️ Spawn failed: Subagent #1 is still running: stop it first.\n'),
    );
  });
});
