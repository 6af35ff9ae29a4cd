const RUN_BYTES_MIN = 64 * 1024;
/** Of a run, its beginning stays: it may belong to an escape sequence before it. */
const KEPT_BYTES = 16;

/**
 * The bytes of a JSON document without what is encoded in it, such as images: of each long run of the letters of base64
 * only the beginning is left. What was a JSON document still is one, with the same shape.
 */
export function withoutBlobs(bytes: Uint8Array): Uint8Array {
  const kept: Uint8Array[] = [];
  let from = 0;
  // Of so long a run, one byte of each stretch of this length must be a letter, so most bytes need no look.
  const step = RUN_BYTES_MIN / 2;
  for (let at = step - 1; at < bytes.length; at += step) {
    if (!IS_LETTER[bytes[at] ?? 0]) continue;
    const start = runStart(bytes, at, from);
    const end = runEnd(bytes, at);
    if (end - start >= RUN_BYTES_MIN) {
      kept.push(bytes.subarray(from, start + KEPT_BYTES));
      from = end;
    }
    at = Math.max(at, end);
  }
  if (from === 0) return bytes;
  kept.push(bytes.subarray(from));
  return joined(kept);
}

const IS_LETTER = letters('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-');

function letters(text: string): readonly boolean[] {
  const table = new Array<boolean>(256).fill(false);
  for (let index = 0; index < text.length; index++) table[text.charCodeAt(index)] = true;
  return table;
}

function runStart(bytes: Uint8Array, at: number, least: number): number {
  let start = at;
  while (start > least && IS_LETTER[bytes[start - 1] ?? 0]) start--;
  return start;
}

function runEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && IS_LETTER[bytes[end] ?? 0]) end++;
  return end;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
