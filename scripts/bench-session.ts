/**
 * What the hooks cost a session of the real client: 30 calls and three sub-agents, offline against a scripted model, with
 * our hooks and without, in pairs.
 *
 *   bun scripts/bench-session.ts               ten pairs
 *   bun scripts/bench-session.ts --pairs 3
 *
 * Exits with 1 when the median ratio or the number of processes is above its limit.
 */
import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { answer, say, startSubAgent, useTool } from '../src/setup/scripted-model.ts';
import {
  clientNamed,
  makeWorkspace,
  removeWorkspace,
  runProductOrThrow,
  type Workspace,
} from '../test/clients/claude-code.ts';
import { CLIENT_VERSION, installClient } from '../test/clients/install-client.ts';
import { enterNamespace } from '../test/clients/namespace.ts';
import type { Scenario } from '../test/clients/scenarios.ts';
import { median } from './measure.ts';

const BINARY = join(import.meta.dir, '..', 'dist', 'self-generation');
const RATIO_MAX = 1.1;
const PROCESSES_MAX = 20;
const AGENTS = ['one', 'two', 'three'];
const CALLS_OF_MAIN = 15;
const CALLS_OF_AGENT = 5;

function session(): Scenario {
  const call = (index: number) => answer(useTool('Bash', { command: `echo ${index}`, description: 'Say' }));
  const calls = (count: number) => Array.from({ length: count }, (_, index) => call(index));
  const start = (name: string) => answer(startSubAgent('executor', name, { run_in_background: false }));
  const jobs = AGENTS.map((name) => [name, [...calls(CALLS_OF_AGENT), answer(say('done'))]]);
  return {
    prompt: '[[conv:main]] Work.',
    script: {
      main: [...calls(CALLS_OF_MAIN), ...AGENTS.map(start), answer(say('All done.'))],
      ...Object.fromEntries(jobs),
    },
    given: [],
    recorded: { prompts: [], toolUses: [], toolErrors: [], stops: [] },
  };
}

async function elapsedMs(workspace: Workspace): Promise<number> {
  const startedMs = performance.now();
  const { end } = await clientNamed(workspace, session());
  if (end.kind !== 'exited' || end.code !== 0)
    throw new Error(`Cannot run the client: ${JSON.stringify(end)}`);
  return performance.now() - startedMs;
}

/** Puts a script before the installed program that notes each of its starts. */
async function countProcesses(workspace: Workspace): Promise<number> {
  const program = join(workspace.home, '.self-generation', 'hooks', 'self-generation');
  const log = join(workspace.root, 'starts.log');
  await rename(program, `${program}.real`);
  await writeFile(program, `#!/bin/sh\necho "$*" >> '${log}'\nexec '${program}.real' "$@"\n`);
  await chmod(program, 0o700);
  await elapsedMs(workspace);
  await Bun.sleep(1000); // What goes on detached has begun by then.
  return (await readFile(log, 'utf8')).trim().split('\n').length;
}

const { values: flags } = parseArgs({ options: { pairs: { type: 'string', default: '10' } } });
const entry = await enterNamespace(() => installClient(CLIENT_VERSION));
if (entry.kind === 'ended') process.exit(entry.exitCode);
if (entry.kind === 'refused') throw new Error(`Cannot measure: ${entry.reason}`);
const client = await installClient(CLIENT_VERSION);
const plain = await makeWorkspace({ client, binary: BINARY });
const hooked = await makeWorkspace({ client, binary: BINARY });
try {
  await runProductOrThrow(hooked, ['install']);
  for (const workspace of [plain, hooked]) await elapsedMs(workspace);
  const pairs: { plain: number; hooked: number }[] = [];
  for (let pair = 0; pair < Number(flags.pairs); pair++) {
    const first = pair % 2 === 0 ? { plain: await elapsedMs(plain) } : { hooked: await elapsedMs(hooked) };
    const second = pair % 2 === 0 ? { hooked: await elapsedMs(hooked) } : { plain: await elapsedMs(plain) };
    pairs.push({ ...first, ...second } as { plain: number; hooked: number });
  }
  const ratio = median(pairs.map((pair) => pair.hooked / pair.plain));
  const processes = await countProcesses(hooked);
  console.log(`without hooks ${median(pairs.map(({ plain }) => plain)).toFixed(0)} ms`);
  console.log(`with hooks    ${median(pairs.map(({ hooked }) => hooked)).toFixed(0)} ms`);
  console.log(`ratio         ${ratio.toFixed(3)} (limit ${RATIO_MAX}, median of ${pairs.length} pairs)`);
  console.log(`processes     ${processes} (limit ${PROCESSES_MAX})`);
  process.exitCode = ratio <= RATIO_MAX && processes <= PROCESSES_MAX ? 0 : 1;
} finally {
  for (const workspace of [plain, hooked]) await removeWorkspace(workspace);
}
