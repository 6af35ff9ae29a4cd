import { existsSync } from 'node:fs';
import { inertText } from '../../core/inert-text.ts';
import { isInformative } from '../../core/normalize-error.ts';
import { redactSecrets } from '../../core/redact.ts';
import { resolutionText } from '../../core/resolution.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import type { Db } from '../../store/connection.ts';
import { type EventFilter, queryEvents, type StoredEvent } from '../../store/events.ts';
import {
  type FeedbackSummary,
  feedbackSummary,
  type RuleEffect,
  ruleEffects,
  skillUses,
} from '../../store/feedback.ts';
import { findResolution } from '../../store/find-resolution.ts';
import { ownResolution } from '../../store/own-resolution.ts';
import type { Skill } from '../../store/skill-files.ts';

/** Which part of the log: one project, or all of it. */
export type AnalysisScope =
  | { readonly kind: 'project'; readonly name: string; readonly path: string }
  | { readonly kind: 'all' };

/** An error with all its occurrences. `ref` is how the answer names it. */
export type ErrorGroup = {
  readonly ref: string;
  readonly tool: string;
  readonly error: string;
  readonly raw: string;
  readonly count: number;
  readonly sessions: number;
  readonly lastSeen: string;
  readonly knownFix: string | null;
};

/** What is analysed. Each list has the newest last, and is cut at its beginning when there is too much. */
export type AnalysisData = {
  readonly prompts: readonly { readonly ts: string; readonly text: string; readonly project?: string }[];
  readonly toolSequences: readonly string[];
  readonly errors: readonly ErrorGroup[];
  readonly sessionCount: number;
  readonly toolTotal: number;
  /** Names and uses alone: what a skill says of itself may be anything that stands in its file. */
  readonly existingSkills: readonly { readonly name: string; readonly uses: number }[];
  readonly staleSkills: readonly string[];
  readonly feedback: FeedbackSummary | null;
  readonly ruleEffects: readonly RuleEffect[];
};

/** Whether hooks have kept anything at all: if not, looking must not make a database. */
export function isAnythingRecorded({ database, spool }: StatePaths): boolean {
  return existsSync(database) || existsSync(spool);
}

/** All counts are of rows that are looked at; what is older than that many is not. */
const PROMPTS_MAX = 400;
const TOOL_USES_MAX = 4000;
const ERRORS_MAX = 2000;
const SESSIONS_MAX = 100;
const SEQUENCE_MAX = 40;
const PROMPT_LENGTH_MAX = 400;
const RAW_LENGTH_MAX = 240;
const TEXT_LENGTH_MAX = 200;
const RULE_LENGTH_MAX = 400;
const STALE_DAYS = 30;
const MS_PER_DAY = 86_400_000;

export type AnalysisWindow = { readonly days: number; readonly now: Date };

/**
 * Reads what the analysis needs; about one project, what belongs to it or to none. Texts are on one line, redacted once more, and open
 * no frame of a conversation.
 */
export function collectAnalysisData(
  scope: AnalysisScope,
  { days, now }: AnalysisWindow,
  skills: readonly Skill[],
  db: Db,
): AnalysisData {
  const since = beginning(days, now);
  const filter: EventFilter = { since, ...(scope.kind === 'project' ? { projectPath: scope.path } : {}) };
  const prompts = queryEvents({ ...filter, type: 'prompt', limit: PROMPTS_MAX }, db).reverse();
  const toolUses = queryEvents({ ...filter, type: 'tool_use', limit: TOOL_USES_MAX }, db).reverse();
  const errors = queryEvents({ ...filter, type: 'tool_error', limit: ERRORS_MAX }, db).reverse();
  const uses = skillUses(scope, beginning(STALE_DAYS, now), db);
  // That a global skill is not used here does not make it stale.
  const ownSkills = skills.filter((skill) => scope.kind === 'all' || skill.scope === 'project');
  return {
    prompts: prompts
      .filter((prompt) => typeof prompt.text === 'string' && prompt.text !== '[REDACTED]')
      .map((prompt) => ({
        ts: prompt.ts.slice(0, 16),
        text: shown(prompt.text, PROMPT_LENGTH_MAX),
        ...(scope.kind === 'all' ? { project: shown(prompt.project ?? 'unknown', TEXT_LENGTH_MAX) } : {}),
      })),
    toolSequences: sequences(toolUses),
    errors: groupErrors(errors, scope, db),
    sessionCount: new Set([...prompts, ...toolUses].map((event) => event.sessionId)).size,
    toolTotal: toolUses.length,
    existingSkills: skills.map(({ name }) => ({ name, uses: uses.get(name)?.uses ?? 0 })),
    staleSkills: ownSkills.filter(({ name }) => !uses.has(name)).map(({ name }) => name),
    feedback: shownFeedback(feedbackSummary(scope, db)),
    ruleEffects: ruleEffects(scope, now, db).map((effect) => ({
      ...effect,
      rule: shown(effect.rule, RULE_LENGTH_MAX),
    })),
  };
}

