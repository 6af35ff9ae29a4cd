import { isInstructionShaped } from '../core/instruction-shape.ts';
import { type Messages, messagesIn } from '../core/messages.ts';
import { isInformative } from '../core/normalize-error.ts';
import { resolutionSummary } from '../core/resolution.ts';
import { cutText } from '../core/text.ts';
import { getCachedAnalysis } from '../store/analysis-cache.ts';
import { type Db, queryEvents, type StoredEvent } from '../store/db.ts';
import { findResolution } from '../store/error-kb.ts';
import { type Decision, type HookContext, NOTHING, type Project } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { inertText } from './inert-text.ts';

/** Agents that work on code (RA-401). `config.subagentContext` adds and removes names. */
const CODE_AGENTS = [
  'executor',
  'executor-low',
  'executor-high',
  'architect',
  'architect-medium',
  'designer',
  'designer-high',
  'build-fixer',
  'build-fixer-low',
];

const CONTEXT_LENGTH_MAX = 500;
const ERRORS_MAX = 3;
const ERROR_ROWS_MAX = 50;
const RULES_MAX = 3;
const FIX_LENGTH_MAX = 150;
const ERROR_LENGTH_MAX = 200;
const RULE_LENGTH_MAX = 400;
const TOOL_LENGTH_MAX = 60;
const ANALYSIS_HOURS = 48;

/**
 * SubagentStart: gives a code agent the project's recent errors with their fixes, and its rules. Reads only. Plain
 * loops on purpose: this runs before every sub-agent, and a process pays for each array method at its first use.
 */
export function decideSubagentStart(event: HookEventOf<'SubagentStart'>, context: HookContext): Decision {
  if (!isCodeAgent(event.agentType ?? '', context.config.subagentContext)) return NOTHING;
  const db = context.knowledge();
  if (db === undefined) return NOTHING;
  const messages = messagesIn(context.config.language);
  const errors: string[] = [];
  for (const error of recentErrors(context.project, db)) {
    errors.push(errorLines(error, { project: context.project, messages, db }));
  }
  const sections = [
    { heading: messages.recentErrors, items: errors },
    { heading: messages.rules, items: projectRules(context, db) },
  ];
  const text = composeContext(sections, CONTEXT_LENGTH_MAX);
  return text === '' ? NOTHING : { reply: { event: 'SubagentStart', context: text } };
}

type AgentNames = { readonly agents: readonly string[]; readonly excludeAgents: readonly string[] };

/** RA-401: the type contains one of the names and none of the excluded ones. */
export function isCodeAgent(agentType: string, { agents, excludeAgents }: AgentNames): boolean {
  return (
    !containsAny(agentType, excludeAgents) &&
    (containsAny(agentType, CODE_AGENTS) || containsAny(agentType, agents))
  );
}

function containsAny(text: string, names: readonly string[]): boolean {
  for (const name of names) if (text.includes(name)) return true;
  return false;
}

type RecentError = { readonly error: string; readonly tool: string; count: number };

/** RA-402: the newest three different errors among the project's newest 50 error rows. */
function recentErrors(project: Project, db: Db): RecentError[] {
  const distinct: RecentError[] = [];
  for (const event of newestErrorEvents(project, db)) {
    const error = typeof event.error === 'string' ? event.error : '';
    const tool = typeof event.tool === 'string' ? event.tool : 'unknown';
    let known: RecentError | undefined;
    for (const one of distinct) if (one.error === error && one.tool === tool) known = one;
    if (known) known.count++;
    else if (distinct.length < ERRORS_MAX && isInformative(error) && !isInstructionShaped(error)) {
      distinct.push({ error, tool, count: 1 });
    }
  }
  return distinct;
}

