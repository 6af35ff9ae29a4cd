import { describe, expect, test } from 'bun:test';
import { isNamed } from '../../src/clients/route.ts';
import { type Made, refusalOf, routeOf } from './route-of.ts';

const CLOUDS = {
  AWS_SECRET_ACCESS_KEY: 'CLAUDE_CODE_USE_BEDROCK',
  GOOGLE_APPLICATION_CREDENTIALS: 'CLAUDE_CODE_USE_VERTEX',
  AZURE_API_KEY: 'CLAUDE_CODE_USE_FOUNDRY',
};

describe('the route of claude', () => {
  const passes = (name: string, made: Made) => isNamed(name, routeOf('claude', made).passedOn);
  for (const [key, cloud] of Object.entries(CLOUDS)) {
    test(`passes ${key} on with ${cloud} alone, in the environment or in the settings`, () => {
      expect(passes(key, {})).toBe(false);
      expect(passes(key, { env: { [cloud]: '0' } })).toBe(false);
      expect(passes(key, { env: { [cloud]: '1' } })).toBe(true);
      expect(passes(key, { files: { '.claude/settings.json': { env: { [cloud]: 'true' } } } })).toBe(true);
      const managed = '/etc/claude-code/managed-settings.json';
      expect(passes(key, { files: { [managed]: { env: { [cloud]: '1' } } } })).toBe(true);
      const others = Object.keys(CLOUDS).filter((other) => other !== key);
      expect(others.filter((other) => passes(other, { env: { [cloud]: '1' } }))).toEqual([]);
    });
  }

  test('passes on the login of the vendor, and nothing of a session', () => {
    const { passedOn } = routeOf('claude', {});
    for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN'])
      expect(isNamed(name, passedOn)).toBe(true);
    const others = ['CLAUDE_CODE_SESSION_ID', 'CLAUDE_CODE_ENTRYPOINT', 'OPENAI_API_KEY', 'SSH_AUTH_SOCK'];
    expect(others.filter((name) => isNamed(name, passedOn))).toEqual([]);
  });

  const project = (settings: unknown, isTrusted = true, file = 'settings.local.json'): Made => ({
    cwd: '/srv/app/part',
    files: {
      '.claude.json': { projects: { '/srv/app': { hasTrustDialogAccepted: isTrusted } } },
      [`/srv/app/part/.claude/${file}`]: settings,
    },
  });
  const leading: [string, unknown][] = [
    ['env.ANTHROPIC_BASE_URL', '{ // mine\n"env": { "ANTHROPIC_BASE_URL": "https://proxy.example" } }'],
    ['env.CLAUDE_CODE_USE_BEDROCK', { env: { CLAUDE_CODE_USE_BEDROCK: '1' } }],
    ['apiKeyHelper', { apiKeyHelper: '/bin/key' }],
  ];
  for (const [name, settings] of leading) {
    test(`refuses where a trusted project has ${name}, and names it`, () => {
      for (const file of ['settings.json', 'settings.local.json']) {
        const reason = refusalOf('claude', project(settings, true, file));
        expect(reason).toContain(`"${name}" in "/srv/app/part/.claude/${file}"`);
      }
      expect(routeOf('claude', project(settings, false)).model).toBeNull();
    });
  }

  test('takes no offence at a project whose settings say nothing of it', () => {
    expect(routeOf('claude', project({ permissions: {}, env: { DEBUG: '1' } })).model).toBeNull();
  });
});

