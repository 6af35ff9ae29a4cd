import { spawnSync } from 'node:child_process';
import { constants, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { type ProcessStat, seen, statOf } from './process-identity.ts';

/** A variable of the environment by which processes are recognised that have left their group. */
export type Marker = { readonly name: string; readonly value: string };

const ASK_TIMEOUT_MS = 2000;

/** All processes that come from these, without themselves. What has been given away to init is not among them. */
export function descendantsOf(...pids: readonly number[]): number[] {
  if (pids.length === 0) return [];
  const children = Map.groupBy(processTable(), ({ parent }) => parent);
  // A table that is read while processes come and go may run in circles.
  const found = new Set(pids);
  for (const pid of found) for (const child of children.get(pid) ?? []) found.add(child.pid);
  return [...found].slice(pids.length);
}

/** The processes that were started with this variable, or whose ancestors were. Empty where the system does not tell. */
export function withMarker({ name, value }: Marker): number[] {
  return processIds().filter((pid) => environmentOf(pid).includes(`\0${name}=${value}\0`));
}

/** The processes of a session or a group, as `setsid` makes them. Empty where the system does not tell. */
export function inSession(id: number): number[] {
  return processTable().flatMap(({ pid, group, session }) => (session === id || group === id ? [pid] : []));
}

/** The processes that have one of these files open to write to it. Empty where the system does not tell. */
export function writersOf(files: readonly string[]): number[] {
  const wanted = new Set(files.flatMap((path) => fileId(path) ?? []));
  if (wanted.size === 0) return [];
  const names = new Set(files.map((path) => basename(path)));
  return processIds().filter((pid) =>
    openFiles(pid, names).some((name) => {
      const id = fileId(`/proc/${pid}/fd/${name}`);
      return id !== undefined && wanted.has(id) && isForWriting(pid, name);
    }),
  );
}

/** By their numbers. To look at more than the name of a file may take for ever when a network is between. */
function openFiles(pid: number, names: ReadonlySet<string>): string[] {
  const numbers = seen(() => readdirSync(`/proc/${pid}/fd`), []);
  return numbers.filter((number) => names.has(openName(pid, number)));
}

function openName(pid: number, number: string): string {
  const path = seen(() => readlinkSync(`/proc/${pid}/fd/${number}`), '');
  return basename(path).replace(/ \(deleted\)$/, '');
}

/** Which file it is, whatever its name has become. */
function fileId(path: string): string | undefined {
  const stats = seen(() => statSync(path), undefined);
  return stats && `${stats.dev}:${stats.ino}`;
}

function isForWriting(pid: number, number: string): boolean {
  const info = seen(() => readFileSync(`/proc/${pid}/fdinfo/${number}`, 'utf8'), '');
  const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(info) ?? [];
  return (Number.parseInt(flags, 8) & (constants.O_WRONLY | constants.O_RDWR)) !== 0;
}

const NUL = Buffer.from([0]);

/** As it was when the process began to run its program: each variable between two NULs. */
export function environmentOf(pid: number): Buffer {
  return Buffer.concat([NUL, seen(() => readFileSync(`/proc/${pid}/environ`), Buffer.alloc(0)), NUL]);
}

type Entry = Pick<ProcessStat, 'parent' | 'group' | 'session'> & { readonly pid: number };

function processTable(): Entry[] {
  if (process.platform === 'win32') return [];
  if (process.platform === 'linux') {
    return processIds().flatMap((pid) => {
      const stat = statOf(pid);
      return stat === undefined ? [] : [{ pid, ...stat }];
    });
  }
  const asked = spawnSync('ps', ['-axo', 'pid=,ppid=,pgid='], {
    encoding: 'utf8',
    timeout: ASK_TIMEOUT_MS,
  });
  return (asked.stdout ?? '').split('\n').flatMap((line) => {
    const [pid = 0, parent = 0, group = 0] = line.trim().split(/\s+/).map(Number);
    return pid > 0 ? [{ pid, parent, group, session: group }] : [];
  });
}

/** A system without /proc does not tell. */
function processIds(): number[] {
  const names = process.platform === 'linux' ? seen(() => readdirSync('/proc'), []) : [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}
