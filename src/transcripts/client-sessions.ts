import { resolve } from 'node:path';
import { type Call, type Happening, OpenCalls, type PassedOverKind } from '../clients/claude/transcript.ts';
import type { TranscriptPlace } from '../clients/claude/transcript-files.ts';
import type { Client } from '../clients/client.ts';
import { isRefused } from '../clients/refusals.ts';
import type { ListedSession } from '../clients/sessions.ts';
import { hookEvents } from '../clients/tools.ts';
import { isUniqueCallId } from '../core/call-client.ts';
import type { SessionStep } from '../core/conversation.ts';
import { isRecord, type Json, parseJson, readString, reasonOf } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import { fingerprint } from '../core/text.ts';
import { ANALYSIS_MARK } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import type { HookEvent } from '../hooks/event.ts';
import { parseHookEvent } from '../hooks/hooks.ts';
import type { Unreadable } from '../system/files.ts';
import { type ReadFile, readPlace } from './imports-store.ts';
import { type PastContexts, pastStep, type SessionImport } from './session-import.ts';

/** Learning from the sessions of the clients whose hooks do not call us. */

type SessionsImport = {
  readonly client: Client;
  readonly env: Environment;
  readonly contexts: PastContexts;
  /** Whether a session that was started there, and written last then, is asked for. */
  readonly isAskedFor: (session: Pick<ListedSession, 'cwd' | 'modifiedMs'>) => boolean;
  /** As in an import of transcripts. */
  readonly ofRuns: ReadonlySet<string>;
  /** Only the session of this id, and those of its sub-agents. */
  readonly sessionId?: string | undefined;
};

/** The sessions that there are, and those of them that have been written to since they were taken in. */
export function sessionsThere(
  { client, env, sessionId }: Pick<SessionsImport, 'client' | 'env' | 'sessionId'>,
  db: Db,
) {
  const { all, withAgents } = client.sessions;
  const found = (sessionId === undefined ? all?.(env) : withAgents?.(sessionId, env)) ?? [];
  const isChanged = (session: ListedSession) => placeOf(session, client, db)?.bytesSeen !== seenOf(session);
  return { found, changed: found.filter(isChanged) };
}

function placeOf({ id }: ListedSession, { name }: Client, db: Db): TranscriptPlace | undefined {
  return readPlace(`${name}#${id}`, db);
}

/**
 * Takes in what is new in one client's sessions. A session that has grown is read from its beginning, and what had been
 * taken of it is passed over by its time. Can be repeated, and stopped anywhere. Throws what SQLite throws.
 */
export function importSessions(
  { client, env, sessionId, contexts, ofRuns, isAskedFor }: SessionsImport,
  run: SessionImport,
  db: Db,
) {
  const { found, changed } = sessionsThere({ client, env, sessionId }, db);
  const isOfRun = ({ id, parentId }: ListedSession) => ofRuns.has(id) || ofRuns.has(parentId ?? '');
  const own = changed.filter((session) => !isOfRun(session));
  const wanted = own.filter(isAskedFor);
  const unreadable: Unreadable[] = [];
  let analyses = 0;
  for (const session of wanted) {
    let isWhole = true;
    const takenMs = placeOf(session, client, db)?.bytesDone ?? 0;
    const steps = readable(client.sessions.read(session, env, takenMs), (reason) => {
      isWhole = false;
      unreadable.push({ path: session.path, reason });
    });
    const taken = takeSteps(steps, { session, client, takenMs }, { run, contexts });
    if (taken.isAnalysis) analyses++;
    // One of which nothing could be read is looked into again.
    if (isWhole && taken.isBegun) run.keep([{ read: placeAfter(session, client, taken.newestMs) }]);
  }
  run.write();
  return {
    client: client.name,
    found: found.length,
    unchanged: found.length - changed.length,
    sessions: wanted.length - analyses,
    added: run.added,
    known: run.known,
    passedOver: {
      ...run.passedOver,
      analyses,
      runs: changed.length - own.length,
      notAskedFor: own.length - wanted.length,
    },
    unreadable,
    projects: [...run.projects],
  };
}

/** Until one cannot be read. */
function* readable(
  steps: Iterable<SessionStep>,
  onUnreadable: (reason: string) => void,
): Generator<SessionStep> {
  try {
    yield* steps;
  } catch (error) {
    onUnreadable(reasonOf(error));
  }
}

/** The mark stands at the beginning of the prompt. */
const MARK_WITHIN = 100;

/** Records what steps tell that is new. Returns the time of the newest, and whether there was anything in the session. */
function takeSteps(
  steps: Iterable<SessionStep>,
  { session, client, takenMs }: { session: ListedSession; client: Client; takenMs: number },
  { run, contexts }: { run: SessionImport; contexts: PastContexts },
) {
  const events = new SessionEvents(session, client);
  let [newestMs, isBegun] = [takenMs, false];
  let isAnalysis: boolean | undefined;
  for (const step of steps) {
    isBegun = true;
    // Nothing is recorded of what our own analysis asks.
    if (step.kind === 'prompt') isAnalysis ??= step.text.slice(0, MARK_WITHIN).includes(ANALYSIS_MARK);
    if (isAnalysis) break;
    for (const happening of events.of(step)) {
      if (happening.kind === 'passed-over') {
        run.passedOver[happening.why]++;
        continue;
      }
      const atMs = Date.parse(happening.ts);
      newestMs = Math.max(newestMs, atMs);
      if (atMs > takenMs)
        run.keep([pastStep(happening, { startedIn: session.cwd, contexts, read: undefined })]);
    }
  }
  return { newestMs, isBegun, isAnalysis: isAnalysis === true };
}

