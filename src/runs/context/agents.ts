import { randomUUID } from 'node:crypto';
import { inertLines, inertText } from '../../core/inert-text.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cutText } from '../../core/text.ts';
import { realPath, writeFileAtomic } from '../../system/atomic-file.ts';
import type { Handover } from '../model/handover.ts';
import { type AgentKind, type AgentStatus, agentStatus } from '../model/profile.ts';
import { type Requester, type Run, type RunWithTurn, runDirectory, type TurnName } from '../model/run.ts';
import { endReason, isTerminal, runtimeMs, type Turn } from '../model/turn.ts';
import { readLog } from '../read-log.ts';
import { sendToRun } from '../send.ts';
import { requestOf, spawnRun } from '../spawn.ts';
import type { SpawnRequest } from '../spawn-plan.ts';
import { stopRuns, type WaitOptions, waitForRuns } from '../stop.ts';
import { reportedWords } from '../store/outbox.ts';
import { readRuns } from '../store/rows.ts';
import { getRun } from '../store/runs.ts';
import type { Refusal, RunsWorld } from '../world.ts';
import type { SeenFile } from './evidence.ts';
import { type ActionPlan, directPlan, planSteps, readActionPlan, refinePrompt } from './plan.ts';
import { readEvidence, verified } from './run-evidence.ts';

/**
 * Agents that explore and plan (seed 001: SubAgent, ExploreAgent, PlanAgent). Each call is a background run with a
 * profile: it knows what it is handed, and hands back a result.
 */

/** What an agent works with. */
export type AgentSetting = {
  readonly world: RunsWorld;
  readonly requester: Requester;
  /** Client, model, limits, hand-over and the like. */
  readonly request: Omit<SpawnRequest, 'task' | 'profile' | 'idempotencyKey'>;
  /** Until when a call waits, in milliseconds since 1970; null: until its end. */
  readonly untilMs: number | null;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Who stops the run when the wait is ended so; without one it goes on. */
  readonly stoppedBy?: string;
  readonly onProgress?: WaitOptions['onProgress'];
  /** A run, or a turn of it, was asked for. */
  readonly onStart?: (turn: TurnName) => void;
};

export type AgentMessage = { readonly role: 'user' | 'assistant'; readonly content: string };
export type AgentToolCall = {
  readonly tool: string;
  readonly args: string;
  readonly result: string;
  readonly isError: boolean;
};
/** What is told an agent beside its task; `task` is left out (R16, R17). */
export type AgentContext = Readonly<Record<string, unknown>>;

export type SubAgentResult = {
  /** `pending`, `planning` or `running`: the wait ended before the run did. */
  readonly status: AgentStatus;
  /** Without secrets; of an incomplete one what it had found. */
  readonly output: string;
  readonly actionPlan: ActionPlan | null;
  readonly artifacts: ExploreArtifacts | PlanArtifacts;
  readonly contextUpdates: Readonly<Record<string, string | number | readonly string[]>>;
  readonly toolCalls: readonly AgentToolCall[];
  readonly errors: readonly string[];
  readonly executionTimeMs: number;
  readonly tokenUsage: {
    readonly input: number | null;
    readonly output: number | null;
    readonly costUsd: number | null;
  };
  /** Null where none was started. */
  readonly run: AgentRun | null;
  /** Why none was. */
  readonly refusal: Refusal | null;
};

type AgentRun = TurnName & {
  readonly number: number;
  readonly cwd: string;
  /** What there was to say when it was started. */
  readonly warning: string | null;
};
type ExploreArtifacts = {
  readonly filesRead: readonly SeenFile[];
  readonly toolCallsCount: number;
  /** How many files. */
  readonly explorationDepth: number;
};
type PlanArtifacts = {
  readonly planGenerated: boolean;
  readonly filesRead: readonly SeenFile[];
  readonly toolCallsCount: number;
};

const SUMMARY_LENGTH_MAX = 500;
const CALL_LENGTH_MAX = 500;
const CALLS_KEPT_MAX = 200;
const CONTEXT_ITEMS_MAX = 5;
const STEPS_MAX = 5;
const STEP_LENGTH_MAX = 100;

