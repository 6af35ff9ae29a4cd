import { describe, expect, test } from 'bun:test';
import { CLIENT_NAMES as FOLDERS } from '../../src/core/client-name.ts';
import { NO_POLICY, NO_TOOLS, SUBAGENT_DENY, type ToolPolicy } from '../../src/runs/model/tool-policy.ts';
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
  /** Recordings of turns, each with what is concluded from it. The first is of a whole turn. */
  readonly conclusions: readonly (readonly [name: string, expected: object, title: string])[];
};

const WORK = {
  outcome: 'success',
  text: '정답은 42입니다 👍\n\n"끝" @types/node',
  error: null,
  isModelRefused: false,
  sessionId: expect.stringMatching(/^(?:[0-9a-f-]{36}|ses_\w+)$/),
};

const EXPECTED: Readonly<Record<ClientName, Expected>> = {
  claude: {
    stdin: `\n${REQUEST.prompt}`,
    session: [[`--session-id=${SESSION}`], [`--resume=${SESSION}`]],
    agentDir: 'CLAUDE_CONFIG_DIR',
    version: ['2.1.328 (Claude Code)\n', '2.1.328'],
    conclusions: [
      ['work', WORK, 'a whole turn'],

      ['resumed', { outcome: 'success', text: 'again' }, 'a resumed session'],
      ['announce', { outcome: 'success', text: 'Result: done' }, 'a step without tools'],
      ['denied', { outcome: 'success', text: 'I could not.' }, 'a turn whose tools were refused'],
      ['retried', { outcome: 'success', text: 'after all' }, 'a service that had to be asked again'],
      ['empty', { outcome: 'error', error: 'the answer is empty', text: null }, 'a model that says nothing'],
      [
        'refused',
        { outcome: 'error', error: 'API Error: 400 the prompt is not for us', isModelRefused: false },
        'a refused request',
      ],
      [
        'not-logged-in',
        { outcome: 'error', error: 'Not logged in · Please run /login', isModelRefused: false },
        'a user without login',
      ],
      [
        'over-budget',
        { outcome: 'error', error: 'Reached maximum budget ($0.00001)', text: 'I read it first.' },
        'a budget used up',
      ],
      [
        'model-unknown',
        {
          outcome: 'error',
          isModelRefused: true,
          text: null,
          error: expect.stringContaining('selected model (nosuch)'),
        },
        'a model that there is not',
      ],
      [
        'refused-later',
        { outcome: 'error', isModelRefused: false, text: 'I begin.' },
        'a model refused when there was work already',
      ],
      [
        'killed',
        { outcome: 'error', text: 'I begin.', error: 'ended by SIGKILL, without a result' },
        'a killed client',
      ],
      [
        'interrupted',
        { outcome: 'error', text: 'I begin.', error: 'ended with exit code 0, without a result' },
        'an interrupted client that ends well',
      ],
      [
        'unknown-session',
        { outcome: 'error', error: expect.stringContaining('No conversation found with session ID') },
        'a session that there is not',
      ],
      [
        'unknown-flag',
        { outcome: 'error', error: "error: unknown option '--frobnicate'", sessionId: null },
        'a release that does not know a flag',
      ],

      ['model-refused', { outcome: 'error', isModelRefused: true }, 'a refused model'],
    ],
  },
  codex: {
    stdin: REQUEST.prompt,
    session: [[], ['--', SESSION, '-']],
    agentDir: 'CODEX_HOME',
    version: ['WARNING: no aliases\ncodex-cli 0.169.0\n', '0.169.0'],
    conclusions: [
      ['work', WORK, 'a whole turn'],

      ['resumed', { outcome: 'success', text: 'again' }, 'a resumed session'],
      ['announce', { outcome: 'success', text: 'Result: done' }, 'a step without tools'],
      ['denied', { outcome: 'success', text: 'I could not.' }, 'a turn whose tools were refused'],
      ['code-mode', { outcome: 'success' }, 'a model that calls its tools from JavaScript'],
      ['empty', { outcome: 'error', error: 'the answer is empty' }, 'a model that says nothing'],
      [
        'model-unknown',
        { outcome: 'error', isModelRefused: true, error: expect.stringContaining('does not exist') },
        'a model that there is not',
      ],
      [
        'model-refused',
        { outcome: 'error', isModelRefused: true, error: expect.stringContaining('is not supported') },
        'a model that the account may not use',
      ],
      [
        'refused',
        { outcome: 'error', isModelRefused: false, error: 'the prompt is not for us' },
        'a refused request',
      ],
      [
        'refused-later',
        { outcome: 'error', isModelRefused: false, error: 'the model is not supported any more' },
        'a model refused when there was work already',
      ],
      [
        'not-logged-in',
        { outcome: 'error', isModelRefused: false, error: expect.stringContaining('401 Unauthorized') },
        'a user without login',
      ],
      [
        'unknown-session',
        { outcome: 'error', sessionId: null, error: expect.stringContaining('no rollout found') },
        'a session that there is not',
      ],
      [
        'other-session',
        { outcome: 'error', error: 'the client did not resume the session: it began another' },
        'a client that began another session, and calls that a success',
      ],
      ['killed', { outcome: 'error', error: 'ended by SIGKILL, without a result' }, 'a killed client'],
      [
        'terminated',
        { outcome: 'error', error: 'ended by SIGTERM, without a result' },
        'a terminated client',
      ],
      [
        'interrupted',
        { outcome: 'error', error: 'ended with exit code 1, without a result' },
        'an interrupted client',
      ],
      [
        'bad-server',
        { outcome: 'error', error: expect.stringContaining('MCP servers failed') },
        'a server that does not start',
      ],
      [
        'unknown-flag',
        { outcome: 'error', error: "error: unexpected argument '--frobnicate' found" },
        'a release that does not know a flag',
      ],

      ['other-model', { outcome: 'success' }, 'an answer of another model'],
    ],
  },
  gemini: {
    stdin: `/self-generation-message\n${REQUEST.prompt}`,
    session: [[`--session-id=${SESSION}`], [`--resume=${SESSION}`]],
    agentDir: null,
    version: ['0.61.0\n', '0.61.0'],
    conclusions: [
      ['work', WORK, 'a whole turn'],

      ['resumed', { outcome: 'success', text: 'again' }, 'a resumed session'],
      ['announce', { outcome: 'success', text: 'Result: done' }, 'a step without tools'],
      ['denied', { outcome: 'success', text: 'I could not.' }, 'a turn whose tools were refused'],
      [
        'model-unknown',
        {
          outcome: 'error',
          isModelRefused: true,
          error: expect.stringMatching(/^models\/nosuch is not found/),
        },
        'a model that there is not',
      ],
      [
        'refused',
        { outcome: 'error', isModelRefused: false, error: 'the prompt is not for us' },
        'a refused request',
      ],
      [
        'refused-later',
        { outcome: 'error', isModelRefused: false, error: 'models/x is not found' },
        'a model refused when there was work already',
      ],
      [
        'empty',
        { outcome: 'error', error: expect.stringContaining('empty response') },
        'a model that says nothing, which ends with exit code 0',
      ],
      [
        'looping',
        { outcome: 'error', error: 'Loop detected, stopping execution' },
        'a model that the client stopped, which it calls a success',
      ],
      [
        'unknown-session',
        { outcome: 'error', sessionId: null, error: expect.stringContaining('Invalid session identifier') },
        'a session that there is not',
      ],
      [
        'session-in-use',
        { outcome: 'error', error: expect.stringContaining('already exists') },
        'a new session whose id there is already',
      ],
      [
        'not-logged-in',
        { outcome: 'error', error: expect.stringContaining('you must specify the GEMINI_API_KEY') },
        'a user without login',
      ],
      ['killed', { outcome: 'error', error: 'ended by SIGKILL, without a result' }, 'a killed client'],
      [
        'terminated',
        { outcome: 'error', error: 'ended with exit code 0, without a result' },
        'a terminated client, which ends well',
      ],
      [
        'unknown-flag',
        { outcome: 'error', error: 'Unknown argument: frobnicate' },
        'a release that does not know a flag',
      ],

      ['routed', { outcome: 'success' }, 'a model that a router chose'],
    ],
  },
  opencode: {
    stdin: REQUEST.prompt,
    session: [[], [`--session=${SESSION}`]],
    agentDir: 'XDG_DATA_HOME',
    version: ['1.18.33\n', '1.18.33'],
    conclusions: [
      ['work', WORK, 'a whole turn'],

      ['resumed', { outcome: 'success', text: 'again' }, 'a resumed session'],
      ['announce', { outcome: 'success', text: 'Result: done' }, 'a step without tools'],
      ['denied', { outcome: 'success', text: 'I could not.' }, 'a turn whose tools were refused'],
      ['empty', { outcome: 'error', error: 'the answer is empty', text: null }, 'a model that says nothing'],
      [
        'refused',
        { outcome: 'error', error: 'the prompt is not for us', isModelRefused: false },
        'a refused request',
      ],
      [
        'model-refused',
        { outcome: 'error', error: 'model: some-model', isModelRefused: true },
        'a refused model',
      ],
      [
        'model-unknown',
        { error: 'ProviderModelNotFoundError: Model not found: scripted/nosuch.', isModelRefused: true },
        'a model that there is not',
      ],
      ['not-logged-in', { outcome: 'error', isModelRefused: true, text: null }, 'a user without login'],
      [
        'refused-later',
        { isModelRefused: false, text: 'I begin.' },
        'a model refused when there was work already',
      ],
      ['killed', { text: 'I begin.', error: 'ended by SIGKILL, without a result' }, 'a killed client'],
      [
        'interrupted',
        { text: 'I begin.', error: 'ended by SIGINT, without a result' },
        'an interrupted client',
      ],
      [
        'unknown-session',
        { error: 'Error: Session not found', sessionId: null },
        'a session that there is not',
      ],
      [
        'unknown-flag',
        { error: 'the client did not understand its arguments: it may be of another release' },
        'a release that does not know a flag',
      ],
    ],
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
  const { stdin, session, agentDir, version, conclusions } = EXPECTED[name];

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
    for (const [recording, expected, title] of conclusions) {
      test(`concludes ${title}`, () => {
        const { conclusion } = readTurn(client, recordedTurn(`${name}-${recording}`));
        expect(conclusion).toMatchObject(expected);
        expect(conclusion.outcome === 'success').toBe(conclusion.error === null);
      });
    }

    test('is not taken in by another session than the one that was asked for', () => {
      const resumed = recordedTurn(`${name}-resumed`);
      const { conclusion } = readTurn(client, { ...resumed, session: { kind: 'resume', id: 'another' } });
      expect(conclusion).toMatchObject({
        outcome: 'error',
        error: expect.stringContaining('did not resume'),
      });
    });

    testReader(
      client,
      conclusions.map(([recording]) => `${name}-${recording}`),
      `${name}-work`,
    );
  });
}
