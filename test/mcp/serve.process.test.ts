import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import type { Json } from '../../src/core/guards.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { type Env, environmentOf, projectIn, SERVER } from './mcp-client.ts';

/** Each test starts processes, and the machine may be busy. */
setDefaultTimeout(60_000);

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'opencode', version: '1' } },
};
const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** The server with these lines on its standard input, which then ends. */
async function served(home: Home, lines: readonly (object | string)[], env: Env = {}) {
  const child = Bun.spawn([...SERVER], {
    cwd: projectIn(home),
    env: environmentOf(home, env),
    stdin: new Blob([
      lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
    ]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const answers = stdout.split('\n').filter((line) => line !== '');
  return { answers: answers.map((line) => JSON.parse(line) as Record<string, unknown>), stderr, code };
}

describe('serveMcp()', () => {
  test('answers what was asked before its input ended, and then ends', async () => {
    using home = temporaryHome();
    const { answers, stderr, code } = await served(home, [
      INITIALIZE,
      call(2, 'agents_list'),
      call(3, 'subagents'),
    ]);
    expect(answers.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(answers[0]).toMatchObject({
      result: { serverInfo: { name: 'self-generation' }, capabilities: { tools: {} } },
    });
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  });

  test('answers a line of any size, and what is no JSON, with an error, and goes on', async () => {
    using home = temporaryHome();
    const huge = (bytes: number) => ({
      ...call(0, 'sessions_spawn', { task: 'x'.repeat(bytes) }),
      id: 'long',
    });
    const { answers, code } = await served(home, [
      INITIALIZE,
      huge(9 * 1024 * 1024),
      JSON.stringify({ id: 7, method: 'tools/call', params: { a: ['y'.repeat(30 * 1024 * 1024)] } }),
      'z'.repeat(12 * 1024 * 1024),
      '{"jsonrpc": "2.0", "id": 9, ',
      huge(2 * 1024 * 1024),
      call(10, 'agents_list'),
      { id: 11, method: 'tools/call' },
      '{"jsonrpc": "2.0", "id": 12',
    ]);
    const found = answers.map(({ id, error, result }) => [
      id,
      (error as Json)?.code,
      (result as Json)?.isError,
    ]);
    expect(found.toSorted()).toEqual(
      [
        [1, undefined, undefined],
        ['long', -32600, undefined],
        [7, -32600, undefined],
        [null, -32600, undefined],
        [null, -32700, undefined],
        ['long', undefined, true], // Its task is too long, which the tool says.
        [10, undefined, undefined],
        [11, -32600, undefined],
        [null, -32700, undefined],
      ].toSorted(),
    );
    expect(code).toBe(0);
  });

  test('ends in the middle of a wait, and what is waited for goes on', async () => {
    using home = temporaryHome();
    const spawned = call(2, 'sessions_spawn', { task: '[[hang]]', client: 'claude' });
    const wait = call(3, 'subagents', { action: 'wait', timeoutSeconds: 600 });
    const { answers, code } = await served(home, [INITIALIZE, spawned, wait]);
    expect(answers.map(({ id }) => id)).toContain(2);
    expect(code).toBe(0);
    const stopped = await served(home, [
      INITIALIZE,
      call(2, 'subagents', { action: 'stop', target: 'project' }),
    ]);
    // What the run has to tell may come with it, if it was stopped before it had begun.
    const result = stopped.answers[1]?.result as { content: { text: string }[] };
    expect(JSON.parse(result.content[0]?.text ?? '')).toMatchObject({ stopped: [{ number: 1 }] });
  });

  test('writes nothing but the protocol to standard output, whatever comes in', async () => {
    using home = temporaryHome();
    const { answers, stderr, code } = await served(home, [
      'no json',
      '{}',
      '[]',
      INITIALIZE,
      '\u2028',
      call(2, 'agents_list'),
    ]);
    expect(answers.filter(({ result }) => result !== undefined).map(({ id }) => id)).toEqual([1, 2]);
    expect(answers.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(stderr).toContain('error: Cannot understand the client');
    expect(code).toBe(0);
  });

  test('a request that it does not know is answered with an error, as Claude Code expects before it connects', async () => {
    using home = temporaryHome();
    const probe = { jsonrpc: '2.0', id: 'server-discover-probe-1', method: 'server/discover', params: {} };
    const { answers } = await served(home, [probe, INITIALIZE]);
    expect(answers).toMatchObject([
      { id: probe.id, error: { code: -32601 } },
      { id: 1, result: {} },
    ]);
  });

  test('makes nothing on the disk as long as nothing is started', async () => {
    using home = temporaryHome();
    await served(home, [INITIALIZE, call(2, 'sessions_list'), call(3, 'subagents'), call(4, 'agents_list')]);
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('says what is missing without a home directory', async () => {
    using home = temporaryHome();
    const { answers, stderr, code } = await served(home, [INITIALIZE], { HOME: 'relative' });
    expect({ answers, code }).toEqual({ answers: [], code: 1 });
    expect(stderr).toBe(
      'error: Cannot serve MCP: HOME is not set to an absolute path; set it and run again\n',
    );
  });
});
