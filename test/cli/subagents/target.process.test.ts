import { describe, expect, test } from 'bun:test';
import { setArchived } from '../../../src/runs/store/rows.ts';
import { getTurn } from '../../../src/runs/store/turns.ts';
import { printed, refused, refusedJson } from '../call.ts';
import { ELSEWHERE, NOW_MS, newShelf } from './shelf.ts';

const id = (beginning: string) => beginning.padEnd(32, '0');

/** Two runs of this project whose ids begin alike, and one of another project. */
function threeRuns() {
  const shelf = newShelf();
  shelf.end(shelf.start({ id: id('abcd1111'), label: 'twin' }));
  shelf.end(shelf.start({ id: id('abcd2222'), label: 'twins' }));
  shelf.end(shelf.start({ id: id('eeee3333'), label: 'elsewhere', requester: ELSEWHERE }));
  return shelf;
}

const TWINS = 'It may be #2 "twins" (success), #1 "twin" (success): use the number';

const wrong: [words: string, error: string, code: number][] = [
  ['9', '⚠️ Invalid subagent index: 9', 3],
  ['abcd', `⚠️ Ambiguous run id prefix: abcd. ${TWINS}`, 3],
  ['tw', `⚠️ Ambiguous subagent label prefix: tw. ${TWINS}`, 3],
  ['nobody', '⚠️ Unknown subagent id: nobody', 3],
  ['agent:main:subagent:x', '⚠️ Unknown subagent session: agent:main:subagent:x', 3],
  // Runs of another project have no name here but their id.
  ['elsewhere', '⚠️ Unknown subagent id: elsewhere', 3],
  ['eeee', '⚠️ Unknown subagent id: eeee', 3],
  ['id:ffff', '⚠️ Unknown subagent id: id:ffff', 3],
];

