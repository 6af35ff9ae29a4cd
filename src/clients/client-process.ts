import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../core/state-paths.ts';
import type { TurnFiles } from '../runs/model/run.ts';
import type { Turn } from '../runs/model/turn.ts';
import { readTail } from '../system/lines.ts';
import {
  type Exit,
  identityNow,
  identityOf,
  isOtherBoot,
  isSameProcess,
  type ProcessIdentity,
  RUN_VARIABLE,
  statOf,
} from '../system/process-identity.ts';
import { type EndRequest, endProcesses, type Marker, withMarker } from '../system/processes.ts';
import { type CommandResult, findProgram, startDetached, withAbsolutePath } from '../system/run-command.ts';
import type { TurnCommand } from './client.ts';
import { variablesNamed } from './route.ts';

/** A client as a process: started, found again, ended with all that came from it; for a run and for an analysis. */

const PRIVATE_FILE = { mode: 0o600 } as const;
const PRIVATE_DIRECTORY = { mode: 0o700, recursive: true } as const;
/** From SIGTERM to SIGKILL. */
const GRACE_MS = 5000;
const TICK_MS = 100;
/** What somebody who waits for an answer takes of it. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
export const STDERR_BYTES_MAX = 16 * 1024;

/** Writes what the client finds at its start: its prompt, its private directory, empty files for what it says. */
export function writeClientFiles(
  files: TurnFiles,
  command: Pick<TurnCommand, 'stdin' | 'files' | 'keeps'>,
): void {
  mkdirSync(files.directory, PRIVATE_DIRECTORY);
  // An earlier try of the same turn leaves nothing behind.
  for (const path of [files.output, files.errors, files.patch, files.home])
    rmSync(path, { recursive: true, force: true });
  for (const path of [files.output, files.errors]) writeFileSync(path, '', PRIVATE_FILE);
  mkdirSync(files.home, PRIVATE_DIRECTORY);
  for (const name of command.keeps) {
    const [kept, link] = [join(files.kept, name), join(files.home, name)];
    for (const directory of [kept, dirname(link)]) mkdirSync(directory, PRIVATE_DIRECTORY);
    symlinkSync(kept, link, 'junction'); // As links are not for everybody on Windows.
  }
  writeFileSync(files.prompt, command.stdin, PRIVATE_FILE);
  for (const [name, text] of Object.entries(command.files)) {
    const path = join(files.home, name);
    mkdirSync(dirname(path), PRIVATE_DIRECTORY);
    writeFileSync(path, text, PRIVATE_FILE);
  }
}

export type Launch = {
  readonly command: TurnCommand;
  /** As writeClientFiles() left them. */
  readonly files: TurnFiles;
  readonly cwd: string;
  /** The user's: the client gets what is named of it, so that no secret of others goes along. */
  readonly env: Environment;
  /** What it gets besides what the command passes on. */
  readonly passedOn: readonly string[];
};

/** Starts the client, with the turn's mark. @throws Error that says why it cannot be started. */
export function launchClient({ command, files, cwd, env, passedOn }: Launch): OwnClient {
  // By the name alone, it would be looked for in the directory where it is to work too.
  const program = isAbsolute(command.program)
    ? command.program
    : findProgram(command.program, env, process.platform);
  if (program === undefined)
    throw new Error(`Cannot start "${command.program}": there is no such program on the PATH`);
  const marker = markerOf(files);
  const given = {
    ...variablesNamed(env, [...passedOn, ...command.passedOn]),
    ...command.env,
    [marker.name]: marker.value,
  };
  const streams = { stdin: files.prompt, stdout: files.output, stderr: files.errors };
  const at = { cwd, env: withAbsolutePath(given, process.platform) };
  const { pid, exited } = startDetached(program, command.args, { ...at, ...streams });
  return { identity: identityNow(pid), exited };
}

const markerOf = ({ mark }: TurnFiles): Marker => ({ name: RUN_VARIABLE, value: mark });

