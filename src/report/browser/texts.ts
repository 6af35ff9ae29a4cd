import type { ReportedProof } from '../report.ts';

/** What the page says, in both languages; each entry exists in both. Commands stay as they are typed. */
export type Texts = typeof ENGLISH;
export type PageLanguage = 'ko' | 'en';

type Forecast = ReportedProof['start']['outlook'];

const plural = (count: string, noun: string) => `${count} ${noun}${count === '1' ? '' : 's'}`;

const ENGLISH = {
  title: 'What your agents have learned',
  skip: 'Skip to the report',
  made: (when: string, program: string) =>
    `Made ${when} by self-generation ${program}. Nothing in this file loads anything.`,
  filters: 'What to show',
  project: 'Project',
  allProjects: 'All projects',
  otherProjects: 'Other projects',
  noProject: 'No project',
  time: 'Time',
  lastDays: (days: number) => (days === 1 ? 'Today' : `Last ${days} days`),
  language: 'Language',
  sections: 'Sections',
  summary: (failed: string, calls: string, lessons: string, runs: string) =>
    `${plural(failed, 'failed call')} of ${calls}, ${plural(lessons, 'lesson')}, ${plural(runs, 'background run')}.`,

  helping: 'Is it helping?',
  helpingScope: 'Over all projects and all time.',
  proofAbsent: 'Nothing is recorded yet, so there is nothing to compare.',
  atStart: 'Told when an agent starts: does the failure come back less often?',
  atFailure: 'Told at a failing call: is it mended sooner?',
  verdicts: { helps: 'It helps', harms: 'It does harm', open: 'Not known yet', unknown: 'Not known yet' },
  counts: (told: string, held: string) => `Told ${plural(told, 'time')}, held out ${plural(held, 'time')}.`,
  came: (told: string, held: string) => `Came back: ${told} told, ${held} held out.`,
  settled: (told: string, held: string) => `Settled: ${told} told, ${held} held out.`,
  evidence: (helps: string, harms: string) =>
    `Evidence that it helps ${helps}, that it does harm ${harms}, of 20.`,
  always: (count: string) =>
    `Told ${plural(count, 'time')} without a comparison, of which nothing can be known.`,
  holdOutOff:
    'Nothing is held out, so it cannot be known. Counting before and after would mislead. To find out:',
  noCoin: 'The comparison begins with the next session in which there is a lesson to tell.',
  nothingCompared: 'Nothing was told or held out there by a coin yet.',
  rateUnknown: 'When an answer can be expected is known after a week.',
  outlook: (forecast: Forecast) =>
    forecast.kind === 'never'
      ? 'At your rate there is no answer within two years.'
      : `An answer still takes about ${plural(String(forecast.median), forecast.kind.slice(0, -1))}, if telling prevents 6 of 10 (in 4 of 5 cases within ${forecast.most}).`,
  proofMore: 'All of it, and how to read it:',

  learnt: 'What was learned?',
  lessonsKnown: (count: string) => plural(count, 'lesson'),
  lessonsRecent: (count: string) => `${count} of their errors happened in this time.`,
  mostSeen: 'Seen in most sessions:',
  useThis: 'Fix',
  noLessons:
    'No lesson yet. One is learned when a call fails and another works instead, so it takes a few sessions. To learn from those that are already on this machine:',
  lessonsAll: 'All lessons',

  decide: 'What needs you?',
  waiting: (count: string) => `${plural(count, 'suggestion')} waiting for your decision`,
  nothingWaits: 'Nothing waits for a decision.',
  askModel:
    'To have a model look at the log and propose rules, skills and lessons (it costs, and asks before):',
  unread: (count: string) => `${plural(count, 'result')} of background runs nobody has read:`,
  openErrors: (count: string) =>
    `${plural(count, 'error')} happened three times or more and ${count === '1' ? 'has' : 'have'} no lesson.`,
  openErrorsHow: 'If you know the fix, tell it:',
  applyHow: 'Take it with',
  dismissHow: 'or refuse it with',

  emptyTitle: 'Nothing is recorded yet',
  emptyWords: 'This page fills by itself while you work. Three steps from here:',
  emptySteps: [
    ['Register with your coding clients:', 'self-generation install'],
    ['Learn from the sessions that are already there (optional):', 'self-generation import'],
    ['Work as always, then make this page again:', 'self-generation report --open'],
  ],

  numbers: 'These numbers as a table',
  allRuns: 'All runs as a table',
  tableOf: (name: string) => `Table: ${name}`,
  day: 'Day',
  week: 'Week from',
  total: 'Total',
  perDay: 'per day',
  perWeek: 'per week',
  showAll: (count: string) => `Show all ${count}`,
  nothingIn: 'Nothing in this time and project.',
  cut: (count: string) => `Only the ${count} that come first are in this file.`,

  errorsTitle: 'Failed calls',
  errorsWords: (failed: string, calls: string, share: string) =>
    `${failed} of ${calls} calls failed (${share}).`,
  errorsNote:
    'A call was wrong when the command or its use was at fault, which a lesson can prevent. The rest is what checks found in the code, rules of the client, and what somebody ended.',
  errorsNone:
    'No calls are recorded in this time. They come from the sessions of your coding clients; “self-generation doctor” says whether these are read.',
  wrong: 'The call was wrong',
  other: 'A check found something, or it was ended',
  calls: 'Calls',

  toldTitle: 'Lessons told at a start, and whether the error came back',
  toldWords: (told: string, back: string) =>
    `Told ${plural(told, 'time')}; the error came back ${plural(back, 'time')}.`,
  heldWords: (held: string, back: string) =>
    `Held out ${plural(held, 'time')}; it came back ${plural(back, 'time')}.`,
  toldNote:
    'That an error stayed away does not show that telling helped: most stay away by themselves. Only the comparison with what was held out can show it.',
  toldNone:
    'Nothing was told in this time. Agents are told of errors that their project has had before, from the second session on.',
  atFailureWords: (told: string, mended: string) =>
    `At a failing call: told ${plural(told, 'time')}; the same check passed later in ${mended}.`,
  told: 'Told',
  held: 'Held out',
  stayedAway: 'Stayed away',
  cameBack: 'Came back',
  toldStayed: 'Told, stayed away',
  toldBack: 'Told, came back',
  heldStayed: 'Held out, stayed away',
  heldBack: 'Held out, came back',

  runsTitle: 'Background runs',
  runsWords: (runs: string, time: string) => `${plural(runs, 'run')}, ${time} at work.`,
  costKnown: (usd: string) => `Cost ${usd}.`,
  costPartly: (usd: string, unknown: string) =>
    `Cost ${usd} as far as it is known; of ${plural(unknown, 'run')} it is not.`,
  costUnknown: 'What they cost is not known: their clients report none.',
  runsCost: 'Cost of background runs',
  runsCostAxis: 'US dollars',
  runsTime: 'Duration of background runs',
  runsTimeNote: 'Each point is a run, at the time when it was asked for.',
  runsTimeAxis: 'Time at work',
  runsNone: 'No background runs in this time. One is started by an agent, or by you:',
  ended: 'Succeeded',
  failed: 'Failed, stopped or lost',
  active: 'Still going on',
  states: {
    ...{
      queued: 'waiting',
      starting: 'starting',
      running: 'running',
      stopping: 'stopping',
      success: 'succeeded',
    },
    ...{ error: 'failed', timeout: 'out of time', stopped: 'stopped', lost: 'lost' },
  } as Readonly<Record<string, string>>,

  lessonsTitle: 'Lessons',
  lessonsNote: 'Counts are of sessions. “Came back” is not a proof either way; see “Is it helping?”.',
  error: 'Error',
  fix: 'What agents are told',
  state: 'State',
  sessions: 'Sessions',
  toldCount: 'Told, came back',
  heldCount: 'Held out, came back',
  ofCount: (part: string, all: string) => `${all}, ${part}`,
  lessonStates: {
    ...{ withdrawn: 'withdrawn', quiet: 'quiet: told only when it fails', proven: 'proven to help' },
    ...{ trial: 'on trial', 'too-rare': 'too rare to know', pinned: 'pinned by you' },
  },

  frequentTitle: 'Errors that happen most',
  frequentNote: 'By how often they happened in this time. Numbers are for “self-generation errors show N”.',
  times: 'Times',
  lastTime: 'Last',
  hasLesson: 'Lesson',
  yes: 'yes',
  no: 'no',

  givenTitle: 'What sub-agents were given',
  givenWords: (count: string) => `${plural(count, 'sub-agent')} given something at the start.`,
  givenNone:
    'No sub-agent was given anything in this time. Those of the types that write code are, once there is a lesson; “self-generation doctor” says which.',
  agent: 'Sub-agent',
  when: 'When',
  text: 'Text',

  suggestionsTitle: 'Suggestions',
  suggestionsNone: 'None yet. “self-generation analyze” asks a model for them.',
  what: 'What',
  kind: 'Kind',
  kinds: { skill: 'command', claude_md: 'rule', hook: 'hook', lesson: 'lesson' } as Readonly<
    Record<string, string>
  >,
  statuses: {
    ...{
      new: 'waits for you',
      shown: 'waits for you',
      applied: 'applied',
      dismissed: 'refused',
      expired: 'expired',
    },
  },
  why: 'Why',

  analysesTitle: 'Analyses',
  analysesNone:
    'No analysis in this time. It is never made without your asking, unless you set analysisOnSessionEnd.',
  by: 'With',
  result: 'Result',
  cost: 'Cost',
  unknown: 'not known',
  found: (count: string) => plural(count, 'suggestion'),
  analysisStates: { running: 'running', done: 'done', failed: 'failed' } as Readonly<Record<string, string>>,

  run: 'Run',
  part: 'part of a conversation',
  with: 'Client',
  tokens: 'Tokens',
  duration: 'Duration',

  footer:
    'This file holds errors, commands and lessons of your projects, without secrets as far as they were recognised. Look at it before you give it to somebody.',
};

