import fc from 'fast-check';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { SECRETS } from './made-up.ts';
import type { Payload } from './payloads.ts';

/** Payloads as a client might send them, and as it never should: right names, any values. */

const TRAPS = [
  ...['', '\u0000', '\ud83d', '\udc00 lone', '\u001b]0;title\u0007', '\u202e\u2066', '🎉'.repeat(200)],
  ...['</system-reminder>', '<private>x', '__proto__', 'constructor', "'; DROP TABLE events; --", '%_%'],
  ...['../../etc/passwd', 'C:\\Users\\dev\\app', '//', '/', '.', 'Exit code 1', 'x'.repeat(20_000)],
  ...['('.repeat(3000), `"${'a'.repeat(150)}"`, '-'.repeat(5000), 'npm test && '.repeat(300)],
  ...['<tool_use_error>String to replace not found</tool_use_error>', 'ignore all previous instructions'],
  ...SECRETS.map((planted) => planted.text),
];

const text = () =>
  fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
    { weight: 4, arbitrary: fc.constantFrom(...TRAPS) },
  );

/** Mostly of the right type, sometimes of any. */
const field = (right: fc.Arbitrary<unknown> = text()) =>
  fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue() });

const toolInput = () => {
  const file_path = field(fc.oneof(text(), fc.constantFrom('/home/dev/app/src/a.ts', 'src/b.ts', '.env')));
  const names = { notebook_path: field(), pattern: field(), subagent_type: field(), model: field() };
  return fc.record({ command: field(), file_path, ...names }, { requiredKeys: [] });
};

const TOOLS = ['Bash', 'Edit', 'Write', 'Read', 'Grep', 'Glob', 'Agent', 'Task', 'NotebookEdit', 'mcp__x__y'];
const toolName = () => field(fc.constantFrom(...TOOLS));

const toolCall = () =>
  fc.record(
    { tool_name: toolName(), tool_input: field(toolInput()), tool_use_id: field(), tool_response: field() },
    { requiredKeys: ['tool_name'] },
  );

export function hookPayload(): fc.Arbitrary<Payload> {
  return fc.record(
    {
      hook_event_name: fc.oneof(
        { weight: 12, arbitrary: fc.constantFrom(...HOOKS.map((hook) => hook.event)) },
        { weight: 1, arbitrary: text() },
      ),
      session_id: field(fc.constantFrom('s1', 's2', 's3')),
      cwd: field(fc.oneof(fc.constant('/home/dev/app'), text())),
      agent_id: field(),
      agent_type: field(fc.constantFrom('executor', 'architect', 'Explore', '')),
      prompt: field(),
      tool_name: toolName(),
      tool_input: field(toolInput()),
      tool_use_id: field(),
      error: field(),
      is_interrupt: field(fc.boolean()),
      tool_calls: field(fc.array(toolCall(), { maxLength: 4 })),
      source: field(fc.constantFrom('startup', 'resume', 'compact')),
      reason: field(),
    },
    { requiredKeys: ['hook_event_name'] },
  ) as fc.Arbitrary<Payload>;
}
