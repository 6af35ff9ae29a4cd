import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Asked } from '../../src/orchestrate/model/state.ts';
import { nextSteps } from '../../src/orchestrate/next-steps.ts';
import { planText, subtask } from './scripted.ts';
import { OPTIONS, type Outcome, Simulated } from './simulated.ts';

const TEAM = planText([subtask('ann'), subtask('bob')]);
const answering =
  (here: Simulated, passes: (agent: string, round: number) => boolean, plan = TEAM) =>
  (asked: Asked) => {
    if (asked.key === 'plan') return plan;
    if (asked.key.startsWith('review.'))
      return here.verdicts((agent) => passes(agent, Number(asked.key.slice(7))));
    return 'I have done it.';
  };
const ended = (here: Simulated) => here.state.ended?.state;
const statuses = (here: Simulated) => here.state.works.map(({ agent, status }) => `${agent} ${status}`);

describe('an orchestration that goes well', () => {
  test('asks for a plan, each of the work one after the other, one review, and is done', () => {
    const here = new Simulated();
    here.run(answering(here, () => true));
    expect(here.asks).toEqual(['plan 1', 'work.ann.3 1', 'work.bob.3 1', 'review.1 1']);
    expect(here.state.ended).toMatchObject({ state: 'done' });
    expect(here.state.ended?.text).toContain('It is done.');
  });

  test('takes each piece of a five-phase profile through all five, with a review of each', () => {
    const here = new Simulated();
    const plan = planText([subtask('ann', { role: 'backend' }), subtask('bob', { role: 'docs' })]);
    here.run(answering(here, () => true, plan));
    expect(here.asks.filter((one) => one.startsWith('work.ann'))).toEqual(
      [1, 2, 3, 4, 5].map((phase) => `work.ann.${phase} 1`),
    );
    expect(here.asks.filter((one) => one.startsWith('work.bob'))).toHaveLength(3);
    expect(here.asks.filter((one) => one.startsWith('review.'))).toHaveLength(5);
    expect(ended(here)).toBe('done');
  });

  test('answers itself where the planner answers directly', () => {
    const here = new Simulated();
    here.run(() => '{"direct_answer": "It is 42.", "subtasks": []}');
    expect(here.state.ended).toEqual({ state: 'answered', text: 'It is 42.' });
  });

  test('is answered elsewhere where one agent is enough, and asks a model that before', () => {
    const here = new Simulated({ mode: 'auto' });
    Object.assign(here.orchestration, { prompt: 'Rename the function.' });
    here.run(() => '{"label": "single", "evidence": "one function", "size": "small"}');
    expect(here.asks).toEqual(['triage 1']);
    expect(here.state.triage).toMatchObject({ label: 'single', by: 'model' });
    expect(ended(here)).toBe('answered');
  });
});

describe('work that does not pass', () => {
  test('is tried again in the same phase, and those that passed are not', () => {
    const here = new Simulated();
    here.run(answering(here, (agent, round) => agent === 'ann' || round > 1));
    expect(here.asks.slice(3)).toEqual(['review.1 1', 'work.bob.3 2', 'review.2 1']);
    const [, bob] = here.state.works;
    expect(bob?.attempts.map(({ verdict }) => verdict?.feedback)).toEqual(['mend it', 'mend it']);
    expect(bob?.attempts.map(({ number }) => number)).toEqual([1, 2]);
    expect(ended(here)).toBe('done');
  });

  test('is given up after as many attempts as the phase has, and the rest is told as partial', () => {
    const here = new Simulated();
    here.run(answering(here, (agent) => agent === 'ann'));
    expect(here.asks.filter((one) => one.startsWith('work.bob'))).toHaveLength(OPTIONS.attempts);
    expect(statuses(here)).toEqual(['ann done', 'bob given up']);
    expect(ended(here)).toBe('partial');
    expect(here.state.ended?.text).toContain('bob');
  });

  test('is not reviewed when nothing was delivered: its error is the feedback', () => {
    const here = new Simulated();
    const plan = planText([subtask('ann')]);
    let tries = 0;
    here.run((asked) => {
      if (asked.key.startsWith('work.')) return ++tries === 1 ? 'lost' : 'done';
      return answering(here, () => true, plan)(asked);
    });
    expect(here.asks).toEqual(['plan 1', 'work.ann.3 1', 'work.ann.3 2', 'review.2 1']);
    expect(here.state.works[0]?.attempts[0]?.verdict).toMatchObject({
      by: 'engine',
      feedback: 'it ended as lost',
    });
  });

  test('that cannot be asked for at all is given up at once', () => {
    const here = new Simulated();
    for (let step = here.steps[0]; step !== undefined; step = here.steps[0]) {
      if (step.kind === 'wait') {
        for (const one of step.asked) here.finish(one, 'success', answering(here, () => true)(one));
      } else
        here.perform(
          step,
          step.kind === 'ask' && step.ask.key === 'work.bob.3' ? 'codex is not on the PATH' : null,
        );
    }
    expect(here.state.works[1]).toMatchObject({ status: 'given up', reason: 'codex is not on the PATH' });
    expect(ended(here)).toBe('partial');
  });
});

