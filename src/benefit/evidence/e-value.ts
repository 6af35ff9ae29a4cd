/**
 * Evidence as a bet: what one unit staked against "telling changes nothing" has become. Where that is true it is expected to
 * stay one unit however often and whenever one looks, so that it ever reaches 20 with a probability of at most 1/20 (Ville 1939).
 */

/** From here on something is taken as known: wrong in at most 5 % of all cases, looked at as often as one likes. */
export const ENOUGH = 20;

/** Above it a figure says nothing more; Infinity would be null in JSON. */
const LOG_MAX = Math.log(1e300);

/** The logarithm of the mean of what these are the logarithms of, of which each may be too large or small for a number. */
export function logMean(logs: readonly number[]): number {
  const most = Math.max(...logs);
  return most + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - most), 0) / logs.length);
}

/** Evidence from its logarithm: 0 to 1e300; 1 is none, 20 is {@link ENOUGH}. */
export function fromLog(log: number): number {
  return Math.exp(Math.min(log, LOG_MAX));
}
