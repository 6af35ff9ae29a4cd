import { existsSync } from 'node:fs';
import { handoverLine } from '../../runs/model/handover.ts';
import { isAway } from '../../runs/model/pool-role.ts';
import type { Profile } from '../../runs/model/profile.ts';
import type { Run } from '../../runs/model/run.ts';
import {
  formatCount,
  formatDuration,
  formatUsd,
  isoTime,
  localTime,
  ordinal,
  timeAgo,
} from '../../runs/model/stats.ts';
import { endReason, isTerminal, runtimeMs, type Turn, type Usage } from '../../runs/model/turn.ts';
import { eventView } from '../../runs/read-log.ts';
import { waitingAnnouncements } from '../../runs/store/outbox.ts';
import { queuePosition } from '../../runs/store/queue.ts';
import { type RunEvent, readRuns, runEvents } from '../../runs/store/rows.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import { turnsOf } from '../../runs/store/turns.ts';
import {
  aboutRun,
  answer,
  hidesFailure,
  type JsonFlag,
  keepsWorktree,
  nameOf,
  type RunsHere,
  runJson,
  safeLine,
  safeText,
  stateWords,
  timesOf,
  transcriptPath,
  visibleLine,
} from './runs-here.ts';

const EVENTS_MAX = 5;

type Known = ReturnType<typeof readKnown>;

/** `subagents info`: what is known of one run. */
export const info = aboutRun({
  name: 'info',
  does: 'show the sub-agent',
  description: 'show all that is known of a run',
  calls: ['3', 'last --json'],
  act: show,
});

function show(here: RunsHere, _flags: JsonFlag, listing: RunListing): void {
  const known = readKnown(listing, here);
  answer(infoJson(known, here), infoText(known, here), here);
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
  const transcript = transcriptPath(world.paths, run.id, turn.number);
  return { listing, transcript, turns: [], attempts: null, events: [], ...stored };
}

function infoJson(known: Known, { context }: RunsHere) {
  const { listing, queuePosition, attempts, events, transcript, turns } = known;
  const { run, turn } = listing;
  const outcome = isTerminal(turn.state) ? { status: turn.state, error: turn.error } : null;
  const { model, thinking, cwd, permissions, gaps: enforcementGaps } = run;
  const { result, notes, process, owner: supervisor, stop } = turn;
  return {
    ...runJson(listing, { queuePosition, nowMs: context.now().getTime() }),
    transcriptPath: transcript,
    ...{ outcome, result, notes, warning: safeText(run.warning), model, thinking },
    context: run.handover && safeText(handoverLine(run.handover)),
    handover: run.handover,
    profile: run.profile,
    part: run.part,
    runTimeoutSeconds: run.runTimeoutMs / 1000,
    deadlineAt: isoTime(turn.deadlineAtMs),
    ...{ process, supervisor, stop, deliveryAttempts: attempts, cwd, permissions, enforcementGaps },
    turns: turns.map((turn) => {
      const { number, kind, state, error, stop, usage } = turn;
      return { number, kind, state, error, stop, ...timesOf(turn), usage };
    }),
    events: events.map((event) => eventView(event, safeText)),
  };
}

function infoText(known: Known, { context }: RunsHere): string {
  const { bold, dim } = context.colours;
  const rows = rowsOf(known, context.now().getTime());
  const lines = rows.flatMap(([label, value]) => (value === null ? [] : `${label}: ${value}`));
  const events = known.events.length === 0 ? [] : ['Events:', ...known.events.map(eventLine)];
  return [bold('ℹ️ Subagent info'), ...lines, ...events.map(dim), ''].join('\n');
}

/** Null: nothing is said of it. */
type Row = readonly [label: string, value: string | null];

