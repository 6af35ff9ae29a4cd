import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { isRecord, type Json } from '../../src/core/guards.ts';
import { requesterKey } from '../../src/runs/model/run.ts';
import { pathExists, readTextFile } from '../../src/system/runtime-bun.ts';
import { BINARY, ROOT } from '../support/binary.ts';
import type { Home } from '../support/home.ts';

export const SERVER = [BINARY, 'mcp'] as const;
/** The stand-in for Claude Code, which behaves as its prompt says, and what it runs on. */
const FAKES = `${ROOT}/test/fixtures/bin:${ROOT}/node_modules/.bin`;

export type Env = Record<string, string>;

export type Told = {
  readonly value: Json;
  /** What came with the answer. */
  readonly news: string | undefined;
  readonly isError: boolean;
  readonly raw: CallToolResult;
};

/** A client of the official SDK with our server behind it, a process of its own. */
export type Connected = AsyncDisposable & {
  readonly client: Client;
  readonly pid: number;
  readonly call: (name: string, args?: Json) => Promise<Told>;
  readonly close: () => Promise<void>;
};

/** Where the user of the tests works; a project like any other. */
export function projectIn(home: Home): string {
  home.put('project/README.md', '');
  return `${home.path}/project`;
}

/** Whose runs a server in this directory sees. */
export function keyOf(directory: string): string {
  return requesterKey(directory, { readTextFile, pathExists });
}

export function environmentOf(home: Home, changes: Env = {}): Env {
  return { HOME: home.path, PATH: `${FAKES}:/usr/local/bin:/usr/bin:/bin`, LANG: 'C.UTF-8', ...changes };
}

export type ConnectOptions = {
  readonly env?: Env;
  /** As the client calls itself. */
  readonly name?: string;
  readonly command?: readonly string[];
  readonly cwd?: string;
};

export async function connect(home: Home, options: ConnectOptions = {}): Promise<Connected> {
  const { env = {}, name = 'claude-code', command = SERVER, cwd = projectIn(home) } = options;
  const [file = '', ...args] = command;
  const transport = new StdioClientTransport({
    command: file,
    args,
    env: environmentOf(home, env),
    cwd,
    stderr: 'inherit',
  });
  const client = new Client({ name, version: '1' });
  await client.connect(transport);
  const pid = transport.pid ?? 0;
  const close = () => client.close();
  return {
    client,
    pid,
    call: async (tool, args = {}) => {
      const raw = (await client.callTool({ name: tool, arguments: args })) as CallToolResult;
      const [first, second, ...others] = raw.content.map((one) => (one.type === 'text' ? one.text : ''));
      if (others.length > 0) throw new Error(`There are more than two texts: ${JSON.stringify(raw)}`);
      const value: unknown = JSON.parse(first ?? '');
      if (!isRecord(value)) throw new Error(`The first text is no object: ${first}`);
      return { value, news: second, isError: raw.isError === true, raw };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
