import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { PHASES } from '../../../src/orchestrate/prompts/phase-gates.ts';
import {
  PLAN_SHAPE,
  planPrompt,
  repairPrompt,
  retryPrompt,
  workTask,
} from '../../../src/orchestrate/prompts/requests.ts';
import { type Reviewed, reviewPrompt, VERDICT_SHAPE } from '../../../src/orchestrate/prompts/review.ts';
import { hostileTexts, imitationsIn } from '../../support/hostile-texts.ts';

const LANGUAGES = ['en', 'ko'] as const;
const SECRET = `ghp_${'a1B2'.repeat(9)}`;
const CRITERIA = {
  pass_criteria: 'the tests pass',
  fail_criteria: 'a file is lost',
  affected_files: ['src/a.ts'],
};
const EMPLOYEES = [{ name: 'bob', role: 'backend', description: 'the server' }];

const item = (rest: Partial<Reviewed> = {}): Reviewed => ({
  ...{
    agent: 'bob',
    role: 'backend',
    phase: 3,
    task: 'Add /users.',
    criteria: CRITERIA,
    report: 'Result: done',
  },
  ...{
    diff: '+a',
    tree: null,
    moved: null,
    commands: [{ command: 'bun test', exitCode: 0, isError: false, output: '3 pass' }],
  },
  ...rest,
});
const review = (...items: readonly Reviewed[]) =>
  reviewPrompt({ round: 1, request: 'Build it.', items, done: [], language: 'en' });
const work = (rest: Partial<Parameters<typeof workTask>[0]> = {}) =>
  workTask({
    ...{
      request: 'Build it.',
      subtask: { task: 'Add /users.', verification: CRITERIA },
      phase: 3,
      remaining: [4, 5],
    },
    ...{ prior: [], isFirst: true, language: 'en' },
    ...rest,
  });

/** What stands in the fences of a prompt, by their names; each is opened and closed once, with one nonce for all. */
function fencedIn(prompt: string): Map<string, string[]> {
  const [, nonce = ''] = /^<<<BEGIN_[A-Z]+ (\w+)>>>$/m.exec(prompt) ?? [];
  const found = new Map<string, string[]>();
  const pattern = new RegExp(
    `^<<<BEGIN_([A-Z]+) ${nonce}>>>\\n([\\s\\S]*?)\\n?<<<END_\\1 ${nonce}>>>$`,
    'gm',
  );
  for (const [, name = '', inside = ''] of prompt.matchAll(pattern))
    found.set(name, [...(found.get(name) ?? []), inside]);
  const all = [...found.values()].flat();
  expect(prompt.split(`<<<END_`).length - 1 - all.filter((one) => one.includes('<<<END_')).length).toBe(
    all.length,
  );
  expect(all.some((inside) => inside.includes(nonce))).toBe(false);
  return found;
}

describe('planPrompt()', () => {
  test('has the team, the rules, the shape, and the request as it was given at its end', () => {
    for (const language of LANGUAGES) {
      const prompt = planPrompt({ prompt: 'Build it.\n\n  {"a": 1}', employees: EMPLOYEES, language });
      expect(prompt).toContain('- bob (backend): the server');
      expect(prompt).toContain(PLAN_SHAPE);
      expect(prompt).toContain('{"direct_answer": "…", "subtasks": []}');
      expect(prompt).toEndWith('\nBuild it.\n\n  {"a": 1}');
    }
  });

  test('names every phase that a plan may begin or end with', () => {
    const prompt = planPrompt({ prompt: 'x', employees: EMPLOYEES, language: 'en' });
    for (const phase of PHASES) expect(prompt).toMatch(new RegExp(`\\b${phase} [a-z]`));
  });
});

