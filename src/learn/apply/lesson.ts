import { z } from 'zod';
import { isInstructionShaped } from '../../core/instruction-shape.ts';
import type { Suggestion } from '../../core/suggestion.ts';
import { refused } from '../../setup/file-plan.ts';
import type { Db } from '../../store/connection.ts';
import { lessonState, saveModelLesson } from '../../store/lessons-by-model.ts';

/** A lesson changes no file: what is applied is a row of the knowledge base. */
const APPLIED_LESSON = z.object({
  kind: z.literal('lesson'),
  key: z.string(),
  projectPath: z.string(),
  advice: z.string(),
});
export type AppliedLesson = z.infer<typeof APPLIED_LESSON>;

/** What apply stores with a lesson; undefined when it is none of ours. */
export function readAppliedLesson(value: unknown): AppliedLesson | undefined {
  return APPLIED_LESSON.safeParse(value).data;
}

/** Plans what applying a lesson does. Nothing has been changed. */
export function planLesson({ text, projectPath, details }: Suggestion) {
  const { lesson } = details;
  if (lesson === undefined) return refused('it does not say which error it is about');
  if (isInstructionShaped(text))
    return refused('it reads like an instruction to ignore, fetch, send, delete or hide something');
  const { errorKey: key, ...known } = lesson;
  const applied: AppliedLesson = { kind: 'lesson', key, projectPath, advice: text };
  return {
    kind: 'ready' as const,
    applied,
    /** Stores it, in the transaction of the verdict. */
    store: (ts: string, db: Db) => {
      const saved = { ...known, key, projectPath, advice: text, ts, by: 'user' } as const;
      if (lessonState(key, projectPath, db).state === 'withdrawn')
        throw new Error('what is told of this error was withdrawn; "errors resolve" writes it anew');
      if (!saveModelLesson(saved, db)) throw new Error('a person has written meanwhile what helps');
    },
  };
}
