import { createInterface } from 'node:readline';
import { isRecord, type Json, parseJson, readRecord, readString } from '../../src/core/guards.ts';

/** A server of two tools on stdio, as a client starts one: `echo` gives back a text and the server's own secret. */

const TOOLS = ['echo', 'other'].map((name) => ({
  name,
  description: `The tool ${name}.`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}));

function answer(request: Json): Json | undefined {
  const params = readRecord(request, 'params');
  switch (request.method) {
    case 'initialize':
      return {
        protocolVersion: readString(params, 'protocolVersion') ?? '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'stand-in', version: '1.0.0' },
      };
    case 'tools/list':
      return { tools: TOOLS };
    case 'tools/call': {
      const said = readString(readRecord(params, 'arguments'), 'text') ?? '';
      return { content: [{ type: 'text', text: `${said} ${process.env.STAND_IN_SECRET}` }] };
    }
    case 'ping':
      return {};
    default:
      return undefined;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = parseJson(line);
  if (!isRecord(request) || request.id === undefined) continue;
  const result = answer(request);
  const said = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: request.id, ...said })}\n`);
}
