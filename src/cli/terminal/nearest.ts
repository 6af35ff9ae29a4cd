/** The known word that was probably meant: the nearest, where at most a third of it would be typed anew; else undefined. */
export function nearest(typed: string, known: readonly string[]): string | undefined {
  const word = typed.toLowerCase();
  const ranked = known
    .map((one) => ({ one, distance: distanceBetween(word, one.toLowerCase()) }))
    .filter(
      ({ one, distance }) => distance <= Math.max(1, Math.min(DISTANCE_MAX, Math.floor(one.length / 3))),
    )
    .toSorted((left, right) => left.distance - right.distance);
  return ranked[0]?.one;
}

const DISTANCE_MAX = 3;

/** How many characters are put in, left out, replaced or swapped with the next, to make one word of the other. */
function distanceBetween(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > DISTANCE_MAX) return Number.POSITIVE_INFINITY;
  let last: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? at(last, j - 2) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(at(row, j) + 1, at(next, j - 1) + 1, replaced, swapped));
    }
    [last, row] = [row, next];
  }
  return at(row, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
