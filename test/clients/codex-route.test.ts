import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { routeArgs, toml } from '../../src/clients/codex/configuration.ts';
import { refusalOf, routeOf } from './route-of.ts';

const FILE = '.codex/config.toml';
const CORP = `model = "house"
model_provider = "corp"
notify = ["touch", "x"]
[mcp_servers.probe]
command = "touch"
[model_providers.corp]
name = "Corp"
base_url = "https://models.corp.example/v1"
env_key = "CORP_KEY"
query_params = { api-version = "2024-10-01" }
[model_providers.other]
name = "Other"
base_url = "https://other.example/v1"
env_key = "OTHER_KEY"
`;
const KEYS = { CORP_KEY: 'k', HOUSE: 'k' };
const route = (text: string, env: Record<string, string> = KEYS) =>
  routeOf('codex', { files: { [FILE]: text }, env });
const OWN = [
  ...['CODEX_API_KEY', 'CODEX_ACCESS_TOKEN', 'OPENAI_API_KEY', 'OPENAI_ORGANIZATION', 'OPENAI_PROJECT'],
];
/** A provider of the user's own, with this said of it. */
const own = (text: string, table = '') => `model_provider = "x"\n[model_providers.x${table}]\n${text}`;

describe('the route of codex', () => {
  test('carries model, provider and address over, and nothing else of the file', () => {
    const { model, settings } = route(CORP);
    expect(model).toBe('house');
    const query_params = { 'api-version': '2024-10-01' };
    const corp = {
      name: 'Corp',
      base_url: 'https://models.corp.example/v1',
      env_key: 'CORP_KEY',
      query_params,
    };
    const login = { cli_auth_credentials_store: 'auto' };
    expect(settings).toEqual({ ...login, model_provider: 'corp', model_providers: { corp } });
  });

  const logins: [string, string, string[]][] = [
    ['a provider, and to no other', CORP, ['CORP_KEY']],
    ['the vendor itself', '', OWN],
    ['the vendor by another address', 'openai_base_url = "https://proxy.example/v1"', OWN],
    ['the vendor, whose table is passed over', '[model_providers.openai]\nenv_key = "X"', ['X', ...OWN]],
    ['a provider that wants the login of the vendor', own('requires_openai_auth = true'), OWN],
    ['a provider without a key', own('base_url = "http://127.0.0.1:1"'), []],
    ['a cloud', 'model_provider = "amazon-bedrock"', ['AWS_*']],
    ['a program on this machine', 'model_provider = "ollama"', []],
    ['keys in headers', own('X-Key = "X_KEY"', '.env_http_headers'), ['X_KEY']],
  ];
  for (const [what, text, names] of logins) {
    test(`passes on what belongs to ${what}`, () => expect(route(text).passedOn).toEqual(names));
  }

  test('gives keys that stand in the file by variables, so that they are in no argument', () => {
    const headers = 'http_headers = { X-One = "the-first", X-Two = "the-second" }';
    const known = `${headers}\nenv_http_headers = { X-Three = "THREE" }`;
    const { settings, env } = route(own(`experimental_bearer_token = "the-token"\n${known}`));
    expect(Object.values(env).sort()).toEqual(['the-first', 'the-second', 'the-token']);
    expect(JSON.stringify(settings)).not.toMatch(/the-(?:token|first|second)/);
    const provider = (settings.model_providers as Record<string, Record<string, unknown>>).x ?? {};
    expect(env[String(provider.env_key)]).toBe('the-token');
    const one = { 'X-One': expect.stringMatching(/_0$/), 'X-Two': expect.stringMatching(/_1$/) };
    expect(provider.env_http_headers).toEqual({ ...one, 'X-Three': 'THREE' });
  });

  const refused: [string, string, RegExp][] = [
    ['a file that is no TOML', 'model = ', /config\.toml" cannot be read/],
    ['a profile of an earlier release', 'profile = "x"', /"profile" in/],
    ['a key in the address', own('base_url = "https://u:p@h/v1"'), /model_providers\.x/],
    ['a key behind the address', 'openai_base_url = "https://h/v1?k=abc"', /model_providers\.openai/],
    ['a key among the parameters', own('sig = "abc"', '.query_params'), /model_providers\.x/],
  ];
  for (const [what, text, reason] of refused) {
    test(`refuses ${what}, and names it`, () =>
      expect(refusalOf('codex', { files: { [FILE]: text } })).toMatch(reason));
  }

  for (const env of [{}, { CORP_KEY: '' }, { CORP_KEY: ' ' }, { OTHER_KEY: 'k' }]) {
    test(`refuses a provider whose key is not in ${JSON.stringify(env)}: names the variable and what to do`, () => {
      const reason = refusalOf('codex', { files: { [FILE]: CORP }, env });
      expect(reason).toContain('its key is in "CORP_KEY", says "model_providers.corp"');
      expect(reason).toContain('Set it; where it is set and a client has started the MCP server, run');
    });
  }

  test('reads the file where CODEX_HOME says, and that of an agent with a login of its own', () => {
    const files = { [FILE]: 'model = "a"', '/b/config.toml': 'model = "b"', '/c/config.toml': 'model = "c"' };
    expect(routeOf('codex', { files }).model).toBe('a');
    expect(routeOf('codex', { files, env: { CODEX_HOME: '/b' } }).model).toBe('b');
    expect(routeOf('codex', { files, env: { CODEX_HOME: '/b' }, agentDir: '/c' }).model).toBe('c');
    expect(routeOf('codex', {}).model).toBeNull();
    const reason = refusalOf('codex', { env: { CODEX_HOME: 'here' } });
    expect(reason).toContain('CODEX_HOME is no absolute path: "here"');
  });

  test('takes what the administrator says for the whole machine, under what the user says', () => {
    const system = 'model = "a"\nmodel_provider = "house"\n[model_providers.house]\nenv_key = "HOUSE"';
    const files = { '/etc/codex/config.toml': system, [FILE]: 'model = "b"' };
    expect(routeOf('codex', { files, env: KEYS })).toMatchObject({ model: 'b', passedOn: ['HOUSE'] });
  });
});

describe('routeArgs()', () => {
  test('gives each setting as an argument that is TOML', () => {
    const args = routeArgs(route(CORP));
    expect(args.filter((_arg, index) => index % 2 === 0)).toEqual(['-c', '-c', '-c']);
    expect(args.at(-1)).toStartWith('model_providers={"corp"={"name"="Corp"');
  });

  test('toml() writes what is read as the same value', () => {
    const key = fc.string({ minLength: 1, unit: 'grapheme' }).filter((one) => one !== '__proto__');
    const leaf = fc.oneof(fc.string({ unit: 'grapheme' }), fc.boolean(), fc.integer());
    const list = fc.array(leaf, { maxLength: 4 });
    const { any } = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 3 }, leaf, list, fc.dictionary(key, tie('any'), { maxKeys: 4 })),
    }));
    const isKept = (one: unknown) => expect(Bun.TOML.parse(`a=${toml(one)}`)).toEqual({ a: one });
    fc.assert(fc.property(any, (one) => void isKept(one)));
  });
});