/** An agent on its own: nothing of a call reaches the next one, nor the caller but its result (R1–R4). */
export abstract class SubAgent {
  readonly name: string;
  /** What was said in the last call. */
  _messages: readonly AgentMessage[] = [];
  _status: AgentStatus = 'pending';
  _action_plan: ActionPlan | null = null;
  _tool_calls: readonly AgentToolCall[] = [];
  protected abstract readonly kind: AgentKind;
  protected readonly setting: AgentSetting;
  /** The run of the last call. */
  protected turn: TurnName | null = null;

  constructor(name: string, setting: AgentSetting) {
    this.name = name;
    this.setting = setting;
  }

  /** Starts a run for the task and waits for its result. What fails is a result, too. */
  run(task: string, context: AgentContext = {}): Promise<SubAgentResult> {
    return this.start(task, contextText(context));
  }

  protected start(task: string, context: string, request = this.setting.request): Promise<SubAgentResult> {
    const { world, requester } = this.setting;
    const handover = withText(request.handover, context);
    // Each call is a run of its own, also of the same words.
    const own = { profile: this.kind, handover, idempotencyKey: randomUUID() };
    const asked = { ...request, task, ...own };
    return this.perform(task, () => {
      const answer = spawnRun(asked, requester, world);
      return answer.status === 'accepted' ? { runId: answer.runId, turn: 1 } : answer;
    });
  }

  protected async perform(task: string, begin: () => TurnName | Refusal): Promise<SubAgentResult> {
    this.#reset();
    if (this.setting.signal?.aborted)
      return this.#failed({ status: 'error', error: 'cancelled' }, 'cancelled');
    const begun = begin();
    if ('status' in begun) return this.#failed(begun);
    this.turn = begun;
    this.setting.onStart?.(begun);
    const found = await this.#awaited(begun);
    if (found === undefined) return this.#failed({ status: 'error', error: 'the run is gone' });
    const { run, turn } = found;
    const { calls, files } = this.#done(found);
    this._tool_calls = calls;
    this._messages = isTerminal(turn.state) ? messagesOf(run, this.setting.world) : [];
    this._status = agentStatus(turn);
    const said = saidIn(turn, this.setting.world);
    const hasOutput = this._status === 'completed' || this._status === 'incomplete';
    const output = hasOutput ? this.finish(redactSecrets(said), files, run) : '';
    this._action_plan = this.actionPlan(redactSecrets(task), output);
    return {
      status: this._status,
      output,
      actionPlan: this._action_plan,
      ...this.outcome(output, files, calls.length),
      toolCalls: [...calls],
      errors: errorsOf(turn, this._status),
      executionTimeMs: runtimeMs(turn, this.setting.world.now().getTime()) ?? 0,
      tokenUsage: {
        input: turn.usage.inputTokens,
        output: turn.usage.outputTokens,
        costUsd: turn.usage.costUsd,
      },
      run: { ...begun, number: run.number, cwd: realPath(run.cwd), warning: run.warning },
      refusal: null,
    };
  }

  #reset(): void {
    this._messages = [];
    this._tool_calls = [];
    this._action_plan = null;
    this._status = 'planning';
  }

  #failed(refusal: Refusal, status: 'failed' | 'cancelled' = 'failed'): SubAgentResult {
    this._status = status;
    const nothing = { output: '', actionPlan: null, toolCalls: [], executionTimeMs: 0, run: null, refusal };
    const tokenUsage = { input: null, output: null, costUsd: null };
    return { status, ...nothing, ...this.outcome('', [], 0), errors: [refusal.error], tokenUsage };
  }

  /** The turn when it has ended, or as it stands when the wait is over. */
  async #awaited(name: TurnName): Promise<RunWithTurn | undefined> {
    const { world, requester, untilMs, signal, stoppedBy } = this.setting;
    const timeoutMs = untilMs === null ? null : Math.max(0, untilMs - world.now().getTime());
    const onProgress = (runs: readonly RunWithTurn[]) => {
      const [one] = runs;
      if (one !== undefined) this._status = agentStatus(one.turn);
      this.setting.onProgress?.(runs);
    };
    const patience = { timeoutMs, untilAnnounced: true, onProgress, ...(signal && { signal }) };
    const answer = await waitForRuns([name], patience, world);
    if (answer.kind === 'ended' || stoppedBy === undefined || !signal?.aborted) return answer.runs[0];
    await stopRuns({ kind: 'run', runId: name.runId }, requester, stoppedBy, world);
    return (await waitForRuns([name], { timeoutMs: 0 }, world)).runs[0];
  }

  /** The calls of this turn, and what the run has read in it and before. */
  #done({ run, turn }: RunWithTurn) {
    const calls: AgentToolCall[] = [];
    const open = new Map<string, { tool: string; args: string }>();
    const files = readEvidence(run, turn.number, this.setting.world, (event) => {
      if (calls.length >= CALLS_KEPT_MAX) return;
      if (event.kind === 'tool-call')
        open.set(event.id, { tool: event.tool, args: shortText(JSON.stringify(event.input)) });
      const call = open.get(event.id);
      if (event.kind === 'tool-result' && call !== undefined && open.delete(event.id))
        calls.push({ ...call, result: shortText(event.text), isError: event.isError });
    });
    return { calls, files };
  }

  /** What was said, as its reader is given it. */
  protected abstract finish(said: string, files: readonly SeenFile[], run: Run): string;
  protected abstract actionPlan(task: string, output: string): ActionPlan | null;
  protected abstract outcome(
    output: string,
    files: readonly SeenFile[],
    calls: number,
  ): Pick<SubAgentResult, 'artifacts' | 'contextUpdates'>;
}

