import { describe, expect, test } from 'bun:test';
import { readEvents, temporaryHome } from '../support/home.ts';
import { decideIn, play } from '../support/hook-play.ts';
import { runHookProcess } from '../support/hook-process.ts';
import { bashFailure, bashSuccess, type Payload, PROJECT, payload, prompt } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';
import { seedErrors } from '../support/seed.ts';

const home = homePerTest();
const END = payload('session-end');

test('SessionEnd asks for the summary and for forgetting, and says nothing', () =>
  expect(decideIn(home, END)).toEqual({
    recording: { kind: 'session-end', at: expect.anything(), reason: 'other' },
    takesNotes: true,
    prune: true,
  }));

// What nobody else would gain from knowing is counted and not named.
test('SessionEnd has a session summed up, with the printed lines of its unsolved errors', () => {
  const failure = (error: string, id: string) =>
    bashFailure(`Exit code 2\nmake: ${error}`, { tool_input: { command: 'make' }, tool_use_id: id });
  const edit = (file: string, id: string) =>
    payload('post-tool-use-edit', { tool_input: { file_path: `/home/dev/app/${file}` }, tool_use_id: id });
  play(home, [
    ...['one', 'two', 'three', 'four'.repeat(50)].map((text) => prompt(text)),
    prompt('of another session', { session_id: 'another' }),
    failure('unknown option -x', 't1'),
    edit('a.ts', 't2'),
    bashSuccess('make', { tool_use_id: 't3' }),
    failure('unknown option -y', 't4'),
    failure('unknown option -y', 't5'),
    failure('something went wrong', 't8'),
    edit('b.ts', 't6'),
    edit('a.ts', 't7'),
    END,
  ]);
  expect(readEvents(home.paths, 'session_summary')[0]?.data).toEqual({
    promptCount: 4,
    toolCounts: { Edit: 3, Bash: 1 },
    toolSequence: ['Edit', 'Bash', 'Edit', 'Edit'],
    errorCount: 4,
    unresolvedErrorCount: 2,
    uniqueErrors: ['make: unknown option -y'],
    lastPrompts: ['four'.repeat(25), 'three', 'two'],
    lastEditedFiles: ['a.ts', 'b.ts'],
    reason: 'other',
  });
});

test('the end of a session forgets what is older than the retention', async () => {
  const day = 86_400;
  seedErrors(home.paths, [
    { error: 'an old error', age: 91 * day },
    { error: 'a younger error', age: 89 * day },
  ]);
  await runHookProcess(END, { home: home.path });
  expect(readEvents(home.paths, 'tool_error').map((event) => event.data.error)).toEqual(['a younger error']);
});

describe('SessionEnd starts an analysis', () => {
  const launched = (prompts: number, config: Payload, end: Payload = {}, isFailing = false) => {
    using home = temporaryHome();
    play(
      home,
      Array.from({ length: prompts }, (_, n) => prompt(`prompt ${n}`)),
    );
    if (isFailing) seedErrors(home.paths, [{ error: 'Error: no port' }]);
    return decideIn(home, { ...END, ...end }, { config }).launch;
  };
  const on = { analysisOnSessionEnd: true };

  const suggest = { lessons: { model: 'suggest' } };
  const daily = { lessons: { model: 'daily' } };
  const rows: [
    when: string,
    prompts: number,
    config: Payload,
    end: Payload,
    isFailing: boolean,
    is: boolean,
  ][] = [
    ['when the user has switched that on and there were three prompts', 3, on, {}, false, true],
    ['where lessons are to be suggested', 3, suggest, {}, false, true],
    ['where lessons are learnt daily', 3, daily, {}, false, true],
    ['where lessons are suggested, after one prompt and a failing call', 1, suggest, {}, true, true],
    ['where lessons are learnt daily, after one prompt and a failing call', 1, daily, {}, true, true],
    ['where lessons are suggested, after one prompt', 1, suggest, {}, false, false],
    ['where lessons are learnt daily, after one prompt', 1, daily, {}, false, false],
    ['as long as nobody has switched it on', 5, {}, {}, false, false],
    ['as long as nobody has switched it on, whatever failed', 1, {}, {}, true, false],
    ['without lessons, after one prompt and a failing call', 1, on, {}, true, false],
    ['after two prompts', 2, on, {}, false, false],
    ['when the session was only cleared', 5, on, { reason: 'clear' }, false, false],
  ];
  for (const [when, prompts, config, end, isFailing, is] of rows)
    test(`${is ? 'of the project' : 'never'} ${when}`, () =>
      expect(launched(prompts, config, end, isFailing)).toEqual(
        is ? { kind: 'analysis', projectPath: PROJECT } : undefined,
      ));
});
