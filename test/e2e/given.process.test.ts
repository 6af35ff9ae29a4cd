import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync } from 'node:fs';
import { readRows, temporaryHome } from '../support/home.ts';
import { contextOf, inParallel, runHookProcess } from '../support/hook-process.ts';
import { agentStart, payload } from '../support/payloads.ts';
import { seedErrors } from '../support/seed.ts';

const AGENTS = Array.from({ length: 24 }, (_, index) => `a23cc1976113a0${(0x100 + index).toString(16)}`);

test('what each of many sub-agents was given is noted before its hook ends, and taken in by their ends', async () => {
  using home = temporaryHome();
  seedErrors(home.paths, [{ error: 'Error: a' }]);
  mkdirSync(home.paths.given); // As install does.
  await inParallel(AGENTS, 6, async (agent_id) => {
    const result = await runHookProcess({ ...agentStart('executor'), agent_id }, { home: home.path });
    expect(contextOf(result)).toContain('Error: a');
  });
  expect(readdirSync(home.paths.given)).toHaveLength(AGENTS.length);
  await inParallel(AGENTS.slice(0, 6), 6, (agent_id) =>
    runHookProcess(payload('subagent-stop', { agent_id }), { home: home.path }),
  );
  const rows = readRows(
    home.paths,
    'SELECT agent_id, agent_type, text FROM given_contexts ORDER BY agent_id',
  );
  expect(rows.map((row) => row.agent_id)).toEqual(AGENTS);
  for (const row of rows)
    expect(row).toMatchObject({ agent_type: 'executor', text: expect.stringContaining('Error: a') });
  expect(readdirSync(home.paths.given)).toEqual([]);
});
