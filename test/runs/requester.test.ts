import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Permissions } from '../../src/runs/model/permissions.ts';
import type { Requester, RunWithMessages } from '../../src/runs/model/run.ts';
import {
  type Grants,
  labelProblem,
  matchRun,
  requesterHere,
  requesterPermissions,
} from '../../src/runs/requester.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { childKeyOf, madeRunWithTurn } from '../support/made-run.ts';

function here(home: Home, env: Record<string, string>, cwd = home.path): Requester {
  return requesterHere({ env, cwd, paths: home.paths } as RunsWorld);
}

describe('requesterHere()', () => {
  const rows: readonly [string, Record<string, string>, Pick<Requester, 'client' | 'session'>][] = [
    ['a person in a terminal', {}, { client: null, session: null }],
    ['Claude Code', { CLAUDECODE: '1', CLAUDE_CODE_SESSION_ID: 's' }, { client: 'claude', session: 's' }],
    ['an older Claude Code', { CLAUDECODE: '1' }, { client: 'claude', session: null }],
    ['Codex', { CODEX_THREAD_ID: 't-1', CODEX_CI: '1' }, { client: 'codex', session: null }],
    ['Gemini CLI', { GEMINI_CLI: '1' }, { client: 'gemini', session: null }],
    ['OpenCode', { OPENCODE: '1' }, { client: 'opencode', session: null }],
  ];
  for (const [what, env, expected] of rows)
    test(`knows ${what} by the environment`, () => {
      using home = temporaryHome();
      expect(here(home, env)).toMatchObject(expected);
    });

  test('is the same in every directory of a repository, and for every client', () => {
    using home = temporaryHome();
    const [repository, deep] = [`${home.path}/app`, `${home.path}/app/src/deep`];
    mkdirSync(deep, { recursive: true });
    home.put('app/.git/HEAD', 'ref: refs/heads/main');
    const keys = [
      here(home, {}, repository).key,
      here(home, { CODEX_CI: '1' }, deep).key,
      here(home, { CLAUDE_PROJECT_DIR: repository }).key,
    ];
    expect(new Set(keys).size).toBe(1);
    expect(here(home, {}).key).not.toBe(keys[0]);
    expect(here(home, {}, deep).cwd).toBe(deep);
  });
});

/** Who asks decides what a run may do: a person by the client's configuration, an agent by its session. */

const NO_GRANTS: Grants = { ofSettings: [], ofPerson: [] };
const SESSION = '0f3c4d5e-0000-4000-8000-000000000001';
const ASKS: Permissions = { mode: 'default', allow: [], deny: [] };

/** A project with these files, and who asks there for runs: a session of Claude Code. */
function inWorld(files: Readonly<Record<string, unknown>>) {
  const home = temporaryHome();
  const cwd = join(home.path, 'project');
  mkdirSync(cwd);
  for (const [path, content] of Object.entries(files)) {
    const name = path.replace('<slug>', cwd.replace(/[^A-Za-z0-9]/g, '-'));
    home.put(name, typeof content === 'string' ? content : JSON.stringify(content));
  }
  const env = { HOME: home.path, PATH: '/usr/bin:/bin' };
  const program = { platform: 'linux', executablePath: '', isCompiled: false, now: () => new Date() };
  const world: RunsWorld = { paths: home.paths, env, cwd, ...program };
  const requester: Requester = { key: 'agent:main:a-1', session: SESSION, client: 'claude', cwd };
  const of = (
    grants: Partial<Grants> = {},
    changes: Partial<Requester> = {},
    more: Partial<RunsWorld> = {},
  ) =>
    requesterPermissions(
      { ...requester, ...changes },
      'claude',
      { ...NO_GRANTS, ...grants },
      { ...world, ...more },
    );
  return { ...home, cwd, env, of };
}

/** What an agent may do where these files are. */
function permissions(files: Readonly<Record<string, unknown>>, grants: Partial<Grants> = {}): Permissions {
  using here = inWorld(files);
  return here.of(grants);
}

