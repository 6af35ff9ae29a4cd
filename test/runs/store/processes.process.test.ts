import { expect, setDefaultTimeout } from 'bun:test';
import { spawn as startProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { listRuns } from '../../../src/runs/store/runs.ts';
import { test } from '../in-home.ts';
import { A, B } from './made-up.ts';

setDefaultTimeout(120_000);

const WORKER = `${import.meta.dir}/worker.main.ts`;
const WORKERS = 4;
const RUNS_EACH = 25;
const KILLS = 12;
const LINES_BEFORE_KILL_MAX = 60;

type Outcome = { readonly lines: string[]; readonly code: number | null; readonly errors: string };

/** Runs one worker; it is killed after so many lines, in the middle of whatever it does then. */
async function runWorker(home: string, linesMax: number, runs = RUNS_EACH): Promise<Outcome> {
  const child = startProcess(process.execPath, [WORKER, home, `${runs}`, A, B]);
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const lines: string[] = [];
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === linesMax) child.kill('SIGKILL');
  }
  return { lines, code: await ended, errors };
}

test('several processes on one database, killed again and again, start each turn once, end it once and have it taken in once', async ({
  db,
  paths,
}) => {
  let kills = 0;
  const outcomes: Outcome[] = [];
  // Each place is taken by one worker after the other, until one is left to end by itself.
  const place = async () => {
    for (;;) {
      const isKilled = kills++ < KILLS;
      const linesMax = isKilled
        ? 1 + Math.floor(Math.random() * LINES_BEFORE_KILL_MAX)
        : Number.POSITIVE_INFINITY;
      const outcome = await runWorker(paths.home, linesMax);
      outcomes.push(outcome);
      if (!isKilled || outcome.code === 0) return;
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, place));

  for (const { code, errors } of outcomes) {
    expect(errors).toBe('');
    expect([0, null]).toContain(code);
  }
  expect(outcomes.filter(({ code }) => code === null).length).toBeGreaterThan(0);
  const lines = outcomes.flatMap((outcome) => outcome.lines);
  const said = (word: string) =>
    lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
  for (const word of ['inserted', 'claimed', 'ended', 'took', 'acked']) {
    const names = said(word).map((name) => name.replace(/ (?:success|lost)$/, ''));
    expect(names.length, word).toBeGreaterThan(0);
    expect(names.length, `${word} twice`).toBe(new Set(names).size);
  }
  for (const word of ['refused', 'over']) expect(said(word)).toEqual([]);

  for (const requester of [A, B]) {
    const runs = listRuns({ requester, limit: 999 }, db);
    expect(runs.map(({ run }) => run.number)).toEqual(
      Array.from({ length: RUNS_EACH }, (_, i) => RUNS_EACH - i),
    );
    expect(new Set(runs.map(({ turn }) => turn.state)).isSubsetOf(new Set(['success', 'lost']))).toBe(true);
    expect(new Set(runs.map(({ delivery }) => delivery))).toEqual(new Set(['acked']));
  }
  const told = db.all('SELECT run_id FROM outbox GROUP BY run_id HAVING COUNT(*) = 1');
  expect(told).toHaveLength(2 * RUNS_EACH);
  expect(db.all('PRAGMA integrity_check').map((row) => row.integrity_check)).toEqual(['ok']);
});

test('several processes make the database at the same time, and each run is written once', async ({
  paths,
}) => {
  const home = `${paths.home}/new`;
  const workers = Array.from({ length: 6 }, () => runWorker(home, Number.POSITIVE_INFINITY, 2));
  const outcomes = await Promise.all(workers);
  expect(outcomes.map(({ code, errors }) => [code, errors])).toEqual(outcomes.map(() => [0, '']));
  const inserted = outcomes.flatMap(({ lines }) => lines.filter((line) => line.startsWith('inserted ')));
  expect(inserted).toHaveLength(4);
});
