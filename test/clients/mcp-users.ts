import type { Json } from '../../src/core/guards.ts';
import type { ClientName } from '../support/clients.ts';
import type { ToolCall } from './one-shot-dialects.ts';

/** How a plain user of each client has it, and how its model calls a tool of our server. */

export type Usage = {
  /** What the user has set up besides; nothing that would be in the way. */
  readonly files: Readonly<Record<string, string>>;
  /** Not in the environment of a plain user. */
  readonly without: readonly string[];
  readonly args: readonly string[];
  /** Who approves of everything: our tools, and commands. */
  readonly approving: readonly string[];
  /** As the client calls itself when it connects. */
  readonly connectsAs: string;
  readonly call: (tool: string, input: Json) => ToolCall;
  /** How a tool is called in a request, whether it is offered or only named. */
  readonly nameOf: (tool: string) => string;
};

const GEMINI_ARGS = '--skip-trust --output-format json --model gemini-2.5-flash --approval-mode yolo'.split(
  ' ',
);
const OPENCODE_ARGS = ['run', '--format', 'json', '--model', 'scripted/some-model'];

export const USAGE: Readonly<Record<ClientName, Usage>> = {
  claude: {
    files: { '.claude/settings.json': '{}\n', '.claude.json': '{}' },
    without: [],
    args: ['-p', '--output-format', 'json', '--allowedTools', 'mcp__self-generation'],
    approving: ['-p', '--output-format', 'json', '--allowedTools', 'mcp__self-generation,Bash'],
    connectsAs: 'claude-code',
    call: (tool, input) => ({ name: `mcp__self-generation__${tool}`, input }),
    nameOf: (tool) => `mcp__self-generation__${tool}`,
  },
  codex: {
    files: {
      '.codex/config.toml':
        '# mine\n[features]\nplugins = false\nunbounded_connection_retries = false\n[analytics]\nenabled = false\n',
      '.codex/hooks.json': '{}',
    },
    without: [],
    // Only looks are called: with those, no approval is asked for.
    args: ['exec', '--json', '--skip-git-repo-check', '--model', 'some-other-model', '-'],
    approving: [
      ...['exec', '--json', '--skip-git-repo-check', '--model', 'some-other-model'],
      ...['--dangerously-bypass-approvals-and-sandbox', '-'],
    ],
    connectsAs: 'codex-mcp-client',
    call: (tool, input) => ({ name: tool, namespace: 'mcp__self_generation', input }),
    nameOf: (tool) => tool,
  },
  gemini: {
    files: {
      '.gemini/settings.json':
        '{\n  // mine\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n',
    },
    without: ['NODE_OPTIONS', 'GEMINI_SANDBOX'],
    args: GEMINI_ARGS,
    approving: GEMINI_ARGS,
    connectsAs: 'gemini-cli-mcp-client',
    call: (tool, input) => ({ name: `mcp_self-generation_${tool}`, input }),
    nameOf: (tool) => `mcp_self-generation_${tool}`,
  },
  opencode: {
    files: {
      '.config/opencode/opencode.json': '{\n  "$schema": "https://opencode.ai/config.json", // mine\n}\n',
      '.opencode/opencode.json': '{ "$schema": "https://opencode.ai/config.json" }\n',
    },
    without: ['OPENCODE_PERMISSION'],
    args: OPENCODE_ARGS,
    approving: OPENCODE_ARGS,
    connectsAs: 'opencode',
    call: (tool, input) => ({ name: `self-generation_${tool}`, input }),
    nameOf: (tool) => `self-generation_${tool}`,
  },
};
