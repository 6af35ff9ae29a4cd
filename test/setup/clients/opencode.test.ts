import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parse } from 'jsonc-parser';
import { checkClients } from '../../../src/setup/clients/set-up.ts';
import type { InstallOptions } from '../../../src/setup/install.ts';
import { pathsOf } from '../../support/home.ts';
import { EXAMINED, installedIn } from '../../support/installed.ts';
import { putFile, treeBelow } from '../../support/tree.ts';
import { useMachine } from '../machine.ts';

const at = useMachine();
const installed = (changes: Partial<InstallOptions> = {}) => installedIn(at.home, changes);
const wanted = { clients: { opencode: true } } as const;
const withPlugin = (changes: Partial<InstallOptions> = {}) => installed({ ...wanted, ...changes });
const reportOf = ({ clients }: Awaited<ReturnType<typeof installed>>) =>
  clients.find(({ client }) => client === 'opencode');

const config = (name = 'opencode.json') => at.inHome('.config', 'opencode', name);
const read = (name?: string) => readFileSync(config(name), 'utf8');
const entry = () => `file://${at.state('opencode-plugin.js')}`;
const pluginsIn = (name?: string) => (parse(read(name)) as { plugin?: unknown }).plugin;

/** What stands in the file before; every byte of it has to come back. */
const FORMS: Readonly<Record<string, string>> = {
  'an empty file': '',
  'an empty object': '{}',
  'other settings on one line': '{"theme":"dark"}',
  'a list of others':
    '{\n\t"plugin": [\n\t\t"opencode-other@1.0.0",\n\t\t["./mine.ts", { "a": 1 }]\n\t]\n}\n',
  'a list on one line': '{ "plugin": ["opencode-other"], "model": "a/b" }\n',
  'an empty list': '{\n  "plugin": [],\n}\n',
  'a list with nothing but a comment': '{\n  "plugin": [\n    // none\n  ]\n}\n',
  'comments and trailing commas':
    '{\n  // mine\n  "plugin": [ /* first */ "x", ], // last\n  "model": "a/b", // end\n}\n',
  'a byte order mark and CRLF': '\ufeff{\r\n  "plugin": [\r\n    "x"\r\n  ]\r\n}\r\n',
  'a server of theirs': '{\n  "mcp": { "other": { "type": "local", "command": ["x"] } }\n}\n',
};

