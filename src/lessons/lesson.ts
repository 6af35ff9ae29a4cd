import { type Json, readTexts } from '../core/guards.ts';
import { cutText, oneLine } from '../core/text.ts';
import type { Noise } from './failure.ts';

/** A call out of the log, as far as lessons are learnt from it. */
export type LoggedCall = {
  readonly kind: 'call';
  readonly id: string;
  readonly session: string;
  readonly agent: string | null;
  /** ISO 8601. */
  readonly ts: string;
  readonly tool: string;
  /** The shell command, redacted; null for other tools. */
  readonly line: string | null;
  /** Where the shell stood, relative to the project. */
  readonly directory: string;
  readonly outcome: Outcome;
};

export type Outcome =
  | { readonly kind: 'worked' }
  /** It returned, which does not mean that it worked. */
  | { readonly kind: 'unclear' }
  | {
      readonly kind: 'failed';
      readonly key: string;
      readonly said: string;
      readonly noise: Noise | null;
      /** What was printed, up to 2,000 characters. */
      readonly text: string;
    };

/** The user said something: what came before is done with. */
export type LoggedPrompt = { readonly kind: 'prompt'; readonly session: string; readonly ts: string };

export type LogEntry = LoggedCall | LoggedPrompt;

/** What to do instead of what failed. Texts in it are quoted commands in which `…` stands for one or more words. */
export type Remedy =
  | { readonly kind: 'command'; readonly failing: string; readonly use: string }
  | { readonly kind: 'without'; readonly failing: string; readonly leaveOut: string }
  /** `directory`: relative to the project; empty is its root. */
  | { readonly kind: 'directory'; readonly use: string; readonly directory: string }
  /** What makes the failing command work again. */
  | { readonly kind: 'fixer'; readonly failing: string; readonly use: string }
  | { readonly kind: 'lint'; readonly rule: string; readonly message: string };

/** What a lesson rests on. Calls are counted by their ids: a forked session has copies of another's. */
export type Evidence = {
  /** In how many sessions it was seen to help. */
  readonly sessions: number;
  readonly agents: number;
  /** How often it failed, and how often what is told helped. */
  readonly failed: number;
  readonly helped: number;
  readonly first: string;
  readonly last: string;
  /** The newest calls that failed, and that helped. */
  readonly failedCalls: readonly string[];
  readonly helpedCalls: readonly string[];
};

/** An error as its reader would recognise it, what to do instead, and what that rests on. */
export type Lesson = {
  readonly key: string;
  readonly said: string;
  readonly remedy: Remedy;
  readonly evidence: Evidence;
};

/** What the log says of one kind of error, with or without something to tell. */
export type ErrorGroup = {
  readonly key: string;
  readonly sessions: number;
  /** Its command has not worked since. */
  readonly isOpen: boolean;
  readonly lesson: Lesson | null;
};

/** Why a model's lesson is believed. */
export type LessonEvidence = Readonly<ReturnType<typeof readLessonEvidence>>;

const EVIDENCE_IDS_MAX = 50;
const EVIDENCE_LENGTH_MAX = 1000;

/** Reads the evidence as it was stored, by whichever program. */
export function readLessonEvidence(value: Json) {
  const list = (key: string): readonly string[] => {
    const texts = readTexts(value[key]).map((one) => cutText(oneLine(one), EVIDENCE_LENGTH_MAX));
    return texts.filter(Boolean).slice(0, EVIDENCE_IDS_MAX);
  };
  return {
    /** The calls that ran what it advises with success, and those that failed. */
    ran: list('ran'),
    failed: list('failed'),
    /** The sessions of those that failed. */
    sessions: list('sessions'),
    /** The failing commands without what only moves or reports. */
    failingLines: list('failingLines'),
    /** It is about what a check says of the work, which fails at times whatever is done. */
    isFinding: value.isFinding === true,
  };
}
