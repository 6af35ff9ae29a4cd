import { describe, expect, test } from 'bun:test';
import { errorsCommand } from '../../../src/cli/learned/errors.ts';
import { listModelLessons, saveModelLesson } from '../../../src/lessons/store/model-lessons.ts';
import { type Home, readRows, temporaryHome } from '../../support/home.ts';
import { PROJECT } from '../../support/payloads.ts';
import { withDatabase } from '../../support/seed.ts';
import { LESSON, LESSON_ERROR } from '../../support/suggestions.ts';
import { callHere, printed } from '../call.ts';

const errors = (home: Home, words: readonly string[]) =>
  callHere(errorsCommand, words, { env: { HOME: home.path }, cwd: PROJECT });

const COMMANDS = '`npm run test`';

/** A home in which agents are told a model's lesson. */
function telling(): Home & { readonly id: string } {
  const home = temporaryHome();
  const { kind, confidence, evidence } = LESSON.lesson;
  const id = withDatabase(home.paths, (db) => {
    const names = { key: LESSON_ERROR, said: LESSON_ERROR, projectPath: PROJECT, advice: COMMANDS };
    const ts = '2026-11-20T09:00:00.000Z';
    saveModelLesson({ ...names, kind, confidence, evidence, ts, by: 'model' }, db);
    return listModelLessons(PROJECT, db)[0]?.id;
  });
  return { ...home, id: String(id) };
}

describe('errors withdraw', () => {
  test('ends the telling, and says what was told', async () => {
    using home = telling();
    const { id } = home;
    expect((await errors(home, ['show', id])).stdout).toContain('written by a model');
    const told = `Withdrawn: worked here (learned by a model): ${COMMANDS}. `;
    expect(printed(await errors(home, ['withdraw', id]))).toStartWith(told);
    const evidence = expect.stringContaining('"withdrawnBy":"user"');
    expect(readRows(home.paths, 'SELECT resolution, resolved_by, state, evidence FROM error_kb')).toEqual([
      { resolution: null, resolved_by: null, state: 'withdrawn', evidence },
    ]);
  });

  test('prints that as JSON', async () => {
    using home = telling();
    const { id } = home;
    expect(JSON.parse((await errors(home, ['withdraw', id, '--json'])).stdout)).toEqual({
      kind: 'withdrawn',
      id: Number(id),
      fix: `worked here (learned by a model): ${COMMANDS}`,
    });
  });

  test('a person may write anew what helps', async () => {
    using home = telling();
    const { id } = home;
    await errors(home, ['withdraw', id]);
    await errors(home, ['resolve', id, 'leave out rtk']);
    expect(readRows(home.paths, 'SELECT resolved_by, state FROM error_kb')).toEqual([
      { resolved_by: 'user', state: null },
    ]);
  });
});
