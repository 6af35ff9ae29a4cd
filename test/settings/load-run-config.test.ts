import { describe, expect, test } from 'bun:test';
import { type Client, type TurnRequest, turnCommand } from '../../src/clients/client.ts';
import { ASKS_NEVER } from '../../src/runs/model/permissions.ts';
import { combinePolicies } from '../../src/runs/model/tool-policy.ts';
import { loadRunConfig, type RunConfig } from '../../src/settings/all-settings.ts';
import { NO_ROUTE } from '../clients/route-of.ts';
import { CLIENTS } from '../support/clients.ts';
import { temporaryHome } from '../support/home.ts';

function load(settings: unknown): RunConfig {
  using home = temporaryHome();
  home.writeConfig(settings);
  return loadRunConfig(home.paths);
}

const deny = (...entries: string[]) => ({ tools: { subagents: { tools: { deny: entries } } } });

/** The clients that would start a child with a shell under these settings. */
function shellsOf(config: RunConfig): string[] {
  if (config.kind === 'refused') return [];
  const request: Omit<TurnRequest, 'policy'> = {
    ...{ prompt: '', session: { kind: 'new', id: 'a' }, model: null, route: NO_ROUTE, thinking: null },
    ...{ tools: 'policy', mcp: null, permissions: ASKS_NEVER },
    ...{ budgetUsd: null, cwd: '/w', directory: '/d', agentDir: null },
  };
  const { claude, codex, gemini, opencode } = CLIENTS;
  const made = (client: Client) =>
    JSON.stringify(turnCommand(client, { ...request, policy: combinePolicies([config.settings.tools]) }));
  return [
    ...(/"--tools[^-]*\bBash\b/.test(made(claude)) ? ['claude'] : []),
    ...(made(codex).includes('"features.shell_tool=false"') ? [] : ['codex']),
    ...(/\\"core\\":\[[^\]]*run_shell_command/.test(made(gemini)) ? ['gemini'] : []),
    ...(/\\"bash\\":\\"allow\\"/.test(made(opencode)) ? ['opencode'] : []),
  ];
}

describe('a list that should keep sub-agents from the shell', () => {
  test('is needed: without one, it is offered', () => {
    for (const settings of [{}, deny('web_fetch')]) {
      expect(shellsOf(load(settings))).toEqual(['claude', 'codex', 'gemini', 'opencode']);
    }
  });

  const denying = ' BASH\t|exec|Bash|shell|unified_exec|run_shell_command|group:runtime|Group:Runtime';
  const shapes = '*|b*|*sh*|ex*c|run_*'.split('|');
  const alone = [...denying.split('|'), ...shapes].map((entry) => [entry]);
  const lists = [...alone, ['read', 'local_shell', 'mcp__x__y']];
  for (const entries of lists) {
    test(`does: ${JSON.stringify(entries)}`, () => {
      const config = load(deny(...entries));
      expect(config.kind).toBe('usable');
      expect(shellsOf(config)).toEqual([]);
    });
  }

  const plain = [
    'Bash(*)  Bash(rm:*)  Bash(git push:*)  group:nonsense  group:*  group:  b?sh  exec,write  exec write',
    'exec;write  exec|write  [exec]  !exec  -exec  terminal  cmd  zsh  /bin/sh  ter*  ^exec$  exec.*  ba{sh}',
    '"exec"  exec\\  execs  ex ec  tools.exec  builtin:exec  mcp__x__(*)  bash:*',
  ];
  const misspelt: string[][] = [
    ...plain.flatMap((line) => line.split('  ')).map((entry) => [entry]),
    ['\uff42\uff41\uff53\uff48', '\\u{ff42}\\u{ff41}\\u{ff53}\\u{ff48}'], // Full-width letters.
    ['ba\u200bsh', 'ba\\u{200b}sh'], // A space without width.
    ['\u2060exec', '\\u{2060}exec'],
    ['b\u0430sh', 'b\\u{430}sh'], // A Cyrillic letter.
    ['ех*', '\\u{435}\\u{445}*'],
    ['exec\u0301', 'exec\\u{301}'],
    ['𝐞𝐱𝐞𝐜', '\\u{1d41e}\\u{1d431}\\u{1d41e}\\u{1d41c}'],
  ];
  for (const [entry = '', named = entry] of misspelt) {
    test(`refuses every run and names what means nothing: ${named}`, () => {
      for (const settings of [
        deny('web_fetch', entry),
        { tools: { subagents: { tools: { allow: [entry] } } } },
        { agents: { list: [{ id: 'main', subagents: { tools: { deny: [entry] } } }] } },
      ]) {
        const config = load(settings);
        if (config.kind !== 'refused') throw new Error('It was not refused');
        expect(config.error).toContain(`"${named}" is no tool: it may be read, write, `);
        expect(config.error).toMatch(/\.tools\.(deny\[[01]\]|allow\[0\]): /);
      }
    });
  }

  const tools = { deny: ['exec'] };
  const misplaced: [key: string, settings: object][] = [
    ['deny', tools],
    ['tools.deny', { tools }],
    ['tools.tools', { tools: { tools } }],
    ['tools.subagent', { tools: { subagent: { tools } } }],
    ['tools.Subagents', { tools: { Subagents: { tools } } }],
    ['tools.subagents.deny', { tools: { subagents: tools } }],
    ['tools.subagents.tool', { tools: { subagents: { tool: tools } } }],
    ['tools.subagents.tools.Deny', { tools: { subagents: { tools: { Deny: ['exec'] } } } }],
    ['tools.subagents.tools.deny ', { tools: { subagents: { tools: { 'deny ': ['exec'] } } } }],
    ['subagents', { subagents: { tools } }],
    ['tool', { tool: { subagents: { tools } } }],
    ['agents.subagents', { agents: { subagents: { tools } } }],
    ['agents.defaults.tools', { agents: { defaults: { tools } } }],
    ['agents.defaults.subagents.tools', { agents: { defaults: { subagents: { tools } } } }],
    ['agents.list[0].tools', { agents: { list: [{ id: 'main', tools }] } }],
    ['agents.list[0].subagents.deny', { agents: { list: [{ id: 'main', subagents: tools }] } }],
    [
      'agents.list[0].subagents.tools.deny',
      { agents: { list: [{ id: 'main', 'subagents.tools.deny': ['exec'] }] } },
    ],
    ['permissions', { permissions: { deny: ['Bash'] } }],
    ['disallowedTools', { disallowedTools: ['Bash'] }],
    ['subagentContext.tools', { subagentContext: { tools } }],
    ['lessons.deny', { lessons: tools }],
    ['tools.subagents.tools.deny', { 'tools.subagents.tools.deny': ['exec'] }],
    ['tools.subagents', { 'tools.subagents': { tools } }],
    ['tools.subagents.tools', { tools: { 'subagents.tools': tools } }],
    ['t\\u{43e}ols', { tоols: { subagents: { tools } } }],
    ['budgets', { budgets: { day: { usd: 1 } } }],
  ];
  for (const [key, settings] of misplaced) {
    test(`refuses every run and says where it stands: ${key}`, () => {
      expect(load(settings)).toEqual({
        kind: 'refused',
        error: expect.stringContaining(`what a sub-agent may do: ${key}: no such setting`),
      });
    });
  }

  const strict = false;
  const shapeless: [key: string, settings: object][] = [
    ['tools', { tools: 5 }],
    ['tools.subagents', { tools: { subagents: [] } }],
    ['tools.subagents.tools', { tools: { subagents: { strict, tools: 'exec' } } }],
    ['tools.subagents.tools.deny', { tools: { subagents: { strict, tools: { deny: 'exec' } } } }],
    ['agents', { agents: [{ id: 'main' }], tools: { subagents: { strict } } }],
    ['agents.list[0]', { agents: { list: ['main'] }, tools: { subagents: { strict } } }],
    ['budget', { budget: 5, tools: { subagents: { strict } } }],
    ['budget.day', { budget: { day: 5 }, tools: { subagents: { strict } } }],
  ];
  for (const [key, settings] of shapeless) {
    test(`refuses every run when what holds it has no such shape: ${JSON.stringify(settings)}`, () => {
      expect(load(settings)).toEqual({
        kind: 'refused',
        error: expect.stringContaining(`what a sub-agent may do: ${key}: expected `),
      });
    });
  }

  test('is warned of only, where "strict" is false', () => {
    const subagents = { strict: false, tools: { deny: ['exec', 'b?sh'] } };
    const config = load({ deny: ['exec'], tools: { subagents } });
    if (config.kind !== 'usable') throw new Error(config.error);
    expect(config.warnings).toHaveLength(2);
    expect(config.warnings.join()).toContain('"b?sh" is no tool');
    expect(config.warnings.join()).toContain('deny: no such setting');
    expect(shellsOf(config)).toEqual([]);
  });

  test('is not looked for in settings of another implementation', () => {
    const config = load({ dbPath: '~/x.db', embedding: { enabled: true, server: { socketPath: '/s' } } });
    expect(config).toMatchObject({ kind: 'usable', warnings: [] });
  });

  test('is not looked for in settings of an earlier release, which are only warned of', () => {
    const config = load({
      agents: { defaults: { subagents: { maxPerClient: { codex: 2 }, maxPerSession: 5 } } },
    });
    const words = (name: string) =>
      `settings: agents.defaults.subagents.${name}: no such setting; it has no effect`;
    expect(config).toMatchObject({ kind: 'usable', warnings: ['maxPerClient', 'maxPerSession'].map(words) });
  });
});
