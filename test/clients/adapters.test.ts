import { describe, expect, test } from 'bun:test';
import type { Conclusion } from '../../src/clients/client.ts';
import { CLIENT_NAMES as FOLDERS } from '../../src/core/client-name.ts';
import { NO_POLICY, NO_TOOLS, SUBAGENT_DENY, type ToolPolicy } from '../../src/runs/model/tool-policy.ts';
import { NO_USAGE, type Usage } from '../../src/runs/model/turn.ts';
import { CLIENT_NAMES, CLIENTS, type ClientName } from '../support/clients.ts';
import { commandOf, offeredBy, policed, REQUEST, SERVER, SESSION, shownBy } from './adapter.ts';
import { testReader } from './runs-properties.ts';
import { readTurn, recordedTurn } from './runs-recorded.ts';

/** What holds for every client; what is of one alone is in the test of its name. */

type Expected = {
  readonly stdin: string;
  /** What names a new session and one that is resumed, among the arguments. */
  readonly session: readonly [begun: readonly string[], resumed: readonly string[]];
  /** The variable by which the client finds an agent's own login. */
  readonly agentDir: string | null;
  readonly version: readonly [printed: string, read: string];
  /** The recorded turn: its events but for usage, its tools with a `!` where they failed, what it used. */
  readonly work: readonly [events: string, tools: string, usage: Partial<Usage>];
  /** Other recordings, by their names: the text of a good end, and what is said of a bad one. */
  readonly answers: Readonly<Record<string, string>>;
  readonly failures: Readonly<Record<string, readonly [error: string | RegExp, rest?: Partial<Conclusion>]>>;
};

const TEXT = '정답은 42입니다 👍\n\n"끝" @types/node';
const ANSWERS = { resumed: 'again', announce: 'Result: done', denied: 'I could not.' };
const REFUSED = { isModelRefused: true };
const BEGUN = { text: 'I begin.' };
const NO_SESSION = { sessionId: null };
const COST = { costUsd: 0.0001, costSource: 'client' } as const;
const SHELL = 'run_shell_command';
const KILLED = 'ended by SIGKILL, without a result';

