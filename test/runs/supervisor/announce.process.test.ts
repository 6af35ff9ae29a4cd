import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { spent } from '../../../src/runs/store/limits.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import { listRuns } from '../../../src/runs/store/runs.ts';
import { BINARY } from '../../support/program.ts';
import { startOnTerminal } from '../../support/terminal.ts';
import { runsHome } from '../runs-home.ts';
import { outputOf, type Story, supervisorHome } from './supervisor-home.ts';

/** The step in which the client puts its result into words, in its own session. */

setDefaultTimeout(60_000);
const stepOf = ({ turns }: Story) => turns.find(({ kind }) => kind === 'announce');

describe('the announce step', () => {
  test('puts the result into better words; what it takes is kept apart from the work', async () => {
    await using sup = supervisorHome();
    const story = await sup.run('[[messages 4]] [[answer rough]]');
    expect(story.outbox).toMatchObject([
      { turn: 1, status: 'success', result: 'in better words', notes: '- (none)' },
    ]);
    expect(Number(story.outbox[0]?.ready_at)).toBeLessThanOrEqual(Date.now());
    expect(String(story.outbox[0]?.stats)).toContain('tokens 600 (in 500 / out 100)');
    const usage = { inputTokens: 500, outputTokens: 100, costUsd: 0.05 };
    expect(story.turns).toMatchObject([
      { kind: 'task', state: 'success', result: 'rough', usage },
      { kind: 'announce', announces: 1, state: 'success', usage: { inputTokens: 100, outputTokens: 20 } },
    ]);
    const listed = withRuns(sup.home.paths, (db) => listRuns({ limit: 10 }, db));
    expect(listed).toMatchObject([{ usage: { inputTokens: 500, outputTokens: 100 }, turn: { number: 1 } }]);
    // The budget knows both.
    expect(withRuns(sup.home.paths, (db) => spent({ runId: story.run.id }, db)).tokens).toBe(720);
  });

  test('runs in the session of the work, without tools, and in no other', async () => {
    await using sup = supervisorHome();
    const story = await sup.run('do it');
    expect(story.turns[1]?.message).toContain('작업이 끝났습니다'); // In the language of the first prompt.
    const sessions = story.turns.map((turn) => /"session_id":"([^"]+)"/.exec(outputOf(sup, turn))?.[1]);
    expect(sessions).toEqual([story.run.sessionId ?? '', story.run.sessionId ?? '']);
  });

  const [skipped, pending] = [{ state: 'skipped' }, { state: 'pending', result: 'raw' }];
  const [success, refused] = [{ state: 'success' }, expect.stringContaining('No conversation found')];
  const outcomes: [what: string, task: string, row: object, step: object][] = [
    ['skips what has nothing to say', '[[announce skip]]', skipped, success],
    [
      'skips a failure as well, which stays one',
      '[[announce skip]] [[error-result 1]]',
      { ...skipped, status: 'error' },
      success,
    ],
    ['that fails leaves the raw words', '[[announce fail]] [[answer raw]]', pending, { state: 'error' }],
    [
      'that is refused the session leaves the raw words',
      '[[no-resume]] [[answer raw]]',
      pending,
      { state: 'error', error: refused },
    ],
  ];
  test.each(outcomes)('%s', async (_, task, row, step) => {
    await using sup = supervisorHome();
    const story = await sup.run(task);
    expect(story.outbox).toMatchObject([row]);
    expect(stepOf(story)).toMatchObject(step);
  });

  test('cannot hide a failure where the settings say so', async () => {
    await using sup = supervisorHome({ announce: { skipOnFailure: false } });
    const story = await sup.run('[[announce skip]] [[error-result 1]]');
    expect(story.outbox).toMatchObject([{ state: 'pending', status: 'error', result: 'half of it' }]);
    expect(Number(story.outbox[0]?.ready_at)).toBeLessThanOrEqual(Date.now());
  });

  test('that hangs is ended in its time, and the raw words are there in time', async () => {
    await using sup = supervisorHome({ announce: { timeoutSeconds: 1 } });
    const turn = sup.accept('[[announce hang]] [[answer raw]]');
    await sup.supervise(turn).exited;
    const story = sup.story(turn.runId);
    expect(stepOf(story)).toMatchObject({ state: 'timeout', result: null });
    expect(story.outbox).toMatchObject([{ state: 'pending', result: 'raw', status: 'success' }]);
    const readyMs = Number(story.outbox[0]?.ready_at) - (story.turns[0]?.endedAtMs ?? 0);
    expect(readyMs).toBeLessThanOrEqual(6000);
    expect(sup.processes(turn.runId)).toEqual([]);
  });

  test('is left out of what nobody can pay, of what was ended from outside, and where nobody wants it', async () => {
    await using poor = supervisorHome({ budget: { run: { tokens: 120, usd: null } } });
    await using raw = supervisorHome({ announce: { mode: 'raw' } });
    await using other = supervisorHome();
    // The answer itself is what exceeds the budget: its result comes before anything can be ended.
    const stories = await Promise.all([
      poor.run('[[answer paid]]'),
      raw.run('[[answer raw]]'),
      other.run('[[slow 60000]]', { runTimeoutMs: 500 }),
    ]);
    for (const story of stories) {
      expect(story.turns).toHaveLength(1);
      expect(story.outbox).toHaveLength(1);
      expect(Number(story.outbox[0]?.ready_at)).toBeLessThanOrEqual(Date.now());
    }
  });

  test('is asked for in the first prompt instead where the settings say so', async () => {
    await using sup = supervisorHome({ announce: { mode: 'inline' } });
    const said = await sup.run('[[answer Result:\\nall of it\\n\\nNotes:\\n- one file]]');
    expect(said.turns).toHaveLength(1);
    expect(said.outbox).toMatchObject([{ result: 'all of it', notes: '- one file', state: 'pending' }]);
    const silent = await sup.run('[[answer ANNOUNCE_SKIP]]');
    expect(silent.outbox).toMatchObject([{ state: 'skipped' }]);
  });

  test('follows a message sent later as well, which goes on in the session and is announced for itself', async () => {
    await using sup = supervisorHome();
    const story = await sup.run('[[answer first]]');
    const runId = story.run.id;
    const after = await sup.send(runId, '[[answer second]]');
    expect(after.turns).toMatchObject([
      { kind: 'task' },
      { kind: 'announce', announces: 1 },
      { kind: 'send', state: 'success', result: 'second', usage: { inputTokens: 100 } },
      { kind: 'announce', announces: 3, state: 'success' },
    ]);
    expect(after.outbox).toMatchObject([{ turn: 1 }, { turn: 3, result: 'in better words' }]);
    expect(after.run.sessionId).toBe(story.run.sessionId ?? '');
    expect(existsSync(`${sup.home.paths.runs}/${runId}/turn-3.home`)).toBe(false);
  });
});

