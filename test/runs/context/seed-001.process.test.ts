import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import type { SessionStep } from '../../../src/core/conversation.ts';
import { EXPLORE_PARAMETERS } from '../../../src/mcp/parameters.ts';
import {
  type AgentSetting,
  contextText,
  ExploreAgent,
  PlanAgent,
  resultString,
  SubAgent,
} from '../../../src/runs/context/agents.ts';
import {
  PLAN_SECTIONS,
  planFile,
  planPrompt,
  planSteps,
  readDecision,
} from '../../../src/runs/context/plan.ts';
import { handOver } from '../../../src/runs/model/handover.ts';
import { handoverInEnvironment, resolveHandover } from '../../../src/runs/model/handover-settings.ts';
import { EXPLORE_TOOL } from '../../../src/runs/model/profile.ts';
import type { Run } from '../../../src/runs/model/run.ts';
import { turnFiles } from '../../../src/runs/model/run.ts';
import { isToolAllowed } from '../../../src/runs/model/tool-policy.ts';
import { readRuns } from '../../../src/runs/store/rows.ts';
import { getRun } from '../../../src/runs/store/runs.ts';
import { type RunsHome, runsHome } from '../runs-home.ts';

/** What seed 001 asks for (R1–R24), and the scenarios of its two test programs (R25, R26), each with its number. */

setDefaultTimeout(60_000);

const ENGLISH = { language: 'en', announce: { mode: 'raw' } };
const settingIn = ({ world, requester }: RunsHome, changes: Partial<AgentSetting> = {}): AgentSetting => ({
  ...{ world, requester, request: {}, untilMs: null },
  ...changes,
});
const exploring = (here: RunsHome, changes: Partial<AgentSetting> = {}) =>
  new ExploreAgent('explore', settingIn(here, changes));
const planning = (here: RunsHome, changes: Partial<AgentSetting> = {}) =>
  new PlanAgent('plan_mode', settingIn(here, changes));

function runOf(here: RunsHome, runId: string | undefined): Run {
  const run = readRuns(here.world.paths, (db) => getRun(runId ?? '', db)?.run);
  if (run === undefined) throw new Error('There is no such run');
  return run;
}

/** All that the client was asked, as it was sent; the task alone with `behind`. */
function promptOf(here: RunsHere, runId: string | undefined): string {
  return readFileSync(turnFiles(here.world.paths, runId ?? '', 1).prompt, 'utf8');
}
type RunsHere = Pick<RunsHome, 'world'>;
const taskOf = (here: RunsHere, runId: string | undefined) =>
  promptOf(here, runId).split('[Subagent Task]\n').at(-1);

const PLAN = PLAN_SECTIONS.map((name) =>
  name === 'Implementation Steps'
    ? `## ${name}\n1. Read\n2. Write\n3. Test\n4. Document\n5. Ship`
    : `## ${name}\nwords`,
).join('\n\n');

const talk: SessionStep[] = [
  { kind: 'system', text: 'You are a coding assistant' },
  { kind: 'prompt', text: 'Create FIFO', pictures: [] },
  { kind: 'answer', text: "I'll explore first" },
  { kind: 'prompt', text: 'Make it async', pictures: [] },
  { kind: 'answer', text: 'Let me check' },
];

describe('isolation', () => {
  test('R1: an agent has messages of its own', async () => {
    await using here = runsHome(ENGLISH);
    const [one, other] = [exploring(here), exploring(here)];
    await one.run('find the FIFO [[answer here it is]]');
    expect(one._messages).toEqual([
      { role: 'user', content: 'find the FIFO [[answer here it is]]' },
      { role: 'assistant', content: 'here it is' },
    ]);
    expect(other._messages).toEqual([]);
  });

  test('R2: an agent begins with no message, pending, without a plan and without calls', async () => {
    await using here = runsHome(ENGLISH);
    for (const agent of [exploring(here), planning(here)])
      expect(agent).toMatchObject({ _messages: [], _status: 'pending', _action_plan: null, _tool_calls: [] });
  });

  test('R3: each run begins anew, and sees nothing of the one before', async () => {
    await using here = runsHome(ENGLISH);
    here.home.put('project/a.ts', 'one\ntwo\n');
    const agent = exploring(here);
    const first = await agent.run('[[read a.ts]] [[answer a.ts]]');
    const calls = agent._tool_calls;
    const second = await agent.run('[[answer nothing]]');
    expect(first.toolCalls).toHaveLength(1);
    expect(agent._tool_calls).toEqual([]);
    expect(second.toolCalls).toEqual([]);
    expect(calls).toHaveLength(1);
    expect(first.toolCalls).not.toBe(calls);
    expect(second.artifacts).toMatchObject({ filesRead: [] });
    expect(agent._messages.map(({ content }) => content).join()).not.toContain('a.ts');
  });

  test('R4: the parent is given a result, and none of the messages', async () => {
    await using here = runsHome(ENGLISH);
    const result = await exploring(here).run('[[messages 3]] [[answer the result]]');
    expect(JSON.stringify(result)).not.toContain('message 1');
    expect(resultString('explore', result, here.world)).toContain('the result');
  });

  test('R5: what a child is asked is a small part of what its parent knows', async () => {
    await using here = runsHome(ENGLISH);
    const long = Array.from({ length: 150 }, (_, index) => ({
      ...talk[index % 2 === 0 ? 1 : 2],
      text: 'x'.repeat(1300),
    }));
    const { report } = handOver(long as SessionStep[], resolveHandover([{ mode: 'full' }]).settings);
    const { run } = await exploring(here).run('find the FIFO');
    expect(report.charsIn).toBe(195_000);
    expect(promptOf(here, run?.runId).length).toBeLessThan(3000);
  });

  test('R6: agents run at the same time', async () => {
    await using here = runsHome(ENGLISH);
    const [mine, other] = [`${here.home.path}/one`, `${here.home.path}/two`];
    const waits = [
      exploring(here).run(`[[note ${mine}]] [[until ${other}]]`),
      exploring(here).run(`[[note ${other}]] [[until ${mine}]]`),
    ];
    expect((await Promise.all(waits)).map(({ status }) => status)).toEqual(['completed', 'completed']);
  });
});

