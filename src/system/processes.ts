import { constants, readdirSync, readFileSync, readlinkSync, statSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lookOr } from '../core/guards.ts';
import { withOpenFile } from './files.ts';
import {
  ask,
  identityNow,
  identityOf,
  isSameProcess,
  type ProcessIdentity,
  type ProcessStat,
  statOf,
  type Terminal,
} from './process-identity.ts';

/** A variable of the environment by which processes are recognised that have left their group. */
export type Marker = { readonly name: string; readonly value: string };

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
function inSession(id: number): number[] {
  return processTable().flatMap(({ pid, group, session }) => (session === id || group === id ? [pid] : []));
}

/** The processes that have one of these files open to write to it. Empty where the system does not tell. */
function writersOf(files: readonly string[]): number[] {
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
  const numbers = lookOr(() => readdirSync(`/proc/${pid}/fd`), []);
  const path = (number: string) => lookOr(() => readlinkSync(`/proc/${pid}/fd/${number}`), '');
  return numbers.filter((number) => names.has(basename(path(number)).replace(/ \(deleted\)$/, '')));
}

/** Which file it is, whatever its name has become. */
function fileId(path: string): string | undefined {
  const stats = lookOr(() => statSync(path), undefined);
  return stats && `${stats.dev}:${stats.ino}`;
}

function isForWriting(pid: number, number: string): boolean {
  const info = lookOr(() => readFileSync(`/proc/${pid}/fdinfo/${number}`, 'utf8'), '');
  const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(info) ?? [];
  return (Number.parseInt(flags, 8) & (constants.O_WRONLY | constants.O_RDWR)) !== 0;
}

const NUL = Buffer.from([0]);

/** As it was when the process began to run its program: each variable between two NULs. */
function environmentOf(pid: number): Buffer {
  return Buffer.concat([NUL, lookOr(() => readFileSync(`/proc/${pid}/environ`), Buffer.alloc(0)), NUL]);
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
  return ask('ps', ['-axo', 'pid=,ppid=,pgid='])
    .split('\n')
    .flatMap((line) => {
      const [pid = 0, parent = 0, group = 0] = line.trim().split(/\s+/).map(Number);
      return pid > 0 ? [{ pid, parent, group, session: group }] : [];
    });
}

