import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { asRecord, type Json, parseJson, readRecord, readString } from '../../core/guards.ts';
import { cutText } from '../../core/text.ts';
import { runCommand } from '../../system/run-command.ts';
import type { Common } from './common.ts';
import type { Hooks } from './host.ts';

const TASK_LENGTH_MAX = 4000;
/** A sub-agent waits no longer for what is being learnt, and as long again for what it is told. */
const WAIT_MS = 1500;
const ABOUT_WAIT_MS = 500;
const READING_TIME_LIMIT_MS = 60_000;

/**
 * What OpenCode's sub-agents are told, and what is learnt from its sessions as they run: both by the installed program,
 * because nothing on the way of a request may open the database. A sub-agent is told in its first message, of which it
 * becomes a part, so that it stands unchanged in each request.
 */
export function knowledge(common: Common): Hooks {
  const { host, settings, kinds } = common;
  /** What OpenCode has told of: the session that a session comes from, null for one of the user's. */
  const parents = new Map<string, string | null>();
  /** Sub-agents' sessions that were made while this plugin looked on: others, and forks, have been told already. */
  const made = new Set<string>();
  const sinceMs = Date.now();
  const begun = new Set<string>();
  const reader = sessionReader(common);
  const isOn = () => settings().enabled && settings().opencode.knowledge && existsSync(common.paths.binary);
  const takeIn = ({ id, parentID, time }: Json, isNew = false) => {
    if (typeof id !== 'string' || id === parentID) return;
    const parent = typeof parentID === 'string' ? parentID : null;
    parents.set(id, parent);
    if (parent !== null && (isNew || Number(asRecord(time).created) >= sinceMs)) made.add(id);
  };
  const ask = async (id: string) => takeIn(asRecord((await host.client.session.get({ path: { id } })).data));
  const mainOf = (id: string): string => {
    const parent = parents.get(id) ?? null;
    return parent === null ? id : mainOf(parent);
  };
  return {
    event: ({ event: { type, properties } }) => {
      const about = asRecord(properties);
      if (type === 'session.created' || type === 'session.updated') {
        takeIn(readRecord(about, 'info'), type === 'session.created');
      } else if (type === 'message.part.updated') {
        const part = readRecord(about, 'part');
        const end = endOf(part);
        if (end === undefined || !isOn()) return;
        const main = mainOf(String(part.sessionID));
        reader.noteNew(main);
        if (end === 'failed') reader.read(main);
      } else if (type === 'session.idle' && isOn()) {
        const id = String(about.sessionID);
        if (mainOf(id) === id) reader.read(id, { isOver: true });
      }
    },
    'chat.message': async ({ sessionID }, { message, parts }) => {
      if (begun.has(sessionID)) return;
      begun.add(sessionID);
      if (!isOn() || (await kinds.kindOf(sessionID, [])) === 'main') return;
      // OpenCode tells of a new session before its first message or behind it, and of an old one not at all.
      if (!parents.has(sessionID)) ask(sessionID).catch(() => {});
      for (let waitedMs = 0; !parents.has(sessionID) && waitedMs < ABOUT_WAIT_MS; waitedMs += 5)
        await sleep(5);
      // A fork of a sub-agent's has no parent, and what that was told.
      if (!made.has(sessionID) || parents.get(sessionID) === null) return;
      const main = mainOf(sessionID);
      await Promise.race([reader.settled(main), sleep(WAIT_MS, undefined, { ref: false })]);
      const agent = readString(message, 'agent') ?? '';
      const said = parts.flatMap((part) => (part.type === 'text' ? (readString(part, 'text') ?? []) : []));
      const text = await toldAtStart(
        {
          ...{ hook_event_name: 'SubagentStart', session_id: main, cwd: host.directory, client: 'opencode' },
          ...{ agent_id: sessionID, agent_type: agent },
          task: cutText(said.join('\n'), TASK_LENGTH_MAX),
        },
        common,
      );
      if (text === undefined) return;
      const id = idBehind(parts.map((part) => String(part.id)));
      parts.push({ id, messageID: message.id, sessionID, type: 'text', text, synthetic: true });
    },
  };
}

/** How a part that is a call of a tool ended; undefined for one that has not, and for any other part. */
function endOf(part: Json): 'done' | 'failed' | undefined {
  const { status, metadata } = readRecord(part, 'state');
  if (part.type !== 'tool' || (status !== 'completed' && status !== 'error')) return undefined;
  const { exit = 0 } = asRecord(metadata);
  return status === 'error' || exit !== 0 ? 'failed' : 'done';
}

/** Formed as OpenCode's: 12 hexadecimal digits that grow, and 14 letters and digits. */
function idBehind(ids: readonly string[]): string {
  const [, digits = '0'] = /^prt_([\da-f]{12})/.exec([...ids].sort().at(-1) ?? '') ?? [];
  const next = (Number.parseInt(digits, 16) + 1).toString(16).padStart(12, '0');
  return `prt_${next}${crypto.randomUUID().replaceAll('-', '').slice(-14)}`;
}

/** What the hook of this event says to the agent; undefined when that is nothing. Never throws. */
async function toldAtStart(event: Json, common: Common): Promise<string | undefined> {
  const stdout = await output(['hook', 'subagent-context'], { stdin: JSON.stringify(event) }, common);
  const answer = readRecord(asRecord(parseJson(stdout)), 'hookSpecificOutput');
  return readString(answer, 'additionalContext') || undefined;
}

/** What the installed program prints; nothing, but for a line in the log, where it does not end well. */
async function output(
  words: readonly string[],
  { stdin = '', timeoutMs = WAIT_MS }: { stdin?: string; timeoutMs?: number },
  { paths, host, log }: Common,
): Promise<string> {
  // Another client's project is not that of this session.
  const env = { ...process.env, CLAUDE_PROJECT_DIR: undefined };
  const end = await runCommand(paths.binary, words, { env, cwd: host.directory, stdin, timeoutMs });
  if (end.kind === 'exited' && end.code === 0) return end.stdout;
  const reason =
    end.kind === 'exited'
      ? `it ended with exit code ${end.code}`
      : end.kind === 'failed'
        ? end.reason
        : `it took longer than ${timeoutMs} ms`;
  log.failure(`run "${paths.binary} ${words[0]}"`, reason);
  return '';
}

/** Has sessions read, by one process at a time that outlives this one; what is asked for meanwhile comes behind it. */
function sessionReader(common: Common) {
  const unread = new Set<string>();
  /** Whether also the whole project is to be learnt from. */
  const due = new Map<string, boolean>();
  let running: Promise<void> | undefined;
  const readDue = async () => {
    for (const [session, isOver] of due) {
      due.delete(session);
      unread.delete(session);
      const words = ['catch-up', `opencode#${session}`, ...(isOver ? [common.host.directory] : [])];
      await output(words, { timeoutMs: READING_TIME_LIMIT_MS }, common);
    }
    running = undefined;
  };
  const read = (session: string, { isOver = false } = {}) => {
    due.set(session, isOver || due.get(session) === true);
    running ??= readDue();
    return running;
  };
  return {
    read,
    /** Something has been written that nobody has read. */
    noteNew: (session: string) => void unread.add(session),
    /** Resolves when all of the session that stands there now has been read. */
    settled: (session: string) => (unread.has(session) ? read(session) : running),
  };
}