describe('hand-over to a plan', () => {
  test('R7: the draft is made of the task and one text', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await planning(here).draftPlan('Create async FIFO', 'user: I need it');
    expect(promptOf(here, run?.runId)).toContain('Context:\nuser: I need it\n');
  });

  test('R8: a plan agent has its name, twenty iterations and one tool beside reading', async () => {
    await using here = runsHome(ENGLISH);
    const agent = planning(here);
    const { run } = await agent.draftPlan('x');
    const { profile, policy } = runOf(here, run?.runId);
    expect(agent.name).toBe('plan_mode');
    expect(profile).toMatchObject({ kind: 'plan', limits: { iterations: 20 } });
    expect(policy.allow?.filter((tool) => tool.startsWith('mcp__'))).toEqual([EXPLORE_TOOL]);
  });

  test('R9: it is asked for a detailed plan of the task, with the context or None', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await planning(here).draftPlan('Create async FIFO');
    expect(taskOf(here, run?.runId)).toBe(planPrompt('Create async FIFO', ''));
    expect(planPrompt('t', '')).toBe(
      'Task:\nt\n\nContext:\nNone\n\nCreate a detailed plan using the required format.\n',
    );
  });

  const modeIn = (mode?: string) =>
    resolveHandover([handoverInEnvironment({ PLAN_MODE_CONTEXT_MODE: mode })]);
  test('R10: full, summary and recent; full by default, and with a warning for any other word', () => {
    for (const mode of ['full', 'summary', 'recent']) expect(modeIn(mode).settings.mode).toBe(mode as 'full');
    expect(modeIn()).toMatchObject({ settings: { mode: 'full' }, warnings: [] });
    expect(modeIn('brief')).toMatchObject({ settings: { mode: 'full' }, warnings: [expect.any(String)] });
  });

  test('R11: full is all that was said', () => {
    const { text } = handOver(talk, modeIn('full').settings);
    for (const words of ['user: Create FIFO', "assistant: I'll explore first", 'user: Make it async'])
      expect(text).toContain(words);
  });

  test('R12: a summary has what was wanted, limits, decisions and what is open', () => {
    expect(modeIn('summary').settings.mode).toBe('summary'); // What a model makes of it: ask-summary.process.test.ts
  });

  test('R13: recent is the newest messages, twelve unless the environment says how many', () => {
    const recent = (count?: string) =>
      resolveHandover([{ mode: 'recent' }, handoverInEnvironment({ PLAN_MODE_CONTEXT_RECENT_N: count })])
        .settings;
    expect(recent().recentN).toBe(12);
    expect(recent('10').recentN).toBe(10);
    const { text } = handOver(talk, recent('2'));
    expect(text).toContain('Make it async');
    expect(text).not.toContain("I'll explore first");
  });

  test('R14: only who spoke and what was said is handed over', () => {
    const counted = talk.map((step) => ({ ...step, _tokens: { input: 4711 } })) as SessionStep[];
    expect(handOver(counted, modeIn('full').settings).text).not.toContain('4711');
  });
});