/** Days begin at midnight (UTC), so that as long as nothing is recorded the data is the same all day long. */
function beginning(days: number, now: Date): string {
  const ms = now.getTime() - days * MS_PER_DAY;
  return new Date(days < 1 ? ms : Math.floor(ms / MS_PER_DAY) * MS_PER_DAY).toISOString();
}

function shownFeedback(feedback: FeedbackSummary | null): FeedbackSummary | null {
  return (
    feedback && {
      ...feedback,
      recentRejections: feedback.recentRejections.map(({ summary, why }) => ({
        summary: shown(summary, TEXT_LENGTH_MAX),
        why: why === null ? null : shown(why, TEXT_LENGTH_MAX),
      })),
      recentAcceptances: feedback.recentAcceptances.map((summary) => shown(summary, TEXT_LENGTH_MAX)),
    }
  );
}

/** What each session did, in order: `Grep → Read → Edit ×2 → Bash(npm test)`. */
function sequences(toolUses: readonly StoredEvent[]): string[] {
  const sessions = new Map<string, string[]>();
  for (const use of toolUses) {
    const steps = sessions.get(use.sessionId) ?? [];
    const command =
      typeof use.command === 'string' && use.command !== '' ? `(${shown(use.command, 60)})` : '';
    steps.push(`${shown(use.tool, 40)}${command}`);
    sessions.set(use.sessionId, steps);
  }
  return [...sessions.values()]
    .filter((steps) => steps.length > 1)
    .slice(-SESSIONS_MAX)
    .map((steps) => counted(steps).slice(-SEQUENCE_MAX).join(' → '));
}

/** Equal steps in a row as one. */
function counted(steps: readonly string[]): string[] {
  const runs: { step: string; count: number }[] = [];
  for (const step of steps) {
    const last = runs.at(-1);
    if (last?.step === step) last.count++;
    else runs.push({ step, count: 1 });
  }
  return runs.map(({ step, count }) => (count > 1 ? `${step} ×${count}` : step));
}

/** Equal errors as one, the most frequent last. */
function groupErrors(events: readonly StoredEvent[], scope: AnalysisScope, db: Db): ErrorGroup[] {
  const groups = new Map<string, StoredEvent[]>();
  for (const event of events) {
    const error = typeof event.error === 'string' ? event.error : '';
    if (!isInformative(error)) continue;
    const key = `${event.tool}\n${error}`;
    const group = groups.get(key);
    if (group) group.push(event);
    else groups.set(key, [event]);
  }
  const sorted = [...groups.values()].sort((left, right) => left.length - right.length);
  return sorted.flatMap((group, index) => {
    const newest = group.at(-1);
    if (newest === undefined) return [];
    const known = knownFix(String(newest.error), scope, db);
    return [
      {
        ref: `e${sorted.length - index}`,
        tool: shown(newest.tool, 40),
        error: String(newest.error),
        raw: shown(newest.errorRaw, RAW_LENGTH_MAX),
        count: group.length,
        sessions: new Set(group.map((event) => event.sessionId)).size,
        lastSeen: newest.ts.slice(0, 16),
        knownFix: known === undefined ? null : shown(resolutionText(known), TEXT_LENGTH_MAX),
      },
    ];
  });
}

function knownFix(error: string, scope: AnalysisScope, db: Db): string | undefined {
  if (scope.kind === 'project') return ownResolution(error, scope.path, db);
  return findResolution(error, null, db)?.resolution;
}

function shown(value: unknown, lengthMax: number): string {
  return inertText(redactSecrets(String(value ?? '')), lengthMax);
}
