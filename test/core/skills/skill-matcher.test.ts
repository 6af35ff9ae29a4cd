import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { evaluateSkills, type Matcher } from '../../../scripts/eval-skills.ts';
import { readSkill, type Skill } from '../../../src/core/skills/skill.ts';
import { matchSkill, rankSkills } from '../../../src/core/skills/skill-matcher.ts';

function skill(name: string, text: string, scope: Skill['scope'] = 'project'): Skill {
  return readSkill(text, { name, scope, path: `/home/dev/shop/.claude/commands/${name}.md` });
}

const DEPLOY = skill('deploy-preview', '---\ndescription: Deploy the branch to a preview environment\n---\n');
const REPORT = skill('weekly-report', '이번 주 커밋을 모아 주간 보고서를 작성한다.');
const CONFLICTS = skill(
  'resolve-conflicts',
  '## Detected patterns\n- resolve the merge conflicts\n- 충돌 해결해줘\n',
);
const COMPONENT = skill(
  'new-component',
  '---\ndescription: Scaffold a React component\nkeywords: [컴포넌트]\n---\n',
);
const CRON = skill('cron-job', '## 감지된 패턴\n- 크론 잡 추가해줘\n- 매일 도는 배치 작업 만들어줘\n');
const CLEAN = skill('remove-dead-code', '사용하지 않는 코드를 찾아 삭제한다.', 'global');
const EXPLAIN = skill('explain-module', '---\ndescription: Explain how a module works\n---\n', 'global');
const ALL = [DEPLOY, REPORT, CONFLICTS, COMPONENT, CRON, CLEAN, EXPLAIN];

function answer(prompt: string, skills: readonly Skill[] = ALL): string | null {
  return matchSkill(prompt, skills)?.skill.name ?? null;
}

const FITTING: [prompt: string, name: string][] = [
  ['deploy this branch to the preview environment', 'deploy-preview'],
  ['이 브랜치 프리뷰 환경에 배포해줘, preview로', 'deploy-preview'],
  ['주간 보고서 써줘', 'weekly-report'],
  ['could you write the weekly report?', 'weekly-report'],
  ['머지 충돌 좀 해결해 주세요', 'resolve-conflicts'],
  ['there are conflicts with main, resolve them please', 'resolve-conflicts'],
  ['컴포넌트 하나 만들어줘, 이름은 PriceTag', 'new-component'],
  ['add a cron job that cleans up sessions', 'cron-job'],
  ['안 쓰는 코드 지워줘', 'remove-dead-code'],
  ['explain how the billing module works', 'explain-module'],
];
for (const [prompt, name] of FITTING) {
  test(`matchSkill() suggests ${name} for "${prompt}"`, () => {
    expect(answer(prompt)).toBe(name);
  });
}

const UNFITTING: [what: string, prompt: string][] = [
  ['a question about the subject', '크론 잡이 뭐야?'],
  ['a question for permission', '배포해도 돼?'],
  ['an explanation', 'explain the cron job to me'],
  ['a refusal', "don't deploy the preview yet"],
  ['the opposite', 'delete the cron job for reports'],
  ['another thing with such a name', '주간 보고서 페이지 레이아웃 고쳐줘'],
  ['another thing of the trade', 'fix the layout of the conflicts page'],
  ['a report', '아까 프리뷰에 배포했어'],
  ['chit-chat', '좋아 그렇게 해줘'],
  ['a pasted error', 'Error: cron job failed\n    at run (cron.ts:1:2)'],
  ['a command', '/deploy-preview deploy the preview'],
  ['an empty prompt', ''],
  ['a blank prompt', ' \n '],
];
for (const [what, prompt] of UNFITTING) {
  test(`matchSkill() suggests nothing for ${what}`, () => {
    expect(answer(prompt)).toBeNull();
  });
}

test('matchSkill() suggests nothing without skills', () => {
  expect(matchSkill('deploy the preview', [])).toBeNull();
});

