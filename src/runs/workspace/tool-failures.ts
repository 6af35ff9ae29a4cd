import { existsSync, readdirSync } from 'node:fs';
import type { AgentEvent, ExitCodes, HookCall } from '../../clients/client.ts';
import { clientNamed } from '../../clients/clients.ts';
import { isRefused } from '../../clients/refusals.ts';
import { type EndedCall, hookEvents } from '../../clients/tools.ts';
import type { Json } from '../../core/guards.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { cutText, fingerprint } from '../../core/text.ts';
import { closing, getDb } from '../../database/db.ts';
import type { FullContext, Project, Recording } from '../../hooks/decision.ts';
import type { HookEvent } from '../../hooks/event.ts';
import { decide } from '../../hooks/hooks.ts';
import { record, spool } from '../../hooks/store/record.ts';
import { type Config, isEnabled, loadConfig } from '../../settings/hook-settings.ts';
import { type Run, runDirectory } from '../model/run.ts';
import { orLogged } from '../world.ts';
import { projectOfDirectory } from './first-prompt.ts';

/** What a run's tools did, for the hooks' database and by their decisions: no hook of ours runs in a client we start. */

/** A busy database costs the supervisor no more than this; then the recordings wait in the spool. */
const LOCK_TIMEOUT_MS = 100;
const MIGRATION_BYTES_MAX = 16 * 1024 * 1024;
const PENDING_MAX = 64;
/** Until it is known how they ended. */
const HELD_BACK_MAX = 512;
const WRITE_EVERY_MS = 2000;
/** Calls that have not ended, of which the oldest is forgotten. */
const OPEN_CALLS_MAX = 256;
/** More of a command, a path or an error is never looked at; see hooks/tool-call.ts. */
const TEXT_LENGTH_MAX = 16 * 1024;

/** Calls that have not ended, by their ids. */
export type OpenCalls = Map<string, HookCall>;

/** Adds a call, without what is too long of it. */
export function addCall(
  { id, tool, input }: Extract<AgentEvent, { kind: 'tool-call' }>,
  calls: OpenCalls,
): void {
  calls.set(id, { tool, input: withShortTexts(input) });
  if (calls.size > OPEN_CALLS_MAX) calls.delete(calls.keys().next().value ?? '');
}

/** It is decided on when it is written: some clients say elsewhere, and later, how it ended. */
type WaitingCall = Omit<EndedCall, 'code'> & { readonly at: Date };

/** Records what the events of a client's turn say until `flush`, which is to be called at its end. Nothing of it throws. */
export function failureRecorder(run: Run, paths: StatePaths) {
  const open: OpenCalls = new Map();
  const pending: WaitingCall[] = [];
  let config: Config | undefined;
  let project: Project | undefined;
  let writtenMs = 0;

  const exitCodes = (): ExitCodes | undefined =>
    pending.length === 0 ? undefined : clientNamed(run.client).exitCodes?.(runDirectory(paths, run.id));

  const decideOn = (calls: readonly WaitingCall[], exits: ExitCodes | undefined): Recording[] => {
    if (calls.length === 0) return [];
    config ??= loadConfig(paths);
    if (!isEnabled(config)) return [];
    project ??= withWorktree(projectOfDirectory(run.cwd), run, paths);
    // Nobody is told anything here.
    const context: Omit<FullContext, 'now'> = {
      config,
      project,
      knowledge: () => undefined,
      skills: () => [],
    };
    return calls.flatMap((call) => {
      const events = eventsOf(call, run, exits);
      return events.flatMap((event) => decide(event, { ...context, now: call.at }).recording ?? []);
    });
  };

  const take = (count: number, exits: ExitCodes | undefined) => {
    const recordings = decideOn(pending.splice(0, count), exits);
    if (recordings.length === 0) return;
    try {
      const limits = { busyTimeoutMs: LOCK_TIMEOUT_MS, migrationBytesMax: MIGRATION_BYTES_MAX };
      const db = getDb(paths, { mode: 'write', ...limits });
      closing(db.sqlite, () => record(recordings, paths, db));
    } catch {
      // Whoever writes next takes them in: a hook, or another supervisor.
      spool(recordings, paths, Date.now());
    }
  };

  /** What is known by now: a conversation may be a moment behind the stream, and what happened stays in its order. */
  const flushKnown = () => {
    writtenMs = Date.now();
    const exits = exitCodes();
    const unknown = pending.findIndex(({ id, isError }) => !isError && exits?.(id) === undefined);
    const isHeldBack = exits !== undefined && unknown >= 0 && pending.length < HELD_BACK_MAX;
    take(isHeldBack ? unknown : pending.length, exits);
  };

  const look = (event: AgentEvent) => {
    if (event.kind === 'tool-call') {
      addCall(event, open);
    } else if (event.kind === 'tool-result') {
      const { id, isError } = event;
      const call = open.get(id) ?? { tool: event.tool ?? '', input: {} };
      open.delete(id);
      pending.push({ ...call, id, isError, text: cutText(event.text, TEXT_LENGTH_MAX), at: new Date() });
      const isLongAgo = Date.now() - writtenMs > WRITE_EVERY_MS;
      if (isLongAgo || pending.length % PENDING_MAX === 0) flushKnown();
    }
  };

  return {
    observe: (event: AgentEvent) => void orLogged(run.id, paths, () => look(event)),
    flush: () => void orLogged(run.id, paths, () => take(pending.length, exitCodes())),
  };
}

/** What the hooks of the requester's session would have been told, had the call been one of a sub-agent in it. */
function eventsOf(ended: WaitingCall, run: Run, exits: ExitCodes | undefined): HookEvent[] {
  if (ended.tool === '' || (ended.isError && isRefused(ended.text))) return [];
  const agent = { agent_id: run.id, agent_type: run.agentId };
  const common = { session_id: run.requester.session ?? run.childKey, cwd: run.cwd, ...agent };
  // Some clients count the calls of each turn from one.
  const id = `${run.id}:${ended.id}:${fingerprint(JSON.stringify(ended.input))}`;
  const code = exits === undefined ? 0 : (exits(ended.id) ?? null);
  return hookEvents(clientNamed(run.client), { ...ended, id, code }, common);
}

/** A working tree that was made for the run is another spelling of its project, before the run knows of it. */
function withWorktree(project: Project, { id }: Run, { worktrees }: StatePaths): Project {
  const repositories = existsSync(worktrees) ? readdirSync(worktrees) : [];
  const own = repositories.map((repository) => `${worktrees}/${repository}/${id}`).filter(existsSync);
  return { ...project, spellings: [...new Set([...project.spellings, ...own])] };
}

function withShortTexts(input: Json): Json {
  const short = (value: unknown) => (typeof value === 'string' ? cutText(value, TEXT_LENGTH_MAX) : value);
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, short(value)]));
}
