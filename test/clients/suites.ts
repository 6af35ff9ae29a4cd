import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { CLIENT_NAMES } from '../support/clients.ts';
import { installCli } from './install-clis.ts';

/**
 * Runs the suites of the real clients, a few at a time, each in a process of its own; what one says is printed when it is
 * done. Ends with 1 when one has failed.
 *
 *   bun test/clients/suites.ts              all of them
 *   bun test/clients/suites.ts mcp wake     these
 */

const ENDING = '.client.ts';
/** Says how soon a session is woken: nothing else is to be at work. */
const ALONE = ['wake'];
const AT_ONCE_MAX = Math.max(1, Math.min(4, availableParallelism()));

async function passes(name: string): Promise<boolean> {
  const startMs = performance.now();
  const child = Bun.spawn([process.execPath, 'test', `./${name}${ENDING}`], {
    cwd: import.meta.dir,
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const isGood = (await child.exited) === 0;
  const seconds = Math.round((performance.now() - startMs) / 1000);
  console.log(`${said.join('')}== ${name}: ${isGood ? 'passed' : 'FAILED'} in ${seconds} s\n`);
  return isGood;
}

/** The names of the suites that failed. */
async function failing(names: readonly string[], atOnce: number): Promise<string[]> {
  const waiting = [...names];
  const failed: string[] = [];
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      if (!(await passes(name))) failed.push(name);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return failed;
}

const found = readdirSync(import.meta.dir).filter((file) => file.endsWith(ENDING));
const all = found.map((file) => file.slice(0, -ENDING.length)).sort();
const wanted = process.argv.length > 2 ? process.argv.slice(2) : all;
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`Cannot run ${unknown.join(', ')} in ${import.meta.dir}: the suites are ${all.join(', ')}`);
  process.exit(2);
}
await Promise.all(CLIENT_NAMES.map(installCli)); // Once, and not by each of those that begin.
const together = wanted.filter((name) => !ALONE.includes(name));
const failed = [
  ...(await failing(together, AT_ONCE_MAX)),
  ...(await failing(
    wanted.filter((name) => ALONE.includes(name)),
    1,
  )),
];
if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;