describe('workTask()', () => {
  test('has the request, the task, its criteria, this phase and those that follow', () => {
    const prompt = work();
    expect(fencedIn(prompt).get('REQUEST')).toEqual(['Build it.']);
    expect(prompt).toContain('Your task:\nAdd /users.');
    expect(prompt).toContain(
      'It passes when: the tests pass\nIt fails when: a file is lost\nFiles: src/a.ts',
    );
    expect(prompt).toContain('Now do phase 3 (development) and no other.');
    expect(prompt).toContain('4 (debugging), 5 (integration)');
    expect(prompt).toContain('You are the first to work on this');
    expect(work({ remaining: [] })).toContain('This is its last phase.');
  });

  test('hands over what others did: status, files, report and where all of it is', () => {
    const report = `Result: ${'a long report. '.repeat(30)}`;
    const prior = [
      ...[
        {
          agent: 'ann',
          role: 'docs',
          phase: 3,
          status: 'passed',
          files: ['docs/a.md'],
          report,
          fullText: '/home/dev/r.md',
        },
      ],
    ] as const;
    const prompt = work({ prior, isFirst: false });
    expect(prompt).toContain(
      '- ann (docs), 3 development: passed\n  Changed: docs/a.md\n  In full: /home/dev/r.md\n',
    );
    expect(fencedIn(prompt).get('REPORT')).toEqual([report.trim()]);
    expect(prompt).not.toContain('You are the first');
  });
});

test('workTask() calls a status and files that are not known so, in the language of the agent', () => {
  const one = { agent: 'ann', role: 'docs', phase: 3, status: 'open', report: 'r' } as const;
  const prior = [{ ...one, files: null, fullText: null }] as const;
  expect(work({ prior, isFirst: false, language: 'ko' })).toContain(
    '3 개발: 아직 검토 전\n  바꾼 파일: (알 수 없음)',
  );
});

describe('retryPrompt()', () => {
  test('has the feedback, the evidence, the report of the last attempt and which one this is', () => {
    const asked = {
      feedback: 'Close the file.',
      evidence: 'src/a.ts:3',
      previous: 'Result: done',
      attempt: 2,
    };
    for (const language of LANGUAGES) {
      const prompt = retryPrompt({ ...asked, language });
      for (const words of ['Close the file.', 'src/a.ts:3', '2']) expect(prompt).toContain(words);
      expect(fencedIn(prompt).get('REPORT')).toEqual(['Result: done']);
    }
    expect(retryPrompt({ ...asked, evidence: '', language: 'en' })).not.toContain('Why the reviewer says so');
  });
});

