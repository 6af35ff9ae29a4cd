/** What the measurements share: homes that are thrown away, programs that are run in them, figures, tables and limits. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Subprocess } from 'bun';
import Table from 'cli-table3';
import { type StatePaths, statePaths } from '../src/core/state-paths.ts';
import { compile } from './build.ts';

export const MIB = 1024 * 1024;

/** Works in a directory that is removed afterwards; relative paths are those of the repository. */
export async function inTemporary<T>(work: (root: string) => T | Promise<T>): Promise<T> {
  process.chdir(join(import.meta.dir, '..'));
  const root = mkdtempSync(join(tmpdir(), 'self-generation-bench-'));
  try {
    return await work(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Where the program keeps what it has of the user with this home. */
export function pathsIn(home: string): StatePaths {
  const paths = statePaths({ HOME: home }, process.platform);
  if (paths === undefined) throw new Error(`Cannot use "${home}": not absolute`);
  return paths;
}

/** A home with a project, settings, and a stand-in for the client on the PATH. */
export type Place = {
  readonly root: string;
  readonly project: string;
  readonly paths: StatePaths;
  readonly env: Record<string, string>;
};

/** Makes one. */
export function makePlace(root: string, client: string, config: object): Place {
  const paths = pathsIn(root);
  for (const name of ['bin', 'project', '.self-generation']) mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, 'bin', 'claude'), client, { mode: 0o755 });
  writeFileSync(paths.config, JSON.stringify(config));
  const env = { HOME: root, PATH: `${join(root, 'bin')}:${process.env.PATH}` };
  return { root, project: join(root, 'project'), paths, env };
}

/** The program to measure: this one, or else one that is compiled now. */
export async function programOr(given: string | undefined, root: string): Promise<string> {
  if (given === undefined) await compile('src/main.ts', join(root, 'self-generation'));
  return resolve(given ?? join(root, 'self-generation'));
}

/** Compiles a program that does nothing, with the flags of ours. */
export async function compileEmpty(): Promise<string> {
  mkdirSync('dist/bench', { recursive: true });
  writeFileSync('dist/bench/empty.ts', '');
  await compile('dist/bench/empty.ts', 'dist/bench/empty');
  return 'dist/bench/empty';
}

type Where = { readonly home: string; readonly cwd?: string; readonly env?: Record<string, string> };

/** Runs a program to its end; gives how long that took. @throws Error when it fails */
export function timed(command: readonly string[], { home, cwd = home, env }: Where, input = ''): number {
  const startedMs = performance.now();
  const { exitCode, stderr, stdout } = Bun.spawnSync([...command], {
    stdin: Buffer.from(input),
    env: env ?? { HOME: home, PATH: process.env.PATH },
    cwd,
  });
  const elapsedMs = performance.now() - startedMs;
  if (exitCode === 0) return elapsedMs;
  throw new Error(`Cannot measure "${command.join(' ')}": exit code ${exitCode} ${stderr}${stdout}`);
}

/** Waits for the end of a process; gives how long that took and its largest size. `look` is called all the time. */
export async function watched(child: Subprocess, look: () => void = () => {}) {
  const startedMs = performance.now();
  let peakMib = 0;
  while (child.exitCode === null && child.signalCode === null) {
    peakMib = Math.max(peakMib, peakMibOf(child.pid) ?? 0);
    look();
    await Promise.race([child.exited, Bun.sleep(10)]);
  }
  return { ms: performance.now() - startedMs, peakMib };
}

/**
 * The largest size that a running process has had; undefined when it has just ended, or this is no Linux. What the kernel
 * says of a finished child includes its parent's size at the time of the fork.
 */
export function peakMibOf(pid: number): number | undefined {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`))?.[1];
  return kib === undefined ? undefined : Number(kib) / 1024;
}

/** A file of /proc; empty for a process that has just gone. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** The median, or what another share of the values is below. */
export function median(values: readonly number[], share = 0.5): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

export type Random = {
  readonly next: () => number;
  readonly below: (limit: number) => number;
  readonly oneOf: <T>(items: readonly T[]) => T;
};

/** The same seed gives the same numbers. */
export function random(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { next, below, oneOf: (items) => items[below(items.length)] as (typeof items)[number] };
}

/** Prints a table without colours. */
export function printTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const table = new Table({ head: [...head], style: { head: [], border: [] } });
  table.push(...rows.map((row) => [...row]));
  console.log(table.toString());
}

/** Prints what is wrong; gives the exit code. */
export function exitCodeFor(faults: readonly string[]): number {
  for (const fault of faults) console.error(fault);
  return faults.length > 0 ? 1 : 0;
}

/** What is measured against `--version` of the same program, and how many times as long it may take. */
export type Subject = {
  readonly name: string;
  readonly most: number;
  readonly words: (round: number) => readonly string[];
  readonly after?: () => Promise<void>;
};

const ROUNDS_MIN = 20;
const WARM_UP_ROUNDS = 3;

/** Pairs, each time in another order, so that a drift of the machine's speed meets both alike; prints and judges them. */
export async function comparePairs(
  subjects: readonly Subject[],
  { what, wanted, slack = 1 }: { what: string; wanted: string | undefined; slack?: number },
  run: (words: readonly string[]) => number,
): Promise<number> {
  const rounds = Math.max(ROUNDS_MIN, Number(wanted ?? ROUNDS_MIN));
  const rows: string[][] = [];
  for (const { name, most, words, after = async () => {} } of subjects) {
    const [own, version]: [number[], number[]] = [[], []];
    for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
      const isFirst = round % 2 === 0;
      const before = isFirst ? run(['--version']) : undefined;
      const ms = run(words(round));
      if (!isFirst) await after();
      const versionMs = before ?? run(['--version']);
      if (isFirst) await after();
      if (round < 0) continue;
      own.push(ms);
      version.push(versionMs);
    }
    const ratio = median(own) / median(version);
    const verdict = ratio <= most * slack ? 'kept' : 'EXCEEDED';
    const figures = [median(own).toFixed(1), median(version).toFixed(1), ratio.toFixed(2)];
    rows.push([name, ...figures, (most * slack).toFixed(2), verdict]);
  }
  printTable([what, 'ms', '--version ms', 'ratio', 'at most', ''], rows);
  return rows.some((row) => row.at(-1) === 'EXCEEDED') ? 1 : 0;
}
