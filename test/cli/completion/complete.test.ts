import { describe, expect, test } from 'bun:test';
import { programReference } from '../../../scripts/reference/program.ts';
import { completionsFor, type ValuePlace } from '../../../src/cli/completion/complete.ts';
import { IDS, takesKnownId } from '../../../src/cli/completion/known-values.ts';
import { withSubcommands } from '../../../src/cli/completion/reference.ts';

const PROGRAM = programReference();

function valuesFor(...words: string[]): string[] {
  return completionsFor(words, PROGRAM, () => []).candidates.map(({ value }) => value);
}

describe('completionsFor()', () => {
  const rows: [string, string[], string[]][] = [
    ['a command that has begun', ['err'], ['errors']],
    ['no hidden command', ['complet'], ['completions']],
    ['a command below another', ['errors', 'sh'], ['show', 'share']],
    ['no command behind an argument', ['config', 'get', 'x', 's'], []],
    ['an option', ['doctor', '--l'], ['--live']],
    ['options where nothing else stands', ['doctor', ''], ['--live', '--json', '--help']],
    ['no option that is there already', ['doctor', '--live', '--'], ['--json', '--help']],
    ['the values of an option', ['apply', '--client', 'co'], ['codex']],
    ['the values of an option behind =', ['install', '--hooks=s'], ['--hooks=session']],
    ['the same as bash takes it apart', ['install', '--hooks', '=', 's'], ['session']],
    ['the same where nothing of the value is typed', ['install', '--hooks', '='], ['session', 'per-call']],
    ['one more value of an option that takes several', ['install', '--mcp', 'claude', 'co'], ['codex']],
    ['an option behind those', ['install', '--mcp', 'claude', '--dry'], ['--dry-run']],
    ['the choices of an argument', ['completions', 'z'], ['zsh']],
    ['no option behind --', ['doctor', '--', '--l'], []],
    ['an option within quotes', ['doctor', '"--l'], ['--live']],
    ['all commands for two quotes', ["''"], PROGRAM.commands.map(({ path }) => path.join(' '))],
    ['nothing for a command that there is not', ['frobnicate', '--verbose', '--x'], []],
  ];
  for (const [what, words, expected] of rows)
    test(`gives ${what}`, () => expect(valuesFor(...words)).toEqual(expected));

  test('takes paths of files where one is meant, and nowhere else', () => {
    const takesFiles = (...words: string[]) => completionsFor(words, PROGRAM, () => []).takesFiles;
    expect([
      takesFiles('analyze', '--answer', ''),
      takesFiles('prune', ''),
      takesFiles('import', '--from='),
    ]).toEqual([...[true, true, true]]);
    expect([takesFiles(''), takesFiles('doctor', ''), takesFiles('errors', 'show', '')]).toEqual([
      false,
      false,
      false,
    ]);
  });

  test('asks for values of the place where the cursor is', () => {
    const asked: unknown[] = [];
    const known = ({ command, ...place }: ValuePlace) => {
      asked.push([command.path.join(' '), place]);
      return [{ value: 'trial', description: '' }];
    };
    expect(completionsFor(['config', 'set', 'proof.holdOut', 'tr'], PROGRAM, known).candidates).toHaveLength(
      1,
    );
    const place = { option: undefined, name: 'value', before: ['proof.holdOut'] };
    expect(asked).toEqual([['config set', place]]);
  });

  test('does not throw, whatever is typed', () => {
    const odd = [
      '',
      '-',
      '--',
      '=',
      '--=',
      '-x',
      '"',
      "'",
      '$(x)',
      'errors',
      '--project',
      '\u0000',
      '--mcp',
      'x y',
    ];
    for (const first of odd)
      for (const second of odd) for (const third of odd) expect(valuesFor(first, second, third)).toBeArray();
    expect(valuesFor()).toContain('errors');
  });
});

test('the ids that are known are of commands that take some', () => {
  const takesIds = (name: string) =>
    withSubcommands(PROGRAM).some(
      (command) =>
        command.path[0] === name &&
        command.arguments.some((one) =>
          takesKnownId({ command, option: undefined, name: one.name, before: [] }),
        ),
    );
  // "suggestions" itself only lists.
  const expected = Object.keys(IDS).filter((name) => name !== 'suggestions');
  expect(expected.filter((name) => !takesIds(name))).toEqual([]);
  expect(['doctor', 'analyze', 'gone'].filter(takesIds)).toEqual([]);
});
