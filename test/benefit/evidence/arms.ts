/** All that a coin could have given, for tests that add up over every case. */

/** Each sequence of arms with its probability; the probability of the next may depend on the arms before. */
export function allArms(
  length: number,
  next: (before: readonly boolean[]) => number,
): { readonly arms: readonly boolean[]; readonly probability: number }[] {
  let cases: { arms: readonly boolean[]; probability: number }[] = [{ arms: [], probability: 1 }];
  for (let at = 0; at < length; at++) {
    cases = cases.flatMap(({ arms, probability }) => {
      const p = next(arms);
      return [
        { arms: [...arms, true], probability: probability * p },
        { arms: [...arms, false], probability: probability * (1 - p) },
      ];
    });
  }
  return cases;
}

/** So many events of either arm. */
export function failed(
  held: number,
  told: number,
  p = 0.5,
): { readonly isHeld: boolean; readonly p: number }[] {
  return Array.from({ length: held + told }, (_, at) => ({ isHeld: at < held, p }));
}
