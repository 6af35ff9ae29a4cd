import type { Sqlite } from '../database/sqlite.ts';
import type { RunWithTurn } from '../runs/model/run.ts';
import { isTerminal } from '../runs/model/turn.ts';
import { reconcile } from '../runs/reconcile.ts';
import { waitForRuns } from '../runs/stop.ts';
import { clearOwner } from '../runs/store/queue.ts';
import { openRunsDb, readRuns, withRuns } from '../runs/store/rows.ts';
import { checkpoint, orLogged, type Refusal, type RunsWorld } from '../runs/world.ts';
import { identityNow, type ProcessIdentity } from '../system/process-identity.ts';
import type { Asked, Orchestration, OrchestrationState } from './model/state.ts';
import { nextSteps, type Step } from './next-steps.ts';
import { type Performing, perform } from './perform.ts';
import { continuation, replay } from './replay.ts';
import {
  claimOwner,
  insertOrchestration,
  type NewOrchestration,
  orchestrationAtWork,
  putFact,
  reopenOrchestration,
  storedOrchestration,
} from './store.ts';

/** Carries an orchestration on, from wherever it is: what is stored says what comes next. */

export type EngineOptions = {
  /** Stops the orchestration. */
  readonly signal?: AbortSignal;
  /** Leaves it, so that it may be continued; what is at work goes on. */
  readonly leave?: AbortSignal;
  /** Who stops it, in a word. */
  readonly stoppedBy?: string;
  /** Called with each new state, a moment later; also while others work, when anything has changed. */
  readonly onState?: (state: OrchestrationState) => void;
  /**
   * Where one agent is enough: hands the prompt to it, or answers why it cannot; then the orchestration has failed. Called
   * once more when this process dies at the wrong moment, so that the same has to be the same message.
   */
  readonly onSingle?: (state: OrchestrationState) => string | undefined;
};

/** How often it is looked whether a turn has ended; one look is one cheap question to the database. */
const LOOK_MS = 10;
/** After so long a state is told. */
const TELL_MS = 30;

/** How one stands; undefined: there is none. */
export function readOrchestration(
  id: string,
  { paths }: Pick<RunsWorld, 'paths'>,
): OrchestrationState | undefined {
  const stored = readRuns(paths, (db) => storedOrchestration(id, db));
  return stored && replay(stored);
}

/** Writes a new orchestration down, for carryOn(); or refuses while another one of the project is carried on. */
export function beginOrchestration(
  one: NewOrchestration,
  { paths, now }: RunsWorld,
): OrchestrationState | Refusal {
  return withRuns(paths, (db) =>
    db.transaction(() => {
      const other = orchestrationAtWork(one.requester, db);
      if (other !== undefined) return atWork(other.number);
      const orchestration = insertOrchestration(one, now().getTime(), db);
      return replay({ orchestration, facts: [], parts: [] });
    }),
  );
}

function atWork(number: number): Refusal {
  const error = `orchestration ${number} of this project is at work: wait for it, or stop it with Ctrl-C where it runs`;
  return { status: 'error', error };
}

/**
 * Does what is next until it has ended, and returns how. One that had ended or was stopped goes on: what was asked before
 * counts no more. Refused while another process carries on one of the project.
 */
export async function carryOn(
  id: string,
  options: EngineOptions,
  world: RunsWorld,
): Promise<OrchestrationState | Refusal> {
  const { paths, now } = world;
  const own = identityNow(process.pid);
  const claimed = withRuns(paths, (db) => db.transaction(() => claim(id, own, now().getTime(), db)));
  if ('status' in claimed) return claimed;
  // One connection for all of it; and as long as it is open, no other one has to clean up when it is closed.
  const db = openRunsDb(paths);
  try {
    return await untilEnded(id, options, { ...world, db });
  } finally {
    clearOwner({ id, owner: own }, db);
    db.close();
    reconcile(world); // What was said to the conversation meanwhile begins.
  }
}

