import pc from 'picocolors';
import { formatAge, isoTime, ordinal } from '../../core/runs/durations.ts';
import type { Run } from '../../core/runs/run.ts';
import { formatCount, formatDuration, formatUsd } from '../../core/runs/stats-line.ts';
import { isTerminal, runtimeMs, type Turn } from '../../core/runs/turn.ts';
import type { Usage } from '../../core/runs/usage.ts';
import { queuePosition } from '../../store/runs/lane.ts';
import { waitingAnnouncements } from '../../store/runs/outbox.ts';
import { type RunEvent, runEvents } from '../../store/runs/run-events.ts';
import type { RunListing } from '../../store/runs/runs.ts';
import { readRuns } from '../../store/runs/runs-db.ts';
import { turnsOf } from '../../store/runs/turns.ts';
import { printJson } from '../visible.ts';
import {
  hidesFailure,
  keepsWorktree,
  nameOf,
  runJson,
  safeLine,
  safeText,
  stateWords,
  transcriptPath,
  visibleLine,
} from './run-words.ts';
import { complainUsage, findRun, type JsonFlag, type RunsHere } from './runs-here.ts';
import { endReason } from './wait.ts';

const EVENTS_MAX = 5;

type Known = ReturnType<typeof readKnown>;

/** `subagents info`: what is known of one run. */
export async function info(here: RunsHere, _flags: JsonFlag, target?: string): Promise<void> {
  if (target === undefined) return complainUsage('info <id|#>', here);
  const listing = findRun(target, here);
  if (listing === undefined) return;
  const known = readKnown(listing, here);
  if (here.isJson) printInfo(known, here);
  else here.context.stdout(infoText(known, here));
}

/** All that is known of a run. `attempts`: how often its announcement was handed out; null when none waits. */
function readKnown(listing: RunListing, { world, requester }: RunsHere) {
  const { run, turn } = listing;
  const stored = readRuns(world.paths, (db) => {
    const waiting = waitingAnnouncements(requester.key, db).filter(({ runId }) => runId === run.id);
    return {
      turns: turnsOf(run.id, db),
      queuePosition: queuePosition(run.id, db),
      attempts: waiting[0]?.attempts ?? null,
      events: runEvents(run.id, EVENTS_MAX, db),
    };
  });
  const nothing = { turns: [], queuePosition: undefined, attempts: null, events: [] };
  return { listing, transcript: transcriptPath(world.paths, run.id, turn.number), ...(stored ?? nothing) };
}

function printInfo(known: Known, { context }: RunsHere): void {
  const { listing, queuePosition, attempts, events, transcript, turns } = known;
  const { run, turn } = listing;
  const outcome = isTerminal(turn.state) ? { status: turn.state, error: turn.error } : null;
  printJson(
    {
      ...runJson(listing, { queuePosition, nowMs: context.now().getTime() }),
      transcriptPath: transcript,
      outcome,
      result: turn.result,
      notes: turn.notes,
      warning: safeText(run.warning),
      model: run.model,
      thinking: run.thinking,
      runTimeoutSeconds: run.runTimeoutMs / 1000,
      deadlineAt: isoTime(turn.deadlineAtMs),
      process: turn.process,
      supervisor: turn.owner,
      stop: turn.stop,
      deliveryAttempts: attempts,
      cwd: run.cwd,
      permissions: run.permissions,
      enforcementGaps: run.gaps,
      turns: turns.map(({ number, kind, state, error, stop, startedAtMs, endedAtMs, usage }) => ({
        number,
        kind,
        state,
        error,
        stop,
        startedAt: isoTime(startedAtMs),
        endedAt: isoTime(endedAtMs),
        usage,
      })),
      events: events.map(({ atMs, actor, type, detail }) => ({
        at: isoTime(atMs),
        actor,
        type,
        detail: safeText(detail),
      })),
    },
    context,
  );
}

function infoText(known: Known, { context }: RunsHere): string {
  const { bold, dim } = pc.createColors(context.colour);
  const nowMs = context.now().getTime();
  const rows = [...seedRows(known, nowMs), ...furtherRows(known)];
  return [
    bold('ℹ️ Subagent info'),
    ...rows.map(([label, value]) => `${label}: ${value}`),
    ...eventLines(known.events).map(dim),
    '',
  ].join('\n');
}

type Row = readonly [label: string, value: string];