test('matchSkill() says how well the skill fits, between 0 and 1', () => {
  const whole = matchSkill('주간 보고서 작성해줘', ALL)?.confidence ?? 0;
  const half = matchSkill('이번 주 커밋들 모아서 주간 보고서 페이지에 올릴 글 써줘', ALL)?.confidence ?? 0;
  expect(whole).toBeGreaterThan(half);
  expect(whole).toBeLessThanOrEqual(1);
});

for (const only of ALL) {
  test(`matchSkill() suggests ${only.name} for its own prompts alone when it is the only skill`, () => {
    const others = FITTING.filter(([, name]) => name !== only.name);
    for (const [prompt] of others) expect([prompt, answer(prompt, [only])]).toEqual([prompt, null]);
    for (const [, prompt] of UNFITTING) expect([prompt, answer(prompt, [only])]).toEqual([prompt, null]);
    const own = FITTING.filter(([, name]) => name === only.name);
    for (const [prompt] of own) expect(answer(prompt, [only])).toBe(only.name);
  });
}

test('matchSkill() suggests none of a few skills for everyday prompts', () => {
  const everyday = [
    'add a loading spinner to the save button',
    'fix the bug in the login form',
    '버튼 색을 파란색으로 바꿔줘',
    'run the tests',
    '테스트 돌려줘',
    'rename this variable',
    'README에 설치 방법 추가해줘',
    'sort the table by date',
    'continue',
  ];
  for (const skills of [[DEPLOY], [REPORT, CRON], [CONFLICTS, COMPONENT, CLEAN]]) {
    for (const prompt of everyday) expect([prompt, answer(prompt, skills)]).toEqual([prompt, null]);
  }
});

test('matchSkill() suggests neither of two skills that fit equally', () => {
  const copies = [
    skill('ship-a', 'Deploy the preview.', 'global'),
    skill('ship-b', 'Deploy the preview.', 'global'),
  ];
  expect(rankSkills('deploy the preview', copies).length).toBe(2);
  expect(answer('deploy the preview', copies)).toBeNull();
});

test("matchSkill() suggests the project's command where a global one has the same name", () => {
  const text = 'Deploy the preview.';
  const match = matchSkill('deploy the preview', [skill('ship', text, 'global'), skill('ship', text)]);
  expect(match?.skill.scope).toBe('project');
});

test('rankSkills() has the best first and no skill without a shared word', () => {
  const ranked = rankSkills('매일 도는 크론 잡 추가해줘', ALL);
  expect(ranked[0]?.skill.name).toBe('cron-job');
  expect(ranked.map(({ score }) => score)).toEqual(
    ranked.map(({ score }) => score).toSorted((a, b) => b - a),
  );
  expect(ranked.some(({ skill: { name } }) => name === 'remove-dead-code')).toBe(false);
});

test('matchSkill() never throws, gives one of the skills, and the same every time', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'deploy',
      'preview',
      '배포해줘',
      '충돌',
      '해결해줘',
      'please',
      '?',
      'cron',
      '크론잡',
      '지워줘',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  const text = fc.array(word, { maxLength: 20 }).map((words) => words.join(' '));
  const made = fc
    .record({ name: fc.string({ maxLength: 20 }), text })
    .map(({ name, text }) => skill(name, text));
  fc.assert(
    fc.property(
      text,
      fc.array(fc.oneof(made, fc.constantFrom(...ALL)), { maxLength: 5 }),
      (prompt, skills) => {
        const match = matchSkill(prompt, skills);
        expect(match).toEqual(matchSkill(prompt, skills));
        if (match === null) return;
        expect(skills).toContain(match.skill);
        expect(match.confidence).toBeGreaterThan(0);
        expect(match.confidence).toBeLessThanOrEqual(1);
      },
    ),
  );
});