describe('hand-over to an exploration', () => {
  test('R15: an exploration is asked for with a query alone', async () => {
    await using here = runsHome(ENGLISH);
    const said = await planning(here).spawnExplore('find FIFOs [[answer none]]');
    expect(said).toBe('=== EXPLORATION RESULTS ===\nnone\n===========================');
  });

  test('R16: its context is its task, and nothing more', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await exploring(here).run('find FIFOs', { task: 'find FIFOs' });
    expect(taskOf(here, run?.runId)).toBe('Task: find FIFOs\n\nContext:\nNone');
  });

  test('R17: other context is a line each, of lists the first five, and reaches the agent', async () => {
    const context = { task: 'x', module: 'fifo', files: ['a', 'b', 'c', 'd', 'e', 'f'], empty: null };
    const text = '[Context]\n- module: fifo\n- files: a, b, c, d, e';
    expect(contextText(context)).toBe(text);
    await using here = runsHome(ENGLISH);
    const { run } = await exploring(here).run('x', context);
    expect(taskOf(here, run?.runId)).toBe(`Task: x\n\nContext:\n${text}`);
  });

  test('R18: the task and the context are what it is asked', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await exploring(here).run('find FIFOs');
    expect(promptOf(here, run?.runId)).toContain('\nTask: find FIFOs\n\nContext:\n');
  });
});

describe('specialisation', () => {
  const writes = ['write', 'edit', 'apply_patch'];

  test('R19: a plan is text: its agent is told to write no code, and cannot change a file', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await planning(here).draftPlan('x');
    const { policy } = runOf(here, run?.runId);
    expect(promptOf(here, run?.runId)).toContain('DO NOT write code');
    for (const tool of writes) expect(isToolAllowed(policy, tool)).toBe(false);
  });

  test('R20: an exploration reads, and its client is offered nothing else', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await exploring(here).run('x');
    const { policy } = runOf(here, run?.runId);
    for (const tool of [...writes, 'exec', 'web_fetch', 'task', 'sessions_spawn', EXPLORE_TOOL])
      expect(isToolAllowed(policy, tool)).toBe(false);
    expect(isToolAllowed(policy, 'read')).toBe(true);
  });

  test('R21: a plan agent may have something explored by itself', async () => {
    await using here = runsHome(ENGLISH);
    const agent = planning(here);
    expect(await agent.executeTool('spawn_explore', { query: '[[answer found]]' })).toContain('\nfound\n');
    const { run } = await agent.draftPlan('x');
    expect(isToolAllowed(runOf(here, run?.runId).policy, EXPLORE_TOOL)).toBe(true);
  });
});

describe('what the parent sees', () => {
  test('R22: the results of an exploration stand between two lines', async () => {
    await using here = runsHome(ENGLISH);
    const result = await exploring(here).run('[[answer Found sync_fifo.v]]');
    expect(resultString('explore', result, here.world)).toBe(
      '=== EXPLORATION RESULTS ===\nFound sync_fifo.v\n===========================',
    );
  });

  test('R23: a failure is said with its errors', async () => {
    await using here = runsHome(ENGLISH);
    const result = await exploring(here).run('[[error-result 1]]');
    expect(result).toMatchObject({ status: 'failed', output: '' });
    expect(resultString('explore', result, here.world)).toBe('Exploration failed: the service is overloaded');
    const plan = await planning(here).draftPlan('[[error-result 1]]');
    expect(resultString('plan', plan, here.world)).toBe('Planning failed: the service is overloaded');
  });

  test('R24: what it is told is one text, that of the result', async () => {
    await using here = runsHome(ENGLISH);
    const result = await planning(here).draftPlan(`[[answer-in ${here.home.put('plan.md', PLAN)}]]`);
    expect(resultString('plan', result, here.world)).toBe(
      `=== IMPLEMENTATION PLAN ===\n${PLAN}\n===========================`,
    );
  });
});

