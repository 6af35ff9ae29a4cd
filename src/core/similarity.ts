/** Lexical similarity of normalised errors: no model, no daemon, the same answer every time. */

const TOKEN = /<[A-Z]+>|[\p{L}_][\p{L}\p{N}_]*|\p{N}+/gu;
const TOKENS_MAX = 64;

/** Words that most errors have, so that sharing them means little. */
const COMMON = new Set([
  'error',
  'errors',
  'failed',
  'failure',
  'cannot',
  'could',
  'not',
  'the',
  'and',
  'for',
  'with',
  'from',
  'was',
  'were',
  'this',
  'that',
  'has',
  'have',
  'exit',
  'code',
  'npm',
  'err',
  'warning',
  'line',
  'file',
  'uncaught',
  'exception',
  'traceback',
  'most',
  'recent',
  'call',
  'last',
  'unable',
  'into',
  'while',
]);

/** The words of an error in order: `Cannot read properties of undefined (reading <STR>)`. */
export function errorTokens(normalizedError: string): string[] {
  return (normalizedError.match(TOKEN) ?? []).slice(0, TOKENS_MAX).map((token) => token.toLowerCase());
}

/** The words that tell this error from others, rarest-looking first, for a full-text query. */
export function distinctiveTokens(normalizedError: string, most: number): string[] {
  const words = errorTokens(normalizedError).filter(
    (token) => token.length >= 3 && !token.startsWith('<') && !COMMON.has(token),
  );
  return [...new Set(words)].sort((left, right) => right.length - left.length).slice(0, most);
}

/**
 * How alike two errors are, 0 to 1: the Dice coefficient of their words, distinctive words counting four times.
 * Two errors that differ in a distinctive word on both sides (`null` here, `undefined` there) are about different
 * things however long their common frame is: 0.
 */
export function errorSimilarity(left: string, right: string): number {
  const leftCounts = countTokens(left);
  const rightCounts = countTokens(right);
  let shared = 0;
  let total = 0;
  let onlyLeft = 0;
  let onlyRight = 0;
  for (const token of new Set([...leftCounts.keys(), ...rightCounts.keys()])) {
    const weight = isDistinctive(token) ? 4 : 1;
    const inLeft = leftCounts.get(token) ?? 0;
    const inRight = rightCounts.get(token) ?? 0;
    shared += 2 * weight * Math.min(inLeft, inRight);
    total += weight * (inLeft + inRight);
    if (isDistinctive(token) && inRight === 0) onlyLeft++;
    if (isDistinctive(token) && inLeft === 0) onlyRight++;
  }
  if (total === 0 || (onlyLeft > 0 && onlyRight > 0)) return 0;
  return shared / total;
}

function isDistinctive(token: string): boolean {
  return !token.startsWith('<') && token.length >= 3 && !COMMON.has(token);
}

function countTokens(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const token of errorTokens(text)) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}
