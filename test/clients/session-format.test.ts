import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientNamed } from '../../src/clients/clients.ts';
import { opencodeSessions } from '../../src/clients/opencode/session-store.ts';
import type { CallChange } from '../../src/clients/session-format.ts';
import type { SessionStep } from '../../src/core/conversation.ts';
import type { Json } from '../../src/core/guards.ts';
import { putSessions, RECORDED, sessionsOf } from '../support/client-sessions.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { temporaryHome } from '../support/home.ts';

/** Records of sessions that the real clients wrote, each session by itself. */
function recorded(name: ClientName): Json[][] {
  if (name === 'opencode') return exports().map(({ info, messages }) => [info, ...messages]);
  const files = readdirSync(join(RECORDED, name), { recursive: true }).map(String);
  return files
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) =>
      readFileSync(join(RECORDED, name, file), 'utf8')
        .trimEnd()
        .split('\n'),
    )
    .map((lines) => lines.map((line) => JSON.parse(line)));
}

function exports() {
  using home = temporaryHome();
  putSessions(home.path, 'opencode', home.path);
  const all = opencodeSessions.all?.({ HOME: home.path }) ?? [];
  return all.map((session) => {
    const { info, messages } = opencodeSessions.format.exported?.(session) ?? { info: {}, messages: [] };
    return { info, messages: [...messages] };
  });
}

const AS_IT_IS: CallChange = { input: (_id, input) => input, output: (_id, text) => text };
const EMPTIED: CallChange = { input: () => ({}), output: (id) => `nothing of ${id}` };

describe.each([...CLIENT_NAMES])('the records of %s', (name) => {
  const { format } = clientNamed(name).sessions;
  const sessions = recorded(name);
  const stepsOf = (records: readonly Json[]): SessionStep[] => {
    const reader = format.reader();
    return records.flatMap((record) => reader.read(record));
  };

  test('say whose they are, and no other client takes them for its own', () => {
    expect(sessions.length).toBeGreaterThan(1);
    for (const records of sessions) {
      for (const other of CLIENT_NAMES) {
        const heads = records.flatMap((record) => clientNamed(other).sessions.format.headIn(record) ?? []);
        expect([other, heads.length > 0]).toEqual([other, other === name]);
      }
    }
  });

  test('say which sessions are those of sub-agents', () => {
    const heads = sessions.map((records) => records.map(format.headIn).find((head) => head !== undefined));
    expect(new Set(heads.map((head) => head?.isOfAgent))).toEqual(new Set([true, false]));
    for (const head of heads) if (name !== 'gemini') expect(head?.cwd).toBeString();
  });

  test('are the very same where no call is changed', () => {
    for (const record of sessions.flat()) expect(format.withCalls(record, AS_IT_IS)).toBe(record);
  });

  test('differ, as the client reads them, in what a call was given and what it gave, and in nothing else', () => {
    for (const records of sessions) {
      const changed = records.map((record) => format.withCalls(record, EMPTIED));
      const expected = stepsOf(records).map((step) => {
        if (step.kind === 'call') return { ...step, input: step.input.startsWith('{') ? '{}' : step.input };
        return step.kind === 'result' ? { ...step, text: step.text && `nothing of ${step.id}` } : step;
      });
      expect(stepsOf(changed).map(withoutEnd)).toEqual(expected.map(withoutEnd));
    }
  });
});

/** How a command ended stands in its text with some clients. */
function withoutEnd(step: SessionStep) {
  return step.kind === 'result' ? { ...step, isError: null, end: null } : step;
}

test('a session of OpenCode that is read from its database is what its export says', () => {
  using home = temporaryHome();
  putSessions(home.path, 'opencode', home.path);
  const session = sessionsOf('opencode', home.path, home.path).at(-1);
  const exported = session && opencodeSessions.format.exported?.(session);
  if (session === undefined || exported === undefined) throw new Error('There is no session');
  const records = [exported.info, ...exported.messages];
  expect(Object.keys(exported.info)).toEqual([
    ...['id', 'slug', 'projectID', 'directory', 'path', 'title', 'agent', 'model', 'version'],
    ...['summary', 'cost', 'tokens', 'permission', 'time'],
  ]);
  expect(records[1]).toMatchObject({
    info: { role: 'user', sessionID: session.id },
    parts: [{ type: 'text', sessionID: session.id }],
  });
  const reader = opencodeSessions.format.reader();
  const steps = records.flatMap((record) => reader.read(record));
  expect(steps).toEqual([...opencodeSessions.read(session, { HOME: home.path })]);
});

test('what the user has taken back in OpenCode is not read from an export either', () => {
  const message = (id: string) => ({
    info: { id, role: 'user' },
    parts: [{ type: 'text', text: `This is ${id}` }],
  });
  const prompts = (info: Json) => {
    const reader = clientNamed('opencode').sessions.format.reader();
    const steps = [info, message('m1'), message('m2'), message('m3')].flatMap((one) => [...reader.read(one)]);
    return steps.flatMap((step) => (step.kind === 'prompt' ? [step.text] : []));
  };
  expect(prompts({ id: 's', revert: { messageID: 'm2' } })).toEqual(['This is m1']);
  expect(prompts({ id: 's' })).toEqual(['This is m1', 'This is m2', 'This is m3']);
});
