import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { type CommandName, commandText } from '../../src/clients/claude/setup.ts';
import { readString } from '../../src/core/guards.ts';
import { turnFiles } from '../../src/runs/model/run.ts';
import { readRuns } from '../../src/runs/store/rows.ts';
import { listRuns, type RunListing } from '../../src/runs/store/runs.ts';
import { runsHome } from '../runs/runs-home.ts';
import { tell } from '../runs/told.ts';
import { hookFailures, readEvents } from '../support/home.ts';
import { runProgram } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';

/** What a person types as a prompt in Claude Code, answered by the program's own hook: real processes. */

setDefaultTimeout(60_000);

const SESSION = 'session-1';
/** The client gives the hook 5 seconds, on a machine that is not busy with tests; a stop has 40. */
const LIMIT_MS = 15_000;

function bench({ settings = { announce: { mode: 'raw' } }, commands = ['subagents', 'stop'] }: Options = {}) {
  const runs = runsHome(settings);
  const { home, project, world } = runs;
  for (const name of commands) home.put(`.claude/commands/${name}.md`, commandText(name));
  const submit = async (prompt: string, env: Record<string, string> = {}) => {
    const event = { hook_event_name: 'UserPromptSubmit', session_id: SESSION, cwd: project, prompt };
    const { exitCode, stdout, stderr } = await runProgram([BINARY, 'hook'], {
      home: home.path,
      env: { PATH: world.env.PATH, CLAUDECODE: '1', ...env },
      cwd: project,
      stdin: JSON.stringify(event),
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    return stdout;
  };
  return {
    ...runs,
    submit,
    /** What is said to the person; throws unless the prompt went no further. */
    type: async (prompt: string, env?: Record<string, string>) => {
      const startedMs = performance.now();
      const answer = JSON.parse(await submit(prompt, env));
      expect(performance.now() - startedMs).toBeLessThan(LIMIT_MS);
      expect(answer).toEqual({
        decision: 'block',
        reason: expect.any(String),
        hookSpecificOutput: { hookEventName: 'UserPromptSubmit', suppressOriginalPrompt: true },
      });
      expect(readEvents(home.paths)).toEqual([]);
      expect(hookFailures(home.paths)).toEqual([]);
      return readString(answer, 'reason') ?? '';
    },
    listings: (): RunListing[] =>
      readRuns(home.paths, (db) => listRuns({ requester: runs.requester.key, limit: 100 }, db)) ?? [],
    tell: (result: string, session: string | null = SESSION) =>
      tell({ ...runs.requester, session }, home.paths, { result }),
  };
}

type Options = { readonly settings?: Record<string, unknown>; readonly commands?: readonly CommandName[] };

describe('a prompt is answered without a model', () => {
  for (const prompt of ['/subagents', '/subagents list', '/subagents  list \n']) {
    test(`${JSON.stringify(prompt)} with the list`, async () => {
      await using made = bench();
      made.tell('done');
      expect(await made.type(prompt)).toContain('Active: 0 · Done: 1');
    });
  }

  test("when it is the plugin's, whether or not the user has commands of these names", async () => {
    await using made = bench({ commands: [] });
    made.tell('done');
    made.home.put('.claude/commands/stop.md', 'mine');
    expect(await made.type('/self-generation:subagents list')).toContain('Active: 0 · Done: 1');
    expect(await made.type('/self-generation:stop')).toContain('Stopped 0 subagents');
  });

  test('with what waits, which is taken only as far as the answer holds it', async () => {
    await using made = bench();
    for (let n = 0; n < 4; n++) made.tell('word '.repeat(800));
    expect(await made.type('/subagents inbox')).toContain(
      '… (cut; all of it in a terminal in this directory',
    );
    expect(made.waiting()).toHaveLength(4);
    expect(await made.type('/subagents dismiss all')).toContain('Dismissed 4 announcements.');
    made.tell('forty-two');
    expect(await made.type('/subagents inbox')).toContain('forty-two');
    expect(made.waiting()).toEqual([]);
  });

  test('with the log, the help, and what is wrong with it', async () => {
    await using made = bench();
    expect(await made.type('/subagents log last')).toContain('Unknown subagent id');
    expect(await made.type('/subagents stop --help')).toContain('Usage: subagents stop');
    expect(await made.type('/subagents lst')).toContain("unknown command 'subagents lst'");
    expect(await made.type('/subagents spawn --lable x Fix it')).toContain("unknown option '--lable'");
    expect(await made.type('/stop no-such-run')).toContain('Unknown subagent id: no-such-run');
  });

  test('and in the words of a terminal where it would have to wait', async () => {
    await using made = bench();
    for (const words of ['wait all', 'spawn --wait Fix it', 'log last --follow', 'retry 1 --wait']) {
      expect(await made.type(`/subagents ${words}`)).toEndWith(`self-generation subagents ${words}`);
    }
    expect(made.listings()).toEqual([]);
  });
});

describe('what is typed is taken word for word', () => {
  const rows: readonly (readonly [typed: string, label: string | null, task: string])[] = [
    [
      "Fix the user's  login, don't touch $HOME `x` --wait",
      null,
      "Fix the user's  login, don't touch $HOME `x` --wait",
    ],
    ["--label 'the docs' --timeout 90 'Say \"hi\"'", 'the docs', 'Say "hi"'],
    ['--label="two words" Line one\n  line two', 'two words', 'Line one\n  line two'],
  ];
  for (const [typed, label, task] of rows) {
    test(`spawn ${JSON.stringify(typed)}`, async () => {
      await using made = bench();
      expect(await made.type(`/subagents spawn ${typed}`)).toStartWith('Spawned subagent main');
      const [listing] = made.listings();
      expect(listing?.run).toMatchObject({ label, task, requester: { session: SESSION, client: 'claude' } });
      // The supervisor outlives the hook that started it.
      await made.ended(listing?.run.id ?? '');
    });
  }

  test('send, which does not wait for the reply', async () => {
    await using made = bench();
    const { runId } = made.spawn({ task: '[[say:first]]' });
    await made.ended(runId);
    expect(await made.type("/subagents send 1 don't  'stop' [[hang]]")).toStartWith('✅ Sent to');
    expect(made.turns(runId).at(-1)).toMatchObject({ kind: 'send', message: "don't  'stop' [[hang]]" });
  });
});

describe('/stop', () => {
  test('ends what this session has started', async () => {
    await using made = bench();
    await made.type('/subagents spawn [[hang]]');
    const [listing] = made.listings();
    await made.until('it works', () => made.turns(listing?.run.id ?? '')[0]?.state === 'running');
    expect(await made.type('/stop')).toContain('Stopped 1 subagent');
    expect(made.turns(listing?.run.id ?? '')[0]).toMatchObject({ state: 'stopped' });
  });

  test('says that it is asked for when the run needs longer than a prompt may', async () => {
    await using made = bench();
    await made.type('/subagents spawn [[ignore-term]] [[hang]]');
    const id = made.listings()[0]?.run.id ?? '';
    const { output } = turnFiles(made.home.paths, id, 1);
    await made.until(
      'it works',
      () => existsSync(output) && readFileSync(output, 'utf8').includes('hanging'),
    );
    expect(await made.type('/stop')).toContain('It is asked for and goes on by itself');
    expect(await made.ended(id)).toMatchObject([{ state: 'stopped' }]);
  });
});

test('a permission is granted in a terminal and not in a prompt', async () => {
  await using made = bench();
  expect(await made.type('/subagents spawn --permissions all Fix it')).toContain('Spawn failed');
  expect(made.listings()).toEqual([]);
});

describe('what waits to be told', () => {
  test('is left to the next prompt, for a blocked one takes nothing along', async () => {
    await using made = bench();
    made.tell('the tests pass now');
    expect(await made.type('/subagents list')).not.toContain('the tests pass now');
    expect(made.waiting()).toMatchObject([{ state: 'pending', attempts: 0 }]);
    expect(await made.submit('go on')).toContain('the tests pass now');
  });

  test('is shown by inbox, as a person reads it, and has arrived', async () => {
    await using made = bench();
    made.tell('the tests pass now');
    const told = await made.type('/subagents inbox');
    expect(told).toContain('the tests pass now');
    expect(told).not.toContain('UNTRUSTED_CHILD_RESULT');
    expect(made.waiting()).toEqual([]);
  });
});

describe('a prompt goes on to the model', () => {
  const rows: readonly (readonly [what: string, prompt: string, options?: Options, file?: string])[] = [
    ['when it only begins like the command', '/subagentsx list'],
    ['when it is another of the plugin', '/self-generation:known-errors list'],
    ['when the command is not installed', '/stop', { commands: ['subagents'] }],
    ['when the user has a command of that name', '/stop', {}, '.claude/commands/stop.md'],
    ['when the project has one', '/stop', {}, 'project/.claude/commands/stop.md'],
    ['when the project has a skill of that name', '/stop', {}, 'project/.claude/skills/stop/SKILL.md'],
  ];
  for (const [what, prompt, options, file] of rows) {
    test(what, async () => {
      await using made = bench(options);
      if (file !== undefined) made.home.put(file, 'mine');
      expect(await made.submit(prompt)).toBe('');
      expect(readEvents(made.home.paths, 'prompt')).toMatchObject([{ data: { text: prompt } }]);
      expect(existsSync(made.home.paths.runsDatabase)).toBe(false);
    });
  }

  test('when the hooks are switched off', async () => {
    await using made = bench({ settings: { enabled: false } });
    expect(await made.submit('/subagents list')).toBe('');
  });
});
