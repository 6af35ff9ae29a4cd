import type { Transform } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { reasonOf } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import { startLookingAfter } from '../runs/reconcile.ts';
import { isInsideRun, runsWorld, thisProcess } from '../runs/world.ts';
import { becomeLongLived } from '../system/process-identity.ts';
import { boundedLines } from './bounded-lines.ts';
import { newServer } from './server.ts';

/** The MCP server on standard input and output. Resolves when the input has ended and what was begun is done; never ends the process. */
export async function serveMcp(): Promise<void> {
  const here = thisProcess();
  const world = runsWorld({ ...here, env: withoutEmpty(here.env) });
  if (world === undefined) {
    complain('serve MCP', 'HOME is not set to an absolute path; set it and run again');
    process.exitCode = 1;
    return;
  }
  becomeLongLived();
  const gone = new AbortController();
  const calls = new Set<Promise<unknown>>();
  const watch = (call: Promise<unknown>) => {
    calls.add(call);
    call.catch(() => {}).finally(() => calls.delete(call)); // The client is told what went wrong.
  };
  const isInside = isInsideRun(world); // It stays so when the processes above have gone.
  const server = newServer({ world, isInside, gone: gone.signal, complain, watch });
  const lines = boundedLines((line) => process.stdout.write(line));
  const ended = connectionEnded(lines);
  await server.connect(new StdioServerTransport(process.stdin.pipe(lines), process.stdout));
  const stopLooking = startLookingAfter(world);
  await ended;
  stopLooking();
  gone.abort();
  await Promise.allSettled(calls);
  await new Promise(setImmediate); // What has been answered has to be written, if somebody still reads.
  await server.close();
}

/** A variable that a client filled in with nothing, or did not know how to fill in, is none. */
function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== '' && !/^\$\{\w+:-\}$/.test(value ?? '')),
  );
}

/** The client has closed its end, or is dead: for both, its end of the pipes is closed. */
function connectionEnded(lines: Transform): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['close', 'error']) process.stdin.once(event, () => lines.end());
    lines.once('end', resolve);
    process.stdout.on('error', () => resolve());
  });
}

/** Standard output belongs to the protocol. */
function complain(what: string, error: unknown): void {
  process.stderr.write(`error: Cannot ${what}: ${reasonOf(error)}\n`);
}
