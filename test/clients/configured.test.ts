import { describe, expect, test } from 'bun:test';
import { clientNamed } from '../../src/clients/clients.ts';
import { type ClientUser, RouteRefusal } from '../../src/clients/route.ts';
import type { Permissions } from '../../src/runs/model/permissions.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';

/** What each client's own configuration comes to. */

const HOME = '/home/dev';
const PROJECT = `${HOME}/app`;
type Files = Readonly<Record<string, unknown>>;

function permissionsOf(client: ClientName, files: Files): Permissions {
  const user: ClientUser = {
    env: { HOME },
    agentDir: null,
    cwd: PROJECT,
    read: (path) => {
      const content = files[path.replace(`${PROJECT}/`, 'app/').replace(`${HOME}/`, '~/')];
      return typeof content === 'string' || content === undefined ? content : JSON.stringify(content);
    },
  };
  return clientNamed(client).permissions(user);
}

const TRUSTED = { '~/.claude.json': { projects: { [PROJECT]: { hasTrustDialogAccepted: true } } } };
const PROJECT_RULES = {
  permissions: {
    ...{ defaultMode: 'acceptEdits', allow: ['Bash(make:*)'], deny: ['Read(./.env)'] },
    ask: ['Bash(git push:*)'],
  },
};
const FORBIDDEN = ['Read(./.env)', 'Bash(git push:*)'];
const TRUSTED_TOML = `[projects."${PROJECT}"]\ntrust_level = "trusted"\n`;
const NETWORK = `sandbox_mode = "workspace-write"\nweb_search = "disabled"
[sandbox_workspace_write]\nnetwork_access = true\n`;

const claude = (permissions: object) => ({ '~/.claude/settings.json': { permissions } });
const codex = (config: string) => ({ '~/.codex/config.toml': config });
const gemini = (tools: object) => ({
  '~/.gemini/settings.json': { general: { defaultApprovalMode: 'auto_edit' }, tools },
});
const opencode = (config: object) => ({ '~/.config/opencode/opencode.json': config });
const may = (mode: Permissions['mode'], allow: string[] = [], deny: string[] = []) => ({ mode, allow, deny });

const rows: Readonly<Record<ClientName, readonly [title: string, Files, Permissions][]>> = {
  claude: [
    ['asks where nothing is said', {}, may('default')],
    [
      'takes the user’s mode and rules, and counts what is asked about as forbidden',
      claude({ defaultMode: 'plan', allow: ['Bash(ls:*)', 3], deny: ['WebFetch'], ask: ['Bash(rm:*)'] }),
      may('plan', ['Bash(ls:*)'], ['WebFetch', 'Bash(rm:*)']),
    ],
    [
      'believes of a project that is not trusted only what it forbids',
      { 'app/.claude/settings.json': PROJECT_RULES },
      may('default', [], FORBIDDEN),
    ],
    [
      'believes a project that is trusted',
      { 'app/.claude/settings.local.json': PROJECT_RULES, ...TRUSTED },
      may('edit', ['Bash(make:*)'], FORBIDDEN),
    ],
    [
      'allows nothing by a name that the client does not know, or that means less than ours',
      claude({ allow: ['*', 'bash', 'shell', 'exec(ls:*)', 'NotebookEdit', 'Bash(ls:*)', 'Read(~/x)'] }),
      may('default', ['Bash(ls:*)', 'Read(~/x)']),
    ],
    [
      'keeps in a directory what is forbidden above it, and believes nothing of there',
      { ...TRUSTED, '/srv/.claude/settings.json': {}, '/home/.claude/settings.json': PROJECT_RULES },
      may('default', [], FORBIDDEN),
    ],
  ],
  codex: [
    [
      'looks only where it asks about whatever is more',
      codex(`approval_policy = "untrusted"\n${TRUSTED_TOML}`),
      may('default', ['web_search']),
    ],
    ['looks, and may search the web', {}, may('default', ['web_search'])],
    ['writes in a project that is trusted', codex(TRUSTED_TOML), may('edit', ['web_search'])],
    ['goes by the sandbox that is set, and by its network', codex(NETWORK), may('edit', ['network'])],
    ['is as free as it is set', codex('sandbox_mode = "danger-full-access"\n'), may('all', ['web_search'])],
  ],
  gemini: [
    ['asks where nothing is said', {}, may('default', ['web_search'])],
    [
      'takes the mode and the tools that are allowed and excluded',
      {
        '~/.gemini/trustedFolders.json': { [PROJECT]: 'TRUST_FOLDER' },
        ...gemini({
          allowed: ['run_shell_command(git)', 'web_fetch'],
          exclude: ['run_shell_command(rm -rf)'],
        }),
      },
      may('edit', ['web_search', 'run_shell_command(git:*)', 'web_fetch'], ['run_shell_command(rm -rf:*)']),
    ],
    [
      'asks in a folder that is not trusted, and has only the tools of a list',
      gemini({ core: ['read_file', 'run_shell_command(git)'] }),
      may('default', ['web_search'], ['edit', 'web_fetch', 'web_search']),
    ],
  ],
  opencode: [
    ['may do everything where nothing is said', {}, may('all')],
    [
      'takes each tool’s rule, and the rest as it is by itself',
      opencode({
        permission: {
          ...{ edit: 'ask', webfetch: 'deny' },
          bash: { '*': 'ask', 'npm test *': 'allow', 'rm *': 'deny' },
        },
      }),
      may('default', ['bash(npm test *)', 'websearch'], ['bash(rm *)', 'webfetch']),
    ],
    [
      'keeps back some commands of those that are allowed',
      opencode({ permission: { '*': 'allow', bash: { '*': 'allow', 'git push *': 'ask' } } }),
      may('default', ['edit', 'bash', 'webfetch', 'websearch'], ['bash(git push *)']),
    ],
    [
      'goes by no rule that stands before one for every call, and keeps what may not be read',
      opencode({
        permission: { bash: { 'rm *': 'allow', '*': 'ask' }, read: { '*': 'allow', '*.env': 'ask' } },
      }),
      may('default', ['edit', 'webfetch', 'websearch'], ['read(*.env)']),
    ],
    [
      'takes the rules of the agent that it would use before the general ones, in whatever form',
      opencode({
        ...{ permission: 'allow', default_agent: 'careful' },
        agent: { careful: { tools: { write: false }, permission: { bash: 'ask' } } },
      }),
      may('default', ['webfetch', 'websearch'], ['edit']),
    ],
    ['asks about everything', opencode({ permission: 'ask' }), may('default')],
  ],
};

describe('what a client may do by its configuration', () => {
  for (const client of CLIENT_NAMES)
    for (const [title, files, expected] of rows[client])
      test(`${client}: ${title}`, () => expect(permissionsOf(client, files)).toEqual(expected));

  test('is refused where the configuration cannot be read', () => {
    const files = { '~/.claude/settings.json': '{"permissions": ' };
    expect(() => permissionsOf('claude', files)).toThrow(RouteRefusal);
  });
});
