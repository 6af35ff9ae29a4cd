import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { lookOr } from '../core/guards.ts';

/** A process that is recognised again: a process id alone may be somebody else's by now. */
export type ProcessIdentity = {
  readonly pid: number;
  /** When it started, in the system's own unit; empty where the system does not say. */
  readonly start: string;
  /** Of the system's start, and behind a slash of the namespace of process ids; empty where the system does not say. */
  readonly boot: string;
};

/** A person's terminal. `owner`: as long as this process lives, the path is the same terminal. */
export type Terminal = { readonly path: string; readonly owner: ProcessIdentity };

/** A process in one text, for where it is written down. */
export function identityText({ pid, boot, start }: ProcessIdentity): string {
  return `${pid} ${boot} ${start}`;
}

/** The process in such a text; null for an id alone, since that is any later process's as well. */
export function identityIn(text: string): ProcessIdentity | null {
  const [, pid, boot = '', start = ''] = /^(\d+) (\S*) (.*)$/.exec(text) ?? [];
  return pid === undefined ? null : { pid: Number(pid), boot, start };
}

/** The variable that every process of a turn has: the turn's mark. */
export const RUN_VARIABLE = 'SELF_GENERATION_RUN';

/** How a process ended, by its own code or by a signal. */
export type Exit = { readonly code: number | null; readonly signal: string | null };

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

/** Whether these name the same process, which may have ended. */
export function isSameIdentity(one: ProcessIdentity | null, other: ProcessIdentity): boolean {
  return one !== null && one.pid === other.pid && one.start === other.start && one.boot === other.boot;
}

/** What Linux says of a process in `/proc/<pid>/stat`. */
export type ProcessStat = {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Ticks since the system's start. */
  readonly start: string;
};

/** Counted from the first field after the name, which may hold anything. */
const FIELDS = { state: 0, parent: 1, session: 3, start: 19 };
const ASK_TIMEOUT_MS = 2000;

/** The process that has this id now; undefined when there is none, or only one that has ended and is not yet reaped. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  if (process.platform === 'linux') {
    const stat = statOf(pid);
    return stat === undefined ? undefined : { pid, start: stat.start, boot: currentBoot() };
  }
  if (!isAlive(pid)) return undefined;
  return { pid, start: startAsPsSays(pid), boot: currentBoot() };
}

/** A process that lived a moment ago. Of one that has ended since then, or is hidden, no more is known than its id. */
export function identityNow(pid: number): ProcessIdentity {
  return identityOf(pid) ?? { pid, start: '', boot: currentBoot() };
}

/** Whether this very process is seen to live, and not a later one with its id. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  const now = identityOf(identity.pid);
  return now !== undefined && now.start === identity.start && isSeenFromHere(identity);
}

/** Whether the process has certainly ended: of one that cannot be seen from here nothing is known. */
export function isGone(identity: ProcessIdentity): boolean {
  return isJudged(identity) && !isSameProcess(identity);
}

/** Whether it can be said from here if the process lives. */
export function isJudged(identity: ProcessIdentity): boolean {
  return isOtherBoot(identity) || isSeenFromHere(identity);
}

/**
 * Whether its id means here what it meant where it was written down. In a container or a sandbox with process ids of its
 * own it means another process, or none, also when the state directory is the same.
 */
function isSeenFromHere({ boot }: ProcessIdentity): boolean {
  const [thenBoot, thenNamespace = ''] = boot.split('/');
  const [nowBoot, nowNamespace = ''] = currentBoot().split('/');
  if (thenBoot !== nowBoot) return false;
  return thenNamespace === '' || nowNamespace === '' || thenNamespace === nowNamespace;
}

/** Of this process, once the system has said it: asking takes longer than all else that is looked at of a process. */
let knownBoot = '';

/**
 * Which start of the system this is and, on Linux, which namespace of process ids: `<boot>/<namespace>`. Empty where the
 * system does not say.
 */
export function currentBoot(): string {
  knownBoot ||= lookOr(bootAsSystemSays, '');
  return knownBoot;
}

function bootAsSystemSays(): string {
  if (process.platform === 'darwin') return ask('sysctl', ['-n', 'kern.bootsessionuuid']);
  if (process.platform !== 'linux') return '';
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  // A system that does not say has one for all.
  const namespace = lookOr(() => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0], undefined);
  return namespace === undefined ? boot : `${boot}/${namespace}`;
}

/** Whether the process was seen before the system was last started: then nothing of it lives. */
export function isOtherBoot({ boot }: ProcessIdentity): boolean {
  const [then, now] = [boot, currentBoot()].map((one) => one.split('/')[0]);
  return then !== '' && now !== '' && then !== now;
}

/** What Linux says of a living process; undefined when there is none. */
export function statOf(pid: number): ProcessStat | undefined {
  const stat = lookOr(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const { [FIELDS.state]: state, [FIELDS.start]: start } = fields;
  if (state === 'Z' || state === 'X' || start === undefined) return undefined;
  const [parent = 0, group = 0, session = 0] = fields.slice(FIELDS.parent, FIELDS.session + 1).map(Number);
  return { parent, group, session, start };
}

/**
 * When the process started, as `ps` says it where there is no /proc: in words that are the same for everybody, in whatever
 * time zone and language they live.
 */
export function startAsPsSays(pid: number): string {
  return process.platform === 'win32' ? '' : ask('ps', ['-o', 'lstart=', '-p', String(pid)]);
}

/** What a program of the system prints, without white space around it; empty when it cannot be run. */
export function ask(program: string, args: readonly string[]): string {
  const env = { ...process.env, TZ: 'UTC', LC_ALL: 'C' };
  const { stdout } = spawnSync(program, args, { encoding: 'utf8', timeout: ASK_TIMEOUT_MS, env });
  return typeof stdout === 'string' ? stdout.trim() : '';
}
