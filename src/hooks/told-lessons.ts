import type { Messages } from '../core/messages.ts';
import type { Db } from '../database/connection.ts';
import { resolutionText } from '../lessons/errors/normalize-error.ts';
import { readToldLessons, type StoredLesson } from '../lessons/store/told-lessons.ts';
import type { Project } from './decision.ts';

/** Which lessons an agent is told, in their order. Plain loops, as in subagent-context.ts. */

export type Keep = (text: string) => boolean;

export type Reading = {
  readonly project: Project;
  readonly messages: Messages;
  readonly db: Db;
  /** False for a text that no agent is given. */
  readonly keep: Keep;
  readonly clean: (text: string) => string;
};

export type ToldLesson = {
  readonly key: string;
  /** What happened; of lint rules all that is told. */
  readonly said: string;
  readonly tool: string;
  /** Empty where `said` is all. */
  readonly fix: string;
  /** Which other project taught it. */
  readonly origin: string | null;
};

const WORD_LENGTH_MIN = 4;
const LINT_LENGTH_MAX = 190;
/** Lint rules come behind so many lessons of several sessions. */
const BEFORE_LINT = 2;

/**
 * The project's lessons: those seen in several sessions first, among them those that fit the task, then the rules of its
 * linters in one line, then what a single session has shown, and then what a person shares of other projects.
 */
export function toldLessons(reading: Reading, task: string, most: number): ToldLesson[] {
  const { db, project, messages, keep } = reading;
  const stored = readToldLessons(project.spellings, db);
  rank(stored, task.toLowerCase());
  const several: ToldLesson[] = [];
  const single: ToldLesson[] = [];
  const shared: ToldLesson[] = [];
  const rules: string[] = [];
  for (const lesson of stored) {
    const { said, tool, remedy, key, isWhole, origin } = lesson;
    const fix = resolutionText(remedy, messages);
    if (!keep(said) || !keep(fix)) continue;
    if (lesson.rule !== undefined && origin === null) {
      if (!rules.includes(lesson.rule)) rules.push(lesson.rule);
      continue;
    }
    const list = origin !== null ? shared : lesson.sessions > 1 ? several : single;
    if (hasFix(several, fix) || hasFix(single, fix)) continue;
    list.push(isWhole ? { key, said: fix, tool, fix: '', origin } : { key, said, tool, fix, origin });
  }
  const told: ToldLesson[] = [];
  for (const lesson of several) if (told.length < Math.min(most, BEFORE_LINT)) told.push(lesson);
  const lint = lintLine(rules, messages.lintRules);
  if (lint !== '' && told.length < most) told.push({ key: '', said: lint, tool: '', fix: '', origin: null });
  for (const lesson of several) if (told.length < most && !told.includes(lesson)) told.push(lesson);
  for (const lesson of single) if (told.length < most) told.push(lesson);
  for (const lesson of shared) {
    if (told.length < most && !hasFix(told, lesson.fix || lesson.said)) told.push(lesson);
  }
  return told;
}

function hasFix(lessons: readonly ToldLesson[], fix: string): boolean {
  for (const one of lessons) if (one.fix === fix || (one.fix === '' && one.said === fix)) return true;
  return false;
}

/** As many rules as fit into a line. */
function lintLine(rules: readonly string[], heading: string): string {
  let line = '';
  for (const rule of rules) {
    const longer = line === '' ? `${heading} ${rule}` : `${line}; ${rule}`;
    if (longer.length <= LINT_LENGTH_MAX || line === '') line = longer;
  }
  return line;
}

/** Those that fit the task first, then by sessions, then as they come. */
function rank(lessons: StoredLesson[], task: string): void {
  const fits = new Map<StoredLesson, number>();
  if (task !== '') for (const lesson of lessons) fits.set(lesson, fitOf(lesson.about.toLowerCase(), task));
  const fit = (lesson: StoredLesson) => fits.get(lesson) ?? 0;
  lessons.sort((left, right) => fit(right) - fit(left) || right.sessions - left.sessions);
}

/** How many of the lesson's words stand in the task. */
function fitOf(lesson: string, task: string): number {
  let fit = 0;
  let word = '';
  for (let index = 0; index <= lesson.length; index++) {
    const code = lesson.charCodeAt(index);
    if ((code >= 0x61 && code <= 0x7a) || code > 0xbf) {
      word += lesson[index];
      continue;
    }
    if (word.length >= WORD_LENGTH_MIN && task.includes(word)) fit++;
    word = '';
  }
  return fit;
}
