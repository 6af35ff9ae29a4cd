import { describe, expect, test } from 'bun:test';
import {
  answer,
  call,
  decided,
  decidedAtOnce,
  edit,
  PROMPT,
  read,
  session,
  shown,
  text,
  write,
} from './history.ts';

describe('a result that stands above word for word', () => {
  test('gives way before it is ever sent, whatever the tool', () => {
    const { decisions, waiting } = decided(session(call('1'), call('2')));
    expect(decisions).toEqual([
      expect.objectContaining({ callId: '2', rule: 'deduplicate', part: 'output', anchor: '1' }),
    ]);
    expect(waiting).toEqual([]);
  });

  test('also where the keys of the input stand in another order', () => {
    const [one, other] = [
      { a: 1, b: { c: 2 } },
      { b: { c: 2 }, a: 1 },
    ];
    const messages = session(call('1', { input: one }), call('2', { input: other }));
    expect(decidedAtOnce(messages)).toEqual(['deduplicate 2 → 1']);
  });

  test('also within one answer', () => {
    expect(decidedAtOnce([PROMPT, answer(call('1'), call('2'))])).toEqual(['deduplicate 2 → 1']);
  });

  test('also of a call that failed again with the same error', () => {
    const error = { state: 'failed', output: text('not found') } as const;
    const messages = session(call('1', error), call('2', error));
    expect(decided(messages).decisions[0]?.placeholder).toContain(
      'failed again, with word for word the error',
    );
  });

  const others = {
    'another output': { output: text('another') },
    'another input': { input: { command: 'ls', timeout: 1 } },
    'another tool': { tool: 'shell' },
    'that failed with the same words': { state: 'failed' },
    'that still runs': { state: 'running' },
    'that its client has cleared': { isCleared: true },
  } as const;
  for (const [what, other] of Object.entries(others)) {
    test(`stays where the second call is one of ${what}`, () => {
      expect(decidedAtOnce(session(call('1'), call('2', other)))).toEqual([]);
    });
    test(`stays where the first call is one of ${what}`, () => {
      expect(decidedAtOnce(session(call('1', other), call('2')))).toEqual([]);
    });
  }

  test('stays where next to nothing would be saved', () => {
    const short = { output: text('short', 350) };
    expect(decidedAtOnce(session(call('1', short), call('2', short)))).toEqual([]);
    const long = { output: text('long', 500) };
    expect(decidedAtOnce(session(call('1', long), call('2', long)))).toHaveLength(1);
  });

  test('is compared with the newest of its kind alone', () => {
    const messages = session(call('1'), call('2', { output: text('other') }), call('3'), call('4'));
    expect(decidedAtOnce(messages)).toEqual(['deduplicate 4 → 3']);
  });

  test('is shown when the model repeats the call within two answers, and is what later ones are compared with', () => {
    const again = session(call('1'), call('2'), call('3'), call('4'), call('5'));
    expect(decidedAtOnce(again)).toEqual(['deduplicate 2 → 1', 'deduplicate 4 → 3']);
    const other = (id: string) => call(id, { output: text(id), input: { command: id } });
    const afterOne = session(call('1'), call('2'), other('a'), call('3'));
    expect(decidedAtOnce(afterOne)).toEqual(['deduplicate 2 → 1']);
    const afterTwo = session(call('1'), call('2'), other('a'), other('b'), call('3'));
    expect(decidedAtOnce(afterTwo)).toEqual(['deduplicate 2 → 1', 'deduplicate 3 → 1']);
  });

  test('is compared with none that gives way itself', () => {
    const reverted = session(read('1', 'old'), edit('2'), read('3', 'new'), edit('4'), read('5', 'old'));
    const superseded = [
      'supersede-writes 1 → 3',
      'supersede-writes 2 → 3',
      'supersede-writes 3 → 5',
      'supersede-writes 4 → 5',
    ];
    expect(decidedAtOnce(reverted)).toEqual(superseded);
    // Also as long as that one still waits to give way.
    expect(decided(reverted).decisions).toEqual([]);
    const rewritten = session(read('1', 'old'), write('2', 'new'), read('3', 'old'));
    expect(decidedAtOnce(rewritten)).toEqual(['supersede-writes 1 → 2', 'supersede-writes 2 → 3']);
  });
});

