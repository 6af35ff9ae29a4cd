import type { ContinuedFact, Fact, OrchestrationOptions } from '../../src/orchestrate/model/facts.ts';
import type { Asked, Orchestration, OrchestrationState } from '../../src/orchestrate/model/state.ts';
import { type Ask, nextSteps, type Step } from '../../src/orchestrate/next-steps.ts';
import { continuation, partName, replay, turnName } from '../../src/orchestrate/replay.ts';
import type { PartRun } from '../../src/runs/store/parts.ts';
import { madeRun, madeTurn } from '../support/made-run.ts';

/** An orchestration whose effects are values: rows in memory, which replay() reads as it reads those of the database. */

export type Outcome = 'success' | 'error' | 'timeout' | 'lost' | 'stopped';

export const OPTIONS: OrchestrationOptions = {
  mode: 'pipeline',
  language: 'en',
  attempts: 3,
  permissions: [],
  team: ['ann', 'bob', 'cleo'].map((name) => ({ name, role: 'custom', description: '', agentId: name })),
};

export class Simulated {
  readonly orchestration: Orchestration;
  readonly facts: { name: string; value: unknown }[] = [];
  readonly #parts: PartRun[] = [];
  /** Each `key nth` that was asked, in order. */
  readonly asks: string[] = [];
  #position = 0;

  constructor(options: Partial<OrchestrationOptions> = {}) {
    const of = { requester: 'agent:main:app', session: null, client: null, cwd: '/home/dev/app' };
    const times = { createdAtMs: 0, endedAtMs: null };
    const own = { id: 'a1', number: 1, prompt: 'Build it as a team.', state: 'open' as const };
    this.orchestration = { ...own, ...of, ...times, options: { ...OPTIONS, ...options } };
  }

  get state(): OrchestrationState {
    return replay({ orchestration: this.orchestration, facts: this.facts, parts: this.#parts });
  }

  get steps(): readonly Step[] {
    return nextSteps(this.state);
  }

  put({ name, value }: Fact): void {
    if (this.facts.some((fact) => fact.name === name)) throw new Error(`The fact ${name} is there`);
    this.facts.push({ name, value: structuredClone(value) });
  }

  /** Does a step; `refusal`: why nothing can be asked. */
  perform(step: Step, refusal: string | null = null): void {
    if (step.kind === 'ask') this.#ask(step.ask, refusal);
    else if (step.kind === 'record') this.put(step.fact);
    else if (step.kind === 'layout')
      this.put({ name: 'layout', value: { parallel: step.parallel, reason: null, tree: 't0' } });
    else if (step.kind === 'snapshot')
      this.put({
        name: `before.${step.attempt.key}.${step.attempt.nth}`,
        value: { tree: 't', head: 'main 1' },
      });
    else if (step.kind === 'changes')
      this.put({
        name: `changes.${step.attempt.key}.${step.attempt.nth}`,
        value: { tree: 't', head: 'main 1', moved: null, files: [], patch: '', commands: [], report: null },
      });
    else if (step.kind === 'overlap') this.put({ name: `overlap.${step.round}`, value: { held: [] } });
    else if (step.kind === 'merge')
      this.put({ name: step.fact, value: { kind: 'merged', files: [], reason: null } });
    else if (step.kind === 'stop') for (const one of step.asked) this.finish(one, 'stopped');
    else if (step.kind === 'end') this.put({ name: `ended.${this.state.epoch}`, value: step.ended });
  }

  #ask({ key, nth }: Ask, refusal: string | null): void {
    this.asks.push(`${key} ${nth}`);
    if (refusal !== null) {
      this.put({ name: `refused.${key}.${nth}`, value: { error: refusal } });
      return;
    }
    const known = this.#parts.find(({ run }) => run.part.name === key || run.part.name.startsWith(`${key}.`));
    const position = ++this.#position;
    if (known !== undefined) {
      const { id: runId } = known.run;
      const number = known.turns.length + 1;
      const turn = { ...madeTurn({ runId, number, kind: 'send', name: turnName(nth) }), position };
      (known.turns as (typeof turn)[]).push(turn);
      return;
    }
    const part = { kind: 'orchestration', id: 'a1', name: partName(key, nth) } as const;
    const run = { ...madeRun({ id: String(position).padStart(32, '0') }), part };
    this.#parts.push({ run, turns: [{ ...madeTurn({ runId: run.id }), position }] });
  }

  get active(): readonly Asked[] {
    return [...this.state.asked.values()]
      .flat()
      .filter((one) => one.kind === 'turn' && one.turn.endedAtMs === null);
  }

  /** Ends a turn. */
  finish(asked: Asked, state: Outcome, result: string | null = null): void {
    if (asked.kind !== 'turn') throw new Error('That is no turn');
    const stop = { reason: 'requested', by: 'Ctrl-C', atMs: 2 } as const;
    const ending = { state, result: state === 'success' ? result : null, endedAtMs: 2 };
    Object.assign(asked.turn, ending, state === 'stopped' && { stop });
    if (state !== 'success') Object.assign(asked.turn, { error: `it ended as ${state}` });
  }

  /** As `orchestrate --continue` does. */
  goOn(): void {
    const { epoch } = this.state;
    const value: ContinuedFact = continuation(this.state);
    this.put({ name: `continued.${epoch + 1}`, value });
  }

  /** Does all steps, with this answer to each turn, until it has ended. Returns how many turns that took. */
  run(answer: (asked: Asked) => string | Outcome, limit = 500): number {
    for (let count = 0; count < limit; count++) {
      const { steps } = this;
      if (steps.length === 0) return this.asks.length;
      for (const step of steps) {
        if (step.kind !== 'wait') this.perform(step);
        else for (const one of this.active.slice(0, 1)) this.#answer(one, answer(one));
      }
    }
    throw new Error('It does not end');
  }

  #answer(asked: Asked, answer: string | Outcome): void {
    const isOutcome = ['error', 'timeout', 'lost', 'stopped'].includes(answer);
    this.finish(asked, isOutcome ? (answer as Outcome) : 'success', answer);
  }

  /** What a reviewer says of those that are being reviewed. */
  verdicts(passes: (agent: string) => boolean): string {
    const { works, verdicts } = this.state;
    const now = works.filter((work) => work.attempts.at(-1)?.round === verdicts.length + 1);
    const said = now.map(({ agent }) => ({
      agent,
      pass: passes(agent),
      evidence: 'seen',
      feedback: 'mend it',
    }));
    return `Here it is.\n${JSON.stringify({ verdicts: said, allDone: false, summary: 'It is done.' })}`;
  }
}
