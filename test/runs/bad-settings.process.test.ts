import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { sendToRun } from '../../src/runs/send.ts';
import { retryRun, spawnRun } from '../../src/runs/spawn.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { activeTurns, endTurn, getTurn } from '../../src/runs/store/turns.ts';
import type { RunsWorld } from '../../src/runs/world.ts';
import { madeEnding } from '../support/made-run.ts';
import { accepted, runsHome } from './runs-home.ts';

/** A run that has ended and could go on, and settings that went bad afterwards. */
function bench() {
  const runs = runsHome();
  const { paths } = runs.home;
  const world: RunsWorld = { ...runs.world, executablePath: '/bin/true', isCompiled: true };
  const { runId } = accepted(spawnRun({ task: 'quick' }, runs.requester, world));
  withRuns(paths, (db) => {
    const turn = getTurn(runId, 1, db);
    if (turn !== undefined) endTurn(turn, madeEnding(), null, db);
    db.run('UPDATE runs SET session_id = ? WHERE id = ?', 's-1', runId);
  });
  const actions = {
    spawn: () => spawnRun({ task: 'another' }, runs.requester, world),
    retry: () => retryRun(runId, runs.requester, world),
    send: () => sendToRun(runId, 'go on', runs.requester, world),
  };
  return { runs, paths, actions, [Symbol.asyncDispose]: () => runs[Symbol.asyncDispose]() };
}

describe('what would start a client', () => {
  const bad: [what: string, text: string, names: string][] = [
    ['no JSON', '{"budget": {"day": {"usd": 5}}', 'no object of JSON or JSON5'],
    ['an empty file', '', 'no object of JSON or JSON5'],
    ['a list', '[]', 'no object of JSON or JSON5'],
    ['a word for a list of denied tools', '{"tools":{"subagents":{"tools":{"deny":"exec"}}}}', 'tools.deny'],
    [
      'a denied tool without a name',
      '{"tools":{"subagents":{"tools":{"deny":["exec",""]}}}}',
      'tools.subagents.tools.deny',
    ],
    [
      'a misspelt list of tools',
      '{"tools":{"subagents":{"tools":{"denied":["exec"]}}}}',
      'tools.subagents.tools.denied',
    ],
    ['no section of tools', '{"tools":["exec"]}', 'tools: expected an object'],
    [
      'a bad list of tools of one agent',
      '{"agents":{"list":[{"id":"main","subagents":{"tools":{"deny":[null]}}}]}}',
      'agents.list[0].subagents.tools.deny',
    ],
    ['no section of agents', '{"agents":[{"id":"main"}]}', 'agents: expected an object'],
    ['a budget in words', '{"budget":{"day":{"usd":"5"}}}', 'budget.day.usd'],
    ['a budget of no scope', '{"budget":5}', 'budget: expected an object'],
  ];
  for (const [what, text, names] of bad)
    test(`is refused with ${what} in the settings, which is named`, async () => {
      await using made = bench();
      made.runs.home.put('.self-generation/config.json', text);
      for (const act of Object.values(made.actions)) {
        const answer = act();
        expect(answer).toEqual({ status: 'error', error: expect.stringContaining(names) });
        expect(answer).toMatchObject({ error: expect.stringContaining('self-generation doctor') });
        expect(answer).toMatchObject({ error: expect.not.stringContaining('\n') });
      }
      expect(withRuns(made.paths, activeTurns)).toEqual([]);
    });

  test('is started with a warning when something else is wrong in the settings', async () => {
    await using made = bench();
    made.runs.home.writeConfig({
      agents: { defaults: { subagents: { maxQueued: 'many' } } },
      announce: { mode: 'loud' },
      language: 'fr',
    });
    const answer = accepted(made.actions.spawn() as never);
    expect(answer.warning).toContain('agents.defaults.subagents.maxQueued');
    expect(answer.warning).toContain('announce.mode');
    expect(answer.warning).not.toContain('language');
    expect(made.actions.send().status).toBe('accepted');
  });

  test('is started without settings', async () => {
    await using made = bench();
    rmSync(made.paths.config);
    for (const act of Object.values(made.actions)) expect(act().status).toBe('accepted');
  });
});
