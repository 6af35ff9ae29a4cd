import { inertText } from '../core/inert-text.ts';
import { counted, cutText } from '../core/text.ts';
import type { Call } from './call.ts';
import { namedPath } from './files.ts';

const OUTPUT = '[Output removed to save context';
const INPUT = '[Input removed to save context';
const NAME_LENGTH_MAX = 120;

/** Whether something of the call has already given way to a placeholder. */
export function isPruned({ output }: Call): boolean {
  if (!output.endsWith(']')) return false;
  return isOutputPruned(output) || output.startsWith(INPUT, output.lastIndexOf('\n') + 1);
}

/** Whether the text is a placeholder that stands in place of an output. */
export function isOutputPruned(output: string): boolean {
  return output.startsWith(OUTPUT);
}

/** The output without the placeholder behind it, if there is one. */
export function withoutPlaceholder(output: string): string {
  const last = output.lastIndexOf('\n') + 1;
  return output.startsWith(INPUT, last) ? output.slice(0, Math.max(0, last - 1)) : output;
}

/** In place of an output that stands above word for word. */
export function asAbove(call: Call): string {
  const what =
    call.state === 'failed'
      ? 'the call failed again, with word for word the error'
      : 'word for word the output';
  return `${OUTPUT}: ${what} of the earlier call of ${named(call)} with this input, which stands above. If you need it here, repeat the call now.]`;
}

/** In place of the output of a reading, once `by` has shown or written the whole file. */
export function asReadLater(call: Call, by: 'read' | 'write'): string {
  return `${OUTPUT}: ${file(call)} was ${WHOLE[by]} later, see below. If you need it again, read the file now.]`;
}

/** Behind the output of a call that wrote, once `by` has shown or written the whole file. */
export function asWrittenLater(call: Call, by: 'read' | 'write'): string {
  return `${INPUT}: the call succeeded, and ${file(call)} was ${WHOLE[by]} later, see below. To change the file, give every value in full.]`;
}

const WHOLE = { read: 'read in full', write: 'written anew in full' };

/** Behind the error of a call that failed some time ago. `lengths`: of the texts that are left out, by their keys. */
export function asFailed(lengths: readonly (readonly [key: string, text: string])[]): string {
  const texts = lengths.map(
    ([key, text]) => `${inertText(key, 40)} (${counted(text.length, 'character')}, from "${begin(text)}")`,
  );
  return `${INPUT}: the call failed, and its long values are left out: ${texts.slice(0, 4).join(', ')}. To call it again, give every value in full.]`;
}

function begin(text: string): string {
  return inertText(cutText(text, 200), 60).replaceAll('"', "'");
}

/** In place of an output that the user wanted to be shown no more. */
export function asSwept(call: Call): string {
  return `${OUTPUT}: the user had that of this call of ${named(call)} removed. If you need it, repeat the call now.]`;
}

function named(call: Call): string {
  const path = namedPath(call);
  const tool = inertText(call.tool, NAME_LENGTH_MAX);
  return path === undefined ? tool : `${tool} (${inertText(path, NAME_LENGTH_MAX)})`;
}

function file(call: Call): string {
  return inertText(namedPath(call) ?? 'the file', NAME_LENGTH_MAX);
}
