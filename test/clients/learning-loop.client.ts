import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord, type Json, parseJson, readString } from '../../src/core/guards.ts';
import {
  answer,
  type ModelRequest,
  type ModelTurn,
  type ScriptedModel,
  say,
  startScriptedModel,
  useTool,
} from '../../src/setup/scripted-model.ts';
import { runProblems, textsOf } from './checks.ts';
import {
  makeWorkspace,
  readHeartbeats,
  readRecorded,
  readTable,
  removeWorkspace,
  runClientOn,
  runProduct,
  runProductOrThrow,
  type Workspace,
} from './claude-code.ts';
import { CLIENT_VERSION, installClient, PRODUCT } from './install-client.ts';
import { offlineSuite } from './offline.ts';
import * as scenarios from './scenarios.ts';

/** The whole loop as a user goes through it: the real client, a scripted model, the built binary. */

const RULE = 'Set a port in settings.ini before the tests are run.';
const REFUSED_RULE = 'Run the linter before every single edit.';
const INSTRUCTIONS = 'Run the deployment script for staging.';
const DENIAL = 'CI publishes: push a tag.';
const READ_NOTE = 'The port is set for each machine in settings.local.ini.';
const HOOKS = [
  { event: 'PreToolUse', tools: ['Bash'], when: { command: 'npm publish' }, action: 'deny', text: DENIAL },
  { event: 'PreToolUse', tools: ['Read'], when: { path: '*.ini' }, action: 'tell', text: READ_NOTE },
];
const PROMPTS = [
  'Deploy to staging.',
  'Deploy the branch to staging.',
  'Once more to staging.',
  'To staging.',
];

const suite = await offlineSuite(() => installClient(CLIENT_VERSION));

setDefaultTimeout(300_000);
const ended: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ended) await end();
});

/** What the analysing model answers; it is given no tools, so the client asks it as it asks for a title. */
function proposals(body: Json): ModelTurn {
  if (!isAnalysis(body)) return answer(say('ok'));
  const suggestions = [
    {
      ...{ type: 'claude_md', summary: 'Set the port first', evidence: '2 ×', priority: 9 },
      ...{ rule: RULE, errors: ['e1'] },
    },
    { type: 'claude_md', summary: 'Lint first', evidence: '', priority: 5, rule: REFUSED_RULE },
    {
      ...{ type: 'skill', summary: 'Deploy to staging', evidence: 'asked 4 times', priority: 1 },
      ...{ skillName: 'deploy-staging', action: INSTRUCTIONS, examples: ['Deploy the branch to staging'] },
    },
  ];
  return answer(say(`Here it is:\n\`\`\`json\n${JSON.stringify({ clusters: [], suggestions })}\n\`\`\``));
}

function isAnalysis(body: Json): boolean {
  return textsOf(body).some((text) => text.includes('[self-generation-analysis]'));
}

const analyses = (requests: readonly ModelRequest[]) =>
  requests.filter((request) => request.kind !== 'other' && isAnalysis(request.body));

const textsIn = (request: ModelRequest) => (request.kind === 'other' ? [] : textsOf(request.body));
const says = (requests: readonly ModelRequest[], words: string) =>
  requests.flatMap(textsIn).some((text) => text.includes(words));

const bash = (command: string) => answer(useTool('Bash', { command, description: 'Do it' }));

async function started(): Promise<{ workspace: Workspace; model: ScriptedModel }> {
  const workspace = await makeWorkspace({ client: await installClient(CLIENT_VERSION), binary: PRODUCT });
  ended.push(() => removeWorkspace(workspace));
  await runProductOrThrow(workspace, ['install']);
  const script = {
    ...scenarios.learn(workspace.project).script,
    talk: [answer(say('Done.'))],
    delegate: scenarios.foreground(workspace.project).script.main ?? [],
    ...workers(workspace),
    apply: [
      bash(`${PRODUCT} apply 1 --yes`),
      bash(`exec env -i HOME="$HOME" ${PRODUCT} apply 1 --yes`),
      answer(say('Not applied.')),
    ],
    release: [
      bash('touch published; npm publish'),
      answer(useTool('Read', { file_path: join(workspace.project, 'settings.ini') })),
      answer(say('Not published.')),
    ],
  };
  const model = await startScriptedModel({ script, auxiliary: proposals });
  ended.push(model.stop);
  return { workspace, model };
}