describe('what was read of a file, and written to it', () => {
  test('gives way once the file is read in full', () => {
    const messages = session(read('1', 'old'), edit('2'), write('3', 'new'), read('4', 'newest'));
    // The write has shown the whole file already.
    expect(decidedAtOnce(messages)).toEqual([
      'supersede-writes 1 → 3',
      'supersede-writes 2 → 3',
      'supersede-writes 3 → 4',
    ]);
  });

  test('as an input in writes and edits, as an output in reads', () => {
    const { waiting } = decided(session(read('1', 'old'), edit('2'), read('3', 'new')));
    expect(waiting.map(({ callId, part }) => `${callId} ${part}`)).toEqual(['1 output', '2 input']);
  });

  for (const path of [
    'a.ts',
    './a.ts',
    '/home/dev/project/a.ts',
    '/home/dev/project/src/../a.ts',
    'src\\..\\a.ts',
  ])
    test(`whether it is written ${path} or otherwise`, () => {
      expect(decidedAtOnce(session(edit('1', path), read('2', 'new', 'a.ts')))).toHaveLength(1);
      expect(decidedAtOnce(session(edit('1', 'a.ts'), read('2', 'new', path)))).toHaveLength(1);
    });

  test('stays when another file is read', () => {
    expect(decidedAtOnce(session(edit('1'), read('2', 'new', 'b.ts')))).toEqual([]);
  });

  const unsure = {
    'a part': { output: shown([text('x')], { first: 20 }) },
    'a beginning': { output: shown([text('x')], { isWhole: false }) },
    'a file with a line that was cut': { output: shown([`${text('x')}... (line truncated to 2000 chars)`]) },
    'a directory': { output: '<path>/a</path>\n<type>directory</type>\n<entries>\nb.ts\n</entries>' },
    'nothing, as it failed': { state: 'failed' },
    'nothing yet': { state: 'running' },
    'what its client has cleared': { isCleared: true },
  } as const;
  for (const [what, made] of Object.entries(unsure)) {
    test(`stays when ${what} was read`, () => {
      const messages = session(read('1', 'old'), edit('2'), { ...read('3', 'new'), ...made });
      expect(decidedAtOnce(messages)).toEqual([]);
    });
  }

  test('stays when the file was read before alone, or written to in part', () => {
    expect(decidedAtOnce(session(read('1', 'old'), edit('2'), edit('3')))).toEqual([]);
  });

  test('stays when the write failed', () => {
    expect(decidedAtOnce(session(read('1', 'old'), { ...write('2', 'new'), state: 'failed' }))).toEqual([]);
  });

  test('parts give way to the whole, in full and only then', () => {
    const part = (id: string, first: number) => ({ ...read(id, id), output: shown([text(id)], { first }) });
    const messages = session(part('1', 20), part('2', 40), read('3', 'all'));
    expect(decidedAtOnce(messages)).toEqual(['supersede-writes 1 → 3', 'supersede-writes 2 → 3']);
  });

  test('refers to what is shown: a reading that is not repeated replaces nothing', () => {
    expect(decidedAtOnce(session(read('1', 'same'), read('2', 'same')))).toEqual(['deduplicate 2 → 1']);
    const messages = session(read('1', 'same'), read('2', 'same'));
    expect(decidedAtOnce(messages, { deduplicate: false })).toEqual(['supersede-writes 1 → 2']);
    expect(decidedAtOnce([...messages, answer(read('3', 'new'))])).toEqual([
      'supersede-writes 1 → 3',
      'deduplicate 2 → 1',
    ]);
  });
});

describe('a long input of a call that failed', () => {
  const failed = { ...edit('1'), state: 'failed', output: 'oldString not found' } as const;
  const others = Array.from({ length: 6 }, (_, index) => call(`${index + 2}`, { output: `${index}` }));

  test('gives way after so many answers', () => {
    expect(decidedAtOnce(session(failed, ...others.slice(0, 3)))).toEqual([]);
    expect(decidedAtOnce(session(failed, ...others.slice(0, 4)))).toEqual(['purge-errors 1']);
    expect(decidedAtOnce(session(failed), { errorSteps: 0 })).toEqual(['purge-errors 1']);
    expect(decidedAtOnce(session(failed, ...others), { errorSteps: 7 })).toEqual([]);
  });

  for (const output of [
    'The user rejected permission to use this specific tool call.',
    'The user dismissed this question',
    "The user doesn't want to proceed with this tool use. The tool use was rejected",
  ])
    test(`stays where it was refused: it is what comes next that it is about (${output.slice(0, 30)})`, () => {
      expect(decidedAtOnce(session({ ...failed, output }, ...others))).toEqual([]);
    });

  test('which prompts are not', () => {
    expect(decidedAtOnce([...session(failed), PROMPT, PROMPT, PROMPT, PROMPT])).toEqual([]);
  });

  test('stays where the call succeeded, or the input is short', () => {
    const short = {
      ...failed,
      input: { filePath: 'a.ts', oldString: text('a', 90), newString: text('b', 90) },
    };
    expect(decidedAtOnce(session(short, ...others))).toEqual([]);
    expect(decidedAtOnce(session(edit('1'), ...others))).toEqual([]);
  });
});

