import { parseJson } from '../../core/guards.ts';
import type { Suggestion } from '../../core/suggestion.ts';
import { type AnalysisKey, saveAnalysis } from '../../store/analysis-cache.ts';
import type { Db } from '../../store/connection.ts';
import { expireSuggestions, listSuggestions, saveProposals } from '../../store/suggestions.ts';
import { type AnalysisAnswer, readAnalysisAnswer } from './analysis-answer.ts';
import type { AnalysisPrompt } from './analysis-prompt.ts';

/** What is kept of an answer, and what became of its proposals so far. */
export type StoredAnswer = {
  readonly answer: Omit<AnalysisAnswer, 'proposals'>;
  readonly suggestions: readonly Suggestion[];
};

const EXPIRY_DAYS = 30;
const MS_PER_DAY = 86_400_000;

/** Stores the answer and its proposals; the analysis in the cache carries the ids that commands know. */
export function keepAnswer(answer: AnalysisAnswer, key: AnalysisKey, ts: string, db: Db): StoredAnswer {
  const projectPath = key.projectPath ?? '';
  const proposed = { ts, project: key.project, projectPath, origin: 'analysis' } as const;
  const ids = saveProposals(answer.proposals, proposed, db);
  const suggestions = answer.proposals.map((proposal, index) => cached(proposal, ids[index] ?? '', key));
  saveAnalysis(key, JSON.stringify({ ...withoutProposals(answer), suggestions }), ts, db);
  expireSuggestions(new Date(Date.parse(ts) - EXPIRY_DAYS * MS_PER_DAY).toISOString(), db);
  return { answer: withoutProposals(answer), suggestions: suggestionsOf(ids, db) };
}

/** In the shape that analysis_cache has always had. */
function cached(proposal: AnalysisAnswer['proposals'][number], id: string, key: AnalysisKey) {
  const { type, summary, evidence, priority, text, details } = proposal;
  const content =
    type === 'claude_md' ? { rule: text } : type === 'skill' ? { action: text } : { hookCode: text };
  const project = key.projectPath === null ? null : key.project;
  return { type, id, summary, evidence, priority, project, ...content, ...details };
}

export type Reused = { readonly key: AnalysisKey; readonly prompt: AnalysisPrompt; readonly ts: string };

/** The stored answer, which is the newest from now on. */
export function reuseAnswer(known: string, { key, prompt, ts }: Reused, db: Db): StoredAnswer {
  saveAnalysis(key, known, ts, db);
  const parsed = parseJson(known) as { suggestions?: { id?: unknown }[] } | undefined;
  const ids = (parsed?.suggestions ?? []).map(({ id }) => String(id));
  const read = readAnalysisAnswer(known, prompt.errors);
  const answer = read.kind === 'valid' ? read.answer : read.usable;
  const nothing = { clusters: [], workflows: [], errorPatterns: [] };
  return { answer: answer ? withoutProposals(answer) : nothing, suggestions: suggestionsOf(ids, db) };
}

function suggestionsOf(ids: readonly string[], db: Db): Suggestion[] {
  return listSuggestions({}, db).filter(({ id }) => ids.includes(id));
}

function withoutProposals({ clusters, workflows, errorPatterns }: AnalysisAnswer): StoredAnswer['answer'] {
  return { clusters, workflows, errorPatterns };
}
