import { join } from 'node:path';
import type { Environment } from '../../src/core/state-paths.ts';
import type { ClientName } from '../support/clients.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { ACCOUNT } from './one-shot-model.ts';
import { inPlace, touch } from './runs-dialects.ts';

/** Where a test's user lives and what is reached from there. */
export type Place = {
  readonly home: string;
  /** Whatever must not happen leaves a file here that is named after it. */
  readonly marks: string;
  readonly modelUrl: string;
  readonly authority: string;
};

/** A user who has set up one client in the usual ways, all of which must not touch a one-shot question. */
export type User = {
  readonly model: string;
  /** Below the home. */
  readonly files: (place: Place) => Readonly<Record<string, string>>;
  readonly env: (place: Place) => Environment;
  /** How a prompt begins that the client would take for a command, its own or the user's. */
  readonly slash: string;
  /** The plainest way to ask, without anything of the adapter's. */
  readonly plainArgs: readonly string[];
  /** What that way sets off. */
  readonly plainMarks: readonly string[];
  /** Whether the user's own instruction file is read even so: there is no switch for it. */
  readonly isMemoryRead: boolean;
  /** What the adapter's way offers the model, by model; anything else must not be. */
  readonly tools: Readonly<Record<string, readonly string[]>>;
  /** Calls of tools that the client has, whether offered or not, besides those that sub-agents make. */
  readonly moreCalls?: (place: Place, secret: string) => readonly ToolCall[];
};

export const MEMORY = 'the-memory-of-the-user';

/** The same command for each event, in the form that three of the clients share. */
function hooks(place: Place, events: readonly string[]): object {
  const hook = (event: string) => ({ type: 'command', command: touch(place.marks, `hook-${event}`) });
  return Object.fromEntries(events.map((event) => [event, [{ hooks: [hook(event)] }]]));
}

const hookMarks = (events: readonly string[]) => events.map((event) => `hook-${event}`);

/** A server that shows that it was started, and is none. */
const server = ({ marks }: Place) => ({ command: 'touch', args: [join(marks, 'mcp')] });

const CLAUDE_EVENTS = ['SessionStart', 'UserPromptSubmit', 'Stop', 'SessionEnd'];
const GEMINI_EVENTS = [
  'SessionStart',
  'BeforeAgent',
  'BeforeModel',
  'AfterModel',
  'AfterAgent',
  'SessionEnd',
];

const CLAUDE: User = {
  model: 'haiku',
  files: (place) => ({
    '.claude/settings.json': JSON.stringify({ hooks: hooks(place, CLAUDE_EVENTS) }),
    '.claude/CLAUDE.md': MEMORY,
    '.claude/commands/deploy.md': 'the command of the user',
    '.claude.json': JSON.stringify({ mcpServers: { probe: server(place) } }),
  }),
  env: ({ modelUrl }) => ({ ANTHROPIC_BASE_URL: modelUrl, ANTHROPIC_API_KEY: 'dummy', CLAUDECODE: '1' }),
  slash: '/help',
  plainArgs: ['-p', '--output-format', 'json'],
  plainMarks: [...hookMarks(CLAUDE_EVENTS), 'mcp'],
  isMemoryRead: false,
  tools: { haiku: [] },
};

const CODEX: User = {
  model: 'gpt-5.5',
  files: (place) => ({
    '.codex/auth.json': JSON.stringify({ OPENAI_API_KEY: 'dummy', tokens: null, last_refresh: null }),
    '.codex/hooks.json': JSON.stringify({ hooks: hooks(place, CLAUDE_EVENTS) }),
    '.codex/AGENTS.md': MEMORY,
    '.codex/skills/mine/SKILL.md': `---\nname: mine\ndescription: ${MEMORY} of skills\n---\n`,
    '.codex/config.toml': [
      `notify = ["touch", "${join(place.marks, 'notify')}"]`,
      '[features]\nplugins = false\nunbounded_connection_retries = false',
      '[analytics]\nenabled = false',
      `[mcp_servers.probe]\ncommand = "touch"\nargs = ["${join(place.marks, 'mcp')}"]`,
      `[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "${touch(place.marks, 'hook-in-toml')}"`,
    ].join('\n'),
  }),
  env: ({ authority }) => ({ CODEX_CA_CERTIFICATE: authority }),
  slash: '/deploy',
  plainArgs: ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-hook-trust', '-'],
  plainMarks: [...hookMarks(CLAUDE_EVENTS), 'hook-in-toml', 'mcp', 'notify'],
  isMemoryRead: true,
  tools: { 'gpt-5.5': ['apply_patch'], 'gpt-6.1-sol': ['exec', 'wait'], 'some-other-model': [] },
  moreCalls: ({ marks }, secret) => {
    const cmd = JSON.stringify(`cat '${secret}'; ${touch(marks, 'tool')}`);
    const patch = JSON.stringify(`*** Begin Patch\n*** Add File: ${join(marks, 'tool')}\n+x\n*** End Patch`);
    return [
      { name: 'shell', input: { command: ['sh', '-c', touch(marks, 'tool')] } },
      { name: 'view_image', input: { path: secret } },
      { name: 'exec', input: 'text("ran " + 6 * 7);' },
      { name: 'exec', input: `text(JSON.stringify(await tools.exec_command({ cmd: ${cmd} })));` },
      { name: 'exec', input: `await tools.apply_patch(${patch});` },
    ];
  },
};

