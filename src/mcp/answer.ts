import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { type Json, reasonOf } from '../core/guards.ts';
import { inertLines, inertText } from '../core/inert-text.ts';
import { redactSecrets } from '../core/redact.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { cutText } from '../core/text.ts';
import { handoverLine } from '../runs/model/handover.ts';
import { type Requester, type TurnName, turnFiles } from '../runs/model/run.ts';
import { isShown, type LogEntry } from '../runs/model/run-log.ts';
import { isoTime } from '../runs/model/stats.ts';
import { runtimeMs, type Usage } from '../runs/model/turn.ts';
import { eventView, runFacts } from '../runs/read-log.ts';
import type { RunEvent } from '../runs/store/rows.ts';
import type { RunListing } from '../runs/store/runs.ts';
import type { Refusal, RunsWorld } from '../runs/world.ts';

/** What a tool may use while it runs. */
export type ToolCall = {
  readonly world: RunsWorld;
  readonly requester: Requester;
  /** The client has given up. */
  readonly signal: AbortSignal;
  /** Tells the client that it is worth waiting. */
  readonly progress: (message: string) => void;
  /** The reply of this turn stands in the answer, so that it need not be told as well. */
  readonly holdTurn: (turn: TurnName) => void;
};

/** Ends a call with a refusal: what is wrong with it, in one line. */
export class RefusedCall extends Error {
  readonly status: Refusal['status'];

  constructor(error: string, status: Refusal['status'] = 'error') {
    super(error);
    this.status = status;
  }
}

/** The answer of an action. @throws RefusedCall when it was refused */
export function unlessRefused<T extends object>(answer: T): Exclude<T, Refusal> {
  if ('error' in answer) throw new RefusedCall(String(answer.error), (answer as unknown as Refusal).status);
  return answer as Exclude<T, Refusal>;
}

const REFUSAL_LENGTH_MAX = 2000;

/** What a tool answers: a value, or a text that is inert already, with a frame of its own. */
export type Answer = Json | string;

/** An answer as it is sent, all texts of a value inert. `news`: what waited; without a structured part then, beside which Claude Code and Codex hand on nothing. */
export function valueResult(answer: Answer, news: string | undefined): CallToolResult {
  const behind = news === undefined ? [] : [{ type: 'text' as const, text: news }];
  if (typeof answer === 'string') return { content: [{ type: 'text', text: answer }, ...behind] };
  const inert = (_key: string, one: unknown) => (typeof one === 'string' ? inertLines(one) : one);
  const value = JSON.parse(JSON.stringify(answer, inert)) as Json;
  return { content: [textBlock(value), ...behind], ...(news === undefined && { structuredContent: value }) };
}

/** The result of a call that was refused or has failed. */
export function errorResult(error: unknown): CallToolResult {
  const status = error instanceof RefusedCall ? error.status : 'error';
  return {
    content: [textBlock({ status, error: inertText(reasonOf(error), REFUSAL_LENGTH_MAX) })],
    isError: true,
  };
}

function textBlock(value: Json): { type: 'text'; text: string } {
  return { type: 'text', text: JSON.stringify(value) };
}

/** Runs and messages as the tools show them. Texts of clients are without secrets, and cannot open a frame. */

const NAME_LENGTH_MAX = 72;
const LINE_LENGTH_MAX = 1000;
const MESSAGE_LENGTH_MAX = 4000;
/** Of one answer. Clients cut, or refuse, what is much longer. */
const MESSAGES_LENGTH_MAX = 40_000;
const SCANNED_MAX = 4 * MESSAGE_LENGTH_MAX;

/** A run as `sessions_list` shows it. */
export function sessionView(listing: RunListing, paths: StatePaths) {
  const { run, turn, usage, delivery, changedAtMs } = listing;
  const { id: runId, number, agentId, client, sessionId, thinking: thinkingLevel } = run;
  const model = run.model.observed ?? run.model.resolved;
  return {
    ...{ key: run.childKey, kind: 'subagent', status: turn.state, label: labelOf(run) },
    ...{ displayName: nameOf(listing), runId, number, agentId, client, model, thinkingLevel, sessionId },
    updatedAt: isoTime(changedAtMs),
    totalTokens: tokensOf(usage),
    costUsd: usage.costUsd,
    delivery,
    archived: run.archivedAtMs !== null,
    transcriptPath: turnFiles(paths, run.id, turn.number).output,
  };
}

