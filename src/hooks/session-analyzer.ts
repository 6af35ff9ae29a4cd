import { isRecord, type Json, readTexts } from '../core/guards.ts';
import { framed, inertText } from '../core/inert-text.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { messagesIn } from '../core/messages.ts';
import { type SessionMessages, sessionMessagesIn } from '../core/session-messages.ts';
import { readProposal, suggestionId } from '../core/suggestion.ts';
import { getCachedAnalysis } from '../store/analysis-cache.ts';
import type { Db } from '../store/connection.ts';
import { queryEvents } from '../store/events.ts';
import { listSuggestions, unseenIds } from '../store/suggestions.ts';
import { type Decision, type HookContext, NOTHING, originOf } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { projectKnowledge } from './subagent-context.ts';

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
