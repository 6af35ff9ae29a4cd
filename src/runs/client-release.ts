import { statSync } from 'node:fs';
import type { Client } from '../clients/client.ts';
import { clientNamed } from '../clients/clients.ts';
import { PASSED_ON, variablesNamed } from '../clients/route.ts';
import { asRecord, type Json, lookOr, parseJson } from '../core/guards.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { writeFileAtomic } from '../system/atomic-file.ts';
import { readPlainFile } from '../system/files.ts';
import { findProgram, runCommand } from '../system/run-command.ts';
import { readRuns, runsTransaction } from './store/rows.ts';
import { changeRun, getRun } from './store/runs.ts';
import { logRunFailure, type RunsWorld } from './world.ts';

/** Which release of a client is installed. Asking takes a start of it: a supervisor asks, once for each program file. */

const ASK_TIMEOUT_MS = 10_000;

/** What a run should say about the client's release, as far as that is known without asking; null: nothing. */
export function releaseWarning(client: Client, world: RunsWorld): string | null {
  const file = programFile(client, world);
  const known = file && readKnown(world.paths)[file.stamp];
  return typeof known === 'string' ? warningFor(client, known) : null;
}

/** Asks the client of a run for its release unless that is known, and enters a warning when it is a new one. Never throws. */
export async function noteRelease(runId: string, world: RunsWorld): Promise<void> {
  try {
    const run = readRuns(world.paths, (db) => getRun(runId, db)?.run);
    if (run === undefined) return;
    const client = clientNamed(run.client);
    const file = programFile(client, world);
    if (file === undefined || readKnown(world.paths)[file.stamp] !== undefined) return;
    const release = (await ask(file.path, client, world)) ?? '';
    remember(file, release, world.paths);
    const warning = warningFor(client, release);
    if (warning === null) return;
    runsTransaction(world.paths, (db) => {
      const now = getRun(runId, db)?.run.warning ?? null;
      changeRun(runId, { warning: now === null ? warning : `${now}; ${warning}` }, db);
    });
  } catch (error) {
    logRunFailure(runId, error, world.paths);
  }
}

function warningFor({ name, version }: Client, release: string): string | null {
  if (version.measured.includes(release)) return null;
  const tried = `this program was tried with ${version.measured.join(', ')}`;
  return release === ''
    ? `the version of ${name} is unknown; ${tried}`
    : `${name} ${release} is new here; ${tried}`;
}

async function ask(path: string, { version }: Client, { env, paths }: RunsWorld) {
  const result = await runCommand(path, ['--version'], {
    env: { ...variablesNamed(env, PASSED_ON), SELF_GENERATION_INTERNAL: '1' },
    cwd: paths.home,
    timeoutMs: ASK_TIMEOUT_MS,
  });
  return result.kind === 'exited' && result.code === 0 ? version.read(result.stdout) : undefined;
}

/** `stamp`: another one for another release, which is another file, or a newer one. */
type ProgramFile = { readonly path: string; readonly stamp: string };

function programFile({ name }: Client, { env, platform }: RunsWorld): ProgramFile | undefined {
  const path = findProgram(name, env, platform);
  const stats = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  if (path === undefined || stats === undefined) return undefined;
  return { path, stamp: `${path} ${stats.size} ${stats.mtimeMs}` };
}

function knownPath({ data }: StatePaths): string {
  return `${data}/client-releases.json`;
}

function readKnown(paths: StatePaths): Json {
  const known = lookOr(() => parseJson(readPlainFile(knownPath(paths)).toString()), undefined);
  return asRecord(known);
}

/** Of what the file was before, nothing is kept. */
function remember({ path, stamp }: ProgramFile, release: string, paths: StatePaths): void {
  const others = Object.entries(readKnown(paths)).filter(([one]) => !one.startsWith(`${path} `));
  writeFileAtomic(knownPath(paths), JSON.stringify(Object.fromEntries([...others, [stamp, release]])));
}
