import { isRecord, type Json, readTexts } from '../core/guards.ts';
import { framed, inertText } from '../core/inert-text.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { type Language, messagesIn } from '../core/messages.ts';
import { getCachedAnalysis } from '../database/analysis-cache.ts';
import type { Db } from '../database/connection.ts';
import { queryEvents } from '../database/events.ts';
import { listSuggestions, unseenIds } from '../suggestions/store.ts';
import { readProposal, suggestionId } from '../suggestions/suggestion.ts';
import { type Decision, type HookContext, NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { projectKnowledge } from './subagent-context.ts';

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
export function decideSessionStart(event: HookEventOf<'SessionStart'>, context: HookContext): Decision {
  const db = context.knowledge();
  if (db === undefined) return NOTHING;
  const messages = sessionMessagesIn(context.config.language);
  // The same conversation goes on after it was made shorter: its user has read on.
  const announced = event.source === 'compact' ? [] : newSuggestions(context, db);
  // And what the project has learnt it has been told already.
  const knowledge = event.source === 'compact' ? '' : projectKnowledge(context, '');
  const { recordNote } = messagesIn(context.config.language);
  const record = (lines: readonly string[]) =>
    lines.length === 0 ? '' : framed(withinLength(lines, RECORD_LENGTH_MAX), recordNote);
  const text = [
    suggestionText(record(announced.map(suggestionLine)), messages),
    record(previousSessionLines(event.source, context, messages, db)),
    knowledge,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
  if (text === '') return NOTHING;
  const reply = { event: 'SessionStart', context: text } as const;
  if (announced.length === 0) return { reply };
  const ids = announced.map(({ id }) => id);
  const since = cacheSince(context);
  return { reply, recording: { kind: 'suggestions-shown', at: originOf(event, context), ids, since } };
}

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
  const unseen = unseenIds(
    cached.map(({ id }) => id).filter((id) => !known.has(id)),
    db,
  );
  return [...own, ...cached.filter(({ id }) => unseen.includes(id))]
    .filter(({ summary }) => !isInstructionShaped(summary))
    .slice(0, SUGGESTIONS_MAX);
}

function cacheSince({ config, now }: HookContext): string {
  return new Date(now.getTime() - config.analysisCacheMaxAgeHours * MS_PER_HOUR).toISOString();
}

function suggestionLine({ id, type, summary }: Announced): string {
  return `- [${item(type)}] ${inertText(summary, SUMMARY_LENGTH_MAX)} [id: ${item(id)}]`;
}

function suggestionText(record: string, messages: SessionMessages): string {
  const { analysisHeading, analysisAdvice, applyAdvice, dismissAdvice } = messages;
  return record === ''
    ? ''
    : [analysisHeading, record, analysisAdvice, applyAdvice, dismissAdvice].join('\n');
}

function previousSessionLines(
  source: string,
  { project }: HookContext,
  messages: SessionMessages,
  db: Db,
): string[] {
  const [summary] = project.spellings.flatMap((projectPath) =>
    queryEvents({ type: 'session_summary', projectPath, limit: 1 }, db),
  );
  if (summary === undefined) return [];
  const counts = toolCounts(summary.toolCounts);
  const uses = counts.reduce((sum, [, count]) => sum + count, 0);
  const lines = [
    messages.previousSession(item(summary.ts)),
    messages.previousCounts(Number(summary.promptCount ?? 0), uses),
  ];
  const prompts = texts(summary.lastPrompts).slice(0, PROMPTS_MAX);
  if (prompts.length > 0)
    lines.push(messages.previousPrompts(prompts.map((prompt) => `"${item(prompt)}"`).join(', ')));
  const files = texts(summary.lastEditedFiles);
  if (files.length > 0) lines.push(messages.previousFiles(files.map(item).join(', ')));
  lines.push(...unresolvedLines(summary, source, messages));
  const tools = counts.slice(0, TOOLS_MAX).map(([tool, count]) => `${item(tool)}(${count})`);
  if (tools.length > 0) lines.push(messages.previousTools(tools.join(', ')));
  return lines;
}

function unresolvedLines(summary: Json, source: string, messages: SessionMessages): string[] {
  const errors = texts(summary.uniqueErrors);
  // Sessions of earlier versions counted every error; then this is the best that is known.
  const count = Number(summary.unresolvedErrorCount ?? summary.errorCount ?? 0);
  if (count === 0 || errors.length === 0) return [];
  const lines = [messages.previousErrors(count, errors.slice(0, ERRORS_MAX).map(item).join(', '))];
  if (source === 'resume') {
    lines.push(messages.resumeErrors(errors.slice(0, RESUME_ERRORS_MAX).map(item).join(', ')));
  }
  return lines;
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