const EXPECTED: Readonly<Record<ClientName, Expected>> = {
  claude: {
    stdin: `\n${REQUEST.prompt}`,
    session: [[`--session-id=${SESSION}`], [`--resume=${SESSION}`]],
    agentDir: 'CLAUDE_CONFIG_DIR',
    version: ['2.1.328 (Claude Code)\n', '2.1.328'],
    work: [
      'session text call result text call call result result call result call result text end',
      'Read Edit !Bash !Edit !Task',
      { ...{ inputTokens: 500, outputTokens: 100, model: 'claude-haiku-5-5' }, ...COST },
    ],
    answers: { ...ANSWERS, retried: 'after all' },
    failures: {
      empty: ['the answer is empty'],
      refused: ['API Error: 400 the prompt is not for us'],
      'not-logged-in': ['Not logged in · Please run /login'],
      'over-budget': ['Reached maximum budget ($0.00001)', { text: 'I read it first.' }],
      'model-unknown': [/selected model \(nosuch\)/, REFUSED],
      'model-refused': [/selected model \(claude-haiku-5-5\)/, REFUSED],
      'refused-later': [/selected model \(claude-haiku-5-5\)/, BEGUN],
      killed: [KILLED, BEGUN],
      interrupted: ['ended with exit code 0, without a result', BEGUN],
      'unknown-session': [/^No conversation found with session ID/],
      'unknown-flag': ["error: unknown option '--frobnicate'", NO_SESSION],
    },
  },
  codex: {
    stdin: REQUEST.prompt,
    session: [[], ['--', SESSION, '-']],
    agentDir: 'CODEX_HOME',
    version: ['WARNING: no aliases\ncodex-cli 0.169.0\n', '0.169.0'],
    work: [
      'session call result call result call result call result call result text end',
      'Bash apply_patch !Bash mcp__self-generation__echo_back !Bash',
      { inputTokens: 600, outputTokens: 120 },
    ],
    answers: { ...ANSWERS, 'code-mode': TEXT, 'other-model': TEXT },
    failures: {
      empty: ['the answer is empty'],
      refused: ['the prompt is not for us'],
      'not-logged-in': [/401 Unauthorized/],
      'model-unknown': [/does not exist/, REFUSED],
      'model-refused': [/is not supported/, REFUSED],
      'refused-later': ['the model is not supported any more'],
      killed: [KILLED],
      terminated: ['ended by SIGTERM, without a result'],
      interrupted: ['ended with exit code 1, without a result'],
      'unknown-session': [/no rollout found/, NO_SESSION],
      // Which the client calls a success.
      'other-session': ['the client did not resume the session: it began another', { text: 'x' }],
      'bad-server': [/MCP servers failed/, NO_SESSION],
      'unknown-flag': ["error: unexpected argument '--frobnicate' found", NO_SESSION],
    },
  },
  gemini: {
    stdin: `/self-generation-message\n${REQUEST.prompt}`,
    session: [[`--session-id=${SESSION}`], [`--resume=${SESSION}`]],
    agentDir: null,
    version: ['0.61.0\n', '0.61.0'],
    work: [
      `session ${'call result '.repeat(4)}call call call result result result text text text end`,
      `read_file replace ${SHELL} mcp_self-generation_echo_back !${SHELL} !invoke_agent !read_file`,
      { inputTokens: 600, outputTokens: 120, cacheWriteTokens: null, model: 'scripted' },
    ],
    answers: { ...ANSWERS, routed: TEXT },
    failures: {
      empty: [/empty response/], // With exit code 0.
      looping: ['Loop detected, stopping execution'], // Which the client calls a success.
      refused: ['the prompt is not for us'],
      'not-logged-in': [/you must specify the GEMINI_API_KEY/, NO_SESSION],
      'model-unknown': [/^models\/nosuch is not found/, REFUSED],
      'refused-later': ['models/x is not found'],
      killed: [KILLED],
      terminated: ['ended with exit code 0, without a result'],
      'unknown-session': [/Invalid session identifier/, NO_SESSION],
      'session-in-use': [/already exists/, NO_SESSION],
      'unknown-flag': ['Unknown argument: frobnicate', NO_SESSION],
    },
  },
  opencode: {
    stdin: REQUEST.prompt,
    session: [[], [`--session=${SESSION}`]],
    agentDir: 'XDG_DATA_HOME',
    version: ['1.18.33\n', '1.18.33'],
    work: [
      'session text call result text call result call result call result call result text end',
      'read edit !bash !edit !task',
      { inputTokens: 500, outputTokens: 100, model: 'scripted/some-model' },
    ],
    answers: ANSWERS,
    failures: {
      empty: ['the answer is empty'],
      refused: ['the prompt is not for us'],
      'not-logged-in': [/^ProviderModelNotFoundError: Model not found: anthropic/, REFUSED],
      'model-unknown': ['ProviderModelNotFoundError: Model not found: scripted/nosuch.', REFUSED],
      'model-refused': ['model: some-model', REFUSED],
      'refused-later': ['model: some-model', BEGUN],
      killed: [KILLED, BEGUN],
      interrupted: ['ended by SIGINT, without a result', BEGUN],
      'unknown-session': ['Error: Session not found', NO_SESSION],
      'unknown-flag': [
        'the client did not understand its arguments: it may be of another release',
        NO_SESSION,
      ],
    },
  },
};

