import { describe, expect, test } from 'bun:test';
import { EXIT, fail, newCommand } from '../../src/cli/context.ts';
import { callHere } from './call.ts';

describe('newCommand()', () => {
  const rows: [string, string[], string][] = [
    ['an unknown option', ['--loud'], "error: unknown option '--loud'\n(Did you mean --load?)\n"],
    ['a word too many', ['x'], 'error: too many arguments. Expected 0 arguments but got 1.\n'],
    ['a missing value', ['--load'], "error: option '--load <n>' argument missing\n"],
  ];
  for (const [name, words, message] of rows) {
    test(`exits with 2, the error and where to read on for ${name}`, async () => {
      const answer = await callHere(
        (context) =>
          newCommand('very deep', context)
            .option('--load <n>')
            .action(() => {}),
        words,
      );
      const hint = 'See "self-generation very deep --help".\n';
      expect(answer).toEqual({ code: 2, stdout: '', stderr: message + hint });
    });
  }

  test('exits with 0 and the help on standard output for --help', async () => {
    const answer = await callHere((context) => newCommand('deep', context), ['-h']);
    expect(answer).toMatchObject({ code: 0, stderr: '' });
    expect(answer.stdout).toStartWith('Usage: deep');
  });
});

describe('fail()', () => {
  test('says what could not be done and sets the exit code', async () => {
    const answer = await callHere(
      (context) => newCommand('x', context).action(() => fail(context, EXIT.notFound, 'find "y"')),
      [],
    );
    expect(answer).toEqual({ code: 3, stdout: '', stderr: 'error: Cannot find "y".\n' });
  });
});
