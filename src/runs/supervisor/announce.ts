import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { redactSecrets } from '../../core/redact.ts';
import { cleanText, cutText, oneLine } from '../../core/text.ts';
import { loadConfig } from '../../settings/hook-settings.ts';
import { loadRunSettings } from '../../settings/run-settings.ts';
import { notifyTerminal } from '../../system/processes.ts';
import { runCommand } from '../../system/run-command.ts';
import { readEvidence, verified } from '../context/run-evidence.ts';
import {
  type EndedTurn,
  parseAnnounceReply,
  rawAnnouncement,
  resultAndNotes,
} from '../model/announcement.ts';
import { isAway } from '../model/pool-role.ts';
import { announcePrompt, lastAnswerPrompt } from '../model/prompts.ts';
import { isKeyOfRun, type Run, turnFiles } from '../model/run.ts';
import { type Ending, isTerminal, type Turn } from '../model/turn.ts';
import { judgeBudget } from '../store/limits.ts';
import { reword, untakenStatus } from '../store/outbox.ts';
import { readRuns } from '../store/rows.ts';
import { getRun } from '../store/runs.ts';
import { getTurn } from '../store/turns.ts';
import { logRunFailure, orLogged, type RunsWorld } from '../world.ts';
import { LAST_ANSWER_TIMEOUT_MS } from './launch.ts';
import type { Supervision } from './turn-row.ts';

/** The announcement of a turn that ends, and the announce step, in which the client words it in its own session. */

/** Added to the announce step's timeout: for ending the client, and for its working tree. */
const STEP_MARGIN_MS = 30_000;

/** Whether the client is asked to word its result. One that was only found ended is not asked, nor is a part. */
export function isAnnounceStepDue(
  { run, turn, ending, wasWatched }: Omit<EndedTurn, 'transcript'> & { readonly wasWatched: boolean },
  supervision: Supervision,
): boolean {
  if (run.part !== null || run.profile?.kind === 'ask' || isAway(run)) return false;
  if (run.profile !== null) return wasWatched && isLastAnswerDue(run, turn);
  if (supervision.settings.announce.mode !== 'turn' || !wasWatched) return false;
  if (ending.outcome !== 'success' && ending.outcome !== 'error') return false;
  if (run.sessionId === null || turn.stop !== null || turn.launchedAtMs === null) return false;
  return judgeBudget(supervision.sharesOf(run, turn), ending.usage).kind !== 'exceeded';
}

/** Of a run with a profile, whose last message is its result: only where a limit has ended its work. */
function isLastAnswerDue({ sessionId }: Run, { stop, launchedAtMs }: Turn): boolean {
  const isLimited = stop !== null && stop.reason !== 'requested' && stop.reason !== 'shutdown';
  return isLimited && sessionId !== null && launchedAtMs !== null;
}

/**
 * The announcement of a turn that ends so. `prompt`: for the announce step, null when none is due; `isSkipped`: the child
 * replied that there is nothing to say.
 */
export function announcingOf(
  { run, turn, ending }: Omit<EndedTurn, 'transcript'>,
  isStepDue: boolean,
  supervision: Supervision,
) {
  const { mode, timeoutSeconds } = supervision.settings.announce;
  const isSilent =
    run.profile === null && mode === 'inline' && parseAnnounceReply(ending.result ?? '').kind === 'skip';
  const isSkipped = !isStepDue && isSilent && maySkip(ending.outcome, supervision);
  const told = isStepDue ? { ...ending, notes: [...ending.notes, ...worktreeNotes(run)] } : ending;
  // A skipped announcement must never have been ready.
  const stepMs = run.profile === null ? timeoutSeconds * 1000 : LAST_ANSWER_TIMEOUT_MS;
  const waitMs = isStepDue ? stepMs + STEP_MARGIN_MS : isSkipped ? 1 : 0;
  const words = rawAnnouncement(endedTurn(run, turn, told, supervision));
  const announcement = { id: randomUUID(), ...words, readyAtMs: supervision.nowMs() + waitMs };
  if (!isStepDue) return { announcement, prompt: null, isSkipped };
  const { language } = loadConfig(supervision.world.paths);
  if (run.profile !== null) {
    const prompt = lastAnswerPrompt({ why: turn.stop?.by ?? '', task: run.task, language });
    return { announcement, prompt, isSkipped };
  }
  const lastReply = ending.result && redactSecrets(ending.result);
  return { announcement, prompt: announcePrompt({ run, language, lastReply }), isSkipped };
}