const prompt = (mode: string, text = 'x') =>
  `${JSON.stringify({ type: 'user', message: { content: text }, permissionMode: mode })}\n`;
const transcript = (text: string) => ({ [`.claude/projects/<slug>/${SESSION}.jsonl`]: text });
const settings = (permissions: object) => ({ '.claude/settings.json': { permissions } });

describe('requesterPermissions()', () => {
  test('gives an agent no more than default mode when nothing is known of its session', () => {
    expect(permissions(settings({ defaultMode: 'bypassPermissions' }))).toMatchObject(ASKS);
    using here = inWorld(settings({ allow: ['Bash(ls:*)'] }));
    expect(here.of({}, { client: null, session: 'mcp-1' })).toEqual(ASKS);
  });

  const modes: Record<string, Permissions['mode']> = {
    plan: 'plan',
    default: 'default',
    acceptEdits: 'edit',
    dontAsk: 'default',
    bypassPermissions: 'all',
    auto: 'auto',
  };
  for (const [name, mode] of Object.entries(modes))
    test(`gives an agent in ${name} mode as much`, () =>
      expect(permissions(transcript(prompt(name))).mode).toBe(mode));

  const line = (value: unknown) => `${JSON.stringify(value)}\n`;
  const wide = { permissionMode: 'bypassPermissions' };
  const long = line({ type: 'assistant', text: 'y'.repeat(1024 * 1024) });
  const torn = prompt('plan').slice(0, -4);
  const told = prompt('plan', 'Read: "permissionMode":"bypassPermissions" and {"permissionMode":"auto"}');
  const call = line({ type: 'assistant', message: { content: [{ type: 'tool_use', input: wide }] } });
  const result = line({ type: 'user', toolUseResult: wide });
  const texts: [what: string, text: string, mode: Permissions['mode']][] = [
    ['by the last mode, however long ago', prompt('bypassPermissions') + prompt('plan') + long, 'plan'],
    ['by nothing that a text says', told, 'plan'],
    ['by no field that a tool was called with', prompt('plan') + call, 'plan'],
    ['by no field that a tool has answered', prompt('plan') + result, 'plan'],
    ['by nothing before a line that is torn at the end', prompt('bypassPermissions') + torn, 'default'],
    ['by nothing around a line that is torn', prompt('bypassPermissions') + torn + prompt('auto'), 'default'],
    ...[262_100, 262_120, 262_144].map((padding): [string, string, 'edit'] => [
      `by a mode that may stand across two of the blocks that are read, ${padding} bytes before the end`,
      prompt('acceptEdits') + 'z'.repeat(padding),
      'edit',
    ]),
  ];
  test.each(texts)('goes %s', (_, text, mode) => expect(permissions(transcript(text)).mode).toBe(mode));

  test('finds the session from wherever its shell has gone, with what the project forbids', () => {
    const deny = ['Bash(git push:*)'];
    const project = { 'project/.claude/settings.json': { permissions: { deny } } };
    using here = inWorld({ ...project, ...transcript(prompt('plan')) });
    expect(here.of({}, { cwd: `${here.cwd}/src/deep` })).toEqual({ mode: 'plan', allow: [], deny });
  });

  test('leaves out in plan mode the rules that change files, and keeps the others', () => {
    const own = settings({ allow: ['Edit', 'Write(src/**)', 'Bash(git log:*)'] });
    expect(permissions({ ...own, ...transcript(prompt('plan')) }).allow).toEqual(['Bash(git log:*)']);
  });

  test('takes Codex’ sandbox from its rollout', () => {
    const CODEX_THREAD_ID = '01a204f9-19e7-7770-8d42-1dc999480da7';
    const sandbox = { sandbox_policy: { type: 'workspace-write', network_access: false } };
    const told = { arguments: { sandbox_policy: { type: 'danger-full-access' } } };
    const path = `.codex/sessions/2026/11/22/rollout-2026-11-22T20-36-03-${CODEX_THREAD_ID}.jsonl`;
    const lines =
      line({ type: 'turn_context', payload: sandbox }) + line({ type: 'event_msg', payload: told });
    using here = inWorld({ [path]: lines });
    const codex = { client: 'codex', session: null } as const;
    expect(here.of({}, codex, { env: { ...here.env, CODEX_THREAD_ID } }).mode).toBe('edit');
    expect(here.of({}, codex).mode).toBe('default');
  });

  test('adds the user’s own rules, and what the settings allow', () => {
    const own = settings({ allow: ['Bash(npm test:*)'], ask: ['Bash(git push:*)'] });
    const allow = ['Bash(npm test:*)', 'edit'];
    const expected = { mode: 'default' as const, allow, deny: ['Bash(git push:*)'] };
    expect(permissions(own, { ofSettings: ['edit'] })).toEqual(expected);
  });

  test('adds in plan mode only what a person grants', () => {
    const plan = transcript(prompt('plan'));
    expect(permissions(plan, { ofSettings: ['edit'] }).allow).toEqual([]);
    expect(permissions(plan, { ofSettings: ['exec'], ofPerson: ['edit'] }).allow).toEqual(['edit']);
  });

  test('stores no secret that a rule quotes, and keeps the whole of what it forbids', () => {
    const secret = `sk-ant-api03-${'aB3'.repeat(20)}`;
    const allow = [`Bash(curl -H "x-api-key: ${secret}":*)`, 'Bash(ls:*)'];
    const own = settings({ allow, deny: [`Bash(login ${secret})`] });
    expect(permissions(own)).toEqual({ mode: 'default', allow: ['Bash(ls:*)'], deny: ['exec'] });
  });

  test('reads nothing of a configuration that cannot be understood', () => {
    const broken = { '.claude/settings.json': '{"permissions": {"allow": ["Bash"]' };
    expect(permissions(broken)).toEqual(ASKS);
    for (const [name, mode] of Object.entries({ bypassPermissions: 'default', plan: 'plan' } as const))
      expect(permissions({ ...broken, ...transcript(prompt(name)) })).toEqual({ ...ASKS, mode });
  });
});

