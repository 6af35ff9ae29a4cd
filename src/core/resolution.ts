import { isRecord, type Json, parseJson, readString } from './guards.ts';
import { type Messages, messagesIn } from './messages.ts';

/**
 * The resolution column in words: what our own lessons say to do, else a summary in words, else the path of tools that
 * an earlier version stored, else the text as it is.
 */
export function resolutionText(resolution: string, messages: Messages = messagesIn('en')): string {
  const parsed = parseJson(resolution);
  if (!isRecord(parsed)) return resolution;
  const words = remedyText(parsed, messages) || readString(parsed, 'summary');
  if (words) return words;
  const resolvedBy = readString(parsed, 'resolvedBy');
  const sequence = parsed.toolSequence;
  if (Array.isArray(sequence) && sequence.length > 0) {
    return `${resolvedBy ? `${resolvedBy}: ` : ''}${sequence.join(' → ')}`;
  }
  return resolvedBy || resolution;
}

/** Our own words, or undefined when the resolution was stored by somebody else. */
export function resolutionSummary(resolution: string, messages: Messages): string | undefined {
  const parsed = parseJson(resolution);
  if (!isRecord(parsed)) return undefined;
  return remedyText(parsed, messages) || readString(parsed, 'summary') || undefined;
}

/** A remedy (see lessons/lesson.ts) in the reader's language; undefined when it is none that we know. */
function remedyText(remedy: Json, messages: Messages): string | undefined {
  const [use, failing] = [readString(remedy, 'use'), readString(remedy, 'failing')];
  switch (remedy.kind) {
    case 'command':
      return use && messages.useInstead(use, failing ?? '');
    case 'without':
      return messages.leaveOut(readString(remedy, 'leaveOut') ?? '', failing ?? '');
    case 'directory':
      return use && messages.runIn(use, readString(remedy, 'directory') ?? '');
    case 'fixer':
      return use && messages.runFirst(use, failing ?? '');
    case 'ran':
      return messages.workedHere(readString(remedy, 'summary') ?? '');
    case 'lint':
      return messages.lintRule(readString(remedy, 'rule') ?? '', readString(remedy, 'message') ?? '');
    default:
      return undefined;
  }
}
