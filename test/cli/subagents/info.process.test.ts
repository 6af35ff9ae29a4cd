import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { archiveRun } from '../../../src/runs/archive.ts';
import { turnFiles } from '../../../src/runs/model/run.ts';
import { NO_USAGE } from '../../../src/runs/model/turn.ts';
import { addRunEvent } from '../../../src/runs/store/rows.ts';
import { changeRun, getRun } from '../../../src/runs/store/runs.ts';
import { appendTurn } from '../../../src/runs/store/turns.ts';
import { childKeyOf } from '../../support/made-run.ts';
import { printed } from '../call.ts';
import { NOW_MS, newShelf } from './shelf.ts';

const ID = '1a2b3c4d000000000000000000000000';

describe('subagents info', () => {
  test('shows no secret, wherever in the run it stands, and keeps the task as it was given', async () => {
    using shelf = newShelf();
    const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789';
    const words = `fix it with ${secret}`;
    shelf.start({ id: ID, label: words, task: words, warning: words });
    for (const call of [['info', '1'], ['info', '1', '--json'], ['list', '--json'], ['list']]) {
      const { stdout } = await shelf.call(call);
      expect(stdout).toContain('fix it with');
      expect(stdout).not.toContain(secret);
    }
    expect(shelf.write((db) => getRun(ID, db)?.run.task)).toBe(words);
  });

  test('shows what the seed names in its order, then all else that is known', async () => {
    using shelf = newShelf();
    const model = { requested: 'gpt-99', resolved: 'made-1' };
    const warning = 'model "gpt-99" is not known';
    const turn = shelf.start({ id: ID, label: 'fix tests', model, gaps: ['web_fetch'], warning });
    shelf.write((db) => {
      changeRun(ID, { sessionId: 's-1', model: { observed: 'made-1-2026' } }, db);
      const launched = { actor: 'supervisor', type: 'launched', detail: 'pid 7' } as const;
      addRunEvent({ runId: ID, turn: 1, atMs: NOW_MS, ...launched }, db);
    });
    const tokens = { ...NO_USAGE, inputTokens: 10_100, outputTokens: 2200 };
    const usage = { ...tokens, costUsd: 0.0412, costSource: 'priced' } as const;
    shelf.end(turn, { outcome: 'error', error: 'bro\u001b[1mken', usage }, { status: 'error' });
    const stdout = printed(await shelf.call(['info', '1']));
    expect(stdout.trimEnd().split('\n')).toEqual([
      'ℹ️ Subagent info',
      'Status: error',
      'Label: fix tests',
      'Task: Fix the tests.',
      `Run: ${ID}`,
      `Session: ${childKeyOf(ID)}`,
      'SessionId: s-1',
      `Transcript: ${turnFiles(shelf.home.paths, ID, 1).output}`,
      'Runtime: 5m12s',
      'Created: 2026-11-20 09:35:00 (25 min ago)',
      'Started: 2026-11-20 09:45:00 (15 min ago)',
      'Ended: 2026-11-20 09:50:12 (9 min ago)',
      'Cleanup: keep',
      'Outcome: error (bro<U+001B>[1mken)',
      'Client: claude',
      'Model: requested gpt-99, resolved made-1, observed made-1-2026',
      'Usage: tokens in 10.1k / out 2.2k, cache read n/a / written n/a',
      'Cost: $0.04 (by the configured prices)',
      'PID: n/a',
      'Deadline: none',
      'Queue: n/a',
      'Delivery: pending, handed out 0 times',
      'Worktree: none',
      'Permissions: all mode',
      'Enforcement gaps: web_fetch',
      'Warning: model "gpt-99" is not known',
      'Events:',
      '  2026-11-20 10:00:00 supervisor: launched pid 7',
    ]);
  });

  test('says what a run is for that only reads, and its limits', async () => {
    using shelf = newShelf();
    const limits = { iterations: 15, tokens: null, usd: 0.5, observationChars: null };
    shelf.start({ id: ID, profile: { kind: 'explore', limits } });
    const stdout = printed(await shelf.call(['info', '1']));
    expect(stdout).toContain('\nProfile: explore, which only reads; at most iterations 15, usd 0.5\n');
    const json = JSON.parse(printed(await shelf.call(['info', '1', '--json'])));
    expect(json.profile).toEqual({ kind: 'explore', limits });
  });

  test('says n/a of what is not known yet', async () => {
    using shelf = newShelf();
    shelf.start({ id: ID });
    const { stdout } = await shelf.call(['info', 'last']);
    const unknown = ['SessionId', 'Ended', 'Outcome', 'Usage', 'Cost'].map((name) => `${name}: n/a`);
    for (const line of [...unknown, 'Runtime: 15m0s']) expect(stdout).toContain(`\n${line}\n`);
    expect(stdout).toContain(`\nPID: n/a, supervisor ${process.pid}\n`);
  });

  test('says once of a run that was stopped that it was, and by whom', async () => {
    using shelf = newShelf();
    const turn = shelf.start();
    shelf.end(turn, { outcome: 'stopped', error: 'stopped by a person (subagents stop)' });
    const { stdout } = await shelf.call(['info', '1']);
    expect(stdout).toContain('\nOutcome: stopped by a person (subagents stop)\n');
  });

  test('prints the status beside the fields of the seed as JSON', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start({ id: ID, label: 'fix tests' }), {}, {});
    shelf.write((db) => changeRun(ID, { sessionId: 's-1' }, db));
    const times = { createdAt: '2026-11-20T09:35:00.000Z', startedAt: '2026-11-20T09:45:00.000Z' };
    const names = { number: 1, runId: ID, childSessionKey: childKeyOf(ID), sessionId: 's-1' };
    const end = { status: 'success', result: 'All pass.', outcome: { status: 'success', error: null } };
    expect(await shelf.json<object>(['info', '1'])).toMatchObject({
      ...{ ...times, ...names, ...end, endedAt: '2026-11-20T09:50:12.000Z', cleanup: 'keep' },
      transcriptPath: turnFiles(shelf.home.paths, ID, 1).output,
      ...{ delivery: 'pending', deliveryAttempts: 0 },
    });
  });

  test('counts the announce step apart', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start({ id: ID }), { usage: { ...NO_USAGE, inputTokens: 1000, outputTokens: 0 } });
    const announcing = { kind: 'announce', announces: 1, message: 'x', nowMs: NOW_MS } as const;
    const step = shelf.write((db) => appendTurn({ runId: ID, ...announcing, state: 'starting' }, db));
    shelf.end(step, { usage: { ...NO_USAGE, inputTokens: 300, outputTokens: 20 } });
    const { stdout } = await shelf.call(['info', '1']);
    expect(stdout).toContain('\nUsage: tokens in 1.0k / out 0, ');
    expect(stdout).toContain('\nAnnounce steps: tokens 320\n');
  });

  test('finds the transcript under the name that archiving gave it', async () => {
    using shelf = newShelf();
    const turn = shelf.end(shelf.start({ id: ID }));
    shelf.say(turn, [{}]);
    const run = shelf.write((db) => getRun(ID, db)?.run);
    if (run !== undefined) archiveRun(run, shelf.home.paths, new Date(NOW_MS));
    const { transcriptPath } = await shelf.json<{ transcriptPath: string }>(['info', '1']);
    expect(transcriptPath).toBe(
      `${turnFiles(shelf.home.paths, ID, 1).output}.deleted.2026-11-20T10-00-00.000Z`,
    );
    expect(existsSync(transcriptPath)).toBe(true);
  });
});