/**
 * How far a session has been taken in: `bytesDone` is the time of the newest that was, `bytesSeen` that of the last change
 * of its store, both in ms. It is known by its id: its file may be moved, or have others in it.
 */
function placeAfter(session: ListedSession, { name }: Client, newestMs: number): ReadFile {
  const bytesSeen = seenOf(session);
  const head = fingerprint(session.id);
  return { path: `${name}#${session.id}`, head, bytesDone: newestMs, bytesSeen, fileBytes: bytesSeen };
}

function seenOf({ modifiedMs }: ListedSession): number {
  return Math.floor(modifiedMs);
}

const RUNNING_LENGTH_MAX = 16 * 1024;

/** A command that runs on, and what it has printed. */
type Running = { readonly id: string; readonly call: Call; readonly printed: string };

/** What the hooks would have been told of a session, step by step. */
class SessionEvents {
  readonly #session: ListedSession;
  readonly #client: Client;
  readonly #calls = new OpenCalls();
  /** By what the client calls them. */
  readonly #running = new Map<string, Running>();
  /** What stands in the session more than once is told once. */
  readonly #told = new Set<string>();

  constructor(session: ListedSession, client: Client) {
    this.#session = session;
    this.#client = client;
  }

  of(step: SessionStep): readonly Happening[] {
    switch (step.kind) {
      case 'answer':
        this.#calls.say(step.text);
        return [];
      case 'call':
        this.#calls.open(step.id, { tool: step.tool, input: inputOf(step.input), cwd: undefined });
        return [];
      case 'prompt':
        return this.#session.parentId === null ? this.#prompt(step) : [];
      case 'result':
        return this.#result(step);
      default:
        return [];
    }
  }

  #prompt({ text, ts }: Extract<SessionStep, { kind: 'prompt' }>): Happening[] {
    if (text === '' || !this.#isNew(`${ts} ${fingerprint(text)}`)) return [];
    const event = parseHookEvent({ ...this.#common(), prompt: text }, 'UserPromptSubmit');
    return happenings(event === undefined ? [] : [event], ts);
  }

  #result({ id, ts, text, isError, end }: Extract<SessionStep, { kind: 'result' }>): Happening[] {
    const call = this.#calls.close(id);
    // Where a client writes its messages anew, results come again.
    if (call === undefined) return this.#told.has(id) ? [] : passedOver('resultsWithoutCall');
    this.#told.add(id);
    const running = this.#running.get(String(call.input.session_id ?? ''));
    const { printed: before, ...begun } = running ?? { id, call, printed: '' };
    const printed = before + (end?.printed ?? text);
    if (end?.process !== undefined) {
      const kept = printed.slice(-RUNNING_LENGTH_MAX).toWellFormed();
      this.#running.set(end.process, { ...begun, printed: kept });
      return [];
    }
    if (INTERRUPTED.test(text) || (end === undefined && isRefused(text))) return passedOver('refusedCalls');
    const { tool, input, remark } = begun.call;
    const callId = isUniqueCallId(begun.id) ? begun.id : `${begun.id} ${JSON.stringify(input)} ${ts}`;
    if (!this.#isNew(`call ${callId}`)) return [];
    const ended = { tool, input, id: callId, text: printed, isError: isError && end === undefined };
    const common = { ...this.#common(), remark, cwd: directoryOf(input, this.#session.cwd) };
    return happenings(hookEvents(this.#client, { ...ended, code: end?.code ?? null }, common), ts);
  }

  #isNew(what: string): boolean {
    if (this.#told.has(what)) return false;
    this.#told.add(what);
    return true;
  }

  /** A sub-agent's work is that of the session which started it. */
  #common(): Json {
    const { id, parentId, agentType, cwd } = this.#session;
    const agent = parentId === null ? {} : { agent_id: id, agent_type: agentType };
    return { session_id: parentId ?? id, cwd, ...agent };
  }
}

/** How the clients word that the user has stopped a call. */
const INTERRUPTED =
  /^(?:(?:Wall time: .*\n)?aborted by user|Tool execution aborted|\[Operation Cancelled\]|(?:<untrusted_context>\n)?Command was (?:automatically )?cancelled)/;

function inputOf(text: string): Json {
  const input = parseJson(text);
  return isRecord(input) ? input : { input: text };
}

/** Where the call was made. */
function directoryOf(input: Json, cwd: string | undefined): string | undefined {
  const named = ['workdir', 'dir_path', 'directory'].map((field) => readString(input, field));
  const directory = named.find((one) => one !== undefined && one !== '');
  return directory === undefined || cwd === undefined ? cwd : resolve(cwd, directory);
}

function happenings(events: readonly HookEvent[], ts: string | undefined): Happening[] {
  if (ts === undefined) return events.flatMap(() => passedOver('entriesWithoutTime'));
  return events.map((event) => ({ kind: 'event', ts, event, isQueued: false }));
}

function passedOver(why: PassedOverKind): Happening[] {
  return [{ kind: 'passed-over', why }];
}
