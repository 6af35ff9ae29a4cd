import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asRecord, readRecord } from '../../src/core/guards.ts';
import { clientEnvironment } from '../../src/setup/live-check.ts';
import { answer, say, startScriptedModel, useTool } from '../../src/setup/scripted-model.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { contextProblems, recordingProblems, runProblems, solutionProblems, textsOf } from './checks.ts';
import {
  type ClientCall,
  makeWorkspace,
  readRecorded,
  readSettings,
  removeWorkspace,
  runClientOn,
  runProduct,
  runProductOrThrow,
  type Workspace,
} from './claude-code.ts';
import { CLIENT_VERSION, installClient, PRODUCT } from './install-client.ts';
import { offlineSuite } from './offline.ts';
import * as scenarios from './scenarios.ts';

/** The plugin in the real Claude Code: alone, beside hooks in the settings, and by way of a marketplace. */

const suite = await offlineSuite(() => installClient(CLIENT_VERSION));

setDefaultTimeout(300_000);
const ROOT = resolve(import.meta.dir, '../..');
const PLUGIN = ['--plugin-dir', join(ROOT, 'plugin')];
const HEADING = '이 프로젝트의 최근 에러 패턴:';
const NOTHING: scenarios.ExpectedRecording = { prompts: [], toolUses: [], toolErrors: [], stops: [] };
const workspaces: Workspace[] = [];
afterAll(async () => {
  for (const workspace of workspaces) await removeWorkspace(workspace);
});

async function workspace(): Promise<Workspace> {
  const made = await makeWorkspace({ client: await installClient(CLIENT_VERSION), binary: PRODUCT });
  workspaces.push(made);
  return made;
}

/** What the user types to Claude Code itself. */
async function claude(at: Workspace, ...words: string[]): Promise<string> {
  const env = clientEnvironment(process.env, at, 'http://127.0.0.1:9');
  const end = await runCommand('claude', words, { cwd: at.project, env, timeoutMs: 60_000 });
  if (end.kind === 'exited' && end.code === 0) return end.stdout;
  throw new Error(`claude ${words.join(' ')}: ${JSON.stringify(end)}`);
}

/** The session, what was stored of it alone, and how often each sub-agent's first request has the context. */
async function play(at: Workspace, scenario: scenarios.Scenario, call: Partial<ClientCall> = {}) {
  const model = startScriptedModel({ script: scenario.script });
  try {
    const before = readRecorded(at).events.length;
    const run = await runClientOn(model, at, { prompt: scenario.prompt, ...call });
    const { events, errors } = readRecorded(at);
    const told = run.requests.flatMap((request) =>
      request.kind === 'turn' && request.turn === 0 && scenario.given.includes(request.conversation)
        ? [textsOf(request.body).join('\n').split(HEADING).length - 1]
        : [],
    );
    return { run, recorded: { events: events.slice(before), errors }, told };
  } finally {
    await model.stop();
  }
}

/** Two sessions: what the first learns, the sub-agents of the second are told, once; and everything is stored once. */
async function expectToWork(at: Workspace, args: readonly string[]): Promise<void> {
  const first = scenarios.learn(at.project);
  const learnt = await play(at, first, { args });
  expect(runProblems(learnt.run, ['SessionStart', 'UserPromptSubmit', 'PostToolUseFailure'])).toEqual([]);
  expect(recordingProblems(learnt.recorded, first.recorded, at.project)).toEqual([]);
  expect(solutionProblems(learnt.recorded)).toEqual([]);
  const second = scenarios.foreground(at.project);
  const { run, recorded, told } = await play(at, second, { args });
  expect(runProblems(run, ['SessionStart', 'PreToolUse', 'SubagentStart'])).toEqual([]);
  expect(contextProblems(run.requests, second.given)).toEqual([]);
  expect(told).toEqual(second.given.map(() => 1));
  expect(recordingProblems(recorded, second.recorded, at.project)).toEqual([]);
}

const settingsOf = (at: Workspace) => join(at.home, '.claude', 'settings.json');
const ourHooks = async (at: Workspace) => JSON.stringify(readRecord(await readSettings(at), 'hooks'));

suite('claude plugin validate', () => {
  test('passes for the marketplace and for the plugin, warnings counted as errors', async () => {
    const at = await workspace();
    for (const path of [ROOT, join(ROOT, 'plugin')])
      expect(await claude(at, 'plugin', 'validate', '--strict', path)).toContain('Validation passed');
  });
});

