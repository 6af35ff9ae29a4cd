import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parse } from 'jsonc-parser';
import { commandText } from '../../src/clients/claude/setup.ts';
import { isRecord } from '../../src/core/guards.ts';
import { checkMcp } from '../../src/setup/check-installation.ts';
import { INSTALL_CLIENTS } from '../../src/setup/clients/table.ts';
import type { InstallOptions } from '../../src/setup/install.ts';
import type { RunCommand } from '../../src/system/run-command.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { installedIn } from '../support/installed.ts';
import { putFile, treeBelow } from '../support/tree.ts';
import { useMachine } from './machine.ts';

const at = useMachine();
const { inHome, removed } = at;
const binary = () => at.state('hooks', 'self-generation');
/** What clients are given beside the server has tests of its own. */
const clients = Object.fromEntries(INSTALL_CLIENTS.map((client) => [client, client === 'claude']));
const installed = (changes: Partial<InstallOptions> = {}) => installedIn(at.home, { clients, ...changes });

/** How Gemini CLI is told to hand a key on. */
const HANDED_ON = `\${OPENAI_API_KEY:-}`;

/** Each client's file below the home, and our entry as that client has to read it. */
const FILES: Readonly<
  Record<ClientName, { name: string; entry: (text: string) => unknown; wanted: () => object }>
> = {
  claude: {
    name: '.claude.json',
    entry: (text) => serverIn(parse(text), 'mcpServers'),
    wanted: () => ({ type: 'stdio', ...started(), env: {} }),
  },
  codex: {
    name: '.codex/config.toml',
    entry: (text) => serverIn(Bun.TOML.parse(text), 'mcp_servers'),
    wanted: () => ({ ...started(), env_vars: expect.arrayContaining(['OPENAI_API_KEY']) }),
  },
  gemini: {
    name: '.gemini/settings.json',
    entry: (text) => serverIn(parse(text), 'mcpServers'),
    wanted: () => ({ ...started(), env: expect.objectContaining({ OPENAI_API_KEY: HANDED_ON }) }),
  },
  opencode: {
    name: '.config/opencode/opencode.json',
    entry: (text) => serverIn(parse(text), 'mcp'),
    wanted: () => ({ type: 'local', command: [binary(), 'mcp'] }),
  },
};
const started = () => ({ command: binary(), args: ['mcp'] });

function serverIn(value: unknown, holder: string): unknown {
  const servers = isRecord(value) ? value[holder] : undefined;
  return isRecord(servers) ? servers['self-generation'] : undefined;
}

const fileOf = (client: ClientName) => inHome(FILES[client].name);
const read = (client: ClientName) => readFileSync(fileOf(client), 'utf8');
const entryOf = (client: ClientName) => FILES[client].entry(read(client));

const PROVIDERS = `[model_providers.acme]
env_key = "ACME_LOGIN"
[model_providers.acme.env_http_headers]
X-Team = "ACME_HEADER"
`;

/** What stands in the file before; every byte of it has to come back. */
const JSON_FORMS: Readonly<Record<string, (holder: string) => string>> = {
  'an empty file': () => '',
  'a blank file': () => '\n  \n',
  'an empty object': () => '{}',
  'other settings on one line': () => '{"theme":"dark","n":1}',
  'other servers': (holder) =>
    `{\n\t"${holder}": {\n\t\t"other": {"command": "x"}\n\t},\n\t"theme": "dark"\n}\n`,
  'an empty holder': (holder) => `{ "${holder}": {} }`,
  'comments and trailing commas': (holder) =>
    `{\n  // mine\n  "${holder}": { /* none */ "other": { "command": "x", }, },\n  "theme": "dark", // last\n}\n`,
  'a byte order mark and CRLF': () => '\ufeff{\r\n  "theme": "dark"\r\n}\r\n',
};
const TOML_FORMS: Readonly<Record<string, string>> = {
  'an empty file': '',
  'no line feed at the end': 'model = "gpt-5"',
  'other servers': '[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.other.env]\nA = "b"\n',
  'comments and arrays':
    '# mine\nnotify = [\n  "a", # first\n  "[b]",\n]\n[projects."/home/x"]\ntrust_level = "trusted"\n',
  'an inline table of servers': 'mcp_servers = { other = { command = "x" } }\n',
  'dotted keys': 'mcp_servers.other.command = "x"\n',
  'a text that looks like ours':
    'note = """\n[mcp_servers.self-generation]\n# <<< self-generation <<<\n"""\n',
  CRLF: 'model = "gpt-5"\r\n\r\n[tui]\r\nx = 1979-05-27T07:32:00Z\r\n',
};
const holderOf = (client: ClientName) => (client === 'opencode' ? 'mcp' : 'mcpServers');
const FORMS = CLIENT_NAMES.flatMap((client) => {
  const forms =
    client === 'codex'
      ? Object.entries(TOML_FORMS)
      : Object.entries(JSON_FORMS).map(([name, text]) => [name, text(holderOf(client))] as const);
  return forms.map(([form, text]) => ({ client, form, text }));
});

