import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Turn } from '../../../src/runs/model/turn.ts';
import { isTerminal } from '../../../src/runs/model/turn.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import { activeTurns, changeTurn } from '../../../src/runs/store/turns.ts';
import { readEvents } from '../../support/home.ts';
import { BINARY, canRun, notTested } from '../../support/program.ts';
import { killed, outputOf, type Story, type SupervisorHome, supervisorHome } from './supervisor-home.ts';

/** Supervisors and clients that are killed at any moment: every run ends once, is announced once, leaves no process. */

setDefaultTimeout(60_000);

const RAW = { announce: { mode: 'raw' } };

/** All places at which a supervisor of a run that goes well can die, in their order. */
const PLACES = [
  ...['before-take', 'after-take', 'after-place', 'before-launch-mark', 'after-launch-mark', 'after-start'],
  ...[
    'after-process-stored',
    'after-progress',
    'after-result',
    'after-gone',
    'before-signals',
    'after-signals',
  ],
  ...['before-end', 'within-end', 'after-end', 'after-mark', 'before-announce-step', 'before-reword'],
  ...['within-reword', 'after-reword', 'before-reconcile'],
];

/** What others do who find a turn that nobody looks after, until there is none. */
async function recover(sup: SupervisorHome): Promise<void> {
  for (let rounds = 0; rounds < 5; rounds++) {
    const left = withRuns(sup.home.paths, activeTurns);
    if (left.length === 0) return;
    await Promise.all(left.map((turn) => sup.supervise(turn).exited));
  }
  throw new Error('Turns never end');
}

/** Everything that has to hold of a run, however it came to its end. */
function expectWhole(sup: SupervisorHome, story: Story, states = ['success', 'error', 'lost']): Turn {
  const [work, ...others] = story.turns.filter(({ kind }) => kind === 'task');
  if (work === undefined || others.length > 0) throw new Error('A task has one turn');
  expect(story.turns.every(({ state }) => isTerminal(state))).toBe(true);
  expect(states).toContain(work.state);
  expect(story.outbox).toHaveLength(1);
  expect(sup.processes(story.run.id)).toEqual([]);
  // Given out once, also to whoever asks again, and then nothing is left.
  const later = Date.now() + 120_000;
  expect(sup.deliver('first', later)).toHaveLength(1);
  expect(sup.deliver('second', later)).toHaveLength(0);
  expect(sup.deliver('first', later)).toHaveLength(0);
  return work;
}

