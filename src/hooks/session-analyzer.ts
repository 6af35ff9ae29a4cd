import { isRecord, readTexts } from '../core/guards.ts';
import { framed, inertText, isInstructionShaped } from '../core/inert-text.ts';
import { type Language, messagesIn } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import { getCachedAnalysis, queryEvents } from '../database/events.ts';
import { listSuggestions, unseenIds } from '../suggestions/model/store.ts';
import { readProposal, suggestionId } from '../suggestions/model/suggestion.ts';
import { type HookContext, NOTHING, originOf } from './decision.ts';
import { type HookEventOf, readName } from './event.ts';
import { BRIEF_CATCH_UP, type Handler } from './invocation.ts';
import { NOT_TOLD, projectKnowledge } from './subagent-context.ts';

/** The texts that main sessions are given, and any agent behind a failing call. */
type SessionMessages = typeof KOREAN;

const KOREAN = {
  knownError: '[Self-Generation 에러 KB] 이전에 동일 에러를 해결한 이력이 있습니다:',
  similarError: '[Self-Generation 에러 KB] 이 에러는 아니지만 비슷한 에러를 해결한 이력이 있습니다:',
  similarErrorNames: (known: string, asked: string) =>
    `- 차이: 해결된 에러는 ${known}, 지금 에러는 ${asked}에 관한 것`,
  knownErrorText: (error: string) => `- 에러: ${error}`,
  knownErrorFix: (fix: string) => `- 해결 방법: ${fix}`,
  similarErrorAdvice: '이 에러에도 맞는지 먼저 확인하세요.',
  knownErrorAdvice: '이 정보를 참고하여 해결을 시도하세요.',
  analysisHeading: '[Self-Generation] AI 패턴 분석 결과:',
  analysisAdvice: '사용자에게 이 개선 제안을 알려주세요.',
  applyAdvice: '사용자가 승인하면 터미널에서 `self-generation apply <id>`를 실행하라고 알려주세요.',
  dismissAdvice: '사용자가 거부하면 `self-generation dismiss <id>`로 기록하세요.',
  previousSession: (time: string) => `[Self-Generation] 이전 세션 컨텍스트 (${time}):`,
  previousCounts: (prompts: number, tools: number) => `- 프롬프트 ${prompts}개, 도구 ${tools}회 사용`,
  previousPrompts: (prompts: string) => `- 이전 세션 마지막 작업: ${prompts}`,
  previousFiles: (files: string) => `- 수정 중이던 파일: ${files}`,
  previousErrors: (count: number, errors: string) => `- 미해결 에러 ${count}건: ${errors}`,
  resumeErrors: (errors: string) => `- [RESUME] 미해결 에러 상세: ${errors}`,
  previousTools: (tools: string) => `- 주요 도구: ${tools}`,
};

const ENGLISH: SessionMessages = {
  knownError: '[Self-Generation error KB] This error has been solved before:',
  similarError: '[Self-Generation error KB] A similar error, but not this one, has been solved before:',
  similarErrorNames: (known, asked) => `- Difference: it was about ${known}, this error is about ${asked}`,
  knownErrorText: (error) => `- Error: ${error}`,
  knownErrorFix: (fix) => `- Fix: ${fix}`,
  similarErrorAdvice: 'Check first whether the fix also applies here.',
  knownErrorAdvice: 'This may help to solve it again.',
  analysisHeading: '[Self-Generation] Results of the pattern analysis:',
  analysisAdvice: 'Please tell the user about these suggestions.',
  applyAdvice: 'To accept one, the user runs `self-generation apply <id>` in their own terminal.',
  dismissAdvice: 'To refuse one, `self-generation dismiss <id>`.',
  previousSession: (time) => `[Self-Generation] Previous session (${time}):`,
  previousCounts: (prompts, tools) => `- Prompts: ${prompts}, tool calls: ${tools}`,
  previousPrompts: (prompts) => `- Last tasks: ${prompts}`,
  previousFiles: (files) => `- Files being edited: ${files}`,
  previousErrors: (count, errors) => `- Unresolved errors (${count}): ${errors}`,
  resumeErrors: (errors) => `- [RESUME] Unresolved errors in full: ${errors}`,
  previousTools: (tools) => `- Main tools: ${tools}`,
};

/** The texts of one language. */
export function sessionMessagesIn(language: Language): SessionMessages {
  return language === 'en' ? ENGLISH : KOREAN;
}

/** Of each of the parts. */
const RECORD_LENGTH_MAX = 950;
const ITEM_LENGTH_MAX = 200;
const SUGGESTIONS_MAX = 3;
/** So that all of them fit: none is announced a second time. */
const SUMMARY_LENGTH_MAX = 150;
const PROMPTS_MAX = 2;
const ERRORS_MAX = 2;
const RESUME_ERRORS_MAX = 8;
const TOOLS_MAX = 3;
const MS_PER_HOUR = 3_600_000;

/**
 * SessionStart: announces suggestions that nobody has seen, once, says where the project's last session stopped
 * (REQ-SSH-002…007), and what the project has learnt, as a sub-agent is told it.
 */
