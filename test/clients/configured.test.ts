import { describe, expect, test } from 'bun:test';
import { clientNamed } from '../../src/clients/clients.ts';
import { type ClientUser, RouteRefusal } from '../../src/clients/route.ts';
import type { Permissions } from '../../src/runs/model/permissions.ts';
import type { ClientName } from '../support/clients.ts';

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

const claude = (permissions: object) => ({ permissions });
const TRUSTED = { projects: { [PROJECT]: { hasTrustDialogAccepted: true } } };
const PROJECT_RULES = claude({
  defaultMode: 'acceptEdits',
  allow: ['Bash(make:*)'],
  deny: ['Read(./.env)'],
  ask: ['Bash(git push:*)'],
});

const rows: [ClientName, string, Files, Permissions][] = [
  ['claude', 'asks where nothing is said', {}, { mode: 'default', allow: [], deny: [] }],
  [
    'claude',
    'takes the user’s mode and rules, and counts what is asked about as forbidden',
    {
      '~/.claude/settings.json': claude({
        defaultMode: 'plan',
        allow: ['Bash(ls:*)', 3],
        deny: ['WebFetch'],
        ask: ['Bash(rm:*)'],
      }),
    },
    { mode: 'plan', allow: ['Bash(ls:*)'], deny: ['WebFetch', 'Bash(rm:*)'] },
  ],
  [
    'claude',
    'believes of a project that is not trusted only what it forbids',
    { 'app/.claude/settings.json': PROJECT_RULES },
    { mode: 'default', allow: [], deny: ['Read(./.env)', 'Bash(git push:*)'] },
  ],
  [
    'claude',
    'believes a project that is trusted',
    { 'app/.claude/settings.local.json': PROJECT_RULES, '~/.claude.json': TRUSTED },
    { mode: 'edit', allow: ['Bash(make:*)'], deny: ['Read(./.env)', 'Bash(git push:*)'] },
  ],
  [
    'claude',
    'allows nothing by a name that the client does not know, or that means less than ours',
    {
      '~/.claude/settings.json': claude({
        allow: ['*', 'bash', 'shell', 'exec(ls:*)', 'NotebookEdit', 'Bash(ls:*)', 'Read(~/x)'],
      }),
    },
    { mode: 'default', allow: ['Bash(ls:*)', 'Read(~/x)'], deny: [] },
  ],
  [
    'claude',
    'keeps in a directory what is forbidden above it, and believes nothing of there',
    {
      '~/.claude.json': TRUSTED,
      '/srv/.claude/settings.json': {},
      '/home/.claude/settings.json': PROJECT_RULES,
    },
    { mode: 'default', allow: [], deny: ['Read(./.env)', 'Bash(git push:*)'] },
  ],
  [
    'codex',
    'looks only where it asks about whatever is more',
    {
      '~/.codex/config.toml': `approval_policy = "untrusted"\n[projects."${PROJECT}"]\ntrust_level = "trusted"\n`,
    },
    { mode: 'default', allow: ['web_search'], deny: [] },
  ],
  ['codex', 'looks, and may search the web', {}, { mode: 'default', allow: ['web_search'], deny: [] }],
  [
    'codex',
    'writes in a project that is trusted',
    { '~/.codex/config.toml': `[projects."${PROJECT}"]\ntrust_level = "trusted"\n` },
    { mode: 'edit', allow: ['web_search'], deny: [] },
  ],
  [
    'codex',
    'goes by the sandbox that is set, and by its network',
    {
      '~/.codex/config.toml':
        'sandbox_mode = "workspace-write"\nweb_search = "disabled"\n[sandbox_workspace_write]\nnetwork_access = true\n',
    },
    { mode: 'edit', allow: ['network'], deny: [] },
  ],
  [
    'codex',
    'is as free as it is set',
    { '~/.codex/config.toml': 'sandbox_mode = "danger-full-access"\n' },
    { mode: 'all', allow: ['web_search'], deny: [] },
  ],
  ['gemini', 'asks where nothing is said', {}, { mode: 'default', allow: ['web_search'], deny: [] }],
  [
    'gemini',
    'takes the mode and the tools that are allowed and excluded',
    {
      '~/.gemini/trustedFolders.json': { [PROJECT]: 'TRUST_FOLDER' },
      '~/.gemini/settings.json': {
        general: { defaultApprovalMode: 'auto_edit' },
        tools: { allowed: ['run_shell_command(git)', 'web_fetch'], exclude: ['run_shell_command(rm -rf)'] },
      },
    },
    {
      mode: 'edit',
      allow: ['web_search', 'run_shell_command(git:*)', 'web_fetch'],
      deny: ['run_shell_command(rm -rf:*)'],
    },
  ],
  [
    'gemini',
    'asks in a folder that is not trusted, and has only the tools of a list',
    {
      '~/.gemini/settings.json': {
        general: { defaultApprovalMode: 'auto_edit' },
        tools: { core: ['read_file', 'run_shell_command(git)'] },
      },
    },
    { mode: 'default', allow: ['web_search'], deny: ['edit', 'web_fetch', 'web_search'] },
  ],
  ['opencode', 'may do everything where nothing is said', {}, { mode: 'all', allow: [], deny: [] }],
  [
    'opencode',
    'takes each tool’s rule, and the rest as it is by itself',
    {
      '~/.config/opencode/opencode.json': {
        permission: {
          edit: 'ask',
          bash: { '*': 'ask', 'npm test *': 'allow', 'rm *': 'deny' },
          webfetch: 'deny',
        },
      },
    },
    { mode: 'default', allow: ['bash(npm test *)', 'websearch'], deny: ['bash(rm *)', 'webfetch'] },
  ],
  [
    'opencode',
    'keeps back some commands of those that are allowed',
    {
      '~/.config/opencode/opencode.json': {
        permission: { '*': 'allow', bash: { '*': 'allow', 'git push *': 'ask' } },
      },
    },
    { mode: 'default', allow: ['edit', 'bash', 'webfetch', 'websearch'], deny: ['bash(git push *)'] },
  ],
  [
    'opencode',
    'goes by no rule that stands before one for every call, and keeps what may not be read',
    {
      '~/.config/opencode/opencode.json': {
        permission: { bash: { 'rm *': 'allow', '*': 'ask' }, read: { '*': 'allow', '*.env': 'ask' } },
      },
    },
    { mode: 'default', allow: ['edit', 'webfetch', 'websearch'], deny: ['read(*.env)'] },
  ],
  [
    'opencode',
    'takes the rules of the agent that it would use before the general ones, in whatever form',
    {
      '~/.config/opencode/opencode.json': {
        permission: 'allow',
        default_agent: 'careful',
        agent: { careful: { tools: { write: false }, permission: { bash: 'ask' } } },
      },
    },
    { mode: 'default', allow: ['webfetch', 'websearch'], deny: ['edit'] },
  ],
  [
    'opencode',
    'asks about everything',
    { '~/.config/opencode/opencode.json': { permission: 'ask' } },
    { mode: 'default', allow: [], deny: [] },
  ],
];

describe('what a client may do by its configuration', () => {
  for (const [client, title, files, expected] of rows)
    test(`${client}: ${title}`, () => expect(permissionsOf(client, files)).toEqual(expected));
  test('is refused where the configuration cannot be read', () => {
    expect(() => permissionsOf('claude', { '~/.claude/settings.json': '{"permissions": ' })).toThrow(
      RouteRefusal,
    );
  });
});
