import { expect, test } from 'bun:test';
import { runDirectory, turnFiles } from '../../../src/core/runs/run-files.ts';
import { statePaths } from '../../../src/core/state-paths.ts';

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
  });
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
