import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { CLIENT_NAMES, type ClientName } from '../../../src/core/client-name.ts';
import { commandsOf } from '../../../src/runs/context/commands-run.ts';
import { turnFiles } from '../../../src/runs/model/run.ts';
import { recordedTurn } from '../../clients/runs-recorded.ts';
import { temporaryHome } from '../../support/home.ts';
import { madeRun } from '../../support/made-run.ts';

/** The commands of a turn whose client has written this. */
function commandsIn(client: ClientName, stdout: string) {
  using home = temporaryHome();
  const run = madeRun({ client });
  const { directory, output } = turnFiles(home.paths, run.id, 1);
  mkdirSync(directory, { recursive: true });
  writeFileSync(output, stdout);
  return commandsOf(run, 1, home);
}

for (const client of CLIENT_NAMES) {
  test(`commandsOf() finds the commands of a real turn of ${client}, and how they ended as far as it says so`, () => {
    const found = commandsIn(client, recordedTurn(`${client}-work`).stdout);
    const failed = found.find(({ command }) => command.endsWith('exit 3'));
    // Gemini CLI says it in its conversation alone, which is no part of what was recorded.
    expect(failed?.exitCode).toBe(client === 'gemini' ? null : 3);
    expect(failed?.output).toMatch(/to-stdout\n(?:to-stderr|it's)$/);
  });
}

/** What Claude Code says of commands, each with what it printed. */
function said(...commands: readonly (readonly [command: string, printed: string, isError: boolean])[]) {
  const lines = commands.flatMap(([command, content, is_error], index) => {
    const id = `call_${index}`;
    const call = { type: 'tool_use', id, name: 'Bash', input: { command } };
    const result = { type: 'tool_result', tool_use_id: id, is_error, content };
    return [
      { type: 'assistant', message: { id: `m${index}`, role: 'assistant', content: [call] } },
      { type: 'user', message: { role: 'user', content: [result] } },
    ];
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

test('commandsOf() gives the exit code in the words of the client, and none where nobody says it', () => {
  const found = commandsIn(
    'claude',
    said(
      ['npm test', 'Exit code 3\n2 failed', true],
      ['npm run x', 'interrupted', true],
      ['ls', 'a.ts', false],
      ['cat log', 'Exit code 7', false],
    ),
  );
  expect(found.map(({ command, exitCode, isError }) => [command, exitCode, isError])).toEqual([
    ['npm test', 3, true],
    ['npm run x', null, true],
    ['ls', 0, false],
    ['cat log', 0, false],
  ]);
});

test('commandsOf() shows the end of what was printed, without secrets and control characters', () => {
  const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
  const printed = `${'x'.repeat(100_000)}\n${'line\n'.repeat(50)}\x1b[31mred\x1b[0m ${secret}\nthe last`;
  const [one] = commandsIn(
    'claude',
    said([`curl -H "Authorization: token ${secret}"\n  -v`, printed, false]),
  );
  expect(one?.output).toEndWith('the last');
  expect(one?.output.split('\n')).toHaveLength(20);
  expect(JSON.stringify(one)).not.toContain(secret);
  expect(one?.output).toContain('red');
  expect(JSON.stringify(one)).not.toMatch(/\\u001b|\\n {2}-v/);
  const [long] = commandsIn('claude', said(['yes', '한😀'.repeat(50_000), false]));
  expect(long?.output.length).toBeLessThanOrEqual(2000);
  expect(long?.output.isWellFormed()).toBe(true);
});
