import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord, parseJson } from '../../src/core/guards.ts';
import { HOOKS, hooksIn } from '../../src/hooks/hooks.ts';
import { runLiveCheck } from '../../src/setup/live-check.ts';
import {
  contextProblems,
  fileSecretProblems,
  recordingProblems,
  registrationProblems,
  requestSecretProblems,
  runProblems,
  silenceProblems,
  solutionProblems,
} from './checks.ts';
import {
  type ClientRun,
  clientNamed,
  makeWorkspace,
  readRecorded,
  readSettings,
  readStateFiles,
  removeWorkspace,
  runProduct,
  runProductOrThrow,
  type Workspace,
} from './claude-code.ts';
import { CLIENT_VERSION, installClient, PRODUCT } from './install-client.ts';
import { offlineSuite } from './offline.ts';
import * as scenarios from './scenarios.ts';
import { HARMFUL, makeStandIn, SILENT } from './stand-in.ts';

/** The real client, a scripted model, the built binary; nothing can leave the machine. */

const OLDER_VERSIONS = process.env.CLIENT_VERSIONS === 'all' ? ['2.1.197', '2.1.100', '2.0.76'] : [];
/** Those that the client waits for and tells of. */
const CALLED = hooksIn('session').flatMap(({ event, isAsync }) =>
  isAsync || event === 'SessionEnd' ? [] : [event],
);
const CALLED_WITHOUT_FAILURE = CALLED.filter((event) => event !== 'PostToolUseFailure');
const CALLED_WITHOUT_AGENT = CALLED.filter(
  (event) => !event.startsWith('Subagent') && event !== 'PreToolUse',
);

const HOSTILE_FILES = {
  'bunfig.toml': 'preload = ["./preload.ts"]\n',
  'preload.ts': 'await Bun.write(import.meta.dir + "/preload-ran", Bun.argv.join(" "));\n',
  '.env': 'SELF_GENERATION_INTERNAL=1\nSELF_GENERATION_HOME=/nonexistent/elsewhere\n',
  'tsconfig.json': '{"compilerOptions":{"paths":{"*":["./preload.ts"]},"jsxImportSource":"./preload.ts"}}\n',
  'package.json': JSON.stringify({
    name: 'shop',
    version: '1.0.0',
    scripts: { test: 'sh test.sh' },
    imports: { '#sqlite': './preload.ts', '#runtime': './preload.ts' },
  }),
};

const suite = await offlineSuite(() => Promise.all([CLIENT_VERSION, ...OLDER_VERSIONS].map(installClient)));

setDefaultTimeout(300_000);
const workspaces: Workspace[] = [];
afterAll(async () => {
  for (const workspace of workspaces) await removeWorkspace(workspace);
});

type Setting = { binary?: string; version?: string; files?: Readonly<Record<string, string>> };

async function installed({ binary = PRODUCT, version = CLIENT_VERSION, files = {} }: Setting = {}) {
  const workspace = await makeWorkspace({ client: await installClient(version), binary, files });
  workspaces.push(workspace);
  await runProductOrThrow(workspace, ['install']);
  return workspace;
}

async function installedStandIn(hook: string, files: Readonly<Record<string, string>> = {}) {
  const workspace = await makeWorkspace({ client: await installClient(CLIENT_VERSION), binary: '', files });
  workspaces.push(workspace);
  const standIn = { ...workspace, binary: await makeStandIn(workspace.bin, hook) };
  await runProductOrThrow(standIn, ['install']);
  return standIn;
}

/** Runs a scenario and answers with what was stored of it alone. */
async function runRecorded(workspace: Workspace, scenario: scenarios.Scenario) {
  const before = readRecorded(workspace).events.length;
  const run = await clientNamed(workspace, scenario);
  const { events, errors } = readRecorded(workspace);
  return { run, recorded: { events: events.slice(before), errors } };
}

suite('sub-agents of a later session', () => {
  let workspace: Workspace;
  let first: ClientRun;
  beforeAll(async () => {
    workspace = await installed();
    first = await clientNamed(workspace, scenarios.learn(workspace.project));
  });

  test('the session that meets the error and solves it ends well', () => {
    expect(runProblems(first, CALLED_WITHOUT_AGENT)).toEqual([]);
    expect(contextProblems(first.requests, [])).toEqual([]);
    expect(solutionProblems(readRecorded(workspace))).toEqual([]);
  });

  const kinds = { foreground: scenarios.foreground, background: scenarios.background };
  const groups = { 'four at once': scenarios.fanOut, nested: scenarios.nested };
  for (const [name, make] of Object.entries({ ...kinds, ...groups })) {
    test(`${name}: code agents are told of the error and its fix from their first request on, others never`, async () => {
      const scenario = make(workspace.project);
      const { run, recorded } = await runRecorded(workspace, scenario);
      expect(runProblems(run, CALLED_WITHOUT_FAILURE)).toEqual([]);
      expect(contextProblems(run.requests, scenario.given)).toEqual([]);
      expect(recordingProblems(recorded, scenario.recorded, workspace.project)).toEqual([]);
    });
  }
});