const id = (beginning: string) => beginning.padEnd(32, '0');

/** Of these the first has an id of digits only at its beginning, and the second and third begin alike. */
const RUNS: readonly RunWithMessages[] = [
  madeRunWithTurn({ id: id('12345678'), number: 1, label: 'fix tests' }),
  madeRunWithTurn({ id: id('abcd1111'), number: 2, label: 'docs' }),
  madeRunWithTurn({ id: id('abcd2222'), number: 3, label: 'docs of the API' }),
  madeRunWithTurn({ id: id('ffff0000'), number: 12, label: 'twin' }),
  madeRunWithTurn({ id: id('99990000'), number: 11, label: 'twin' }),
  madeRunWithTurn({ id: id('77770000'), number: 10, label: 'agent: fix' }),
  madeRunWithTurn({ id: id('66660000'), number: 9, label: '1234' }),
  madeRunWithTurn({ id: id('66661111'), number: 13, label: 'pair' }),
  madeRunWithTurn({ id: id('66662222'), number: 14, label: 'pair' }, { state: 'success' }),
  { ...madeRunWithTurn({ id: id('66663333'), number: 15, label: 'queue' }, { state: 'error' }), waiting: 1 },
  madeRunWithTurn({ id: id('66664444'), number: 16, label: 'queue' }, { state: 'success' }),
];

const found: [words: string, number: number][] = [
  ['last', 16],
  ['1', 1],
  ['#1', 1],
  [' 12 ', 12],
  ['0012', 12],
  [childKeyOf(id('abcd1111')), 2],
  ['abcd1', 2],
  ['ABCD2', 3],
  ['abcd1111-0000', 2],
  [id('ffff0000'), 12],
  // No run has the number, so it is the beginning of an id.
  ['12345', 1],
  ['1234', 1],
  ['id:1234', 1],
  ['id:9999', 11],
  ['fix tests', 1],
  ['fix', 1],
  // The whole label of one, the beginning of another.
  ['docs', 2],
  ['docs of', 3],
  ['agent: fix', 10],
  ['agent: f', 10],
  // Of two with one label the newest, or the one that works; the same where the label is only begun.
  ['twin', 12],
  ['tw', 12],
  ['pair', 13],
  ['pai', 13],
  ['queue', 15],
];

