import { afterAll, describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { checkClients } from '../../../src/setup/clients/set-up.ts';
import type { InstallOptions } from '../../../src/setup/install.ts';
import { pathsOf } from '../../support/home.ts';
import { EXAMINED, installedIn } from '../../support/installed.ts';
import { putFile, treeBelow } from '../../support/tree.ts';
import { useMachine } from '../machine.ts';

const at = useMachine();
const BIN = mkdtempSync(join(tmpdir(), 'self-generation-bin-'));
afterAll(() => rmSync(BIN, { recursive: true }));
const HOOKS = () => at.inHome('.codex', 'hooks.json');
const CONFIG = () => at.inHome('.codex', 'config.toml');
const read = (path: string) => readFileSync(path, 'utf8');

/** Puts a program on the PATH that lists hooks as Codex does; returns an environment with it. */
function withCodex(more: Record<string, string> = {}): Record<string, string | undefined> {
  const program = join(BIN, 'codex');
  const script = resolve(import.meta.dir, '../../support/stand-in-codex.ts');
  putFile(program, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`, 0o755);
  return { ...at.env(), PATH: BIN, ...more };
}

const installed = (changes: Partial<InstallOptions> = {}) =>
  installedIn(at.home, { clients: { codex: true }, ...changes });
const notesOf = ({ clients }: Awaited<ReturnType<typeof installed>>) =>
  clients.flatMap(({ client, notes }) => (client === 'codex' ? notes : []));
const trusting = async (changes: Partial<InstallOptions> = {}) =>
  installed({ env: withCodex(), approves: async () => true, ...changes });
const findings = (env = withCodex()) =>
  checkClients({ ...EXAMINED, env, paths: pathsOf(at.home), now: new Date(), install: 'INSTALL' });
const BY_HAND = 'type /hooks in Codex';

const USERS = {
  'hooks.json':
    '{\n  "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }] }\n}\n',
  'config.toml':
    '# mine\nmodel = "x"\n\n[hooks.state."/other/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n\n[features]\nplugins = false\n',
};

describe('install --codex', () => {
  test('registers each hook once, behind those of the user, and uninstall leaves every byte as it was', async () => {
    for (const [name, text] of Object.entries(USERS)) putFile(at.inHome('.codex', name), text);
    await at.comesBack(async () => {
      expect(notesOf(await installed()).join()).toContain(BY_HAND);
      const { hooks } = JSON.parse(read(HOOKS()));
      const binary = at.state('hooks', 'self-generation');
      expect(hooks.SubagentStart).toEqual([
        { hooks: [{ type: 'command', command: `'${binary}' hook subagent-context codex`, timeout: 5 }] },
      ]);
      expect(hooks.PreToolUse).toMatchObject([{ matcher: 'spawn_agent$' }]);
      expect(hooks.Stop).toHaveLength(2);
      expect(hooks.Stop[0].hooks[0].command).toBe('say done');
      expect(read(CONFIG())).toBe(USERS['config.toml']);
      const before = treeBelow(at.root);
      expect((await installed()).upToDate).toBe(true);
      expect(treeBelow(at.root)).toEqual(before);
      at.removed();
    });
  });

  test('does so without a flag where Codex is there, and where CODEX_HOME points', async () => {
    mkdirSync(at.inHome('.codex'));
    await installedIn(at.home);
    expect(existsSync(HOOKS())).toBe(true);
    await installed({ env: { ...at.env(), CODEX_HOME: at.inHome('elsewhere') } });
    expect(existsSync(at.inHome('elsewhere', 'hooks.json'))).toBe(true);
  });

  test('and uninstall are kept from nothing by a CODEX_HOME that is no absolute path', async () => {
    await at.comesBack(async () => {
      const env = { ...at.env(), CODEX_HOME: '~/.codex' };
      await installed({ env });
      expect(existsSync(HOOKS())).toBe(true);
      at.removed({ env });
    });
  });

  test('writes an approval of each of ours only when the user says yes, and asks once', async () => {
    for (const [name, text] of Object.entries(USERS)) putFile(at.inHome('.codex', name), text);
    await at.comesBack(async () => {
      const asked: (readonly string[])[] = [];
      const answering = (answer: boolean) => async (hooks: readonly string[]) => {
        asked.push(hooks);
        return answer;
      };
      const env = withCodex();
      expect(notesOf(await installed({ env, approves: answering(false) })).join()).toContain(BY_HAND);
      expect(read(CONFIG())).toBe(USERS['config.toml']);
      expect(notesOf(await installed({ env, approves: answering(true) })).join()).toContain(
        'run its 7 hooks',
      );
      const { hooks } = Bun.TOML.parse(read(CONFIG())) as { hooks: { state: Record<string, object> } };
      const keys = Object.keys(hooks.state).map((key) => key.slice(key.lastIndexOf('/') + 1));
      expect(keys.sort()).toEqual([
        ...['hooks.json:post_tool_use:0:0', 'hooks.json:pre_tool_use:0:0', 'hooks.json:session_end:0:0'],
        ...['hooks.json:session_start:0:0', 'hooks.json:stop:0:0', 'hooks.json:stop:1:0'],
        ...['hooks.json:subagent_start:0:0', 'hooks.json:user_prompt_submit:0:0'],
      ]);
      expect(read(CONFIG())).toStartWith(USERS['config.toml']);
      expect(notesOf(await installed({ env, approves: answering(true) }))).toEqual([]);
      expect(asked.map((hooks) => hooks.length)).toEqual([7, 7]);
      expect(asked[0]).toContain(`'${at.state('hooks', 'self-generation')}' hook subagent-context codex`);
      at.removed();
    });
  });

  test('changes nothing the second time, with approvals and the MCP server in one file', async () => {
    await trusting({ mcp: ['codex'] });
    const before = treeBelow(at.root);
    expect((await trusting({ mcp: ['codex'] })).upToDate).toBe(true);
    expect(treeBelow(at.root)).toEqual(before);
  });

  test('renews an approval of what has changed since, and nothing else', async () => {
    await trusting();
    const approved = read(CONFIG());
    const changed = approved.replace(/sha256:..../, 'sha256:????');
    writeFileSync(CONFIG(), `${changed}enabled = false\n`);
    const asked: string[] = [];
    await trusting({ approves: async (hooks) => asked.push(...hooks) > 0 });
    expect(asked).toHaveLength(1);
    expect(read(CONFIG())).toBe(`${approved}enabled = false\n`);
  });

  test('takes its own approvals out of a directory that is a link, under either name', async () => {
    mkdirSync(at.inHome('dotfiles'));
    symlinkSync(at.inHome('dotfiles'), at.inHome('.codex'));
    await at.comesBack(async () => {
      await trusting();
      expect(read(CONFIG())).toContain(`"${HOOKS()}:stop:0:0"`);
      writeFileSync(CONFIG(), read(CONFIG()).replaceAll(HOOKS(), at.inHome('dotfiles', 'hooks.json')));
      at.removed();
    });
  });

  test('takes out approvals that no record names: of an install that was cut off, or given in Codex', async () => {
    for (const [name, text] of Object.entries(USERS)) putFile(at.inHome('.codex', name), text);
    await at.comesBack(async () => {
      await trusting({ clients: { claude: false, codex: true } });
      rmSync(at.state('install.json'));
      at.removed({ purge: true });
    });
    await at.comesBack(async () => {
      await trusting();
      const approved = read(CONFIG());
      at.removed({ purge: true });
      await installed();
      writeFileSync(CONFIG(), approved);
      at.removed({ purge: true });
    });
  });

  test('in a file with our server as well both are taken out, also of what was written since', async () => {
    putFile(CONFIG(), USERS['config.toml']);
    await at.comesBack(async () => {
      await trusting({ mcp: ['codex'] });
      expect(read(CONFIG())).toContain('[mcp_servers.self-generation]');
      writeFileSync(CONFIG(), `${read(CONFIG())}\n[tui]\ntheme = "x"\n`);
      at.removed();
      expect(Bun.TOML.parse(read(CONFIG()))).toEqual({
        ...(Bun.TOML.parse(USERS['config.toml']) as object),
        tui: { theme: 'x' },
      });
      writeFileSync(CONFIG(), USERS['config.toml']);
    });
  });

  const silent: [string, Record<string, string>, string][] = [
    ['is not there', { PATH: '/nowhere' }, 'there is no "codex" on the PATH'],
    ['refuses', { REFUSED: 'hooks/list' }, 'does not list its hooks: no'],
  ];
  for (const [what, more, reason] of silent) {
    test(`says why nothing is approved where Codex ${what}`, async () => {
      putFile(CONFIG(), USERS['config.toml']);
      const notes = notesOf(await trusting({ env: withCodex(more) })).join();
      expect(notes).toContain(reason);
      expect(notes).toContain(BY_HAND);
      expect(read(CONFIG())).toBe(USERS['config.toml']);
    });
  }

  for (const text of ['{"hooks": []}', '{ // torn', '\0']) {
    test(`leaves a hooks.json that it does not understand, installs the rest and takes it out: ${JSON.stringify(text)}`, async () => {
      putFile(HOOKS(), text);
      putFile(CONFIG(), USERS['config.toml']);
      await at.comesBack(async () => {
        const report = await installed();
        expect(report.warnings.join()).toContain('Codex is not set up');
        expect(read(HOOKS())).toBe(text);
        await installedIn(at.home, { clients: { codex: false } });
        at.removed();
      });
    });
  }
});

describe('doctor', () => {
  const said = async (env?: Record<string, string | undefined>) => {
    const found = await findings(env);
    return found.map(({ status, detail }) => `${status}: ${detail}`).join('; ');
  };

  test('tells apart what is approved, what is not, what has changed, and what is switched off', async () => {
    await installed({ env: withCodex() });
    expect(await said()).toContain('warning: 7 of 7 hooks are not approved');
    await trusting();
    expect(await said()).toContain('ok: 7 approved hooks');
    expect(await said()).toContain('none has run yet');
    putFile(at.state('heartbeats', 'codex-Stop'), '2026-11-24T00:00:00.000Z');
    putFile(at.state('heartbeats', 'Stop'), '2026-11-25T00:00:00.000Z');
    expect(await said()).toContain('the last one ran 2026-11-24T00:00:00.000Z');
    const config = read(CONFIG());
    writeFileSync(CONFIG(), config.replace(/sha256:..../, 'sha256:????'));
    expect(await said()).toContain('warning: 1 of 7 hooks have changed since they were approved');
    writeFileSync(CONFIG(), `${config.replace(/(trusted_hash = "[^"]*")/, '$1\nenabled = false')}`);
    expect(await said()).toContain('warning: 1 of 7 hooks are switched off');
    writeFileSync(CONFIG(), `features.hooks = false\n${config}`);
    expect(await said()).toContain('warning: 7 of 7 hooks are not listed by Codex');
  });

  test('says what it cannot know, and what has been taken out', async () => {
    await trusting();
    expect(await said({ ...at.env(), PATH: '/nowhere' })).toContain('skipped: 7 hooks in');
    writeFileSync(HOOKS(), '{}');
    expect(await said()).toContain('is not as this version would write it');
  });
});
