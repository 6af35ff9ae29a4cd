import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { asRecord, type Json, readRecord, readRecords } from '../../src/core/guards.ts';
import type { Environment } from '../../src/core/state-paths.ts';
import { readPruned } from '../../src/prune/store.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { pathsOf } from '../support/home.ts';
import { installCli } from './install-clis.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import type { ModelAnswer, ModelRequest, Script } from './one-shot-model.ts';
import { makeWorkspace, type Workspace, writeFiles } from './one-shot-workspace.ts';
import { inPlace } from './runs-dialects.ts';

/** What the real OpenCode sends with the plugin and without it, and what becomes of a session whose model needs what went. */

const suite = await offlineSuite(() => installCli('opencode'));
setDefaultTimeout(120_000);

const PLUGIN = resolve(import.meta.dir, '../../dist/opencode-plugin.js');
const OUTPUT_REMOVED = '[Output removed to save context';
const INPUT_REMOVED = '[Input removed to save context';
const MAIN = { text: 'MAIN' };
const MODEL = ['run', '--format', 'json', '--model', 'scripted/some-model'];

/** The plugin behind a client whose look-ups are slow or fail, as a file says, in an OpenCode that tells nothing of its sessions then. */
const WRAPPER = `import { readFileSync } from 'node:fs';
import plugin from '${PLUGIN}';
const kindOf = () => readFileSync(process.env.HOME + '/look-up', 'utf8');
let asked = 0;
const server = async (input) => {
  const get = async (request) => {
    const kind = kindOf();
    if (kind === 'fails' && ++asked % 2 === 0) throw new Error('the server is gone');
    if (kind === 'fails') return { error: { name: 'NotFoundError' } };
    if (kind === 'slow') await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 180));
    return input.client.session.get(request);
  };
  const session = { get, messages: (request) => input.client.session.messages(request) };
  const hooks = await plugin.server({ ...input, client: { session, tui: input.client.tui } });
  return { ...hooks, event: (given) => (kindOf() === '' ? hooks.event(given) : undefined) };
};
export default { id: 'wrapped', server };
`;