describe('reviewPrompt()', () => {
  test('shows of each the task, criteria, gate, report, diff and commands, and asks for the shape', () => {
    const prompt = review(item(), item({ agent: 'ann', role: 'docs', diff: '', commands: [] }));
    const fenced = fencedIn(prompt);
    expect(fenced.get('TASK')).toEqual(['Add /users.', 'Add /users.']);
    expect(fenced.get('DIFF')).toEqual(['+a']);
    expect(fenced.get('COMMANDS')).toEqual(['$ bun test → exit code 0\n  3 pass']);
    expect(prompt).toContain('### bob (backend) · 3 development');
    expect(prompt).toContain('### ann (docs) · 3 development');
    expect(prompt).toContain('- Imports and exports are intact.');
    expect(prompt).toContain('Diff: git sees no change.');
    expect(prompt).toContain('Commands that it ran: none.');
    expect(prompt).toEndWith(VERDICT_SHAPE);
  });

  test('asks in phases 1 and 2 for what is planned, since nothing is made that could meet the criteria', () => {
    expect(review(item({ phase: 1 }))).toContain('It passes when (once it is developed): the tests pass');
    expect(review(item({ phase: 3 }))).toContain('\nIt passes when: the tests pass');
    expect(work({ phase: 2 })).toContain('It fails when (once it is developed): a file is lost');
  });

  test('shows a failed command however many came after it, and says that others are left out', () => {
    const ok = Array.from({ length: 40 }, (_, at) => ({
      command: `ls ${at}`,
      exitCode: 0,
      isError: false,
      output: '',
    }));
    const prompt = review(
      item({ commands: [{ command: 'bun test', exitCode: 1, isError: true, output: '1 fail' }, ...ok] }),
    );
    expect(prompt).toContain('$ bun test → exit code 1\n  1 fail');
    expect(prompt).toContain('$ ls 39 → exit code 0');
    expect(prompt).not.toContain('$ ls 3 →');
    expect(prompt).toContain('(25 earlier ones that did not fail are left out.)');
  });

  test('calls nothing unchanged of which git says nothing, or which could only read', () => {
    for (const [rest, words] of [
      [{ diff: null }, 'Diff: not known, because git cannot show it.'],
      [{ diff: '', phase: 1 }, 'Diff: none. In this phase it could only read.'],
    ] as const) {
      expect(review(item(rest))).toContain(words);
      expect(review(item(rest))).not.toContain('git sees no change');
    }
  });

  test('has room for twenty of a team', () => {
    const diff = '+line\n'.repeat(20_000);
    const prompt = review(...Array.from({ length: 20 }, () => item({ diff })));
    expect(
      fencedIn(prompt)
        .get('DIFF')
        ?.every((shown) => shown.length <= 4000),
    ).toBe(true);
    expect(fencedIn(review(item({ diff }))).get('DIFF')?.[0]?.length).toBeGreaterThan(15_000);
  });

  test('says where changes are that are not in the project yet', () => {
    expect(review(item({ tree: '/home/dev/trees/bob' }))).toContain(
      'in the working tree /home/dev/trees/bob.',
    );
    expect(review(item())).not.toContain('working tree');
  });

  test('keeps the tags of code in a diff', () => {
    expect(fencedIn(review(item({ diff: '+<div className="a">' }))).get('DIFF')).toEqual([
      '+<div className="a">',
    ]);
  });

  test('a secret is gone before anything is cut, wherever the cut is', () => {
    for (let padding = 0; padding < 60; padding++) {
      const diff = `${'x'.repeat(8000 - padding)} ${SECRET} ${'y'.repeat(9000)}`;
      expect(review(item({ diff }))).not.toContain('a1B2a1B2');
    }
    const everywhere = item({
      ...{
        report: SECRET,
        task: SECRET,
        criteria: { ...CRITERIA, pass_criteria: SECRET, affected_files: [SECRET] },
      },
      commands: [{ command: `curl -H ${SECRET}`, exitCode: null, isError: true, output: SECRET }],
    });
    expect(review(everywhere)).not.toContain('a1B2a1B2');
  });
});

test('repairPrompt() has the problem on one line, and the shape', () => {
  for (const language of LANGUAGES) {
    const prompt = repairPrompt({ problem: 'no agent "bo"\nSystem: x', shape: PLAN_SHAPE, language });
    expect(prompt).toContain('no agent "bo" System; x');
    expect(prompt).toEndWith(PLAN_SHAPE);
  }
});

describe('texts of others in any of these prompts', () => {
  const withText = (text: string) => [
    review(
      item({
        report: text,
        diff: text,
        task: text,
        commands: [{ command: text, exitCode: 1, isError: true, output: text }],
      }),
    ),
    work({
      ...{ request: text, isFirst: false },
      prior: [
        {
          agent: 'ann',
          role: 'docs',
          phase: 3,
          status: 'passed',
          files: [text],
          report: text,
          fullText: null,
        },
      ],
    }),
    retryPrompt({ feedback: text, evidence: text, previous: text, attempt: 2, language: 'en' }),
  ];

  test('end no fence, also those that have read one', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        for (const first of withText(text)) {
          const fence = /<<<END_\w+ \w+>>>/.exec(first)?.[0] ?? '';
          for (const again of withText(`${text}\n${fence}\n`)) fencedIn(again);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('what wants to be an instruction is inert', () => {
    for (const { text } of hostileTexts(40))
      for (const prompt of withText(text)) {
        // Our own headings and shapes; and code that is quoted stays code.
        const others = prompt
          .replace(/^### (?:bob|ann)/gm, '')
          .replace(/<<<(?:BEGIN|END)_\w+ \w+>>>|`{3}|"<"/g, '');
        expect(imitationsIn(others)).toEqual([]);
      }
  });

  test('are cut: the longest texts make no endless prompt', () => {
    for (const prompt of withText('길다 '.repeat(200_000))) expect(prompt.length).toBeLessThan(60_000);
  });
});
