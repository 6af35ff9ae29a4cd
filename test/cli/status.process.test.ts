import { describe, expect, test } from 'bun:test';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { claimRun, endRun } from '../../src/analysis/analysis-store.ts';
import { statusCommand } from '../../src/cli/status.ts';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { saveProposals } from '../../src/suggestions/model/store.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { PROJECT } from '../support/payloads.ts';
import { seedErrors, seedFixes } from '../support/seed.ts';
import { call, callHere, printed, said } from './call.ts';
import { ELSEWHERE, newShelf, ONE_AT_A_TIME } from './subagents/shelf.ts';

const status = (home: Home, ...words: string[]) =>
  callHere(statusCommand, words, { env: { HOME: home.path } });

/** Longer than any screen is wide. */
const LONG = {
  error: `Error: ${'long '.repeat(40).trim()}`,
  resolution: `run: npm run check --workspace ${'packages/one/two/'.repeat(12)}web -- --fix --quiet`,
};

function learned(): Home {
  const home = temporaryHome();
  seedErrors(home.paths, [{ error: 'Error: a' }, { error: 'Error: b' }]);
  seedFixes(home.paths, [
    { error: 'Error: a', resolution: JSON.stringify({ summary: 'ran "npm install"' }), useCount: 3 },
    { error: `${LONG.error}\x1b[31m`, resolution: LONG.resolution },
  ]);
  return home;
}

