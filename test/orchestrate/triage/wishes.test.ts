import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { wishIn } from '../../../src/orchestrate/triage/wishes.ts';

/** In other words than those of the set of prompts, so that the rules are for more than its wordings. */
const TEAM = [
  'Work on this as a team.',
  'I want the whole team on this: add a cache',
  'Have your team do the release notes.',
  'Could you use two agents for this?',
  'Please have several agents work on it in parallel.',
  'Add a cache, and use multiple agents.',
  'Build the shop with five agents',
  'Get the team to fix it',
  'Split it up between several agents.',
  'You should use the team for this one.',
  'Distribute this across your agents',
  'Use the orchestration for this.',
  'orchestrate it',
  'Put the team on this migration.',
  'As a team: rewrite the docs',
  'Not alone: use the team.',
  'Let all the agents work on this.',
  'Share the work between the frontend and backend agents.',
  'Delegate this to the team.',
  'Assign this to several agents',
  'Please get the agents to work on this in parallel.',
  '팀 전체로 진행해줘',
  '오케스트레이션 해줘',
  '팀원들이랑 나눠서 해줘',
  '여러 에이전트로 나눠서 처리해주세요',
  '에이전트 3명 써서 해줘',
  '다 같이 나눠서 해줘',
  '팀으로 나눠서 작업해',
  '에이전트들한테 나눠 맡겨줘',
  '이건 팀으로 하자',
  '팀으로 진행해주세요',
  '오케스트레이션 써서 해줘',
  '여러 에이전트를 동시에 돌려서 처리해줘',
  '혼자 말고 팀으로 해줘',
  '팀한테 맡겨줘',
  '팀을 써서 해줘',
  '파이프라인 돌려줘: 결제 개편',
  '병렬로 에이전트 여러 개 돌려줘',
  '프런트랑 백엔드한테 나눠 맡겨줘',
  '팀으로 작업해 줄래?',
  '검색 기능 추가해줘. 팀으로.',
];
const SINGLE = [
  'Do this on your own.',
  'Please handle it yourself',
  'just one agent please',
  'Use only one agent.',
  'Work alone on this.',
  'no team, please',
  "I don't want a team for this.",
  'Do not orchestrate this.',
  "Don't split this among agents.",
  'without the team please',
  'You can do this yourself.',
  'Skip the pipeline, just do it.',
  "don't delegate this",
  'Do the refactoring yourself',
  "I'd prefer you do this alone.",
  '팀 없이 해줘',
  '팀 쓰지 말고 해줘',
  '혼자 해줘',
  '너 혼자서 해',
  '직접 처리해줘',
  '에이전트 한 개로 해줘',
  '오케스트레이션 하지 마',
  '오케스트레이션은 하지 마',
  '나눠 맡기지 말고 직접 해줘',
  '팀으로 할 필요 없어',
  '팀은 필요 없고 그냥 고쳐줘',
  '에이전트는 하나만 써줘',
  '다른 에이전트한테 맡기지 마',
  '파이프라인 돌리지 말고 바로 고쳐줘',
  '여럿이 하지 말고 혼자 해',
  '팀으로 하지 마세요. 버튼만 바꿔줘',
];
/** About teams and agents, and no wish. */
const NONE = [
  'Leave this alone and fix the header.',
  'John said: do it as a team',
  '팀으로 해줘라는 문구를 바꿔줘',
  '오케스트레이션 해주는 모듈을 고쳐줘',
  'Fix it directly in the database.',
  'Use the pipeline for deployment in CI.',
  'Get the team for the current user from the API.',
  'Put the team on the front page.',
  'Start two agents to see whether the lock holds.',
  'Write a script that runs several agents.',
  '팀으로 진행하는 경기 일정 화면 만들어줘',
  '혼자 진행하는 모드를 추가해줘',
  '사용자가 직접 해볼 수 있는 데모 추가해줘',
  '직접 처리하는 핸들러를 추가해줘',
  '에이전트 여러 개를 사용하는 예제를 README에 추가해줘',
  '여러 에이전트를 관리하는 화면 만들어줘',
  '파이프라인으로 배포하는 스크립트 고쳐줘',
  '팀에게 맡기는 기능 추가해줘',
  '바로 적용되는 설정으로 바꿔줘',
  '혼자 쓰는 도구 목록을 정리해줘',

  'Add a button that splits the bill among users.',
  'Show a warning when a user works alone.',
  'The agents table needs an index.',
  'Document how to use several agents in the README.',
  'Explain why we use the team page.',
  'Use the team color for the header.',
  'Use the pipeline operator in src/a.ts',
  'Get the team name from the API.',
  'Share the file between processes.',
  'Fix the bug that two agents get the same id',
  'Put the team logo on the front page',
  'Let users invite a team',
  'Run the pipeline tests',
  'Make the component handle this directly',
  'He did it alone',
  'Write docs for working as a team in Git',
  "Add 'single agent' mode to the settings",
  'Let the team owner delete members',
  'Ask the team API for its members',
  'Have the team list sorted by name',
  'Start two agents in the e2e test and check both exit',
  '팀 색상을 바꿔줘',
  '혼자 쓰는 계정도 지원해줘',
  '팀으로 묶어서 보여주는 화면 추가해줘',
  '파이프라인으로 데이터를 보내는 코드 고쳐줘',
  '에이전트 목록 화면 만들어줘',
  '나눠서 보기 버튼 추가해줘',
  '팀원들에게 알림을 보내는 기능 추가해줘',
  '여러 에이전트의 로그를 합쳐서 보여줘',
  '직접 입력 옵션을 추가해줘',
  '팀으로 필터링하는 기능 만들어줘',
  '에이전트 하나가 죽으면 다시 시작하게 해줘',
  '혼자서도 잘 쓰는 도움말 써줘',
  '사용자가 팀을 여러 개 만들 수 있게 해줘',
  '팀원한테 파일을 나눠 주는 API 추가해줘',
  '팀 단위로 나눠서 집계해줘',
  '서비스를 두 개로 나눠줘',
  '함수를 나눠서 정리해줘',
  '팀에 맡긴 작업 목록을 보여줘',
];

