import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { takeDelivery } from '../../../src/runs/delivery/deliver.ts';
import { runDirectory, turnFiles } from '../../../src/runs/model/run.ts';
import { isTerminal } from '../../../src/runs/model/turn.ts';
import { reconcile } from '../../../src/runs/reconcile.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import { listRuns } from '../../../src/runs/store/runs.ts';
import { CHECKPOINT_VARIABLE } from '../../../src/runs/world.ts';
import { type RunsHome, runsHome } from '../runs-home.ts';

/** Whoever spawns, starts, is told or archives is killed in the middle of it. */

setDefaultTimeout(60_000);

/** Does it in a process that dies at this place, if any is named; what it had said by then. */
async function act(
  here: RunsHome,
  what: string,
  { crashAt, owner = 'first' }: { crashAt?: string; owner?: string } = {},
) {
  const env = { ...here.world.env, ...(crashAt === undefined ? {} : { [CHECKPOINT_VARIABLE]: crashAt }) };
  const command = [process.execPath, `${import.meta.dir}/act.main.ts`, what, owner];
  const child = Bun.spawn(command, { cwd: here.project, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const said = await new Response(child.stdout).text();
  await child.exited;
  expect(child.signalCode).toBe(crashAt === undefined ? null : 'SIGKILL');
  return said.trim();
}

const listed = (here: RunsHome) =>
  withRuns(here.home.paths, (db) => listRuns({ limit: 10, includeArchived: true }, db));

/** As those who come later do it, with a clock that is ahead: nobody waits in a test. */
function reconcileLater(here: RunsHome): void {
  reconcile({ ...here.world, now: () => new Date(Date.now() + 11_000) });
}

async function expectSuccess(here: RunsHome): Promise<string> {
  await here.until('the run ends', () => isTerminal(listed(here)[0]?.turn.state ?? 'queued'));
  const [run, ...others] = listed(here);
  expect(others).toEqual([]);
  expect(run).toMatchObject({ turn: { state: 'success' }, delivery: 'pending' });
  return run?.run.id ?? '';
}

describe('whoever is killed', () => {
  test('after it accepted a run, without a word of it, has left a run that others start', async () => {
    await using here = runsHome();
    expect(await act(here, 'spawn', { crashAt: 'after-accept' })).toBe('');
    expect(listed(here)).toMatchObject([{ turn: { state: 'starting', owner: null } }]);
    // Asked again, because nothing was answered, it is the same run.
    expect(JSON.parse(await act(here, 'spawn'))).toMatchObject({ deduplicated: true });
    reconcileLater(here);
    await expectSuccess(here);
  });

  test('after it gave a slot to a run has left a run that others start', async () => {
    const agents = { defaults: { subagents: { maxConcurrent: 1 } } };
    await using here = runsHome({ announce: { mode: 'raw' }, agents });
    await act(here, 'spawn', { crashAt: 'after-accept' });
    withRuns(here.home.paths, (db) => db.run("UPDATE turns SET state = 'queued', claimed_at = NULL"));
    await act(here, 'reconcileAndArchive', { crashAt: 'after-claim' });
    expect(listed(here)).toMatchObject([{ turn: { state: 'starting', owner: null } }]);
    reconcileLater(here);
    await expectSuccess(here);
  });

  test('after it was given an announcement is followed by one that is given it again, and told so; then nobody is', async () => {
    await using here = runsHome();
    await act(here, 'spawn');
    await expectSuccess(here);
    expect(await act(here, 'deliver', { crashAt: 'after-lease' })).toBe('');
    expect(await act(here, 'deliver', { owner: 'second' })).toBe('');
    const later = { ...here.world, now: () => new Date(Date.now() + 700_000) };
    const take = (owner: string) =>
      takeDelivery(here.requester, { owner, isPerson: true }, later)?.announcements;
    expect(take('second')).toMatchObject([{ isRedelivery: true, status: 'success' }]);
    expect(take('first')).toBeUndefined();
    expect(take('second')).toBeUndefined();
    expect(listed(here)).toMatchObject([{ delivery: 'acked' }]);
  });

  test("after it archived a run has left the clients' own directories, which the next one that archives removes", async () => {
    await using here = runsHome();
    const { paths } = here.home;
    const archived = async (task: string, crashAt?: string) => {
      const { runId } = here.spawn({ task });
      await here.ended(runId);
      const { kept } = turnFiles(paths, runId, 1);
      mkdirSync(kept, { recursive: true });
      await act(here, 'deliver');
      await act(here, 'deliver');
      withRuns(paths, (db) => db.run('UPDATE runs SET archive_at = 1 WHERE archived_at IS NULL'));
      await act(here, 'reconcileAndArchive', crashAt === undefined ? {} : { crashAt });
      return kept;
    };
    const first = await archived('one', 'after-archive');
    expect(listed(here)[0]?.run.archivedAtMs).toBeGreaterThan(0);
    expect(existsSync(first)).toBe(true);
    const second = await archived('two');
    expect([first, second].map((kept) => existsSync(kept))).toEqual([false, false]);
    expect(readdirSync(paths.runs)).toHaveLength(2);
  });

  test('while it archives has left what others archive, each file once', async () => {
    await using here = runsHome();
    await act(here, 'spawn');
    const runId = await expectSuccess(here);
    await act(here, 'deliver');
    await act(here, 'deliver');
    withRuns(here.home.paths, (db) => db.run('UPDATE runs SET archive_at = 1'));
    const directory = runDirectory(here.home.paths, runId);
    await act(here, 'reconcileAndArchive', { crashAt: 'within-archive' });
    expect(listed(here)).toMatchObject([{ run: { archivedAtMs: null } }]);
    await act(here, 'reconcileAndArchive');
    expect(listed(here)[0]?.run.archivedAtMs).toBeGreaterThan(0);
    const names = readdirSync(directory).map((name) => name.replace(/\.deleted\..*$/, '.deleted'));
    expect(names.sort()).toEqual(['turn-1.jsonl.deleted', 'turn-1.prompt.deleted', 'turn-1.stderr.deleted']);
  });
});
