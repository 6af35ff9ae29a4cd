import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { analyzeCommand } from '../../src/cli/analyze.ts';
import { suggestionsCommand } from '../../src/cli/suggestions/suggestions.ts';
import { insertEvent } from '../../src/database/events.ts';
import { spool } from '../../src/hooks/store/record.ts';
import { withMarker } from '../../src/system/processes.ts';
import { makeFakeClient } from '../analysis/fake-client.ts';
import { madeCalls, storeCalls } from '../analysis/made-calls.ts';
import { type Home, readRows, temporaryHome } from '../support/home.ts';
import { BINARY } from '../support/program.ts';
import { isoBeforeNow, withDatabase } from '../support/seed.ts';
import { call, callHere, printed, refused, said } from './call.ts';

const SHOP = '/home/dev/shop';
const SUGGESTIONS = [
  { type: 'claude_md', summary: 'Set the \u001b[31mport', rule: 'Set the port first.' },
  { type: 'skill', summary: 'Deploy', skillName: 'deploy', action: 'Deploy it.' },
];
const ANSWER = JSON.stringify({
  clusters: [{ summary: 'deploys', intent: 'setup', count: 4 }],
  workflows: [{ pattern: 'Read → Edit', count: 3, purpose: 'fixing', sessions: 2 }],
  errorPatterns: [{ pattern: 'no port', count: 2 }],
  suggestions: SUGGESTIONS,
});

function record(home: Home, projectPath = SHOP, prompts = 5): Home {
  withDatabase(home.paths, (db) => {
    const where = { sessionId: 's', project: projectPath.split('/').at(-1) ?? '', projectPath };
    for (let n = 0; n < prompts; n++) {
      const data = { text: `${projectPath} ${n}` };
      insertEvent({ ...where, type: 'prompt', ts: isoBeforeNow(100 - n), data }, db);
    }
  });
  return home;
}

const analyze = (home: Home, words: readonly string[], cwd = SHOP) => {
  const { directory } = makeFakeClient(home.path, [{ text: ANSWER }]);
  const env = { HOME: home.path, PATH: `${directory}:${process.env.PATH}` };
  return callHere(analyzeCommand, words, { env, cwd, now: () => new Date() });
};