const lines = (word: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${word} line ${at + 1}: the quick brown fox`).join('\n');
const bash = (command: string): ToolCall => ({ name: 'bash', input: { command, description: 'x' } });
const task = (prompt: string, more: object = {}): ToolCall => ({
  name: 'task',
  input: { description: 'look', prompt, subagent_type: 'general', ...more },
});

const textOf = ({ body }: ModelRequest) => JSON.stringify(body.messages);
const messagesOf = ({ body }: ModelRequest) => readRecords(body.messages);
const isOfAgent = ({ headers }: ModelRequest) => headers['x-parent-session-id'] !== undefined;
const isOfTitle = (request: ModelRequest) => textOf(request).includes('title generator');
const isSummary = (request: ModelRequest) => textOf(request).includes('context summarization agent');
const isOfMain = (request: ModelRequest) => ![isOfAgent, isOfTitle, isSummary].some((is) => is(request));
const outputsOf = (request: ModelRequest | undefined) =>
  (request === undefined ? [] : messagesOf(request)).flatMap(({ role, content }) =>
    role === 'tool' ? [String(content)] : [],
  );
const charsOf = (request: ModelRequest | undefined) =>
  JSON.stringify(request === undefined ? '' : messagesOf(request).filter(({ role }) => role !== 'system'))
    .length;
const isPruned = (request: ModelRequest) => textOf(request).includes('removed to save context');
/** A request without what differs from run to run. */
const plain = (request: ModelRequest) =>
  textOf(request)
    .replaceAll(/\b(?:ses|msg|prt|tool|job)_\w+/g, 'ID')
    .replaceAll(/sg-one-shot-\w+/g, 'ROOT')
    .replaceAll(/Today's date: [^\\]+/g, 'DATE');

/** Each list of calls is what a session's model answers, one after the other; then it is done. */
function scripted(
  main: readonly (readonly ToolCall[])[],
  agent: (request: ModelRequest) => readonly (readonly ToolCall[])[] = () => [],
): Script {
  const left = new Map<unknown, (readonly ToolCall[])[]>();
  return (request) => {
    const id = request.headers['x-session-affinity'] ?? request.headers['x-session-id'];
    if (isOfTitle(request) || isSummary(request)) return { kind: 'text', text: 'Some files' };
    const steps = left.get(id) ?? [...(isOfAgent(request) ? agent(request) : main)];
    left.set(id, steps);
    const calls = steps.shift();
    return calls === undefined ? { kind: 'text', text: 'Done.' } : { kind: 'calls', calls };
  };
}

/** What a cache of the exact beginnings of requests has not, of all of them together, and how often one begins differently. */
function cacheOf(requests: readonly ModelRequest[]) {
  let [uncachedChars, breaks, before]: [number, number, string[]] = [0, 0, []];
  for (const request of requests) {
    const now = messagesOf(request).map((one) => JSON.stringify(one));
    const first = now.findIndex((one, at) => one !== before[at]);
    uncachedChars += now.slice(first < 0 ? now.length : first).join('').length;
    if (first >= 0 && first < before.length) breaks++;
    before = now;
  }
  return { uncachedChars, breaks };
}

/** What is asked of OpenCode: a prompt in a new session, in an old one, or in a fork of that; or /prune with these words. */
type Asked = { readonly session?: string; readonly isFork?: boolean } & (
  | { readonly text: string }
  | { readonly prune: string }
);
/** The sessions of what was asked, and what OpenCode asked its model meanwhile. */
type Talk = { readonly ids: readonly string[]; readonly asked: readonly ModelRequest[] };
const idIn = ({ ids: [id = ''] }: Talk) => id;
const agentsIn = ({ asked }: Talk) => [
  ...new Set(asked.filter(isOfAgent).map(({ headers }) => String(headers['x-session-affinity']))),
];

suite('the plugin in OpenCode', () => {
  const all: Workspace[] = [];
  const servers = new Map<Workspace, { readonly url: string; readonly stop: () => void }>();
  let without: Workspace;
  let using: Workspace;
  const both = () => [without, using];
  const project = ({ root }: Workspace) => join(root, 'project');
  const file = (user: Workspace, name: string) => join(project(user), name);
  const read = (user: Workspace, name: string): ToolCall => ({
    name: 'read',
    input: { filePath: file(user, name) },
  });
  const prunedIn = (user: Workspace, id: string) => readPruned(pathsOf(user.home), id);

  async function userWith(plugin: string): Promise<Workspace> {
    const user = await makeWorkspace('opencode');
    all.push(user);
    const provider = JSON.parse(readFileSync(join(user.home, 'provider.json'), 'utf8'));
    mkdirSync(project(user));
    await writeFiles(user.home, {
      ...inPlace('.config/opencode'),
      'wrapper.js': WRAPPER,
      'look-up': '',
      'none.js': 'export default { id: "none", server: async () => ({}) };',
      '.config/opencode/opencode.json': {},
      '.opencode/opencode.json': {},
      '.config/opencode/plugin/mark.js': 'export default { id: "mark", server: async () => ({}) };',
      'provider.json': {
        ...{ provider: provider.provider, plugin: [`file://${join(user.home, plugin)}`] },
        ...{ permission: { '*': 'allow' }, agent: { general: { permission: { task: 'allow' } } } },
        subagent_depth: 3,
      },
      '.self-generation/config.json': { opencode: { knowledge: false } },
    });
    await writeFiles(project(user), { 'a.txt': lines('alpha', 120), 'c.txt': lines('gamma', 80) });
    return user;
  }

  /** OpenCode's own server of the user, since each start takes seconds of a processor. */
  async function serve(user: Workspace): Promise<void> {
    const command = [join(user.root, 'bin', 'opencode'), 'serve', '--port', '0'];
    const options = { cwd: project(user), stdin: 'ignore', stderr: 'ignore' } as const;
    const served = Bun.spawn(command, { ...options, env: { ...user.env } });
    let said = '';
    for await (const bytes of served.stdout) {
      said += new TextDecoder().decode(bytes);
      const [url] = /http:\/\/\S+/.exec(said) ?? [];
      if (url === undefined) continue;
      servers.set(user, { url, stop: () => served.kill() });
      return;
    }
    throw new Error(`Cannot serve: ${said}`);
  }

  /** @throws Error for what the server refuses, and for an answer of the model that failed. */
  async function post(user: Workspace, path: string, body: object): Promise<Json> {
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const response = await fetch(`${servers.get(user)?.url}/session${path}`, request);
    const answer = asRecord(await response.json());
    if (response.ok && readRecord(answer, 'info').error === undefined) return answer;
    throw new Error(`Cannot post ${path}: ${JSON.stringify(answer).slice(0, 2000)}`);
  }

  /** Asks all of it at once. */
  async function ask(user: Workspace, script: Script, questions: readonly Asked[]): Promise<Talk> {
    const from = user.board.model.requests.length;
    user.board.script = script;
    const ids = await Promise.all(
      questions.map(async ({ session, isFork, ...what }) => {
        const isNew = session === undefined || isFork === true;
        const made = isNew && (await post(user, session === undefined ? '' : `/${session}/fork`, {}));
        const id = String(made ? made.id : session);
        if ('text' in what) {
          const model = { providerID: 'scripted', modelID: 'some-model' };
          await post(user, `/${id}/message`, { model, parts: [{ type: 'text', text: what.text }] });
        } else await post(user, `/${id}/command`, { command: 'prune', arguments: what.prune });
        return id;
      }),
    );
    return { ids, asked: user.board.model.requests.slice(from).filter(({ api }) => api !== 'other') };
  }

  /** The same in a process of its own. @throws Error unless it ends well. */
  async function run(
    user: Workspace,
    script: Script,
    args: readonly string[],
    env: Environment = {},
  ): Promise<Talk> {
    const from = user.board.model.requests.length;
    user.board.script = script;
    const options = { env: { ...user.env, ...env }, cwd: project(user), timeoutMs: 60_000, stdin: '' };
    const end = await runCommand('opencode', [...MODEL, ...args], options);
    if (end.kind !== 'exited' || end.code !== 0)
      throw new Error(`Cannot run opencode ${args.join(' ')}: ${JSON.stringify(end).slice(0, 2000)}`);
    const [, id = ''] = /"sessionID":"(ses_\w+)"/.exec(end.stdout) ?? [];
    return { ids: [id], asked: user.board.model.requests.slice(from).filter(({ api }) => api !== 'other') };
  }

  const lookUpsOf = (user: Workspace, kind: string) => writeFiles(user.home, { 'look-up': kind });

  const work = (user: Workspace): readonly (readonly ToolCall[])[] => [
    [read(user, 'a.txt')],
    [read(user, 'a.txt')],
    [read(user, `no/${'very-long-'.repeat(12)}.txt`)],
    [{ name: 'write', input: { filePath: file(user, 'b.txt'), content: lines('beta', 60) } }],
    [read(user, 'b.txt')],
    [read(user, 'a.txt'), read(user, 'c.txt')],
    [bash('cat a.txt')],
    [bash('cat a.txt')],
    [task('look at the files')],
    [read(user, 'c.txt')],
    [task('one, with another agent'), task('two')],
  ];
  const lookAround = (user: Workspace): readonly (readonly ToolCall[])[] => [
    [read(user, 'a.txt')],
    [read(user, 'a.txt')],
    [read(user, 'nowhere.txt')],
    [bash('cat c.txt')],
    [bash('cat c.txt')],
  ];
  const agentWork = (user: Workspace) => (request: ModelRequest) => {
    const isNesting = textOf(request).includes('with another agent');
    return isNesting ? [...lookAround(user), [task('below')]] : lookAround(user);
  };
  /** The same work of both, side by side. */
  const playBoth = () =>
    Promise.all(both().map((user) => ask(user, scripted(work(user), agentWork(user)), [MAIN])));
  const agentRequests = (one: Talk | undefined) => (one?.asked ?? []).filter(isOfAgent).map(plain).sort();
  const mainRequests = (one: Talk | undefined) => (one?.asked ?? []).filter(isOfMain);

  beforeAll(async () => {
    [without, using] = await Promise.all([userWith('none.js'), userWith('wrapper.js')]);
    await Promise.all(both().map(serve));
  });
  afterAll(async () => {
    for (const { stop } of servers.values()) stop();
    await Promise.all(all.map((user) => user.remove()));
  });

  test('main sessions say half as much and let more of it be cached; not a byte of a sub-agent is different', async () => {
    const [before, after] = await playBoth();
    const [long, short] = [mainRequests(before), mainRequests(after)];
    expect(short.length).toBe(long.length);
    expect(charsOf(short.at(-1))).toBeLessThan(charsOf(long.at(-1)) * 0.6);
    expect(cacheOf(long)).toMatchObject({ breaks: 0 });
    expect(cacheOf(short)).toMatchObject({ breaks: 0 });
    expect(cacheOf(short).uncachedChars).toBeLessThan(cacheOf(long).uncachedChars * 0.75);
    expect(agentRequests(after)).toHaveLength(25);
    expect(agentRequests(after)).toEqual(agentRequests(before));
    if (after === undefined) throw new Error('nothing was said');
    expect(prunedIn(using, idIn(after))).toMatchObject({ requests: short.length, readAgainChars: 0 });
    for (const id of agentsIn(after)) expect(prunedIn(using, id)).toBeUndefined();
    const log = readFileSync(pathsOf(using.home).opencodeLog, 'utf8');
    expect(log).not.toContain('ERROR');
    expect(log.match(/INFO state: isSubAgent = true\n/g)).toHaveLength(4);
    expect(log).toContain(`INFO state: session ID = ${idIn(after)}\n`);

    // What is resumed, in another process as well, and what is forked.
    const [sub = ''] = agentsIn(after);
    const [main, text] = [idIn(after), 'go on'];
    const script = scripted([], () => lookAround(using));
    const forks = [
      { session: sub, isFork: true },
      { session: main, isFork: true },
    ].map((one) => ({ ...one, text }));
    const [anew, other] = await Promise.all([
      run(using, script, ['--session', main, text]),
      ask(using, script, [{ session: sub, text }, ...forks]),
    ]);
    const asked = [...new Set([...anew.asked, ...other.asked])];
    const [resumed, agentResumed, agentFork, fork] = [...anew.ids, ...other.ids].map((id) =>
      asked.filter((one) => one.headers['x-session-affinity'] === id && !isOfTitle(one)),
    );
    expect(outputsOf(resumed?.[0]).slice(0, 13)).toEqual(outputsOf(short.at(-1)).slice(0, 13));
    expect([agentResumed?.filter(isPruned), agentFork?.filter(isPruned)]).toEqual([[], []]);
    expect([agentResumed?.length, agentFork?.length].map((count = 0) => count > 0)).toEqual([true, true]);
    expect(fork?.map(isPruned)).not.toContain(false);
    expect(charsOf(fork?.[0])).toBeLessThan(charsOf(long.at(-1)) * 0.6);
  });

  test('sub-agents in the background are as they were, and so is their session pruned', async () => {
    const script = (user: Workspace) => {
      const inBackground = task('look behind', { background: true });
      const reads = Array.from({ length: 4 }, () => [read(user, 'a.txt')]);
      return scripted([[inBackground], ...reads, [inBackground], ...reads], () => lookAround(user));
    };
    const env = { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: '1' };
    await lookUpsOf(using, 'slow');
    const [before, after] = await Promise.all(both().map((user) => run(user, script(user), ['MAIN'], env)));
    // Their session may end before the last of them.
    expect(new Set(agentRequests(after)).size).toBeGreaterThan(3);
    expect(agentRequests(before)).toEqual(expect.arrayContaining(agentRequests(after)));
    expect(mainRequests(after).some(isPruned)).toBe(true);
  });

  test('three sessions at once are each on their own, where look-ups are slow, fail and throw; sub-agents are as they were', async () => {
    const steps = [[read(using, 'a.txt')], [read(using, 'a.txt')], [task('look')], [read(using, 'a.txt')]];
    const script = scripted(steps, () => lookAround(using));
    const [one, two, three] = ['one', 'two', 'three'].map((text) => ({ text }));
    if (one === undefined || two === undefined || three === undefined) throw new Error('nothing to ask');
    await lookUpsOf(using, 'slow');
    const slow = await ask(using, script, [one, two, three]);
    await lookUpsOf(using, 'fails');
    const failing = await ask(using, script, [one]);
    await lookUpsOf(using, '');
    expect(slow.ids.map((id) => prunedIn(using, id)?.decisions.length)).toEqual([1, 1, 1]);
    expect(failing.ids.map((id) => prunedIn(using, id))).toEqual([undefined]);
    expect([slow, failing].map(({ asked }) => asked.filter(isOfAgent).length)).toEqual([18, 6]);
    expect([...slow.asked, ...failing.asked].filter(isOfAgent).filter(isPruned)).toEqual([]);
    expect(slow.asked.filter(isOfMain).filter(isPruned).length).toBeGreaterThan(8);
    expect(failing.asked.filter(isPruned)).toEqual([]);
  });

  test('a session is summarised from the whole of it; nothing is different where pruning is switched off', async () => {
    const talks = await Promise.all(
      both().map((user) => {
        const steps = scripted([[read(user, 'a.txt')], [read(user, 'a.txt')], [read(user, 'c.txt')]]);
        let asked = 0;
        const script: Script = (request, index) => {
          const answer: ModelAnswer = steps(request, index);
          return isOfMain(request) && answer.kind === 'calls' && ++asked === 3
            ? { ...answer, inputTokens: 399_000 }
            : answer;
        };
        return ask(user, script, [MAIN]);
      }),
    );
    const [before, after] = talks.map(({ asked }) => asked.filter(isSummary).map(plain));
    expect(after).toHaveLength(1);
    expect(after).toEqual(before ?? []);
    expect(after?.join()).toContain('alpha line 20');
    expect(mainRequests(talks[1]).some(isPruned)).toBe(true);

    const off = '{ // mine\n  prune: { enabled: false }, opencode: { knowledge: false } }';
    await writeFiles(using.home, { '.self-generation/config.json': off });
    try {
      const steps = [[read(using, 'a.txt')], [read(using, 'a.txt')]];
      const asItWas = mainRequests(await ask(using, scripted(steps), [MAIN])).map(plain);
      expect(asItWas).toEqual(mainRequests(talks[0]).slice(0, 3).map(plain));
    } finally {
      await writeFiles(using.home, { '.self-generation/config.json': { opencode: { knowledge: false } } });
    }
  });

  test('a pruned reading is enough for an edit; behind an undo and a summary all is shown that nothing stands for any more', async () => {
    await writeFiles(project(using), { 'e.txt': lines('epsilon', 80) });
    const filePath = file(using, 'e.txt');
    const edit: ToolCall = {
      name: 'edit',
      input: { filePath, oldString: 'epsilon line 7:', newString: 'EPSILON line 7:' },
    };
    const again = [read(using, 'e.txt')];
    const begun = await ask(using, scripted([again, again, [edit], again]), [MAIN]);
    const shown = outputsOf(begun.asked.filter(isOfMain).at(-1));
    expect(shown[1]).toStartWith(OUTPUT_REMOVED);
    expect(shown[2]).toContain('Edit applied');
    expect(shown[3]).toContain('EPSILON line 7:');

    const session = idIn(begun);
    const cat = [bash('cat e.txt')];
    using.board.script = scripted([cat, cat]);
    const model = { providerID: 'scripted', modelID: 'some-model' };
    const said = await post(using, `/${session}/message`, {
      model,
      parts: [{ type: 'text', text: 'go on' }],
    });
    await post(using, `/${session}/revert`, { messageID: readRecord(said, 'info').parentID });
    const undone = await ask(using, scripted([cat, cat]), [{ session, text: 'go on' }]);
    const [first, second] = outputsOf(undone.asked.filter(isOfMain).at(-1)).slice(4);
    expect([first?.includes('epsilon line 80'), second?.startsWith(OUTPUT_REMOVED)]).toEqual([true, true]);

    await post(using, `/${session}/summarize`, model);
    const later = await ask(using, scripted([again]), [{ session, text: 'go on' }]);
    expect(outputsOf(later.asked.filter(isOfMain).at(-1)).join()).toContain('EPSILON line 7:');
    expect(later.asked.filter(isOfMain).filter(isPruned)).toEqual([]);
  });

  test('a model that repeats a pruned input fails at the tool, and writes no placeholder into the file', async () => {
    const path = file(using, 'd.txt');
    const write = (input: object): ToolCall => ({ name: 'write', input: { filePath: path, ...input } });
    const steps: (readonly ToolCall[])[] = [
      [write({ content: lines('delta', 200) })],
      [read(using, 'd.txt')],
      ...Array.from({ length: 12 }, (_, at) => [bash(`echo ${at}`)]),
    ];
    const play = scripted(steps);
    let imitated: unknown;
    const { asked } = await ask(
      using,
      (request, index) => {
        const own = messagesOf(request).flatMap((one) => readRecords(one.tool_calls));
        const written = JSON.parse(
          String((own[0]?.function as { arguments?: string } | undefined)?.arguments ?? '{}'),
        );
        if (!isOfMain(request) || !textOf(request).includes(INPUT_REMOVED) || imitated !== undefined)
          return play(request, index);
        imitated = written;
        return { kind: 'calls', calls: [write(written)] };
      },
      [MAIN],
    );
    expect(imitated).toEqual({ filePath: path });
    expect(readFileSync(path, 'utf8')).toBe(lines('delta', 200));
    const last = asked.filter(isOfMain).at(-1);
    expect(outputsOf(last)[0]).toContain('give every value in full');
    expect(outputsOf(last).some((output) => output.includes('delta line 200'))).toBe(true);
  });

  test('a model that needs a result again repeats the call and is shown it in full; /prune says what was saved, and sweeps', async () => {
    const steps = [
      ...Array.from({ length: 3 }, () => [read(using, 'a.txt')]),
      [read(using, 'c.txt')],
      [task('look')],
    ];
    const begun = await ask(
      using,
      scripted(steps, () => lookAround(using)),
      [MAIN],
    );
    const [first = '', second, third] = outputsOf(begun.asked.filter(isOfMain).at(-1));
    expect(first).toContain('alpha line 120');
    expect(second).toStartWith(OUTPUT_REMOVED);
    expect(second).toContain('repeat the call now');
    expect(third).toBe(first);

    const [sub = ''] = agentsIn(begun);
    const session = idIn(begun);
    const both = [
      { session, prune: 'stats' },
      { session: sub, prune: 'sweep 9' },
    ];
    const told = await ask(using, scripted([]), both);
    const said = textOf(told.asked.filter(isOfMain).at(-1) as ModelRequest);
    expect(said).toContain('The command /prune has been carried out');
    expect(said).toContain('(deduplicate 1)');
    expect(textOf(told.asked.filter(isOfAgent).at(-1) as ModelRequest)).toContain('Pruning is off here');
    expect(existsSync(join(pathsOf(using.home).pruned, `${sub}.json`))).toBe(false);

    // The result of the task is the newest, and always shown.
    const again = scripted([[read(using, 'c.txt')], [bash('true')]]);
    const swept = await run(using, again, ['--session', session, '--command', 'prune', 'sweep 1']);
    const outputs = outputsOf(swept.asked.filter(isOfMain).at(-1));
    expect(outputs[2]).toContain('alpha line 120');
    expect(outputs[3]).toStartWith(`${OUTPUT_REMOVED}: the user had`);
    expect(outputs[5]).toContain('gamma line 80');
    const off = await ask(using, scripted([]), [{ session, prune: 'off' }]);
    const isShort = (request: ModelRequest) => outputsOf(request).join().includes(OUTPUT_REMOVED);
    expect(off.asked.filter(isOfMain).filter(isShort)).toEqual([]);
  });
});
