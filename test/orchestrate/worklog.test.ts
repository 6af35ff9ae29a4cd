import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { worklogMarkdown } from '../../src/orchestrate/worklog.ts';
import { hostileTexts, imitationsIn } from '../support/hostile-texts.ts';
import { played } from './played.ts';
import { planText, subtask, verdictText } from './scripted.ts';
import { Simulated } from './simulated.ts';

const HEADINGS = [
  ...[
    '## Plan',
    '## Verification Criteria',
    '## Agent Status Matrix',
    '## Execution Log',
    '## Final Summary',
  ],
];
const headingsOf = (markdown: string) => markdown.split('\n').filter((line) => line.startsWith('## '));
const rowsOf = (markdown: string) =>
  markdown.split('\n').filter((line) => line.startsWith('|') && !line.startsWith('| ---'));

describe('worklogMarkdown()', () => {
  const markdown = worklogMarkdown(played().simulated.state);

  test('has the title, the facts and the sections of the seed, in their order', () => {
    expect(markdown).toStartWith('# Work Log: Build it as a team.\n\n- Number: 1\n- Created: 1970-01-01T');
    expect(markdown).toContain('\n- Status: done\n- Rounds: 3\n');
    expect(headingsOf(markdown)).toEqual(HEADINGS);
  });

  test('has a row for each agent, with its phase and its gate', () => {
    expect(rowsOf(markdown)).toEqual([
      '| Agent | Role | Phase | Gate |',
      '| ann | docs | 5 integration | ✅ done |',
      '| bob | custom | 3 development | ✅ done |',
    ]);
  });

  test('logs each attempt with its verdict, and the answer at the end', () => {
    const log = markdown.slice(markdown.indexOf('## Execution Log'), markdown.indexOf('## Final Summary'));
    expect(log.match(/^### .*$/gm)).toEqual([
      '### Round 1 — ann (docs, 1 planning)',
      '### Round 1 — bob (custom, 3 development)',
      '### Round 2 — ann (docs, 3 development)',
      '### Round 2 — bob (custom, 3 development, attempt 2)',
      '### Round 3 — ann (docs, 5 integration)',
    ]);
    expect([...log.matchAll(/- Verdict: (\w+)/g)].map(([, word]) => word)).toEqual([
      ...['PASS', 'FAIL', 'PASS', 'PASS', 'PASS'],
    ]);
    expect(markdown).toEndWith('## Final Summary\n\n> It is done.\n');
  });

  test('keeps its columns whatever a role or a reason has in it', () => {
    const simulated = new Simulated();
    simulated.run(({ key }) => {
      if (key === 'plan') return planText([subtask('ann', { role: 'a\\|b|c' })]);
      return key.startsWith('review') ? simulated.verdicts(() => true) : 'done';
    });
    const row = rowsOf(worklogMarkdown(simulated.state)).at(-1) ?? '';
    expect(row).toBe('| ann | a\\\\\\|b\\|c | 3 development | ✅ done |');
  });

  test("says of a review what was wrong with it, and which verdict is no reviewer's", () => {
    const simulated = new Simulated();
    const answers = ['The work is fine.', verdictText({ bob: true })];
    simulated.run(({ key }) => {
      if (key === 'plan') return planText([subtask('ann'), subtask('bob')]);
      if (!key.startsWith('review')) return 'Result: done';
      return answers.shift() ?? simulated.verdicts(() => true);
    });
    const shown = worklogMarkdown(simulated.state);
    expect(shown).toContain('### Round 1 — review\n\n- Problems: there is no verdict on "ann"');
    expect(shown).toContain('- Verdict: FAIL (of no reviewer)\n- Feedback: no verdict\n');
    expect(shown.match(/— review/g)).toHaveLength(1);
  });

  test('is whole before there is a plan, and says by whom it was stopped', () => {
    const single = new Simulated();
    single.put({ name: 'ended.0', value: { state: 'answered', text: '' } });
    expect(worklogMarkdown(single.state)).toEndWith('> Said to the main agent of the project.\n');
    const simulated = new Simulated();
    expect(headingsOf(worklogMarkdown(simulated.state))).toEqual(HEADINGS);
    simulated.put({ name: 'stop.0', value: { by: 'Ctrl-C' } });
    simulated.put({ name: 'ended.0', value: { state: 'stopped', text: 'Ctrl-C' } });
    expect(worklogMarkdown(simulated.state)).toEndWith('## Final Summary\n\n> Stopped by Ctrl-C.\n');
  });

  test('names phases and gates in the language of the orchestration', () => {
    const simulated = played().simulated;
    Object.assign(simulated.orchestration.options, { language: 'ko' });
    expect(worklogMarkdown(simulated.state)).toContain('| ann | docs | 5 통합검증 | ✅ 완료 |');
  });

  test('no text begins a section, adds a column or a picture, or tells a secret', () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const part = fc.constantFrom(
      '\n## Plan\n',
      ' | x | y |\n',
      '\r## Final Summary',
      '![a](http://x/y)',
      '\n```\n',
      '\n- ',
      secret,
      '가',
      '\n',
    );
    const text = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => `x ${parts.join(' ')}`);
    fc.assert(
      fc.property(text, text, text, (prompt, task, result) => {
        const shown = worklogMarkdown(played({ prompt, task, result }).simulated.state);
        expect(headingsOf(shown)).toEqual(HEADINGS);
        expect(rowsOf(shown)).toHaveLength(3);
        expect(shown).not.toContain('![');
        expect(shown).not.toContain(secret);
      }),
      { numRuns: 30 },
    );
  });

  test('what wants to be an instruction is inert', () => {
    for (const { text } of hostileTexts(40)) {
      const shown = worklogMarkdown(
        played({ prompt: text, task: `Do: ${text}`, result: text }).simulated.state,
      );
      // Our own headings; and code that is quoted ends with the quotation.
      const others = shown.replace(/^### Round/gm, 'Round').replace(/^> ```/gm, '> ');
      expect(imitationsIn(others)).toEqual([]);
    }
  });
});