describe('analyze', () => {
  test('--dry-run prints what would be sent, sends nothing and keeps nothing of it', async () => {
    using home = record(temporaryHome());
    const { stdout, stderr, code } = await analyze(home, ['--dry-run']);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`"text":"${SHOP} 4"`)]);
    expect(stderr).toContain('bytes; nothing was sent.');
    expect(readRows(home.paths, 'SELECT * FROM analysis_runs')).toEqual([]);
    expect(existsSync(`${home.path}/fake-state/stdin-1`)).toBe(false);
    const json = JSON.parse((await analyze(home, ['--dry-run', '--json'])).stdout);
    const bytes = Buffer.byteLength(stdout);
    expect(json).toMatchObject({ cli: 'claude', promptCount: 5, prompt: stdout, bytes });
  });

  test('prints what recurs and what is proposed, without escape sequences of the model', async () => {
    using home = record(temporaryHome());
    const stdout = printed(await analyze(home, []));
    expect(stdout).toMatch(/^Analysis of shop\n/);
    for (const line of ['4 × setup: deploys', '3 × Read → Edit fixing', '2 × no port'])
      expect(stdout).toContain(`  ${line}`);
    expect(stdout).toMatch(/ {2}s[0-9a-z]{9,11} {2}\[claude_md\] Set the port\n/);
    expect(stdout).not.toContain('\u001b');
    expect((await analyze(home, [])).stdout).toContain('nothing was sent');
  });

  test('prints the whole outcome as JSON', async () => {
    using home = record(temporaryHome());
    const outcome = JSON.parse((await analyze(home, ['--json'])).stdout);
    const done = { kind: 'done', isCached: false, usage: { costUsd: 0.01 } };
    expect(outcome).toMatchObject({ ...done, suggestions: [{}, {}] });
    expect(Object.keys(outcome.suggestions[0])).toEqual(
      expect.arrayContaining(['id', 'type', 'status', 'summary', 'evidence']),
    );
  });

  test('says that there is too little to analyse, which is no failure', async () => {
    using home = record(temporaryHome(), SHOP, 2);
    expect(await analyze(home, [])).toEqual(
      said('Too little to analyse: no failing call and 2 prompts recorded, 5 are needed.\n'),
    );
  });

  test('says that prompts are not collected, when that is why there are too few', async () => {
    using home = record(temporaryHome(), SHOP, 2);
    home.writeConfig({ collectPromptText: false });
    expect((await analyze(home, [])).stdout).toBe(
      'Too little to analyse: what you type is not collected (collectPromptText is false); ' +
        'an analysis needs 5 of them, and there are 2.\n',
    );
  });

  for (const words of [[], ['--dry-run'], ['--json'], ['--dry-run', '--json']]) {
    test(`makes no database to look at: ${words.join(' ')}`, async () => {
      using home = temporaryHome();
      const { code, stdout, stderr } = await analyze(home, words);
      expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(/Too little|"promptCount": 0/)]);
      expect(existsSync(home.paths.home)).toBe(false);
    });
  }

  test('exits with 3 for a path of which nothing is recorded, and names what there is', async () => {
    using home = temporaryHome();
    const path = `${home.path}/no/such/place`;
    expect(await analyze(home, ['--project', path])).toEqual(
      refused(3, `error: Cannot find the project "${path}": nothing is recorded of it.\n`),
    );
    expect(existsSync(home.paths.home)).toBe(false);
    record(home);
    const { code, stderr } = await analyze(home, ['--project', path, '--dry-run']);
    expect([code, stderr]).toEqual([3, expect.stringContaining(`. Give a path: ${SHOP}.\n`)]);
  });

  test('knows a path of which something waits in the spool', async () => {
    using home = temporaryHome();
    const where = { sessionId: 's', project: 'shop', projectPath: SHOP, agentId: null, agentType: null };
    const at = { ...where, ts: isoBeforeNow(9) };
    spool([{ kind: 'prompt', at, text: 'hello', charCount: 5 }], home.paths, Date.now());
    expect((await analyze(home, ['--project', SHOP])).stdout).toStartWith(
      'Too little to analyse: no failing call and 1 prompts',
    );
  });

  test('takes a project by its name, and all of them', async () => {
    using home = record(temporaryHome());
    record(home, '/home/dev/other');
    expect((await analyze(home, ['--dry-run', '--project', 'other'])).stdout).not.toContain(`${SHOP} 4`);
    const all = (await analyze(home, ['--dry-run', '--project', 'all'])).stdout;
    expect(all).toContain(`${SHOP} 4`);
    expect(all).toContain('/home/dev/other 4');
    expect((await analyze(home, ['--dry-run', '--project', SHOP], '/home/dev')).stdout).toContain(
      `${SHOP} 4`,
    );
  });

  test('exits with 3 for a project that it does not know, or knows twice, and names what there is', async () => {
    using home = record(temporaryHome());
    record(home, '/home/dev/old/shop');
    const unknown = await analyze(home, ['--project', 'nothing']);
    expect([unknown.code, unknown.stdout]).toEqual([3, '']);
    expect(unknown.stderr).toContain(
      `error: Cannot find the project "nothing": nothing is recorded of it. Give a path: `,
    );
    const twice = await analyze(home, ['--project', 'shop']);
    expect([twice.code, twice.stderr]).toEqual([3, expect.stringContaining('more than one has this name')]);
  });

  test('exits with 5 when the budget is spent', async () => {
    using home = record(temporaryHome());
    home.writeConfig({ analysisDailyBudgetUsd: 0.01 });
    await analyze(home, []);
    record(home, SHOP, 1);
    const spent = '0.01 USD were spent in 24 hours, 0.01 are allowed (analysisDailyBudgetUsd)';
    expect(await analyze(home, [])).toEqual(refused(5, `error: Cannot analyse now: ${spent}.\n`));
    const json = await analyze(home, ['--json']);
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([5, { kind: 'refused', why: 'budget' }]);
  });

  test('says how much of the budget is assumed, and that so many were started', async () => {
    using home = record(temporaryHome());
    const state = (sql: string) => withDatabase(home.paths, (db) => db.sqlite.exec(sql));
    await analyze(home, []);
    record(home, SHOP, 1);
    state('UPDATE analysis_runs SET cost_usd = NULL, budget_usd = 1');
    const assumed = '1.00 of it is what analyses whose cost is not known were granted';
    const spent = `1.00 USD were spent in 24 hours (${assumed}), 1 are allowed (analysisDailyBudgetUsd)`;
    expect((await analyze(home, [])).stderr).toBe(`error: Cannot analyse now: ${spent}.\n`);
    state('UPDATE analysis_runs SET cost_usd = 0');
    for (let n = 0; n < 23; n++)
      state(`INSERT INTO analysis_runs(ts, trigger, status, project, days, cli, cost_usd)
        SELECT ts, trigger, status, project, days, cli, 0 FROM analysis_runs LIMIT 1`);
    const words = '24 analyses were started in 24 hours, and no more are allowed; wait';
    expect(await analyze(home, [])).toEqual(refused(5, `error: Cannot analyse now: ${words}.\n`));
  });

  test('exits with 1 and the reason when the client cannot be run', async () => {
    using home = record(temporaryHome());
    const env = { HOME: home.path, PATH: '/nowhere' };
    const { code, stderr } = await callHere(analyzeCommand, [], { env, cwd: SHOP });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: Cannot analyse: .*claude.*"self-generation status" keeps the record\.\n$/,
    );
  });

  const wrong: readonly (readonly [words: string, message: string])[] = [
    ...['--days 0', '--days many', '--days 5000'].map((words) => [words, 'above 0, at most 3650.'] as const),
    ...['--budget -1', '--budget 5000'].map((words) => [words, 'above 0, at most 1000.'] as const),
    ['--cli cursor', 'Allowed choices are claude'],
    ['--frob', 'unknown option'],
  ];
  for (const [words, message] of wrong) {
    test(`exits with 2 and what may be said for ${words}`, async () => {
      using home = temporaryHome();
      expect(await analyze(home, words.split(' '))).toEqual(refused(2, expect.stringContaining(message)));
    });
  }

  /** The built program with a client that never answers, once that has been asked. */
  async function hanging(home: Home) {
    record(home);
    const { directory, calls } = makeFakeClient(home.path, ['hang']);
    const env = { PATH: `${directory}:${process.env.PATH}`, HOME: home.path };
    const nothing = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const;
    const child = Bun.spawn([BINARY, 'analyze', '--project', SHOP], { env, ...nothing });
    while (calls().length === 0) await Bun.sleep(10);
    const left = () => ({
      processes: withMarker({ name: 'HOME', value: home.path }),
      directories: readdirSync(home.paths.home).filter((name) => name.startsWith('analysis-')),
    });
    return { child, env, left };
  }
  const NOTHING = { processes: [], directories: [] };

  test('is what the built program does when it is killed, and goes on afterwards', async () => {
    using home = temporaryHome();
    const { child, env, left } = await hanging(home);
    expect((await call(home, ['analyze', '--project', SHOP], { env })).exitCode).toBe(5);
    child.kill('SIGKILL');
    await child.exited;
    makeFakeClient(home.path, [{ text: ANSWER }]);
    expect(left().processes.length).toBeGreaterThan(2);
    expect(left().directories).toHaveLength(1);
    const again = await call(home, ['analyze', '--project', SHOP], { env });
    expect([again.exitCode, again.stderr]).toEqual([0, '']);
    expect(readRows(home.paths, 'SELECT status, reason FROM analysis_runs ORDER BY id')).toEqual([
      { status: 'failed', reason: 'ended without a word' },
      { status: 'done', reason: null },
    ]);
    expect(left()).toEqual(NOTHING);
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    test(`leaves nothing behind when the built program is asked to end by ${signal}`, async () => {
      using home = temporaryHome();
      const { child, left } = await hanging(home);
      child.kill(signal);
      expect(await child.exited).toBe(1);
      expect(left()).toEqual(NOTHING);
      expect(readRows(home.paths, 'SELECT status, reason FROM analysis_runs')).toEqual([
        { status: 'failed', reason: expect.stringContaining('interrupted') },
      ]);
    });
  }
});

