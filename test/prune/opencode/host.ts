import type { Json } from '../../../src/core/guards.ts';
import type { HostInput, HostMessage } from '../../../src/prune/opencode/host.ts';

/** OpenCode as a plugin sees it: its messages, and a client that answers what a test wants. */

export type Answers = {
  readonly get?: (id: string) => Promise<{ data?: unknown; error?: unknown }>;
  readonly messages?: (id: string) => Promise<{ data?: unknown; error?: unknown }>;
  readonly toast?: (message: string) => unknown;
};

/** A host whose sessions are all main ones, unless the answers say otherwise. */
export function hostOf({ get, messages, toast }: Answers = {}, directory = '/home/dev/app'): HostInput {
  return {
    directory,
    client: {
      session: {
        get: ({ path }) => get?.(path.id) ?? Promise.resolve({ data: { id: path.id, title: 'work' } }),
        messages: ({ path }) => messages?.(path.id) ?? Promise.resolve({ error: 'none' }),
      },
      tui: { showToast: ({ body }) => toast?.(body.message) },
    },
  };
}

/** Soon enough for a provider to have the beginning of a request cached. */
export const NOW_MS = Date.now();

let made = 0;

/** What the user said. */
export function prompt(sessionID: string, text: string, agent = 'build'): HostMessage {
  const id = `msg_${++made}`;
  return {
    info: { id, sessionID, role: 'user', agent, time: { created: NOW_MS } },
    parts: [{ id: `prt_${made}`, type: 'text', text }],
  };
}

/** An answer of the model with these parts. */
export function answer(sessionID: string, parts: readonly Json[], info: Json = {}): HostMessage {
  const id = `msg_${++made}`;
  return {
    info: { id, sessionID, role: 'assistant', time: { created: NOW_MS }, ...info },
    parts: [...parts],
  };
}

/** A call that has ended well; its part is named after it. */
export function call(callID: string, tool: string, input: Json, output: string): Json {
  const state = { status: 'completed', input, output, metadata: {}, time: { start: 1, end: 2 } };
  return { id: `prt_${callID}`, type: 'tool', tool, callID, state };
}

/** A call that has failed. */
export function failedCall(callID: string, tool: string, input: Json, error: string): Json {
  const state = { status: 'error', input, error, time: { start: 1, end: 2 } };
  return { id: `prt_${callID}`, type: 'tool', tool, callID, state };
}

/** The result of a reading as OpenCode words it. */
export function fileText(path: string, lines = 40): string {
  const text = Array.from({ length: lines }, (_, at) => `${at + 1}: the line ${at + 1} of the file`).join(
    '\n',
  );
  return `<path>${path}</path>\n<type>file</type>\n<content>\n${text}\n\n(End of file - total ${lines} lines)\n</content>`;
}

/** A conversation in which the same file is read twice. */
export function readTwice(sessionID: string, agent = 'build'): HostMessage[] {
  const read = (id: string) =>
    answer(sessionID, [call(id, 'read', { filePath: '/home/dev/app/a.txt' }, fileText('a.txt'))]);
  return [prompt(sessionID, 'look', agent), read('call_1'), read('call_2')];
}
