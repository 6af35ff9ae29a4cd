import { randomUUID } from 'node:crypto';
import { redactSecrets } from '../../core/redact.ts';
import { loadConfig } from '../../settings/hook-settings.ts';
import type { NewAnnouncement } from '../model/announcement.ts';
import {
  announcedWords,
  type EndedTurn,
  parseAnnounceReply,
  rawAnnouncement,
} from '../model/announcement.ts';
import { announcePrompt } from '../model/prompts.ts';
import type { Run } from '../model/run.ts';
import { turnFiles } from '../model/run.ts';
import { type Ending, isTerminal, type Turn } from '../model/turn.ts';
import type { Rewording } from '../store/outbox.ts';
import { appendTurn, getTurn } from '../store/turns.ts';
import { judgeBudget, sharesOf } from './turn-ending.ts';
import type { Supervision } from './turn-row.ts';

/** What a turn that ends has to tell, and whether its client is asked to put that into words. */

/** After the announce step's own time: for a client that does not end, for ending it, and for its working tree. */
const STEP_MARGIN_MS = 30_000;

export type Announcing =
  /** The words stand; or the child has said that nothing is to be told. */
  | { readonly kind: 'said'; readonly announcement: NewAnnouncement; readonly isSkipped: boolean }
  /** The client is asked once more; the words are what is told if that comes to nothing. */
  | { readonly kind: 'step'; readonly announcement: NewAnnouncement; readonly prompt: string };

/** What is told of a turn that ends so. `wasWatched`: a client that was only found ended is asked nothing more. */
export function announcingOf(
  ended: Omit<EndedTurn, 'transcript'>,
  wasWatched: boolean,
  supervision: Supervision,
): Announcing {
  const { world, settings } = supervision;
  const { run, turn, ending } = ended;
  const nowMs = world.now().getTime();
  const telling = (told: Ending, readyAtMs: number): NewAnnouncement => ({
    id: randomUUID(),
    ...rawAnnouncement(endedTurn(run, turn, told, supervision)),
    readyAtMs,
  });
  const { mode, timeoutSeconds } = settings.announce;
  if (mode === 'turn' && wasWatched && isAffordable(run, turn, ending, supervision)) {
    const untilThen = { ...ending, notes: [...ending.notes, ...worktreeNotes(run)] };
    return {
      kind: 'step',
      announcement: telling(untilThen, nowMs + timeoutSeconds * 1000 + STEP_MARGIN_MS),
      prompt: announcePrompt({
        run,
        language: loadConfig(world.paths).language,
        lastReply: ending.result === null ? null : redactSecrets(ending.result),
      }),
    };
  }
  const isSkipped = mode === 'inline' && isSilent(ending.result ?? '', ending.outcome, supervision);
  // What is dropped at once was never ready.
  return { kind: 'said', announcement: telling(ending, nowMs + (isSkipped ? 1 : 0)), isSkipped };
}

/** Adds the turn in which the client puts its result into words, in the slot that its run has. */
export function addAnnounceTurn(ended: Turn, prompt: string, { db, world }: Supervision): Turn {
  const { runId, number, session } = ended;
  const nowMs = world.now().getTime();
  return appendTurn(
    { runId, kind: 'announce', announces: number, message: prompt, session, nowMs, state: 'starting' },
    db,
  );
}

/** What an announce step came to: better words, silence, or the words that stood before. Undefined: nothing to reword. */
export function rewordingOf(
  step: Turn,
  ending: Ending,
  run: Run,
  note: string | null,
  supervision: Supervision,
): { readonly turn: Turn; readonly words: Rewording } | undefined {
  const turn = step.announces === null ? undefined : getTurn(step.runId, step.announces, supervision.db);
  if (turn === undefined || !isTerminal(turn.state)) return undefined;
  const nowMs = supervision.world.now().getTime();
  const ended = endedTurn(run, turn, endingIn(turn, note), supervision);
  const { result, notes } = rawAnnouncement(ended);
  const raw = { turn, words: { result, notes, nowMs } };
  if (ending.outcome !== 'success' || ending.result === null) return raw;
  const reply = parseAnnounceReply(ending.result);
  const { output } = turnFiles(supervision.world.paths, step.runId, step.number);
  if (reply.kind === 'reply') return { turn, words: { ...announcedWords(ended, reply, output), nowMs } };
  return isSilent(ending.result, turn.state, supervision) ? { turn, words: { skip: true, nowMs } } : raw;
}

/** Whether nothing is to be told; of a failure only where the settings let a child hide it. */
function isSilent(reply: string, outcome: Ending['outcome'], { settings }: Supervision): boolean {
  if (parseAnnounceReply(reply).kind !== 'skip') return false;
  return outcome === 'success' || settings.announce.skipOnFailure;
}

function isAffordable(run: Run, turn: Turn, ending: Ending, supervision: Supervision): boolean {
  if (ending.outcome !== 'success' && ending.outcome !== 'error') return false;
  if (run.sessionId === null || turn.stop !== null || turn.launchedAtMs === null) return false;
  return judgeBudget(sharesOf(run, turn, supervision), ending.usage).kind !== 'exceeded';
}

/** For words that are told before anybody could look whether something in the working tree would be lost. */
function worktreeNotes({ worktree }: Run): string[] {
  if (worktree === null) return [];
  return [`its worktree, if anything in it is new: ${worktree.path} (branch ${worktree.branch})`];
}

function endedTurn(run: Run, turn: Turn, ending: Ending, { world }: Supervision): EndedTurn {
  return { run, turn, ending, transcript: turnFiles(world.paths, run.id, turn.number).output };
}

/** How a turn ended, as its row says it. */
function endingIn(turn: Turn, note: string | null): Ending {
  return {
    outcome: isTerminal(turn.state) ? turn.state : 'lost',
    result: turn.result,
    error: turn.error,
    notes: note === null ? turn.notes : [...turn.notes, note],
    usage: turn.usage,
    exit: turn.exit,
    endedAtMs: turn.endedAtMs ?? turn.queuedAtMs,
  };
}
