import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import './conformance/adopt-cases.ts';
import { CASES, createContext, type Worker } from './conformance/context.ts';
import './conformance/driver-cases.ts';
import './conformance/event-cases.ts';
import './conformance/knowledge-cases.ts';
import './conformance/learning-cases.ts';
import './conformance/ledger-cases.ts';
import './conformance/retention-cases.ts';
import './conformance/runs-cases.ts';
import './conformance/spool-cases.ts';
import './conformance/summary-cases.ts';

/** One suite for both drivers: whatever runs under the one has to run alike under the other. */
export { CASES };

/** Runs one case in a home directory of its own. `program` starts this suite's workers: see conformance.main.ts. */
export async function runCase(one: (typeof CASES)[number], program: readonly string[]): Promise<void> {
  const home = mkdtempSync(`${tmpdir()}/store-`);
  const context = createContext(home, (role, ...words) =>
    startWorker([...program, 'worker', role, home, ...words]),
  );
  try {
    await one.run(context);
  } finally {
    context.dispose();
    rmSync(home, { recursive: true, force: true });
  }
}

export function startWorker([program = '', ...words]: readonly string[]): Worker {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const ready = withResolvers<string>();
  const ended = withResolvers<{ code: number | null; output: string }>();
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
    if (output.includes('\n')) ready.resolve(output.split('\n')[0] ?? '');
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  child.on('error', ended.reject);
  child.on('close', (code) => {
    ready.resolve(output);
    ended.resolve({ code, output });
  });
  return { ready: ready.promise, ended: ended.promise, kill: () => child.kill('SIGKILL') };
}

/** Promise.withResolvers() came with Node 22. */
function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}
