import { describe, expect, test } from 'bun:test';
import { EXIT } from '../../../src/cli/context.ts';
import { lessonsCommand } from '../../../src/cli/learned/lessons.ts';
import { withdrawLesson } from '../../../src/lessons/store/model-lessons.ts';
import { type Home, readRows, temporaryHome } from '../../support/home.ts';
import { learnt, tell, USE } from '../../support/ledger.ts';
import { PROJECT } from '../../support/payloads.ts';
import { withDatabase } from '../../support/seed.ts';
import { callHere, printed } from '../call.ts';

const lessons = (home: Home, words: readonly string[], mark?: string) =>
  callHere(lessonsCommand, words, { env: { HOME: home.path }, cwd: PROJECT, agentMark: () => mark });

/** A home with a lesson that was told in one session. */
function telling(): Home & { readonly id: string } {
  const home = temporaryHome();
  const id = withDatabase(home.paths, (db) => {
    tell({ session: 's1', ts: '2026-11-10T09:00:00.000Z' }, db);
    return learnt(db);
  });
  return { ...home, id: String(id) };
}

const withdraw = ({ paths, id }: ReturnType<typeof telling>) =>
  withDatabase(paths, (db) => withdrawLesson(Number(id), 'user', db));

describe('lessons', () => {
  test('lists those of another project by its path, and of all by "all"', async () => {
    using home = telling();
    const of = async (project: string, cwd: string) => {
      const here = { env: { HOME: home.path }, cwd };
      const { stdout } = await callHere(lessonsCommand, ['--project', project, '--json'], here);
      const { project: path, lessons } = JSON.parse(stdout) as { project: string | null; lessons: unknown[] };
      return [path, lessons.length];
    };
    expect(await of(PROJECT, '/')).toEqual([PROJECT, 1]);
    expect(await of('all', '/')).toEqual([null, 1]);
    expect(await of('/', PROJECT)).toEqual(['/', 0]);
  });

  test('lists what is told, where it stands and why, with how often it was told and failed', async () => {
    using home = telling();
    const text = printed(await lessons(home, []));
    expect(text).toContain(`${home.id}  unknown option`);
    expect(text).toContain(`use \`${USE}\``);
    expect(text).toContain('too-rare: fails in 0 sessions a week');
    expect(text).toContain('told at a start: failed in 0 of 1 session');
    const { stdout } = await lessons(home, ['--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      project: PROJECT,
      lessons: [{ state: 'too-rare', told: 1, held: 0 }],
    });
  });

  test('says that there is none', async () => {
    using home = temporaryHome();
    expect(printed(await lessons(home, []))).toBe(`No lesson is known in "${PROJECT}".\n`);
    expect(printed(await lessons(home, ['list', '--withdrawn', '--all-projects']))).toBe(
      'No lesson is withdrawn.\n',
    );
  });

  test('says how many other projects have, where this one has none', async () => {
    using home = telling();
    const here = { env: { HOME: home.path }, cwd: '/' };
    expect((await callHere(lessonsCommand, [], here)).stdout).toBe(
      'No lesson is known in "/". Other projects have 1: --all-projects shows them.\n',
    );
    expect((await callHere(lessonsCommand, ['--withdrawn'], here)).stdout).toBe(
      'No lesson is withdrawn in "/".\n',
    );
  });

  test('says of a lesson that nobody was told yet just that', async () => {
    using home = temporaryHome();
    withDatabase(home.paths, (db) => learnt(db));
    expect(printed(await lessons(home, []))).toContain('not told yet\n');
  });

  test('lists what is told no more, and restores it', async () => {
    using home = telling();
    const { id } = home;
    withdraw(home);
    expect(printed(await lessons(home, ['--withdrawn']))).toContain(
      'withdrawn: a person has withdrawn it (user)',
    );
    expect(printed(await lessons(home, ['restore', id]))).toBe(`Lesson ${id} is told again.\n`);
    expect(printed(await lessons(home, ['list', '--withdrawn', '--all-projects']))).toBe(
      'No lesson is withdrawn.\n',
    );
    const again = await lessons(home, ['restore', id]);
    expect(again.code).toBe(EXIT.notFound);
    expect(again.stderr).toContain(`Cannot restore lesson ${id}: no withdrawn lesson has this number`);
  });

  test('pins and unpins', async () => {
    using home = telling();
    const { id } = home;
    expect(JSON.parse((await lessons(home, ['pin', id, '--json'])).stdout)).toEqual({
      kind: 'pinned',
      id: Number(id),
    });
    expect(printed(await lessons(home, []))).toContain('pinned: pinned by a person: always told');
    expect(printed(await lessons(home, ['unpin', id]))).toBe(`Lesson ${id} is pinned no more.\n`);
    expect(readRows(home.paths, 'SELECT pinned FROM error_kb')).toEqual([{ pinned: 0 }]);
    expect((await lessons(home, ['pin', '99'])).code).toBe(EXIT.notFound);
    expect((await lessons(home, ['pin', 'x'])).code).toBe(EXIT.usage);
  });

  test.each(['pin', 'unpin', 'restore'])('%s is refused to an agent, who may look', async (name) => {
    using home = telling();
    const { id } = home;
    withdraw(home);
    const refused = await lessons(home, [name, id], 'CLAUDECODE');
    expect(refused.code).toBe(EXIT.failed);
    expect(refused.stderr).toContain(`lessons ${name} ${id}`);
    expect(readRows(home.paths, 'SELECT resolution, pinned FROM error_kb')).toEqual([
      { resolution: null, pinned: 0 },
    ]);
    expect((await lessons(home, [], 'CLAUDECODE')).code).toBe(0);
  });
});
