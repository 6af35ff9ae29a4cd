import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  agentStatus,
  type Profile,
  type ProfileLimits,
  profilePolicy,
} from '../../../src/runs/model/profile.ts';
import { reportedWords } from '../../../src/runs/store/outbox.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import type { NewRun } from '../../../src/runs/store/runs.ts';
import { onlyTurn, outputOf, type Story, type SupervisorHome, supervisorHome } from './supervisor-home.ts';

/** Runs that only look: their limits, and the answer that is asked for when one is reached. */

setDefaultTimeout(60_000);

const NONE: ProfileLimits = { iterations: null, tokens: null, usd: null, observationChars: null };
const explore = (limits: Partial<ProfileLimits> = {}): Partial<NewRun> => {
  const profile: Profile = { kind: 'explore', limits: { ...NONE, ...limits } };
  return { profile, policy: profilePolicy('explore', []) };
};
const report = (sup: SupervisorHome, { run }: Story) =>
  withRuns(sup.home.paths, (db) => reportedWords(run.id, 1, db)?.result);

describe('a run that only looks', () => {
  test('has its last message as its result, and no announce step, whatever the settings ask for', async () => {
    await using sup = supervisorHome({ announce: { mode: 'turn' } });
    const story = await sup.run('[[answer ANNOUNCE_SKIP]]', explore());
    expect(story.turns).toMatchObject([{ kind: 'task', state: 'success', result: 'ANNOUNCE_SKIP' }]);
    expect(story.outbox).toMatchObject([{ state: 'pending', result: 'ANNOUNCE_SKIP' }]);
    await using inline = supervisorHome({ announce: { mode: 'inline' } });
    expect((await inline.run('[[answer ANNOUNCE_SKIP]]', explore())).outbox).toMatchObject([
      { state: 'pending' },
    ]);
  });

  test('is told later as well with a mark on what it names and has not read, when it explores', async () => {
    await using sup = supervisorHome();
    const answer = 'It is in `src/tower.ts:3`.';
    const task = `[[answer-in ${sup.home.put('answer.md', answer)}]]`;
    const marked = 'It is in `src/tower.ts:3 (unverified)`.';
    const explored = await sup.run(task, explore());
    expect(explored).toMatchObject({ turns: [{ result: answer }], outbox: [{ result: marked }] });
    const planned = { profile: { kind: 'plan', limits: NONE }, policy: profilePolicy('plan', []) } as const;
    expect((await sup.run(task, planned)).outbox).toMatchObject([{ result: answer }]);
  });

  test('that fails by itself is asked for nothing more', async () => {
    await using sup = supervisorHome();
    const story = await sup.run('[[error-result 1]]', explore());
    expect(story.turns).toMatchObject([{ state: 'error', error: 'the service is overloaded' }]);
    expect(agentStatus(onlyTurn(story))).toBe('failed');
  });

  const limited: [what: string, task: string, changes: Partial<NewRun>, turn: object][] = [
    [
      'calls tools too often',
      '[[calls 4 10]] [[hang]]',
      explore({ iterations: 3 }),
      {
        state: 'error',
        stop: { reason: 'limit', by: 'limit reached: 3 calls of tools one after the other' },
      },
    ],
    [
      'is answered too much by its tools',
      '[[calls 2 500]] [[hang]]',
      explore({ observationChars: 1000 }),
      {
        state: 'error',
        stop: { reason: 'limit', by: 'limit reached: 1000 characters of what its tools answered' },
      },
    ],
    [
      'takes too many tokens',
      '[[messages 3]] [[hang]]',
      explore({ tokens: 300 }),
      { state: 'error', stop: { reason: 'limit', by: 'limit reached: 300 tokens' } },
    ],
    [
      'takes too long',
      '[[hang]]',
      { ...explore(), runTimeoutMs: 700 },
      { state: 'timeout', stop: { reason: 'timeout' } },
    ],
  ];
  test.each(limited)(
    'that %s is ended, and gives what it has in one last answer',
    async (_, task, run, turn) => {
      await using sup = supervisorHome({ language: 'en', announce: { mode: 'raw', timeoutSeconds: 1 } });
      const story = await sup.run(`${task} [[announce slow]]`, run);
      const step = { kind: 'announce', announces: 1, state: 'success', result: 'as far as it came' };
      expect(story.turns).toMatchObject([{ kind: 'task', ...turn }, step]);
      expect(agentStatus(onlyTurn(story))).toBe('incomplete');
      expect(report(sup, story)).toBe('as far as it came');
      expect(story.outbox).toMatchObject([{ state: 'pending', result: 'as far as it came' }]);
      expect(Number(story.outbox[0]?.ready_at)).toBeLessThanOrEqual(Date.now());
      const { stop } = onlyTurn(story);
      expect(story.turns[1]?.message).toStartWith(
        `Sub-agent last answer.\n\nYour work was ended (${stop?.by}). `,
      );
      const [session] = story.turns.map((one) => /"session_id":"([^"]+)"/.exec(outputOf(sup, one))?.[1]);
      expect(session).toBe(story.run.sessionId ?? '');
      expect(sup.processes(story.run.id)).toEqual([]);
    },
  );

  test('that says nothing for too long, or has no budget left, is asked all the same', async () => {
    const settings = { agents: { defaults: { subagents: { idleTimeoutSeconds: 1 } } } };
    await using silent = supervisorHome(settings);
    const story = await silent.run('[[hang]]', explore());
    expect(onlyTurn(story).stop?.reason).toBe('idle');
    expect(report(silent, story)).toBe('as far as it came');
    await using poor = supervisorHome({ budget: { run: { tokens: 200, usd: 1 } } });
    const broke = await poor.run('[[messages 3]] [[hang]] [[announce slow]]', explore());
    expect(onlyTurn(broke).stop?.reason).toBe('budget');
    expect(report(poor, broke)).toBe('as far as it came');
  });

  test('whose client ends with an error beyond a limit is ended by the limit: it may keep to it by itself', async () => {
    await using sup = supervisorHome();
    const story = await sup.run('[[messages 3]] [[error-result 1]]', explore({ tokens: 250 }));
    expect(onlyTurn(story)).toMatchObject({ state: 'error', stop: { reason: 'limit' } });
    expect(report(sup, story)).toBe('as far as it came');
  });

  test('that keeps within its limits is not ended by them', async () => {
    await using sup = supervisorHome();
    const within = explore({ iterations: 3, observationChars: 1000, tokens: 10_000, usd: 5 });
    const story = await sup.run('[[calls 3 100]] [[answer found]]', within);
    expect(story.turns).toMatchObject([{ state: 'success', result: 'found', stop: null }]);
  });

  test('whose last answer fails keeps what it had said, and stays incomplete', async () => {
    await using sup = supervisorHome();
    const story = await sup.run('[[calls 2 1]] [[hang]] [[announce fail]]', explore({ iterations: 1 }));
    expect(story.turns).toMatchObject([{ state: 'error' }, { kind: 'announce', state: 'error' }]);
    expect(agentStatus(onlyTurn(story))).toBe('incomplete');
    expect(report(sup, story)).toBeUndefined();
    expect(story.outbox).toMatchObject([{ state: 'pending', status: 'error' }]);
  });

  test('has a last answer as a whole, with whatever headings and however long', async () => {
    await using sup = supervisorHome();
    const long = `Result: one\nNotes: two\n${'x'.repeat(9000)}`;
    sup.home.put('last.txt', long);
    const task = `[[calls 2 1]] [[hang]] [[announce says ${sup.home.path}/last.txt]]`;
    const story = await sup.run(task, explore({ iterations: 1 }));
    expect(report(sup, story)).toBe(long);
  });

  test('that is stopped is asked for nothing more, and is cancelled', async () => {
    await using sup = supervisorHome();
    const turn = sup.accept('[[hang]]', explore());
    const supervisor = sup.supervise(turn);
    await sup.until('it runs', () => sup.row(turn).state === 'running');
    sup.stop(turn.runId);
    await supervisor.exited;
    const story = sup.story(turn.runId);
    expect(story.turns).toHaveLength(1);
    expect(agentStatus(onlyTurn(story))).toBe('cancelled');
    expect(sup.processes(turn.runId)).toEqual([]);
  });
});