describe('answers that cannot be used', () => {
  test('an unknown agent in the plan is named to the planner once, with those that there are', () => {
    const here = new Simulated();
    let asked = 0;
    here.run((one) => {
      if (one.key !== 'plan') return answering(here, () => true)(one);
      return ++asked === 1 ? planText([subtask('zoe')]) : TEAM;
    });
    expect(here.asks.slice(0, 2)).toEqual(['plan 1', 'plan 2']);
    expect(ended(here)).toBe('done');
  });

  test('a planner that names it again fails, with what is wrong', () => {
    const here = new Simulated();
    here.run(() => planText([subtask('zoe')]));
    expect(here.asks).toEqual(['plan 1', 'plan 2']);
    expect(here.state.ended).toMatchObject({ state: 'failed' });
    expect(here.state.ended?.text).toContain('"zoe". There are: ann, bob, cleo');
  });

  test.each([
    ['nothing on one of them', () => '{"verdicts": [{"agent": "ann", "pass": true, "evidence": "seen"}]}'],
    [
      'a verdict on somebody else',
      () =>
        '{"verdicts": [{"agent": "ann", "pass": true, "evidence": "seen"}, {"agent": "zoe", "pass": true}]}',
    ],
    [
      'a word for true',
      () =>
        '{"verdicts": [{"agent": "ann", "pass": true, "evidence": "seen"}, {"agent": "bob", "pass": "PASS"}]}',
    ],
  ])('a reviewer that says %s is asked once more, and then that is no verdict', (_what, said) => {
    const here = new Simulated({ attempts: 1 });
    here.run((asked) => (asked.key.startsWith('review.') ? said() : answering(here, () => true)(asked)));
    expect(here.asks.slice(-2)).toEqual(['review.1 1', 'review.1 2']);
    expect(here.state.works[1]).toMatchObject({ status: 'given up', reason: 'no verdict' });
    expect(here.state.works[1]?.attempts[0]?.verdict?.by).toBe('engine');
    expect(here.state.verdicts[0]?.problems).not.toEqual([]);
  });

  test.each([
    ['fails', 'error', OPTIONS.attempts],
    ['gives no verdict at all', '3 PASS, 1 FAIL. Verdict: PASS', 2],
  ] as const)('a reviewer that %s ends it, without an attempt being lost', (_what, said, times) => {
    const here = new Simulated();
    here.run((asked) => (asked.key.startsWith('review.') ? said : answering(here, () => true)(asked)));
    expect(here.asks.filter((one) => one.startsWith('review.'))).toHaveLength(times);
    expect(here.state.ended).toMatchObject({ state: 'partial' });
    here.goOn();
    here.run(answering(here, () => true));
    expect(here.asks.filter((one) => one.startsWith('work.'))).toHaveLength(2);
    expect(ended(here)).toBe('done');
  });

  test.each([null, 'no budget'])(
    'who came to nothing before it (%p) is asked anew when it is continued',
    (refusal) => {
      const here = new Simulated({ attempts: 1 });
      let isOver = false;
      for (let count = 0; count < 100 && here.steps.length > 0; count++)
        for (const step of here.steps) {
          const isBob = step.kind === 'ask' && step.ask.key === 'work.bob.3';
          if (step.kind !== 'wait') here.perform(step, isBob && !isOver ? refusal : null);
          for (const one of here.active) {
            const fails = !isOver && (one.key === 'work.bob.3' || one.key.startsWith('review.'));
            here.finish(one, fails ? 'error' : 'success', answering(here, () => true)(one));
          }
          if (here.state.ended?.state !== 'partial' || isOver) continue;
          isOver = true;
          here.goOn();
        }
      expect(statuses(here)).toEqual(['ann done', 'bob done']);
      expect(here.asks).toEqual([
        ...['plan 1', 'work.ann.3 1', 'work.bob.3 1', 'review.1 1', 'work.bob.3 2', 'review.1 2'],
      ]);
    },
  );
});