describe('analyze --answer', () => {
  const LESSON = { group: 1, advice: 'Use `npm run test` here.', kind: 'command', confidence: 0.9 };
  const shop = (): Home => {
    const home = temporaryHome();
    const failed = { line: 'npm tests', said: 'Unknown command: tests', projectPath: SHOP };
    const calls = madeCalls([failed, { line: 'npm run test', projectPath: SHOP }], isoBeforeNow(60));
    withDatabase(home.paths, (db) => storeCalls(calls, db));
    return home;
  };
  const answer = (home: Home, value: unknown) => {
    writeFileSync(`${home.path}/answer.json`, JSON.stringify(value));
    return analyze(home, ['--answer', `${home.path}/answer.json`]);
  };

  test('takes an answer of somebody through the same checks, and sends nothing', async () => {
    using home = shop();
    const wrong = { ...LESSON, group: 7 };
    const { code, stdout, stderr } = await answer(home, { suggestions: [], lessons: [LESSON, wrong] });
    expect([code, stderr]).toEqual([0, 'left out: lessons[1]: there is no group 7\n']);
    expect(stdout).toMatch(/\[lesson\] What helps when "npm tests" fails: Use `npm run test` here\./);
    expect(existsSync(`${home.path}/fake-state/stdin-1`)).toBe(false);
    expect(readRows(home.paths, 'SELECT * FROM analysis_runs')).toEqual([]);
    const listed = await callHere(suggestionsCommand, [], { env: { HOME: home.path }, cwd: SHOP });
    expect(listed.stdout).toContain('Use `npm run test` here.');
  });

  test('says which commands are told at once, and proposes the lesson, where the user wants that', async () => {
    using home = shop();
    writeFileSync(home.paths.config, JSON.stringify({ lessons: { model: 'daily' } }));
    const { stdout } = await answer(home, { suggestions: [], lessons: [LESSON] });
    expect(stdout).toContain('Commands that agents are told from now on');
    expect(stdout).toMatch(/list(?:s|ed).*\n {2}`npm run test`\n/);
    expect(stdout).toMatch(/\[lesson\] What helps when "npm tests" fails: Use `npm run test` here\./);
  });

  test('exits with 1 for an answer that is none, and for a file that is not there', async () => {
    using home = shop();
    expect(await answer(home, 'nothing')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no JSON object'),
    });
    const { code, stderr } = await analyze(home, ['--answer', `${home.path}/none.json`]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('Cannot read the answer')]);
    expect(await analyze(home, ['--answer', 'x', '--dry-run'])).toMatchObject({ code: 2 });
  });
});
