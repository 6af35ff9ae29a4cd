import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import type { Json } from '../../src/core/guards.ts';
import { homePerTest } from '../support/per-test.ts';
import { type Env, environmentOf, projectIn, SERVER } from './mcp-client.ts';

/** Each test starts processes, and the machine may be busy. */
setDefaultTimeout(60_000);

const home = homePerTest();
const request = (id: number | string, method: string, params: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const CLIENT = { capabilities: {}, clientInfo: { name: 'opencode', version: '1' } };
const INITIALIZE = request(1, 'initialize', { protocolVersion: '2025-06-18', ...CLIENT });
const call = (id: number | string, name: string, args: object = {}) =>
  request(id, 'tools/call', { name, arguments: args });

type Answer = { jsonrpc: string; id: unknown; result?: Json; error?: { code: number } };

/** The server with these lines on its standard input, which then ends. */
async function served(lines: readonly (object | string)[], env: Env = {}) {
  const child = Bun.spawn([...SERVER], {
    cwd: projectIn(home),
    env: environmentOf(home, env),
    stdin: new Blob(lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`)),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const answers = stdout.split('\n').filter((line) => line !== '');
  return { answers: answers.map((line) => JSON.parse(line) as Answer), stderr, code };
}

describe('serveMcp()', () => {
  test('answers what was asked before its input ended, and then ends', async () => {
    const asked = [INITIALIZE, call(2, 'agents_list'), call(3, 'subagents')];
    const { answers, stderr, code } = await served(asked);
    expect(answers.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(answers[0]).toMatchObject({
      result: { serverInfo: { name: 'self-generation' }, capabilities: { tools: {} } },
    });
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  });

  test('answers a line of any size, and what is no JSON, with an error, and goes on', async () => {
    const huge = (bytes: number) => call('long', 'sessions_spawn', { task: 'x'.repeat(bytes) });
    const { answers, code } = await served([
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
    const found = answers.map(({ id, error, result }) => [id, error?.code, result?.isError]);
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
    const spawned = call(2, 'sessions_spawn', { task: '[[hang]]', client: 'claude' });
    const wait = call(3, 'subagents', { action: 'wait', timeoutSeconds: 600 });
    const { answers, code } = await served([INITIALIZE, spawned, wait]);
    expect(answers.map(({ id }) => id)).toContain(2);
    expect(code).toBe(0);
    const stop = call(2, 'subagents', { action: 'stop', target: 'project' });
    const stopped = await served([INITIALIZE, stop]);
    // What the run has to tell may come with it, if it was stopped before it had begun.
    const result = stopped.answers[1]?.result as { content: { text: string }[] };
    expect(JSON.parse(result.content[0]?.text ?? '')).toMatchObject({ stopped: [{ number: 1 }] });
  });

  test('writes nothing but the protocol to standard output, whatever comes in', async () => {
    const lines = ['no json', '{}', '[]', INITIALIZE, '\u2028', call(2, 'agents_list')];
    const { answers, stderr, code } = await served(lines);
    expect(answers.filter(({ result }) => result !== undefined).map(({ id }) => id)).toEqual([1, 2]);
    expect(answers.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(stderr).toContain('error: Cannot understand the client');
    expect(code).toBe(0);
  });

  test('a request that it does not know is answered with an error, as Claude Code expects before it connects', async () => {
    const probe = request('server-discover-probe-1', 'server/discover', {});
    const { answers } = await served([probe, INITIALIZE]);
    expect(answers).toMatchObject([
      { id: probe.id, error: { code: -32601 } },
      { id: 1, result: {} },
    ]);
  });

  test('makes nothing on the disk as long as nothing is started', async () => {
    await served([INITIALIZE, call(2, 'sessions_list'), call(3, 'subagents'), call(4, 'agents_list')]);
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('says what is missing without a home directory', async () => {
    const { answers, stderr, code } = await served([INITIALIZE], { HOME: 'relative' });
    expect({ answers, code }).toEqual({ answers: [], code: 1 });
    const reason = 'HOME is not set to an absolute path; set it and run again';
    expect(stderr).toBe(`error: Cannot serve MCP: ${reason}\n`);
  });
});