function claim(id: string, own: ProcessIdentity, nowMs: number, db: Sqlite): Orchestration | Refusal {
  const stored = storedOrchestration(id, db);
  if (stored === undefined) return { status: 'error', error: `there is no orchestration "${id}"` };
  const { orchestration } = stored;
  const other = claimOwner(id, orchestration.requester, own, db);
  if (other !== undefined) return atWork(other.number);
  const state = replay(stored);
  if (state.ended !== null || state.stop !== null) {
    const fact = { name: `continued.${state.epoch + 1}`, value: continuation(state) } as const;
    reopenOrchestration(id, fact, nowMs, db);
  }
  return orchestration;
}

async function untilEnded(
  id: string,
  options: EngineOptions,
  world: Performing,
): Promise<OrchestrationState> {
  const { signal, leave, stoppedBy = 'Ctrl-C', onState = () => {}, onSingle } = options;
  const { db } = world;
  const read = () => {
    const stored = storedOrchestration(id, db);
    if (stored === undefined) throw new Error(`Cannot carry on orchestration "${id}": its row is gone`);
    return replay(stored);
  };
  const { tell, flush } = teller((state) => orLogged('', world.paths, () => onState(state)));
  try {
    for (;;) {
      const state = read();
      const steps = nextSteps(state);
      tell(state);
      if (steps.length === 0 || leave?.aborted) return state;
      if (signal?.aborted && state.stop === null && steps.some(({ kind }) => kind !== 'end')) {
        const fact = { name: `stop.${state.epoch}`, value: { by: stoppedBy } } as const;
        putFact(id, fact, world.now().getTime(), db);
        continue;
      }
      let isWaiting = true;
      for (const step of steps) {
        if (step.kind === 'wait') continue;
        const isSingle =
          step.kind === 'end' && step.ended.state === 'answered' && state.triage?.label !== 'team';
        const problem = isSingle ? onSingle?.(state) : undefined;
        const failed = problem === undefined ? null : ({ state: 'failed', text: problem } as const);
        await perform(failed === null ? step : { kind: 'end', ended: failed }, state, world);
        isWaiting = false;
        checkpoint(stepName(step), world.env);
      }
      const asked = steps.flatMap((step) => (step.kind === 'wait' ? step.asked : []));
      // A stop that is asked for is not waited for by another one.
      const signals = [leave, state.stop === null ? signal : undefined].filter((one) => one !== undefined);
      if (isWaiting) await untilOneEnds(asked, signals, () => tell(read()), world);
    }
  } finally {
    flush();
  }
}

/** Hands states on a moment later, in their order: the work does not wait for who only looks. */
function teller(onState: (state: OrchestrationState) => void) {
  let waiting: OrchestrationState[] = [];
  let timer: Timer | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const states = waiting;
    waiting = [];
    states.forEach(onState);
  };
  const tell = (state: OrchestrationState) => {
    waiting.push(state);
    timer ??= setTimeout(flush, TELL_MS);
  };
  return { tell, flush };
}

/** The place at which a test kills the process: `orchestrate ask plan 1`, `orchestrate record verdict.1`. */
function stepName(step: Step): string {
  const asked = step.kind === 'ask' ? `${step.ask.key} ${step.ask.nth}` : '';
  return `orchestrate ${step.kind} ${step.kind === 'record' ? step.fact.name : asked}`.trim();
}

/** Resolves when one of these turns has ended, or the wait is aborted; reconciles meanwhile. */
async function untilOneEnds(
  asked: readonly Asked[],
  signals: readonly AbortSignal[],
  onChange: () => void,
  world: RunsWorld,
): Promise<void> {
  const ended = new AbortController();
  const names = asked.flatMap((one) =>
    one.kind === 'turn' ? [{ runId: one.run.id, turn: one.turn.number }] : [],
  );
  const signal = AbortSignal.any([ended.signal, ...signals]);
  const patience = { timeoutMs: null, signal, lookMs: LOOK_MS };
  const onProgress = (runs: readonly RunWithTurn[]) => {
    if (runs.some(({ turn }) => isTerminal(turn.state))) ended.abort();
    else onChange();
  };
  await waitForRuns(names, { ...patience, onProgress }, world);
}
