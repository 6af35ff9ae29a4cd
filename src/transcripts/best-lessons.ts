import { isInstructionShaped } from '../core/inert-text.ts';
import { getProjectName } from '../core/project.ts';
import { messagesIn, resolutionText } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import { lessonItem } from '../hooks/subagent-context.ts';
import { bestLessons } from '../lessons/store/best-lessons.ts';
import type { Config } from '../settings/hook-settings.ts';

/** A lesson for a person to look at. */
export type ShownLesson = {
  /** As an agent reads it: what happened, and in a second line what to do. */
  readonly text: string;
  /** In how many sessions it was seen to help. */
  readonly sessions: number;
  /** The project's name. */
  readonly project: string;
};

const SHOWN_MAX = 3;

/** The three best of a project, of all when undefined, each with another fix. */
export function shownLessons(
  projectPath: string | undefined,
  { language }: Pick<Config, 'language'>,
  db: Db,
): ShownLesson[] {
  const messages = messagesIn(language);
  const fixes = new Set<string>();
  const shown: ShownLesson[] = [];
  for (const lesson of bestLessons(projectPath, db)) {
    const fix = resolutionText(lesson.remedy, messages);
    if (shown.length === SHOWN_MAX) break;
    if (fixes.has(fix) || isInstructionShaped(lesson.said) || isInstructionShaped(fix)) continue;
    fixes.add(fix);
    const isAll = lesson.isWhole || lesson.rule !== undefined;
    const { key, kind, isPinned, origin, tool, said } = lesson;
    const told = { key, kind, isPinned, origin, tool, ...(isAll ? { said: fix, fix: '' } : { said, fix }) };
    const project = getProjectName(lesson.project);
    const { text } = lessonItem(told, { messages, clean: (words) => words }, () => []);
    shown.push({ text, sessions: lesson.helpedIn, project });
  }
  return shown;
}
