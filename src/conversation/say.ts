import { isAbsolute, relative, sep } from 'node:path';
import { clientNamed } from '../clients/clients.ts';
import { isSessionLost } from '../clients/refusals.ts';
import type { ClientName } from '../core/client-name.ts';
import { getProjectPath } from '../core/project.ts';
import { cleanText } from '../core/text.ts';
import { withHistoryPrompt } from '../runs/model/prompts.ts';
import { type Requester, repositoryOf, type TurnName } from '../runs/model/run.ts';
import { isTerminal } from '../runs/model/turn.ts';
import { requesterPermissions } from '../runs/requester.ts';
import { sendToRun } from '../runs/send.ts';
import { spawnRun, surroundings } from '../runs/spawn.ts';
import { planSpawn, type SpawnRequest } from '../runs/spawn-plan.ts';
import {
  type Conversation,
  conversationsOf,
  currentConversation,
  newConversation,
  type PartRun,
  useConversation,
} from '../runs/store/parts.ts';
import { readRuns, runsTransaction } from '../runs/store/rows.ts';
import { orLogged, type Refusal, type RunsWorld } from '../runs/world.ts';
import { loadRunConfig } from '../settings/all-settings.ts';
import {
  type ConversationSettings,
  loadConversationSettings,
  type QueueMode,
} from '../settings/conversation-settings.ts';
import { loadConfig } from '../settings/hook-settings.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import { pathExists, readTextFile } from '../system/runtime-bun.ts';
import { RECALL_HEADING } from './memory/entries.ts';
import { newestNoteMs, takeNotes } from './memory/flush.ts';
import { loadRecentMemories } from './memory/recall.ts';
import { partsOf, type Session, sessionsOf } from './messages.ts';
import { getMergedSkills } from './prompts/skills.ts';
import { getSystemPrompt } from './prompts/system.ts';
import { historyFor } from './told-history.ts';

/** The main conversation of a project: one session of a client after another, in which one message is answered at a time. */

export type SayOptions = {
  readonly client?: ClientName | undefined;
  readonly model?: string | undefined;
  /** How much the model thinks, as it was said. */
  readonly effort?: string | undefined;
  /** As SpawnRequest has them; only a person grants them. */
  readonly permissions?: readonly string[] | undefined;
  /** Begins a conversation of its own, which knows of no other. */
  readonly isNew?: boolean | undefined;
  /** The number of the conversation to go on with; otherwise the current one. */
  readonly resume?: number | undefined;
  /** What becomes of the message while another one is answered; otherwise as the settings have it. */
  readonly mode?: QueueMode | undefined;
  /** As the caller calls the message: saying it again by the same name gives the same turn. Letters, digits, `.`, `-`, `_`. */
  readonly name?: string | undefined;
};

export type Said = {
  readonly status: 'accepted';
  /** The number of the conversation. */
  readonly conversation: number;
  readonly conversationId: string;
  /** The turn in which it is answered. */
  readonly turn: TurnName;
  readonly client: ClientName;
  /** `new`: a session that is told what was said before, if anything was. */
  readonly session: 'new' | 'resumed';
  /** How many messages are answered or wait before it. */
  readonly before: number;
  readonly warnings: readonly string[];
};

export type Speaker = { readonly requester: Requester; readonly world: RunsWorld };

/** The place among the messages that wait, as sendToRun() knows it. */
const PLACES = { 'one-by-one': 'end', collect: 'joined', steer: 'ahead', interrupt: 'alone' } as const;
/** What of the others is stopped for the first message of a session. */
const STOPS = { 'one-by-one': undefined, collect: undefined, steer: 'at work', interrupt: 'all' } as const;

/**
 * Says something in the main conversation of the requester's project (seed 004: spawnAgent, enqueueMessage, steerAgent). It
 * goes on in the newest session if that can take it and is of the client, model and effort that are asked for; else a new
 * session begins, which is told what was said before. When this returns the message is stored, and is answered whether or
 * not its caller lives on. @throws Error when the database cannot be written
 */
export function say(prompt: string, options: SayOptions, { requester, world }: Speaker): Said | Refusal {
  if (prompt.trim() === '') return { status: 'error', error: 'message is required' };
  const config = loadRunConfig(world.paths);
  if (config.kind === 'refused') return { status: 'error', error: config.error };
  orLogged('', world.paths, () => takeNotes(requester.key, world));
  const chosen = chooseConversation(options, requester, world);
  if (chosen !== undefined && 'status' in chosen) return chosen;
  const known = knownTurn(options, requester, world);
  if (known !== undefined) return known;
  const parts = chosen === undefined ? [] : partsOf(chosen, world);
  const settings = loadConversationSettings(world.paths);
  const asked: Asked = { prompt, options, settings, runSettings: config.settings, parts, requester, world };
  const last = sessionsOf(parts).at(-1);
  if (chosen === undefined || last === undefined || !goesOn(last, asked)) return begin(chosen, last, asked);
  return resume(chosen, last, asked);
}

