import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { type CliContext, commandGroup, EXIT, fail, newCommand, projectHere } from '../../src/cli/context.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { runProgram } from '../support/hook-process.ts';
import { seedErrors } from '../support/seed.ts';
import { callHere, refused, refusedJson } from './call.ts';

describe('newCommand()', () => {
  const rows: [string, string[], string][] = [
    ['an unknown option', ['--loud'], "error: unknown option '--loud'\n(Did you mean --load?)\n"],
    ['a word too many', ['x'], 'error: too many arguments. Expected 0 arguments but got 1.\n'],
    ['a missing value', ['--load'], "error: option '--load <n>' argument missing\n"],
  ];
  for (const [name, words, message] of rows) {
    test(`exits with 2, the error and where to read on for ${name}`, async () => {
      const make = (context: CliContext) =>
        newCommand('very deep', context)
          .option('--load <n>')
          .action(() => {});
      const answer = await callHere(make, words);
      const hint = 'See "self-generation very deep --help".\n';
      expect(answer).toEqual(refused(2, message + hint));
    });
  }

  test('exits with 0 and the help on standard output for --help', async () => {
    const answer = await callHere((context) => newCommand('deep', context), ['-h']);
    expect(answer).toMatchObject({ code: 0, stderr: '' });
    expect(answer.stdout).toStartWith('Usage: deep');
  });
});

describe('fail()', () => {
  const failing = (context: CliContext) =>
    newCommand('x', context)
      .option('--json')
      .action(() => fail(context, EXIT.notFound, 'find "y"', 'See "list"'));

  test('says what could not be done, what to do, and sets the exit code', async () => {
    expect(await callHere(failing, [])).toEqual(refused(3, 'error: Cannot find "y". See "list".\n'));
  });

  test('says the same as one line of JSON, and nothing beside it, where JSON is asked for', async () => {
    const expected = refusedJson('not-found', 'Cannot find "y".', 'See "list".');
    expect(await callHere(failing, ['--json'])).toEqual(expected);
  });
});

describe('commandGroup()', () => {
  const group = (context: CliContext) => {
    const one = commandGroup('group', { description: '', after: '' }, context, () => {});
    return one.addCommand(newCommand('group list', context)).addCommand(newCommand('group show', context));
  };

  test('names the nearest command for a word that is none, in JSON as well', async () => {
    const said = "unknown command 'group lst': it is list or show";
    const see = 'See "self-generation group --help".';
    const text = `error: ${said}\n(Did you mean group list?)\n${see}\n`;
    expect(await callHere(group, ['lst'])).toEqual(refused(2, text));
    const asJson = refusedJson('usage', said, `Did you mean group list? ${see}`);
    expect(await callHere(group, ['lst', '--json'])).toEqual(asJson);
  });

  test('names none that is far away', async () => {
    expect((await callHere(group, ['frobnicate'])).stderr).not.toContain('Did you mean');
  });
});

/** A repository with a directory below a directory, and what `projectHere()` says in the innermost. */
function pathIn(home: Home, recorded: readonly string[], repository = '/app'): string {
  mkdirSync(`${home.path}/app/src/deep`, { recursive: true });
  if (repository !== '') home.put(`${repository.slice(1)}/.git/HEAD`, 'ref: refs/heads/main\n');
  for (const path of recorded) seedErrors(home.paths, [{ error: 'x', projectPath: `${home.path}${path}` }]);
  return projectHere(home.paths, { cwd: `${home.path}/app/src/deep` }).path.slice(home.path.length);
}

describe('projectHere()', () => {
  const DEEP = '/app/src/deep';
  const rows: [string, string[], string, string | undefined][] = [
    ['where the user is, when something is recorded of it', ['/app', DEEP], DEEP, undefined],
    ['the nearest above of which something is recorded', ['', '/app', '/app/src'], '/app/src', undefined],
    ['the root of the repository', ['', '/app'], '/app', undefined],
    ['where the user is, when nothing is recorded up to the root of the repository', [''], DEEP, undefined],
    ['where the user is, outside of a repository', ['/app'], DEEP, ''],
    ['where the user is, when nothing is recorded at all', [], DEEP, undefined],
  ];
  for (const [what, recorded, expected, repository] of rows) {
    test(`is ${what}`, () => {
      using home = temporaryHome();
      expect(pathIn(home, recorded, repository)).toBe(expected);
    });
  }
});

describe('confirmOnTerminal()', () => {
  const yes = ['y\n', 'Y\n', ' yes \n'];
  for (const input of [...yes, '\n', 'n\n', 'yesterday\n', 'no\ny\n', '', 'y']) {
    const answer = yes.includes(input);
    test(`takes ${JSON.stringify(input)} for ${answer ? 'yes' : 'no'}`, async () => {
      using home = temporaryHome();
      const command = [process.execPath, resolve(import.meta.dir, 'terminal/confirm.main.ts')];
      const { stdout, stderr, exitCode } = await runProgram(command, { home: home.path, stdin: input });
      expect({ stdout, exitCode }).toEqual({ stdout: String(answer), exitCode: 0 });
      expect(stderr).toContain('Really? [y/N] ');
    });
  }
});