/** Looks, and answers one question; each file that it names and has not read is marked (R15, R20). */
export class ExploreAgent extends SubAgent {
  protected readonly kind = 'explore';

  protected finish(said: string, files: readonly SeenFile[], run: Run): string {
    return verified(said, files, run);
  }

  protected actionPlan(task: string): ActionPlan {
    return directPlan(task);
  }

  protected outcome(output: string, filesRead: readonly SeenFile[], toolCallsCount: number) {
    return {
      artifacts: { filesRead, toolCallsCount, explorationDepth: filesRead.length },
      contextUpdates: {
        explorationSummary: cutText(output, SUMMARY_LENGTH_MAX),
        filesExamined: filesRead.map(({ path }) => path),
        agentType: 'explore',
      },
    };
  }
}

/** Writes a plan and changes it by what is said of it; may have something explored, and nothing else (R8, R9, R21). */
export class PlanAgent extends SubAgent {
  protected readonly kind = 'plan';

  draftPlan(task: string, context = ''): Promise<SubAgentResult> {
    return this.start(task, context);
  }

  /** Goes on with the run of an earlier draft. */
  resume(turn: TurnName): this {
    this.turn = turn;
    return this;
  }

  /** The plan anew, by a message to its run; by one more like it, with the context, where that can no longer be asked. */
  refine(
    feedback: string,
    plan: string,
    context = '',
    lacking: readonly string[] = [],
  ): Promise<SubAgentResult> {
    const { world, requester } = this.setting;
    const message = refinePrompt(feedback, plan, lacking);
    const run = this.turn === null ? undefined : readRun(this.turn.runId, world);
    if (run === undefined) return this.start(message, context);
    const { id: runId, archivedAtMs, sessionId } = run;
    if (archivedAtMs !== null || sessionId === null) return this.start(message, context, requestOf(run));
    return this.perform(feedback, () => {
      const answer = sendToRun(runId, message, requester, world);
      return answer.status === 'accepted' ? { runId, turn: answer.turn } : answer;
    });
  }

  /** The result string of an exploration (R15, R22, R23). */
  async spawnExplore(query: string): Promise<string> {
    const agent = new ExploreAgent('explore', this.setting);
    return resultString('explore', await agent.run(query, { task: query }), this.setting.world);
  }