/** The shortest of a few runs: other programs on the machine only make a run longer. */
function shortestMs(run: () => void): number {
  const runs = Array.from({ length: 10 }, () => {
    const startedMs = performance.now();
    run();
    return performance.now() - startedMs;
  });
  return Math.min(...runs);
}

const THIRTY = Array.from({ length: 30 }, (_, at) => ({
  ...(ALL[at % ALL.length] as Skill),
  name: `skill-${at}`,
}));

test('matchSkill() takes less than 3 ms for 300 characters and 30 skills', () => {
  const prompt = '어제 고친 결제 화면은 다 됐고 테스트도 통과했어. '
    .repeat(9)
    .concat('이제 프리뷰 환경에 배포해줘');
  expect(prompt.length).toBeGreaterThan(250);
  expect(shortestMs(() => matchSkill(prompt, THIRTY))).toBeLessThan(3);
});

const LONG_TEXT = '데이터베이스마이그레이션을 배포하고 커밋메시지를 작성해줘 deploy the migration '.repeat(
  10,
);
const HUGE = Array.from({ length: 200 }, (_, at) => ({
  ...DEPLOY,
  name: `skill-${at}`,
  description: LONG_TEXT.slice(0, 300),
  patterns: Array.from({ length: 20 }, () => LONG_TEXT.slice(0, 200)),
}));
const SLOW: [what: string, part: string, end: string][] = [
  ['misspelt words', 'deploy the migratoin to stagign please ', 'deploy it'],
  ['unknown Korean words', '뷁뷃뷄뷅뷆 ', '배포해줘'],
  ['long Korean words', '뷁뷃뷄배포마이그레이션이션션배포ㄱ ', '배포해줘'],
  ['one Korean word', '가', ' 배포해줘'],
  ['many clauses', 'deploy, ', 'deploy it'],
  ['many lines', 'deploy it\n', 'deploy it'],
  ['dots', '.', ' deploy it'],
  ['blanks', ' ', ' deploy it'],
  ['quotation marks', "'", ' deploy it'],
  ['slashes', 'a/a.', ' deploy it'],
];
for (const [what, part, end] of SLOW) {
  test(`matchSkill() takes less than 20 ms for 8,192 characters of ${what} and 200 long skills`, () => {
    const prompt = part.repeat(8192 / part.length).slice(0, 8192 - end.length) + end;
    expect(shortestMs(() => matchSkill(prompt, HUGE))).toBeLessThan(20);
  });
}

/* The labelled prompts. */

const PRECISION_MIN = 0.95;
const RECALL_MIN = 0.8;

for (const row of evaluateSkills().filter(({ name }) => name === 'self-generation')) {
  test(`matchSkill() is right often enough on the labelled prompts, ${row.split}`, () => {
    expect(row.positives).toBeGreaterThan(50);
    expect(row.negatives).toBeGreaterThan(35);
    expect(row.precision).toBeGreaterThanOrEqual(PRECISION_MIN);
    expect(row.recall).toBeGreaterThanOrEqual(RECALL_MIN);
  });
}

const USELESS: Readonly<Record<string, Matcher>> = {
  'always suggests the best': (prompt, skills) =>
    rankSkills(prompt, skills)[0]?.skill.name ?? skills[0]?.name ?? null,
  'always suggests the first': (_, skills) => skills[0]?.name ?? null,
  'never suggests any': () => null,
};
for (const row of evaluateSkills(USELESS)) {
  test(`evaluateSkills() fails a matcher that ${row.name}, ${row.split}`, () => {
    expect(row.precision >= PRECISION_MIN && row.recall >= RECALL_MIN).toBe(false);
  });
}

test("evaluateSkills() finds the predecessor's rule wanting", () => {
  const rows = evaluateSkills().filter(({ split }) => split === 'all');
  const [ours, theirs] = [
    rows.find(({ name }) => name === 'self-generation'),
    rows.find(({ name }) => name === 'predecessor'),
  ];
  expect(ours?.f1).toBeGreaterThan(2 * (theirs?.f1 ?? 1));
});
