import { decide } from '../../hooks/decide.ts';
import type { ImportStep, ReadFile } from '../../store/imports.ts';
import { HOOK_DELAY_MS_MAX, QUEUED_MS_MAX } from '../../store/known-moments.ts';
import type { Merged } from './merge-transcripts.ts';
import type { PastContexts } from './past-context.ts';
import type { CursorPlace } from './transcript-cursor.ts';

/**
 * What is to be written of the next events of a session: what its hooks would have recorded, by their own decisions. The
 * line is done with when the last of its events is. `startedIn`: where the session was started.
 */
export function stepsOf(
  { file, step, place }: Merged,
  startedIn: string | undefined,
  contexts: PastContexts,
): ImportStep[] {
  const { path, head, bytes: fileBytes, isWithinLine } = file;
  const readUntil = (place: CursorPlace): ReadFile | undefined =>
    isWithinLine ? undefined : { path, head, fileBytes: Math.max(fileBytes, place.bytesSeen), ...place };
  if (step === undefined) return [{ read: readUntil(place) }];
  return step.events.map(({ ts, event, isQueued }, index) => {
    const recording = decide(event, contexts.contextOf(event, { ts, startedIn })).recording;
    const read = readUntil(index === step.events.length - 1 ? step.after : step.before);
    const delayMsMax = isQueued ? QUEUED_MS_MAX : HOOK_DELAY_MS_MAX;
    return { read, ...(recording && { recording, delayMsMax }) };
  });
}