/** What a policy takes away from what is offered without one, by the clients' own names. */
const TAKEN: readonly (readonly [
  title: string,
  policy: Partial<ToolPolicy>,
  taken: Readonly<Record<ClientName, string>> | 'nothing' | 'everything',
])[] = [
  ['nothing is denied', {}, 'nothing'],
  ['what is no child’s is denied', { deny: SUBAGENT_DENY }, 'nothing'],
  ['everything is allowed by name', { allow: ['*'] }, 'nothing'],
  ['everything is denied', { deny: ['*'] }, 'everything'],
  ['only words are wanted', NO_TOOLS, 'everything'],
  [
    'groups are denied',
    { deny: ['group:fs', 'group:web'] },
    {
      claude: 'Edit Glob Grep NotebookEdit Read WebFetch WebSearch Write',
      codex: 'writing view_image web_search network',
      gemini: 'glob google_web_search grep_search list_directory read_file replace web_fetch write_file',
      opencode: 'glob grep list read webfetch websearch edit',
    },
  ],
  [
    'one name of what writes is denied',
    { deny: ['edit'] },
    { claude: 'Edit NotebookEdit', codex: 'writing', gemini: 'replace', opencode: 'edit' },
  ],
  [
    'another name of what writes is denied',
    { deny: ['write'] },
    { claude: 'Write', codex: 'writing', gemini: 'write_file', opencode: 'edit' },
  ],
  [
    'the third name of what writes is denied',
    { deny: ['apply_patch'] },
    { claude: '', codex: 'writing', gemini: '', opencode: 'edit' },
  ],
  [
    'commands are denied by another name',
    { deny: ['bash', 'process'] },
    { claude: 'Bash', codex: 'shell_tool unified_exec', gemini: 'run_shell_command', opencode: 'bash' },
  ],
  [
    'a pattern is denied',
    { deny: ['web_*'] },
    {
      claude: 'WebFetch WebSearch',
      codex: 'web_search network',
      gemini: 'google_web_search web_fetch',
      opencode: 'webfetch websearch',
    },
  ],
  [
    'tools are denied by the name that one client has for them',
    { deny: ['WebFetch', 'view_image', 'replace', '*_todos'] },
    {
      claude: 'Edit NotebookEdit TodoWrite WebFetch',
      codex: 'writing view_image update_plan network',
      gemini: 'replace web_fetch write_todos',
      opencode: 'todowrite webfetch edit',
    },
  ],
  [
    'a list is all there is, with one of the names of what writes',
    { allow: ['read', 'Edit'] },
    {
      claude: 'Bash TodoWrite WebFetch WebSearch Write',
      codex: 'writing shell_tool unified_exec web_search update_plan skills skill_search network',
      gemini: 'google_web_search run_shell_command web_fetch write_file write_todos',
      opencode: 'bash todowrite webfetch websearch edit',
    },
  ],
  [
    'a list is all there is',
    { allow: ['read', 'write', 'edit', 'exec', 'web_fetch'] },
    {
      claude: 'TodoWrite WebSearch',
      codex: 'web_search update_plan skills skill_search',
      gemini: 'google_web_search write_todos',
      opencode: 'todowrite websearch',
    },
  ],
  [
    'what is allowed is denied too',
    { allow: ['read', 'exec'], deny: ['exec'] },
    {
      claude: 'Bash Edit NotebookEdit TodoWrite WebFetch WebSearch Write',
      codex: 'writing shell_tool unified_exec web_search update_plan skills skill_search network',
      gemini: 'google_web_search replace run_shell_command web_fetch write_file write_todos',
      opencode: 'bash todowrite webfetch websearch edit',
    },
  ],
];

/** What of our server a child is shown. */
const SHOWN: readonly (readonly [Partial<ToolPolicy>, ReturnType<typeof shownBy>])[] = [
  [{}, { only: [], except: [] }],
  [{ allow: ['mcp'] }, { only: [], except: [] }],
  [{ allow: ['mcp__self-generation__a'] }, { only: ['a'], except: [] }],
  [{ deny: ['mcp__self-generation__a'] }, { only: [], except: ['a'] }],
  [{ allow: ['read'] }, null],
  ...['mcp', 'mcp__self-generation__*', 'mcp__self-generation__a*', '*_list', '*'].map(
    (name) => [{ deny: [name] }, null] as const,
  ),
];

test('every folder of a client has a row, by its name and that of its program', () => {
  expect(CLIENT_NAMES).toEqual(FOLDERS as typeof CLIENT_NAMES);
  expect(CLIENT_NAMES.map((name) => CLIENTS[name].name)).toEqual(CLIENT_NAMES);
});

