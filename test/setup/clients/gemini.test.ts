import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { gemini } from '../../../src/setup/clients/gemini.ts';
import { checkClients } from '../../../src/setup/clients/set-up.ts';
import type { InstallOptions } from '../../../src/setup/install.ts';
import { locate } from '../../../src/setup/manifest.ts';
import { pathsOf } from '../../support/home.ts';
import { EXAMINED, installedIn } from '../../support/installed.ts';
import { putFile, treeBelow } from '../../support/tree.ts';
import { useMachine } from '../machine.ts';

const at = useMachine();
const installed = (changes: Partial<InstallOptions> = {}) =>
  installedIn(at.home, { clients: { gemini: true }, ...changes });
const reportOf = ({ clients }: Awaited<ReturnType<typeof installed>>) =>
  clients.find(({ client }) => client === 'gemini');
const extension = (...names: string[]) => at.inHome('.gemini', 'extensions', 'self-generation', ...names);
const FILES = [['gemini-extension.json'], ['hooks', 'hooks.json']] as const;
const read = (names: readonly string[]) => readFileSync(extension(...names), 'utf8');

describe('install --gemini', () => {
  test('puts the extension there, once, for its user alone, and uninstall leaves nothing', async () => {
    await at.comesBack(async () => {
      expect(reportOf(await installed())).toEqual({ client: 'gemini', isSetUp: true, notes: [] });
      for (const names of FILES) expect(statSync(extension(...names)).mode & 0o777).toBe(0o600);
      const before = treeBelow(at.root);
      expect((await installed()).upToDate).toBe(true);
      expect(treeBelow(at.root)).toEqual(before);
      at.removed();
    });
  });

  test('needs no flag where Gemini CLI is there, with the server that has knowledge alone', async () => {
    mkdirSync(at.inHome('.gemini'));
    expect(reportOf(await installedIn(at.home))?.isSetUp).toBe(true);
    const { mcpServers } = JSON.parse(read(FILES[0]));
    expect(mcpServers['self-generation']).toEqual({
      command: at.state('hooks', 'self-generation'),
      args: ['mcp', '--knowledge'],
    });
  });

  test('names hooks by a line that its shell takes, wherever we are', async () => {
    const env = { HOME: "/home/dev/it's", USERPROFILE: 'C:\\Users\\dev' };
    const lines = (platform: string, own = {}) => {
      const place = locate({ ...env, ...own }, platform);
      if (place.kind === 'failed') throw new Error(place.reason);
      const part = gemini.partAt(gemini.paths(place)[1] ?? '', place);
      return part.set(undefined, () => false);
    };
    expect(lines('linux')).toContain(
      `"'/home/dev/it'\\\\''s/.self-generation/hooks/self-generation' hook subagent-context gemini"`,
    );
    expect(lines('win32', { HOME: undefined })).toContain(
      `"& \\"C:/Users/dev/.self-generation/hooks/self-generation.exe\\" hook error-logger gemini"`,
    );
  });

  test('goes where GEMINI_CLI_HOME points, and comes out of there', async () => {
    const env = { ...at.env(), GEMINI_CLI_HOME: at.inHome('elsewhere') };
    await at.comesBack(async () => {
      await installed({ env });
      expect(existsSync(at.inHome('elsewhere', '.gemini', 'extensions', 'self-generation'))).toBe(true);
      at.removed();
    });
  });

  test("leaves somebody else's extension of that name alone, and installs the rest", async () => {
    putFile(extension('gemini-extension.json'), '{"name":"self-generation","version":"9"}');
    const before = read(FILES[0]);
    await at.comesBack(async () => {
      const report = await installed();
      expect(reportOf(report)).toMatchObject({
        isSetUp: false,
        refused: { path: extension('gemini-extension.json') },
      });
      expect(report.warnings.join()).toContain('Gemini CLI is not set up: ');
      expect(read(FILES[0])).toBe(before);
      at.removed();
    });
  });

  test('an update renews what an earlier version wrote', async () => {
    await at.comesBack(async () => {
      await installed();
      const manifest = readFileSync(at.state('install.json'), 'utf8');
      const old = '{"hooks":{}}\n';
      writeFileSync(extension(...FILES[1]), old);
      const sha = new Bun.CryptoHasher('sha256').update(old).digest('hex');
      const of = JSON.parse(manifest);
      of.clients[1].writtenSha256 = sha;
      writeFileSync(at.state('install.json'), JSON.stringify(of));
      expect(reportOf(await installed())?.isSetUp).toBe(true);
      expect(read(FILES[1])).toContain('AfterTool');
      at.removed();
    });
  });

  test('what the user has changed stays with uninstall, which says so', async () => {
    await installed();
    writeFileSync(extension(...FILES[1]), '{"hooks":{"mine":[]}}');
    expect(at.removed().steps).toContainEqual({
      ...{ what: 'extension', path: extension(...FILES[1]), change: 'kept' },
      note: 'you have changed it',
    });
    expect(read(FILES[1])).toBe('{"hooks":{"mine":[]}}');
    expect(existsSync(extension(...FILES[0]))).toBe(false);
  });

  test('is taken out also behind an install that was cut off', async () => {
    await installed();
    rmSync(at.state('install.json'));
    at.removed();
    expect(existsSync(extension(...FILES[0]))).toBe(false);
  });
});

describe('the check of Gemini CLI', () => {
  const check = () => {
    const world = { ...EXAMINED, env: at.env(), paths: pathsOf(at.home), install: 'self-generation install' };
    return checkClients({ ...world, now: new Date('2026-11-23T09:00:00.000Z') });
  };

  test('says where the extension is, and when a hook of it has run', async () => {
    await installed();
    expect(await check()).toMatchObject([{ name: 'Gemini CLI', status: 'ok' }]);
    expect((await check())[0]?.detail).toContain('none of its hooks has run yet');
    putFile(at.state('heartbeats', 'gemini-Stop'), '2026-11-22T09:00:00.000Z');
    expect((await check())[0]?.detail).toContain('a hook of it ran last at 2026-11-22T09:00:00.000Z');
  });

  test('warns where its hooks are switched off', async () => {
    await installed();
    putFile(at.inHome('.gemini', 'settings.json'), '{ // mine\n "hooksConfig": { "enabled": false } }');
    expect(await check()).toMatchObject([{ status: 'warning', remedy: 'Remove that line' }]);
  });

  test('warns where the user has switched the extension off, and not where that is for one project', async () => {
    await installed();
    const remedy = 'Run: gemini extensions enable self-generation';
    const [all, one] = [`${at.home}/*`, `${at.home}/app/*`];
    for (const [overrides, status] of [
      [[`!${all}`], 'warning'],
      [[all, `!${all}`, `!${one}`], 'warning'],
      [[`!${all}`, all], 'ok'],
      [[all, `!${one}`], 'ok'],
      ['?', 'ok'],
    ] as const) {
      const text = JSON.stringify({ 'self-generation': { overrides } });
      putFile(at.inHome('.gemini/extensions/extension-enablement.json'), text);
      expect(await check()).toMatchObject([{ status, ...(status === 'warning' && { remedy }) }]);
    }
  });

  test('warns of a file that is gone or another', async () => {
    await installed();
    rmSync(extension(...FILES[1]));
    expect(await check()).toMatchObject([
      { status: 'warning', remedy: 'Run: self-generation install --gemini' },
    ]);
  });
});
