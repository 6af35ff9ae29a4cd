import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { clientsMeant } from '../../../src/setup/clients/set-up.ts';
import { INSTALL_CLIENTS } from '../../../src/setup/clients/table.ts';
import type { InstallOptions } from '../../../src/setup/install.ts';
import { locate } from '../../../src/setup/manifest.ts';
import { installedIn, uninstallIn } from '../../support/installed.ts';
import { putFile, treeBelow, treeOf } from '../../support/tree.ts';
import { useMachine } from '../machine.ts';

const at = useMachine();
const ALL = Object.fromEntries(INSTALL_CLIENTS.map((client) => [client, true]));
const installed = (changes: Partial<InstallOptions> = {}) =>
  installedIn(at.home, { clients: ALL, ...changes });

/** What users of all the clients have before, each in their own hand. */
const FILES: Readonly<Record<string, string>> = {
  '.claude/settings.json': '{\r\n  // mine\r\n  "model": "opus",\r\n}\r\n',
  '.claude.json': '{"mcpServers":{"other":{"command":"x"}}}',
  '.codex/hooks.json': '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}\n',
  '.codex/config.toml': '# mine\nmodel = "gpt-5.5"\n\n[mcp_servers.other]\ncommand = "x"\n',
  '.gemini/settings.json': '{ // mine\n  "general": {},\n}\n',
  '.gemini/extensions/other/gemini-extension.json': '{"name":"other","version":"1"}',
  '.config/opencode/opencode.json': '{\n  "plugin": ["theirs"], // mine\n}\n',
};
const putAll = () => {
  for (const [name, text] of Object.entries(FILES)) putFile(at.inHome(name), text);
};

describe('install and uninstall of all clients', () => {
  test('leave every byte as it was, where they were used before', async () => {
    putAll();
    await at.comesBack(async () => {
      const { clients, events } = await installed({ mcp: 'all' });
      expect(clients.map(({ client, isSetUp }) => `${client} ${isSetUp}`)).toEqual(
        INSTALL_CLIENTS.filter((client) => client !== 'claude').map((client) => `${client} true`),
      );
      expect(events.length).toBeGreaterThan(0);
      at.removed();
    });
  });

  test('leave nothing where none of them has been used', async () => {
    await at.comesBack(async () => {
      await installed({ mcp: INSTALL_CLIENTS });
      at.removed();
    });
  });

  test('in any order of installs, with any of them', async () => {
    const choices = fc.dictionary(fc.constantFrom(...INSTALL_CLIENTS), fc.boolean());
    const mcp = fc.option(fc.subarray([...INSTALL_CLIENTS], { minLength: 1 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(fc.record({ clients: choices, mcp }), { minLength: 1, maxLength: 3 }),
        async (isUsed, installs) => {
          if (isUsed) putAll();
          const before = treeOf(at.home);
          for (const one of installs) await installed(one);
          at.removed();
          expect(treeOf(at.home)).toEqual(before);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('what users have written since stays, and only what is ours goes', async () => {
    putAll();
    await installed({ mcp: 'all' });
    const file = at.inHome('.config/opencode/opencode.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('// mine', '// still mine'));
    at.removed();
    expect(readFileSync(file, 'utf8')).toBe(
      FILES['.config/opencode/opencode.json']?.replace('// mine', '// still mine') ?? '',
    );
  });

  test("records of the plugin that an earlier version wrote are OpenCode's", async () => {
    putAll();
    const before = treeBelow(at.home);
    await installed();
    const path = at.state('install.json');
    const { clients, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
    const isPlugin = ({ client }: { client: string }) => client === 'opencode';
    const plugin = clients.filter(isPlugin).map(({ client: _, ...record }: { client: string }) => record);
    const others = clients.filter((one: { client: string }) => !isPlugin(one));
    writeFileSync(path, JSON.stringify({ ...manifest, clients: others, plugin }));
    expect(uninstallIn(at.home).kind).toBe('done');
    expect(treeBelow(at.home)).toEqual(before);
  });
});

describe('which clients are meant', () => {
  const meant = (options: Parameters<typeof clientsMeant>[0] = {}, env = at.env()) => {
    const place = locate(env, 'linux');
    if (place.kind === 'failed') throw new Error(place.reason);
    return clientsMeant(options, place);
  };

  test('Claude Code where none is there', () => expect(meant()).toEqual(['claude']));

  test('those that are there, and Claude Code only if it is one of them', () => {
    mkdirSync(at.inHome('.codex'));
    mkdirSync(at.inHome('.gemini'));
    expect(meant()).toEqual(['codex', 'gemini']);
    mkdirSync(at.inHome('.claude'));
    expect(meant()).toEqual(['claude', 'codex', 'gemini']);
  });

  test('Claude Code also by its program, by its version, and where it is asked for', () => {
    mkdirSync(at.inHome('.codex'));
    expect(meant({ clientVersion: '2.1.328' })).toEqual(['claude', 'codex']);
    expect(meant({ clients: { claude: true } })).toEqual(['claude', 'codex']);
    putFile(at.inHome('bin/claude'), '#!/bin/sh\n', 0o755);
    expect(meant({}, { ...at.env(), PATH: at.inHome('bin') })).toEqual(['claude', 'codex']);
  });

  test('one that is asked for, not one that is unwanted, and one that gets the server', () => {
    mkdirSync(at.inHome('.codex'));
    expect(meant({ clients: { opencode: true, codex: false } })).toEqual(['opencode']);
    expect(meant({ mcp: ['gemini'] })).toEqual(['codex', 'gemini']);
    expect(meant({ clients: { claude: false, codex: false } })).toEqual([]);
  });
});

test('without Claude Code its settings stay as they are, and doctor says so', async () => {
  putAll();
  await installed({ clients: { claude: false }, clientVersion: undefined });
  expect(readFileSync(at.settings(), 'utf8')).toBe(FILES['.claude/settings.json'] ?? '');
  expect(existsSync(at.state('hooks', 'self-generation'))).toBe(true);
});