/** A prompt with what was piped in, in a fence that nothing in it ends. */
export function withInput(prompt: string, piped: string): string {
  const text = cleanText(piped).trim();
  if (text === '') return prompt;
  const fence = '`'.repeat(Math.max(3, ...(text.match(/`+/g) ?? []).map(({ length }) => length + 1)));
  return `${prompt}\n\nStandard input:\n${fence}\n${text}\n${fence}`;
}

type Asked = Speaker & {
  readonly prompt: string;
  readonly options: SayOptions;
  readonly settings: ConversationSettings;
  readonly runSettings: RunSettings;
  readonly parts: readonly PartRun[];
};

/** Undefined: one has to be begun. */
function chooseConversation(
  { isNew, resume: number }: SayOptions,
  { key }: Requester,
  { paths }: RunsWorld,
): Conversation | Refusal | undefined {
  if (number === undefined) return isNew ? undefined : readRuns(paths, (db) => currentConversation(key, db));
  const all = readRuns(paths, (db) => conversationsOf(key, db)) ?? [];
  const found = all.find((one) => one.number === number);
  if (found !== undefined) return found;
  const numbers = all.map((one) => one.number).sort((one, other) => one - other);
  const there = numbers.length === 0 ? 'there is none yet' : `there are ${numbers.join(', ')}`;
  return { status: 'error', error: `there is no conversation ${number} in this project: ${there}` };
}

const labelOf = (name: string) => `message ${name}`;

/** The turn that was asked for by this name, in whichever conversation; the first of a session has it as the label of its run. */
function knownTurn({ name }: SayOptions, { key }: Requester, world: RunsWorld): Said | undefined {
  if (name === undefined) return undefined;
  for (const conversation of readRuns(world.paths, (db) => conversationsOf(key, db)) ?? []) {
    for (const { run, turns } of sessionsOf(partsOf(conversation, world))) {
      const turn = run.label === labelOf(name) ? turns[0] : turns.find((one) => one.name === name);
      if (turn === undefined) continue;
      const session = turn.number === 1 ? 'new' : 'resumed';
      const rest = { session, before: 0, warnings: [] } as const;
      return said(conversation, { runId: run.id, turn: turn.number }, run.client, rest);
    }
  }
  return undefined;
}

/** Whether the message can be the next one in this session, with what is asked for. */
function goesOn({ run, turns }: Session, { options, runSettings, requester, world }: Asked): boolean {
  const { client, model, effort, permissions } = options;
  const granted = (ofPerson: readonly string[]) =>
    requesterPermissions(requester, run.client, { ofSettings: runSettings.tools.permitted, ofPerson }, world);
  const known = clientNamed(run.client).thinking;
  const git = { readTextFile, pathExists };
  return (
    run.archivedAtMs === null &&
    !isSessionLost(turns.at(-1)?.error ?? '') &&
    (permissions === undefined || isSame(granted(permissions), run.permissions)) &&
    (client === undefined || client === run.client) &&
    (model === undefined || model === run.model.requested) &&
    (effort === undefined || isSame(known.find((one) => one === effort) ?? null, run.thinking)) &&
    // Another working tree of the same repository is another place, and above its directory a client changes nothing.
    repositoryOf(run.cwd, git) === repositoryOf(requester.cwd, git) &&
    isWithin(requester.cwd, run.cwd)
  );
}

function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

function resume(conversation: Conversation, { run, turns }: Session, asked: Asked): Said | Refusal {
  const { prompt, options, settings, parts, requester, world } = asked;
  const mode = options.mode ?? settings.run.queue;
  // What has a name of its own is a turn of its own.
  const place = PLACES[mode === 'collect' && options.name !== undefined ? 'one-by-one' : mode];
  const told = { since: newestNoteMs(parts), every: settings.memory.injectEvery };
  const isTold = place !== 'joined' && isDue(conversation, { run, turns }, told);
  const message = isTold
    ? withHistoryPrompt(prompt.trim(), loadRecentMemories(requester.key, world.paths))
    : prompt;
  const answer =
    place === 'joined'
      ? sendToRun(run.id, message, requester, world, { place })
      : sendToRun(run.id, message, requester, world, { place, name: options.name });
  if (answer.status !== 'accepted') return answer;
  keepUsed(conversation, world);
  const turn = { runId: run.id, turn: answer.turn };
  const before = place === 'end' || place === 'joined' ? activeBefore(parts, turn) : 0;
  return said(conversation, turn, run.client, { session: 'resumed', before, warnings: [] });
}

/** Whether this session is to be told what is remembered: there is something newer than what it was told, each second time. */
function isDue(
  { flushCycles }: Conversation,
  { run, turns }: Session,
  { since, every }: { readonly since: number; readonly every: number },
): boolean {
  const told = turns.findLast(({ message }) => message.startsWith(RECALL_HEADING));
  return flushCycles > 0 && flushCycles % every === 0 && since > (told?.queuedAtMs ?? run.createdAtMs);
}

/** In the conversation, or a new one, begins a session. */
function begin(chosen: Conversation | undefined, last: Session | undefined, asked: Asked): Said | Refusal {
  const { options, settings, runSettings, parts, requester, world } = asked;
  const { paths } = world;
  const mode = options.mode ?? settings.run.queue;
  const before = activeBefore(parts, undefined);
  if (mode === 'steer' && before > 1 && last !== undefined)
    return {
      status: 'error',
      error: `messages wait for ${last.run.client}, and a new session would not come before them: ${STEER_ADVICE}`,
    };
  const request = requestFor(last, asked);
  // Looked at before anything is changed: a conversation that cannot begin is none.
  const plan = planSpawn(request, surroundings(requester, runSettings, world));
  if (plan.kind === 'refused') return plan.refusal;
  const nowMs = world.now().getTime();
  const conversation =
    chosen ??
    runsTransaction(paths, (db) => {
      const current = options.isNew ? undefined : currentConversation(requester.key, db);
      return current ?? newConversation(requester.key, nowMs, db);
    });
  const number = sessionsOf(parts).length + 1;
  const part = { kind: 'conversation', id: conversation.id, name: String(number) } as const;
  const stops = STOPS[mode];
  const answer = spawnRun({ ...request, part, stops }, requester, world);
  if (answer.status !== 'accepted') return answer;
  // Another process was faster: its session is the one to go on with.
  if (answer.deduplicated === true)
    return say(asked.prompt, { ...options, isNew: false }, { requester, world });
  const warnings = [answer.warning ?? [], answer.note === undefined ? [] : LOOKS_ONLY].flat();
  const turn = { runId: answer.runId, turn: 1 };
  const waits = mode === 'one-by-one' || mode === 'collect' ? before : 0;
  return said(conversation, turn, plan.run.client, { session: 'new', before: waits, warnings });
}

const LOOKS_ONLY =
  'it may look, and not change files: "run --permissions edit" allows it, or tools.subagents.allow in the settings';
const STEER_ADVICE = 'wait for their answers, drop them with "queue clear", or use --queue interrupt';

/** What is asked of the runs for a new session: its client goes on unless another one is named. */
function requestFor(last: Session | undefined, asked: Asked): Omit<SpawnRequest, 'part'> {
  const { prompt, options, settings, parts, requester, world } = asked;
  const { run } = settings;
  const before = last?.run;
  const client = options.client ?? before?.client ?? run.client ?? undefined;
  const ofBefore = before !== undefined && before.client === client;
  const ofSettings = run.client === null || run.client === client;
  const model = options.model ?? (ofBefore ? before.model.requested : ofSettings ? run.model : null);
  return {
    task: prompt,
    label: options.name && labelOf(options.name),
    client,
    model: model ?? undefined,
    thinking: options.effort ?? (ofBefore ? before.thinking : ofSettings ? run.effort : null) ?? undefined,
    permissions: options.permissions,
    worktree: 'never',
    cwd: requester.cwd,
    instructions: instructionsFor(asked),
    handover: historyFor(parts, world),
  };
}

function instructionsFor({ runSettings, requester, world }: Asked): string {
  const { paths, env } = world;
  return getSystemPrompt({
    cwd: requester.cwd,
    memories: loadRecentMemories(requester.key, paths),
    employees: runSettings.agents.flatMap(({ id, name, role, description }) =>
      role === null ? [] : [{ name: name ?? id, role, description: description ?? '' }],
    ),
    skills: getMergedSkills(env, getProjectPath(requester.cwd, env)),
    language: loadConfig(paths).language,
  });
}

function keepUsed({ id }: Conversation, { paths, now }: RunsWorld): void {
  runsTransaction(paths, (db) => useConversation(id, now().getTime(), db));
}

/** How many messages of the conversation are answered or wait, but for this one. */
function activeBefore(parts: readonly PartRun[], own: TurnName | undefined): number {
  return sessionsOf(parts)
    .flatMap(({ turns }) => turns)
    .filter(
      ({ runId, number, state }) => !isTerminal(state) && !(runId === own?.runId && number === own.turn),
    ).length;
}

function said(
  { id, number }: Conversation,
  turn: TurnName,
  client: ClientName,
  rest: Pick<Said, 'session' | 'before' | 'warnings'>,
): Said {
  return { status: 'accepted', conversation: number, conversationId: id, turn, client, ...rest };
}
