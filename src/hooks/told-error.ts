import { framed, inertText, isInstructionShaped } from '../core/inert-text.ts';
import { type Language, messagesIn, resolutionText } from '../core/told-texts.ts';
import type { KnownError } from '../lessons/store/told-lessons.ts';
import { sessionMessagesIn } from './session-analyzer.ts';

/** A known error as an agent is told it, behind a failing call or when it asks. */

const FIX_LENGTH_MAX = 300;
const NAME_LENGTH_MAX = 60;

/** The two lines of one known error; undefined where a text of it is shaped like an instruction to its reader. */
export function errorRecord(known: KnownError, language: Language): string | undefined {
  const messages = sessionMessagesIn(language);
  const words = messagesIn(language);
  const fix = inertText(resolutionText(known.resolution, words), FIX_LENGTH_MAX);
  const said = known.said ?? known.errorNormalized;
  const names = known.differing && [known.differing.known, known.differing.asked];
  if ([fix, said, ...(names ?? [])].some(isInstructionShaped)) return undefined;
  const error = messages.knownErrorText(inertText(said, FIX_LENGTH_MAX));
  return `${error}\n${messages.knownErrorFix(fix + words.from(known.origin))}`;
}

/** The same as a whole: a heading, the framed record with what differs, an advice. `record`: its two lines alone. */
export function toldError(
  known: KnownError,
  language: Language,
): { text: string; record: string } | undefined {
  const record = errorRecord(known, language);
  if (record === undefined) return undefined;
  const messages = sessionMessagesIn(language);
  const frame = (lines: string) => framed(lines, messagesIn(language).recordNote);
  const { differing } = known;
  if (differing === undefined)
    return { record, text: [messages.knownError, frame(record), messages.knownErrorAdvice].join('\n') };
  const [solved, asked] = [differing.known, differing.asked].map((name) => inertText(name, NAME_LENGTH_MAX));
  const difference = messages.similarErrorNames(solved ?? '', asked ?? '');
  const lines = [messages.similarError, frame(`${difference}\n${record}`), messages.similarErrorAdvice];
  return { record, text: lines.join('\n') };
}