/** What a person is told of a result that nobody took; terminals are real. */

const RAW = { mode: 'raw' };

describe('a result that nobody has taken', () => {
  test('is told to the program of the settings, without a shell and without what the sub-agent said', async () => {
    await using made = runsHome({ announce: RAW });
    const program = `${made.home.path}/tell`;
    const noted = `${made.home.path}/noted`;
    writeFileSync(program, `#!/bin/sh\nfor word; do echo "<$word>" >> ${noted}; done\n`);
    chmodSync(program, 0o755);
    made.home.writeConfig({ announce: RAW, notify: { command: [program, '$(id)', 'x'] } });
    made.spawn({ task: '[[answer secret words]]', label: 'tests' });
    await made.until(
      'somebody is told',
      () => existsSync(noted) && readFileSync(noted, 'utf8').includes('#1'),
    );
    expect(readFileSync(noted, 'utf8')).toBe('<$(id)>\n<x>\n<Sub-agent #1 "tests": success>\n');
  });

  test('is noted in the log where that program cannot be started', async () => {
    await using made = runsHome({ announce: RAW, notify: { command: ['/no/such/program'] } });
    made.spawn({ task: 'work' });
    const { runsLog } = made.home.paths;
    await made.until('it is noted', () => existsSync(runsLog) && readFileSync(runsLog, 'utf8') !== '');
    expect(readFileSync(runsLog, 'utf8')).toContain('Cannot notify with');
  });

  test('rings in the terminal in which the run was asked for, unless somebody waited for it there', async () => {
    await using made = runsHome({ announce: RAW });
    const script = [
      `${BINARY} subagents spawn --label waited --wait '[[slow 100]] work'`,
      `${BINARY} subagents spawn --label left '[[slow 100]] work'`,
      'sleep 30',
    ].join('; ');
    const env = { ...made.world.env, NO_COLOR: '1' };
    await using shell = startOnTerminal(['sh', '-c', script], { cwd: made.project, env });
    await made.until('it rings', () => shell.bytes().includes('\x1b]9;'));
    expect(shell.bytes()).toContain('\x1b]9;Sub-agent #2 "left": success\x1b\\\x07');
    expect(shell.bytes()).not.toContain('Sub-agent #1');
  });
});