/** Replaces the words of an announcement by those of its announce step, or skips it; else it is ready as it was. */
export function rewordBy(
  step: Turn,
  ending: Ending,
  run: Run,
  note: string | null,
  supervision: Supervision,
): void {
  const { db, world } = supervision;
  const turn = step.announces === null ? undefined : getTurn(step.runId, step.announces, db);
  if (turn === undefined || !isTerminal(turn.state)) return;
  const nowMs = supervision.nowMs();
  const notes = note === null ? turn.notes : [...turn.notes, note];
  const told = { ...turn, outcome: turn.state, notes, endedAtMs: turn.endedAtMs ?? turn.queuedAtMs };
  const hasReplied = ending.outcome === 'success' && ending.result !== null;
  const reply = hasReplied ? replyIn(ending.result, run) : undefined;
  const isSkipped = reply?.kind === 'skip' && maySkip(turn.state, supervision);
  const { output } = turnFiles(world.paths, step.runId, step.number);
  const said =
    reply?.kind === 'reply'
      ? { ...reply, result: shownResult(reply.result, run, turn, world), transcript: output }
      : undefined;
  const words = resultAndNotes(endedTurn(run, turn, told, supervision), said);
  reword(turn.runId, turn.number, isSkipped ? { skip: true, nowMs } : { ...words, nowMs }, db);
  supervision.checkpoint('within-reword');
}

/** A last answer is one as a whole, whatever headings it has. */
function replyIn(text: string, { profile }: Run): ReturnType<typeof parseAnnounceReply> {
  return profile === null ? parseAnnounceReply(text) : { kind: 'reply', result: text, notes: null };
}

/** Whether an announcement may be skipped; of a failure only if the settings allow that. */
function maySkip(outcome: Ending['outcome'], { settings }: Supervision): boolean {
  return outcome === 'success' || settings.announce.skipOnFailure;
}

/** For an announcement that is written before the working tree is checked for changes. */
function worktreeNotes({ worktree }: Run): string[] {
  if (worktree === null) return [];
  return [`its worktree, if anything in it is new: ${worktree.path} (branch ${worktree.branch})`];
}

function endedTurn(run: Run, turn: Turn, ending: Ending, { world }: Supervision): EndedTurn {
  const told = { ...ending, result: shownResult(ending.result, run, turn, world) };
  return { run, turn, ending: told, transcript: turnFiles(world.paths, run.id, turn.number).output };
}

/** A result as its requester is told it: in that of an exploration each file is marked that was not read. */
function shownResult(result: string | null, run: Run, { number }: Turn, world: RunsWorld): string | null {
  if (result === null || run.profile?.kind !== 'explore') return result;
  const show = () => verified(result, readEvidence(run, number, world), run);
  return orLogged(run.id, world.paths, show) ?? result;
}

/** How long somebody who waits may take: a session that is woken, a command. */
const TAKEN_WITHIN_MS = 4000;
const COMMAND_TIMEOUT_MS = 10_000;
const NAME_LENGTH_MAX = 72;

/**
 * Tells a person of a result that nobody has taken: by the program of the settings, else in the terminal in which the run
 * was asked for. Only that there is one, and how it ended: what a sub-agent said is for nobody's screen. Never throws.
 */
export async function notifyOfResult(runId: string, world: RunsWorld): Promise<void> {
  try {
    const { notifyCommand } = loadRunSettings(world.paths);
    const run = readRuns(world.paths, (db) => getRun(runId, db)?.run);
    if (
      run === undefined ||
      run.part !== null ||
      isKeyOfRun(run.requester.key) ||
      (notifyCommand === null && run.terminal === null)
    )
      return;
    await sleep(TAKEN_WITHIN_MS);
    const nowMs = world.now().getTime();
    const status = readRuns(world.paths, (db) => untakenStatus(runId, nowMs, db));
    if (status === undefined) return;
    const name = run.label === null ? '' : ` "${cutText(oneLine(cleanText(run.label)), NAME_LENGTH_MAX)}"`;
    const text = `Sub-agent #${run.number}${name}: ${status}`;
    const [program, ...args] = notifyCommand ?? [];
    if (program === undefined) {
      if (run.terminal !== null) notifyTerminal(run.terminal, text);
      return;
    }
    const options = { env: world.env, cwd: world.paths.home, timeoutMs: COMMAND_TIMEOUT_MS };
    const end = await runCommand(program, [...args, text], options);
    if (end.kind === 'exited' && end.code === 0) return;
    const how = end.kind === 'exited' ? `exit code ${end.code}` : end.kind;
    const reason = end.kind === 'failed' ? end.reason : how;
    throw new Error(`Cannot notify with "${program}": ${reason}; correct notify.command`);
  } catch (error) {
    logRunFailure(runId, error, world.paths);
  }
}