describe('a supervisor that is killed', () => {
  for (const place of PLACES)
    test(`${place.replaceAll('-', ' ')} loses nothing`, async () => {
      await using sup = supervisorHome();
      const turn = sup.accept(`[[note ${sup.home.path}/starts]] [[slow 100]]`);
      const first = sup.supervise(turn, place);
      await first.exited;
      expect(first.signalCode).toBe('SIGKILL');
      await recover(sup);
      const work = expectWhole(sup, sup.story(turn.runId));
      // Its work is done once at the most, and all of it that was begun is known.
      expect(sup.starts().filter((line) => line.includes('work')).length).toBeLessThanOrEqual(1);
      const isLost = place === 'after-launch-mark';
      const [state, result] = isLost ? (['lost', null] as const) : (['success', 'the work is done'] as const);
      expect(work).toMatchObject({ state, result });
    });

  test('while it stops its client leaves the stop to the next', async () => {
    const places = ['after-stop', 'before-signals', 'after-signals', 'before-end'];
    await Promise.all(places.map(killWhileStopping));
  });

  async function killWhileStopping(place: string): Promise<void> {
    await using sup = supervisorHome();
    const turn = sup.accept('[[fork]] [[setsid]] [[ignore-term]] [[hang]]');
    const first = sup.supervise(turn, place);
    await sup.until('the client works', () => sup.processes(turn.runId).length === 3);
    sup.stop(turn.runId);
    await first.exited;
    expect(first.signalCode).toBe('SIGKILL');
    await recover(sup);
    const story = sup.story(turn.runId);
    expect(story.turns).toMatchObject([{ state: 'stopped', stop: { by: 'a test' } }]);
    expect(story.outbox).toEqual([]);
    expect(sup.processes(turn.runId)).toEqual([]);
  }

  test('before the second model is tried leaves that to the next, and the first is not tried again', async () => {
    await using sup = supervisorHome(RAW);
    const model = { requested: 'opus-99', resolved: 'opus-99' };
    const turn = sup.accept(`[[note ${sup.home.path}/starts]] [[only-default]]`, { model });
    await sup.supervise(turn, 'after-model-refused').exited;
    await recover(sup);
    expect(expectWhole(sup, sup.story(turn.runId)).state).toBe('success');
    expect(sup.starts()).toEqual(['work opus-99', 'work fake-default']);
  });

  test('while the client works is followed by one with the deadline of the first, which does nothing twice and leaves nothing out', async () => {
    await using sup = supervisorHome(RAW);
    const file = `${sup.home.path}/go`;
    const turn = sup.accept(
      `[[failing one]] [[failing two]] [[slow 1500]] [[until ${file}]] [[failing three]]`,
      { runTimeoutMs: 600_000 },
    );
    const warnings = () =>
      sup.story(turn.runId).events.flatMap(({ type, detail }) => (type === 'warning' ? [detail] : []));
    const failures = () => readEvents(sup.home.paths, 'tool_error').map(({ data }) => data.command);
    const first = sup.supervise(turn);
    await sup.until('it has stored what was used', () => (sup.row(turn).usage.inputTokens ?? 0) > 500);
    expect(warnings()).toHaveLength(2);
    expect(failures().length).toBeGreaterThan(0);
    await killed(first);
    const before = sup.row(turn);
    const second = sup.supervise(turn);
    await sup.until('the second has taken it', () => sup.row(turn).owner?.pid === second.pid);
    sup.home.put('go', '');
    await second.exited;
    const story = sup.story(turn.runId);
    const work = expectWhole(sup, story);
    expect(work).toMatchObject({ state: 'success', result: 'the work is done', exit: null });
    expect(work.deadlineAtMs).toBe(before.deadlineAtMs);
    expect(work.process).toEqual(before.process);
    const words = (script: string) => `the service is asked again: ${script}`;
    expect(warnings()).toEqual(['one', 'two', 'three'].map(words));
    expect(failures()).toEqual(['npm run one', 'npm run two', 'npm run three']);
    // Each message was counted once.
    const messages = outputOf(sup, turn).split('"type":"assistant"');
    expect(work.usage.inputTokens).toBe((messages.length - 1) * 100);
  });

  test('and whose client ends unseen is followed by one that finds the result in the output', async () => {
    await using sup = supervisorHome();
    const file = `${sup.home.path}/go`;
    const ends = ['[[answer found]]', '[[no-result]]', '[[error-result 1]]'];
    const turns = ends.map((end) => sup.accept(`[[until ${file}]] ${end}`));
    const firsts = turns.map((turn) => sup.supervise(turn));
    for (const { runId } of turns)
      await sup.until('the client works', () => sup.story(runId).turns[0]?.state === 'running');
    await Promise.all(firsts.map(killed));
    sup.home.put('go', '');
    await sup.until('the clients are gone', () =>
      turns.every(({ runId }) => sup.processes(runId).length === 0),
    );
    await recover(sup);
    for (const { runId } of turns) {
      expect(sup.story(runId).outbox).toHaveLength(1);
      expect(sup.processes(runId)).toEqual([]);
    }
    const works = turns.map(sup.row);
    expect(works).toMatchObject([
      { state: 'success', result: 'found', exit: null },
      { state: 'lost', result: 'waiting', exit: null },
      { state: 'error', result: 'half of it', error: 'the service is overloaded' },
    ]);
    // Nobody is asked anything by a supervisor that only found what was left.
    expect(turns.flatMap(({ runId }) => sup.story(runId).turns)).toHaveLength(3);
    expect(works[1]?.notes.join()).toContain('its last output is of ');
  });

  test('is followed by one that keeps the deadline of the first', async () => {
    await using sup = supervisorHome(RAW);
    const turn = sup.accept('[[hang]]', { runTimeoutMs: 1500 });
    const first = sup.supervise(turn);
    await sup.until('the client works', () => sup.row(turn).usage.inputTokens === 100);
    await killed(first);
    const deadlineMs = sup.row(turn).deadlineAtMs ?? Number.NaN;
    await sup.until('the deadline is over', () => Date.now() > deadlineMs);
    await sup.supervise(turn).exited;
    const work = expectWhole(sup, sup.story(turn.runId), ['timeout']);
    expect(work).toMatchObject({ state: 'timeout', result: 'hanging', deadlineAtMs: deadlineMs });
    expect((work.stop?.atMs ?? 0) - deadlineMs).toBeLessThan(10_000);
  });

  test('is followed by one that knows the result which came in time, however much stands before it', async () => {
    await using sup = supervisorHome(RAW);
    const [go, end] = ['go', 'end'].map((name) => `${sup.home.path}/${name}`);
    const turn = sup.accept(`[[stream 24]] [[until ${go}]] [[close-stdout ${end}]]`, {
      runTimeoutMs: 3000,
    });
    const first = sup.supervise(turn);
    await sup.until('the client works', () => sup.story(turn.runId).run.sessionId !== null);
    await killed(first);
    sup.home.put('go', '');
    const deadlineMs = sup.row(turn).deadlineAtMs ?? Number.NaN;
    await sup.until('the deadline is over', () => Date.now() > deadlineMs);
    const second = sup.supervise(turn);
    await sup.until('all of it is read', () => {
      const { state, usage } = sup.row(turn);
      return usage.costUsd !== null || isTerminal(state);
    });
    sup.home.put('end', '');
    await second.exited;
    expect(sup.row(turn)).toMatchObject({ state: 'success', result: 'closed', stop: null });
  });

  test('just after the start of its client is followed by one that finds it by its marker, and knows its deadline', async () => {
    await using sup = supervisorHome(RAW);
    const file = `${sup.home.path}/go`;
    const turn = sup.accept(`[[until ${file}]]`, { runTimeoutMs: 600_000 });
    await sup.supervise(turn, 'after-start').exited;
    await sup.until('the client works', () => sup.processes(turn.runId).length === 1);
    expect(sup.row(turn)).toMatchObject({ state: 'starting', process: null });
    const second = sup.supervise(turn);
    await sup.until('it is found', () => sup.row(turn).state === 'running');
    const found = sup.row(turn);
    expect(found.process?.pid).toBe(sup.processes(turn.runId)[0] ?? 0);
    expect(found.deadlineAtMs).toBe((found.launchedAtMs ?? 0) + 600_000);
    sup.home.put('go', '');
    await second.exited;
    expect(expectWhole(sup, sup.story(turn.runId)).state).toBe('success');
  });

  test('together with its client is followed by one that says what is known', async () => {
    await using sup = supervisorHome();
    const turn = sup.accept('[[setsid]] [[hang]]');
    const first = sup.supervise(turn);
    await sup.until('the client works', () => sup.row(turn).usage.inputTokens === 100);
    const client = sup.row(turn).process?.pid ?? 0;
    process.kill(client, 'SIGKILL');
    await killed(first);
    await recover(sup);
    expect(expectWhole(sup, sup.story(turn.runId))).toMatchObject({ state: 'lost', result: 'hanging' });
  });
});

