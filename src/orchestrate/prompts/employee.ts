import { type Skill, skillLines } from '../../conversation/prompts/skills.ts';
import type { Employee } from '../../conversation/prompts/system.ts';
import type { Language } from '../../core/told-texts.ts';
import { type Phase, phaseGate, phaseName } from './phase-gates.ts';
import { inertWords } from './quote.ts';

/** The role of an employee: the instructions of its run, in place of those of a sub-agent (seed 004). */

type Told = { readonly language: Language; readonly skills: readonly Skill[] };

const DESCRIPTION_LENGTH_MAX = 1000;
const NAME_LENGTH_MAX = 80;

const WORDS = {
  ko: {
    who: (name: string, role: string) => `당신은 한 팀의 "${name}"입니다. 역할: ${role}.`,
    does: (description: string) => `담당: ${description}`,
    rules: [
      '- 맡은 일만 직접 하세요. 다른 에이전트에게 나누어 주거나, 다른 에이전트를 시작하지 마세요.',
      '- 대화 상대가 없습니다. 질문하지 말고, 필요한 가정은 스스로 정한 뒤 보고에 적으세요.',
      '- git commit, push, branch, reset, clean, stash는 하지 마세요.',
      '- 확인한 것만 말하세요. 명령을 실행했다면 명령과 종료 코드를 적으세요. 검토자는 기록과 diff를 봅니다.',
      '- 보고는 요청의 언어로, 짧게 쓰세요.',
    ],
    roles: {
      frontend: '- 화면: 상태마다(로딩, 빈 값, 오류) 확인하고, 접근성과 기존 컴포넌트의 방식을 지키세요.',
      backend: '- 서버: 입력을 검증하고, 오류마다 무엇이 일어나는지 정하고, 기존 인터페이스를 깨지 마세요.',
      data: '- 데이터: 스키마와 기존 데이터를 지키고, 되돌릴 수 있게 바꾸고, 비어 있거나 잘못된 값을 확인하세요.',
      docs: '- 문서: 코드가 실제로 하는 것만 쓰고, 예시는 실행해 본 것만 싣고, 이름과 경로를 코드와 대조하세요.',
    },
    testing: '- 이번 단계는 실행입니다. 실패하는 경우를 먼저 재현하고, 고친 뒤 같은 명령으로 확인하세요.',
    phase: (phase: number, name: string) => `지금은 ${phase}단계(${name})입니다. 끝났을 때 보여야 하는 것:`,
    order: [
      '- 앞 단계는 이미 통과했습니다. 다시 하지 말고, 다음 단계의 일도 하지 마세요.',
      '- 앞에서 다른 담당자가 바꾼 파일은 읽기만 하세요. 바꿔야 한다면 바꾸지 말고 보고에 적으세요.',
    ],
    skills: '쓸 수 있는 스킬(관련이 있을 때만 그 파일을 읽으세요):',
    readers: {
      planner: '당신은 한 팀의 일을 계획하는 사람입니다. 계획만 하고, 그 일은 하지 않습니다.',
      reviewer: '당신은 한 팀의 일을 검토하는 사람입니다. 그 일에 참여하지 않았고, 판정만 합니다.',
    },
    reading: [
      '- 읽기만 하세요. 아무것도 바꾸지 말고, 다른 에이전트를 시작하지 마세요.',
      '- 대화 상대가 없습니다. 질문하지 말고, 필요한 가정은 스스로 정하세요.',
      '- 마지막 메시지는 프로그램이 읽습니다. 요청된 JSON만 쓰세요.',
    ],
  },
  en: {
    who: (name: string, role: string) => `You are "${name}" of a team. Your role: ${role}.`,
    does: (description: string) => `What you are there for: ${description}`,
    rules: [
      '- Do the work that is given to you yourself, and nothing else. Hand nothing on, and start no other agents.',
      '- Nobody answers you. Ask nothing; where you have to assume something, decide, and say so in the report.',
      '- No git commit, push, branch, reset, clean or stash.',
      '- Say only what you have checked. Of a command that you ran, give the command and its exit code: the reviewer sees your log and the diff.',
      '- Write the report in the language of the request, and keep it short.',
    ],
    roles: {
      frontend:
        '- User interface: check each state (loading, empty, failed), keep it accessible, and build as the components that are there.',
      backend: '- Server: check what comes in, decide what happens on each error, and break no interface.',
      data: '- Data: keep schema and stored data valid, make changes that can be undone, and check empty and wrong values.',
      docs: '- Documents: write what the code does, show only examples that you ran, and compare names and paths with the code.',
    },
    testing:
      '- This phase is about running it: first reproduce what fails, then fix it, then show it with the same command.',
    phase: (phase: number, name: string) =>
      `You are in phase ${phase} (${name}). At its end this has to be shown:`,
    order: [
      '- Earlier phases have passed: do not repeat them, and do nothing of a later one.',
      '- Only read files that another of the team has changed. Where one has to change again, leave it and say so in the report.',
    ],
    skills: 'Skills that you may use (read the file of one that fits):',
    readers: {
      planner: 'You plan the work of a team, and do none of it.',
      reviewer: 'You judge the work of a team, in which you had no part.',
    },
    reading: [
      '- Only read. Change nothing, and start no other agents.',
      '- Nobody answers you. Ask nothing; where you have to assume something, decide.',
      '- Your last message is read by a program: the JSON that is asked for, and nothing else.',
    ],
  },
} as const;

/** Who it is and what it may do; no word of how work is handed out, so that it hands out none. */
export function getSubAgentPrompt(employee: Employee, { language, skills }: Told): string {
  const words = WORDS[language];
  const description = inertWords(employee.description, DESCRIPTION_LENGTH_MAX);
  return [
    words.who(inertWords(employee.name, NAME_LENGTH_MAX), inertWords(employee.role, NAME_LENGTH_MAX)),
    ...(description === '' ? [] : [words.does(description)]),
    ...words.rules,
    ...(skills.length === 0 ? [] : ['', words.skills, ...skillLines(skills)]),
  ].join('\n');
}

/** The same with what its role asks of it in a phase, and what has to be shown at the end of that. */
export function getSubAgentPromptV2(employee: Employee, role: string, phase: Phase, told: Told): string {
  const words = WORDS[told.language];
  const roles: Readonly<Record<string, string | undefined>> = words.roles;
  const ofRole = Object.hasOwn(roles, role) ? roles[role] : undefined;
  return [
    getSubAgentPrompt({ ...employee, role }, told),
    '',
    words.phase(phase, phaseName(phase, told.language)),
    ...phaseGate(phase, told.language).map((point) => `- ${point}`),
    '',
    ...(ofRole === undefined ? [] : [ofRole]),
    ...(phase === 4 ? [words.testing] : []),
    ...words.order,
  ].join('\n');
}

/** The role of who divides the work, and of who judges it: both only read, and answer in JSON. */
export function getReaderPrompt(reader: 'planner' | 'reviewer', language: Language): string {
  const words = WORDS[language];
  return [words.readers[reader], ...words.reading].join('\n');
}