describe('the route of gemini', () => {
  const KIND = 'SELF_GENERATION_GEMINI_LOGIN';
  const kindOf = (settings: unknown, env = {}) =>
    routeOf('gemini', { files: settings === undefined ? {} : { '.gemini/settings.json': settings }, env })
      .env[KIND];

  const loginBy = (selectedType: string) => ({ security: { auth: { selectedType } } });

  test('says which kind of login is meant', () => {
    expect(kindOf('{ // mine\n"security": {"auth": {"selectedType": "a"}},}')).toBe('a');
    expect(kindOf(loginBy('b'), { GEMINI_API_KEY: 'k' })).toBe('b');
    expect(kindOf(undefined, { GEMINI_API_KEY: 'k' })).toBe('gemini-api-key');
    expect(kindOf(undefined, { GOOGLE_GENAI_USE_VERTEXAI: 'true' })).toBe('vertex-ai');
    expect(kindOf(undefined, { GOOGLE_GENAI_USE_GCA: 'true' })).toBe('oauth-personal');
    const { env } = routeOf('gemini', { files: { '.gemini/oauth_creds.json': 'x' } });
    expect(env[KIND]).toBe('oauth-personal');
    expect(kindOf(undefined)).toBeUndefined();
  });

  test('takes login, address and model of a .env, and nothing else of it; the caller is stronger', () => {
    const dotenv = [
      '# a comment',
      'GEMINI_API_KEY=plain # mine',
      " export GOOGLE_API_KEY = 'quoted # not'",
      'GOOGLE_CLOUD_PROJECT="p"\r',
      'GOOGLE_GEMINI_BASE_URL=https://proxy.example',
      'NODE_OPTIONS=--require=/evil',
      'GEMINI_SANDBOX=docker',
      'no line at all',
    ].join('\n');
    const env = { GOOGLE_CLOUD_PROJECT: 'q' };
    const keys = { GEMINI_API_KEY: 'plain', GOOGLE_API_KEY: 'quoted # not', [KIND]: 'gemini-api-key' };
    const expected = { ...keys, GOOGLE_GEMINI_BASE_URL: 'https://proxy.example' };
    const envOf = (files: object, agent = {}) =>
      routeOf('gemini', { files: { ...files }, env, ...agent }).env;
    expect(envOf({ '.gemini/.env': dotenv, '.env': 'GEMINI_API_KEY=other' })).toEqual(expected);
    expect(envOf({ '.env': dotenv })).toEqual(expected);
    expect(envOf({ '/own/.env': dotenv }, { agentDir: '/own' })).toEqual(expected);
    expect(envOf({ '.env': dotenv }, { agentDir: '/own' })).toEqual({});
  });

  test('carries the model of the settings over, unless a variable names one', () => {
    const files = { '.gemini/settings.json': { model: { name: 'm' } } };
    expect(routeOf('gemini', { files }).model).toBe('m');
    expect(routeOf('gemini', { files, env: { GEMINI_MODEL: 'n' } }).model).toBeNull();
  });

  test("passes on the keys of Google's cloud with its login alone, and of other vendors none", () => {
    const cloud = ['GOOGLE_APPLICATION_CREDENTIALS', 'CLOUDSDK_CONFIG', 'GCLOUD_PROJECT'];
    const others = ['AWS_PROFILE', 'OPENAI_API_KEY', 'GEMINI_SANDBOX'];
    const passed = (env: Record<string, string>) => {
      const { passedOn } = routeOf('gemini', { env });
      return [...cloud, ...others].filter((name) => isNamed(name, passedOn));
    };
    expect(passed({ GEMINI_API_KEY: 'k' })).toEqual([]);
    expect(passed({ GOOGLE_GENAI_USE_VERTEXAI: 'true' })).toEqual(cloud);
  });

  test('refuses where a trusted project leads elsewhere, and names what does', () => {
    const project = (rules: object, file: string, content: unknown): Made => ({
      cwd: '/srv/app/part',
      files: { '.gemini/trustedFolders.json': rules, [`/srv/app/part/${file}`]: content },
    });
    const leading: [string, string, unknown][] = [
      ['GOOGLE_GEMINI_BASE_URL', '.gemini/.env', 'GOOGLE_GEMINI_BASE_URL=https://x'],
      ['GOOGLE_GENAI_USE_VERTEXAI', '.env', 'GEMINI_API_KEY=k\nGOOGLE_GENAI_USE_VERTEXAI=true'],
      ['security.auth.selectedType', '.gemini/settings.json', loginBy('vertex-ai')],
    ];
    for (const [name, file, content] of leading) {
      for (const rules of [{ '/srv/app': 'TRUST_FOLDER' }, { '/srv/app/other': 'TRUST_PARENT' }])
        expect(refusalOf('gemini', project(rules, file, content))).toContain(`"${name}" of the project`);
      for (const rules of [{}, { '/srv/app': 'DO_NOT_TRUST' }, { '/srv/ap': 'TRUST_FOLDER' }])
        expect(routeOf('gemini', project(rules, file, content)).model).toBeNull();
    }
    const { env } = routeOf('gemini', project({ '/srv': 'TRUST_FOLDER' }, '.env', 'GEMINI_API_KEY=k'));
    expect(env).toEqual({});
  });

  test('refuses settings that cannot be read, and names the file', () => {
    const reason = refusalOf('gemini', { files: { '.gemini/settings.json': '{ broken' } });
    expect(reason).toContain('/home/dev/.gemini/settings.json');
  });
});
