import { describe, expect, test } from 'bun:test';
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { agentDirFor, bringLogin, loginEnvironment } from '../../src/clients/agent-login.ts';
import { readRunSettings } from '../../src/settings/run-settings.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { type Home, temporaryHome } from '../support/home.ts';

/** A file with a login of each client, below a directory that is laid out as a home directory. */
const LOGINS: Readonly<Record<ClientName, readonly [file: string, directory: string]>> = {
  claude: ['.claude/.credentials.json', '.claude'],
  codex: ['.codex/auth.json', '.codex'],
  gemini: ['.gemini/oauth_creds.json', '.gemini'],
  opencode: ['.local/share/opencode/auth.json', '.local/share'],
};

function agentDir(home: Home, agentId: string, client: ClientName, dirs: Record<string, string> = {}) {
  const list = Object.entries(dirs).map(([id, directory]) => ({ id, agentDir: `${home.path}/${directory}` }));
  return agentDirFor({ agentId, client }, readRunSettings({ agents: { list } }), home.paths);
}

describe('agentDirFor()', () => {
  for (const client of CLIENT_NAMES) {
    const [file, directory] = LOGINS[client];

    test(`finds it for ${client} in "agents/<id>" of ours when the settings name no directory`, () => {
      using home = temporaryHome();
      home.put(`.self-generation/agents/reviewer/${file}`, '{}');
      expect(agentDir(home, 'reviewer', client)).toBe(`${home.paths.home}/agents/reviewer/${directory}`);
    });

    test(`falls back to the main agent for ${client}, and the agent's own wins`, () => {
      using home = temporaryHome();
      const dirs = { main: 'main', reviewer: 'desk' };
      home.put(`main/${file}`, '{}');
      expect(agentDir(home, 'reviewer', client, dirs)).toBe(`${home.path}/main/${directory}`);
      home.put(`desk/${file}`, '{}');
      expect(agentDir(home, 'reviewer', client, dirs)).toBe(`${home.path}/desk/${directory}`);
      expect(agentDir(home, 'main', client, dirs)).toBe(`${home.path}/main/${directory}`);
    });

    test(`is null for ${client} when neither has a login, whatever else is in their directories`, () => {
      using home = temporaryHome();
      for (const name of ['main', 'desk']) {
        home.put(`${name}/.claude/.claude.json`, '{"numStartups": 3}');
        home.put(`${name}/.claude/settings.json`, '{"model": "opus"}');
        home.put(`${name}/.codex/config.toml`, '');
        home.put(`${name}/.gemini/.env`, '# GEMINI_API_KEY=x');
        home.put(`${name}/.local/share/opencode/log.txt`, '');
      }
      expect(agentDir(home, 'reviewer', client, { main: 'main', reviewer: 'desk' })).toBeNull();
    });

    test(`takes the login of one client for ${client} and no other`, () => {
      using home = temporaryHome();
      home.put(`desk/${file}`, '{}');
      const isFound = (name: ClientName) => agentDir(home, 'reviewer', name, { reviewer: 'desk' }) !== null;
      expect(CLIENT_NAMES.filter(isFound)).toEqual([client]);
    });
  }

  const marks: [file: string, text: string, client: ClientName][] = [
    ['claude/.claude.json', '{"oauthAccount": {}}', 'claude'],
    ['claude/settings.json', '{"apiKeyHelper": "/bin/key"}', 'claude'],
    ['claude/settings.json', '{"env": {"ANTHROPIC_API_KEY": "x"}}', 'claude'],
    ['gemini/.env', 'X=1\nexport GEMINI_API_KEY=x', 'gemini'],
    ['auth.json', '{}', 'codex'],
  ];
  for (const [file, text, client] of marks) {
    test(`knows a login of ${client} by ${file} with ${text.replaceAll('\n', ' ')}`, () => {
      using home = temporaryHome();
      home.put(`desk/${file}`, text);
      expect(agentDir(home, 'reviewer', client, { reviewer: 'desk' })).toStartWith(`${home.path}/desk`);
    });
  }
});

describe('loginEnvironment()', () => {
  const withheld: Readonly<Record<ClientName, readonly string[]>> = {
    claude: ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CONFIG_DIR'],
    codex: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    gemini: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    opencode: ['OPENCODE_AUTH_CONTENT'],
  };
  const names = ['HOME', 'PATH', ...Object.values(withheld).flat()];
  const ENV = Object.fromEntries(names.map((name) => [name, `/${name}`]));
  for (const client of CLIENT_NAMES) {
    test(`takes the caller's logins for ${client} away when the agent has its own, and leaves them otherwise`, () => {
      expect(loginEnvironment({ client, agentDir: null }, ENV)).toEqual(ENV);
      const env = loginEnvironment({ client, agentDir: '/home/dev/own' }, ENV);
      const gone = Object.keys(ENV).filter((name) => !Object.hasOwn(env, name));
      expect(gone.sort()).toEqual([...withheld[client]].sort());
    });
  }
});

describe('bringLogin()', () => {
  /** A user's directory of Gemini CLI, and where a turn has its own. */
  const gemini = (home: Home, agentDir: string | null = null, env = {}) => {
    bringLogin('gemini', { agentDir, env: { HOME: home.path, ...env } }, `${home.path}/turn`);
    return `${home.path}/turn/.gemini`;
  };

  test("links the user's login of Gemini CLI into the home of the turn, and nothing else", () => {
    using home = temporaryHome();
    home.put('.gemini/oauth_creds.json', 'the login');
    home.put('.gemini/GEMINI.md', 'not this');
    const at = gemini(home);
    expect(readdirSync(at)).toEqual(['oauth_creds.json']);
    expect(lstatSync(`${at}/oauth_creds.json`).isSymbolicLink()).toBe(true);
    // What the client renews is the user's.
    writeFileSync(`${at}/oauth_creds.json`, 'renewed');
    expect(readFileSync(`${home.path}/.gemini/oauth_creds.json`, 'utf8')).toBe('renewed');
  });

  test("links the agent's login instead of the user's", () => {
    using home = temporaryHome();
    home.put('.gemini/oauth_creds.json', "the user's");
    home.put('desk/.gemini/oauth_creds.json', "the agent's");
    const at = gemini(home, `${home.path}/desk/.gemini`);
    expect(readFileSync(`${at}/oauth_creds.json`, 'utf8')).toBe("the agent's");
  });

  test('looks where GEMINI_CLI_HOME says, and can be repeated', () => {
    using home = temporaryHome();
    home.put('elsewhere/.gemini/oauth_creds.json', 'x');
    const env = { GEMINI_CLI_HOME: `${home.path}/elsewhere` };
    gemini(home, null, env);
    expect(existsSync(`${gemini(home, null, env)}/oauth_creds.json`)).toBe(true);
  });

  test('brings nothing for a client that reads the login where it is', () => {
    using home = temporaryHome();
    home.put('.codex/auth.json', '{}');
    bringLogin('codex', { agentDir: null, env: { HOME: home.path } }, `${home.path}/turn`);
    expect(existsSync(`${home.path}/turn`)).toBe(false);
  });
});
