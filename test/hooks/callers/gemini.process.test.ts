import { expect, test } from 'bun:test';
import { asRecord, readRecord } from '../../../src/core/guards.ts';
import { contextOf, runProgram } from '../../support/hook-process.ts';
import { agentStart, type Payload, PROJECT } from '../../support/payloads.ts';
import { homePerTest } from '../../support/per-test.ts';
import { BINARY } from '../../support/program.ts';
import { seedErrors, seedFixes } from '../../support/seed.ts';

/** `hook NAME gemini`: what the extension of Gemini CLI has its hooks call. */

const home = homePerTest();
const call = async (hook: string, value: Payload, ...caller: string[]) =>
  runProgram([BINARY, 'hook', hook, ...caller], { home: home.path, stdin: JSON.stringify(value) });
const common = { session_id: '01a20ac2-58a2-7670-98ae-36d7dae1da50', cwd: PROJECT, timestamp: 'x' };
const FIX = { error: 'boom in tests', resolution: 'a fix' };

const starts = (agent_name: string): Payload => ({
  ...{ ...common, hook_event_name: 'BeforeTool', tool_name: 'invoke_agent' },
  tool_input: { agent_name, prompt: 'Mend it.', wait_for_previous: true },
});

test('the prompt of a sub-agent has behind it what one of Claude Code is told', async () => {
  seedErrors(home.paths, [FIX]);
  seedFixes(home.paths, [FIX]);
  home.writeConfig({ subagentContext: { agents: ['general-purpose'] } });
  const told = contextOf(await call('subagent-context', agentStart('executor')));
  const { stdout } = await call('subagent-context', starts('generalist'), 'gemini');
  expect(told).toContain('a fix');
  expect(told?.length).toBeLessThanOrEqual(500);
  expect(readRecord(asRecord(JSON.parse(stdout)), 'hookSpecificOutput')).toEqual({
    hookEventName: 'BeforeTool',
    tool_input: { agent_name: 'generalist', prompt: `Mend it.\n\n${told}`, wait_for_previous: true },
  });
});

test('one that is not told anything keeps its prompt', async () => {
  seedErrors(home.paths, [FIX]);
  seedFixes(home.paths, [FIX]);
  for (const agent of ['codebase_investigator', 'generalist'])
    expect(await call('subagent-context', starts(agent), 'gemini')).toMatchObject({
      exitCode: 0,
      stdout: '',
    });
});

test('a command that failed is answered with what helped, one that worked is not', async () => {
  seedFixes(home.paths, [FIX]);
  const ended = (end: string): Payload => ({
    ...{ ...common, hook_event_name: 'AfterTool', tool_name: 'run_shell_command' },
    tool_input: { command: 'npm test' },
    tool_response: { llmContent: `Output: boom in tests${end}\nProcess Group PGID: 1` },
  });
  const failed = await call('error-logger', ended('\nExit Code: 1'), 'gemini');
  expect(readRecord(asRecord(JSON.parse(failed.stdout)), 'hookSpecificOutput')).toEqual({
    hookEventName: 'AfterTool',
    additionalContext: expect.stringContaining('a fix'),
  });
  expect(await call('error-logger', ended(''), 'gemini')).toMatchObject({ exitCode: 0, stdout: '' });
});