describe('wishIn()', () => {
  for (const [label, prompts] of [
    ['team', TEAM],
    ['single', SINGLE],
    [undefined, NONE],
  ] as const) {
    test(`finds ${label ?? 'no wish'} in each of ${prompts.length} wordings`, () => {
      expect(prompts.filter((prompt) => wishIn(prompt)?.label !== label)).toEqual([]);
    });
  }

  const quotings: readonly ((wish: string) => string)[] = [
    (wish) => `Change the sentence "${wish.replaceAll('"', '')}" in the docs.`,
    (wish) => `Fix this file:\n\n\`\`\`\n${wish}\n\`\`\``,
    (wish) => `What did she mean?\n\n> ${wish}`,
    (wish) => `회의록이야:\n- 민수: ${wish}\n이게 무슨 뜻이야?`,
    (wish) => `The log says:\n[12:01] agent: ${wish}`,
    (wish) => `Rename \`${wish}\` in the help.`,
  ];
  test('finds none that is quoted, pasted or said by somebody else', () => {
    for (const wish of [...TEAM, ...SINGLE])
      for (const quoted of quotings)
        expect([quoted(wish), wishIn(quoted(wish))]).toEqual([quoted(wish), undefined]);
  });

  test('finds the same with work around it', () => {
    const work = ['Add a cache to the search.', '검색에 캐시를 추가해줘.', 'src/a.ts fails:\nError: x at y'];
    for (const wish of [...TEAM, ...SINGLE])
      for (const other of work) {
        expect(wishIn(`${other}\n${wish}`)?.label).toBe(wishIn(wish)?.label as 'team');
        expect(wishIn(`${wish}\n${other}`)?.label).toBe(wishIn(wish)?.label as 'team');
      }
  });

  test('takes the last of two that differ, and names its words', () => {
    expect(wishIn('Use the team. No, do it yourself.')).toEqual({
      label: 'single',
      evidence: 'do it yourself',
    });
    expect(wishIn('혼자 하지 말고 팀으로 해줘')).toEqual({ label: 'team', evidence: '팀으로 해줘' });
  });

  test('a question is no wish, unless it asks for it', () => {
    expect(wishIn('Should I use several agents?')).toBeUndefined();
    expect(wishIn('Could you use several agents?')?.label).toBe('team');
    expect(wishIn('팀으로 하는 게 좋아?')).toBeUndefined();
    expect(wishIn('팀으로 해줄래?')?.label).toBe('team');
  });

  test('ends soon with any text, and says only words of it', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom(
        ...TEAM,
        ...SINGLE,
        ...NONE,
        '```',
        '"',
        "'",
        '> ',
        'as a team ',
        '팀으로 ',
        ' '.repeat(500),
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
        const startedMs = performance.now();
        const wish = wishIn(parts.join(''));
        expect(performance.now() - startedMs).toBeLessThan(1000);
        expect(['team', 'single', undefined]).toContain(wish?.label);
      }),
    );
    for (const hostile of ['a as a team '.repeat(3000), `do ${'it '.repeat(9000)}`, '팀으로 '.repeat(6000)]) {
      const startedMs = performance.now();
      wishIn(hostile);
      expect(performance.now() - startedMs).toBeLessThan(1000);
    }
  });
});
