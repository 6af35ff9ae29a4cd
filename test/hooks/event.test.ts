import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import type { HookEvent } from '../../src/hooks/event.ts';
import { HOOKS, parseHookEvent } from '../../src/hooks/hooks.ts';
import { hookPayload } from '../support/arbitrary-payload.ts';
import { type Payload, PROJECT, payload, SESSION } from '../support/payloads.ts';

const FOLDER = '/home/dev/.claude/projects/-home-dev-app';
const TRANSCRIPT = `${FOLDER}/${SESSION}.jsonl`;
const COMMON = {
  sessionId: SESSION,
  cwd: PROJECT,
  transcriptPath: TRANSCRIPT,
  agentId: null,
  agentType: null,
};
const AGENT_TRANSCRIPT = `${FOLDER}/${SESSION}/subagents/agent-a93c15b5ec73dbd1e.jsonl`;
const IN_AGENT = { ...COMMON, agentId: 'a93c15b5ec73dbd1e', agentType: 'general-purpose' };
const BASH = { tool: 'Bash', remark: null };
const CALL = {
  ...BASH,
  input: { command: 'cat /nonexistent-file', description: 'fail' },
  toolUseId: 'toolu_b1',
  chars: 'cat /nonexistent-file'.length + 'fail'.length,
};
const FAILED = {
  ...BASH,
  input: { command: 'echo from-sub; exit 3', description: 'fail in sub' },
  toolUseId: 'toolu_sub6',
  chars: 'echo from-sub; exit 3'.length + 'fail in sub'.length + 'Exit code 3\nfrom-sub'.length,
};