function seedRows({ listing, queuePosition, transcript, turns }: Known, nowMs: number): Row[] {
  const { run, turn } = listing;
  const time = (ms: number | null) =>
    ms === null ? 'n/a' : `${new Date(ms).toISOString()} (${formatAge(nowMs - ms)})`;
  return [
    ['Status', `${stateWords(listing, queuePosition)}${hidesFailure(listing) ? ' (announce skipped)' : ''}`],
    ['Label', nameOf(run)],
    ['Task', safeLine(run.task)],
    ['Run', run.id],
    ['Session', visibleLine(run.childKey)],
    ['SessionId', run.sessionId === null ? 'n/a' : visibleLine(run.sessionId)],
    ['Transcript', visibleLine(transcript)],
    ['Runtime', formatDuration(runtimeMs(turn, nowMs))],
    ['Created', time(run.createdAtMs)],
    ['Started', time(turn.startedAtMs)],
    ['Ended', time(turn.endedAtMs)],
    ['Cleanup', run.cleanup],
    ...(run.archivedAtMs !== null
      ? [['Archive', time(run.archivedAtMs)] as const, ['Cleanup handled', 'yes'] as const]
      : run.archiveAtMs === null
        ? []
        : [['Archive', new Date(run.archiveAtMs).toISOString()] as const]),
    ['Outcome', isTerminal(turn.state) ? outcomeWords(turn) : 'n/a'],
    ...turns.flatMap((one) =>
      one.kind === 'send' ? [[`Message, turn ${one.number}`, outcomeWords(one)] as const] : [],
    ),
  ];
}

function outcomeWords(turn: Turn): string {
  const reason = endReason(turn);
  if (reason === undefined) return turn.state;
  const words = visibleLine(reason);
  return words.startsWith(turn.state) ? words : `${turn.state} (${words})`; // "stopped by …" says both.
}

function permissionWords({ permissions: { mode, allow, deny } }: Run): string {
  const rules = (label: string, list: readonly string[]) =>
    list.length === 0 ? [] : [visibleLine(`${label} ${list.join(', ')}`)];
  return [`${mode} mode`, ...rules('and', allow), ...rules('but not', deny)].join('; ');
}

function furtherRows({ listing, queuePosition, attempts, turns }: Known): Row[] {
  const { run, turn, usage, delivery } = listing;
  const { requested, resolved, observed } = run.model;
  const word = (text: string | null) => (text === null ? 'n/a' : visibleLine(text));
  const announced = turns.filter(({ kind }) => kind === 'announce');
  const tokens = announced.map(({ usage }) => (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0));
  const handedOut = attempts === null ? '' : `, handed out ${attempts} times`;
  return [
    ['Client', run.client],
    ['Model', `requested ${word(requested)}, resolved ${word(resolved)}, observed ${word(observed)}`],
    ['Usage', usageWords(usage)],
    ...(tokens.length === 0
      ? []
      : [['Announce steps', `tokens ${formatCount(tokens.reduce((sum, count) => sum + count))}`] as const]),
    ['Cost', usage.costUsd === null ? 'n/a' : `${formatUsd(usage.costUsd)} (${sourceWords(usage)})`],
    ['PID', pidWords(turn)],
    ['Deadline', turn.deadlineAtMs === null ? 'none' : new Date(turn.deadlineAtMs).toISOString()],
    ['Queue', queuePosition === undefined ? 'n/a' : ordinal(queuePosition)],
    ['Delivery', `${delivery}${handedOut}`],
    ['Worktree', worktreeWords(listing)],
    ['Permissions', permissionWords(run)],
    ['Enforcement gaps', run.gaps.length === 0 ? 'none' : visibleLine(run.gaps.join(', '))],
    ...(run.warning === null ? [] : [['Warning', safeLine(run.warning)] as const]),
    ...turn.notes.map((note) => ['Note', visibleLine(note)] as const),
  ];
}

function usageWords({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): string {
  const sides = `in ${formatCount(inputTokens)} / out ${formatCount(outputTokens)}`;
  const cache = `cache read ${formatCount(cacheReadTokens)} / written ${formatCount(cacheWriteTokens)}`;
  return inputTokens === null && outputTokens === null ? 'n/a' : `tokens ${sides}, ${cache}`;
}

function sourceWords({ costSource }: Usage): string {
  return costSource === 'priced' ? 'by the configured prices' : 'as the client says';
}

/** The client leads a process group of its own. */
function pidWords({ state, process, owner }: Turn): string {
  if (isTerminal(state) || (process === null && owner === null)) return 'n/a';
  const client = process === null ? 'n/a' : `${process.pid} (group ${process.pid})`;
  return `${client}, supervisor ${owner === null ? 'n/a' : owner.pid}`;
}

function worktreeWords(listing: RunListing): string {
  const { worktree } = listing.run;
  if (worktree === null) return 'none';
  const kept = keepsWorktree(listing) ? ', kept' : '';
  return `${visibleLine(worktree.path)} (${visibleLine(worktree.branch)}${kept})`;
}

function eventLines(events: readonly RunEvent[]): string[] {
  if (events.length === 0) return [];
  const lines = events.map(
    ({ atMs, actor, type, detail }) =>
      `  ${new Date(atMs).toISOString()} ${safeLine(`${actor}: ${type} ${detail}`)}`,
  );
  return ['Events:', ...lines];
}
