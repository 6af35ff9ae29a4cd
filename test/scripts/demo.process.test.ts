import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { playStory } from '../../scripts/demo.ts';
import { panelsOf, picture } from '../../scripts/picture.ts';
import { temporaryHome } from '../support/home.ts';
import { runProgram } from '../support/hook-process.ts';
import { ROOT } from '../support/program.ts';

const LINES_MAX = 40;
const COLUMNS_MAX = 80;

describe('playStory()', () => {
  const story = playStory();

  test('tells a sub-agent nothing before, and afterwards what really worked instead', () => {
    expect(story.calls.map(({ exitCode }) => exitCode)).toEqual([9, 0]);
    expect(story.before).toEqual([]);
    expect(story.after.join('\n')).toContain('- node: bad option: --grep');
    expect(story.after.join('\n')).toContain('use `node --test --test-name-pattern discount` instead of');
  });

  for (const theme of ['light', 'dark'] as const) {
    const committed = readFileSync(`${ROOT}/docs/images/demo-${theme}.svg`, 'utf8');

    test(`is what the ${theme} picture of the README shows ("npm run picture" draws it)`, () =>
      expect(picture(panelsOf(story), theme)).toBe(committed));

    test(`would be found out in the ${theme} picture: another fix`, () => {
      const after = story.after.map((line) => line.replace('--test-name-pattern', '--name'));
      expect(picture(panelsOf({ ...story, after }), theme)).not.toBe(committed);
    });
  }
});

describe('the demo', () => {
  test('fits a terminal, changes nothing at home, and says what there is to learn here', async () => {
    using home = temporaryHome();
    const result = await runProgram(['bun', `${ROOT}/scripts/demo.ts`], {
      home: home.path,
      env: { PATH: `${ROOT}/node_modules/.bin:${process.env.PATH}`, NO_COLOR: '1' },
    });
    expect([result.exitCode, result.stderr]).toEqual([0, '']);
    const lines = result.stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThan(LINES_MAX);
    expect(lines.filter((line) => Bun.stringWidth(line) > COLUMNS_MAX)).toEqual([]);
    expect(result.stdout).toContain('│ - node: bad option: --grep (Bash)');
    expect(lines.at(-1)).toBe('Install it: dist/self-generation install');
    expect(home.paths.home.startsWith(home.path) && (await Bun.file(home.paths.database).exists())).toBe(
      false,
    );
  });
});