describe('what is protected', () => {
  const messages = session(read('1', 'old'), edit('2'), read('3', 'new'), read('4', 'new'));
  const all = ['supersede-writes 1 → 3', 'supersede-writes 2 → 3', 'deduplicate 4 → 3'];

  test('is nothing unless it is said', () => expect(decidedAtOnce(messages)).toEqual(all));

  for (const name of ['read', 'read_file', 'Read', 'rea*', '*'])
    test(`${name} keeps every reading`, () => {
      const kept = decidedAtOnce(messages, { protectedTools: [name] });
      expect(kept).toEqual(name === '*' ? [] : ['supersede-writes 2 → 3']);
    });

  test('a sub-agent’s work, lists, plans and questions are, as it stands', () => {
    const plans = ['plan_exit', 'ExitPlanMode', 'exit_plan_mode', 'EnterPlanMode'];
    const questions = ['question', 'AskUserQuestion', 'ask_user'];
    for (const tool of ['task', 'Agent', 'todowrite', 'update_plan', 'skill', ...questions, ...plans])
      expect(decidedAtOnce(session(call('1', { tool }), call('2', { tool })))).toEqual([]);
  });

  for (const pattern of ['a.ts', '*.ts', '**/a.ts', '/home/dev/project/**', '?.ts', '**'])
    test(`${pattern} keeps a.ts of the project`, () => {
      expect(decidedAtOnce(messages, { protectedFiles: [pattern] })).toEqual([]);
    });

  for (const pattern of ['b.ts', 'src/**', 'a.t', '.ts', '/a.ts', 'a?ts?', 'axts'])
    test(`${pattern} does not`, () => {
      expect(decidedAtOnce(messages, { protectedFiles: [pattern] })).toEqual(all);
    });

  test('the files of a patch count', () => {
    const patchText = `*** Begin Patch\n*** Update File: src/secret.ts\n${text('-old')}\n*** End Patch`;
    const failed = call('1', { tool: 'apply_patch', input: { patchText }, state: 'failed', output: 'no' });
    const history = session(failed, call('2', { output: 'x' }));
    expect(decidedAtOnce(history, { errorSteps: 1 })).toEqual(['purge-errors 1']);
    expect(decidedAtOnce(history, { errorSteps: 1, protectedFiles: ['src/secret.*'] })).toEqual([]);
  });

  test('the newest prompts, with what follows them, are for as long as they are the newest', () => {
    const settings = { protectedTurns: 2 };
    expect(decidedAtOnce(messages, settings)).toEqual([]);
    expect(decidedAtOnce([...messages, PROMPT], settings)).toEqual([]);
    const [, , ...newer] = session(call('x'), call('5'), call('6'));
    // What is shown at first, as it is new, makes way where it stands above.
    const old = ['supersede-writes 1 → 3', 'supersede-writes 2 → 3', 'supersede-writes 3 → 4'];
    expect(decidedAtOnce([...messages, PROMPT, ...newer, PROMPT], settings)).toEqual(old);
    expect(decidedAtOnce([...messages, PROMPT, ...newer, PROMPT, PROMPT], settings)).toEqual([
      ...old,
      'deduplicate 6 → 5',
    ]);
  });
});

describe('a switch', () => {
  const failed = { ...edit('5'), state: 'failed', output: 'no' } as const;
  const messages = session(read('1', 'old'), edit('2'), read('3', 'new'), read('4', 'new'), failed);
  const rules = (settings: object) =>
    decidedAtOnce(messages, { errorSteps: 0, ...settings }).map((line) => line.split(' ')[0]);

  test('is for each of the rules, and for all', () => {
    expect([...new Set(rules({}))]).toEqual(['supersede-writes', 'deduplicate', 'purge-errors']);
    expect(rules({ deduplicate: false })).not.toContain('deduplicate');
    expect(rules({ supersedeWrites: false })).not.toContain('supersede-writes');
    expect(rules({ purgeErrors: false })).not.toContain('purge-errors');
    expect(rules({ enabled: false })).toEqual([]);
  });

  test('holds for what was decided before as well', () => {
    const settings = { errorSteps: 0, cachedPriceRatio: 1 };
    const { decisions: earlier } = decided(messages, { settings });
    expect(earlier).toHaveLength(4);
    const kept = decided(messages, { earlier, settings: { ...settings, supersedeWrites: false } });
    expect(kept.decisions.map(({ rule }) => rule)).toEqual(['deduplicate', 'purge-errors']);
  });
});

test('a compaction is a new beginning', () => {
  const compaction = { ...PROMPT, isCompaction: true };
  expect(decidedAtOnce([...session(call('1')), compaction, answer(call('2'))])).toEqual([]);
  const [, ...later] = session(edit('1'), read('2', 'new'));
  expect(decidedAtOnce([PROMPT, ...later.slice(0, 1), compaction, ...later.slice(1)])).toEqual([]);
});

test('what was said before a compaction is not shown, and nothing is decided on it afterwards', () => {
  const failed = { ...edit('1'), state: 'failed', output: 'no' } as const;
  const later = Array.from({ length: 4 }, (_, index) => answer(call(`${index + 2}`, { output: '' })));
  expect(decidedAtOnce([...session(failed), ...later])).toEqual(['purge-errors 1']);
  expect(decidedAtOnce([...session(failed), { ...PROMPT, isCompaction: true }, ...later])).toEqual([]);
});

test('calls with one id are left alone', () => {
  expect(decidedAtOnce(session(call('1'), call('2'), call('2')))).toEqual([]);
});