const GEMINI: User = {
  model: 'gemini-2.5-flash',
  files: (place) => ({
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      hooks: hooks(place, GEMINI_EVENTS),
      mcpServers: { probe: server(place) },
      mcp: { allowed: ['probe'] },
      tools: {
        ...{ core: ['run_shell_command', 'read_file'], allowed: ['run_shell_command'] },
        discoveryCommand: `sh -c "${touch(place.marks, 'discovery')}; echo []"`,
      },
      context: { includeDirectories: [place.home] },
      general: { defaultApprovalMode: 'auto_edit' },
    }),
    '.gemini/GEMINI.md': MEMORY,
    '.gemini/commands/deploy.toml': 'prompt = "the command of the user"',
  }),
  env: ({ modelUrl }) => ({
    ...{ GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: modelUrl, GEMINI_SANDBOX: 'docker' },
    NODE_OPTIONS: '--require=/nonexistent/module',
  }),
  slash: '/deploy',
  plainArgs: ['--skip-trust', '--output-format', 'json', '--model', 'gemini-2.5-flash'],
  plainMarks: [...hookMarks(GEMINI_EVENTS), 'discovery', 'mcp'],
  isMemoryRead: true,
  tools: { 'gemini-2.5-flash': [] },
};

function plugin({ marks }: Place, mark: string): string {
  const write = `writeFileSync('${join(marks, mark)}', '')`;
  return `import { writeFileSync } from 'node:fs';\nexport const Mark = async () => void ${write} ?? {};\n`;
}

const OPENCODE: User = {
  model: 'scripted/some-model',
  files: (place) => {
    const mcp = (mark: string) => ({ probe: { type: 'local', command: ['touch', join(place.marks, mark)] } });
    return {
      ...inPlace('.config/opencode'),
      ...inPlace('.opencode'),
      '.config/opencode/opencode.json': JSON.stringify({ mcp: mcp('mcp'), permission: { bash: 'allow' } }),
      '.opencode/opencode.json': JSON.stringify({ mcp: { second: mcp('mcp-in-home').probe } }),
      '.config/opencode/plugin/mark.js': plugin(place, 'plugin'),
      'plugin.js': plugin(place, 'plugin-of-provider'),
      '.config/opencode/AGENTS.md': MEMORY,
      '.config/opencode/command/deploy.md': 'the command of the user',
      '.local/share/opencode/auth.json': JSON.stringify({ openai: { type: 'api', key: 'dummy' } }),
      'provider.json': JSON.stringify({
        $schema: 'https://opencode.ai/config.json', // Otherwise the client writes it into the file.
        plugin: [`file://${join(place.home, 'plugin.js')}`],
        provider: {
          scripted: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${place.modelUrl}/v1`, apiKey: 'dummy' },
            models: { 'some-model': { tool_call: true, limit: { context: 400_000, output: 8192 } } },
          },
        },
      }),
    };
  },
  env: ({ home, authority }) => ({
    OPENCODE_CONFIG: join(home, 'provider.json'),
    OPENCODE_PERMISSION: JSON.stringify({ '*': 'allow' }),
    NODE_EXTRA_CA_CERTS: authority,
  }),
  slash: '/deploy',
  plainArgs: ['run', '--format', 'json', '--model', 'scripted/some-model'],
  plainMarks: ['plugin', 'plugin-of-provider', 'mcp', 'mcp-in-home'],
  isMemoryRead: false,
  tools: { 'scripted/some-model': [] },
};

export const USERS: Readonly<Record<ClientName, User>> = {
  ...{ claude: CLAUDE, codex: CODEX, gemini: GEMINI, opencode: OPENCODE },
};

/** Codex' login of a subscriber: tokens that the scripted services accept without a look. */
export function subscriberLogin(now: Date): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    email: 'user@example.com',
    exp: Math.floor(now.getTime() / 1000) + 86_400,
    'https://api.openai.com/auth': { chatgpt_plan_type: 'plus', chatgpt_account_id: ACCOUNT },
  };
  const token = `${encode({ alg: 'none' })}.${encode(claims)}.none`;
  return JSON.stringify({
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: { id_token: token, access_token: token, refresh_token: 'dummy', account_id: ACCOUNT },
    last_refresh: now.toISOString(),
  });
}