describe('parseHookEvent()', () => {
  const rows: [name: string, event: HookEvent][] = [
    ['session-start', { ...COMMON, name: 'SessionStart', source: 'startup' }],
    ['session-start-resume', { ...COMMON, name: 'SessionStart', source: 'resume' }],
    ['user-prompt-submit', { ...COMMON, name: 'UserPromptSubmit', prompt: 'MAINTASK please' }],
    ['pre-tool-use-bash', { ...COMMON, name: 'PreToolUse', ...CALL }],
    [
      'post-tool-use-failure-in-sub-agent',
      {
        ...IN_AGENT,
        name: 'PostToolUseFailure',
        ...FAILED,
        error: 'Exit code 3\nfrom-sub',
        isInterrupt: false,
      },
    ],
    ['subagent-start', { ...IN_AGENT, name: 'SubagentStart' }],
    ['subagent-stop', { ...IN_AGENT, name: 'SubagentStop', agentTranscriptPath: AGENT_TRANSCRIPT }],
    [
      'subagent-stop-compact',
      { ...IN_AGENT, agentType: '', name: 'SubagentStop', agentTranscriptPath: AGENT_TRANSCRIPT },
    ],
    [
      'subagent-stop-2.0.76',
      { ...COMMON, agentId: 'a7a5fc8', name: 'SubagentStop', agentTranscriptPath: AGENT_TRANSCRIPT },
    ],
    ['stop', { ...COMMON, name: 'Stop' }],
    ['session-end', { ...COMMON, name: 'SessionEnd', reason: 'other' }],
  ];
  test.each(rows)('reads %s', (name, event) => expect(parseHookEvent(payload(name))).toEqual(event));

  test('reads every recorded payload', () => {
    const files = readdirSync(`${import.meta.dir}/../fixtures/hook-payloads`);
    expect(files.length).toBeGreaterThan(15);
    for (const file of files) expect(parseHookEvent(payload(file.replace('.json', ''))), file).toBeDefined();
  });

  test('goes by the registered event before the one in the payload', () => {
    const start = payload('subagent-start', { hook_event_name: 'Nonsense' });
    expect(parseHookEvent(start)).toBeUndefined();
    expect(parseHookEvent(start, 'SubagentStart')?.name).toBe('SubagentStart');
  });

  const nothing: [what: string, value: unknown][] = [
    ['null', null],
    ['an array', [payload('subagent-start')]],
    ['a text', 'SubagentStart'],
    ['an unknown event', payload('subagent-start', { hook_event_name: 'Notification' })],
    ['a name of the prototype', payload('subagent-start', { hook_event_name: 'constructor' })],
    ['no event', payload('subagent-start', { hook_event_name: undefined })],
    ['a prompt that is no text', payload('user-prompt-submit', { prompt: ['hi'] })],
    ['a prompt without prompt', payload('user-prompt-submit', { prompt: undefined })],
    ['a call without tool', payload('pre-tool-use-bash', { tool_name: undefined })],
    ['a call of a tool without name', payload('post-tool-use-bash', { tool_name: '' })],
    ['a call of a tool that is no text', payload('post-tool-use-bash', { tool_name: {} })],
  ];
  test.each(nothing)('returns undefined for %s', (_what, value) =>
    expect(parseHookEvent(value)).toBeUndefined(),
  );

  test('does without what it can do without', () => {
    const nowhere = { cwd: undefined, transcriptPath: undefined };
    const event = { sessionId: 'unknown', ...nowhere, agentId: null, agentType: null };
    expect(parseHookEvent({ hook_event_name: 'SubagentStart' })).toEqual({ ...event, name: 'SubagentStart' });
    const wrong = { session_id: 1, cwd: [], agent_id: {}, agent_type: 5, reason: 0 };
    const end = { ...event, name: 'SessionEnd', reason: 'unknown' } as const;
    expect(parseHookEvent({ ...wrong, hook_event_name: 'SessionEnd' })).toEqual(end);
    const call = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: 'text' };
    const read = { ...event, name: 'PreToolUse', ...BASH, input: {}, toolUseId: null, chars: 4 } as const;
    expect(parseHookEvent(call)).toEqual(read);
  });

  test('takes nothing for a transcript but an absolute path of one', () => {
    for (const path of ['s1.jsonl', '/home/dev/s1.txt', '/a\0.jsonl', 7, null, `/${'a'.repeat(5000)}.jsonl`])
      expect(parseHookEvent(payload('stop', { transcript_path: path }))?.transcriptPath).toBeUndefined();
    const windows = 'C:\\Users\\dev\\s1.jsonl';
    expect(parseHookEvent(payload('stop', { transcript_path: windows }))?.transcriptPath).toBe(windows);
  });

  test('returns what a command printed, on either stream, unless it is too long to be a message', () => {
    const output = (tool_response: unknown) => {
      const event = parseHookEvent(payload('post-tool-use-bash', { tool_response }));
      return event?.name === 'PostToolUse' ? event.output : undefined;
    };
    expect(output({ stdout: 'out', stderr: 'err' })).toBe('out\nerr');
    expect(output({ stdout: '', stderr: 'err' })).toBe('err');
    expect(output({ stdout: 'x'.repeat(2000) })).toHaveLength(2000);
    expect(output({ stdout: 'x'.repeat(2000), stderr: 'y' })).toBe('');
    for (const response of [undefined, 'text', [], { stdout: 7 }]) expect(output(response)).toBe('');
  });

  test('counts the characters of what was asked and answered, and not what the model never sees', () => {
    const charsOf = (besides: Payload) =>
      (parseHookEvent(payload('post-tool-use-bash', besides)) as { chars?: number }).chars;
    const edit = { filePath: '/a', originalFile: 'x'.repeat(9999), structuredPatch: [{ lines: ['+ab'] }] };
    expect(
      charsOf({ tool_input: { command: 'ls', timeout: 7 }, tool_response: { stdout: 'abc', stderr: 'd' } }),
    ).toBe(6);
    expect(charsOf({ tool_input: { oldString: 'ab' }, tool_response: edit })).toBe(4);
    expect(charsOf({ tool_input: 'x', tool_response: [{ text: 'ab' }, 'c'] })).toBe(4);
    expect(charsOf({ chars: 12 })).toBe(12);
  });

  test.each([
    ['I try', 'I try'],
    [7, null],
  ])('of the remark %j before a call keeps %j', (given, remark) =>
    expect(parseHookEvent(payload('pre-tool-use-bash', { remark: given }))).toMatchObject({ remark }),
  );

  test('bounds what is stored with every event', () => {
    const long = 'n '.repeat(50_000);
    const fields = { session_id: long, agent_id: long, agent_type: long, tool_name: long, tool_use_id: long };
    const event = parseHookEvent(payload('pre-tool-use-bash', { ...fields, tool_input: {} }));
    expect(JSON.stringify(event).length).toBeLessThan(2000);
    const odd = { session_id: 'a\ud83d\u0000\u001b[1mb', reason: long };
    expect(parseHookEvent(payload('session-end', odd))).toMatchObject({
      sessionId: 'a\ufffdb',
      reason: 'n '.repeat(128),
    });
    for (const cwd of ['/a\u0000b', `/${long}`, '/lone\ud83d'])
      expect(parseHookEvent(payload('session-end', { cwd }))?.cwd, cwd.slice(0, 20)).toBeUndefined();
    const [call] = payload('post-tool-batch').tool_calls as Payload[];
    const batch = parseHookEvent(payload('post-tool-batch', { tool_calls: Array(5000).fill(call) }));
    expect(batch?.name === 'PostToolBatch' && batch.calls.length).toBe(100);
  });

  test('never throws, whatever the JSON', () => {
    const names: (HookEvent['name'] | undefined)[] = [undefined, ...HOOKS.map((hook) => hook.event)];
    let events = 0;
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), hookPayload()), fc.constantFrom(...names), (value, name) => {
        const event = parseHookEvent(value, name);
        if (event === undefined) return;
        events++;
        expect(typeof event.sessionId).toBe('string');
        if (name !== undefined) expect(event.name).toBe(name);
      }),
      { numRuns: 5000, seed: 5 },
    );
    expect(events).toBeGreaterThan(1000);
  });
});
