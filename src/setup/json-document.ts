import { type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { type Document, place } from './json-text.ts';

/** The settings of clients: one JSON object in a file, which people write by hand, with comments and trailing commas. */

export type ParsedDocument =
  | ({ readonly kind: 'parsed' } & Document)
  | { readonly kind: 'refused'; readonly reason: string };

export const BOM = '\uFEFF';

/** The text as a tree, or where and why it cannot be one. Never throws. */
export function parseDocument(text: string): ParsedDocument {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined || root === undefined) {
    const at = place(text, error?.offset ?? 0);
    return { kind: 'refused', reason: `${at}: not valid JSON (${wordsFor(error)}); correct it there` };
  }
  if (root.type === 'object') return { kind: 'parsed', text, root };
  return {
    kind: 'refused',
    reason: `${place(text, root.offset)}: not a JSON object; settings have to be {…}`,
  };
}

/** After our own edit, which has to leave a document that can be read. */
export function reparse(text: string): Document {
  const parsed = parseDocument(text);
  if (parsed.kind === 'refused')
    throw new Error(`Cannot edit the settings: the result would be wrong at ${parsed.reason}`);
  return parsed;
}

/** `CommaExpected` as `comma expected`. */
function wordsFor(error: ParseError | undefined): string {
  const name = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
  return name.replace(/(?<=[a-z])[A-Z]/g, ' $&').toLowerCase();
}
