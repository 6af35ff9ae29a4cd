import { existsSync } from 'node:fs';
import type { StatePaths } from '../core/state-paths.ts';
import { resolutionText } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import { type EventFilter, queryEvents, type StoredEvent } from '../database/events.ts';
import { lessonState, listModelLessons, type StoredModelLesson } from '../lessons/store/model-lessons.ts';
import { findResolution } from '../lessons/store/told-lessons.ts';
import { listWithdrawals } from '../lessons/store/withdrawals.ts';
import {
  type FeedbackSummary,
  feedbackSummary,
  ruleEffects,
  skillUses,
} from '../suggestions/feedback-store.ts';
import type { Skill } from '../suggestions/model/skill-files.ts';
import { loadCalls } from './analysis-store.ts';
import { findCandidates, shown } from './candidates.ts';
import { type Contradiction, findContradictions } from './keep-answer.ts';

/** Which part of the log: one project, or all of it. */
export type AnalysisScope =
  | { readonly kind: 'project'; readonly name: string; readonly path: string }
  | typeof ALL_PROJECTS;
export const ALL_PROJECTS = { kind: 'all', name: 'all', path: null } as const;

export type AnalysisData = ReturnType<typeof collectAnalysisData>;

/** Returns true if hooks have kept anything at all: if not, looking must not make a database. */
export function isAnythingRecorded({ database, spool }: StatePaths): boolean {
  return existsSync(database) || existsSync(spool);
}

/** All counts are of rows that are looked at; what is older than that many is not. */
const PROMPTS_MAX = 400;
const TOOL_USES_MAX = 4000;
const CALLS_MAX = 20_000;
const SESSIONS_MAX = 100;
const SEQUENCE_MAX = 40;
const PROMPT_LENGTH_MAX = 400;
const TEXT_LENGTH_MAX = 200;
const RULE_LENGTH_MAX = 400;
const STALE_DAYS = 30;
const WITHDRAWN_MAX = 50;
const MS_PER_DAY = 86_400_000;

/**
 * Reads what the analysis needs; about one project, what belongs to it or to none. Texts are on one line,
 * redacted once more, and open no frame. Each list has the newest last, the failures the most promising first.
 */
export function collectAnalysisData(
  scope: AnalysisScope,
  { days, now }: { readonly days: number; readonly now: Date },
  skills: readonly Skill[],
  db: Db,
) {
  const since = beginning(days, now);
  const filter: EventFilter = { since, ...(scope.path !== null && { projectPath: scope.path }) };
  const prompts = queryEvents({ ...filter, type: 'prompt', limit: PROMPTS_MAX }, db).reverse();
  const toolUses = queryEvents({ ...filter, type: 'tool_use', limit: TOOL_USES_MAX }, db).reverse();
  const staleSince = beginning(STALE_DAYS, now);
  const uses = skillUses(scope, staleSince, db);
  // That a global skill is not used here does not make it stale, nor that a new one was not used yet.
  const ownSkills = skills.filter(
    (skill) =>
      (scope.kind === 'all' || skill.scope === 'project') && skill.changedMs < Date.parse(staleSince),
  );
  return {
    prompts: prompts
      .filter((prompt) => typeof prompt.text === 'string' && prompt.text !== '[REDACTED]')
      .map((prompt) => ({
        ts: prompt.ts.slice(0, 16),
        text: shown(prompt.text, PROMPT_LENGTH_MAX),
        ...(scope.kind === 'all' && { project: shown(prompt.project ?? 'unknown', TEXT_LENGTH_MAX) }),
      })),
    toolSequences: sequences(toolUses),
    ...failures(scope, since, db),
    sessionCount: new Set([...prompts, ...toolUses].map((event) => event.sessionId)).size,
    toolTotal: toolUses.length,
    // Names and uses alone: what a skill says of itself may be anything that stands in its file.
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
  const stepOf = ({ tool, command }: StoredEvent) =>
    shown(tool, 40) + (typeof command === 'string' && command !== '' ? `(${shown(command, 60)})` : '');
  return [...Map.groupBy(toolUses, ({ sessionId }) => sessionId).values()]
    .filter((uses) => uses.length > 1)
    .slice(-SESSIONS_MAX)
    .map((uses) => counted(uses.map(stepOf)).slice(-SEQUENCE_MAX).join(' → '));
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

/** The failing calls, and the lessons that they contradict: those that are in doubt already, and those that will be. */
function failures(scope: AnalysisScope, since: string, db: Db) {
  const projectPath = scope.path ?? undefined;
  const calls = loadCalls({ projectPath, since, limit: CALLS_MAX }, db);
  const { groups, checks } = findCandidates(calls, {
    knownFix: (key, path) => knownFix(key, path, db),
    isWithdrawn: (key, path) => lessonState(key, path, db).state === 'withdrawn',
    withProject: scope.kind === 'all',
  });
  const lessons = listModelLessons(projectPath, db);
  const contradicted = contradictedAmong(lessons, projectPath, db);
  return { candidates: groups, checks, contradicted, withdrawn: withdrawnFrom(projectPath, db) };
}

/** What agents are told no more, and why: it is not to be proposed again. */
function withdrawnFrom(projectPath: string | undefined, db: Db): { advice: string; why: string }[] {
  const withdrawals = listWithdrawals(projectPath === undefined ? undefined : [projectPath], db);
  return withdrawals.slice(0, WITHDRAWN_MAX).map(({ resolution, reason, detail }) => ({
    advice: shown(resolutionText(resolution), TEXT_LENGTH_MAX),
    why: shown(`${detail} (${reason})`, TEXT_LENGTH_MAX),
  }));
}

function contradictedAmong(
  lessons: readonly StoredModelLesson[],
  projectPath: string | undefined,
  db: Db,
): Contradiction[] {
  const inDoubt = lessons.flatMap((lesson) =>
    lesson.counterExamples === null ? [] : [{ lesson, counterExamples: lesson.counterExamples }],
  );
  const told = lessons.filter(({ counterExamples }) => counterExamples === null);
  if (told.length === 0) return inDoubt;
  const oldest = told.reduce((since, { ts }) => (ts < since ? ts : since), told[0]?.ts ?? '');
  const calls = loadCalls({ projectPath, since: oldest, limit: CALLS_MAX }, db);
  return [...inDoubt, ...findContradictions(told, calls)];
}

function knownFix(error: string, projectPath: string, db: Db): string | undefined {
  const known = findResolution(error, projectPath, db);
  // Of one project nothing of another is sent, shared or not.
  return known === undefined || known.origin !== null ? undefined : resolutionText(known.resolution);
}
