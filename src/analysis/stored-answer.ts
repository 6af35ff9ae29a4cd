import { parseJson } from '../core/guards.ts';
import { getProjectName } from '../core/project.ts';
import { type AnalysisKey, saveAnalysis } from '../database/analysis-cache.ts';
import type { Db } from '../database/connection.ts';
import { expireSuggestions, listSuggestions, saveProposals } from '../suggestions/store.ts';
import type { Suggestion } from '../suggestions/suggestion.ts';
import { type AnalysisAnswer, readAnalysisAnswer } from './answer.ts';
import { type Keeping, keepLessons } from './keep-lessons.ts';
import type { AnalysisPrompt } from './prompt.ts';

/** What is kept of an answer, and what became of its proposals so far. */
export type StoredAnswer = {
  readonly answer: ShownAnswer;
  readonly suggestions: readonly Suggestion[];
  /** Lessons that agents are told from now on, without anybody's word. */
  readonly told: readonly string[];
  /** Why lessons were left out. */
  readonly dropped: readonly string[];
};

type ShownAnswer = Pick<AnalysisAnswer, 'clusters' | 'workflows' | 'errorPatterns'>;

const EXPIRY_DAYS = 30;
const MS_PER_DAY = 86_400_000;

export type Keeper = Keeping & { readonly key: AnalysisKey };

/** Stores the answer and its proposals; the analysis in the cache carries the ids that commands know. */
export function keepAnswer(answer: AnalysisAnswer, keeper: Keeper, db: Db): StoredAnswer {
  const { key, ts } = keeper;
  const proposed = {
    ts,
    project: key.project,
    projectPath: key.projectPath ?? '',
    origin: 'analysis',
  } as const;
  const ids = saveProposals(answer.proposals, proposed, db);
  const suggestions = answer.proposals.map((proposal, index) => cached(proposal, ids[index] ?? '', key));
  const lessons = keepLessons(answer.lessons, keeper, db);
  const lessonIds = lessons.proposed.flatMap(({ proposal, projectPath }) => {
    const project = projectPath === key.projectPath ? key.project : getProjectName(projectPath);
    return saveProposals([proposal], { ...proposed, project, projectPath }, db);
  });
  saveAnalysis(key, JSON.stringify({ ...shownPart(answer), suggestions, lessonIds }), ts, db);
  expireSuggestions(new Date(Date.parse(ts) - EXPIRY_DAYS * MS_PER_DAY).toISOString(), db);
  return {
    answer: shownPart(answer),
    suggestions: suggestionsOf([...ids, ...lessonIds], db),
    told: lessons.told,
    dropped: lessons.refused,
  };
}

/** In the shape that analysis_cache has always had. */
function cached(proposal: AnalysisAnswer['proposals'][number], id: string, key: AnalysisKey) {
  const { type, summary, evidence, priority, text, details } = proposal;
  const content = type === 'claude_md' ? { rule: text } : type === 'skill' ? { action: text } : {};
  const project = key.projectPath === null ? null : key.project;
  return { type, id, summary, evidence, priority, project, ...content, ...details };
}

export type Reused = { readonly key: AnalysisKey; readonly prompt: AnalysisPrompt; readonly ts: string };

/** The stored answer, which is the newest from now on. */
export function reuseAnswer(known: string, { key, prompt, ts }: Reused, db: Db): StoredAnswer {
  saveAnalysis(key, known, ts, db);
  const parsed = parseJson(known) as { suggestions?: { id?: unknown }[]; lessonIds?: unknown[] } | undefined;
  const ids = [...(parsed?.suggestions ?? []).map(({ id }) => id), ...(parsed?.lessonIds ?? [])].map(String);
  const read = readAnalysisAnswer(known, prompt.groups);
  const answer = read.kind === 'valid' ? read.answer : read.usable;
  const nothing = { clusters: [], workflows: [], errorPatterns: [] };
  const suggestions = suggestionsOf(ids, db);
  return { answer: answer ? shownPart(answer) : nothing, suggestions, told: [], dropped: [] };
}

function suggestionsOf(ids: readonly string[], db: Db): Suggestion[] {
  return listSuggestions({}, db).filter(({ id }) => ids.includes(id));
}

function shownPart({ clusters, workflows, errorPatterns }: AnalysisAnswer): ShownAnswer {
  return { clusters, workflows, errorPatterns };
}
