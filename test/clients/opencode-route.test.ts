import { describe, expect, test } from 'bun:test';
import { refusalOf, routeOf } from './route-of.ts';

const FILE = '.config/opencode/opencode.json';
const corp = (baseURL = 'https://models.corp.example/v1') => ({
  npm: '@ai-sdk/openai-compatible',
  options: { baseURL, apiKey: '{env:CORP_KEY}' },
  models: { house: {} },
});
const CONFIG = {
  model: 'corp/house',
  provider: { corp: corp(), other: { options: { apiKey: '{env:OTHER_KEY}' } } },
  mcp: { probe: { type: 'local', command: ['touch'] } },
  plugin: ['evil'],
  instructions: ['x.md'],
  permission: { bash: 'allow' },
};
const route = (config: object, env = {}, model?: string) =>
  routeOf('opencode', { files: { [FILE]: config }, env, ...(model === undefined ? {} : { model }) });

describe('the route of opencode', () => {
  test('carries the provider of the configured model over, shuts the others out, and leaves the rest behind', () => {
    expect(route(CONFIG, { OTHER_KEY: 'x', ANTHROPIC_API_KEY: 'x' })).toEqual({
      model: 'corp/house',
      settings: { enabled_providers: ['corp'], provider: { corp: corp() } },
      env: { OPENCODE_DISABLE_MODELS_FETCH: '1' }, // All that a list of models would say stands there.
      passedOn: ['CORP_API_KEY', 'CORP_KEY'],
    });
  });

  test('goes by the model that is asked for', () => {
    const { model, settings, passedOn } = route(CONFIG, {}, 'anthropic/claude');
    expect(model).toBeNull(); // It is asked for already.
    expect(settings).toEqual({ enabled_providers: ['anthropic'], provider: {} });
    expect(passedOn).toEqual(['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL']);
  });

  test('merges all the files that the client reads, the later the stronger, and with comments', () => {
    const files = {
      '.config/opencode/config.json': { model: 'corp/1', provider: { corp: corp('https://1.example') } },
      [FILE]: '{ // mine\n "model": "corp/2", }',
      '.config/opencode/opencode.jsonc': { model: 'corp/3' },
      '/etc/own.json': { model: 'corp/4' },
      '.opencode/opencode.json': { model: 'corp/5' },
      '/dir/opencode.jsonc': { provider: { corp: { options: { baseURL: 'https://6.example' } } } },
    };
    const env = { OPENCODE_CONFIG: '/etc/own.json', OPENCODE_CONFIG_DIR: '/dir' };
    const { model, settings } = routeOf('opencode', { files, env });
    expect(model).toBe('corp/5');
    expect(settings.provider).toEqual({ corp: corp('https://6.example') });
    const content = JSON.stringify({ model: 'corp/7' });
    const given = { ...env, OPENCODE_CONFIG_CONTENT: content };
    expect(routeOf('opencode', { files, env: given }).model).toBe('corp/7');
    const elsewhere = { '/x/opencode/opencode.json': { model: 'a/b' } };
    expect(routeOf('opencode', { files: elsewhere, env: { XDG_CONFIG_HOME: '/x' } }).model).toBe('a/b');
  });

  test('takes the model of the agent that the client would use, before the general one', () => {
    const agent = { build: { model: 'a/build' }, plan: { model: 'a/plan' } };
    expect(route({ model: 'a/b', agent }).model).toBe('a/build');
    expect(route({ model: 'a/b', agent, default_agent: 'plan' }).model).toBe('a/plan');
    expect(route({ model: 'a/b', mode: agent }).model).toBe('a/build');
  });

  test('takes the model that was chosen last, where none is configured', () => {
    const recent = [{ providerID: 'groq', modelID: 'x/y' }, { providerID: 'z' }];
    const files = { '.local/state/opencode/model.json': { recent } };
    const env = { ANTHROPIC_API_KEY: 'x', GROQ_API_KEY: 'y' };
    const { model, passedOn } = routeOf('opencode', { files, env });
    expect(model).toBe('groq/x/y');
    expect(passedOn).toEqual(['GROQ_API_KEY']);
  });

  test('leads to the files of keys from where the client works', () => {
    const keys = ['{file:~/k1}', '{file:./k2}', '{file:/k3}'];
    const provider = { a: { options: { apiKey: keys.join(' ') } } };
    const { settings } = route({ model: 'a/b', provider });
    const led = '{file:/home/dev/k1} {file:/home/dev/.config/opencode/./k2} {file:/k3}';
    expect(JSON.stringify(settings)).toContain(led);
  });

  test('lets the client choose among the providers that are configured', () => {
    const { provider } = CONFIG;
    const { model, settings, passedOn } = route({ provider }, { ANTHROPIC_API_KEY: 'x', XAI_API_KEY: 'y' });
    expect(model).toBeNull();
    expect(settings).toEqual({ provider });
    expect(passedOn).toEqual(['CORP_API_KEY', 'OTHER_API_KEY', 'CORP_KEY', 'OTHER_KEY']);
  });

  test('passes on the one key that there is, and refuses to choose between two', () => {
    expect(route({}, { AWS_PROFILE: 'x' }).passedOn).toEqual(['AWS_*']);
    expect(route({}).passedOn).toEqual([]);
    const env = { AWS_PROFILE: 'x', ANTHROPIC_API_KEY: 'y' };
    expect(refusalOf('opencode', { env })).toContain('amazon-bedrock, anthropic, and no "model"');
  });

  test('passes on what a provider names as its own, and never what is ours', () => {
    const options = { apiKey: '{env:KEY} {env:SELF_GENERATION_RUN}' };
    const provider = { a: { env: ['MINE', 'PATH*'], options } };
    expect(route({ model: 'a/b', provider }).passedOn).toEqual(['A_API_KEY', 'MINE', 'KEY']);
  });

  for (const name of ['OPENCODE_CONFIG', 'OPENCODE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME']) {
    test(`refuses a relative ${name}, which would be a file of whatever project`, () =>
      expect(refusalOf('opencode', { env: { [name]: 'x' } })).toContain(name));
  }

  test('refuses a file that it cannot read, and names it', () => {
    const reason = refusalOf('opencode', { files: { [FILE]: '{ "model": ' } });
    expect(reason).toContain(`"/home/dev/${FILE}" cannot be read`);
  });
});