for (const name of CLIENT_NAMES) {
  const client = CLIENTS[name];
  const { stdin, session, agentDir, version, work, answers, failures } = EXPECTED[name];

  describe(`${name}: the command line`, () => {
    test('has the prompt in stdin alone, where it is no command of the client', () => {
      const { args, env, files, ...made } = commandOf(name);
      expect(made.stdin).toBe(stdin);
      expect(JSON.stringify([args, env, files])).not.toContain('secret.txt');
    });

    test('names the session to begin or to resume', () => {
      const without = commandOf(name, { session: { kind: 'once', instructions: '' } }).args;
      const named = (kind: 'new' | 'resume') => commandOf(name, { session: { kind, id: SESSION } }).args;
      const [begun, resumed] = session;
      expect(named('new')).toEqual(expect.arrayContaining([...begun]));
      expect(named('new').join(' ').includes(SESSION)).toBe(begun.length > 0);
      expect(named('resume')).toEqual(expect.arrayContaining([...resumed]));
      expect(without.join(' ')).not.toContain(SESSION);
    });

    test('has a model where one is given, which is never an option', () => {
      expect(commandOf(name, { model: '--evil' }).args).toContain('--model=--evil');
      expect(commandOf(name).args.join(' ')).not.toContain('--model');
    });

    test("leads to an agent's own login, which is otherwise the user's", () => {
      const { env, passedOn } = commandOf(name);
      const own = commandOf(name, { agentDir: '/home/dev/agent' });
      if (agentDir === null) return expect(own.env).toEqual(env); // Its files are linked.
      expect(env[agentDir]).toBeUndefined();
      expect(
        passedOn.some((one) => one === agentDir || (one === 'XDG_*' && agentDir.startsWith('XDG_'))),
      ).toBe(true);
      expect(own.env[agentDir]).toBe('/home/dev/agent');
    });

    test('keeps our server from who is to have no tool, and its secrets from the arguments', () => {
      const made = (policy: ToolPolicy) => commandOf(name, { mcp: SERVER, policy });
      expect(JSON.stringify(made(NO_POLICY))).toContain(SERVER.command);
      expect(made(NO_POLICY).args.join(' ')).not.toContain('secret');
      for (const policy of [NO_TOOLS, { ...NO_POLICY, deny: ['mcp'] }])
        expect(JSON.stringify(made(policy))).not.toContain(SERVER.command);
    });
  });

  describe(`${name}: the policy`, () => {
    const all = offeredBy(name);
    for (const [policy, shown] of SHOWN) {
      test(`shows of our server what it lets through by ${JSON.stringify(policy)}`, () =>
        expect(shownBy(name, policy)).toEqual(shown));
    }

    for (const [title, policy, taken] of TAKEN) {
      test(`holds when ${title}`, () => {
        const words = taken === 'nothing' ? '' : taken === 'everything' ? all.join(' ') : taken[name];
        expect(offeredBy(name, policed(policy))).toEqual(
          all.filter((one) => !words.split(' ').includes(one)),
        );
        expect(words.split(' ').filter((one) => one !== '' && !all.includes(one))).toEqual([]);
        if (name !== 'codex') expect(client.gaps({ ...NO_POLICY, ...policy })).toEqual([]);
      });
    }
  });

  test(`${name}: the version is read from what the client prints, and from nothing else`, () => {
    const [printed, read] = version;
    expect(client.version.read(printed)).toBe(read);
    for (const other of CLIENT_NAMES)
      if (other !== name && !['gemini', 'opencode'].includes(other))
        expect(client.version.read(EXPECTED[other].version[0])).toBeUndefined();
  });

  describe(`${name}: the reader`, () => {
    const good = (text: string) => ({
      ...{ outcome: 'success', text, error: null, isModelRefused: false },
      sessionId: expect.stringMatching(/^(?:[0-9a-f-]{36}|ses_\w+)$/),
    });
    const read = (recording: string) => readTurn(client, recordedTurn(`${name}-${recording}`));

    test('tells of a whole turn in its order, of each call with its result, and what it used', () => {
      const [told, tools, usage] = work;
      const { events, conclusion } = read('work');
      const kinds = events.flatMap(({ kind }) =>
        kind === 'usage' ? [] : [kind === 'result' ? 'end' : kind.replace('tool-', '')],
      );
      expect(kinds.join(' ')).toBe(told);
      const calls = events.flatMap((event) => (event.kind === 'tool-call' ? [event] : []));
      const results = events.flatMap((event) => (event.kind === 'tool-result' ? [event] : []));
      expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
      const named = calls.map(({ tool }, index) => `${results[index]?.isError ? '!' : ''}${tool}`);
      expect(named.join(' ')).toBe(tools);
      const counted = { ...NO_USAGE, cacheReadTokens: 0, cacheWriteTokens: 0, ...usage };
      expect(conclusion).toEqual({ ...good(TEXT), usage: counted } as Conclusion);
    });

    for (const [recording, text] of Object.entries(answers))
      test(`concludes a good end of ${recording}`, () =>
        expect(read(recording).conclusion).toMatchObject(good(text)));

    for (const [recording, [error, rest = {}]] of Object.entries(failures))
      test(`concludes that ${recording} failed: ${error}`, () =>
        expect(read(recording).conclusion).toMatchObject({
          ...{ ...good(''), outcome: 'error', text: null, ...rest },
          error: typeof error === 'string' ? error : expect.stringMatching(error),
        }));

    test('is not taken in by another session than the one that was asked for', () => {
      const resumed = recordedTurn(`${name}-resumed`);
      const { conclusion } = readTurn(client, { ...resumed, session: { kind: 'resume', id: 'another' } });
      const error = expect.stringContaining('did not resume');
      expect(conclusion).toMatchObject({ outcome: 'error', error });
    });

    const recordings = ['work', ...Object.keys(answers), ...Object.keys(failures)];
    testReader(
      client,
      recordings.map((recording) => `${name}-${recording}`),
      `${name}-work`,
    );
  });
}
