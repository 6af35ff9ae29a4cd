import { isRecord, type Json } from '../core/guards.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { type Messages, messagesIn } from '../core/messages.ts';
import { getCachedAnalysis } from '../store/analysis-cache.ts';
import type { Db } from '../store/connection.ts';
import { queryEvents } from '../store/events.ts';
import { type Decision, type HookContext, NOTHING } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { inertText } from './inert-text.ts';

const CONTEXT_LENGTH_MAX = 2000;
const ITEM_LENGTH_MAX = 200;
const SUGGESTIONS_MAX = 3;
const PROMPTS_MAX = 2;
const ERRORS_MAX = 2;
const RESUME_ERRORS_MAX = 8;
const TOOLS_MAX = 3;

/** SessionStart: announces suggestions and says where the project's last session stopped (REQ-SSH-002…007). */
export function decideSessionStart(event: HookEventOf<'SessionStart'>, context: HookContext): Decision {
  const db = context.knowledge();
  if (db === undefined) return NOTHING;
  const messages = messagesIn(context.config.language);
  const parts = [
    suggestionLines(context, messages, db),
    previousSessionLines(event.source, context, messages, db),
  ];
  const text = parts
    .filter((lines) => lines.length > 0)
    .map((lines) => withinLength(lines, CONTEXT_LENGTH_MAX / 2))
    .join('\n\n');
  return text === '' ? NOTHING : { reply: { event: 'SessionStart', context: text } };
}

function suggestionLines({ config, project, now }: HookContext, messages: Messages, db: Db): string[] {
  const query = { projectPath: project.path, now };
  const analysis = getCachedAnalysis(config.analysisCacheMaxAgeHours, project.name, query, db);
  const shown = (analysis?.suggestions ?? [])
    .filter((suggestion) => !isInstructionShaped(String(suggestion.summary)))
    .slice(0, SUGGESTIONS_MAX)
    .map(
      (suggestion) => `- [${item(suggestion.type)}] ${item(suggestion.summary)} [id: ${item(suggestion.id)}]`,
    );
  return shown.length === 0 ? [] : [messages.analysisHeading, ...shown, messages.analysisAdvice];
}

function previousSessionLines(
  source: string,
  { project }: HookContext,
  messages: Messages,
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

function unresolvedLines(summary: Json, source: string, messages: Messages): string[] {
  const errors = texts(summary.uniqueErrors).filter((error) => !isInstructionShaped(error));
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

function texts(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((one): one is string => typeof one === 'string' && one !== '')
    : [];
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
