import { describe, expect } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { StatePaths } from '../../src/core/state-paths.ts';
import type { Sqlite } from '../../src/database/sqlite.ts';
import { archiveDue, archiveRun } from '../../src/runs/archive.ts';
import type { Run } from '../../src/runs/model/run.ts';
import { turnFiles } from '../../src/runs/model/run.ts';
import { getRun } from '../../src/runs/store/runs.ts';
import { test } from './in-home.ts';
import { appended, deliver, ended, NOW_MS, type RunFields, started } from './store/made-up.ts';

const HOUR_MS = 3_600_000;
const LATER_MS = NOW_MS + 10 * HOUR_MS;
const LATER = new Date(LATER_MS);
const SUFFIX = `.deleted.${LATER.toISOString().replaceAll(':', '-')}`;

/** The files that a turn leaves behind. */
function leaveFiles(paths: StatePaths, runId: string, number = 1): void {
  const files = turnFiles(paths, runId, number);
  mkdirSync(`${files.home}/.gemini`, { recursive: true });
  writeFileSync(`${files.home}/.gemini/settings.json`, '{}');
  writeFileSync(files.prompt, `prompt ${number}`);
  writeFileSync(files.output, `output ${number}`);
  writeFileSync(files.errors, '');
}

function endedRun(db: Sqlite, paths: StatePaths, fields: RunFields = {}): Run {
  const { runId } = ended(db, fields);
  leaveFiles(paths, runId);
  return runOf(runId, db);
}

function runOf(runId: string, db: Sqlite): Run {
  const found = getRun(runId, db);
  if (found === undefined) throw new Error(`There is no run "${runId}"`);
  return found.run;
}

const namesOf = (paths: StatePaths, { id }: Run) => readdirSync(turnFiles(paths, id, 1).directory).sort();
const BEFORE = ['turn-1.home', 'turn-1.jsonl', 'turn-1.prompt', 'turn-1.stderr'];
const AFTER = ['turn-1.jsonl', 'turn-1.prompt', 'turn-1.stderr'].map((name) => name + SUFFIX);

describe('archiveDue()', () => {
  test('renames the files of a run in their place, removes the private directories, and enters it', ({
    db,
    paths,
  }) => {
    const run = endedRun(db, paths);
    leaveFiles(paths, run.id, 2);
    deliver(db, NOW_MS + 2000);
    expect(archiveDue(paths, LATER)).toBe(1);
    const second = AFTER.map((name) => name.replace('turn-1', 'turn-2'));
    expect(namesOf(paths, run)).toEqual([...AFTER, ...second].sort());
    expect(readFileSync(turnFiles(paths, run.id, 2).output + SUFFIX, 'utf8')).toBe('output 2');
    expect(SUFFIX).toMatch(/^\.deleted\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z$/);
    expect(runOf(run.id, db)).toEqual({ ...runOf(run.id, db), archivedAtMs: LATER_MS });
    expect(archiveDue(paths, LATER)).toBe(0);
  });

  test('leaves a run alone before its time, while it is undelivered, and while it runs', ({ db, paths }) => {
    const runs = [endedRun(db, paths), runOf(started(db).runId, db)];
    leaveFiles(paths, runs[1]?.id ?? '');
    expect(archiveDue(paths, LATER)).toBe(0);
    deliver(db, LATER_MS);
    expect(archiveDue(paths, new Date(LATER_MS + HOUR_MS - 1))).toBe(0);
    for (const run of runs) expect(namesOf(paths, run)).toEqual(BEFORE);
    expect(archiveDue(paths, new Date(LATER_MS + HOUR_MS))).toBe(1);
    expect(runs.map(({ id }) => runOf(id, db).archivedAtMs)).toEqual([LATER_MS + HOUR_MS, null]);
  });

  test('archives a run with cleanup "delete" as soon as it was taken in, and keeps its transcript', ({
    db,
    paths,
  }) => {
    const run = endedRun(db, paths, { cleanup: 'delete' });
    const nowMs = NOW_MS + 2000;
    expect(archiveDue(paths, new Date(nowMs))).toBe(0);
    deliver(db, nowMs);
    expect(archiveDue(paths, new Date(nowMs))).toBe(1);
    const [transcript] = namesOf(paths, run);
    expect(transcript).toStartWith('turn-1.jsonl.deleted.');
  });

  test('goes on with the others when one cannot be archived, which stays due', ({ db, paths }) => {
    const [bad, good] = [endedRun(db, paths), endedRun(db, paths)];
    deliver(db, NOW_MS + 2000);
    // A file stands where the directory of the run should be.
    const { directory } = turnFiles(paths, bad.id, 1);
    for (const name of namesOf(paths, bad)) Bun.spawnSync(['rm', '-r', `${directory}/${name}`]);
    Bun.spawnSync(['rmdir', directory]);
    writeFileSync(directory, '');
    expect(archiveDue(paths, LATER)).toBe(1);
    expect([bad, good].map(({ id }) => runOf(id, db).archivedAtMs)).toEqual([null, LATER_MS]);
    expect(readFileSync(`${paths.home}/logs/runs.log`, 'utf8')).toContain(bad.id);
    chmodSync(directory, 0o600);
  });

  test('comes to the others however many cannot be archived, and tries those again later', ({
    db,
    paths,
  }) => {
    const bad = db.transaction(() => Array.from({ length: 100 }, () => ended(db).runId));
    for (const id of bad) {
      mkdirSync(paths.runs, { recursive: true });
      writeFileSync(turnFiles(paths, id, 1).directory, '');
    }
    deliver(db, NOW_MS + 2000);
    const good = endedRun(db, paths);
    deliver(db, NOW_MS + 3000);
    expect(archiveDue(paths, LATER)).toBe(0);
    expect(archiveDue(paths, LATER)).toBe(1);
    expect(runOf(good.id, db).archivedAtMs).toBe(LATER_MS);
    for (const id of bad) rmSync(turnFiles(paths, id, 1).directory);
    expect(archiveDue(paths, LATER)).toBe(0);
    expect(archiveDue(paths, new Date(LATER_MS + HOUR_MS))).toBe(100);
  });
});

