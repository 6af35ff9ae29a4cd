import { expect, test } from 'bun:test';
import { statePaths } from '../../../src/core/state-paths.ts';
import { analysisFiles, runDirectory, turnFiles } from '../../../src/runs/model/run.ts';

const paths = statePaths({ HOME: '/home/dev' }, 'linux');
if (paths === undefined) throw new Error('No paths');
const ID = '0123456789abcdef0123456789abcdef';

test('turnFiles() names the files of a turn in the directory of its run', () => {
  const directory = `/home/dev/.self-generation/runs/${ID}`;
  expect(runDirectory(paths, ID)).toBe(directory);
  expect(turnFiles(paths, ID, 12)).toEqual({
    directory,
    prompt: `${directory}/turn-12.prompt`,
    output: `${directory}/turn-12.jsonl`,
    errors: `${directory}/turn-12.stderr`,
    home: `${directory}/turn-12.home`,
    kept: `${directory}/turn-0.home`,
    mark: `${ID}/12`,
  });
});

test('analysisFiles() names a directory and a mark that no run and no other analysis has', () => {
  const of = (id: number, ts: string) => analysisFiles(paths, { id, ts });
  const { directory, mark, home } = of(3, '2026-11-20T12:00:00.000Z');
  expect(directory).toBe('/home/dev/.self-generation/analysis-3');
  expect(home).toStartWith(`${directory}/`);
  const others = [of(4, '2026-11-20T12:00:00.000Z'), of(3, '2026-11-20T12:00:00.001Z')];
  for (const other of others) expect(other.mark).not.toBe(mark);
});

for (const id of ['', '..', 'a/b', 'a\\b', 'a.b', 'a\n', 'x'.repeat(65)]) {
  test(`runDirectory() refuses ${JSON.stringify(id)}, which is no run id but could be a path`, () => {
    expect(() => runDirectory(paths, id)).toThrow('this is no run id');
  });
}

for (const turn of [0, -1, 1.5, Number.NaN]) {
  test(`turnFiles() refuses turn ${turn}`, () => {
    expect(() => turnFiles(paths, ID, turn)).toThrow('turns count from 1');
  });
}
