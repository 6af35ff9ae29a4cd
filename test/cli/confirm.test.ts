import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { temporaryHome } from '../support/home.ts';
import { runProgram } from '../support/hook-process.ts';

describe('confirmOnTerminal()', () => {
  const rows: [string, boolean][] = [
    ['y\n', true],
    ['Y\n', true],
    [' yes \n', true],
    ['\n', false],
    ['n\n', false],
    ['yesterday\n', false],
    ['no\ny\n', false],
    ['', false],
    ['y', false],
  ];
  for (const [input, answer] of rows) {
    test(`takes ${JSON.stringify(input)} for ${answer ? 'yes' : 'no'}`, async () => {
      using home = temporaryHome();
      const command = [process.execPath, resolve(import.meta.dir, 'confirm.main.ts')];
      const { stdout, stderr, exitCode } = await runProgram(command, { home: home.path, stdin: input });
      expect({ stdout, exitCode }).toEqual({ stdout: String(answer), exitCode: 0 });
      expect(stderr).toContain('Really? [y/N] ');
    });
  }
});