/** A run as `subagents list` shows it. */
export function runView(listing: RunListing, nowMs: number, queuePosition: number | undefined) {
  const { run, turn, usage, delivery } = listing;
  return {
    number: run.number,
    status: turn.state,
    label: nameOf(listing),
    runId: run.id,
    childSessionKey: run.childKey,
    client: run.client,
    runtimeMs: runtimeMs(turn, nowMs),
    totalTokens: tokensOf(usage),
    costUsd: usage.costUsd,
    ...(listing.waiting > 0 && { waitingMessages: listing.waiting }),
    ...(turn.stop === null ? {} : { stoppedBy: lineText(turn.stop.by) }),
    ...(queuePosition === undefined ? {} : { queuePosition }),
    ...(delivery === 'pending' || delivery === 'leased' ? { undelivered: true } : {}),
    ...(run.worktree === null ? {} : { worktree: run.worktree.path }),
  };
}

/** A run as `subagents info` shows it. */
export function infoView(
  listing: RunListing,
  known: { queuePosition?: number | undefined; events: readonly RunEvent[]; nowMs: number },
  paths: StatePaths,
) {
  const { run, turn } = listing;
  return {
    ...runFacts(listing, known.nowMs),
    label: labelOf(run),
    task: messageText(run.task).text,
    run: run.id,
    session: run.childKey,
    transcript: turnFiles(paths, run.id, turn.number).output,
    created: isoTime(run.createdAtMs),
    started: isoTime(turn.startedAtMs),
    ended: isoTime(turn.endedAtMs),
    archive: isoTime(run.archiveAtMs),
    archived: isoTime(run.archivedAtMs),
    error: turn.error === null ? null : lineText(turn.error),
    notes: turn.notes.map(lineText),
    model: run.model,
    thinking: run.thinking,
    deadline: isoTime(turn.deadlineAtMs),
    turn: turn.number,
    stoppedBy: turn.stop === null ? null : lineText(turn.stop.by),
    queuePosition: known.queuePosition ?? null,
    cwd: run.cwd,
    enforcementGaps: run.gaps,
    warning: run.warning === null ? null : lineText(run.warning),
    context: run.handover === null ? null : lineText(handoverLine(run.handover)),
    events: known.events.map((event) => eventView(event, lineText)),
  };
}

/** What a run is called: by its label, else by its task. */
export function nameOf({ run }: Pick<RunListing, 'run'>): string {
  return nameText(run.label ?? run.task);
}

function labelOf({ label }: RunListing['run']): string | null {
  return label === null ? null : nameText(label);
}

function nameText(text: string): string {
  return inertText(redactSecrets(cutText(text, SCANNED_MAX)), NAME_LENGTH_MAX);
}

const ROLES = { user: 'user', assistant: 'assistant', 'tool-call': 'toolCall', 'tool-result': 'toolResult' };

/** The last messages that are shown, in their order. `droppedMessages` were left out before them, `contentTruncated`: a text is not whole. */
export function messageViews(
  entries: readonly LogEntry[],
  { limit, includeTools = false }: { limit: number; includeTools?: boolean | undefined },
) {
  const shown = entries.filter((entry) => isShown(entry, includeTools));
  const messages: (Json & { readonly text: string })[] = [];
  let contentTruncated = false;
  let length = 0;
  for (const entry of shown.slice(-limit).toReversed()) {
    const { text, isCut } = messageText(entry.text);
    length += text.length;
    if (length > MESSAGES_LENGTH_MAX) break;
    contentTruncated ||= isCut;
    messages.unshift({
      role: ROLES[entry.kind],
      ...('tool' in entry && { tool: inertText(entry.tool, NAME_LENGTH_MAX) }),
      ...('isError' in entry && entry.isError && { isError: true }),
      text,
    });
  }
  return { messages, droppedMessages: shown.length - messages.length, contentTruncated };
}

/** The text of a client, or of a person, as it may stand in an answer. */
export function messageText(text: string): { readonly text: string; readonly isCut: boolean } {
  const safe = inertLines(redactSecrets(cutText(text, SCANNED_MAX)));
  const cut = cutText(safe, MESSAGE_LENGTH_MAX);
  const isCut = cut.length < safe.length || text.length > SCANNED_MAX;
  return { text: isCut ? `${cut}…` : cut, isCut };
}

/** The same for a text that belongs on one line. */
export function lineText(text: string): string {
  return inertText(redactSecrets(cutText(text, SCANNED_MAX)), LINE_LENGTH_MAX);
}

function tokensOf({ inputTokens, outputTokens }: Usage): number | null {
  return inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens;
}