  /** The one tool that it has (R21). */
  async executeTool(name: string, args: { readonly query?: unknown }): Promise<string> {
    if (name !== 'spawn_explore')
      return `Error: Tool '${inertText(name, 80)}' not allowed for PlanAgent. Only 'spawn_explore' is permitted.`;
    const query = typeof args.query === 'string' ? args.query.trim() : '';
    if (query === '') return 'Error: spawn_explore requires a non-empty query argument';
    try {
      return await this.spawnExplore(query);
    } catch (error) {
      return `Error: spawn_explore failed: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  protected finish(said: string): string {
    return said.trim();
  }

  protected actionPlan(task: string, output: string): ActionPlan | null {
    return output === '' ? null : readActionPlan(task, output);
  }

  protected outcome(output: string, filesRead: readonly SeenFile[], toolCallsCount: number) {
    const steps = planSteps(output).slice(0, STEPS_MAX);
    return {
      artifacts: { planGenerated: output !== '', filesRead, toolCallsCount },
      contextUpdates: {
        planSummary: cutText(output, SUMMARY_LENGTH_MAX),
        plannedSteps: steps.map((step) => cutText(step, STEP_LENGTH_MAX)),
        agentType: 'plan',
      },
    };
  }
}

/** Whether the run has ended, and not only the wait for it. */
export function isOver({ status }: SubAgentResult): boolean {
  return !['pending', 'planning', 'running'].includes(status);
}

const TITLES = { explore: 'EXPLORATION RESULTS', plan: 'IMPLEMENTATION PLAN' } as const;
const FAILURES = { explore: 'Exploration failed', plan: 'Planning failed' } as const;
const END = '===========================';
/** Of what a parent is given. */
export const RESULT_LENGTH_MAX = 8000;

/**
 * What the parent is told of a result (R22–R24), at most RESULT_LENGTH_MAX characters; what is longer stands as a whole in
 * the run's directory. @throws Error when that cannot be written
 */
export function resultString(
  kind: AgentKind,
  result: SubAgentResult,
  { paths }: Pick<RunsWorld, 'paths'>,
): string {
  const { status, output, errors, run } = result;
  if ((status !== 'completed' && status !== 'incomplete') || output === '')
    return cutText(`${FAILURES[kind]}: ${errors.join('; ')}`, RESULT_LENGTH_MAX);
  const note = status === 'incomplete' ? `(incomplete: ${errors.join('; ')})\n` : '';
  const around = (text: string) => `=== ${TITLES[kind]} ===\n${text}\n${END}`;
  const whole = around(note + output);
  if (whole.length <= RESULT_LENGTH_MAX || run === null) return cutText(whole, RESULT_LENGTH_MAX);
  const path = `${runDirectory(paths, run.runId)}/answer-${run.turn}.md`;
  writeFileAtomic(path, `${output}\n`, { mode: 0o600 });
  const rest = (left: number) => `\n... [truncated ${left} chars]\nThe whole answer: ${path}`;
  const room = RESULT_LENGTH_MAX - around(note + rest(output.length)).length;
  const cut = cutText(output, Math.max(0, room));
  return around(note + cut + rest(output.length - cut.length));
}

/** `- key: value` of all but the task, of lists the first five (R17); empty when there is nothing. */
export function contextText(context: AgentContext): string {
  const lines = Object.entries(context).flatMap(([key, value]) => {
    if (key === 'task' || value === undefined || value === null || value === '') return [];
    const shown = Array.isArray(value) ? value.slice(0, CONTEXT_ITEMS_MAX).join(', ') : String(value);
    return [`- ${inertText(key, 80)}: ${inertLines(redactSecrets(shown))}`];
  });
  return lines.length === 0 ? '' : ['[Context]', ...lines].join('\n');
}

const NOTHING_HANDED: Handover['report'] = {
  ...{ mode: 'none', messagesIn: 0, charsIn: 0, charsOut: 0, truncated: false, degraded: false },
  ...{ session: null, warnings: [] },
};

/** The hand-over with this before it. */
export function withText(handover: Handover | undefined, text: string): Handover | undefined {
  if (text === '') return handover;
  const { text: before = '', report = NOTHING_HANDED } = handover ?? {};
  const whole = before === '' ? text : `${text}\n\n${before}`;
  return { text: whole, report: { ...report, charsOut: whole.length } };
}

function readRun(runId: string, { paths }: RunsWorld): Run | undefined {
  return readRuns(paths, (db) => getRun(runId, db)?.run);
}

function shortText(text: string): string {
  return cutText(redactSecrets(cutText(text, 4 * CALL_LENGTH_MAX)), CALL_LENGTH_MAX);
}

function messagesOf(run: Run, world: RunsWorld): AgentMessage[] {
  return readLog(run, world).flatMap(({ kind, text }) =>
    kind === 'user' || kind === 'assistant' ? [{ role: kind, content: redactSecrets(text) }] : [],
  );
}

/** The answer; of a turn that reached a limit the partial one that was asked for then. */
export function saidIn(turn: Turn, { paths }: RunsWorld): string {
  const report = turn.stop && readRuns(paths, (db) => reportedWords(turn.runId, turn.number, db));
  return report?.result ?? turn.result ?? '';
}

function errorsOf(turn: Turn, status: AgentStatus): string[] {
  if (status === 'completed') return [];
  if (!isTerminal(turn.state)) return [`it is still ${turn.state}`];
  return [redactSecrets(endReason(turn) ?? 'the answer is empty')];
}