function deliveredRun(db: Sqlite, paths: StatePaths): Run {
  const run = endedRun(db, paths);
  deliver(db, NOW_MS + 2000);
  return run;
}

describe('archiveRun()', () => {
  test('is done to its end when it was cut off after some of the renames', ({ db, paths }) => {
    const run = deliveredRun(db, paths);
    const { output, directory } = turnFiles(paths, run.id, 1);
    Bun.spawnSync(['mv', output, `${output}.deleted.2026-05-01T11-00-00.000Z`]);
    Bun.spawnSync(['rm', '-r', `${directory}/turn-1.home`]);
    expect(archiveRun(run, paths, LATER)).toBe(true);
    expect(namesOf(paths, run)).toEqual(['turn-1.jsonl.deleted.2026-05-01T11-00-00.000Z', ...AFTER.slice(1)]);
    expect(runOf(run.id, db).archivedAtMs).toBe(LATER_MS);
  });

  test('changes nothing when it is repeated after the mark', ({ db, paths }) => {
    const run = deliveredRun(db, paths);
    archiveRun(run, paths, LATER);
    expect(archiveRun(run, paths, new Date(LATER_MS + HOUR_MS))).toBe(true);
    expect(namesOf(paths, run)).toEqual(AFTER);
    expect(runOf(run.id, db).archivedAtMs).toBe(LATER_MS);
  });

  test('counts on when the name is taken, and overwrites nothing', ({ db, paths }) => {
    const run = deliveredRun(db, paths);
    const { output } = turnFiles(paths, run.id, 1);
    writeFileSync(output + SUFFIX, 'of another');
    mkdirSync(`${output}${SUFFIX}.2`);
    archiveRun(run, paths, LATER);
    expect(readFileSync(output + SUFFIX, 'utf8')).toBe('of another');
    expect(readFileSync(`${output}${SUFFIX}.3`, 'utf8')).toBe('output 1');
  });

  test('leaves everything as it is when a turn has begun meanwhile', ({ db, paths }) => {
    const run = deliveredRun(db, paths);
    appended(db, run.id);
    expect(archiveRun(run, paths, LATER)).toBe(false);
    expect(namesOf(paths, run)).toEqual(BEFORE);
    expect(runOf(run.id, db).archivedAtMs).toBeNull();
  });

  test('leaves everything as it is while its announcement is undelivered', ({ db, paths }) => {
    const run = endedRun(db, paths);
    expect(archiveRun(run, paths, LATER)).toBe(false);
    expect(namesOf(paths, run)).toEqual(BEFORE);
  });

  test('enters nothing when the files cannot be renamed', ({ db, paths }) => {
    const run = deliveredRun(db, paths);
    const { output, home } = turnFiles(paths, run.id, 1);
    for (let number = 1; number <= 1000; number++) {
      writeFileSync(`${output}${SUFFIX}${number === 1 ? '' : `.${number}`}`, '');
    }
    expect(() => archiveRun(run, paths, LATER)).toThrow('too many names are taken');
    expect(runOf(run.id, db).archivedAtMs).toBeNull();
    expect(readFileSync(output, 'utf8')).toBe('output 1');
    // A message may be sent to it now: its session has to be there.
    expect(existsSync(`${home}/.gemini/settings.json`)).toBe(true);
  });

  test('enters a run that was never started', ({ db, paths }) => {
    const { runId } = ended(db);
    deliver(db, NOW_MS + 2000);
    expect(archiveRun(runOf(runId, db), paths, LATER)).toBe(true);
    expect(runOf(runId, db).archivedAtMs).toBe(LATER_MS);
  });

  test('leaves files alone that are not of a turn', ({ db, paths }) => {
    const run = deliveredRun(db, paths);
    writeFileSync(`${turnFiles(paths, run.id, 1).directory}/note.txt`, 'x');
    archiveRun(run, paths, LATER);
    expect(namesOf(paths, run)).toEqual(['note.txt', ...AFTER]);
  });
});
