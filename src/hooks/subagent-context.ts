import { isInformative } from '../core/normalize-error.ts';
import { isInstructionShaped } from '../core/instruction-shape.ts';
import { type Messages, messagesIn } from '../core/messages.ts';
import { getProjectName } from '../core/project.ts';
import { resolutionSummary } from '../core/resolution.ts';
import { cutText } from '../core/text.ts';
import { getCachedAnalysis } from '../store/analysis-cache.ts';
import { type Db, queryEvents } from '../store/db.ts';
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

/** SubagentStart: gives a code agent the project's recent errors with their fixes, and its rules. Reads only. */
export function decideSubagentStart(event: HookEventOf<'SubagentStart'>, context: HookContext): Decision {
  if (!isCodeAgent(event.agentType ?? '', context.config.subagentContext)) return NOTHING;
  const db = context.knowledge();
  if (db === undefined) return NOTHING;
  const messages = messagesIn(context.config.language);
  const errors = recentErrors(context.project, db).map((error) => errorLines(error, context.project, messages, db));
  const rules = projectRules(context, db).map((rule) => `- ${rule}`);
  const text = composeContext(
    [
      { heading: messages.recentErrors, items: errors },
      { heading: messages.rules, items: rules },
    ],
    CONTEXT_LENGTH_MAX,
  );
  return text === '' ? NOTHING : { reply: { event: 'SubagentStart', context: text } };
}

/** RA-401: the type contains one of the names and none of the excluded ones. */
export function isCodeAgent(
  agentType: string,
  names: { readonly agents: readonly string[]; readonly excludeAgents: readonly string[] },
): boolean {
  if (names.excludeAgents.some((name) => agentType.includes(name))) return false;
  return [...CODE_AGENTS, ...names.agents].some((name) => agentType.includes(name));
}

type RecentError = { readonly error: string; readonly tool: string; count: number };

/** RA-402: the newest three different errors among the project's newest 50 error rows. */
function recentErrors(project: Project, db: Db): RecentError[] {
  const distinct = new Map<string, RecentError>();
  for (const event of newestErrorEvents(project, db)) {
    const error = typeof event.error === 'string' ? event.error : '';
    const tool = typeof event.tool === 'string' ? event.tool : 'unknown';
    const known = distinct.get(`${tool} ${error}`);
    if (known) known.count++;
    else if (isInformative(error) && !isInstructionShaped(error)) {
      distinct.set(`${tool} ${error}`, { error, tool, count: 1 });
    }
  }
  return [...distinct.values()].slice(0, ERRORS_MAX);
}

function newestErrorEvents(project: Project, db: Db) {
  const query = { type: 'tool_error', limit: ERROR_ROWS_MAX };
  const byPath = project.spellings.flatMap((projectPath) => queryEvents({ ...query, projectPath }, db));
  if (byPath.length > 0 || db.shape.has('events', 'project_path')) {
    return byPath.sort((left, right) => compareNewest(left, right)).slice(0, ERROR_ROWS_MAX);
  }
  // A database without paths knows projects by name only.
  return queryEvents({ ...query, project: project.name }, db);
}

function compareNewest(left: { ts: string; id: number }, right: { ts: string; id: number }): number {
  return left.ts === right.ts ? right.id - left.id : left.ts < right.ts ? 1 : -1;
}

/** `- error (tool)` and, when a fix is known, `  해결: …` with at most 150 characters of it. */
function errorLines({ error, tool, count }: RecentError, project: Project, messages: Messages, db: Db): string {
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
  return (analysis?.suggestions ?? [])
    .filter((suggestion) => suggestion.type === 'claude_md' && isForProject(suggestion.project, project))
    .map((suggestion) => suggestion.rule || suggestion.summary)
    .filter((rule): rule is string => typeof rule === 'string' && rule.trim() !== '' && !isInstructionShaped(rule))
    .slice(0, RULES_MAX)
    .map((rule) => inertText(rule, RULE_LENGTH_MAX));
}

function isForProject(wanted: unknown, project: Project): boolean {
  return !wanted || wanted === project.name || wanted === project.path || wanted === getProjectName(project.path);
}

type Section = { readonly heading: string; readonly items: readonly string[] };

/**
 * RA-404: both sections in at most `lengthMax` UTF-16 units. Items come whole as long as any whole one fits, taken in
 * turn from the sections so that neither crowds out the other; the first of a section is shortened when it must be.
 */
export function composeContext(sections: readonly Section[], lengthMax: number): string {
  const filled = sections.filter((section) => section.items.length > 0);
  const taken = filled.map(() => [] as string[]);
  const render = () =>
    filled
      .flatMap((section, index) => (taken[index]?.length ? [section.heading, ...(taken[index] ?? [])] : []))
      .join('\n');
  const turns = Math.max(0, ...filled.map((section) => section.items.length));
  for (let turn = 0; turn < turns; turn++) {
    for (const [index, section] of filled.entries()) {
      const item = section.items[turn];
      if (item === undefined) continue;
      taken[index]?.push(item);
      if (render().length <= lengthMax) continue;
      taken[index]?.pop();
      if (turn > 0) continue;
      const later = filled.length - 1 - index;
      const room = Math.floor((lengthMax - render().length - section.heading.length - 2) / (later + 1)) - later;
      if (room > 1) taken[index]?.push(`${cutText(item, room - 1)}…`);
    }
  }
  return render();
}