/** A client that runs. */
export type LiveClient = {
  readonly identity: ProcessIdentity;
  /** Null: another process started it, so that nobody will say how it ended. */
  readonly exited: Promise<Exit> | null;
};
type OwnClient = LiveClient & { readonly exited: Promise<Exit> };

type Found =
  | { readonly kind: 'alive'; readonly client: LiveClient }
  /** Nobody saw the end. */
  | { readonly kind: 'gone' }
  /** The system was started again since: no process of before can be alive, and every id is somebody else's. */
  | { readonly kind: 'other boot' };

/** The client's process, if it was written down, and the one that started it. */
type Left = Pick<Turn, 'process' | 'owner'>;

/** What is left of a client that another process launched. */
export function findClient(left: Left, files: TurnFiles): Found {
  const witness = left.process ?? left.owner;
  if (witness !== null && isOtherBoot(witness)) return { kind: 'other boot' };
  const identity = left.process ?? markedLeader(files);
  if (identity === undefined || !isSameProcess(identity)) return { kind: 'gone' };
  return { kind: 'alive', client: { identity, exited: null } };
}

/** The first process of the turn that leads a session: the client was started so. */
function markedLeader(files: TurnFiles): ProcessIdentity | undefined {
  const leaders = withMarker(markerOf(files)).filter((pid) => statOf(pid)?.session === pid);
  const identities = leaders.flatMap((pid) => identityOf(pid) ?? []);
  return identities.sort((one, other) => Number(one.start) - Number(other.start))[0];
}

/** Ends the client, unless it is gone and its id perhaps somebody else's, and all that came from it. Never throws. */
export function endClient(
  leader: ProcessIdentity | null,
  files: TurnFiles,
  polite: EndRequest['polite'],
): ReturnType<typeof endProcesses> {
  const written = [files.output, files.errors];
  return endProcesses({ leader, polite, graceMs: GRACE_MS, marker: markerOf(files), files: written });
}

/** Ends what is left of a client whose own process does not do that any more. Never throws. */
export async function endLeftClient(left: Left, files: TurnFiles): Promise<void> {
  const found = findClient(left, files);
  if (found.kind !== 'other boot')
    await endClient(found.kind === 'alive' ? found.client.identity : null, files, 'SIGTERM');
}

export type Waiting = {
  readonly polite: EndRequest['polite'];
  readonly timeoutMs: number;
  /** Ends the client early, as the time limit does. */
  readonly signal?: AbortSignal;
  /** Told of the client at its start; when this throws, the client is ended again. */
  readonly onStart?: (client: ProcessIdentity) => void;
};

/** Starts a client and waits for what it says; nothing of it is left then. @throws Error when it cannot be started. */
export async function runClientToEnd(launch: Launch, waiting: Waiting): Promise<CommandResult> {
  const { files } = launch;
  const client = launchClient(launch);
  let cut: CommandResult | undefined;
  try {
    waiting.onStart?.(client.identity);
    cut = await waitFor(client, files, waiting);
  } finally {
    await endClient(client.identity, files, waiting.polite);
  }
  if (cut !== undefined) return cut;
  const { code, signal } = await client.exited;
  if (code === null) return { kind: 'failed', reason: `ended by ${signal}` };
  const stdout = readFileSync(files.output, 'utf8');
  return { kind: 'exited', code, stdout, stderr: readTail(files.errors, STDERR_BYTES_MAX) };
}

/** Until it has ended, or why it is not waited for. */
async function waitFor(
  { exited }: OwnClient,
  { output, errors }: TurnFiles,
  { timeoutMs, signal }: Waiting,
): Promise<CommandResult | undefined> {
  let isGone = false;
  const gone = exited.then(() => true);
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    if (statSync(output).size + statSync(errors).size > OUTPUT_BYTES_MAX)
      return { kind: 'failed', reason: `it printed more than ${OUTPUT_BYTES_MAX} bytes` };
    if (isGone) return undefined;
    if (signal?.aborted) return { kind: 'failed', reason: 'it was interrupted' };
    if (performance.now() >= deadlineMs) return { kind: 'timed-out' };
    isGone = await Promise.race([gone, sleep(TICK_MS, false)]);
  }
}