describe('status', () => {
  test('says that nothing is recorded, and makes nothing', async () => {
    using home = temporaryHome();
    expect(await status(home)).toEqual(
      said(
        `self-generation on  ${home.paths.home}\nNothing recorded yet.\nNext: "self-generation install" sets it up in the clients that are there.\n`,
      ),
    );
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('counts errors without a fix, but none that is solved or whose lesson was withdrawn', async () => {
    using home = temporaryHome();
    const states = { a: undefined, b: 'open', c: 'solved', d: 'withdrawn' };
    const error = (name: string) => ({ error: `Error: number ${name}`, resolution: null });
    const open = Object.entries(states).map(([name, state]) => ({ ...error(name), ...(state && { state }) }));
    seedFixes(home.paths, [...open, { error: 'Error: with a fix', resolution: 'ran it', state: 'open' }]);
    expect((await status(home)).stdout).toContain('Lessons: 1, open errors without one: 2\n');
  });

  test('counts what is recorded and shows the newest lessons, each as a whole that can be copied', async () => {
    using home = learned();
    const stdout = printed(await status(home));
    expect(stdout).toContain('Events: 2 tool_error in 1 project\n');
    expect(stdout).toContain('Lessons: 2, open errors without one: 0\n');
    expect(stdout).toContain(
      '\nError: a\n  ran "npm install"\n  failed 0 times · the fix worked 3 times · told 0\n',
    );
    expect(stdout).toContain(`\n${LONG.error}\n  ${LONG.resolution}\n`);
    expect(stdout).not.toContain('\x1b');
  });

  test('prints all of that as JSON', async () => {
    using home = learned();
    const { stdout, stderr } = await status(home, '--json');
    expect(stderr).toBe('');
    const value = JSON.parse(stdout);
    const database = { kind: 'sound', counts: { events: { tool_error: 2 }, knownFixes: 2 } };
    expect(value).toMatchObject({ home: home.paths.home, enabled: true, waiting: 0, database });
    expect(value.newestFixes).toHaveLength(2);
    expect(Object.keys(value.lastSeen)).toEqual([...new Set(HOOKS.map((hook) => hook.event))]);
  });

  test('shows what sub-agents were given, what analyses cost or why they failed, and what waits for a decision', async () => {
    using home = learned();
    writeDatabase(home.paths, (db) => {
      const process = { pid: 1, start: '0', boot: '' };
      const ts = '2026-11-20T09:00:00.000Z';
      const run = { ts, process, trigger: 'command', days: 7, cli: 'claude' } as const;
      const since = { staleBefore: '', notSince: null, budgetSince: '' };
      const limits = { ...since, budgetUsd: 9, runsMax: 9, isGone: () => true };
      const end = { ts: run.ts, promptBytes: 1, inputTokens: 1, outputTokens: 1 };
      for (const result of [
        { status: 'done', reason: null, model: 'sonnet', costUsd: 0.1234, suggestionCount: 2 },
        { status: 'failed', reason: 'Invalid API key', model: null, costUsd: null, suggestionCount: null },
      ] as const) {
        const claim = claimRun({ ...run, project: 'app', projectPath: PROJECT, model: null }, limits, db);
        if (claim.kind === 'claimed') endRun(claim.id, { ...end, ...result }, db);
      }
      const text = { summary: 's', evidence: '', text: 't' };
      const proposal = { type: 'claude_md', ...text, priority: 0, details: {} } as const;
      saveProposals([proposal], { ts: run.ts, project: 'app', projectPath: PROJECT, origin: 'analysis' }, db);
    });
    const text = '<record note="x">\nrecent errors:\n- \u001b[31mx\n</record>';
    const note = { sessionId: 's', agentId: 'abc', agentType: 'executor', project: 'app', text };
    home.put('.self-generation/given/abc.json', JSON.stringify({ ts: '2026-11-20T09:00:00.000Z', ...note }));
    const stdout = printed(await status(home));
    expect(stdout).toContain('1 suggestion waiting for your decision.');
    expect(stdout).toMatch(/\n47 min ago +app +claude sonnet +2 suggestions +0\.1234 *\n/);
    expect(stdout).toMatch(/\n47 min ago +app +claude +failed: Invalid API key +\? *\n/);
    expect(stdout).toContain('\n47 min ago  executor  app\n  recent errors:\n  - x\n');
    expect(stdout).not.toContain('\x1b');
    const { learning } = JSON.parse((await status(home, '--json')).stdout);
    expect(learning).toMatchObject({
      runs: [{ status: 'failed' }, { status: 'done', costUsd: 0.1234 }],
      suggestions: { new: 1 },
      given: [{ agentId: 'abc', text: note.text }],
    });
  });

  test('says when hooks are switched off and when recordings wait', async () => {
    using home = temporaryHome();
    home.writeConfig({ enabled: false });
    home.put('.self-generation/spool/1.json', '[]');
    const { stdout } = await status(home);
    expect(stdout).toContain('off (enabled: false)');
    expect(stdout).toContain('1 recording waiting for the database\n');
    expect(existsSync(`${home.paths.spool}/1.json`)).toBe(true);
  });

  test('shows how background runs stand, and the next step', async () => {
    using shelf = newShelf(ONE_AT_A_TIME);
    const here = { env: { HOME: shelf.home.path }, cwd: shelf.project };
    const shown = async (cwd = shelf.project) => (await callHere(statusCommand, [], { ...here, cwd })).stdout;
    const runs = async () => JSON.parse((await callHere(statusCommand, ['--json'], here)).stdout).runs;
    expect([await runs(), (await shown()).includes('Sub-agents')]).toEqual([null, false]);
    const turn = shelf.start();
    shelf.queue({ requester: ELSEWHERE });
    expect(await shown()).toContain(
      'Sub-agents: 2 active (1 waiting), 0 results not read\n  See "self-generation subagents list --all-projects".\n',
    );
    shelf.end(turn, {}, {});
    expect(await shown()).toContain(
      'Sub-agents: 1 active (1 waiting), 1 result not read (1 here)\n  Read with "self-generation subagents inbox".\n',
    );
    expect(await shown('/')).toContain(
      '1 result not read\n  Read with "self-generation subagents inbox" in the project',
    );
    expect(await runs()).toEqual({ active: 1, waiting: 1, undelivered: 1, undeliveredHere: 1 });
    writeFileSync(shelf.home.paths.runsDatabase, 'no database');
    expect(await runs()).toBeNull();
  });

  test('exits with 1 for a database that cannot be read, and says where to go on', async () => {
    using home = temporaryHome();
    home.put('.self-generation/data/self-gen.db', 'no database at all, but a text'.repeat(100));
    const { stdout, stderr, exitCode } = await call(home, ['status']);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 1 });
    expect(stdout).toContain('The database cannot be read. Run "self-generation doctor".\n');
    const json = await call(home, ['status', '--json']);
    expect(json.exitCode).toBe(1);
    expect(JSON.parse(json.stdout).database).toMatchObject({ kind: 'unreadable' });
  });

  test('exits with 1 for a damaged database', async () => {
    using home = learned();
    const file = Bun.file(home.paths.database);
    const half = Buffer.from(await file.arrayBuffer()).subarray(0, 8192);
    rmSync(`${home.paths.database}-wal`, { force: true });
    writeFileSync(home.paths.database, half);
    const { stdout, code } = await status(home, '--json');
    expect(code).toBe(1);
    expect(['damaged', 'unreadable']).toContain(JSON.parse(stdout).database.kind);
  });
});