suite('--plugin-dir', () => {
  test('without hooks in the settings: the plugin does all that they do', async () => {
    const at = await workspace();
    await runProductOrThrow(at, ['install']);
    await writeFile(settingsOf(at), '{}\n');
    await expectToWork(at, PLUGIN);
  });

  test('beside hooks in the settings: everything happens once', async () => {
    const at = await workspace();
    await runProductOrThrow(at, ['install']);
    await expectToWork(at, PLUGIN);
  });

  test('the check notices what is told twice', async () => {
    const at = await workspace();
    await runProductOrThrow(at, ['install']);
    await play(at, scenarios.learn(at.project));
    const other = join(at.bin, 'other-name');
    await writeFile(other, `#!/bin/sh\nexec '${PRODUCT}' hook subagent-context\n`, { mode: 0o700 });
    const hooks = { SubagentStart: [{ hooks: [{ type: 'command', command: other }] }] };
    await writeFile(settingsOf(at), JSON.stringify({ hooks }));
    const scenario = scenarios.foreground(at.project);
    const { told } = await play(at, scenario, { args: PLUGIN });
    expect(told).toEqual(scenario.given.map(() => 2));
  });

  test('without the program: the user is told how to get it, once, and nothing else happens', async () => {
    const at = await workspace();
    const { run, recorded } = await play(at, scenarios.everyOutcome(at.project), { args: PLUGIN });
    expect(runProblems(run, ['SessionStart', 'UserPromptSubmit', 'SubagentStart'])).toEqual([]);
    const said = (run.hookResponses ?? []).flatMap(({ event, stdout }) =>
      stdout === '' ? [] : [[event, stdout]],
    );
    const line = expect.stringContaining('npx self-generation install');
    expect(said).toEqual([['SessionStart', line]]);
    expect(recorded.events).toEqual([]);
    expect(
      run.requests.flatMap((request) => ('body' in request ? textsOf(request.body) : [])).join('\n'),
    ).not.toContain('npx self-generation install');
  });
});

suite('claude plugin install', () => {
  test('and install, in this order: no hook stands in the settings, and everything works once', async () => {
    const at = await workspace();
    await claude(at, 'plugin', 'marketplace', 'add', ROOT);
    await claude(at, 'plugin', 'install', 'self-generation@self-generation');
    const before = await readFile(settingsOf(at), 'utf8');
    await runProductOrThrow(at, ['install']);
    expect(await readFile(settingsOf(at), 'utf8')).toBe(before);
    await expectToWork(at, []);
    const doctor = await runProduct(at, ['doctor']);
    expect(doctor).toMatchObject({
      stdout: expect.stringContaining('the plugin self-generation@self-generation runs'),
    });
  });

  test('after install: both notice, once each, and install leaves it to the plugin', async () => {
    const at = await workspace();
    await runProductOrThrow(at, ['install']);
    await claude(at, 'plugin', 'marketplace', 'add', ROOT);
    await claude(at, 'plugin', 'install', 'self-generation@self-generation');
    expect(await ourHooks(at)).toContain('subagent-context');
    const doctor = await runProduct(at, ['doctor']);
    expect(doctor).toMatchObject({ stdout: expect.stringContaining("the plugin's stand down") });
    await expectToWork(at, []);
    await runProductOrThrow(at, ['install']);
    expect(await ourHooks(at)).toBe('{}');
    const scenario = scenarios.foreground(at.project);
    const { told } = await play(at, scenario);
    expect(told).toEqual(scenario.given.map(() => 1));
    const end = await runProduct(at, ['uninstall', '--purge', '--yes']);
    expect(end).toMatchObject({ code: 0, stderr: expect.stringContaining('claude plugin uninstall') });
    await claude(at, 'plugin', 'uninstall', 'self-generation@self-generation');
    await claude(at, 'plugin', 'marketplace', 'remove', 'self-generation');
    expect(await ourHooks(at)).toBe('{}');
  });
});

suite('what it brings besides', () => {
  test('known_errors is offered at once, and answers; the commands are answered without a model', async () => {
    const at = await workspace();
    await runProductOrThrow(at, ['install']);
    await writeFile(settingsOf(at), '{}\n');
    await play(at, scenarios.learn(at.project), { args: PLUGIN });
    const tool = 'mcp__plugin_self-generation_self-generation__known_errors';
    const main = [
      answer(useTool(tool, { error: 'Error: PORT is not set', command: 'npm test' })),
      answer(say('Done.')),
    ];
    const asking = { prompt: '[[conv:main]] Ask.', script: { main }, given: [], recorded: NOTHING };
    const { run } = await play(at, asking, { args: PLUGIN });
    const [first, second] = run.requests.flatMap((request) =>
      request.kind === 'turn' ? [request.body] : [],
    );
    expect(textsOf(asRecord(first).tools)).toContain(tool);
    const told = textsOf(asRecord(second).messages).find((text) =>
      text.includes('[Self-Generation 에러 KB]'),
    );
    expect(told).toContain('PORT=8080 npm test');
    const typed = await play(at, { ...asking, prompt: '/self-generation:subagents list' }, { args: PLUGIN });
    expect(typed.run.requests.filter(({ kind }) => kind === 'turn')).toEqual([]);
    expect(typed.run.end).toMatchObject({
      stdout: expect.stringContaining('Subagents: none in this project.'),
    });
  });
});