const DOCS = 'It may be #2 "docs" (running), #3 "docs of the API" (running): use the number';

const notFound: [words: string | undefined, kind: 'missing' | 'ambiguous' | 'empty', error: string][] = [
  [undefined, 'empty', 'Missing subagent id.'],
  ['', 'empty', 'Missing subagent id.'],
  ['  ', 'empty', 'Missing subagent id.'],
  ['4', 'missing', 'Invalid subagent index: 4'],
  ['#4', 'missing', 'Invalid subagent index: 4'],
  ['0', 'missing', 'Invalid subagent index: 0'],
  ['555', 'missing', 'Invalid subagent index: 555'],
  ['5555', 'missing', 'Invalid subagent index: 5555'],
  ['#12345', 'missing', 'Invalid subagent index: 12345'],
  ['agent:main:subagent:none', 'missing', 'Unknown subagent session: agent:main:subagent:none'],
  ['abcd', 'ambiguous', `Ambiguous run id prefix: abcd. ${DOCS}`],
  ['id:abcd', 'ambiguous', `Ambiguous run id prefix: abcd. ${DOCS}`],
  ['abc', 'missing', 'Unknown subagent id: abc'],
  ['id:12', 'missing', 'Unknown subagent id: id:12'],
  ['id:', 'missing', 'Unknown subagent id: id:'],
  ['id:fix', 'missing', 'Unknown subagent id: id:fix'],
  ['doc', 'ambiguous', `Ambiguous subagent label prefix: doc. ${DOCS}`],
  ['nothing', 'missing', 'Unknown subagent id: nothing'],
  ['\u001b[2Jno\nthing', 'missing', 'Unknown subagent id: no thing'],
];

describe('matchRun()', () => {
  const numberOf = (words: string, runs = RUNS) => {
    const answer = matchRun(words, runs);
    return answer.kind === 'found' ? answer.run.run.number : answer.error;
  };
  for (const [words, number] of found)
    test(`finds run ${number} by ${JSON.stringify(words)}`, () => expect(numberOf(words)).toBe(number));

  for (const [words, kind, error] of notFound)
    test(`says "${error}" to ${JSON.stringify(words)}`, () =>
      expect(matchRun(words, RUNS)).toEqual({ kind, error }));

  test('knows no last one where there is none', () =>
    expect(matchRun('last', [])).toEqual({ kind: 'missing', error: 'Unknown subagent id: last' }));

  test('takes a beginning of digits for an id only when no run has that number', () => {
    const both = [...RUNS, madeRunWithTurn({ id: id('55550000'), number: 12345 })];
    expect([numberOf('12345', both), numberOf('id:12345', both)]).toEqual([12345, 1]);
  });
});

describe('labelProblem()', () => {
  const reasons: [labels: string[], reason: string][] = [
    [['last', 'all', 'project', '*'], 'that word has a meaning of its own'],
    [['3', '#3', '1234'], "it reads as a run's number"],
    [['id:abcd', childKeyOf(id('f'))], "it reads as a run's id or session key"],
    [['abcd', 'Facade', 'ABCD-1234', id('ffff')], '4 or more of 0-9 and a-f read as the beginning of an id'],
  ];
  for (const [labels, reason] of reasons)
    for (const label of labels)
      test(`refuses ${label}, by which no run could be named, since ${reason}`, () =>
        expect(labelProblem(label)).toBe(`Cannot call a run "${label}": ${reason}. Choose another label`));

  test('has nothing against a label by which its run is found', () => {
    for (const label of ['docs', 'fix #3', 'lasting', 'all tests', 'agent: fix', 'abc', 'v2'])
      expect(labelProblem(label)).toBeUndefined();
  });
});
