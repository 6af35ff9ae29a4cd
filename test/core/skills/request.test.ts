import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { readRequest } from '../../../src/core/skills/request.ts';

function requests(prompt: string): string[] {
  return readRequest(prompt).flatMap(({ role, text }) => (role === 'request' ? [text] : []));
}

const ASKING: [what: string, prompt: string, request: string][] = [
  ['an imperative', 'Deploy this branch.', 'Deploy this branch.'],
  ['a Korean request', '이 브랜치 배포해줘', '이 브랜치 배포해줘'],
  ['a polite question', 'Could you please deploy this branch?', 'Could you please deploy this branch?'],
  ['a polite Korean question', '배포해 주실 수 있을까요?', '배포해 주실 수 있을까요?'],
  ['a wish', "I'd like to deploy this", "I'd like to deploy this"],
  ['a Korean wish', '이제 배포하고 싶어', '이제 배포하고 싶어'],
  ['a Korean need', '문서도 고쳐야 할 것 같아', '문서도 고쳐야 할 것 같아'],
  ['a proposal', '배포하자', '배포하자'],
  ['what needs doing', 'the types need regenerating', 'the types need regenerating'],
  ['an unknown verb', 'whip up a dashboard', 'whip up a dashboard'],
  ['a misspelt verb', 'udpate the docs', 'udpate the docs'],
  ['a phrase without a verb', 'release notes for 3.2', 'release notes for 3.2'],
  ['a Korean phrase without a verb', '커밋 메시지 작성', '커밋 메시지 작성'],
  ['an imperative behind a condition', 'when the tests pass, deploy it', 'deploy it'],
  ['a request behind what happened', '테스트는 통과했으니까 배포해줘', '배포해줘'],
  [
    'a request below pasted lines',
    'TypeError: x is not a function\n    at a (b.js:1:2)\nfix this',
    'fix this',
  ],
];
for (const [what, prompt, request] of ASKING) {
  test(`readRequest() finds ${what}`, () => {
    expect(requests(prompt)).toEqual([request]);
  });
}

const NOT_ASKING: [what: string, prompt: string][] = [
  ['nothing', ''],
  ['blanks', ' \n\t '],
  ['a question', 'why does the build take so long?'],
  ['a Korean question', '배포 스크립트는 어디 있어?'],
  ['a question for permission', '배포해도 될까?'],
  ['an offer', '배포할까요?'],
  ['a report', 'I deployed it an hour ago.'],
  ['a Korean report', '아까 스테이징에 배포했어'],
  ['what somebody else wanted', '팀장님이 배포해 달라고 했어'],
  ['a refusal', "don't deploy it yet"],
  ['a Korean refusal', '아직 배포하지 마'],
  ['a pasted error', 'TypeError: x is not a function\n    at a (b.js:1:2)'],
  ['a pasted log', '2026-02-07 10:00:00 deploy failed'],
  ['pasted code', '```\ndeploy(staging);\n```'],
];
for (const [what, prompt] of NOT_ASKING) {
  test(`readRequest() finds no request in ${what}`, () => {
    expect(readRequest(prompt)).toEqual([]);
  });
}

test('readRequest() keeps what stands beside the request, the further away the lighter', () => {
  const pieces = readRequest('There is a queue. Jobs are slow. The cache is cold, so warm the cache.');
  expect(pieces.map(({ role, weight }) => [role, weight])).toEqual([
    ['setting', 0.2],
    ['setting', 0.6],
    ['setting', 0.9],
    ['request', 1],
  ]);
});

test('readRequest() leaves out what is not wanted', () => {
  const texts = readRequest('커밋은 하지 말고 변경 내용만 정리해줘').map(({ text }) => text);
  expect(texts).toEqual(['변경 내용만 정리해줘']);
});

test('readRequest() reads 8,192 characters at most', () => {
  expect(requests(`${'a '.repeat(4090)}. deploy it. ${'deploy it. '.repeat(10)}`)).toEqual(['deploy it.']);
});

test('readRequest() never throws and gives pieces with text and weight', () => {
  const part = fc.oneof(
    fc.constantFrom(
      'deploy it',
      '배포해줘',
      'why',
      '왜?',
      "don't",
      ', ',
      '. ',
      '\n',
      '```',
      'at x (1:1)',
      '하지 말고 ',
    ),
    fc.string({ unit: 'binary', maxLength: 30 }),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
      const pieces = readRequest(parts.join(' '));
      expect(pieces).toEqual(readRequest(parts.join(' ')));
      for (const { text, weight } of pieces) {
        expect(text.trim()).not.toBe('');
        expect(weight).toBeGreaterThan(0);
        expect(weight).toBeLessThanOrEqual(1);
      }
      if (pieces.length > 0) expect(pieces.some(({ role }) => role === 'request')).toBe(true);
    }),
  );
});
