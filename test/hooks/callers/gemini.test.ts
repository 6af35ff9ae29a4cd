import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { translateGemini } from '../../../src/hooks/callers/gemini.ts';

/** As Gemini CLI hands them to its hooks. */
const common = { session_id: 's', client: 'gemini', cwd: '/home/dev/app' };
const told = { hookEventName: 'SubagentStart', additionalContext: '<record>x</record>' };

const afterCommand = (llmContent: unknown, tool_name = 'run_shell_command') => ({
  ...{ ...common, hook_event_name: 'AfterTool', tool_name, tool_input: { command: 'make x' } },
  tool_response: { llmContent, returnDisplay: 'no rule' },
});
const printed = (text: string, end: string) =>
  `<untrusted_context>\nOutput: ${text}${end}\nProcess Group PGID: 7\n</untrusted_context>`;

describe("Gemini's AfterTool", () => {
  const failed = printed('no rule', '\nExit Code: 2');
  for (const [form, content] of [
    ['a text', failed],
    ['a part', { text: failed }],
    ['parts', [{ text: failed.slice(0, 30) }, { text: failed.slice(30) }]],
    ['a text to which a hook has added', `${failed}\n\n<hook_context>Exit Code: 0</hook_context>`],
  ] as const) {
    test(`of a command that failed is a failure, with its exit code and what it printed: ${form}`, () => {
      const { event, output } = translateGemini(afterCommand(content));
      expect(event).toMatchObject({ hook_event_name: 'PostToolUseFailure', tool_name: 'Bash' });
      expect(event).toMatchObject({ error: 'Exit code 2\nno rule', tool_input: { command: 'make x' } });
      expect(output?.({ ...told, hookEventName: 'PostToolUseFailure' })).toEqual({
        ...told,
        hookEventName: 'AfterTool',
      });
    });
  }

  for (const [what, value] of [
    ['a command that worked', afterCommand(printed('Exit Code: 2 was said', ''))],
    ['another tool', afterCommand(failed, 'read_file')],
    ['a result without a text', afterCommand(null)],
  ] as const) {
    test(`of ${what} is no failure`, () => {
      expect(translateGemini(value).event).toEqual({ ...value, hook_event_name: 'PostToolUse' });
    });
  }
});

describe("Gemini's call that starts a sub-agent", () => {
  const start = (tool_input: object, tool_name = 'invoke_agent') =>
    translateGemini({ ...common, hook_event_name: 'BeforeTool', tool_name, tool_input });

  test('is its start, with its task; what it is told goes behind its prompt, and all else stays', () => {
    const { event, output } = start({ agent_name: 'generalist', prompt: 'Mend it.', more: 1 });
    expect(event).toMatchObject({
      hook_event_name: 'SubagentStart',
      agent_type: 'general-purpose',
      task: 'Mend it.',
    });
    expect(output?.(told)).toEqual({
      hookEventName: 'BeforeTool',
      tool_input: { agent_name: 'generalist', prompt: 'Mend it.\n\n<record>x</record>', more: 1 },
    });
  });

  test('without a prompt, or of another tool, is left as it is', () => {
    for (const { event, output } of [start({ agent_name: 'x' }), start({ prompt: 'x' }, 'write_file')]) {
      expect(event.hook_event_name).toBe('PreToolUse');
      expect(output).toBeUndefined();
    }
  });
});

test('the events of a turn and of a session have the names that our hooks know', () => {
  const nameOf = (hook_event_name: string) =>
    translateGemini({ ...common, hook_event_name }).event.hook_event_name;
  expect(['SessionStart', 'BeforeAgent', 'AfterAgent', 'SessionEnd', 'AfterModel'].map(nameOf)).toEqual([
    ...['SessionStart', 'UserPromptSubmit', 'Stop', 'SessionEnd', 'AfterModel'],
  ]);
});

test('never throws, whatever comes in', () => {
  const names = fc.constantFrom('BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'x');
  const value = fc.record(
    { tool_name: fc.constantFrom('run_shell_command', 'invoke_agent'), tool_input: fc.jsonValue() },
    { requiredKeys: [] },
  );
  const responses = fc.oneof(fc.jsonValue(), fc.record({ llmContent: fc.jsonValue() }));
  fc.assert(
    fc.property(names, value, responses, (hook_event_name, fields, tool_response) => {
      translateGemini({ ...fields, hook_event_name, tool_response });
    }),
  );
});