suite('recording', () => {
  test('each prompt, call, failure, rejected call and sub-agent is stored once, and only the solved error is solved', async () => {
    const workspace = await installed();
    const scenario = scenarios.everyOutcome(workspace.project);
    const run = await clientNamed(workspace, scenario);
    const recorded = readRecorded(workspace);
    expect(runProblems(run, CALLED)).toEqual([]);
    expect(contextProblems(run.requests, scenario.given)).toEqual([]);
    expect(recordingProblems(recorded, scenario.recorded, workspace.project)).toEqual([]);
    expect(solutionProblems(recorded)).toEqual([]);
  });

  test('a call that the user interrupts is not stored, the same call failing by itself is', async () => {
    const workspace = await installed();
    const failure = { hook_event_name: 'PostToolUseFailure', session_id: 's', cwd: workspace.project };
    const call = { tool_name: 'Bash', tool_input: { command: 'npm test' }, tool_use_id: 't' };
    for (const is_interrupt of [true, false]) {
      const event = { ...failure, ...call, error: 'Exit code 1\nno connection', is_interrupt };
      const end = await runProduct(workspace, ['hook'], JSON.stringify(event));
      expect(end).toEqual({ kind: 'exited', code: 0, stdout: '', stderr: '' });
      expect(readRecorded(workspace).events.length).toBe(is_interrupt ? 0 : 1);
    }
  });

  test('a sub-agent that the service refuses is stored as a failed call, not as one that stopped', async () => {
    const workspace = await installed();
    const { run, recorded } = await runRecorded(workspace, scenarios.refused(workspace.project));
    expect(runProblems(run, ['SubagentStart', 'PostToolUseFailure'])).toEqual([]);
    const { recorded: expected } = scenarios.refused(workspace.project);
    expect(recordingProblems(recorded, expected, workspace.project)).toEqual([]);
  });

  test('secrets in a prompt, an output, a failure, a command, an edit and a path reach neither a file nor a later session', async () => {
    const workspace = await installed({ files: scenarios.SECRET_FILES });
    const scenario = scenarios.secrets(workspace.project);
    const { run, recorded } = await runRecorded(workspace, scenario);
    const later = await clientNamed(workspace, scenarios.foreground(workspace.project));
    expect([...runProblems(run, []), ...runProblems(later, [])]).toEqual([]);
    expect(recordingProblems(recorded, scenario.recorded, workspace.project)).toEqual([]);
    expect(fileSecretProblems(await readStateFiles(workspace), scenarios.SECRETS)).toEqual([]);
    expect(requestSecretProblems(later.requests, scenarios.SECRETS)).toEqual([]);
  });
});

suite('switched off', () => {
  test('a client with SELF_GENERATION_INTERNAL=1 is neither recorded nor told anything', async () => {
    const workspace = await installed();
    const scenario = scenarios.everyOutcome(workspace.project);
    const run = await clientNamed(workspace, scenario, { SELF_GENERATION_INTERNAL: '1' });
    expect(runProblems(run, CALLED)).toEqual([]);
    expect(silenceProblems(run, readRecorded(workspace))).toEqual([]);
  });

  test('with "enabled": false nothing is recorded or told', async () => {
    const workspace = await installed();
    const file = join(workspace.home, '.self-generation', 'config.json');
    const config = existsSync(file) ? parseJson(await readFile(file, 'utf8')) : {};
    await writeFile(file, JSON.stringify({ ...(isRecord(config) ? config : {}), enabled: false }));
    const run = await clientNamed(workspace, scenarios.everyOutcome(workspace.project));
    expect(runProblems(run, CALLED)).toEqual([]);
    expect(silenceProblems(run, readRecorded(workspace))).toEqual([]);
  });

  test('after uninstall the client calls no hook', async () => {
    const workspace = await installed();
    expect(registrationProblems(await readSettings(workspace), CLIENT_VERSION)).toEqual([]);
    await runProductOrThrow(workspace, ['uninstall']);
    const run = await clientNamed(workspace, scenarios.everyOutcome(workspace.project));
    expect(runProblems(run, [])).toEqual([]);
    expect(run.hookResponses).toEqual([]);
    expect(silenceProblems(run, readRecorded(workspace))).toEqual([]);
  });
});