describe('R25: explore agent', () => {
  test('scenario 1: its tools read, and none of them writes', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await exploring(here).run('x');
    expect(runOf(here, run?.runId).policy.allow).toEqual(expect.arrayContaining(['read']));
    expect(runOf(here, run?.runId).policy.deny).toEqual(
      expect.arrayContaining(['write', 'edit', 'apply_patch']),
    );
  });

  test('scenario 2: only its query has to be given', () => {
    expect(EXPLORE_PARAMETERS.safeParse({ query: 'x' }).success).toBe(true);
    expect(EXPLORE_PARAMETERS.safeParse({}).success).toBe(false);
  });

  test('scenario 3: it is a sub-agent with a name', async () => {
    await using here = runsHome(ENGLISH);
    const agent = exploring(here);
    expect(agent).toBeInstanceOf(SubAgent);
    expect(agent.name).toBe('explore');
  });

  test('scenario 4: it is told to read only and never to generate code', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await exploring(here).run('x');
    const prompt = promptOf(here, run?.runId).toLowerCase();
    for (const words of ['read-only', 'change nothing', 'never generate code'])
      expect(prompt).toContain(words);
  });

  test('scenario 5: a plan agent may call it', async () => {
    await using here = runsHome(ENGLISH);
    const { run } = await planning(here).draftPlan('x');
    expect(promptOf(here, run?.runId)).toContain('explore');
    expect(runOf(here, run?.runId).policy.allow).toContain(EXPLORE_TOOL);
  });

  test('scenario 6: it looks something up and says where', async () => {
    await using here = runsHome(ENGLISH);
    here.home.put('project/fifo.v', 'module fifo;\nendmodule\n');
    const result = await exploring(here).run('[[read fifo.v]] [[answer fifo.v:1-2 has it, gone.v:3 not]]');
    expect(result).toMatchObject({
      status: 'completed',
      output: 'fifo.v:1-2 has it, gone.v:3 (unverified) not',
      errors: [],
      refusal: null,
      tokenUsage: { input: 200, output: 40, costUsd: 0.02 },
    });
    expect(result.executionTimeMs).toBeGreaterThan(0);
    expect(result.toolCalls).toMatchObject([
      { tool: 'Read', isError: false, result: '1\tmodule fifo;\n2\tendmodule' },
    ]);
  });

  test('scenario 7: its artifacts are the files, the calls and how many files', async () => {
    await using here = runsHome(ENGLISH);
    here.home.put('project/a.v', 'a\n');
    const { artifacts, contextUpdates } = await exploring(here).run(
      '[[read a.v]] [[read a.v]] [[answer a.v]]',
    );
    const path = `${here.project}/a.v`;
    expect(artifacts).toEqual({
      ...{ filesRead: [{ path, lines: [{ from: 1, to: 1 }] }], toolCallsCount: 2, explorationDepth: 1 },
    });
    expect(contextUpdates).toEqual({
      explorationSummary: 'a.v',
      filesExamined: [path],
      agentType: 'explore',
    });
  });
});

describe('R26: plan mode', () => {
  test('scenario 1: a task is planned, and what is typed then is a decision or feedback', () => {
    expect(readDecision('approve')).toEqual({ kind: 'approve' });
    expect(readDecision('Create async FIFO')).toEqual({ kind: 'feedback', text: 'Create async FIFO' });
  });

  test('scenario 2: a plan is saved and read', async () => {
    await using here = runsHome(ENGLISH);
    const { name, text } = planFile('Create async FIFO', PLAN, new Date(0));
    writeFileSync(`${here.home.path}/${name}`, text);
    expect(readFileSync(`${here.home.path}/create-async-fifo-19700101-000000.md`, 'utf8')).toContain(PLAN);
  });

  test('scenario 3: five steps are read from a plan, also below headings of their own', () => {
    expect(planSteps(PLAN)).toEqual(['Read', 'Write', 'Test', 'Document', 'Ship']);
    const headed = PLAN.replace('1. Read', '### Step 1: Read\nwords').replace('2. Write', '**2. Write**');
    expect(planSteps(headed)).toEqual(['Read', 'Write', 'Test', 'Document', 'Ship']);
  });

  test('scenario 4: another tool, and an empty query, are refused', async () => {
    await using here = runsHome(ENGLISH);
    const agent = planning(here);
    expect(await agent.executeTool('write_file', { query: 'x' })).toBe(
      "Error: Tool 'write_file' not allowed for PlanAgent. Only 'spawn_explore' is permitted.",
    );
    for (const query of ['', '  ', undefined])
      expect(await agent.executeTool('spawn_explore', { query })).toBe(
        'Error: spawn_explore requires a non-empty query argument',
      );
  });

  test('scenario 5: a result has all its fields, filled', async () => {
    await using here = runsHome(ENGLISH);
    const agent = planning(here);
    const result = await agent.draftPlan(`[[answer-in ${here.home.put('plan.md', PLAN)}]]`);
    expect(result).toMatchObject({
      status: 'completed',
      output: PLAN,
      actionPlan: { taskUnderstanding: 'words', strategy: 'words', successCriteria: 'words' },
      artifacts: { planGenerated: true, toolCallsCount: 0 },
      contextUpdates: { agentType: 'plan', plannedSteps: ['Read', 'Write', 'Test', 'Document', 'Ship'] },
      toolCalls: [],
      errors: [],
      tokenUsage: { input: 100, output: 20 },
    });
    expect(result.actionPlan?.steps.map(({ stepNumber, description }) => [stepNumber, description])).toEqual([
      ...[
        [1, 'Read'],
        [2, 'Write'],
        [3, 'Test'],
        [4, 'Document'],
        [5, 'Ship'],
      ],
    ] as [number, string][]);
    expect(agent._action_plan).toBe(result.actionPlan);
    expect(agent._status).toBe('completed');
  });
});
