import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { bringConfiguration, userOf } from '../../clients/agent-login.ts';
import { loginVariable } from '../../clients/client.ts';
import { clientNamed } from '../../clients/clients.ts';
import type { Environment, StatePaths } from '../../core/state-paths.ts';
import { isAway } from '../../runs/model/pool-role.ts';
import { attachMark, type Run, runDirectory, turnFiles } from '../../runs/model/run.ts';
import { activeTurn, attachedProcess } from '../../runs/requester.ts';
import { postponeArchive, runsTransaction, withRuns } from '../../runs/store/rows.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import type { RunsWorld } from '../../runs/world.ts';
import { ensurePrivateDirectory } from '../../system/atomic-file.ts';
import { identityNow, identityText } from '../../system/process-identity.ts';
import { findProgram, runAttached } from '../../system/run-command.ts';
import { printJson, visible } from '../output.ts';
import { aboutRun, complainOf, type JsonFlag, type RunsHere } from './runs-here.ts';

/** `subagents attach`: goes on with the session of a run in the client itself; without a terminal says how. */
export const attach = aboutRun({
  name: 'attach',
  description: "go on with a run's session in its own client, on a terminal",
  calls: ['3', '3 --print'],
  define: (command) => command.option('--print', 'only print the command'),
  act: start,
});

type AttachFlags = JsonFlag & { readonly print?: true };

async function start(here: RunsHere, { print }: AttachFlags, { run }: RunListing): Promise<void> {
  const { context, world, isJson } = here;
  const { id: runId, number, client, sessionId } = run;
  if (isAway(run)) return complainOf('attach to', run, 'its session is on another machine', here);
  const answer = attachTo(run, print ? 'print' : 'start', world);
  if (answer.kind === 'refused') return complainOf('attach to', run, answer.reason, here);
  const { attachment } = answer;
  const { words: command, path, cwd, env, set, unset } = attachment;
  if (isJson) return printJson({ runId, number, client, sessionId, cwd, command, env: set, unset }, context);
  if (print || !context.isInteractive) return context.verbatim(`${visible(shellLine(attachment))}\n`);
  const taken = takeSession(run, world);
  if (taken !== undefined) return complainOf('attach to', run, taken, here);
  // Ctrl-C is for the client, which has the terminal.
  const release = context.onInterrupt(() => {});
  try {
    context.setExitCode(await runAttached(path, command.slice(1), { cwd, env }));
  } finally {
    release();
    rmSync(attachMark(world.paths, runId), { force: true });
  }
}

/** Notes that this process goes on with the session, in a transaction, as a message is sent in one; or says who writes in it. */
function takeSession(run: Run, { paths }: RunsWorld): string | undefined {
  return runsTransaction(paths, () => {
    const reason = writerOf(run, paths);
    if (reason !== undefined) return reason;
    ensurePrivateDirectory(runDirectory(paths, run.id));
    writeFileSync(attachMark(paths, run.id), identityText(identityNow(process.pid)), { mode: 0o600 });
    return undefined;
  });
}

/** Who writes in the run's session, as a reason; undefined: nobody. */
function writerOf(run: Run, paths: StatePaths): string | undefined {
  const active = activeTurn(run, paths);
  const attached = attachedProcess(run, paths);
  const isOne = 'and a session has one writer';
  const print = `"attach ${run.number} --print" shows the command`;
  if (active !== undefined)
    return `it is ${active.state}, ${isOne}: "self-generation subagents wait ${run.number}" waits for its end, ${print}`;
  return attached && `a person goes on with it already (PID ${attached.pid}), ${isOne}: ${print}`;
}

function shellLine({ words, cwd, set, unset }: Attachment): string {
  const changes = [
    ...unset.flatMap((name) => ['-u', name]),
    ...Object.entries(set).map(([name, value]) => `${name}=${value}`),
  ];
  const command = [...(changes.length === 0 ? [] : ['env', ...changes]), ...words];
  return `cd ${quoted(cwd)} && ${command.map(quoted).join(' ')}`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** How to start the client on a terminal in the session of a run. */
type Attachment = {
  readonly words: readonly [string, ...string[]];
  readonly path: string;
  readonly cwd: string;
  /** The user's environment, with what leads to the session. */
  readonly env: Environment;
  /** The variables that are added to the user's, and those that are left out. */
  readonly set: Readonly<Record<string, string>>;
  readonly unset: readonly string[];
};

/** Archiving is postponed by this, because a person may be working in the session. */
const KEPT_MS = 86_400_000;

/** How a person goes on with a run's session in the client itself; no `start` while the run is active. @throws Error */
function attachTo(run: Run, purpose: 'start' | 'print', world: RunsWorld) {
  const { env, platform, paths, now } = world;
  const client = clientNamed(run.client);
  const path = findProgram(client.name, env, platform);
  const reason = refusalOf(run, purpose, world);
  if (reason !== undefined || run.sessionId === null || path === undefined)
    return {
      kind: 'refused',
      reason: reason ?? `${client.name} is not on the PATH: install it first`,
    } as const;
  const { kept } = turnFiles(paths, run.id, 1);
  const user = userOf(run, env);
  const { args, env: own } = client.attach({ id: run.sessionId, kept });
  const set = { ...loginVariable(client, run.agentDir), ...own };
  bringConfiguration(run.client, user, kept);
  withRuns(paths, (db) => postponeArchive(run.id, now().getTime() + KEPT_MS, db));
  const unset = Object.keys(env).filter((name) => user.env[name] === undefined && env[name] !== undefined);
  const words = [client.name, ...args] as const;
  const attachment: Attachment = { words, path, cwd: run.cwd, env: { ...user.env, ...set }, set, unset };
  return { kind: 'ready', attachment } as const;
}

function refusalOf(run: Run, purpose: 'start' | 'print', { paths }: RunsWorld): string | undefined {
  const call = (verb: string) => `"self-generation subagents ${verb} ${run.number}"`;
  const isArchived = run.archivedAtMs !== null;
  if (isArchived) return `it is archived, and its session put away: ${call('retry')} runs its task again`;
  const writer = purpose === 'start' ? writerOf(run, paths) : undefined;
  if (writer !== undefined) return writer;
  if (run.sessionId === null && activeTurn(run, paths) !== undefined)
    return 'it has no session yet: try again in a moment';
  if (run.sessionId === null) return `it has no session: ${call('retry')} runs its task again`;
  if (existsSync(run.cwd)) return undefined;
  return `its directory "${run.cwd}", by which its client finds the session, is gone: ${call('send')} makes a worktree again`;
}