export const sessionAnalyzer: Handler<HookEventOf<'SessionStart'>> = {
  read: (value) => ({ source: readName(value, 'source') ?? 'startup' }),
  decide: (event, context) => {
    const db = context.knowledge();
    if (db === undefined) return NOTHING;
    const messages = sessionMessagesIn(context.config.language);
    // The same conversation goes on, made shorter or as a copy of its own: it has been told, and its user has read on.
    const isSame = event.source === 'compact' || event.source === 'fork';
    const announced = isSame ? [] : newSuggestions(context, db);
    const knowledge = isSame ? NOT_TOLD : projectKnowledge(context, { sessionId: event.sessionId, task: '' });
    const { tellings } = knowledge;
    const { recordNote } = messagesIn(context.config.language);
    const record = (lines: readonly string[]) =>
      lines.length === 0 ? '' : framed(withinLength(lines, RECORD_LENGTH_MAX), recordNote);
    const { analysisHeading, analysisAdvice, applyAdvice, dismissAdvice } = messages;
    const suggestions = record(announced.map(suggestionLine));
    const text = [
      suggestions && [analysisHeading, suggestions, analysisAdvice, applyAdvice, dismissAdvice].join('\n'),
      record(previousSessionLines(event.source, context, db)),
      knowledge.text,
    ]
      .filter((part) => part !== '')
      .join('\n\n');
    if (text === '') return tellings.length === 0 ? NOTHING : { tellings };
    const reply = { event: 'SessionStart', context: text } as const;
    if (announced.length === 0) return { reply, tellings };
    const ids = announced.map(({ id }) => id);
    const { config, now } = context;
    const since = new Date(now.getTime() - config.analysisCacheMaxAgeHours * MS_PER_HOUR).toISOString();
    return {
      reply,
      tellings,
      recording: { kind: 'suggestions-shown', at: originOf(event, context), ids, since },
    };
  },
  catchUp: BRIEF_CATCH_UP,
  catchUpInBackground: 'new-project',
  delivers: 'always',
};

type Announced = { readonly id: string; readonly type: string; readonly summary: string };

/** New ones of our own analyses, and what another implementation has left in the cache. */
function newSuggestions(context: HookContext, db: Db): Announced[] {
  const { config, project, now } = context;
  const own = listSuggestions({ project, statuses: ['new'] }, db);
  const query = { projectPath: project.path, now };
  const analysis = getCachedAnalysis(config.analysisCacheMaxAgeHours, project.name, query, db);
  const cached = (analysis?.suggestions ?? []).flatMap((suggestion) => {
    const proposal = readProposal(suggestion);
    return proposal ? [{ ...proposal, id: suggestionId(proposal, analysis?.projectPath ?? '') }] : [];
  });
  const known = new Set(own.map(({ id }) => id));
  const ids = cached.map(({ id }) => id).filter((id) => !known.has(id));
  const unseen = unseenIds(ids, db);
  return [...own, ...cached.filter(({ id }) => unseen.includes(id))]
    .filter(({ summary }) => !isInstructionShaped(summary))
    .slice(0, SUGGESTIONS_MAX);
}

function suggestionLine({ id, type, summary }: Announced): string {
  return `- [${item(type)}] ${inertText(summary, SUMMARY_LENGTH_MAX)} [id: ${item(id)}]`;
}

function previousSessionLines(source: string, context: HookContext, db: Db): string[] {
  const messages = sessionMessagesIn(context.config.language);
  const [summary] = context.project.spellings.flatMap((projectPath) =>
    queryEvents({ type: 'session_summary', projectPath, limit: 1 }, db),
  );
  if (summary === undefined) return [];
  const counts = toolCounts(summary.toolCounts);
  const uses = counts.reduce((sum, [, count]) => sum + count, 0);
  const prompts = texts(summary.lastPrompts).slice(0, PROMPTS_MAX);
  // Sessions of earlier versions counted every error; then this is the best that is known.
  const open = Number(summary.unresolvedErrorCount ?? summary.errorCount ?? 0);
  const errors = open === 0 ? [] : texts(summary.uniqueErrors).slice(0, RESUME_ERRORS_MAX).map(item);
  const tools = counts.slice(0, TOOLS_MAX);
  const parts: [items: string[], line: (items: string) => string][] = [
    [prompts.map((prompt) => `"${item(prompt)}"`), messages.previousPrompts],
    [texts(summary.lastEditedFiles).map(item), messages.previousFiles],
    [errors.slice(0, ERRORS_MAX), (items) => messages.previousErrors(open, items)],
    [source === 'resume' ? errors : [], messages.resumeErrors],
    [tools.map(([tool, count]) => `${item(tool)}(${count})`), messages.previousTools],
  ];
  return [
    messages.previousSession(item(summary.ts)),
    messages.previousCounts(Number(summary.promptCount ?? 0), uses),
    ...parts.flatMap(([items, line]) => (items.length > 0 ? [line(items.join(', '))] : [])),
  ];
}

function toolCounts(value: unknown): [string, number][] {
  const counts = isRecord(value) ? Object.entries(value) : [];
  return counts
    .filter((entry): entry is [string, number] => typeof entry[1] === 'number')
    .sort((left, right) => right[1] - left[1]);
}

/** The texts of a list that no agent takes for an order. */
function texts(value: unknown): string[] {
  return readTexts(value).filter((one) => one !== '' && !isInstructionShaped(one));
}

function item(value: unknown): string {
  return inertText(String(value ?? ''), ITEM_LENGTH_MAX);
}

/** As many whole lines as fit. */
function withinLength(lines: readonly string[], lengthMax: number): string {
  let text = '';
  for (const line of lines) {
    const longer = text === '' ? line : `${text}\n${line}`;
    if (longer.length <= lengthMax) text = longer;
  }
  return text;
}
