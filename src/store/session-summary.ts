import type { Json } from '../core/guards.ts';
import { cutText } from '../core/text.ts';
import { isEditingTool } from '../core/tools.ts';
import type { Db } from './connection.ts';
import { queryEvents, type StoredEvent } from './events.ts';

const EVENTS_MAX = 2000;
const SEQUENCE_MAX = 200;
const ERRORS_MAX = 20;
const PROMPTS_MAX = 3;
const PROMPT_LENGTH_MAX = 100;
const FILES_MAX = 5;

/**
 * What a session did (REQ-DC-401), over its newest 2,000 events. Errors that were solved before the end are counted
 * apart from those that were not.
 */
export function summarizeSession(sessionId: string, reason: string, db: Db): Json {
  const newestFirst = queryEvents({ sessionId, limit: EVENTS_MAX }, db);
  const prompts = newestFirst.filter((event) => event.type === 'prompt');
  const toolUses = newestFirst.filter((event) => event.type === 'tool_use');
  const toolCounts = new Map<string, number>();
  for (const { tool } of toolUses) toolCounts.set(String(tool), (toolCounts.get(String(tool)) ?? 0) + 1);
  const errors = newestFirst.filter((event) => event.type === 'tool_error');
  const unresolved = errors.filter((error) => error.noise === undefined && isOpen(error, newestFirst));
  const edited = toolUses.filter((use) => isEditingTool(String(use.tool)) && typeof use.file === 'string');
  return {
    promptCount: prompts.length,
    toolCounts: Object.fromEntries(toolCounts),
    toolSequence: toolUses
      .slice(0, SEQUENCE_MAX)
      .reverse()
      .map((use) => use.tool),
    errorCount: errors.length,
    unresolvedErrorCount: unresolved.length,
    uniqueErrors: [...new Set(unresolved.map((error) => error.said ?? error.error))].slice(0, ERRORS_MAX),
    lastPrompts: prompts
      .slice(0, PROMPTS_MAX)
      .map((event) => cutText(String(event.text ?? ''), PROMPT_LENGTH_MAX)),
    lastEditedFiles: [...new Set(edited.map((use) => use.file))].slice(0, FILES_MAX),
    reason,
  };
}

/** Whether the same command, or a call on the same file, has not worked since. */
function isOpen(error: StoredEvent, newestFirst: readonly StoredEvent[]): boolean {
  for (const event of newestFirst) {
    if (event === error) return true;
    if (event.type !== 'tool_use' || event.isUnfinished === true) continue;
    const isSame =
      typeof error.command === 'string' ? event.command === error.command : event.file === error.file;
    if (isSame) return false;
  }
  return true;
}