suite('a hostile project', () => {
  test('its bunfig.toml, .env, tsconfig.json and package.json have no effect on the hooks', async () => {
    const workspace = await installed({ files: HOSTILE_FILES });
    const first = await runRecorded(workspace, scenarios.learn(workspace.project));
    const scenario = scenarios.fanOut(workspace.project);
    const second = await runRecorded(workspace, scenario);
    expect(existsSync(join(workspace.project, 'preload-ran'))).toBe(false);
    expect(runProblems(first.run, CALLED_WITHOUT_AGENT)).toEqual([]);
    expect(runProblems(second.run, CALLED_WITHOUT_FAILURE)).toEqual([]);
    expect(contextProblems(second.run.requests, scenario.given)).toEqual([]);
    expect(recordingProblems(second.recorded, scenario.recorded, workspace.project)).toEqual([]);
  });
});

suite('runLiveCheck()', () => {
  const check = async (binaryPath: string) => {
    const { path } = await installClient(CLIENT_VERSION);
    return runLiveCheck({ clientPath: path, binaryPath, env: process.env, timeoutMs: 120_000 });
  };

  test('reports every event seen and the context delivered', async () => {
    const registered = hooksIn('session').map(({ event }) => event);
    const clientVersion = CLIENT_VERSION;
    const report = await check(PRODUCT);
    expect(report).toMatchObject({ kind: 'completed', clientVersion, context: 'delivered' });
    const seen = report.kind === 'completed' ? report.events : [];
    expect(seen.map(({ event }) => event)).toEqual([...new Set(HOOKS.map(({ event }) => event))]);
    for (const { event, state } of seen) {
      if (!registered.includes(event)) expect(state).toBe('unregistered');
      else if (event.endsWith('Stop')) expect(['seen', 'not waited for']).toContain(state);
      else expect(state, event).toBe('seen');
    }
  });

  test('reports no event seen and no context when the hooks do nothing', async () => {
    const { bin } = await installedStandIn(SILENT);
    const events = HOOKS.filter(({ wakes }) => !wakes).map(({ event, isAsync }) => ({
      event,
      state: isAsync ? ('not waited for' as const) : ('not seen' as const),
    }));
    const clientVersion = CLIENT_VERSION;
    const report = await check(join(bin, 'stand-in'));
    expect(report).toEqual({ kind: 'completed', clientVersion, events, context: 'not delivered' });
  });
});

for (const version of OLDER_VERSIONS) {
  suite(`client ${version}`, () => {
    test('the hooks that it knows are registered and work', async () => {
      const workspace = await installed({ version });
      expect(registrationProblems(await readSettings(workspace), version)).toEqual([]);
      const { run, recorded } = await runRecorded(workspace, scenarios.learn(workspace.project));
      expect(runProblems(run, [])).toEqual([]);
      // At its start 2.0.76 warms up agents of its own.
      const events = recorded.events.filter(({ type }) => type !== 'subagent_stop');
      const { recorded: expected } = scenarios.learn(workspace.project);
      expect(recordingProblems({ ...recorded, events }, expected, workspace.project)).toEqual([]);
      expect(solutionProblems(recorded)).toEqual([]);
      const scenario = scenarios.foreground(workspace.project);
      const second = await clientNamed(workspace, scenario);
      expect(runProblems(second, [])).toEqual([]);
      expect(contextProblems(second.requests, scenario.given)).toEqual([]);
    });
  });
}

suite('the checks notice', () => {
  test('hooks that do nothing', async () => {
    const workspace = await installedStandIn(SILENT);
    const scenario = scenarios.everyOutcome(workspace.project);
    const run = await clientNamed(workspace, scenario);
    const recorded = readRecorded(workspace);
    expect(contextProblems(run.requests, scenario.given)).toContain('executor, turn 0: has no context');
    expect(recordingProblems(recorded, scenario.recorded, workspace.project)).toContain(
      'tool_error: "engine stalled" of Bash is stored 0 times',
    );
    expect(solutionProblems(recorded)).toEqual(['error_kb: 0 solved errors: ']);
  });

  test('hooks that fail, complain, tell everyone, store secrets, never stop and run what the project says', async () => {
    const files = { ...HOSTILE_FILES, ...scenarios.SECRET_FILES };
    const workspace = await installedStandIn(HARMFUL, files);
    await runProductOrThrow(workspace, ['uninstall']);
    const env = { SELF_GENERATION_INTERNAL: '1' };
    await clientNamed(workspace, scenarios.secrets(workspace.project), env);
    const run = await clientNamed(workspace, scenarios.fanOut(workspace.project), env);
    expect(contextProblems(run.requests, ['executor'])).toContain('explorer, turn 0: has context, must not');
    expect(runProblems(run, ['Notification'])).toContain('Notification: no hook was called');
    expect(runProblems(run, [])).toContain('SubagentStart: exit code 1, error');
    expect(runProblems(run, [])).toContain('SubagentStart: stderr: something is wrong\n');
    expect(silenceProblems(run, { events: [], errors: [] })).not.toEqual([]);
    expect(fileSecretProblems(await readStateFiles(workspace), scenarios.SECRETS)).toHaveLength(6);
    expect(existsSync(join(workspace.project, 'preload-ran'))).toBe(true);
  });
});