function newestErrorEvents(project: Project, db: Db): StoredEvent[] {
  const query = { type: 'tool_error', limit: ERROR_ROWS_MAX };
  // A database without paths knows projects by name only.
  if (!db.shape.has('events', 'project_path')) return queryEvents({ ...query, project: project.name }, db);
  const found: StoredEvent[] = [];
  let spellings = 0;
  for (const projectPath of project.spellings) {
    const events = queryEvents({ ...query, projectPath }, db);
    if (events.length > 0) spellings++;
    for (const event of events) found.push(event);
  }
  if (spellings > 1) found.sort(compareNewest);
  return found.slice(0, ERROR_ROWS_MAX);
}

function compareNewest(left: StoredEvent, right: StoredEvent): number {
  return left.ts === right.ts ? right.id - left.id : left.ts < right.ts ? 1 : -1;
}

type Reading = { readonly project: Project; readonly messages: Messages; readonly db: Db };

/** `- error (tool)` and, when a fix is known, `  해결: …` with at most 150 characters of it. */
function errorLines({ error, tool, count }: RecentError, { project, messages, db }: Reading): string {
  const times = count > 1 ? ` ×${count}` : '';
  const line = `- ${inertText(error, ERROR_LENGTH_MAX)} (${inertText(tool, TOOL_LENGTH_MAX)})${times}`;
  const known = findResolution(error, project.path, db);
  if (known === undefined) return line;
  const fix = fixText(known.resolution);
  return isInstructionShaped(fix) ? line : `${line}\n  ${messages.fix} ${fix}`;
}

/** RA-402: the start of the stored resolution as JSON; of our own resolutions their summary in words. */
function fixText(resolution: string): string {
  const words = resolutionSummary(resolution) ?? resolution;
  return inertText(cutText(JSON.stringify(words), FIX_LENGTH_MAX), FIX_LENGTH_MAX);
}

/** RA-403: up to three rules of the project's analysis of the last 48 hours. */
function projectRules({ project, now }: HookContext, db: Db): string[] {
  const analysis = getCachedAnalysis(ANALYSIS_HOURS, project.name, { projectPath: project.path, now }, db);
  const rules: string[] = [];
  for (const suggestion of analysis?.suggestions ?? []) {
    if (suggestion.type !== 'claude_md' || !isForProject(suggestion.project, project)) continue;
    const rule = suggestion.rule || suggestion.summary;
    if (typeof rule !== 'string' || rule.trim() === '' || isInstructionShaped(rule)) continue;
    if (rules.length < RULES_MAX) rules.push(`- ${inertText(rule, RULE_LENGTH_MAX)}`);
  }
  return rules;
}

function isForProject(wanted: unknown, project: Project): boolean {
  return !wanted || wanted === project.name || wanted === project.path;
}

type Section = { readonly heading: string; readonly items: readonly string[] };

/**
 * RA-404: the sections in at most `lengthMax` UTF-16 units. Items come whole as long as any whole one fits, taken in
 * turn from the sections so that neither crowds out the other; the first of a section is shortened when it must be.
 */
export function composeContext(sections: readonly Section[], lengthMax: number): string {
  const filled: { heading: string; items: readonly string[]; taken: string[] }[] = [];
  let turns = 0;
  for (const { heading, items } of sections) {
    if (items.length > 0) filled.push({ heading, items, taken: [] });
    turns = Math.max(turns, items.length);
  }
  for (let turn = 0; turn < turns; turn++) {
    let later = filled.length;
    for (const section of filled) {
      later--;
      const item = section.items[turn];
      if (item === undefined) continue;
      section.taken.push(item);
      if (render(filled).length <= lengthMax) continue;
      section.taken.pop();
      if (turn > 0) continue;
      // The sections that follow still need their share of what is left.
      const left = lengthMax - render(filled).length - section.heading.length - 2;
      const room = Math.floor(left / (later + 1));
      if (room > 1) section.taken.push(`${cutText(item, room - 1)}…`);
    }
  }
  return render(filled);
}

function render(sections: readonly { heading: string; taken: readonly string[] }[]): string {
  const lines: string[] = [];
  for (const { heading, taken } of sections) if (taken.length > 0) lines.push(heading, ...taken);
  return lines.join('\n');
}
