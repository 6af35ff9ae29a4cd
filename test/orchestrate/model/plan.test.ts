import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  overlapping,
  overlappingChanges,
  type PlannedWork,
  parallelWork,
  parseDirectAnswer,
  parseSubtasks,
  readPlan,
  stripSubtaskJSON,
} from '../../../src/orchestrate/model/plan.ts';
import { testEndsSoon } from '../../support/ends-soon.ts';
import { planText, subtask } from '../scripted.ts';

const TEAM = ['ann', 'bob'].map((name) => ({ name, role: 'backend' }));
const plan = (subtasks: readonly object[]) => JSON.stringify({ subtasks });
const ANN = plan([subtask('ann')]);

describe('a plan in prose', () => {
  test.each([
    ['alone', ANN],
    ['in a fence', `\`\`\`json\n${ANN}\n\`\`\``],
    ['behind other JSON', `For example {"a": 1}, or\n\`\`\`json\n{"files": []}\n\`\`\`\n${ANN}`],
    ['behind braces of code', `function f() { return {}; } and {x}\n${ANN}`],
    ['in an object around it', `{"result": ${ANN}}`],
    ['with braces and quotes in a text', plan([subtask('ann', { task: 'Write "{" and \\" } to a file' })])],
  ])('is found %s', (_where, text) => {
    expect(parseSubtasks(text)).toMatchObject([{ agent: 'ann' }]);
    const read = readPlan(`Before.\n${text}\nBehind.`, TEAM);
    expect(read).toMatchObject({ kind: 'work', subtasks: [{ agent: 'ann' }] });
  });

  test('is the last of several; only that block is left out of the text', () => {
    const code = '```json\n{"name": "app"}\n```';
    const text = `Draft: ${plan([subtask('bob')])}\n\n${code}\n\nSo:\n\`\`\`json\n${ANN}\n\`\`\`\nThat is it.`;
    expect(readPlan(text, TEAM)).toMatchObject({ kind: 'work', subtasks: [{ agent: 'ann' }] });
    const stripped = stripSubtaskJSON(text);
    expect(stripped).toContain(code);
    expect(stripped).toContain('"bob"');
    expect(stripped).toEndWith('So:\n\nThat is it.');
  });

  test('is none where there is no JSON, or it is cut off', () => {
    for (const text of ['', 'no plan', ANN.slice(0, -1), '{"subtasks": "ann"}']) {
      expect(parseSubtasks(text)).toBeNull();
      expect(readPlan(text, TEAM)).toMatchObject({ kind: 'unusable' });
      expect(stripSubtaskJSON(text)).toBe(text);
    }
  });

  test('is the direct answer where there is nothing to divide beside it', () => {
    expect(parseDirectAnswer('{"direct_answer": "42", "subtasks": []}')).toBe('42');
    expect(parseDirectAnswer('{"direct_answer": " 42 "}')).toBe('42');
    const both = { direct_answer: '42', subtasks: [subtask('ann')] };
    expect(parseDirectAnswer(JSON.stringify(both))).toBeNull();
    expect(parseDirectAnswer('{"direct_answer": ""}')).toBeNull();
    expect(readPlan('So:\n{"direct_answer": "42"}', TEAM)).toEqual({ kind: 'answer', text: '42' });
  });

  test('is found whatever stands around it', () => {
    const words = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(words, words, (before, behind) => {
        const read = readPlan(`${before}${ANN}${behind}`, TEAM);
        if (!/["{}`]/.test(before + behind)) expect(read.kind).toBe('work');
      }),
    );
  });

  testEndsSoon('readPlan', (text) => readPlan(text, TEAM), [
    '{',
    '{"',
    '{"a":',
    '}{"',
    '{"subtasks":[',
    '"',
    '\\"{"',
  ]);
});

describe('a plan', () => {
  test.each([
    ['an agent that there is not', [subtask('ann'), subtask('zoe')], 'no agent "zoe". There are: ann, bob'],
    ['one agent twice', [subtask('ann'), subtask('ANN')], '"ann" is named more than once'],
    ['no task', [subtask('ann', { task: ' ' })], 'subtasks[0][task]'],
    ['no such phase', [subtask('ann', { start_phase: 6 })], 'subtasks[0][start_phase]'],
    ['nothing in it', [], 'subtasks'],
    ...['/etc/passwd', '~/.ssh/id', 'src/../../other', 'C:\\x'].map(
      (file) =>
        [
          `the file ${file}, which is outside of the project`,
          [subtask('ann', { verification: { affected_files: [file] } })],
          'in it: ',
        ] as const,
    ),
  ])('with %s cannot be used', (_what, subtasks, problem) => {
    const read = readPlan(planText(subtasks), TEAM);
    expect(read).toMatchObject({ kind: 'unusable', problem: expect.stringContaining(problem) });
  });

  test('is taken with an agent in other letters, criteria as lists, and without them', () => {
    const verification = { pass_criteria: ['one', 'two'], fail_criteria: 'none', affected_files: 'src/a.ts' };
    const read = readPlan(planText([subtask('Ann', { verification }), { agent: 'bob', task: 'x' }]), TEAM);
    const ann = { agent: 'ann', verification: { pass_criteria: 'one\ntwo', affected_files: ['src/a.ts'] } };
    expect(read).toMatchObject({ subtasks: [ann, { agent: 'bob', verification: null, parallel: false }] });
  });
});

test('a role that a plan does not name is that of the settings', () => {
  const read = readPlan(plan([{ agent: 'ann', task: 'x' }, subtask('bob', { role: 'docs' })]), TEAM);
  expect(read).toMatchObject({ subtasks: [{ role: 'backend' }, { role: 'docs' }] });
});

test('files that were changed touch each other only by their names', () => {
  expect(overlappingChanges(['app/[id]/page.tsx'], ['app/other.tsx', 'app/*'])).toEqual([]);
  expect(overlappingChanges(['a', 'b/c', 'D'], ['a/b', 'b/c', 'd'])).toEqual(['a', 'b/c', 'D']);
});

describe('work at the same time', () => {
  const work = (agent: string, files: readonly string[], rest: object = {}): PlannedWork => ({
    ...{ agent, task: 'x', parallel: true, ...rest },
    verification: { pass_criteria: '', fail_criteria: '', affected_files: [...files] },
  });

  test('is that of the first pieces that are marked so and do not touch each other', () => {
    const [a, b, c] = [work('a', ['src/a.ts']), work('b', ['src/b.ts']), work('c', ['src/c.ts'])];
    expect(parallelWork([a, b, c])).toEqual(['a', 'b', 'c']);
    expect(parallelWork([a, b, { ...c, parallel: false }])).toEqual(['a', 'b']);
    expect(parallelWork([{ ...a, parallel: false }, b, c])).toEqual([]);
    expect(parallelWork([a, work('b', ['./src/A.ts']), c])).toEqual([]);
    expect(parallelWork([a, work('b', []), c])).toEqual([]);
    expect(parallelWork([a, work('b', ['src/b.ts'], { end_phase: 2, role: 'backend' })])).toEqual([]);
  });

  test.each([
    [['src/a.ts'], ['src/a.ts'], true],
    [['src/a.ts'], ['src/ab.ts'], false],
    [['src'], ['src/a.ts'], true],
    [['src/**/*.ts'], ['src/deep/a.css'], true],
    [['src/a*.ts'], ['src/b.ts'], true],
    [['docs/*'], ['src/b.ts'], false],
    [['*'], ['src/b.ts'], true],
    [['.\\src\\a.ts'], ['SRC/a.ts'], true],
    [['lib/../src/a.ts'], ['src/a.ts'], true],
  ])('%j and %j touch each other: %p', (one, other, touches) => {
    expect(overlapping(one, other).length > 0).toBe(touches);
    expect(overlapping(other, one).length > 0).toBe(touches);
  });
});
