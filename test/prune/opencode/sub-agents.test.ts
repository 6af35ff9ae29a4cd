import { expect, test } from 'bun:test';
import type { HostMessage } from '../../../src/prune/opencode/host.ts';
import { pluginHooks } from '../../../src/prune/opencode/plugin.ts';
import { temporaryHome } from '../../support/home.ts';
import { type Answers, answer, call, failedCall, fileText, hostOf, prompt } from './host.ts';

const CONVERSATIONS = 1000;
const STEPS = 9;
const PLACEHOLDER = /\[(?:Out|In)put removed to save context/;

/** A number from 0 up to `below`, the same ones for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return (state >>> 3) % below;
  };
}

type Session = {
  readonly id: string;
  readonly isSub: boolean;
  readonly agent: string;
  /** As OpenCode gives it; a fork has no parent. */
  readonly info: { readonly id: string; readonly title: string; readonly parentID?: string };
  readonly messages: HostMessage[];
};

/** A session that goes on where another one stands. */
function forkOf({ isSub, agent, messages, info }: Session, id: string): Session {
  const copies = messages.map((one) => ({ ...one, info: { ...one.info, sessionID: id } }));
  return { id, isSub, agent, info: { id, title: `${info.title} (fork #1)` }, messages: copies };
}

/** A step of the session's model, or a prompt: files are read again and again, and written, and calls fail. */
function stepOf({ id, agent }: Session, at: number, random: (below: number) => number): HostMessage {
  if (random(4) === 0) return prompt(id, `go on, ${at}`, agent);
  const filePath = `/home/dev/app/${random(2)}.ts`;
  const calls = Array.from({ length: 1 + random(2) }, (_, index) => {
    const callId = random(3) === 0 ? `call_${index}` : `call_${at}_${index}`;
    const partId = `prt_${at}_${index}`;
    const kind = random(4);
    if (kind === 0)
      return { ...failedCall(callId, 'bash', { command: 'x'.repeat(600) }, 'it failed'), id: partId };
    const part =
      kind === 1
        ? call(callId, 'write', { filePath, content: 'y'.repeat(800) }, 'Wrote the file.')
        : call(callId, 'read', { filePath }, fileText(filePath));
    return { ...part, id: partId };
  });
  return answer(id, calls);
}

/** How OpenCode answers when it is asked for a session. */
function lookUp(sessions: readonly Session[], kind: number): NonNullable<Answers['get']> {
  return async (id) => {
    const found = { data: sessions.find((session) => session.id === id)?.info };
    if (kind === 1) return { error: { name: 'NotFoundError' } };
    if (kind === 2) throw new Error('the server is gone');
    if (kind === 3) return Bun.sleep(15).then(() => found);
    if (kind === 4) return new Promise(() => {});
    return found;
  };
}

/** Plays a conversation; gives how many requests of sub-agents were changed, and how many of main sessions were pruned. */
async function play(seed: number, paths: Parameters<typeof pluginHooks>[1]) {
  const random = numbers(seed);
  const sessions: Session[] = [];
  const hooks = pluginHooks(hostOf({ get: lookUp(sessions, random(5)) }), paths, 10);
  const areEventsTold = random(3) > 0;
  hooks.config?.({ agent: { scout: { mode: 'subagent' } } });
  const begin = (session: Session) => {
    sessions.push(session);
    const event = { type: 'session.created', properties: { info: session.info } };
    if (areEventsTold) hooks.event?.({ event });
  };
  const add = (parent?: Session) => {
    const id = `ses_${seed}_${sessions.length}`;
    // An agent of another mode is known by nothing but the session's parent and title.
    const agent = parent === undefined ? 'build' : (['general', 'scout', 'helper'][random(3)] ?? '');
    const isNamed = parent !== undefined && (agent === 'helper' || random(2) === 0);
    const title = isNamed ? `look (@${agent} subagent)` : 'work';
    const info = { id, title, ...(parent && { parentID: parent.id }) };
    begin({
      id,
      isSub: parent !== undefined,
      agent,
      info,
      messages: [prompt(id, 'begin', agent)],
    });
  };
  const pick = () => sessions[random(sessions.length)] as Session;
  add();
  let [changed, pruned] = [0, 0];
  const request = async (session: Session) => {
    const messages = structuredClone(session.messages);
    const before = JSON.stringify(messages);
    await hooks['experimental.chat.messages.transform']?.({}, { messages });
    const after = JSON.stringify(messages);
    if (session.isSub && after !== before) changed++;
    if (!session.isSub && PLACEHOLDER.test(after)) pruned++;
  };
  for (let at = 0; at < STEPS; at++) {
    const dice = random(8);
    if (dice === 0) add(pick());
    if (dice === 1) begin(forkOf(pick(), `ses_${seed}_${sessions.length}`));
    const chosen = [...new Set([pick(), pick()])];
    for (const session of chosen) session.messages.push(stepOf(session, at, random));
    await Promise.all(chosen.map(request));
  }
  return { changed, pruned };
}

test('not one byte of a sub-agent changes: nested, side by side, forked, whatever OpenCode tells of it', async () => {
  using home = temporaryHome();
  const seeds = Array.from({ length: CONVERSATIONS }, (_, at) => at + 1);
  const played = await Promise.all(
    seeds.map((seed) => play(seed, { ...home.paths, pruned: `${home.paths.pruned}/${seed}` })),
  );
  expect(played.filter(({ changed }) => changed > 0)).toEqual([]);
  // Main sessions are, in most of the conversations.
  expect(played.filter(({ pruned }) => pruned > 0).length).toBeGreaterThan(CONVERSATIONS / 2);
}, 60_000);