const startOf = (text: string) => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}.*\\n$`);

describe('a run that is named', () => {
  for (const [words, error, code] of wrong) {
    test(`is refused as "${error}"`, async () => {
      using shelf = threeRuns();
      for (const name of ['info', 'log', 'stop', 'send', 'wait', 'retry', 'dismiss']) {
        const answer = await shelf.call([name, words, ...(name === 'send' ? ['hello'] : [])]);
        expect({ name, ...answer }).toEqual({
          name,
          ...refused(code, expect.stringMatching(startOf(error))),
        });
      }
    });
  }

  for (const [call, error] of [
    ['--limit x --json', "option '--limit <N>' argument 'x' is invalid"],
    ['spawn --json --thinking hard x', "option '--thinking <T>' argument 'hard' is invalid"],
    ['info --lable --json', "unknown option '--lable'"],
    ['kill 3 --json', "unknown command 'subagents kill'"],
    ['list --limit --json', "option '--limit <N>' argument '--json' is invalid"],
  ] as const) {
    test(`is refused as JSON also when the call is wrong: ${call}`, async () => {
      const words = call.split(' ');
      using shelf = threeRuns();
      const { code, stdout, stderr } = await shelf.call(words);
      expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({
        error: { code: 'usage', message: expect.stringContaining(error) },
      });
      const plain = await shelf.call(words.filter((word) => word !== '--json'));
      expect(plain).toEqual(refused(2, expect.stringMatching(/^error: /)));
    });
  }

  test('is refused as JSON also when nothing can be looked up', async () => {
    using shelf = threeRuns();
    const homeless = await shelf.call(['list', '--json'], { env: {} });
    expect(homeless).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(homeless.stdout).error.message).toStartWith(
      'Cannot list the sub-agents: HOME is not set',
    );
  });

  test('is one of any project for a person who gives its id, as the list of all projects shows it', async () => {
    using shelf = threeRuns();
    const { stdout } = await shelf.call(['list', '--all-projects']);
    expect(stdout).toContain('id:eeee3333  success  elsewhere');
    for (const words of ['id:eeee3333', 'eeee3333', 'id:eeee', id('eeee3333')])
      for (const name of ['info', 'log', 'wait'])
        expect((await shelf.call([name, words])).stdout).toContain('elsewhere');
    expect((await shelf.call(['info', 'id:abcd'])).stderr).toContain('Ambiguous run id prefix: abcd');
    const { stderr } = await shelf.call(['attach', 'id:eeee']);
    expect(stderr).toStartWith('⚠️ Cannot attach to #1: ');
    expect(stderr).toEndWith(' Call that in "/", where it is #1.\n');
    expect((await shelf.call(['diff', 'id:eeee'])).stderr).toContain('in no worktree of its own');
    for (const name of ['send', 'retry'])
      expect(await shelf.call([name, 'id:eeee', 'hello'].slice(0, name === 'send' ? 3 : 2))).toMatchObject({
        code: 4,
        stderr: expect.stringContaining('can only be controlled from the project that spawned them'),
      });
  });

  test('is stopped by a person in whatever project it works', async () => {
    using shelf = newShelf();
    const turn = shelf.start({ id: id('eeee3333'), label: 'elsewhere', requester: ELSEWHERE });
    const stopping = shelf.call(['stop', 'eeee3333']);
    shelf.end(shelf.write((db) => getTurn(turn.runId, 1, db)) ?? turn, { outcome: 'stopped' });
    expect(await stopping).toMatchObject({ code: 0, stdout: expect.stringContaining('Stopped 1 subagent.') });
  });

  test('is one of its own project for an agent, whatever id it knows', async () => {
    using shelf = threeRuns();
    for (const changes of [
      { agentMark: () => 'CLAUDECODE is set' },
      { env: { HOME: shelf.home.path, PATH: '', CLAUDECODE: '1' } },
    ])
      for (const name of ['info', 'log', 'stop', 'attach', 'diff'])
        expect(await shelf.call([name, 'id:eeee3333'], changes)).toMatchObject({
          code: 3,
          stderr: expect.stringContaining('Unknown subagent id: id:eeee3333'),
        });
  });

  test('is refused as JSON where that is asked for', async () => {
    using shelf = threeRuns();
    const message = 'Invalid subagent index: 9; "subagents list" shows which there are';
    expect(await shelf.call(['info', '9', '--json'])).toEqual(refusedJson('not-found', message));
  });

  const usages = {
    ...{
      info: '<id|#>',
      log: '<id|#> [limit] [tools]',
      stop: '<id|#|all [--all-sessions]>',
      retry: '<id|#>',
    },
    ...{ send: '<id|#> <message>', wait: '<id|#|all>', dismiss: '<id|#|all>', spawn: '[options] TASK' },
  };
  for (const [name, usage] of Object.entries(usages)) {
    test(`is asked for where it is missing: ${name}`, async () => {
      using shelf = newShelf();
      expect(await shelf.call([name])).toEqual(
        refused(2, `⚙️ Usage: self-generation subagents ${name} ${usage}\n`),
      );
    });
  }

  test('is missing when its name is empty', async () => {
    using shelf = newShelf();
    expect(await shelf.call(['info', ' '])).toEqual(
      refused(2, '⚠️ Missing subagent id; no sub-agent of this project was ever started\n'),
    );
  });

  test('is found by each of its names, when it is archived too', async () => {
    using shelf = threeRuns();
    shelf.write((db) => setArchived(id('abcd1111'), NOW_MS, db));
    const key = 'agent:main:subagent:abcd1111-0000-0000-0000-000000000000';
    for (const words of ['1', '#1', 'abcd1', 'id:abcd1', id('abcd1111'), key]) {
      const stdout = printed(await shelf.call(['info', words]));
      expect(stdout).toContain(`\nRun: ${id('abcd1111')}\n`);
      expect(stdout).toContain('\nArchive: 2026-11-20 10:00:00 (just now)\nCleanup handled: yes\n');
    }
  });
});