function rowsOf({ listing, queuePosition, transcript, attempts, turns }: Known, nowMs: number): Row[] {
  const { run, turn, usage, delivery } = listing;
  const { requested, resolved, observed } = run.model;
  const word = (text: string | null) => (text === null ? 'n/a' : visibleLine(text));
  const time = (ms: number | null) => (ms === null ? 'n/a' : `${localTime(ms)} (${timeAgo(ms, nowMs)})`);
  const announced = turns.filter(({ kind }) => kind === 'announce').map(({ usage }) => usage);
  const tokens = announced.reduce((sum, one) => sum + (one.inputTokens ?? 0) + (one.outputTokens ?? 0), 0);
  const source = usage.costSource === 'priced' ? 'by the configured prices' : 'as the client says';
  const handedOut = attempts === null ? '' : `, handed out ${attempts} times`;
  return [
    ['Status', `${stateWords(listing, queuePosition)}${hidesFailure(listing) ? ' (announce skipped)' : ''}`],
    ['Label', nameOf(run)],
    ['Task', safeLine(run.task)],
    ['Run', run.id],
    ['Session', visibleLine(run.childKey)],
    ['SessionId', word(run.sessionId)],
    ['Transcript', visibleLine(transcript)],
    ['Runtime', formatDuration(runtimeMs(turn, nowMs))],
    ['Created', time(run.createdAtMs)],
    ['Started', time(turn.startedAtMs)],
    ['Ended', time(turn.endedAtMs)],
    ['Cleanup', run.cleanup],
    ['Archive', archiveWords(run, time)],
    ['Cleanup handled', run.archivedAtMs === null ? null : 'yes'],
    ['Outcome', isTerminal(turn.state) ? outcomeWords(turn) : 'n/a'],
    ...turns.map(
      (one): Row => [`Message, turn ${one.number}`, one.kind === 'send' ? outcomeWords(one) : null],
    ),
    ['Part of', run.part && `${run.part.kind} ${run.part.id}, ${run.part.name}`],
    ['Client', run.client],
    ['Model', `requested ${word(requested)}, resolved ${word(resolved)}, observed ${word(observed)}`],
    ['Usage', usageWords(usage)],
    ['Announce steps', announced.length === 0 ? null : `tokens ${formatCount(tokens)}`],
    ['Cost', usage.costUsd === null ? 'n/a' : `${formatUsd(usage.costUsd)} (${source})`],
    ['PID', pidWords(turn)],
    ['Deadline', turn.deadlineAtMs === null ? 'none' : localTime(turn.deadlineAtMs)],
    ['Queue', queuePosition === undefined ? 'n/a' : ordinal(queuePosition)],
    ['Delivery', `${delivery}${handedOut}`],
    ['Worktree', worktreeWords(listing)],
    ['Profile', run.profile && profileWords(run.profile)],
    ['Permissions', permissionWords(run)],
    ['Enforcement gaps', run.gaps.length === 0 ? 'none' : visibleLine(run.gaps.join(', '))],
    ['Context', run.handover && safeLine(handoverLine(run.handover))],
    ['Warning', run.warning && safeLine(run.warning)],
    ...turn.notes.map((note): Row => ['Note', visibleLine(note)]),
  ];
}

function outcomeWords(turn: Turn): string {
  const reason = endReason(turn);
  if (reason === undefined) return turn.state;
  const words = visibleLine(reason);
  return words.startsWith(turn.state) ? words : `${turn.state} (${words})`; // "stopped by …" says both.
}

function archiveWords({ archiveAtMs, archivedAtMs }: Run, time: (ms: number) => string): string | null {
  if (archivedAtMs !== null) return time(archivedAtMs);
  return archiveAtMs === null ? null : localTime(archiveAtMs);
}

function profileWords({ kind, limits }: Profile): string {
  const most = Object.entries(limits).flatMap(([name, count]) => (count === null ? [] : `${name} ${count}`));
  return `${kind}, which ${kind === 'ask' ? 'has no tools' : 'only reads'}${most.length === 0 ? '' : `; at most ${most.join(', ')}`}`;
}

function permissionWords({ permissions: { mode, allow, deny } }: Run): string {
  const rules = (label: string, list: readonly string[]) =>
    list.length === 0 ? [] : [visibleLine(`${label} ${list.join(', ')}`)];
  return [`${mode} mode`, ...rules('and', allow), ...rules('but not', deny)].join('; ');
}

function usageWords({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): string {
  const sides = `in ${formatCount(inputTokens)} / out ${formatCount(outputTokens)}`;
  const cache = `cache read ${formatCount(cacheReadTokens)} / written ${formatCount(cacheWriteTokens)}`;
  return inputTokens === null && outputTokens === null ? 'n/a' : `tokens ${sides}, ${cache}`;
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
  if (isAway(listing.run) && !existsSync(worktree.path))
    return `none, its changes are in the branch ${visibleLine(worktree.branch)}`;
  const kept = keepsWorktree(listing) ? ', kept' : '';
  return `${visibleLine(worktree.path)} (${visibleLine(worktree.branch)}${kept})`;
}

function eventLine({ atMs, actor, type, detail }: RunEvent): string {
  return `  ${localTime(atMs)} ${safeLine(`${actor}: ${type} ${detail}`)}`;
}
