import { describe, expect, test } from 'bun:test';
import { readDatabase } from '../../src/hooks/store/use-database.ts';
import { isRecorded, listProjects } from '../../src/setup/inspect-store.ts';
import { temporaryHome } from '../support/home.ts';
import { seedErrors, seedFixes } from '../support/seed.ts';

describe('a project of which only lessons are left, since they outlive events', () => {
  test('is listed behind those with events, by the last part of its path', () => {
    using home = temporaryHome();
    seedErrors(home.paths, [{ error: 'boom', projectPath: '/code/app' }]);
    for (const projectPath of ['/code/app', '/code/shop'])
      seedFixes(home.paths, [{ error: 'bang', resolution: 'use x', projectPath }]);
    expect(readDatabase(home.paths, listProjects)).toEqual([
      { name: 'app', path: '/code/app', events: 1 },
      { name: 'shop', path: '/code/shop', events: 0 },
    ]);
  });

  test('is recorded, another one is not', () => {
    using home = temporaryHome();
    seedFixes(home.paths, [{ error: 'bang', resolution: 'use x', projectPath: '/code/shop' }]);
    const known = (path: string) => readDatabase(home.paths, (db) => isRecorded(path, db));
    expect([known('/code/shop'), known('/code/shopping')]).toEqual([true, false]);
  });
});