describe('install --opencode', () => {
  test('puts the plugin there and has OpenCode load it, once, and uninstall leaves nothing', async () => {
    await at.comesBack(async () => {
      const report = reportOf(await withPlugin());
      expect(report).toMatchObject({ isSetUp: true, notes: [expect.stringContaining('prune.enabled')] });
      expect(pluginsIn()).toEqual([entry()]);
      expect(statSync(at.state('opencode-plugin.js')).mode & 0o777).toBe(0o600);
      const before = treeBelow(at.root);
      const again = await withPlugin();
      expect(again.upToDate).toBe(true);
      expect(reportOf(again)?.notes).toEqual([]);
      expect(treeBelow(at.root)).toEqual(before);
      at.removed();
    });
  });

  for (const [form, text] of Object.entries(FORMS)) {
    test(`keeps every byte of ${form}, and uninstall gives them back`, async () => {
      putFile(config(), text);
      await at.comesBack(async () => {
        await withPlugin();
        const left = read().replace(JSON.stringify(entry()), '');
        for (const piece of text.match(/\/\/.*|\/\*.*?\*\/|"[^"]*"/g) ?? []) expect(left).toContain(piece);
        expect(pluginsIn()).toEqual([...((parse(text) as { plugin?: string[] })?.plugin ?? []), entry()]);
        at.removed();
      });
    });

    test(`takes only our entry out of ${form} that has changed since`, async () => {
      putFile(config(), text);
      await withPlugin();
      const changed = (one: string) => one.replace(/\}\s*$/, (end) => `// changed since\n${end}`);
      writeFileSync(config(), changed(read()));
      at.removed();
      expect(read()).not.toContain('self-generation');
      expect(read()).toContain('// changed since');
      if (text !== '') expect(parse(read())).toEqual(parse(text));
    });

    test(`gives ${form} back although the server was registered in it, before or behind`, async () => {
      putFile(config(), text);
      for (const [first, second] of [
        [wanted, { mcp: ['opencode'] }],
        [{ clients: { opencode: false }, mcp: ['opencode'] }, wanted],
        [{ ...wanted, mcp: ['opencode'] }, { clientVersion: '2.1.300' }],
      ] as const) {
        await at.comesBack(async () => {
          await installed(first);
          await installed(second);
          expect(pluginsIn()).toContainEqual(entry());
          expect(read()).toContain('"mcp"');
          at.removed();
        });
      }
    });
  }

  test('where OpenCode is there it needs no flag; --no-opencode leaves it as it is', async () => {
    mkdirSync(dirname(config()), { recursive: true });
    await at.comesBack(async () => {
      expect(reportOf(await installed({ clients: { opencode: false } }))).toBeUndefined();
      expect(existsSync(config())).toBe(false);
      expect(reportOf(await installed())?.isSetUp).toBe(true);
      const before = read();
      expect(reportOf(await installed({ clients: { opencode: false } }))).toBeUndefined();
      expect(read()).toBe(before);
      at.removed();
    });
  });

  const PRUNES = 'leaves main sessions as they are, but for who asks for it or has decided';
  for (const [standing, changes, expected] of [
    [undefined, {}, false],
    [undefined, wanted, undefined],
    ['{}', {}, false],
    ['{}', wanted, undefined],
    ['{"prune":{"enabled":true}}', {}, true],
    ['{"prune":{"enabled":false}}', wanted, false],
  ] as const) {
    test(`${PRUNES}: settings ${standing}, ${JSON.stringify(changes)}`, async () => {
      mkdirSync(dirname(config()), { recursive: true });
      if (standing !== undefined) putFile(at.state('config.json'), standing);
      const notes = reportOf(await installed(changes))?.notes;
      const enabled = JSON.parse(readFileSync(at.state('config.json'), 'utf8')).prune?.enabled;
      expect([enabled, notes?.[0]?.includes('as they are')]).toEqual([expected, expected === false]);
    });
  }

  test('settings that install has written go with it, also when OpenCode comes later', async () => {
    await at.comesBack(async () => {
      await installed({ clients: { opencode: false } });
      await installed();
      mkdirSync(dirname(config()), { recursive: true });
      await installed();
      expect(readFileSync(at.state('config.json'), 'utf8')).toContain('"prune"');
      at.removed();
      rmSync(at.inHome('.config'), { recursive: true });
    });
  });

  test('an update without the flag keeps and renews it', async () => {
    await withPlugin();
    writeFileSync(at.state('opencode-plugin.js'), 'old');
    rmSync(config());
    putFile(config(), '{}');
    expect(reportOf(await installed())?.isSetUp).toBe(true);
    expect(pluginsIn()).toEqual([entry()]);
    expect(readFileSync(at.state('opencode-plugin.js'), 'utf8')).toContain('export default');
  });

  test('where OpenCode is not there nothing is put there, and a dry run changes nothing', async () => {
    expect(reportOf(await installed())).toBeUndefined();
    expect(existsSync(config())).toBe(false);
    expect(existsSync(at.state('opencode-plugin.js'))).toBe(false);
    const before = treeBelow(at.root);
    const { steps } = await withPlugin({ dryRun: true });
    expect(steps).toContainEqual({ what: 'plugin', path: config(), change: 'created' });
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('an entry that is there keeps its place and its options, and goes on naming our file', async () => {
    const old = `file://${at.state('hooks')}/../opencode-plugin.js`;
    putFile(config(), `{ "plugin": ["a", ["${old}", { "x": 1 }], "b"] }\n`);
    await withPlugin();
    expect(pluginsIn()).toEqual(['a', [entry(), { x: 1 }], 'b']);
    at.removed();
    expect(pluginsIn()).toEqual(['a', 'b']);
  });

  test('uses the opencode.jsonc that is there, where XDG_CONFIG_HOME points', async () => {
    const moved = at.inHome('elsewhere');
    putFile(`${moved}/opencode/opencode.jsonc`, '{}');
    await at.comesBack(async () => {
      await withPlugin({ env: { ...at.env(), XDG_CONFIG_HOME: moved } });
      expect(readFileSync(`${moved}/opencode/opencode.jsonc`, 'utf8')).toContain(entry());
      expect(reportOf(await installed())).toBeUndefined();
      await withPlugin();
      expect(pluginsIn()).toEqual([entry()]);
      at.removed();
    });
  });

  for (const [listing, others] of [
    ['config.json', []],
    ['config.json', ['opencode.json']],
    ['opencode.json', ['config.json', 'opencode.jsonc']],
    ['opencode.jsonc', ['opencode.json']],
  ] as const) {
    test(`adds to the list in ${listing} beside ${others.join(', ') || 'no other file'}`, async () => {
      // OpenCode takes the list of the strongest file alone: one of ours elsewhere would be in place of the user's.
      for (const name of others) putFile(config(name), '{ "model": "a/b" }\n');
      putFile(config(listing), '{ "plugin": ["theirs"] }\n');
      await at.comesBack(async () => {
        await withPlugin();
        expect(pluginsIn(listing)).toEqual(['theirs', entry()]);
        for (const name of others) expect(read(name)).toBe('{ "model": "a/b" }\n');
        expect((await installed()).upToDate).toBe(true);
        at.removed();
      });
    });
  }

  test('is taken out of such a list also behind an install that was cut off', async () => {
    putFile(config('config.json'), '{ "plugin": ["theirs"] }\n');
    await withPlugin();
    rmSync(at.state('install.json'));
    at.removed();
    expect(read('config.json')).toBe('{ "plugin": ["theirs"] }\n');
  });

  for (const [what, text] of [
    ['no list', '{ "plugin": "x" }'],
    ['broken', '{ "plugin": [ }'],
  ] as const) {
    test(`says why it cannot register where the configuration is ${what}, and installs the rest`, async () => {
      putFile(config(), text);
      const report = await withPlugin();
      expect(reportOf(report)).toMatchObject({ isSetUp: false, refused: { path: config() } });
      expect(report.warnings.join()).toContain(`OpenCode is not set up: "${config()}": `);
      expect(report.events.length).toBeGreaterThan(0);
      expect(read()).toBe(text);
      expect(existsSync(at.state('opencode-plugin.js'))).toBe(false);
    });
  }

  test('uninstall refuses while the entry stands in a file that it cannot read, and removes nothing', async () => {
    await withPlugin();
    writeFileSync(config(), read().slice(0, -3));
    expect(() => at.removed()).toThrow('take the plugin out');
    expect(existsSync(at.state('opencode-plugin.js'))).toBe(true);
  });

  test("names the user's own sub-agents of OpenCode that may write", async () => {
    const agent = (name: string, fields: string) =>
      putFile(at.inHome('.config/opencode', name), `---\ndescription: x\n${fields}---\nDo it.\n`);
    agent('agent/fixer.md', 'mode: subagent\n');
    agent('agents/team/mender.md', '');
    agent('agent/looker.md', 'mode: subagent\npermission:\n  edit: deny\n');
    agent('agent/older.md', 'mode: subagent\ntools:\n  write: false\n  edit: false\n');
    agent('agent/chief.md', 'mode: primary\n');
    agent("agent/it's.md", 'mode: subagent\n');
    putFile(at.inHome('../.opencode/agent/local.md'), '---\nmode: subagent\n---\n');
    const agents = { shaper: { mode: 'subagent' }, judge: { mode: 'subagent', permission: 'deny' } };
    putFile(config(), JSON.stringify({ agent: { ...agents, general: {}, gone: { disable: true } } }));
    await withPlugin();
    const { subagentContext } = JSON.parse(readFileSync(at.state('config.json'), 'utf8'));
    const own = ['shaper', 'fixer', 'team/mender', 'local'];
    expect(subagentContext.agents).toEqual(['general-purpose', ...own]);
    putFile(at.state('config.json'), JSON.stringify({ subagentContext: { agents: ['fixer', 'mine'] } }));
    const list = JSON.stringify(['fixer', 'mine', 'shaper', 'team/mender', 'local']);
    const { warnings } = await withPlugin();
    expect(warnings.join()).toContain(`self-generation config set subagentContext.agents '${list}'`);
    expect((await installed()).warnings.join()).not.toContain('subagentContext');
  });
});

describe('the check of the plugin', () => {
  const check = () => {
    const world = { ...EXAMINED, env: at.env(), paths: pathsOf(at.home), install: 'self-generation install' };
    return checkClients({ ...world, now: new Date('2026-11-23T09:00:00.000Z') });
  };
  const log = (line: string) => putFile(at.state('logs', 'opencode.log'), `${line}\n`, 0o600);

  test('says nothing where install did not put it there', async () => {
    await installed();
    expect(await check()).toEqual([]);
  });

  test('names the configuration that loads it, whatever went well', async () => {
    await withPlugin();
    log('2026-11-22T09:00:00.000Z INFO state: isSubAgent = true');
    expect(await check()).toMatchObject([
      { status: 'ok', detail: `loads the plugin, which is in ${config()}` },
    ]);
  });

  test('warns of an entry that is gone, of another file, and of what went wrong last', async () => {
    await withPlugin();
    writeFileSync(config(), '{}');
    writeFileSync(at.state('opencode-plugin.js'), 'old');
    log('2026-11-22T09:00:00.000Z ERROR plugin: Cannot write it: no room');
    const details = (await check()).map(({ status, detail }) => `${status}: ${detail}`);
    expect(details).toEqual([
      `warning: the plugin is not in ${config()}`,
      `warning: ${at.state('opencode-plugin.js')} is not that of this program`,
      'warning: plugin: Cannot write it: no room (2026-11-22T09:00:00.000Z)',
    ]);
  });

  test('warns of a list in a stronger file, which is the only one that OpenCode goes by', async () => {
    await withPlugin();
    putFile(config('opencode.jsonc'), '{ "plugin": ["theirs"] }');
    expect(await check()).toMatchObject([
      { status: 'warning', detail: `the plugin is not in ${config('opencode.jsonc')}` },
    ]);
    await installed();
    expect(await check()).toMatchObject([
      { status: 'ok', detail: `loads the plugin, which is in ${config('opencode.jsonc')}` },
    ]);
    at.removed();
    expect(pluginsIn('opencode.jsonc')).toEqual(['theirs']);
    expect(existsSync(config())).toBe(false);
  });

  test('forgets what went wrong long ago', async () => {
    await withPlugin();
    log('2026-10-22T09:00:00.000Z ERROR plugin: Cannot write it: no room');
    expect(await check()).toMatchObject([{ status: 'ok' }]);
  });
});
