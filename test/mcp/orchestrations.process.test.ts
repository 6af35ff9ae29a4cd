import { expect, setDefaultTimeout, test } from 'bun:test';
import { orchestrationsOf } from '../../src/orchestrate/store.ts';
import { partRuns } from '../../src/runs/store/parts.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { ASKED, planText, subtask, verdictText } from '../orchestrate/scripted.ts';
import { type TeamHome, teamHome } from '../orchestrate/team-home.ts';
import { connect } from './mcp-client.ts';

/** Each test starts processes, and the machine may be busy. */
setDefaultTimeout(60_000);

const SCRIPT = [
  { match: ASKED.plan, answer: planText([subtask('ann')]) },
  { match: ASKED.work('ann'), write: { 'src/ann.txt': 'ann\n' }, answer: 'ann wrote it' },
  {
    match: ASKED.review(1),
    answer: verdictText({ ann: true }, 'The site is built. ghp_0123456789abcdefghijABCDEFGHIJ012345'),
  },
];

/** A session of Claude Code with our server, in a project with a team. */
async function connected(here: TeamHome) {
  const env = { ...here.world.env, CLAUDE_CODE_SESSION_ID: 's-1' };
  return connect(here.home, { env, cwd: here.project });
}

test('orchestrate answers at once, goes on without the server, and worklog tells its end', async () => {
  await using here = await teamHome();
  here.script(SCRIPT);
  {
    await using first = await connected(here);
    const { value } = await first.call('orchestrate', { task: ' Build the site. ' });
    expect(value).toMatchObject({ status: 'accepted', number: 1, id: expect.any(String) });
    expect(await first.call('worklog', {})).toMatchObject({ value: { number: 1, result: null } });
  }
  await using second = await connected(here);
  const { value, news } = await second.call('worklog', { number: 1, timeoutSeconds: 60 });
  expect(value).toMatchObject({
    number: 1,
    status: 'done',
    result: expect.stringContaining('The site is built.'),
  });
  expect(value.worklog).toContain('Build the site.');
  expect(JSON.stringify(value)).not.toContain('ghp_');
  expect(news).toBeUndefined();
  expect(here.read('src/ann.txt')).toBe('ann\n');
  const { id, runs } = withRuns(here.home.paths, (db) => {
    const [one] = orchestrationsOf(here.requester.key, db);
    return { id: one?.id ?? '', runs: partRuns({ kind: 'orchestration', id: one?.id ?? '' }, db) };
  });
  expect(id).not.toBe('');
  // Each works with the permissions of the session that asked, and no more.
  expect(runs.map(({ run }) => run.requester)).toEqual(
    runs.map(() => expect.objectContaining({ client: 'claude', session: 's-1' })),
  );
  expect(runs.every(({ run }) => run.permissions.mode !== 'all')).toBe(true);
});

test('worklog does not wait for one that nobody carries on', async () => {
  await using here = await teamHome();
  here.begin();
  await using server = await connected(here);
  const startMs = performance.now();
  const { value } = await server.call('worklog', { timeoutSeconds: 60 });
  expect(value).toMatchObject({ result: null, left: expect.stringContaining('orchestrate --continue 1') });
  expect(performance.now() - startMs).toBeLessThan(30_000);
});

test('orchestrate and worklog refuse what cannot be, and say what is wrong', async () => {
  await using here = await teamHome();
  await using server = await connected(here);
  const refused = async (tool: string, given: Record<string, unknown>) => {
    const { isError, value } = await server.call(tool, given);
    return isError ? value.error : undefined;
  };
  expect(await refused('orchestrate', { task: ' ' })).toBe('orchestrate needs "task"');
  expect(await refused('orchestrate', {})).toBe('orchestrate needs "task"');
  expect(await refused('worklog', {})).toBe('There is no such orchestration in this project; known: none');
  here.home.writeConfig({ budget: 5 });
  expect(await refused('orchestrate', { task: 'x' })).toStartWith(
    'the settings do not say what a sub-agent may do',
  );
});
