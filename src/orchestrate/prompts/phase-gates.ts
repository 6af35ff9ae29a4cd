import type { Language } from '../../core/told-texts.ts';

/** What each phase of a part of the work is, and what has to be shown at its end (seed 004). */

export const PHASES = [1, 2, 3, 4, 5] as const;
export type Phase = (typeof PHASES)[number];
/** From this phase on files may be changed; before it an employee only looks. */
export const WRITING_PHASE: Phase = 3;

type PhaseWords = { readonly name: string; readonly gate: readonly string[] };

const WORDS: Readonly<Record<Language, Readonly<Record<Phase, PhaseWords>>>> = {
  ko: {
    1: {
      name: '기획',
      gate: [
        '코드는 쓰지 않았다: 이 단계에서는 아무 파일도 바꾸지 않는다.',
        '영향 범위: 바뀔 파일과 그 이유.',
        '의존성: 이 일이 기대는 것과, 이 일에 기대는 것.',
        '예외 상황: 빈 값, 오류, 경계 조건마다 어떻게 되어야 하는지.',
      ],
    },
    2: {
      name: '기획검증',
      gate: [
        '기획의 파일 목록을 실제 코드와 대조했다: 이름과 줄 번호.',
        '다른 담당자의 일과 같은 파일을 건드리는지 확인했다.',
        '테스트 방법: 무엇을 어떤 명령으로 확인할지.',
        '아무 파일도 바꾸지 않았다.',
      ],
    },
    3: {
      name: '개발',
      gate: [
        '바꾼 파일 목록과 각각 무엇을 바꿨는지.',
        'import와 export가 깨지지 않았다.',
        '린트와 빌드에 오류가 없다: 실행한 명령과 결과.',
      ],
    },
    4: {
      name: '디버깅',
      gate: [
        '실제로 실행한 증거: 명령과 종료 코드.',
        '찾은 버그와 고친 방법. 없으면 어떻게 찾아봤는지.',
        '예외 상황을 실행해 본 결과.',
      ],
    },
    5: {
      name: '통합검증',
      gate: [
        '다른 담당자의 결과물과 함께 실행한 테스트와 결과.',
        '바뀐 동작에 맞게 문서를 고쳤다.',
        '처음 요청의 흐름을 처음부터 끝까지 확인했다.',
      ],
    },
  },
  en: {
    1: {
      name: 'planning',
      gate: [
        'No code was written: nothing is changed in this phase.',
        'Scope: which files will change, and why.',
        'Dependencies: what this rests on, and what rests on it.',
        'Edge cases: empty values, errors, limits, and what is to happen in each.',
      ],
    },
    2: {
      name: 'plan review',
      gate: [
        'The files of the plan were compared with the code as it is: names and lines.',
        'It was checked whether the work of others touches the same files.',
        'How it will be tested: what is checked by which command.',
        'Nothing was changed.',
      ],
    },
    3: {
      name: 'development',
      gate: [
        'Which files were changed, and what in each.',
        'Imports and exports are intact.',
        'No errors from lint and build: the commands that were run, and what came of them.',
      ],
    },
    4: {
      name: 'debugging',
      gate: [
        'Evidence that it was run: commands with exit codes.',
        'Bugs that were found and how they were fixed; if none, how they were looked for.',
        'What came of trying the edge cases.',
      ],
    },
    5: {
      name: 'integration',
      gate: [
        'Tests that were run together with the work of the others, and what came of them.',
        'The documents say what the program does now.',
        'The request was followed from its beginning to its end.',
      ],
    },
  },
};

/** The name of a phase, `development`. */
export function phaseName(phase: Phase, language: Language): string {
  return WORDS[language][phase].name;
}

/** What has to be shown at the end of a phase, one point each. */
export function phaseGate(phase: Phase, language: Language): readonly string[] {
  return WORDS[language][phase].gate;
}