describe('install() with MCP', () => {
  for (const client of CLIENT_NAMES) {
    test(`registers with ${client} where it has no file, once, and uninstall leaves nothing`, async () => {
      const before = treeBelow(at.root);
      expect((await installed({ mcp: [client] })).mcp).toEqual({ registered: [client], refused: [] });
      expect(entryOf(client)).toEqual(FILES[client].wanted());
      const again = await installed({ mcp: [client] });
      expect(again.upToDate).toBe(true);
      expect((await installed()).mcp.registered).toEqual([client]);
      removed();
      expect(treeBelow(at.root)).toEqual(before);
    });
  }

  for (const { client, form, text } of FORMS) {
    test(`keeps every byte of ${form} of ${client}, and uninstall gives them back`, async () => {
      putFile(fileOf(client), text, 0o640);
      const before = treeBelow(at.root);
      await installed({ mcp: [client] });
      expect(entryOf(client)).toEqual(FILES[client].wanted());
      for (const line of text.replace('\ufeff', '').split(/\r?\n/)) {
        const [words] = /[^\s{},][^{},]*[^\s{},]/.exec(line) ?? [''];
        expect(read(client)).toContain(words);
      }
      expect(removed().warnings).toEqual([]);
      expect(treeBelow(at.root)).toEqual(before);
    });

    test(`takes only our entry out of ${form} of ${client} that has changed since`, async () => {
      putFile(fileOf(client), text);
      await installed({ mcp: [client] });
      const path = fileOf(client);
      writeFileSync(path, `${read(client)}${client === 'codex' ? '[added]\nx = 1\n' : '\n// added\n'}`);
      removed();
      const left = read(client);
      expect(FILES[client].entry(left)).toBeUndefined();
      expect(left).not.toContain(binary());
      expect(left).toContain('added');
      const value = (one: string) => (client === 'codex' ? Bun.TOML.parse(one) : (parse(one) ?? {}));
      const { added: _, ...rest } = value(left) as Record<string, unknown>;
      expect(withoutEmpty(rest)).toEqual(
        withoutEmpty({ ...(value(text) as object), ...schemaOf(client, text) }),
      );
    });
  }

  /** OpenCode's new files begin with its schema. */
  function schemaOf(client: ClientName, text: string): object {
    return client === 'opencode' && text.trim() === '' ? { $schema: 'https://opencode.ai/config.json' } : {};
  }
  function withoutEmpty(value: object): object {
    return Object.fromEntries(
      Object.entries(value).filter(([, one]) => !isRecord(one) || Object.keys(one).length > 0),
    );
  }

  test('all: registers with the clients that are there', async () => {
    for (const client of ['codex', 'opencode'] as const) putFile(fileOf(client), '');
    const before = treeBelow(at.root);
    const report = await installed({ mcp: 'all' });
    // Claude Code's directory is made for the hooks in any case.
    expect(report.mcp.registered).toEqual(['claude', 'codex', 'opencode']);
    expect(existsSync(inHome('.gemini'))).toBe(false);
    removed();
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('without it nothing is registered, and nothing is written down', async () => {
    expect((await installed()).mcp).toEqual({ registered: [], refused: [] });
    expect(existsSync(inHome('.claude.json'))).toBe(false);
    expect(readFileSync(inHome('.self-generation/install.json'), 'utf8')).not.toContain('"mcp"');
  });

  test('changes nothing in a dry run', async () => {
    const before = treeBelow(at.root);
    const report = await installed({ mcp: CLIENT_NAMES, dryRun: true });
    expect(report.steps.filter(({ what }) => what === 'mcp')).toHaveLength(6);
    expect(treeBelow(at.root)).toEqual(before);
  });

  const FOREIGN: Readonly<Record<ClientName, string>> = {
    claude: '{"mcpServers":{"self-generation":{"command":"/usr/bin/other","args":["mcp"]}}}',
    codex: 'mcp_servers.self-generation.command = "/usr/bin/other"\n',
    gemini: '{"mcpServers":{"self-generation":{"httpUrl":"http://127.0.0.1"}}}',
    opencode: '{"mcp":{"self-generation":{"type":"remote","url":"http://127.0.0.1"}}}',
  };
  for (const client of CLIENT_NAMES) {
    test(`leaves a server of the same name alone that ${client} has from somebody else`, async () => {
      putFile(fileOf(client), FOREIGN[client]);
      const others = CLIENT_NAMES.filter((one) => one !== client);
      const report = await installed({ mcp: CLIENT_NAMES });
      expect(report.mcp.registered).toEqual(others);
      expect(report.warnings.join()).toContain('a server of another program is called "self-generation"');
      expect(read(client)).toBe(FOREIGN[client]);
      removed();
      expect(read(client)).toBe(FOREIGN[client]);
    });
  }

  const BROKEN: Readonly<Record<ClientName, string>> = {
    claude: '{"mcpServers":',
    codex: 'model = \n',
    gemini: '{"mcpServers":[]}',
    opencode: '{"mcp":{},"mcp":{}}',
  };
  for (const client of CLIENT_NAMES) {
    test(`says why it cannot register with ${client}, and registers with the others`, async () => {
      putFile(fileOf(client), BROKEN[client]);
      const report = await installed({ mcp: CLIENT_NAMES });
      expect(report.mcp.refused).toEqual([{ path: fileOf(client), reason: expect.any(String) }]);
      expect(report.mcp.registered).toHaveLength(3);
      expect(read(client)).toBe(BROKEN[client]);
    });
  }

  test('what cannot be written is refused, and the rest is done', async () => {
    // A directory where the file should be: nobody, not even root, can write that.
    mkdirSync(inHome('.gemini/settings.json'), { recursive: true });
    putFile(inHome('.codex'), 'a file');
    const report = await installed({ mcp: CLIENT_NAMES });
    expect(report.mcp.registered).toEqual(['claude', 'opencode']);
    expect(report.mcp.refused.map(({ path }) => path)).toEqual((['codex', 'gemini'] as const).map(fileOf));
  });

  test('a file that may only be read keeps its mode', async () => {
    putFile(inHome('.gemini/settings.json'), '{}', 0o444);
    const before = treeBelow(at.root);
    await installed({ mcp: ['gemini'] });
    expect(treeBelow(at.root)['home/.gemini/settings.json']).toStartWith('file 444 ');
    removed();
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('keeps what the user has added to the entry, and renews the rest', async () => {
    await installed({ mcp: CLIENT_NAMES });
    const entry = { command: binary(), args: ['mcp', '--x'], trust: true };
    writeFileSync(fileOf('gemini'), JSON.stringify({ mcpServers: { 'self-generation': entry } }));
    expect((await installed()).mcp.registered).toHaveLength(4);
    expect(entryOf('gemini')).toEqual({ ...FILES.gemini.wanted(), trust: true });
  });

  test.each(['claude', 'gemini', 'opencode'] as const)(
    'uninstall keeps comments that the user of %s has put beside our entry',
    async (client) => {
      const path = fileOf(client);
      putFile(path, '{\n  "theme": "dark"\n}\n');
      await installed({ mcp: [client] });
      const holder = `"${holderOf(client)}": {`;
      writeFileSync(path, read(client).replace(holder, `${holder}\n    // servers of mine go here`));
      removed();
      expect(read(client)).toContain('// servers of mine go here');
      expect(parse(read(client))).toEqual({ theme: 'dark', [holderOf(client)]: {} });
    },
  );

  test.each(['claude', 'gemini', 'opencode'] as const)(
    'uninstall takes away a file of %s that install made, however it has been written anew since',
    async (client) => {
      await installed({ mcp: [client] });
      writeFileSync(fileOf(client), JSON.stringify(parse(read(client))));
      removed();
      expect(existsSync(fileOf(client))).toBe(false);
    },
  );

  test('hands on what the user has called the keys of providers, where the client hands on only what is named', async () => {
    putFile(fileOf('codex'), PROVIDERS);
    putFile(fileOf('opencode'), '{"provider":{"x":{"options":{"apiKey":"{env:HOUSE_PASS}"}}}}');
    await installed({ mcp: CLIENT_NAMES });
    const named = ['ACME_LOGIN', 'ACME_HEADER', 'HOUSE_PASS'];
    expect(entryOf('codex')).toMatchObject({ env_vars: expect.arrayContaining(named) });
    const filledIn = Object.fromEntries(named.map((name) => [name, `\${${name}:-}`]));
    expect(entryOf('gemini')).toMatchObject({ env: filledIn });
    for (const client of ['claude', 'opencode'] as const)
      expect(entryOf(client)).toEqual(FILES[client].wanted());
    expect((await installed()).upToDate).toBe(true);
    removed();
    expect(read('codex')).toBe(PROVIDERS);
  });

  test('uninstall takes away an object that install made, and leaves an empty one that was there', async () => {
    const path = fileOf('gemini');
    for (const [text, left] of [
      ['{"theme": "dark"}', { theme: 'light' }],
      ['{"theme": "dark", "mcpServers": {}}', { theme: 'light', mcpServers: {} }],
    ] as const) {
      putFile(path, text);
      await installed({ mcp: ['gemini'] });
      writeFileSync(path, read('gemini').replace('dark', 'light'));
      removed();
      expect(parse(read('gemini'))).toEqual(left);
    }
  });

  test('keeps the variables and comments that the user has put into an entry', async () => {
    await installed({ mcp: CLIENT_NAMES });
    const mine = { PROXY: 'http://proxy', GEMINI_API_KEY: 'of the user' };
    const entry = { command: binary(), args: ['mcp', '--old'], env: mine };
    const text = JSON.stringify({ mcpServers: { 'self-generation': entry } }, null, 2);
    for (const client of ['claude', 'gemini'] as const)
      writeFileSync(fileOf(client), text.replace('"args"', '// of the user\n      "args"'));
    const environment = { type: 'local', command: [binary(), 'mcp', '--old'], environment: mine };
    writeFileSync(
      fileOf('opencode'),
      JSON.stringify({ mcp: { 'self-generation': { ...environment, enabled: false } } }),
    );
    await installed();
    expect(entryOf('claude')).toMatchObject({ type: 'stdio', args: ['mcp'], env: mine });
    const named = { ...mine, OPENAI_API_KEY: HANDED_ON };
    expect(entryOf('gemini')).toMatchObject({ args: ['mcp'], env: named });
    expect(read('claude')).toContain('// of the user');
    expect(read('gemini')).toContain('// of the user');
    expect(entryOf('opencode')).toEqual({ ...environment, command: [binary(), 'mcp'], enabled: false });
    expect((await installed()).upToDate).toBe(true);
  });

  test('keeps what the user and Codex have put into the table of Codex', async () => {
    await installed({ mcp: ['codex'] });
    const theirs =
      'enabled = false # for now\nstartup_timeout_sec = 20\n[mcp_servers.self-generation.tools.subagents]\napproval_mode = "approve"\n';
    const old = read('codex')
      .replace('args = ["mcp"]', 'args = [\n  "mcp",\n  "--old",\n]')
      .replace(/^env_vars = \[/m, 'env_vars = ["MINE", ');
    writeFileSync(fileOf('codex'), old + theirs);
    await installed();
    expect(entryOf('codex')).toEqual({
      ...FILES.codex.wanted(),
      env_vars: expect.arrayContaining(['MINE', 'OPENAI_API_KEY']),
      enabled: false,
      startup_timeout_sec: 20,
      tools: { subagents: { approval_mode: 'approve' } },
    });
    expect(read('codex')).toContain(theirs);
    removed();
    expect(read('codex')).toBe('');
  });

  test('goes where CLAUDE_CONFIG_DIR, CODEX_HOME and XDG_CONFIG_HOME point, and uninstall knows it without them', async () => {
    const before = treeBelow(at.root);
    const places = { CODEX_HOME: inHome('x'), XDG_CONFIG_HOME: inHome('config') };
    const env = { ...at.env(), CLAUDE_CONFIG_DIR: inHome('c'), ...places };
    await installed({ mcp: ['claude', 'codex', 'opencode'], env });
    const ofClaude = ['c/.claude.json', 'c/commands/subagents.md', 'c/commands/stop.md'];
    for (const name of [...ofClaude, 'x/config.toml', 'config/opencode/opencode.json'])
      expect(existsSync(inHome(name))).toBe(true);
    expect(existsSync(inHome('.claude.json'))).toBe(false);
    removed();
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('uses the opencode.jsonc that is there', async () => {
    const text = '{\n  // mine\n  "theme": "x",\n}\n';
    putFile(inHome('.config/opencode/opencode.jsonc'), text);
    await installed({ mcp: ['opencode'] });
    const written = readFileSync(inHome('.config/opencode/opencode.jsonc'), 'utf8');
    expect(serverIn(parse(written), 'mcp')).toEqual(FILES.opencode.wanted());
    expect(existsSync(fileOf('opencode'))).toBe(false);
  });

  test('a moved state directory goes with the server, whose environment may lack it', async () => {
    const env = { ...at.env(), SELF_GENERATION_HOME: inHome('state') };
    await installed({ mcp: CLIENT_NAMES, env });
    const moved = { SELF_GENERATION_HOME: inHome('state') };
    for (const client of ['claude', 'codex', 'gemini'] as const)
      expect(entryOf(client)).toMatchObject({ env: moved });
    expect(entryOf('opencode')).toMatchObject({ environment: moved });
  });

  test('uninstall finds what an install that was cut off has registered', async () => {
    await installed({ mcp: CLIENT_NAMES });
    rmSync(inHome('.self-generation/install.json'));
    removed();
    for (const client of CLIENT_NAMES) {
      const path = fileOf(client);
      expect(existsSync(path) && readFileSync(path, 'utf8').includes('self-generation')).toBe(false);
    }
    expect(existsSync(inHome('.claude/commands/subagents.md'))).toBe(false);
  });

  test('uninstall refuses while our server stands in a file that it cannot read, and removes nothing', async () => {
    await installed({ mcp: ['gemini'] });
    writeFileSync(fileOf('gemini'), read('gemini').slice(0, -3));
    expect(() => removed()).toThrow('take the MCP server out');
    expect(existsSync(binary())).toBe(true);
  });

  test('the table is found among what Codex has added since', async () => {
    await installed({ mcp: ['codex'] });
    const rewritten = read('codex');
    const others =
      '[mcp_servers.self-generation.tools.agents_list]\napproval_mode = "approve"\n\n# of the other\n[mcp_servers.other]\ncommand = "x"\n';
    writeFileSync(fileOf('codex'), `model = "m"\n\n${rewritten}\n${others}`);
    removed();
    expect(Bun.TOML.parse(read('codex'))).toEqual({ model: 'm', mcp_servers: { other: { command: 'x' } } });
    expect(read('codex')).toContain('# of the other\n[mcp_servers.other]');
  });
});

for (const name of ['subagents', 'stop'] as const) {
  describe(`the command /${name}`, () => {
    const path = () => inHome(`.claude/commands/${name}.md`);
    const ours = commandText(name);

    test('comes with the registration in Claude Code, and goes with it', async () => {
      await installed({ mcp: ['codex'] });
      expect(existsSync(path())).toBe(false);
      await installed({ mcp: ['claude'] });
      expect(readFileSync(path(), 'utf8')).toBe(ours);
      removed();
      expect(existsSync(inHome('.claude'))).toBe(false);
    });

    test('hands what is typed to a tool, where no hook answers it, and nothing of it to a shell', () => {
      expect(ours).not.toMatch(/\$|!`|@/);
      expect(ours).toContain('allowed-tools: mcp__self-generation__subagents');
      expect(ours).toContain('disable-model-invocation: true');
    });

    test('one of the user of that name stays, and keeps only itself out', async () => {
      putFile(path(), 'mine');
      const report = await installed({ mcp: ['claude'] });
      expect(report.mcp.registered).toEqual(['claude']);
      expect(report.warnings.join()).toContain('a command of yours has that name');
      removed();
      expect(readFileSync(path(), 'utf8')).toBe('mine');
    });

    test('one that the user has changed stays when ours goes, and uninstall says so', async () => {
      await installed({ mcp: ['claude'] });
      writeFileSync(path(), `${ours}mine`);
      const kept = { what: 'mcp', path: path(), change: 'kept', note: 'you have changed it' } as const;
      expect(removed().steps).toContainEqual(kept);
      expect(readFileSync(path(), 'utf8')).toBe(`${ours}mine`);
    });
  });
}

describe('checkMcp()', () => {
  const answering: RunCommand = async (_file, args) =>
    args[0] === 'mcp'
      ? { kind: 'exited', code: 0, stdout: '{"result":{"serverInfo":{}}}\n', stderr: '' }
      : { kind: 'failed', reason: 'not asked for' };
  const check = (run = answering) =>
    checkMcp({
      ...{ paths: pathsOf(at.home), env: at.env(), platform: 'linux', now: new Date() },
      ...{ run, install: 'self-generation install' },
    });

  test('says nothing where the server was never registered', async () => {
    await installed();
    expect(await check()).toEqual([]);
  });

  test('names the clients that have it', async () => {
    await installed({ mcp: ['claude', 'gemini'] });
    expect(await check()).toEqual([
      { status: 'ok', detail: 'answers, and is registered with Claude Code, Gemini CLI' },
    ]);
  });

  test('warns of an entry that is gone, foreign, or not as it should be, and of a command that was changed', async () => {
    await installed({ mcp: CLIENT_NAMES });
    rmSync(fileOf('claude'));
    writeFileSync(fileOf('codex'), '[mcp_servers.self-generation]\ncommand = "other"\n');
    writeFileSync(fileOf('gemini'), read('gemini').replace('"mcp"', '"mcp", "--x"'));
    writeFileSync(inHome('.claude/commands/subagents.md'), 'mine');
    const checks = await check();
    expect(checks.map(({ status }) => status)).toEqual(['warning', 'warning', 'warning', 'warning']);
    expect(checks.map(({ detail }) => detail).join('\n')).toContain('a server of another program');
    expect(checks[0]?.remedy).toBe('Run: self-generation install --mcp claude');
  });

  test('names the key of a provider that was added later and is not handed on', async () => {
    await installed({ mcp: CLIENT_NAMES });
    writeFileSync(fileOf('codex'), `${PROVIDERS}${read('codex')}`);
    const remedies = (await check()).map(({ detail, remedy }) => [detail, remedy]);
    const detail = (title: string) =>
      `${title} does not hand ACME_LOGIN, ACME_HEADER on to it, from which a provider takes its key`;
    expect(remedies).toEqual([
      [detail('Codex'), 'Run: self-generation install --mcp codex'],
      [detail('Gemini CLI'), 'Run: self-generation install --mcp gemini'],
    ]);
    await installed();
    expect((await check()).map(({ status }) => status)).toEqual(['ok']);
  });

  test('fails when the program does not answer', async () => {
    await installed({ mcp: ['claude'] });
    chmodSync(binary(), 0o600);
    const checks = await check(async () => ({ kind: 'failed', reason: 'EACCES' }));
    expect(checks).toMatchObject([{ status: 'failed', detail: expect.stringContaining('does not answer') }]);
  });
});