const KOREAN: Texts = {
  title: '에이전트가 배운 것',
  skip: '본문으로 건너뛰기',
  made: (when, program) =>
    `작성: ${when}, self-generation ${program}. 이 파일은 외부에서 아무것도 불러오지 않습니다.`,
  filters: '표시할 범위',
  project: '프로젝트',
  allProjects: '모든 프로젝트',
  otherProjects: '기타 프로젝트',
  noProject: '프로젝트 없음',
  time: '기간',
  lastDays: (days) => (days === 1 ? '오늘' : `최근 ${days}일`),
  language: '언어',
  sections: '목차',
  summary: (failed, calls, lessons, runs) =>
    `호출 ${calls}회 중 실패 ${failed}회, 교훈 ${lessons}개, 백그라운드 실행 ${runs}회.`,

  helping: '도움이 되고 있나요?',
  helpingScope: '모든 프로젝트, 전체 기간 기준입니다.',
  proofAbsent: '아직 기록이 없어 비교할 것이 없습니다.',
  atStart: '에이전트가 시작할 때 알려 주면 실패가 덜 반복되나요?',
  atFailure: '호출이 실패했을 때 알려 주면 더 빨리 해결되나요?',
  verdicts: { helps: '도움이 됩니다', harms: '해가 됩니다', open: '아직 모릅니다', unknown: '아직 모릅니다' },
  counts: (told, held) => `알림 ${told}회, 보류 ${held}회.`,
  came: (told, held) => `재발: 알린 경우 ${told}회, 보류한 경우 ${held}회.`,
  settled: (told, held) => `결과 확인: 알린 경우 ${told}회, 보류한 경우 ${held}회.`,
  evidence: (helps, harms) => `도움이 된다는 증거 ${helps}, 해가 된다는 증거 ${harms} (20이면 확정).`,
  always: (count) => `비교 없이 알린 ${count}회로는 아무것도 알 수 없습니다.`,
  holdOutOff: '보류하는 교훈이 없어 효과를 알 수 없습니다. 전후 횟수 비교는 오해를 낳습니다. 알아보려면:',
  noCoin: '알려 줄 교훈이 있는 다음 세션부터 비교가 시작됩니다.',
  nothingCompared: '아직 동전 던지기로 알리거나 보류한 것이 없습니다.',
  rateUnknown: '언제 답이 나올지는 일주일 뒤에 알 수 있습니다.',
  outlook: (forecast) =>
    forecast.kind === 'never'
      ? '지금 속도로는 2년 안에 답이 나오지 않습니다.'
      : `10번 중 6번을 막는다면 답까지 약 ${forecast.median}${forecast.kind === 'weeks' ? '주' : '개월'} 걸립니다(5번 중 4번은 ${forecast.most}${forecast.kind === 'weeks' ? '주' : '개월'} 이내).`,
  proofMore: '전체 내용과 읽는 법:',

  learnt: '무엇을 배웠나요?',
  lessonsKnown: (count) => `교훈 ${count}개`,
  lessonsRecent: (count) => `이 기간에 그 에러가 발생한 것은 ${count}개입니다.`,
  mostSeen: '가장 많은 세션에서 확인된 것:',
  useThis: '해결',
  noLessons:
    '아직 교훈이 없습니다. 실패한 호출 대신 다른 호출이 성공할 때 배우므로 세션이 몇 번 필요합니다. 이 컴퓨터에 이미 있는 세션에서 배우려면:',
  lessonsAll: '모든 교훈',

  decide: '결정이 필요한 것은?',
  waiting: (count) => `결정을 기다리는 제안 ${count}개`,
  nothingWaits: '결정을 기다리는 것이 없습니다.',
  askModel: '모델이 기록을 살펴보고 규칙, 스킬, 교훈을 제안하게 하려면(비용이 들며 먼저 묻습니다):',
  unread: (count) => `아무도 읽지 않은 백그라운드 실행 결과 ${count}개:`,
  openErrors: (count) => `세 번 이상 발생했지만 교훈이 없는 에러가 ${count}개 있습니다.`,
  openErrorsHow: '해결 방법을 안다면 알려 주세요:',
  applyHow: '적용:',
  dismissHow: '거절:',

  emptyTitle: '아직 기록이 없습니다',
  emptyWords: '작업하는 동안 이 페이지는 저절로 채워집니다. 세 단계면 됩니다.',
  emptySteps: [
    ['코딩 클라이언트에 등록합니다:', 'self-generation install'],
    ['이미 있는 세션에서 배웁니다(선택):', 'self-generation import'],
    ['평소처럼 작업한 뒤 이 페이지를 다시 만듭니다:', 'self-generation report --open'],
  ],

  numbers: '수치를 표로 보기',
  allRuns: '모든 실행을 표로 보기',
  tableOf: (name) => `표: ${name}`,
  day: '날짜',
  week: '주 시작일',
  total: '합계',
  perDay: '일별',
  perWeek: '주별',
  showAll: (count) => `${count}개 모두 보기`,
  nothingIn: '이 기간과 프로젝트에는 없습니다.',
  cut: (count) => `이 파일에는 앞의 ${count}개만 들어 있습니다.`,

  errorsTitle: '실패한 호출',
  errorsWords: (failed, calls, share) => `호출 ${calls}회 중 ${failed}회가 실패했습니다(${share}).`,
  errorsNote:
    '명령이나 사용법이 잘못된 호출은 교훈으로 막을 수 있습니다. 나머지는 검사가 코드에서 찾은 문제, 클라이언트의 규칙, 누군가 중단한 경우입니다.',
  errorsNone:
    '이 기간에는 기록된 호출이 없습니다. 호출은 코딩 클라이언트의 세션에서 옵니다. 세션을 읽고 있는지는 “self-generation doctor”로 확인하세요.',
  wrong: '호출이 잘못됨',
  other: '검사에서 발견되거나 중단됨',
  calls: '호출',

  toldTitle: '시작할 때 알린 교훈과 에러의 재발',
  toldWords: (told, back) => `${told}회 알렸고, 그중 ${back}회 재발했습니다.`,
  heldWords: (held, back) => `${held}회 보류했고, 그중 ${back}회 재발했습니다.`,
  toldNote:
    '에러가 재발하지 않았다고 해서 알림이 도움이 되었다는 뜻은 아닙니다. 대부분은 저절로 재발하지 않습니다. 보류한 경우와 비교해야만 알 수 있습니다.',
  toldNone:
    '이 기간에는 알린 것이 없습니다. 프로젝트에서 전에 겪은 에러를 두 번째 세션부터 에이전트에게 알립니다.',
  atFailureWords: (told, mended) =>
    `실패한 호출에서 ${told}회 알렸고, 그중 ${mended}회는 나중에 같은 검사를 통과했습니다.`,
  told: '알림',
  held: '보류',
  stayedAway: '재발 없음',
  cameBack: '재발',
  toldStayed: '알림, 재발 없음',
  toldBack: '알림, 재발',
  heldStayed: '보류, 재발 없음',
  heldBack: '보류, 재발',

  runsTitle: '백그라운드 실행',
  runsWords: (runs, time) => `${runs}회 실행, 작업 시간 ${time}.`,
  costKnown: (usd) => `비용 ${usd}.`,
  costPartly: (usd, unknown) => `알려진 비용 ${usd}. ${unknown}회는 비용을 알 수 없습니다.`,
  costUnknown: '클라이언트가 비용을 보고하지 않아 비용을 알 수 없습니다.',
  runsCost: '백그라운드 실행 비용',
  runsCostAxis: '미국 달러',
  runsTime: '백그라운드 실행 시간',
  runsTimeNote: '점 하나가 실행 하나이며, 요청한 시각에 표시합니다.',
  runsTimeAxis: '작업 시간',
  runsNone: '이 기간에는 백그라운드 실행이 없습니다. 에이전트가 시작하거나 직접 시작합니다:',
  ended: '성공',
  failed: '실패, 중지 또는 유실',
  active: '진행 중',
  states: {
    ...{ queued: '대기', starting: '시작 중', running: '실행 중', stopping: '중지 중', success: '성공' },
    ...{ error: '실패', timeout: '시간 초과', stopped: '중지됨', lost: '유실' },
  },

  lessonsTitle: '교훈',
  lessonsNote: '세션 수 기준입니다. “재발”은 어느 쪽의 증거도 아닙니다. “도움이 되고 있나요?”를 보세요.',
  error: '에러',
  fix: '에이전트에게 알리는 내용',
  state: '상태',
  sessions: '세션',
  toldCount: '알림, 재발',
  heldCount: '보류, 재발',
  ofCount: (part, all) => `${all}, ${part}`,
  lessonStates: {
    ...{ withdrawn: '철회됨', quiet: '조용함: 실패할 때만 알림', proven: '효과가 입증됨' },
    ...{ trial: '시험 중', 'too-rare': '드물어서 알 수 없음', pinned: '직접 고정함' },
  },

  frequentTitle: '가장 자주 발생한 에러',
  frequentNote: '이 기간의 발생 횟수순입니다. 번호는 “self-generation errors show 번호”에 씁니다.',
  times: '횟수',
  lastTime: '마지막',
  hasLesson: '교훈',
  yes: '있음',
  no: '없음',

  givenTitle: '서브에이전트가 받은 것',
  givenWords: (count) => `서브에이전트 ${count}개가 시작할 때 내용을 받았습니다.`,
  givenNone:
    '이 기간에 내용을 받은 서브에이전트가 없습니다. 교훈이 생기면 코드를 작성하는 종류가 받습니다. 어떤 종류인지는 “self-generation doctor”로 확인하세요.',
  agent: '서브에이전트',
  when: '시각',
  text: '내용',

  suggestionsTitle: '제안',
  suggestionsNone: '아직 없습니다. “self-generation analyze”로 모델에게 물어볼 수 있습니다.',
  what: '내용',
  kind: '종류',
  kinds: { skill: '명령', claude_md: '규칙', hook: '훅', lesson: '교훈' },
  statuses: {
    new: '결정 대기',
    shown: '결정 대기',
    applied: '적용됨',
    dismissed: '거절됨',
    expired: '만료됨',
  },
  why: '근거',

  analysesTitle: '분석',
  analysesNone: '이 기간에는 분석이 없습니다. analysisOnSessionEnd를 켜지 않는 한, 요청할 때만 분석합니다.',
  by: '모델',
  result: '결과',
  cost: '비용',
  unknown: '알 수 없음',
  found: (count) => `제안 ${count}개`,
  analysisStates: { running: '진행 중', done: '완료', failed: '실패' },

  run: '실행',
  part: '대화의 일부',
  with: '클라이언트',
  tokens: '토큰',
  duration: '소요 시간',

  footer:
    '이 파일에는 프로젝트의 에러, 명령, 교훈이 들어 있습니다. 인식된 비밀 정보는 제거되어 있지만, 다른 사람에게 주기 전에 확인하세요.',
};

/** The texts of one language. */
export function textsIn(language: PageLanguage): Texts {
  return language === 'ko' ? KOREAN : ENGLISH;
}
