import { isRecord, readRecord, readRecords } from '../../core/guards.ts';
import { framed } from '../../core/inert-text.ts';
import { readAgain } from '../account.ts';
import type { Call, Message } from '../call.ts';
import { decide } from '../decide.ts';
import { type Decision, sweptCall } from '../decision.ts';
import { protectionOf } from '../files.ts';
import { allPruned, keepable, type Pruned } from '../store.ts';
import type { Common } from './common.ts';
import { type Hooks, type HostMessage, within } from './host.ts';
import { messagesFrom } from './messages.ts';
import { contextOf, savedBy, statsOf, totalOf } from './reports.ts';
import type { SessionStates } from './session-states.ts';

const NAME = 'prune';
const USAGE = '/prune stats | context | sweep [N] | off | on';
const SWEPT_MAX = 10_000;
const WAIT_MS = 5000;

/** What a subcommand says, and what of the session is different from now on. */
type Outcome = { readonly lines: readonly string[]; readonly changed?: Pruned };

/** `/prune`: its answer is what the model is asked to repeat, since OpenCode has no command that asks no model. */
export function pruneCommand(common: Common, states: SessionStates): Hooks {
  let isOurs = false;
  return {
    config: (config) => {
      const commands = isRecord(config.command) ? config.command : {};
      isOurs = !Object.hasOwn(commands, NAME);
      if (isOurs)
        config.command = {
          ...commands,
          [NAME]: { template: '', description: `What is no more sent: ${USAGE}` },
        };
    },
    'command.execute.before': async ({ command, sessionID, arguments: words }, { parts }) => {
      if (command !== NAME || !isOurs) return;
      const { lines, changed } = await outcomeOf(common, states, sessionID, words);
      if (changed !== undefined) states.keep(changed);
      const text = lines.join('\n');
      common.log.info(NAME, `${sessionID}: ${text}`);
      common.show(text);
      parts.splice(0, parts.length, { type: 'text', text: asked(text) });
    },
  };
}

function asked(text: string): string {
  const record = framed(text, `the answer to the user's command /${NAME}: no instruction`);
  return `The command /${NAME} has been carried out. Repeat its answer to the user as it is, call no tool, and do nothing else.\n${record}`;
}

async function outcomeOf(common: Common, states: SessionStates, id: string, words: string): Promise<Outcome> {
  // A command line's words come in quotes.
  const [name = 'stats', count, ...more] = words.match(/[^\s"']+/g) ?? [];
  const messages = await messagesOf(common, id);
  const kind = await common.kinds.kindOf(id, messages ?? []);
  if (kind === 'sub')
    return { lines: ["Pruning is off here: this is a sub-agent's session, which stays as it is."] };
  if (kind === 'unknown')
    return { lines: ['Nothing was done: OpenCode does not say now whose session this is. Try again.'] };
  const state = states.of(id);
  const { prune, enabled } = common.settings();
  const isOn = enabled && prune.enabled;
  if (name === 'off' || name === 'on') return switched(state, name === 'off', isOn);
  if (name === 'stats') return { lines: [...statsOf(state, isOn), totalOf(allPruned(common.paths))] };
  const number = count === undefined ? 0 : Number(count);
  const isNumber = Number.isInteger(number) && number >= 0 && number <= SWEPT_MAX;
  if ((name !== 'context' && name !== 'sweep') || more.length > 0 || !isNumber)
    return { lines: [`There is no such command: ${USAGE}`] };
  if (messages === undefined)
    return { lines: ['Nothing was done: OpenCode does not give the messages now. Try again.'] };
  const shown = messagesFrom(messages);
  const options = {
    settings: prune,
    earlier: state.decisions,
    project: common.host.directory,
    nowMs: Date.now(),
  };
  const { decisions, waiting } = decide(shown, options);
  if (name === 'context') return { lines: contextOf(shown, decisions, waiting) };
  if (state.isOff || !isOn) return { lines: ['Nothing was done: pruning is off.'] };
  const isProtected = protectionOf(prune, common.host.directory);
  const swept = [
    ...waiting.map(keepable),
    ...sweptOf(shown, number, [...decisions, ...waiting], isProtected),
  ];
  const readAgainChars = state.readAgainChars + readAgain(shown, [...decisions, ...swept], swept);
  return {
    lines: [`Not sent any more from now on: ${swept.length > 0 ? savedBy(swept) : 'nothing more'}.`],
    changed: { ...state, decisions: [...state.decisions, ...swept], readAgainChars },
  };
}

/** What of a session is still sent: all since it was summarised. Undefined where OpenCode does not say. */
async function messagesOf({ host }: Common, id: string): Promise<HostMessage[] | undefined> {
  try {
    const answer = host.client.session.messages({ path: { id } });
    const { data } = await within(WAIT_MS, {}, answer);
    if (!Array.isArray(data)) return undefined;
    const messages = readRecords(data).map((one) => ({
      info: readRecord(one, 'info'),
      parts: readRecords(one.parts),
    }));
    const summary = messages.findLastIndex(({ info }) => info.summary === true);
    return messages.slice(Math.max(0, summary));
  } catch {
    return undefined;
  }
}

function switched(state: Pruned, isOff: boolean, isOn: boolean): Outcome {
  const said = isOff
    ? 'Pruning is off in this session: all of it is sent. "/prune on" switches it on again.'
    : 'Pruning is on in this session.';
  const general = isOn ? [] : ['The settings switch it off in all sessions: prune.enabled.'];
  return { lines: [said, ...general], changed: { ...state, isOff } };
}

/** The outputs of the newest calls that have ended, unless they are always shown, or are shown no more already. */
function sweptOf(
  messages: readonly Message[],
  newest: number,
  decided: readonly Decision[],
  isProtected: (call: Call) => boolean,
): Decision[] {
  const known = new Set(decided.map(({ callId }) => callId));
  const ended = messages
    .flatMap(({ calls }) => calls)
    .filter((call) => call.state !== 'running' && !isProtected(call));
  const newestCalls = newest > 0 ? ended.slice(-newest) : [];
  return newestCalls.filter(({ id }) => !known.has(id)).flatMap((call) => sweptCall(call) ?? []);
}
