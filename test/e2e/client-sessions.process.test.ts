import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { openRunsDb } from '../../src/runs/store/rows.ts';
import { changeRun } from '../../src/runs/store/runs.ts';
import { accepted } from '../runs/store/made-up.ts';
import { PUT } from '../support/client-sessions.ts';
import { type Home, readEvents, temporaryHome } from '../support/home.ts';
import { contextOf, insideFrame, runHookProcess, runProgram } from '../support/hook-process.ts';
import { agentStart } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';

const ID = '0a1b2c3d-0000-4000-8000-000000000001';
const TITLES = { codex: 'Codex', gemini: 'Gemini CLI', opencode: 'OpenCode' } as const;

/** A home with a project, and a session of the client in which something failed and something else helped. */
function homeWith(client: keyof typeof TITLES): Home & { readonly project: string } {
  const home = temporaryHome();
  const project = `${home.path}/app`;
  mkdirSync(project);
  const failed = { run: 'npm test', code: 1, prints: 'Error: PORT is not set\n' };
  const entries = ['Run the tests.', failed, { run: 'PORT=8080 npm test', prints: 'ok\n' }];
  PUT[client]({ id: ID, cwd: project, startMs: Date.now() - 3_600_000, entries }, home.path);
  return { ...home, project };
}

async function run(home: Home & { project: string }, ...words: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram([BINARY, ...words], {
    home: home.path,
    cwd: home.project,
  });
  expect({ words, exitCode, stderr }).toEqual({ words, exitCode: 0, stderr: '' });
  return stdout;
}

const LESSON = `
A lesson, as an agent reads it:
  - Error: PORT is not set (Bash)
    Fix: "use \`PORT=8080 npm test\` instead of \`npm test\`"
    worked in 1 session of app
`;

describe.each(Object.keys(TITLES) as (keyof typeof TITLES)[])('what failed in %s', (client) => {
  test('is imported, shown with its client, and told to a sub-agent of Claude Code', async () => {
    using home = homeWith(client);
    const taken = `${TITLES[client]}: read 1 session of 1.\n  Events: 1 prompt, 1 tool_error, 1 tool_use\nLessons: 1 more\n`;
    expect(await run(home, 'import', '--dry-run')).toBe(
      `Nothing was changed. An import would do this:\n${taken}${LESSON}`,
    );
    expect(readEvents(home.paths)).toEqual([]);
    expect(await run(home, 'import')).toBe(`${taken}${LESSON}`);
    expect(await run(home, 'import')).toBe(`${TITLES[client]}: nothing new in 1 session.\n${LESSON}`);

    const { errors } = JSON.parse(await run(home, 'errors', 'list', '--json'));
    expect(errors).toMatchObject([
      { said: 'Error: PORT is not set', project: home.project, clients: [client], resolvedBy: 'lesson' },
    ]);
    expect(await run(home, 'errors')).toContain(`worked 1 time in 1 session · ${TITLES[client]} · `);
    const story = await run(home, 'errors', 'show', String(errors[0].id));
    expect(story).toMatch(new RegExp(`^clients +${TITLES[client]}$`, 'm'));
    expect(await run(home, 'status')).toContain(`\nCalls of other clients: ${TITLES[client]} 2\n`);

    const start = agentStart('executor', { cwd: home.project });
    const told = insideFrame(contextOf(await runHookProcess(start, { home: home.path })));
    expect(told).toContain('PORT is not set');
    expect(told).toContain('PORT=8080 npm test');
  });
});

test('--client takes in the sessions of the clients that are named', async () => {
  using home = homeWith('codex');
  expect(await run(home, 'import', '--client', 'gemini', 'opencode')).toBe(
    'There are no sessions of Gemini CLI, OpenCode.\n',
  );
  expect(await run(home, 'import', '--client', 'codex')).toStartWith('Codex: read 1 session of 1.\n');
  const home_ = { home: home.path };
  const unknown = await runProgram([BINARY, 'import', '--client', 'cursor'], home_);
  expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('codex') });
  const both = await runProgram([BINARY, 'import', '--client', 'codex', '--from', '.'], home_);
  expect(both).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--from') });
  const none = await runProgram([BINARY, 'import', '--client', 'claude'], home_);
  expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('there are no transcripts') });
});

test('the session of a background run is left out', async () => {
  using home = homeWith('codex');
  const db = openRunsDb(home.paths);
  changeRun(accepted(db, { client: 'codex' }).runId, { sessionId: ID }, db);
  db.close();
  expect(await run(home, 'import')).toBe(
    'Codex: read 0 sessions of 1.\nLeft out: 1 × session of a background run\n',
  );
  expect(readEvents(home.paths)).toEqual([]);
});
