import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { extractPatterns, readSkill, type Skill } from '../../../src/core/skills/skill.ts';

const PLACE = {
  name: 'deploy',
  scope: 'project',
  path: '/home/dev/shop/.claude/commands/deploy.md',
} as const;

function read(...lines: string[]): Skill {
  return readSkill(lines.join('\n'), PLACE);
}

function check(title: string, text: string, expected: Partial<Skill>) {
  test(`readSkill() ${title}`, () => {
    expect(readSkill(text, PLACE)).toMatchObject(expected);
  });
}

test('readSkill() keeps where the skill is from', () => {
  expect(read('Deploy it.')).toEqual({
    ...PLACE,
    description: 'Deploy it.',
    patterns: [],
    keywords: [],
    body: 'Deploy it.',
  });
});

check('takes the description from the front matter', '---\ndescription: Ship it\n---\n\nText.', {
  description: 'Ship it',
  body: 'Text.',
});
check('strips double quotes', '---\ndescription: "Ship: now"\n---\nText.', { description: 'Ship: now' });
check('strips single quotes', "---\ndescription: 'Ship it'\n---\nText.", { description: 'Ship it' });
check('joins the lines of a folded description', '---\ndescription: >\n  Ship it\n  now\n---\nText.', {
  description: 'Ship it now',
});
check('reads keywords as a flow list', '---\nkeywords: [배포, "go live", ship]\n---\n', {
  keywords: ['배포', 'go live', 'ship'],
});
check('reads keywords as a block list', "---\nkeywords:\n  - 배포\n  - 'go live'\n---\n", {
  keywords: ['배포', 'go live'],
});
check('reads keywords as text with commas', '---\nkeywords: 배포, go live\n---\n', {
  keywords: ['배포', 'go live'],
});
check('passes over other keys', '---\nargument-hint: "[version]"\nmodel: opus\n---\nText.', {
  description: 'Text.',
  keywords: [],
});
check('takes the first sentence without front matter', '# deploy\n\n  Ship it.\nMore.', {
  description: 'Ship it.',
});
check(
  'passes over the sentence of generated skills',
  '# deploy\n\nAI가 감지한 반복 패턴에서 생성된 스킬입니다.\n\nShip it.',
  { description: 'Ship it.' },
);
check('has no description when the file has none', '# deploy\n', { description: '' });
check('ignores HTML comments', '<!-- made on Monday -->\nShip it.<!-- or\nnot', {
  description: 'Ship it.',
  body: 'Ship it.',
});
check('ignores a byte order mark and reads CRLF', '\ufeff---\r\ndescription: Ship it\r\n---\r\nText.\r\n', {
  description: 'Ship it',
  body: 'Text.',
});
check('takes front matter without an end for text', '---\ndescription: Ship it\n\n# deploy', {
  description: 'description: Ship it',
});
check('drops NUL', 'Ship\0 it.', { description: 'Ship it.' });
check('composes decomposed Hangul', '배포'.normalize('NFD'), { description: '배포' });
check('reads an empty file', '', { description: '', patterns: [], body: '' });

test('extractPatterns() reads the list behind 감지된 패턴 up to the next heading', () => {
  const body = [
    '# deploy',
    '- not one',
    '## 감지된 패턴',
    '',
    '- "스테이징에 배포해줘"',
    'no item',
    '- deploy "it" now',
    '-none',
    '## 실행 지침',
    '- npm run build',
  ].join('\n');
  expect(extractPatterns(body)).toEqual(['스테이징에 배포해줘', 'deploy "it" now']);
});

test('extractPatterns() knows the English heading', () => {
  expect(extractPatterns('## Detected patterns\n- ship it\n')).toEqual(['ship it']);
});

test('extractPatterns() finds nothing without the section', () => {
  expect(extractPatterns('- ship it\n감지된 패턴\n- ship it')).toEqual([]);
});

test('readSkill() bounds what it keeps', () => {
  const patterns = Array.from({ length: 50 }, () => `- ${'가'.repeat(500)}`).join('\n');
  const keywords = Array.from({ length: 50 }, (_, at) => `word${at}`).join(', ');
  const text = `---\ndescription: ${'나'.repeat(500)}\nkeywords: ${keywords}\n---\n## 감지된 패턴\n${patterns}\n`;
  const skill = readSkill(text, PLACE);
  expect(skill.description.length).toBe(300);
  expect(skill.patterns.map((pattern) => pattern.length)).toEqual(Array(20).fill(200));
  expect(skill.keywords.length).toBe(30);
  expect(skill.body.length).toBe(4000);
});

const hostile: [what: string, text: string][] = [
  ['a megabyte of text', 'deploy '.repeat(150_000)],
  ['a megabyte of blanks', ' '.repeat(1_000_000)],
  ['front matter that never ends', `---\n${'a: b\n'.repeat(200_000)}`],
  ['comments that never end', '<!--'.repeat(250_000)],
  ['nothing but quotation marks', `## 감지된 패턴\n- ${'"'.repeat(1_000_000)}`],
  ['quotation marks before the end', `## 감지된 패턴\n- a${'"'.repeat(60_000)}b`],
  ['nothing but surrogates', '\ud83d'.repeat(500_000)],
];
for (const [what, text] of hostile) {
  test(`readSkill() is done in time with ${what}`, () => {
    const startedMs = performance.now();
    readSkill(text, PLACE);
    expect(performance.now() - startedMs).toBeLessThan(100);
  });
}

test('readSkill() never throws, is bounded and gives the same for the same text', () => {
  const line = fc.oneof(
    fc.constantFrom(
      '---',
      '## 감지된 패턴',
      '- "a"',
      'keywords: [a, b',
      'description: >',
      '<!--',
      '-->',
      '\0',
    ),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = lines.join('\n');
      const skill = readSkill(text, PLACE);
      expect(skill).toEqual(readSkill(text, PLACE));
      expect(skill.description.length).toBeLessThanOrEqual(300);
      expect(skill.patterns.length).toBeLessThanOrEqual(20);
      expect(JSON.stringify(skill).isWellFormed()).toBe(true);
    }),
  );
});
