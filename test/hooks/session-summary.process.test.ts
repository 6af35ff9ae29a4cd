import { describe, expect, test } from 'bun:test';
import { decide, parseHookEvent } from '../../src/hooks/hooks.ts';
import { decideSessionEnd } from '../../src/hooks/session-summary.ts';
import { readEvents, temporaryHome } from '../support/home.ts';
import { bench, eventOf } from '../support/hook-context.ts';
import { runHookProcess } from '../support/hook-process.ts';
import { bashFailure, bashSuccess, type Payload, PROJECT, payload, prompt } from '../support/payloads.ts';
import { seedErrors } from '../support/seed.ts';

function summaryAfter(...inputs: Payload[]): Payload | undefined {
  using home = temporaryHome();
  using work = bench(home);
  for (const input of [...inputs, payload('session-end')]) {
    const event = parseHookEvent(input);
    if (event) work.keep(decide(event, work.context));
  }
  return readEvents(home.paths, 'session_summary')[0]?.data;
}

test('decideSessionEnd() asks for the summary and for forgetting, and says nothing', () => {
  using home = temporaryHome();
  using work = bench(home);
  const decision = decideSessionEnd(eventOf('SessionEnd', payload('session-end')), work.context);
  expect(decision).toMatchObject({ recording: { kind: 'session-end', reason: 'other' }, prune: true });
  expect(decision.reply).toBeUndefined();
});

test('decideSessionEnd() has an empty session summed up', () => {
  expect(summaryAfter()).toEqual({
    promptCount: 0,
    toolCounts: {},
    toolSequence: [],
    errorCount: 0,
    unresolvedErrorCount: 0,
    uniqueErrors: [],
    lastPrompts: [],
    lastEditedFiles: [],
    reason: 'other',
  });
});

// What nobody else would gain from knowing is counted and not named.
test('decideSessionEnd() has a session summed up, with the printed lines of its unsolved errors', () => {
  const failure = (error: string, id: string) =>
    bashFailure(`Exit code 2\nmake: ${error}`, { tool_input: { command: 'make' }, tool_use_id: id });
  const edit = (file: string, id: string) =>
    payload('post-tool-use-edit', { tool_input: { file_path: `/home/dev/app/${file}` }, tool_use_id: id });
  const summary = summaryAfter(
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
  );
  expect(summary).toEqual({
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
  using home = temporaryHome();
  const day = 86_400;
  seedErrors(home.paths, [
    { error: 'an old error', age: 91 * day },
    { error: 'a younger error', age: 89 * day },
  ]);
  await runHookProcess(payload('session-end'), { home: home.path });
  expect(readEvents(home.paths, 'tool_error').map((event) => event.data.error)).toEqual(['a younger error']);
});

describe('decideSessionEnd() starts an analysis', () => {
  const launched = (prompts: number, config: Payload, end: Payload = {}, isFailing = false) => {
    using home = temporaryHome();
    using work = bench(home, { config });
    for (let n = 0; n < prompts; n++) {
      const event = parseHookEvent(prompt(`prompt ${n}`));
      if (event) work.keep(decide(event, work.context));
    }
    if (isFailing) seedErrors(home.paths, [{ error: 'Error: no port' }]);
    return decideSessionEnd(eventOf('SessionEnd', payload('session-end', end)), work.context).launch;
  };
  const on = { analysisOnSessionEnd: true };

  test('of the project, when the user has switched that on and there were three prompts', () => {
    expect(launched(3, on)).toEqual({ kind: 'analysis', projectPath: PROJECT });
  });

  test('where lessons are wanted, also of a short session in which a call failed', () => {
    for (const model of ['suggest', 'daily']) {
      const lessons = { lessons: { model } };
      expect(launched(3, lessons)).toEqual({ kind: 'analysis', projectPath: PROJECT });
      expect(launched(1, lessons)).toBeUndefined();
      expect(launched(1, lessons, {}, true)).toEqual({ kind: 'analysis', projectPath: PROJECT });
    }
    expect(launched(1, {}, {}, true)).toBeUndefined();
    expect(launched(1, on, {}, true)).toBeUndefined();
  });

  const rows: [string, number, Payload, Payload][] = [
    ['as long as nobody has switched it on', 5, {}, {}],
    ['after two prompts', 2, on, {}],
    ['when the session was only cleared', 5, on, { reason: 'clear' }],
  ];
  for (const [when, prompts, config, end] of rows) {
    test(`and none ${when}`, () => expect(launched(prompts, config, end)).toBeUndefined());
  }
});