describe('parallel work', () => {
  const BOTH = planText([
    subtask('ann', { parallel: true }),
    subtask('bob', { parallel: true }),
    subtask('cleo'),
  ]);

  test('is asked for at once, brought in when all of it has passed, and what follows waits for that', () => {
    const here = new Simulated();
    const seen: string[] = [];
    for (let steps = here.steps; steps.length > 0; steps = here.steps) {
      for (const step of steps) {
        if (step.kind === 'wait') {
          seen.push(step.asked.map(({ key }) => key).join('+'));
          for (const one of step.asked) here.finish(one, 'success', answering(here, () => true, BOTH)(one));
        } else {
          if (step.kind === 'merge' || step.kind === 'overlap') seen.push(step.kind);
          here.perform(step);
        }
      }
    }
    expect(seen).toEqual([
      ...['plan', 'work.ann.3+work.bob.3', 'review.1', 'overlap', 'merge', 'merge'],
      ...['work.cleo.3', 'review.2'],
    ]);
    expect(ended(here)).toBe('done');
  });

  test('that overlaps is not brought in, and tried again when the orchestration is continued', () => {
    const here = new Simulated();
    const plan = answering(here, () => true, BOTH);
    for (let step = here.steps[0]; step?.kind !== 'overlap' && step !== undefined; step = here.steps[0]) {
      if (step.kind !== 'wait') here.perform(step);
      else for (const one of step.asked) here.finish(one, 'success', plan(one));
    }
    const held = ['ann', 'bob'].map((agent) => ({ agent, files: ['src/a.ts'], with: ['the other'] }));
    here.put({ name: 'overlap.1', value: { held } });
    here.run(plan);
    expect(statuses(here)).toEqual(['ann given up', 'bob given up', 'cleo done']);
    expect(here.state.works[0]?.reason).toContain('src/a.ts');
    expect(here.facts.some(({ name }) => name.startsWith('merge.'))).toBe(false);
    expect(ended(here)).toBe('partial');
    here.goOn();
    here.run(plan);
    expect(here.facts.filter(({ name }) => name.startsWith('merge.'))).toHaveLength(2);
    expect(here.asks.filter((one) => one.startsWith('work.'))).toHaveLength(3);
    expect(ended(here)).toBe('done');
  });
});

describe('a stop', () => {
  test('stops what is at work and asks for nothing more; continued, nothing that was done is done again', () => {
    const here = new Simulated();
    while (here.active[0]?.key !== 'work.bob.3') {
      const [step] = here.steps;
      if (step === undefined) throw new Error('It has ended');
      if (step.kind === 'wait')
        here.finish(step.asked[0] as Asked, 'success', answering(here, () => true)(step.asked[0] as Asked));
      else here.perform(step);
    }
    here.put({ name: 'stop.0', value: { by: 'Ctrl-C' } });
    here.run(() => 'success');
    expect(here.state.ended).toEqual({ state: 'stopped', text: 'Ctrl-C' });
    here.goOn();
    here.run(answering(here, () => true));
    expect(here.asks).toEqual(['plan 1', 'work.ann.3 1', 'work.bob.3 1', 'work.bob.3 2', 'review.1 1']);
    expect(ended(here)).toBe('done');
  });

  test('of one of its turns by somebody else is a stop of all of it', () => {
    const here = new Simulated();
    here.run((asked) => (asked.key === 'work.ann.3' ? 'stopped' : answering(here, () => true)(asked)));
    expect(here.state.ended).toEqual({ state: 'stopped', text: 'Ctrl-C' });
  });
});