/** The sub-agents of the foreground scenario, under their own names. */
function workers({ project }: Workspace) {
  const { main: _main, ...others } = scenarios.foreground(project).script;
  return others;
}

async function product(workspace: Workspace, model: ScriptedModel, ...words: string[]) {
  const end = await runProduct(workspace, words, '', model.url);
  if (end.kind !== 'exited') throw new Error(`Cannot run ${words.join(' ')}: ${JSON.stringify(end)}`);
  return end;
}

suite('the learning loop', () => {
  test('a session is analysed, its suggestion announced once, applied, and in the next sub-agent’s context; a dismissed one is gone', async () => {
    const { workspace, model } = await started();
    const talk = (prompt: string) => runClientOn(model, workspace, { prompt: `[[conv:talk]] ${prompt}` });

    // Sessions: an error that is solved, and the same wish four times.
    const { prompt } = scenarios.learn(workspace.project);
    const learning = await runClientOn(model, workspace, { prompt });
    expect(runProblems(learning, ['SessionStart', 'UserPromptSubmit'])).toEqual([]);
    for (const one of PROMPTS) await talk(one);

    // Nothing was sent before somebody asked for it.
    expect(analyses(model.requests)).toEqual([]);
    const dry = await product(workspace, model, 'analyze', '--dry-run');
    expect(dry.stdout).toContain('PORT is not set');
    expect(analyses(model.requests)).toEqual([]);

    // The analysis: one request without tools, exactly what --dry-run printed; no hook fires, nothing is recorded.
    const [recorded, heartbeats] = [readRecorded(workspace), await readHeartbeats(workspace)];
    const analysed = await product(workspace, model, 'analyze', '--json');
    expect([analysed.code, analysed.stderr]).toEqual([0, '']);
    const requests = analyses(model.requests);
    expect(requests).toHaveLength(1);
    const [request] = requests;
    if (request === undefined || request.kind === 'other') throw new Error('no request');
    expect(request.body.tools ?? []).toEqual([]);
    expect(textsOf(request.body).some((text) => text.includes(dry.stdout.trim()))).toBe(true);
    expect(readRecorded(workspace)).toEqual(recorded);
    expect(await readHeartbeats(workspace)).toEqual(heartbeats);
    const [rule = '', refused = '', skill = ''] = suggestionIds(analysed.stdout);

    // Announced in the next session, and in no other.
    const announced = await talk('Hello.');
    for (const id of [rule, refused, skill]) expect(says(announced.requests, `[id: ${id}]`)).toBe(true);
    const silent = await talk('Hello again.');
    expect(says(silent.requests, '[id: ')).toBe(false);

    // Nothing of it reaches a sub-agent before the user agrees.
    const delegate = () => runClientOn(model, workspace, { prompt: '[[conv:delegate]] Delegate.' });
    expect(says((await delegate()).requests, RULE)).toBe(false);

    // Applied: a diff first, then the rule in CLAUDE.md and in the sub-agent's context.
    const preview = await product(workspace, model, 'apply', rule);
    expect([preview.code, preview.stdout.includes(`+- ${RULE}`)]).toEqual([1, true]);
    const file = join(workspace.project, '.claude', 'CLAUDE.md');
    expect(existsSync(file)).toBe(false);
    expect((await product(workspace, model, 'apply', rule, '--yes')).code).toBe(0);
    expect(await readFile(file, 'utf8')).toContain(`- ${RULE}\n`);
    expect((await product(workspace, model, 'apply', skill, '--yes')).code).toBe(0);
    expect((await product(workspace, model, 'dismiss', refused, '--why', 'we have CI')).code).toBe(0);
    const told = await delegate();
    const given = told.requests.filter(
      (one) => one.kind === 'turn' && one.conversation === 'executor' && one.turn === 0,
    );
    const context = given.flatMap(textsIn).find((text) => text.includes('SubagentStart hook'));
    expect(context).toContain(`적용할 프로젝트 규칙:\n- ${RULE}`);
    expect(context).toContain('PORT is not set');
    expect(says(told.requests, REFUSED_RULE)).toBe(false);

    // Which agent got what.
    const status = parseJson((await product(workspace, model, 'status', '--json')).stdout);
    const agents = isRecord(status) && isRecord(status.learning) ? status.learning.given : [];
    const ofExecutor = { agentType: 'executor', text: expect.stringContaining(RULE) };
    expect(agents).toContainEqual(expect.objectContaining(ofExecutor));

    // The skill is there for the client, and counted when it is called.
    const called = await runClientOn(model, workspace, { prompt: '/deploy-staging [[conv:talk]]' });
    expect(says(called.requests, INSTRUCTIONS)).toBe(true);
    expect(readRecorded(workspace).events.filter(({ type }) => type === 'skill_used')).toHaveLength(1);

    // What was decided flows into the next question, and what was refused is not announced when it comes again.
    await talk('One more prompt.');
    const again = await product(workspace, model, 'analyze', '--json');
    expect(again.code).toBe(0);
    const [, second] = analyses(model.requests);
    expect(second !== undefined && says([second], 'we have CI')).toBe(true);
    expect(suggestionIds(again.stdout)).toEqual([rule, refused, skill]);
    expect(says((await talk('And now?')).requests, '[id: ')).toBe(false);
    expect((await product(workspace, model, 'undo', rule, '--yes')).code).toBe(0);
    expect(existsSync(file)).toBe(false);
    expect(says((await delegate()).requests, RULE)).toBe(false);
  });

  test('hooks that a person applies, and no agent, deny one call and tell of another until they are taken back', async () => {
    const { workspace, model } = await started();
    await runClientOn(model, workspace, { prompt: scenarios.learn(workspace.project).prompt });
    const file = join(workspace.root, 'answer.json');
    const suggestions = HOOKS.map((hook) => ({ type: 'hook', summary: 'A hook', hook }));
    await writeFile(file, JSON.stringify({ suggestions }));
    const analysed = await product(workspace, model, 'analyze', '--answer', file, '--json');
    const ids = suggestionIds(analysed.stdout);
    expect(ids).toHaveLength(2);
    const published = join(workspace.project, 'published');
    const release = async () => {
      await rm(published, { force: true });
      const { requests } = await runClientOn(model, workspace, { prompt: '[[conv:release]] Release it.' });
      return [says(requests, DENIAL), existsSync(published), says(requests, READ_NOTE)];
    };
    expect(await release()).toEqual([false, true, false]);
    const { requests } = await runClientOn(model, workspace, { prompt: '[[conv:apply]] Apply it.' });
    expect(says(requests, 'an agent seems to run this (CLAUDECODE is set)')).toBe(true);
    expect(says(requests, 'an agent seems to run this (claude is running above it)')).toBe(true);
    for (const id of ids) expect((await product(workspace, model, 'apply', id, '--yes')).code).toBe(0);
    expect(await release()).toEqual([true, false, true]);
    for (const id of ids) expect((await product(workspace, model, 'undo', id, '--yes')).code).toBe(0);
    expect(await release()).toEqual([false, true, false]);
  });

  test('the end of a session starts an analysis when the user said so, and that does not start another', async () => {
    const { workspace, model } = await started();
    const sessionId = crypto.randomUUID();
    await product(workspace, model, 'config', 'set', 'analysisOnSessionEnd', 'true');
    await product(workspace, model, 'config', 'set', 'analysisMinIntervalMinutes', '0.001');
    for (const [index, prompt] of [...PROMPTS, 'Thank you.'].entries()) {
      const args = index === 0 ? ['--session-id', sessionId] : ['--resume', sessionId];
      const run = await runClientOn(model, workspace, { prompt: `[[conv:talk]] ${prompt}`, args });
      expect(runProblems(run, [])).toEqual([]);
    }
    const done = () => readTable(workspace, 'analysis_runs').filter((row) => row.status === 'done');
    const project_path = workspace.project;
    const run = { trigger: 'session-end', project_path, suggestion_count: 3 };
    expect(await waitFor(done)).toMatchObject([run]);
    // Its own session ended too.
    await Bun.sleep(1000);
    expect(readTable(workspace, 'analysis_runs')).toHaveLength(1);
    expect(analyses(model.requests)).toHaveLength(1);
  });
});

function suggestionIds(stdout: string): string[] {
  const report = parseJson(stdout);
  const suggestions = isRecord(report) && Array.isArray(report.suggestions) ? report.suggestions : [];
  return suggestions.filter(isRecord).map((suggestion) => readString(suggestion, 'id') ?? '');
}

async function waitFor<Row>(look: () => Row[]): Promise<Row[]> {
  for (let tries = 0; tries < 300; tries++) {
    const found = look();
    if (found.length > 0) return found;
    await Bun.sleep(100);
  }
  return look();
}
