import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import type { HookEvent } from '../../src/hooks/event.ts';
import { HOOKS, parseHookEvent } from '../../src/hooks/hooks.ts';
import { hookPayload } from '../support/arbitrary-payload.ts';
import { type Payload, PROJECT, payload, SESSION } from '../support/payloads.ts';

const FOLDER = '/home/dev/.claude/projects/-home-dev-app';
const COMMON = {
  sessionId: SESSION,
  cwd: PROJECT,
  transcriptPath: `${FOLDER}/${SESSION}.jsonl`,
  agentId: null,
  agentType: null,
};
const AGENT_TRANSCRIPT = `${FOLDER}/${SESSION}/subagents/agent-a93c15b5ec73dbd1e.jsonl`;
const IN_AGENT = { ...COMMON, agentId: 'a93c15b5ec73dbd1e', agentType: 'general-purpose' };

describe('parseHookEvent()', () => {
  const rows: [name: string, event: HookEvent][] = [
    ['session-start', { ...COMMON, name: 'SessionStart', source: 'startup' }],
    ['session-start-resume', { ...COMMON, name: 'SessionStart', source: 'resume' }],
    ['user-prompt-submit', { ...COMMON, name: 'UserPromptSubmit', prompt: 'MAINTASK please' }],
    [
      'pre-tool-use-bash',
      {
        ...COMMON,
        name: 'PreToolUse',
        tool: 'Bash',
        input: { command: 'cat /nonexistent-file', description: 'fail' },
        toolUseId: 'toolu_b1',
        remark: null,
      },
    ],
    [
      'post-tool-use-failure-in-sub-agent',
      {
        ...IN_AGENT,
        name: 'PostToolUseFailure',
        tool: 'Bash',
        input: { command: 'echo from-sub; exit 3', description: 'fail in sub' },
        toolUseId: 'toolu_sub6',
        remark: null,
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
      {
        ...COMMON,
        agentId: 'a7a5fc8',
        name: 'SubagentStop',
        agentTranscriptPath: AGENT_TRANSCRIPT,
      },
    ],
    ['stop', { ...COMMON, name: 'Stop' }],
    ['session-end', { ...COMMON, name: 'SessionEnd', reason: 'other' }],
  ];
  for (const [name, event] of rows) {
    test(`reads ${name}`, () => expect(parseHookEvent(payload(name))).toEqual(event));
  }

  test('reads every recorded payload', () => {
    const names = readdirSync(`${import.meta.dir}/../fixtures/hook-payloads`).map((file) =>
      file.replace('.json', ''),
    );
    expect(names.length).toBeGreaterThan(15);
    for (const name of names) expect(parseHookEvent(payload(name)), name).toBeDefined();
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
  for (const [what, value] of nothing) {
    test(`returns undefined for ${what}`, () => expect(parseHookEvent(value)).toBeUndefined());
  }

  test('does without what it can do without', () => {
    const event = {
      sessionId: 'unknown',
      cwd: undefined,
      transcriptPath: undefined,
      agentId: null,
      agentType: null,
    };
    expect(parseHookEvent({ hook_event_name: 'SubagentStart' })).toEqual({ ...event, name: 'SubagentStart' });
    const wrong = {
      session_id: 1,
      cwd: [],
      agent_id: {},
      agent_type: 5,
      hook_event_name: 'SessionEnd',
      reason: 0,
    };
    expect(parseHookEvent(wrong)).toEqual({ ...event, name: 'SessionEnd', reason: 'unknown' });
    const call = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: 'text' };
    expect(parseHookEvent(call)).toEqual({
      ...event,
      name: 'PreToolUse',
      tool: 'Bash',
      input: {},
      toolUseId: null,
      remark: null,
    });
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

  test('returns what the agent said before a call', () => {
    expect(parseHookEvent(payload('pre-tool-use-bash', { remark: 'I try' }))).toMatchObject({
      remark: 'I try',
    });
    expect(parseHookEvent(payload('pre-tool-use-bash', { remark: 7 }))).toMatchObject({ remark: null });
  });

  test('bounds what is stored with every event', () => {
    const long = 'n '.repeat(50_000);
    const fields = { session_id: long, agent_id: long, agent_type: long, tool_name: long, tool_use_id: long };
    const event = parseHookEvent(payload('pre-tool-use-bash', { ...fields, tool_input: {} }));
    expect(JSON.stringify(event).length).toBeLessThan(2000);
    const end = parseHookEvent(
      payload('session-end', { session_id: 'a\ud83d\u0000\u001b[1mb', reason: long }),
    );
    expect(end).toMatchObject({ sessionId: 'a\ufffdb', reason: 'n '.repeat(128) });
    for (const cwd of ['/a\u0000b', `/${long}`, '/lone\ud83d']) {
      expect(parseHookEvent(payload('session-end', { cwd }))?.cwd, cwd.slice(0, 20)).toBeUndefined();
    }
    const [call] = payload('post-tool-batch').tool_calls as Payload[];
    const batch = parseHookEvent(
      payload('post-tool-batch', { tool_calls: Array.from({ length: 5000 }, () => call) }),
    );
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
