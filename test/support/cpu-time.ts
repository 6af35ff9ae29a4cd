/**
 * The processor time, in milliseconds, that an action takes in this process. What else runs on the machine does not count, so
 * that a limit on it holds on a busy one too.
 */
export function cpuTimeMs(action: () => void): number {
  const before = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