describe('whatever happens', () => {
  const AGENTS = ['ann', 'bob', 'cleo'];
  const subtasks = fc
    .subarray(AGENTS, { minLength: 1 })
    .chain((agents) =>
      fc.tuple(
        ...agents.map((agent) =>
          fc
            .record({ role: fc.constantFrom('custom', 'docs', 'backend'), parallel: fc.boolean() })
            .map((rest) => subtask(agent, rest)),
        ),
      ),
    );
  /** One choice for each time something has to be chosen. */
  const choices = fc.infiniteStream(fc.nat({ max: 999 }));
  const OUTCOMES: readonly Outcome[] = [
    'success',
    'success',
    'success',
    'success',
    'error',
    'timeout',
    'lost',
    'stopped',
  ];

  test('it ends, no step is asked for twice, attempts and rounds are bounded, and steps are the same for the same rows', () => {
    fc.assert(
      fc.property(subtasks, fc.boolean(), choices, (planned, isStopping, stream) => {
        const here = new Simulated();
        const next = (below: number) => Number(stream.next().value) % below;
        let continued = 0;
        for (let count = 0; ; count++) {
          if (count > 2000) throw new Error('It does not end');
          const { steps } = here;
          expect(nextSteps(here.state)).toEqual([...steps]);
          const [step] = [steps[next(Math.max(1, steps.length))]];
          if (step === undefined) {
            const end = ended(here);
            if (end === 'done' || end === 'answered' || continued++ === 3) break;
            here.goOn();
          } else if (step.kind === 'wait') {
            const asked = step.asked[next(step.asked.length)] as Asked;
            const outcome = OUTCOMES[next(isStopping ? OUTCOMES.length : OUTCOMES.length - 1)] as Outcome;
            const said = answering(here, () => next(3) > 0, planText(planned))(asked);
            here.finish(asked, outcome, next(8) === 0 ? 'no JSON at all' : said);
          } else here.perform(step, step.kind === 'ask' && next(20) === 0 ? 'refused' : null);
        }
        expect(new Set(here.asks).size).toBe(here.asks.length);
        const perPart = Map.groupBy(here.asks, (one) => one.split(' ')[0]);
        // Each time that it was continued, an attempt that was stopped counts no more.
        const most = (OPTIONS.attempts + 1) * (continued + 1) + 1;
        for (const asked of perPart.values()) expect(asked.length).toBeLessThanOrEqual(most);
        const rounds = 5 * AGENTS.length * OPTIONS.attempts * (continued + 1);
        expect(here.state.verdicts.length).toBeLessThanOrEqual(rounds);
      }),
      { numRuns: 200 },
    );
  });

  test('what was done is done, whenever it is looked at: a verdict of before is never changed by what comes later', () => {
    fc.assert(
      fc.property(subtasks, choices, (planned, stream) => {
        const here = new Simulated();
        const next = (below: number) => Number(stream.next().value) % below;
        let before: string[] = [];
        here.run((asked) => {
          const now = here.state.works.flatMap(({ agent, history }) =>
            history.map(({ round, phase, pass }) => `${agent} ${round} ${phase} ${pass}`),
          );
          for (const one of before) expect(now).toContain(one);
          before = now;
          return answering(here, () => next(3) > 0, planText(planned))(asked);
        });
        expect(['done', 'partial']).toContain(ended(here) ?? '');
      }),
      { numRuns: 100 },
    );
  });
});
