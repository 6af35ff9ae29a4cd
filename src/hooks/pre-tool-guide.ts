import { isRecord, parseJson } from '../core/guards.ts';
import { inertText } from '../core/inert-text.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { type Messages, messagesIn } from '../core/messages.ts';
import { resolutionText } from '../core/resolution.ts';
import { isEditingTool } from '../core/tools.ts';
import type { Db } from '../store/connection.ts';
import { findFileResolutions } from '../store/error-kb.ts';
import { findResolution, type KnownError } from '../store/find-resolution.ts';
import { queryOpenErrors } from '../store/open-errors.ts';
import { type Decision, type HookContext, NOTHING } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { toolFile } from './tool-call.ts';

const FILE_ERRORS_MAX = 2;
const TEXT_LENGTH_MAX = 200;

/**
 * PreToolUse: before an edit, the file's past errors and what solved them; before a Bash call, the fix of the
 * session's unsolved Bash error (REQ-RA-301, REQ-RA-302). Reads only, never decides about permission.
 */
export function decidePreToolUse(event: HookEventOf<'PreToolUse'>, context: HookContext): Decision {
  const lines = guideLines(event, context);
  return lines.length === 0 ? NOTHING : { reply: { event: 'PreToolUse', context: lines.join('\n') } };
}

function guideLines(event: HookEventOf<'PreToolUse'>, context: HookContext): string[] {
  const messages = messagesIn(context.config.language);
  if (isEditingTool(event.tool)) {
    const file = toolFile(event, context.project);
    const db = file === null ? undefined : context.knowledge();
    return file === null || db === undefined ? [] : fileLines(file, context, messages, db);
  }
  const db = event.tool === 'Bash' ? context.knowledge() : undefined;
  return db === undefined ? [] : bashLines(event, context, messages, db);
}

function fileLines(file: string, { project }: HookContext, messages: Messages, db: Db): string[] {
  return findFileResolutions(file, project.path, FILE_ERRORS_MAX, db)
    .filter(isSafeToShow)
    .flatMap((known) => [messages.fileError(shown(known.errorNormalized)), ...fixLines(known, messages)]);
}

function fixLines(known: KnownError, messages: Messages): string[] {
  const stored = parseJson(known.resolution);
  if (!isRecord(stored) || typeof stored.summary === 'string') {
    return [messages.fileErrorFix(shown(resolutionText(known.resolution)))];
  }
  const lines = [messages.fileErrorFix(shown(`${stored.resolvedBy ?? ''} (${stored.tool ?? ''})`))];
  const path = toolPath(stored.toolSequence);
  return path === '' ? lines : [...lines, messages.fileErrorPath(path)];
}

function bashLines(
  event: HookEventOf<'PreToolUse'>,
  context: HookContext,
  messages: Messages,
  db: Db,
): string[] {
  const open = queryOpenErrors(event.sessionId, db).findLast(
    (error) => error.tool === 'Bash' && error.agentId === event.agentId,
  );
  const known = open && findResolution(open.error, context.project.path, db);
  if (!known || !isSafeToShow(known)) return [];
  const lines = [messages.bashError(shown(known.errorNormalized))];
  const stored = parseJson(known.resolution);
  if (isRecord(stored) && typeof stored.summary === 'string')
    lines.push(messages.bashErrorFix(shown(stored.summary)));
  else if (isRecord(stored) && toolPath(stored.toolSequence) !== '') {
    lines.push(messages.bashErrorPath(toolPath(stored.toolSequence)));
  }
  return lines;
}

function toolPath(sequence: unknown): string {
  return Array.isArray(sequence) ? shown(sequence.join(' → ')) : '';
}

function isSafeToShow(known: KnownError): boolean {
  return (
    !isInstructionShaped(known.errorNormalized) && !isInstructionShaped(resolutionText(known.resolution))
  );
}

function shown(text: string): string {
  return inertText(text, TEXT_LENGTH_MAX);
}
