import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { waitingNotes } from '../../src/database/given-contexts.ts';
import { noteGiven } from '../../src/database/given-note.ts';
import { readLedger, verifyLedger } from '../../src/database/ledger.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { temporaryHome } from '../support/home.ts';

const SOURCE = resolve(import.meta.dir, '../../src');
const NOTES = 40;

/** Takes the notes in, and is killed where it would remove the first file: the commit is done by then. */
const script = (home: string) => `
  const fs = process.getBuiltinModule('node:fs');
  fs.rmSync = () => process.kill(process.pid, 'SIGKILL');
  const { statePaths } = await import('${SOURCE}/core/state-paths.ts');
  const { writeDatabase } = await import('${SOURCE}/hooks/store/use-database.ts');
  writeDatabase(statePaths({ HOME: ${JSON.stringify(home)} }, 'linux'), () => {});`;

test('a note is taken exactly once, also when its taker is killed before the file is gone', async () => {
  using home = temporaryHome();
  const { paths } = home;
  mkdirSync(paths.given, { recursive: true }); // As install does.
  for (let index = 0; index < NOTES; index++) {
    const group = { place: '/home/dev/app', key: `error ${index}` };
    const told = { kind: 'rule', text: 'a lesson', channel: 'start', holdPercent: 0, isHeld: false } as const;
    noteGiven(
      {
        ...{
          ts: new Date(1_800_000_000_000 + index).toISOString(),
          sessionId: 'main',
          agentId: `a${index}`,
          agentType: 'executor',
        },
        ...{ project: 'app', projectPath: '/home/dev/app', text: 'a lesson' },
        tellings: [{ ...told, group, callId: null }],
      },
      paths,
    );
    // The next must find this slot taken.
    while (waitingNotes(paths).length <= index) await Bun.sleep(1);
  }
  const child = Bun.spawn([process.execPath, '-e', script(home.path)], { stdout: 'ignore', stderr: 'pipe' });
  expect(await child.stderr.text()).toBe('');
  await child.exited;
  expect(child.signalCode).toBe('SIGKILL');
  expect(waitingNotes(paths)).toHaveLength(NOTES);
  const rows = writeDatabase(paths, (db) => {
    expect(verifyLedger(db)).toEqual([]);
    expect(db.sqlite.get('SELECT count(*) AS count FROM given_contexts')).toEqual({ count: NOTES });
    return readLedger(db);
  });
  expect(rows.map(({ id, key }) => [id, key])).toEqual(
    Array.from({ length: NOTES }, (_, index) => [index + 1, `error ${index}`]),
  );
  expect(readdirSync(paths.given)).toEqual([]);
});
