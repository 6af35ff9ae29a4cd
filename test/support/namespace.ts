import { canRun } from './program.ts';

/** `unshare` gives a process mounts of its own; without root it needs a user namespace for that. */
const UNSHARE = process.getuid?.() === 0 ? ['unshare', '--mount'] : ['unshare', '--mount', '--map-root-user'];

export const NO_NAMESPACES: string | undefined = canRun([...UNSHARE, 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'])
  ? undefined
  : 'this machine does not let us mount in a namespace of our own';

/** A shell script with mounts of its own; `$0`, `$1` … are the words. Ends at the first command that fails. */
export function inNamespace(script: string, words: readonly string[]): string[] {
  return [...UNSHARE, 'sh', '-euc', script, ...words];
}