describe('a turn whose supervisor cannot be seen', () => {
  test('because it is in another namespace of process ids is left alone', async () => {
    const apart = ['unshare', '--map-root-user', '--pid', '--fork', '--mount-proc'];
    if (!canRun([...apart, 'true'])) return void notTested('namespaces', 'none can be made');
    await using sup = supervisorHome(RAW);
    const file = `${sup.home.path}/go`;
    const turn = sup.accept(`[[until ${file}]]`);
    const supervisor = sup.supervise(turn);
    await sup.until('the client works', () => sup.row(turn).state === 'running');
    const { owner } = sup.row(turn);
    const from = (...command: string[]) =>
      Bun.spawn([...apart, ...command], {
        env: sup.env,
        cwd: sup.home.path,
        stdio: ['ignore', 'inherit', 'inherit'],
      }).exited;
    expect(await from(process.execPath, `${import.meta.dir}/act.main.ts`, 'reconcileAndArchive')).toBe(0);
    expect(await from(BINARY, 'supervise', turn.runId, '1')).toBe(0);
    expect(sup.row(turn)).toMatchObject({ state: 'running', owner });
    // Also when nobody is known to look after it: its client is not seen from there.
    await killed(supervisor);
    withRuns(sup.home.paths, (db) => changeTurn(sup.row(turn), { owner: null }, db));
    expect(await from(BINARY, 'supervise', turn.runId, '1')).toBe(0);
    expect(sup.row(turn)).toMatchObject({ state: 'running', owner: null });
    sup.home.put('go', '');
    await sup.supervise(turn).exited;
    expect(sup.row(turn).state).toBe('success');
  });
});

describe('two supervisors of one turn', () => {
  test('are one: the second goes away', async () => {
    await using sup = supervisorHome(RAW);
    const file = `${sup.home.path}/go`;
    const turn = sup.accept(`[[note ${sup.home.path}/starts]] [[until ${file}]]`);
    const all = [1, 2, 3].map(() => sup.supervise(turn));
    await Promise.race(all.map((one) => one.exited));
    await sup.until('two are gone', () => all.filter(({ exitCode }) => exitCode === 0).length === 2);
    sup.home.put('go', '');
    await Promise.all(all.map((one) => one.exited));
    expect(expectWhole(sup, sup.story(turn.runId)).state).toBe('success');
    expect(sup.starts()).toHaveLength(1);
  });
});