/** A system without /proc does not tell. */
function processIds(): number[] {
  const names = process.platform === 'linux' ? lookOr(() => readdirSync('/proc'), []) : [];
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

export type EndRequest = {
  /** The process that the others come from, which has a group and a session of its own; null when it is not known. */
  readonly leader: ProcessIdentity | null;
  /** What the leader is asked with first; the others are not asked then, so that it can end them itself. */
  readonly polite: 'SIGINT' | 'SIGTERM';
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  /** By which processes are found that have left the group. */
  readonly marker: Marker | null;
  /** Files that nobody else writes to: who has one of them open to write is one of them, whatever else it has left. */
  readonly files?: readonly string[];
};

const POLL_MS = 50;
/** How long the leader may take to end what it has started. */
const POLITE_MS = 3000;
/** How long a killed process may take to go. */
const KILLED_MS = 2000;
/** A process that forks faster than it can be killed is not waited for. */
const KILL_ROUNDS_MAX = 40;

/**
 * Ends a process and all that came from it: asks, terminates, kills, and looks whether they are gone. Every process is
 * looked at again before each signal, so that a later one with the same id is never signalled. Resolves at once when
 * nothing is there. `survivors`: what lives on. Never throws.
 */
export async function endProcesses(request: EndRequest): Promise<{ readonly survivors: readonly number[] }> {
  const known = knownProcesses(request);
  if (known.look().length === 0) return { survivors: [] };
  const { leader } = request;
  if (leader !== null && request.polite !== 'SIGTERM' && isSameProcess(leader)) {
    signal(leader, request.polite);
    for (let waited = 0; waited < POLITE_MS && isSameProcess(leader); waited += POLL_MS) await sleep(POLL_MS);
    if (known.look().length === 0) return { survivors: [] };
  }
  for (const one of known.look()) signal(one, 'SIGTERM');
  if (await known.areGoneWithin(request.graceMs)) return { survivors: [] };
  for (let round = 0; round < KILL_ROUNDS_MAX; round++) {
    for (const one of known.look()) signal(one, 'SIGKILL');
    if (await known.areGoneWithin(KILLED_MS / KILL_ROUNDS_MAX)) return { survivors: [] };
  }
  return { survivors: known.look().map(({ pid }) => pid) };
}

/** All processes that have ever been seen to belong to the one that is ended; `look` finds what has come to them since. */
function knownProcesses({ leader, marker, files = [] }: EndRequest) {
  const seen = new Map<number, ProcessIdentity>();
  if (leader !== null && isSameProcess(leader)) seen.set(leader.pid, leader);
  const living = () => [...seen.values()].filter(isSameProcess);
  const look = () => {
    const found = [
      ...descendantsOf(...living().map(({ pid }) => pid)),
      ...groupOf(leader),
      ...(marker === null ? [] : withMarker(marker)),
      ...writersOf(files),
    ];
    for (const pid of found) {
      const identity = pid === process.pid ? undefined : identityOf(pid);
      if (identity !== undefined) seen.set(pid, identity);
    }
    return living();
  };
  const areGoneWithin = async (ms: number) => {
    for (let waited = 0; waited < ms; waited += POLL_MS) {
      if (living().length === 0 && look().length === 0) return true;
      await sleep(Math.min(POLL_MS, ms - waited));
    }
    return look().length === 0;
  };
  return { look, areGoneWithin };
}

/** The group's id is free again when all of it are gone; then it may be that of a process which is none of ours. */
function groupOf(leader: ProcessIdentity | null): number[] {
  const holder = leader === null ? undefined : identityOf(leader.pid);
  return leader === null || (holder !== undefined && holder.start !== leader.start)
    ? []
    : inSession(leader.pid);
}

function signal(target: ProcessIdentity, name: NodeJS.Signals): void {
  // It throws when the process has just ended, which is what was wanted, or is not ours to end: then it is a survivor.
  if (isSameProcess(target)) lookOr(() => process.kill(target.pid, name), false);
}

/** A chain of processes that is longer runs in a circle. */
const LEVELS_MAX = 64;

/**
 * Whether a process above this one was started with the variable, however its own environment looks by now. False where
 * the system does not tell.
 */
export function isSetAbove(name: string, pid: number = process.pid): boolean {
  return processesAbove(pid).some((parent) => environmentOf(parent).includes(`\0${name}=`));
}

/**
 * The first of these programs that a process above this one runs, itself or by an interpreter: what a shell starts last
 * takes the shell's place, and its environment with it. Undefined where the system does not tell.
 */
export function programAbove(names: readonly string[], pid: number = process.pid): string | undefined {
  const running = processesAbove(pid).flatMap(programsOf);
  return names.find((name) => running.includes(name));
}

/** The processes above this one, the nearest first. Empty where the system does not tell. */
function processesAbove(pid: number): number[] {
  const above: number[] = [];
  if (process.platform !== 'linux') return above;
  let parent = statOf(pid)?.parent ?? 0;
  while (above.length < LEVELS_MAX && parent > 1) {
    above.push(parent);
    parent = statOf(parent)?.parent ?? 0;
  }
  return above;
}

const INTERPRETER = /^(?:node|bun|deno)$/;

/** The names by which the process was called: `codex`, or also that of the script in `node …/bundle/gemini.js`. */
function programsOf(pid: number): string[] {
  const words = lookOr(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').split('\0');
  const program = nameOf(words[0] ?? '');
  const script = INTERPRETER.test(program) ? words.slice(1).find((word) => !word.startsWith('-')) : undefined;
  return script === undefined ? [program] : [program, nameOf(script)];
}

function nameOf(path: string): string {
  return basename(path).replace(/\.(?:exe|[cm]?js)$/, '');
}

/** The terminals of people: where this process was asked for something, and telling something there. */

const STREAMS = [0, 1, 2];

/**
 * The terminal of this process, or else of the nearest one above it that has one, such as the client whose tool started us.
 * Null where there is none, and where the system does not tell.
 */
export function terminalAbove(): Terminal | null {
  if (process.platform !== 'linux') return null;
  const chain = [process.pid, ...processesAbove(process.pid)];
  const first = chain.findIndex((pid) => terminalOf(pid) !== undefined);
  const path = terminalOf(chain[first] ?? 0);
  if (path === undefined) return null;
  // The shell lives as long as the window does, what was typed into it does not.
  const rest = chain.slice(first);
  const end = rest.findIndex((pid) => terminalOf(pid) !== path);
  const owner = rest[(end < 0 ? rest.length : end) - 1] ?? process.pid;
  return { path, owner: identityNow(owner) };
}

/** A notification of the terminal (OSC 9, as iTerm2 has it) and its bell. Returns false if it could not be written. */
export function notifyTerminal({ path, owner }: Terminal, text: string): boolean {
  if (!isSameProcess(owner) || terminalOf(owner.pid) !== path) return false;
  const flags = constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK;
  const write = (terminal: number) => writeSync(terminal, `\x1b]9;${text}\x1b\\\x07`) > 0;
  return lookOr(() => withOpenFile(path, flags, write), false);
}

function terminalOf(pid: number): string | undefined {
  const files = STREAMS.map((stream) => lookOr(() => readlinkSync(`/proc/${pid}/fd/${stream}`), ''));
  return files.find((file) => /^\/dev\/(?:pts\/\d+|tty\d+)$/.test(file));
}
