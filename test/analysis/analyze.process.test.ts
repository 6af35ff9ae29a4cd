import { describe, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { claimRun, enterClient } from '../../src/analysis/analysis-store.ts';
import { type AnalyzeOptions, analyze } from '../../src/analysis/analyze.ts';
import type { Json } from '../../src/core/guards.ts';
import { type EventType, insertEvent } from '../../src/database/events.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { analysisFiles } from '../../src/runs/model/run.ts';
import { parseConfig } from '../../src/settings/all-settings.ts';
import { decideSuggestion, findSuggestions } from '../../src/suggestions/model/store.ts';
import { currentBoot, identityOf, isSameProcess, RUN_VARIABLE } from '../../src/system/process-identity.ts';
import { withMarker } from '../../src/system/processes.ts';
import { readRows } from '../support/home.ts';
import { PROJECT } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';
import { isoBeforeNow, withDatabase } from '../support/seed.ts';
import { type FakeTurn, makeFakeClient } from './fake-client.ts';
import { madeOptions } from './made-options.ts';

const TIMEOUT_MS = 30_000;
const RULE = { type: 'claude_md', summary: 'Set the port', rule: 'Set the port first.', groups: [1] };
const GOOD: FakeTurn = { text: JSON.stringify({ suggestions: [RULE] }) };

const home = homePerTest();

const seed = (type: EventType, age: number, data: Json) =>
  withDatabase(home.paths, (db) => {
    const where = { sessionId: 's', project: 'app', projectPath: PROJECT };
    insertEvent({ ...where, type, ts: isoBeforeNow(age), data }, db);
  });
const seedFailure = () =>
  seed('tool_error', 2000, { tool: 'Bash', error: 'Error: no port', errorRaw: 'Error: no port' });

function seedPrompts(count: number, from = 0): void {
  for (let n = from; n < from + count; n++) seed('prompt', 1000 - n, { text: `prompt ${n}` });
}

/** As many prompts as an analysis needs, and a failing call. */
function seedEnough(): void {
  seedPrompts(5);
  seedFailure();
}

function setting(turns: readonly FakeTurn[], changes: Partial<AnalyzeOptions> = {}, config: object = {}) {
  const client = makeFakeClient(home.path, turns);
  const options = madeOptions(home, {
    PATH: `${client.directory}:${process.env.PATH}`,
    ANTHROPIC_API_KEY: 'dummy',
    CLAUDE_CODE_MESSAGING_TOKEN: 'of the session around it',
    DATABASE_PASSWORD: 'of the user',
  });
  return { client, options: { ...options, config: parseConfig(config).config, ...changes } };
}

const runs = () =>
  readRows(
    home.paths,
    'SELECT status, reason, cost_usd, input_tokens, suggestion_count FROM analysis_runs ORDER BY id',
  );

describe('analyze()', () => {
  test('stores the proposals, the answer and what it cost', async () => {
    seedEnough();
    const { options } = setting([GOOD]);
    const outcome = await analyze(options);
    const rule = {
      type: 'claude_md',
      text: RULE.rule,
      status: 'new',
      details: { errors: ['Error: no port'] },
    };
    expect(outcome).toMatchObject({ kind: 'done', isCached: false, suggestions: [rule] });
    expect(runs()).toEqual([
      { status: 'done', reason: null, cost_usd: 0.01, input_tokens: 100, suggestion_count: 1 },
    ]);
    const [row] = readRows(home.paths, 'SELECT * FROM analysis_cache');
    const id = outcome.kind === 'done' ? outcome.suggestions[0]?.id : '';
    expect(row).toMatchObject({ project: 'app', project_path: PROJECT, days: 7 });
    expect(JSON.parse(String(row?.analysis))).toMatchObject({
      suggestions: [{ id, rule: 'Set the port first.', project: 'app' }],
    });
  });

  test('asks in a private directory with the settings of the client alone, which is gone afterwards, with nothing of the environment but the login', async () => {
    seedEnough();
    const { client, options } = setting([GOOD]);
    await analyze(options);
    const [call, ...others] = client.calls();
    expect(others).toEqual([]);
    const [directory = '', ...files] = call?.where.trim().split('\n') ?? [];
    expect(directory).toStartWith(`${home.paths.home}/analysis-`);
    expect(files).toEqual(['settings.json', '700']);
    expect(readdirSync(home.paths.home).filter((name) => name.startsWith('analysis-'))).toEqual([]);
    expect(call?.env).toContain('SELF_GENERATION_INTERNAL=1');
    expect(call?.env).toContain('ANTHROPIC_API_KEY=dummy');
    expect(call?.env).not.toMatch(/MESSAGING_TOKEN|DATABASE_PASSWORD/);
    expect(call?.args).not.toContain('prompt 1');
    expect(call?.stdin).toContain('prompt 1');
  });

  test('sends nothing when there is too little to learn from', async () => {
    seedPrompts(4);
    const { client, options } = setting([GOOD]);
    expect(await analyze(options)).toEqual({ kind: 'insufficient', promptCount: 4 });
    expect(client.calls()).toEqual([]);
  });

  test('is made once a day at the ends of sessions, where only lessons are wanted', async () => {
    seedEnough();
    const lessons = { lessons: { model: 'suggest' } };
    const hours = (ago: number) => () => new Date(Date.now() - ago * 3_600_000);
    const at = (ago: number, config: object) =>
      analyze(setting([GOOD], { trigger: 'session-end', now: hours(ago) }, config).options);
    expect(await at(30, lessons)).toMatchObject({ kind: 'done' });
    expect(await at(10, lessons)).toMatchObject({ kind: 'refused', why: 'too-soon' });
    expect(await at(10, { ...lessons, analysisOnSessionEnd: true })).toMatchObject({ kind: 'done' });
  });

  test('learns from failing calls, however little was asked', async () => {
    seedPrompts(1);
    seedFailure();
    const { client, options } = setting([GOOD]);
    expect(await analyze(options)).toMatchObject({ kind: 'done', suggestions: [{ type: 'claude_md' }] });
    expect(client.calls()).toHaveLength(1);
  });

  // D6: upstream's hash did not see the content, and so never met the cache.
  test('sends the same log only once, and a longer one again', async () => {
    seedEnough();
    const { client, options } = setting([GOOD]);
    await analyze(options);
    const suggestions = [{ text: RULE.rule }];
    expect(await analyze(options)).toMatchObject({ kind: 'done', isCached: true, suggestions });
    expect(client.calls()).toHaveLength(1);
    seedPrompts(1, 5);
    expect(await analyze(options)).toMatchObject({ kind: 'done', isCached: false });
    expect(await analyze({ ...options, model: 'opus' })).toMatchObject({ isCached: false });
    expect(client.calls()).toHaveLength(3);
  });

  test('sends the same log only once, though the effects of a rule are other ones on another day', async () => {
    seedEnough();
    const { client, options } = setting([GOOD]);
    const outcome = await analyze(options);
    const id = outcome.kind === 'done' ? (outcome.suggestions[0]?.id ?? '') : '';
    withDatabase(home.paths, (db) => {
      const [rule] = findSuggestions(id, db);
      const verdict = { kind: 'applied', applied: {} } as const;
      if (rule) decideSuggestion(rule, verdict, isoBeforeNow(2.5 * 86_400), db);
    });
    expect(await analyze(options)).toMatchObject({ isCached: false });
    const tomorrow = { ...options, now: () => new Date(Date.now() + 86_400_000) };
    expect(await analyze(tomorrow)).toMatchObject({ isCached: true });
    const effects = client
      .calls()
      .map(({ stdin }) => /"ruleEffects": \[(?:\n.*"windowDays":2,)?/.exec(stdin)?.[0]);
    expect(effects).toEqual(['"ruleEffects": [', expect.stringContaining('"windowDays":2')]);
  });

  test('asks once more when the answer cannot be used, and adds the costs', async () => {
    seedEnough();
    const { client, options } = setting([{ text: 'Sorry, here is a poem.' }, GOOD]);
    const suggestions = [{ text: RULE.rule }];
    expect(await analyze(options)).toMatchObject({ kind: 'done', suggestions, dropped: [] });
    expect(client.calls()).toHaveLength(2);
    expect(client.calls()[1]?.stdin).toContain('there is no JSON object in the answer');
    expect(runs()).toMatchObject([{ status: 'done', cost_usd: 0.02, input_tokens: 200 }]);
  });

  test('asks no third time, and says why it failed', async () => {
    seedEnough();
    const { client, options } = setting([{ text: 'no' }]);
    const reason = expect.stringContaining('no JSON object');
    expect(await analyze(options)).toMatchObject({ kind: 'failed', reason });
    expect(client.calls()).toHaveLength(2);
    expect(runs()).toMatchObject([{ status: 'failed', cost_usd: 0.02, suggestion_count: null }]);
    expect(readRows(home.paths, 'SELECT * FROM analysis_cache')).toEqual([]);
  });

  test('keeps what is good of an answer that stays bad in parts, and says what it dropped', async () => {
    seedEnough();
    const bad = { ...RULE, type: 'skill', skillName: '../../escaped', action: 'x' };
    const { options } = setting([{ text: JSON.stringify({ suggestions: [RULE, bad] }) }]);
    const outcome = await analyze(options);
    expect(outcome).toMatchObject({ kind: 'done', suggestions: [{ type: 'claude_md' }] });
    expect(outcome.kind === 'done' && outcome.dropped.join()).toContain('suggestions[1].skillName');
    expect(runs()).toMatchObject([{ status: 'done', reason: expect.stringContaining('skillName') }]);
  });

  const refused = (result: string): FakeTurn => ({
    raw: JSON.stringify({ type: 'result', subtype: 'success', is_error: true, result }),
    exitCode: 1,
  });
  const failures: [string, FakeTurn, RegExp][] = [
    ['fails', { raw: '', exitCode: 1 }, /exit code 1/],
    ['prints rubbish', { raw: 'Segmentation fault', exitCode: 0 }, /Segmentation fault/],
    ['prints half an answer', { raw: '{"type":"result","subtype":"success","resu', exitCode: 0 }, /./],
    ['is refused', refused('Invalid API key'), /Invalid API key/],
  ];
  test.each(failures)('keeps the reason when the client %s', async (_what, turn, reason) => {
    seedEnough();
    const { client, options } = setting([turn]);
    expect(await analyze(options)).toMatchObject({ kind: 'failed', reason: expect.stringMatching(reason) });
    expect(runs()).toMatchObject([{ status: 'failed', reason: expect.stringMatching(reason) }]);
    expect(client.calls()).toHaveLength(1);
  });

  const KEY = `sk-ant-api03-${'a1B2c3D4e5'.repeat(8)}`;
  test.each([
    ['with a secret in it', `401 for ${KEY}`],
    ['that was cut in a secret', `${'x '.repeat(140)}401 for ${KEY}`],
  ])('keeps a reason %s without it', async (_what, message) => {
    seedEnough();
    const outcome = await analyze(setting([refused(message)]).options);
    expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringContaining('401 for') });
    expect(JSON.stringify([outcome, runs()])).not.toContain('sk-ant');
  });

  test('keeps the reason when the client is not installed', async () => {
    seedEnough();
    const { options } = setting([GOOD]);
    const env = { ...options.env, PATH: '/nowhere' };
    const reason = expect.stringContaining('claude');
    expect(await analyze({ ...options, env })).toMatchObject({ kind: 'failed', reason });
    expect(runs()).toMatchObject([{ status: 'failed', cost_usd: 0 }]);
  });

  test('leaves its client to a running analysis, ends it with that one, and keeps that', async () => {
    seedEnough();
    const interrupt = new AbortController();
    const { client, options } = setting(['hang'], { signal: interrupt.signal });
    const analysis = analyze(options);
    while (client.calls().length === 0) await Bun.sleep(5);
    const second = await analyze({ ...options, model: 'opus' });
    expect(second).toMatchObject({ kind: 'refused', why: 'running' });
    const pid = readRows(home.paths, 'SELECT client_pid FROM analysis_runs')[0]?.client_pid;
    expect(identityOf(Number(pid))).toBeDefined();
    interrupt.abort();
    expect(await analysis).toMatchObject({ kind: 'failed', reason: expect.stringContaining('interrupted') });
    expect(runs()).toMatchObject([{ status: 'failed' }]);
    const left = Bun.spawnSync(['pgrep', '-f', client.directory]).stdout.toString().trim();
    expect(left).toBe('');
  });

  test('keeps to the budget of the day, and tells the client what is left of it', async () => {
    seedEnough();
    const costly: FakeTurn = { text: JSON.stringify({ suggestions: [] }), costUsd: 0.3 };
    const { client, options } = setting([costly], {}, { analysisDailyBudgetUsd: 0.5 });
    expect(await analyze({ ...options, budgetUsd: 0.5 })).toMatchObject({ kind: 'done' });
    expect(await analyze({ ...options, model: 'opus', budgetUsd: 0.1 })).toMatchObject({ kind: 'done' });
    const spent = { spentUsd: 0.6, assumedUsd: 0, budgetUsd: 0.5, runsMax: 24 };
    expect(await analyze({ ...options, model: 'haiku' })).toEqual({
      kind: 'refused',
      why: 'budget',
      ...spent,
    });
    const budgets = client.calls().map(({ args }) => /--max-budget-usd=([\d.]+)/.exec(args)?.[1]);
    expect(budgets).toEqual(['0.5', '0.1']);
  });

  test('counts what it granted to a client that was interrupted before it could say what it took', async () => {
    seedEnough();
    for (const [index, budgetUsd] of [undefined, 0.4, undefined].entries()) {
      const interrupt = new AbortController();
      const { client, options } = setting(['hang'], { signal: interrupt.signal, budgetUsd });
      const analysis = analyze(options);
      while (client.calls().length === index) await Bun.sleep(5);
      interrupt.abort();
      expect(await analysis).toMatchObject({ kind: 'failed', usage: { costUsd: null } });
    }
    const granted = readRows(home.paths, 'SELECT cost_usd, budget_usd FROM analysis_runs ORDER BY id');
    expect(granted).toEqual([
      { cost_usd: null, budget_usd: 0.5 },
      { cost_usd: null, budget_usd: 0.4 },
      { cost_usd: null, budget_usd: expect.closeTo(0.1) },
    ]);
    const { options } = setting([GOOD]);
    expect(await analyze(options)).toMatchObject({ kind: 'refused', why: 'budget', assumedUsd: 1 });
  });

  const CODEX_ANSWER: FakeTurn = {
    raw: [
      { type: 'item.completed', item: { type: 'agent_message', text: '{"suggestions":[]}' } },
      { type: 'turn.completed', usage: { input_tokens: 9, output_tokens: 1 } },
    ]
      .map((event) => JSON.stringify(event))
      .join('\n'),
    exitCode: 0,
  };

  test('lets a client that reports no price run eight times a day', async () => {
    seedEnough();
    const { options } = setting([], { cli: 'codex' });
    makeFakeClient(home.path, [CODEX_ANSWER], 'codex');
    for (let run = 0; run < 8; run++)
      expect(await analyze({ ...options, model: `m${run}` })).toMatchObject({ kind: 'done' });
    const refusal = { kind: 'refused', why: 'budget', spentUsd: 1, assumedUsd: 1 };
    expect(await analyze({ ...options, model: 'm8' })).toMatchObject(refusal);
  });

  const models: [string, Partial<AnalyzeOptions>, object, string | undefined][] = [
    ["claude's default", {}, {}, 'sonnet'],
    ['the configured one', {}, { analysisModel: 'opus' }, 'opus'],
    ['none for another program', { cli: 'codex' }, {}, undefined],
    ['none of another program', { cli: 'codex' }, { analysisModel: 'opus' }, undefined],
    ['that of its own program', { cli: 'codex' }, { analysisCli: 'codex', analysisModel: 'gpt' }, 'gpt'],
    ["claude's default again", {}, { analysisCli: 'codex', analysisModel: 'gpt' }, 'sonnet'],
    ['the one that was asked for', { cli: 'codex', model: 'o5' }, { analysisModel: 'opus' }, 'o5'],
  ];
  test.each(models)('asks for a model: %s', async (_what, changes, config, model) => {
    seedEnough();
    const { client, options } = setting([GOOD], changes, config);
    makeFakeClient(home.path, [CODEX_ANSWER], 'codex');
    await analyze(options);
    expect(/--model=(\S+)/.exec(client.calls()[0]?.args ?? '')?.[1]).toBe(model as string);
  });

  /** A row of an analysis whose process is gone, and the files of its client. */
  function leaveBehind(ts = isoBeforeNow(60)) {
    return writeDatabase(home.paths, (db) => {
      const where = { project: 'app', projectPath: PROJECT, days: 7, cli: 'claude', model: null };
      const limits = { notSince: null, budgetSince: '', budgetUsd: 1, runsMax: 9, grantUsdMax: 0.1 };
      // Another process has its id by now.
      const holder = { pid: process.pid, start: '0', boot: currentBoot() };
      const claim = claimRun({ ...where, ts, process: holder, trigger: 'command' }, limits, db);
      if (claim.kind === 'refused') throw new Error(claim.why);
      const files = analysisFiles(home.paths, { id: claim.id, ts });
      mkdirSync(files.home, { recursive: true });
      return { id: claim.id, files };
    });
  }

  for (const isEntered of [true, false]) {
    const when = isEntered ? 'also what has left its session' : 'also before it was written down';
    test(
      `ends the client that a killed analysis left behind, ${when}, and removes its directory`,
      async () => {
        seedEnough();
        const { client, options } = setting([GOOD], { trigger: 'session-end' });
        const { id, files } = leaveBehind();
        const script = 'trap "" TERM; setsid sleep 600 & echo ready; while :; do sleep 600; done';
        const env = { PATH: process.env.PATH, [RUN_VARIABLE]: files.mark };
        const left = spawn('sh', ['-c', script], {
          detached: true,
          env,
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        await once(left.stdout, 'data');
        const identity = identityOf(left.pid ?? 0);
        if (identity === undefined) throw new Error('It has not begun');
        if (isEntered) writeDatabase(home.paths, (db) => enterClient(id, identity, db));
        mkdirSync(`${home.paths.home}/backups`);
        // Whatever becomes of this analysis itself: here it is too soon for it.
        expect(await analyze(options)).toMatchObject({ kind: 'refused', why: 'too-soon' });
        expect(withMarker({ name: RUN_VARIABLE, value: files.mark })).toEqual([]);
        expect(isSameProcess(identity)).toBe(false);
        expect([files.directory, `${home.paths.home}/backups`].map(existsSync)).toEqual([false, true]);
        expect(runs()).toMatchObject([{ status: 'failed', cost_usd: isEntered ? null : 0 }]);
        expect(await analyze({ ...options, trigger: 'command' })).toMatchObject({ kind: 'done' });
        expect(client.calls()).toHaveLength(1);
      },
      TIMEOUT_MS,
    );
  }

  test('of a session that ended is refused before the log is read', async () => {
    seedEnough();
    const { options } = setting([GOOD], { trigger: 'session-end' });
    await analyze(options);
    withDatabase(home.paths, (db) => db.sqlite.exec('DROP TABLE events'));
    expect(await analyze(options)).toMatchObject({ kind: 'refused', why: 'too-soon' });
  });

  test('makes no database to look at', async () => {
    const { options } = setting([GOOD]);
    expect(await analyze(options)).toEqual({ kind: 'insufficient', promptCount: 0 });
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('of a session that ended keeps the interval between two of a project', async () => {
    seedEnough();
    const { client, options } = setting([GOOD], { trigger: 'session-end' });
    await analyze(options);
    seedPrompts(1, 5);
    expect(await analyze(options)).toMatchObject({ kind: 'refused', why: 'too-soon' });
    expect(await analyze({ ...options, trigger: 'command' })).toMatchObject({ kind: 'done' });
    expect(client.calls()).toHaveLength(2);
  });
});
