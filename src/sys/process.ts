/** Whether a process of this id exists; one that belongs to somebody else exists too. */
export function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The directory of this process. @throws Error in words when somebody has removed it. */
export function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new Error('The current directory is gone: change to one that is there', { cause });
  }
}

/** No file of ours is for other users' eyes; SQLite's are made with this as well. */
const PRIVATE_UMASK = 0o077;

/** A hook's start is tuned for a life of milliseconds; what calls this may run for days. */
export function becomeLongLived(): void {
  Bun.unsafe.setJITPolicy(1);
  process.umask(PRIVATE_UMASK);
}
