import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { commandText } from '../../src/clients/claude/setup.ts';
import { isRecord } from '../../src/core/guards.ts';
import { checkMcp } from '../../src/setup/check-installation.ts';
import type { InstallOptions } from '../../src/setup/install.ts';
import type { UninstallOptions } from '../../src/setup/uninstall.ts';
import { realPath } from '../../src/system/atomic-file.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { installedIn, uninstallIn } from '../support/installed.ts';
import { putFile, treeBelow } from '../support/tree.ts';

let root = '';
let home = '';
const binary = () => join(home, '.self-generation', 'hooks', 'self-generation');
const inHome = (name: string) => join(home, name);

beforeEach(() => {
  root = realPath(mkdtempSync(join(tmpdir(), 'mcp-registration-')));
  home = join(root, 'home');
  mkdirSync(home);
  putFile(join(root, 'dist', 'self-generation'), 'program');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type Env = Record<string, string>;
const homeEnv = (): Env => ({ HOME: home, PATH: '/nowhere' });
const installed = (changes: Partial<InstallOptions> = {}) => installedIn(home, changes);

function removed(changes: Partial<UninstallOptions> = {}) {
  const report = uninstallIn(home, changes);
  if (report.kind === 'failed') throw new Error(`${report.action}: ${report.reason}`);
  return report;
}

/** How Gemini CLI is told to hand a key on. */
const HANDED_ON = `\${OPENAI_API_KEY:-}`;

/** Each client's file below the home, and our entry as that client has to read it. */
const FILES: Readonly<
  Record<ClientName, { name: string; entry: (text: string) => unknown; wanted: () => object }>
> = {
  claude: {
    name: '.claude.json',
    entry: (text) => at(parse(text), 'mcpServers'),
    wanted: () => ({ type: 'stdio', command: binary(), args: ['mcp'], env: {} }),
  },
  codex: {
    name: '.codex/config.toml',
    entry: (text) => at(Bun.TOML.parse(text), 'mcp_servers'),
    wanted: () => ({
      command: binary(),
      args: ['mcp'],
      env_vars: expect.arrayContaining(['OPENAI_API_KEY']),
    }),
  },
  gemini: {
    name: '.gemini/settings.json',
    entry: (text) => at(parse(text), 'mcpServers'),
    wanted: () => ({
      command: binary(),
      args: ['mcp'],
      env: expect.objectContaining({ OPENAI_API_KEY: HANDED_ON }),
    }),
  },
  opencode: {
    name: '.config/opencode/opencode.json',
    entry: (text) => at(parse(text), 'mcp'),
    wanted: () => ({ type: 'local', command: [binary(), 'mcp'] }),
  },
};

function at(value: unknown, holder: string): unknown {
  const servers = isRecord(value) ? value[holder] : undefined;
  return isRecord(servers) ? servers['self-generation'] : undefined;
}

const read = (client: ClientName) => readFileSync(inHome(FILES[client].name), 'utf8');
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
      const before = treeBelow(root);
      expect((await installed({ mcp: [client] })).mcp).toEqual({ registered: [client], refused: [] });
      expect(entryOf(client)).toEqual(FILES[client].wanted());
      const again = await installed({ mcp: [client] });
      expect(again.upToDate).toBe(true);
      expect((await installed()).mcp.registered).toEqual([client]);
      removed();
      expect(treeBelow(root)).toEqual(before);
    });
  }

  for (const { client, form, text } of FORMS) {
    test(`keeps every byte of ${form} of ${client}, and uninstall gives them back`, async () => {
      putFile(inHome(FILES[client].name), text, 0o640);
      const before = treeBelow(root);
      await installed({ mcp: [client] });
      expect(entryOf(client)).toEqual(FILES[client].wanted());
      for (const line of text.replace('\ufeff', '').split(/\r?\n/)) {
        const [words] = /[^\s{},][^{},]*[^\s{},]/.exec(line) ?? [''];
        expect(read(client)).toContain(words);
      }
      expect(removed().warnings).toEqual([]);
      expect(treeBelow(root)).toEqual(before);
    });

    test(`takes only our entry out of ${form} of ${client} that has changed since`, async () => {
      putFile(inHome(FILES[client].name), text);
      await installed({ mcp: [client] });
      const path = inHome(FILES[client].name);
      const added = client === 'codex' ? '[added]\nx = 1\n' : undefined;
      const written = read(client);
      writeFileSync(path, added === undefined ? `${written}\n// added\n` : `${written}${added}`);
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
    for (const client of ['codex', 'opencode'] as const) putFile(inHome(FILES[client].name), '');
    const before = treeBelow(root);
    const report = await installed({ mcp: 'all' });
    // Claude Code's directory is made for the hooks in any case.
    expect(report.mcp.registered).toEqual(['claude', 'codex', 'opencode']);
    expect(existsSync(inHome('.gemini'))).toBe(false);
    removed();
    expect(treeBelow(root)).toEqual(before);
  });

  test('without it nothing is registered, and nothing is written down', async () => {
    expect((await installed()).mcp).toEqual({ registered: [], refused: [] });
    expect(existsSync(inHome('.claude.json'))).toBe(false);
    expect(readFileSync(inHome('.self-generation/install.json'), 'utf8')).not.toContain('"mcp"');
  });

  test('changes nothing in a dry run', async () => {
    const before = treeBelow(root);
    const report = await installed({ mcp: CLIENT_NAMES, dryRun: true });
    expect(report.steps.filter(({ what }) => what === 'mcp')).toHaveLength(6);
    expect(treeBelow(root)).toEqual(before);
  });

  const FOREIGN: Readonly<Record<ClientName, string>> = {
    claude: '{"mcpServers":{"self-generation":{"command":"/usr/bin/other","args":["mcp"]}}}',
    codex: 'mcp_servers.self-generation.command = "/usr/bin/other"\n',
    gemini: '{"mcpServers":{"self-generation":{"httpUrl":"http://127.0.0.1"}}}',
    opencode: '{"mcp":{"self-generation":{"type":"remote","url":"http://127.0.0.1"}}}',
  };
  for (const client of CLIENT_NAMES) {
    test(`leaves a server of the same name alone that ${client} has from somebody else`, async () => {
      putFile(inHome(FILES[client].name), FOREIGN[client]);
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
      putFile(inHome(FILES[client].name), BROKEN[client]);
      const report = await installed({ mcp: CLIENT_NAMES });
      expect(report.mcp.refused).toEqual([{ path: inHome(FILES[client].name), reason: expect.any(String) }]);
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
    expect(report.mcp.refused.map(({ path }) => path)).toEqual(
      [FILES.codex.name, FILES.gemini.name].map(inHome),
    );
  });

  test('a file that may only be read keeps its mode', async () => {
    putFile(inHome('.gemini/settings.json'), '{}', 0o444);
    const before = treeBelow(root);
    await installed({ mcp: ['gemini'] });
    expect(treeBelow(root)['home/.gemini/settings.json']).toStartWith('file 444 ');
    removed();
    expect(treeBelow(root)).toEqual(before);
  });

  test('keeps what the user has added to the entry, and renews the rest', async () => {
    await installed({ mcp: CLIENT_NAMES });
    writeFileSync(
      inHome('.gemini/settings.json'),
      JSON.stringify({
        mcpServers: { 'self-generation': { command: binary(), args: ['mcp', '--x'], trust: true } },
      }),
    );
    expect((await installed()).mcp.registered).toHaveLength(4);
    expect(entryOf('gemini')).toEqual({ ...FILES.gemini.wanted(), trust: true });
  });

  test.each(['claude', 'gemini', 'opencode'] as const)(
    'uninstall keeps comments that the user of %s has put beside our entry',
    async (client) => {
      const path = inHome(FILES[client].name);
      putFile(path, '{\n  "theme": "dark"\n}\n');
      await installed({ mcp: [client] });
      const holder = `"${holderOf(client)}": {`;
      writeFileSync(path, read(client).replace(holder, `${holder}\n    // servers of mine go here`));
      removed();
      expect(read(client)).toContain('// servers of mine go here');
      expect(parse(read(client))).toEqual({ theme: 'dark', [holderOf(client)]: {} });
    },
  );

  test('hands on what the user has called the keys of providers, where the client hands on only what is named', async () => {
    putFile(inHome(FILES.codex.name), PROVIDERS);
    putFile(inHome(FILES.opencode.name), '{"provider":{"x":{"options":{"apiKey":"{env:HOUSE_PASS}"}}}}');
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
    const path = inHome(FILES.gemini.name);
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
      writeFileSync(inHome(FILES[client].name), text.replace('"args"', '// of the user\n      "args"'));
    const environment = { type: 'local', command: [binary(), 'mcp', '--old'], environment: mine };
    writeFileSync(
      inHome(FILES.opencode.name),
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
    writeFileSync(inHome(FILES.codex.name), old + theirs);
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
    const before = treeBelow(root);
    const env = {
      ...homeEnv(),
      CLAUDE_CONFIG_DIR: join(home, 'c'),
      CODEX_HOME: join(home, 'x'),
      XDG_CONFIG_HOME: join(home, 'config'),
    };
    await installed({ mcp: ['claude', 'codex', 'opencode'], env });
    for (const name of [
      'c/.claude.json',
      'c/commands/subagents.md',
      'c/commands/stop.md',
      'x/config.toml',
      'config/opencode/opencode.json',
    ]) {
      expect(existsSync(inHome(name))).toBe(true);
    }
    expect(existsSync(inHome('.claude.json'))).toBe(false);
    removed();
    expect(treeBelow(root)).toEqual(before);
  });

  test('uses the opencode.jsonc that is there', async () => {
    const text = '{\n  // mine\n  "theme": "x",\n}\n';
    putFile(inHome('.config/opencode/opencode.jsonc'), text);
    await installed({ mcp: ['opencode'] });
    const written = readFileSync(inHome('.config/opencode/opencode.jsonc'), 'utf8');
    expect(at(parse(written), 'mcp')).toEqual(FILES.opencode.wanted());
    expect(existsSync(inHome(FILES.opencode.name))).toBe(false);
  });

  test('a moved state directory goes with the server, whose environment may lack it', async () => {
    const env = { ...homeEnv(), SELF_GENERATION_HOME: join(home, 'state') };
    await installed({ mcp: CLIENT_NAMES, env });
    const moved = { SELF_GENERATION_HOME: join(home, 'state') };
    expect(entryOf('claude')).toMatchObject({ env: moved });
    expect(entryOf('codex')).toMatchObject({ env: moved });
    expect(entryOf('gemini')).toMatchObject({ env: moved });
    expect(entryOf('opencode')).toMatchObject({ environment: moved });
  });

  test('uninstall finds what an install that was cut off has registered', async () => {
    await installed({ mcp: CLIENT_NAMES });
    rmSync(inHome('.self-generation/install.json'));
    removed();
    for (const client of CLIENT_NAMES) {
      const path = inHome(FILES[client].name);
      expect(existsSync(path) && readFileSync(path, 'utf8').includes('self-generation')).toBe(false);
    }
    expect(existsSync(inHome('.claude/commands/subagents.md'))).toBe(false);
  });

  test('uninstall refuses while our server stands in a file that it cannot read, and removes nothing', async () => {
    await installed({ mcp: ['gemini'] });
    writeFileSync(inHome(FILES.gemini.name), read('gemini').slice(0, -3));
    const report = uninstallIn(home);
    expect(report).toMatchObject({
      kind: 'failed',
      action: expect.stringContaining('take the MCP server out'),
    });
    expect(existsSync(binary())).toBe(true);
  });

  test('the table is found among what Codex has added since', async () => {
    await installed({ mcp: ['codex'] });
    const rewritten = read('codex');
    const others =
      '[mcp_servers.self-generation.tools.agents_list]\napproval_mode = "approve"\n\n# of the other\n[mcp_servers.other]\ncommand = "x"\n';
    writeFileSync(inHome(FILES.codex.name), `model = "m"\n\n${rewritten}\n${others}`);
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
      expect(removed().steps).toContainEqual({
        what: 'mcp',
        path: path(),
        change: 'kept',
        note: 'you have changed it',
      });
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
      paths: pathsOf(home),
      env: homeEnv(),
      platform: 'linux',
      run,
      install: 'self-generation install',
      now: new Date(),
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
    rmSync(inHome(FILES.claude.name));
    writeFileSync(inHome(FILES.codex.name), '[mcp_servers.self-generation]\ncommand = "other"\n');
    writeFileSync(inHome(FILES.gemini.name), read('gemini').replace('"mcp"', '"mcp", "--x"'));
    writeFileSync(inHome('.claude/commands/subagents.md'), 'mine');
    const checks = await check();
    expect(checks.map(({ status }) => status)).toEqual(['warning', 'warning', 'warning', 'warning']);
    expect(checks.map(({ detail }) => detail).join('\n')).toContain('a server of another program');
    expect(checks[0]?.remedy).toBe('Run: self-generation install --mcp claude');
  });

  test('names the key of a provider that was added later and is not handed on', async () => {
    await installed({ mcp: CLIENT_NAMES });
    writeFileSync(inHome(FILES.codex.name), `${PROVIDERS}${read('codex')}`);
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
