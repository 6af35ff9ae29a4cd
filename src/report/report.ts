import { listAnalysisRuns } from '../analysis/analysis-store.ts';
import type { Forecast } from '../benefit/evidence/forecast.ts';
import type { Proof, Verdict } from '../benefit/report.ts';
import type { LessonState } from '../benefit/state.ts';
import { type ListedLesson, listLessons } from '../benefit/store/lesson-list.ts';
import { readProof } from '../benefit/store/read-proof.ts';
import { inertText } from '../core/inert-text.ts';
import { getProjectName } from '../core/project.ts';
import { type StatePaths, VERSION } from '../core/state-paths.ts';
import { type Language, messagesIn, resolutionText } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import { listGiven, waitingGiven } from '../database/given-contexts.ts';
import { readDatabase, writeDatabase } from '../hooks/store/use-database.ts';
import { readRuns } from '../runs/store/rows.ts';
import { countEverywhere } from '../runs/store/runs.ts';
import type { Config } from '../settings/hook-settings.ts';
import { listSuggestions } from '../suggestions/model/store.ts';
import type { SuggestionStatus } from '../suggestions/model/suggestion.ts';
import {
  callsByDay,
  frequentErrors,
  givenByDay,
  lessonSources,
  listReportedRuns,
  projectNames,
  type RunRow,
  tellingsByDay,
  type Window,
} from './report-store.ts';

/**
 * The value that the page shows. Days are `2026-03-01` in this machine's time zone, times ISO 8601, `project` an index into
 * `projects`. Texts of others are inert, on one line each, and cut.
 */
export type Report = {
  readonly version: 1;
  readonly program: string;
  readonly madeAt: string;
  readonly language: Language;
  /** The first day of the window, and how many days it has. */
  readonly since: string;
  readonly days: number;
  readonly isAnythingRecorded: boolean;
  /** `path`: null for what lies in too many projects to name each. */
  readonly projects: readonly { readonly name: string; readonly path: string | null }[];
  /** Of all projects and times; null: there is no database yet. */
  readonly proof: ReportedProof | null;
  readonly calls: readonly OfProject<ReturnType<typeof callsByDay>[number]>[];
  readonly tellings: readonly OfProject<ReturnType<typeof tellingsByDay>[number]>[];
  readonly given: readonly OfProject<ReturnType<typeof givenByDay>[number]>[];
  readonly errors: readonly OfProject<ReturnType<typeof frequentErrors>[number]>[];
  readonly lessons: readonly ReportedLesson[];
  readonly suggestions: readonly ReportedSuggestion[];
  readonly runs: readonly OfProject<Omit<RunRow, 'cwd'>>[];
  /** Results of runs that nobody has read, of all projects. */
  readonly unreadResults: number;
  readonly analyses: readonly ReportedAnalysis[];
  readonly contexts: readonly ReportedContext[];
  /** Which of these lists were cut: more is stored than the page has. */
  readonly cut: readonly string[];
};

type OfProject<T> = Omit<T, 'project'> & { readonly project: number };

/** What is known of a question. `came`: failures that came back, or that were settled at failing calls. */
export type Answer = {
  readonly verdict: Verdict;
  readonly told: number;
  readonly heldOut: number;
  readonly always: number;
  readonly toldCame: number;
  readonly heldCame: number;
  readonly evidence: number;
  readonly harm: number;
  readonly outlook: Forecast;
};

export type ReportedProof = {
  readonly holdOut: Proof['holdOut'];
  readonly start: Answer;
  readonly failure: Answer;
  /** Over how many weeks failures were counted; below 1 nothing can be foreseen. */
  readonly weeksSeen: number;
};

export type ReportedLesson = {
  readonly id: number;
  readonly project: number;
  readonly said: string;
  readonly fix: Readonly<Record<Language, string>>;
  readonly state: LessonState;
  /** When its error happened last; null where that is not known. */
  readonly lastTs: string | null;
  readonly sessions: number;
} & Pick<ListedLesson, 'told' | 'held' | 'toldFailed' | 'heldFailed'>;

export type ReportedSuggestion = {
  readonly id: string;
  readonly ts: string;
  readonly project: number;
  readonly type: string;
  readonly status: SuggestionStatus;
  readonly summary: string;
  readonly evidence: string;
};

export type ReportedAnalysis = {
  readonly ts: string;
  readonly project: string;
  readonly trigger: string;
  readonly with: string;
  readonly status: string;
  readonly reason: string | null;
  readonly costUsd: number | null;
  readonly suggestions: number | null;
};

export type ReportedContext = {
  readonly ts: string;
  readonly project: number;
  readonly agentType: string;
  readonly lines: readonly string[];
};

/** What a report is asked for. `projects`: spellings of the paths of the only project; undefined: of all. */
export type Asked = {
  readonly days: number;
  readonly projects: readonly string[] | undefined;
  readonly language: Language;
  readonly now: Date;
};

const PROJECTS_MAX = 60;
const ERRORS_MAX = 100;
const LESSONS_MAX = 400;
const SUGGESTIONS_MAX = 200;
const RUNS_MAX = 1000;
const ANALYSES_MAX = 200;
const CONTEXTS_MAX = 100;
const LINE_LENGTH_MAX = 300;
const LINES_MAX = 60;

const line = (text: string) => inertText(text, LINE_LENGTH_MAX);

/** Reads what is stored; changes nothing, but for a database of an earlier version. @throws Error that says what to do. */
export function readReport(asked: Asked, { paths, config }: { paths: StatePaths; config: Config }): Report {
  const since = startOfDay(asked.now, asked.days - 1);
  const window: Window = { since: since.toISOString(), projects: asked.projects };
  const read = (db: Db) => readKnowledge(window, asked, config, db);
  const found = readDatabase(paths, (db) => (db.isOwn ? { value: read(db) } : 'older'));
  const known = found === 'older' ? writeDatabase(paths, read) : found?.value;
  const runs = readRuns(paths, (db) => ({
    rows: listReportedRuns(since.getTime(), RUNS_MAX, db),
    unread: countEverywhere(db).undelivered,
  }));
  const waiting = waitingGiven(paths);
  return assemble({ asked, since, known, runs: runs ?? { rows: [], unread: 0 }, waiting });
}

type Knowledge = ReturnType<typeof readKnowledge>;

function readKnowledge(window: Window, { now, projects }: Asked, config: Config, db: Db) {
  const lessons = listLessons(projects, now, db);
  return {
    names: projectNames(db),
    proof: reportedProof(readProof({ holdOut: config.proof.holdOut, now }, db)),
    calls: callsByDay(window, db),
    given: givenByDay(window, db),
    tellings: tellingsByDay(window, db),
    errors: frequentErrors(window, ERRORS_MAX, db),
    lessons,
    sources: lessonSources(
      lessons.map(({ id }) => id),
      db,
    ),
    suggestions: listSuggestions({}, db),
    analyses: listAnalysisRuns(ANALYSES_MAX, db),
    contexts: listGiven(CONTEXTS_MAX, db),
  };
}

function reportedProof({ holdOut, start, failure, rate }: Proof): ReportedProof {
  const counts = ({ verdict, told, held, always, outlook, found }: Proof['start'] | Proof['failure']) => ({
    ...{ verdict, told, heldOut: held, always, outlook, toldCame: found.told, heldCame: found.held },
    ...{ evidence: found.evidence, harm: found.harm },
  });
  return { holdOut, start: counts(start), failure: counts(failure), weeksSeen: rate.weeksSeen };
}

type Parts = {
  readonly asked: Asked;
  readonly since: Date;
  readonly known: Knowledge | undefined;
  readonly runs: { readonly rows: readonly RunRow[]; readonly unread: number };
  readonly waiting: readonly {
    ts: string;
    agentId: string;
    agentType: string | null;
    projectPath: string;
    text: string;
  }[];
};

function assemble({ asked, since, known, runs, waiting }: Parts): Report {
  const isIn = (path: string) => asked.projects?.includes(path) !== false;
  const isRecent = ({ ts }: { readonly ts: string }) => ts >= since.toISOString();
  const contexts = [...waiting, ...(known?.contexts ?? [])]
    .filter(({ agentId }, index, all) => all.findIndex((one) => one.agentId === agentId) === index)
    .filter((one) => isRecent(one) && isIn(one.projectPath));
  const suggestions = (known?.suggestions ?? []).filter(
    ({ projectPath }) => projectPath === '' || isIn(projectPath),
  );
  const analyses = (known?.analyses ?? []).filter(isRecent);
  const ofRun = (row: RunRow) => ({ row, project: placeOf(row.cwd, known?.names ?? new Map()) });
  const ownRuns = runs.rows.map(ofRun).filter(({ project }) => isIn(project));
  const projects = new Projects(known?.names ?? new Map(), weights(known, ownRuns));
  const placed = <T extends { readonly project: string }>(rows: readonly T[] = []) =>
    rows.map((row) => ({ ...row, project: projects.indexOf(row.project) }));
  const lessons = (known?.lessons ?? []).map((lesson) => ({
    ...reportedLesson(lesson, known?.sources.get(lesson.id)),
    project: projects.indexOf(lesson.project),
  }));
  const lists = { errors: [known?.errors, ERRORS_MAX], lessons: [lessons, LESSONS_MAX + 1] } as const;
  const more = { suggestions: [suggestions, SUGGESTIONS_MAX + 1], runs: [runs.rows, RUNS_MAX] } as const;
  return {
    ...{ version: 1, program: VERSION, madeAt: asked.now.toISOString(), language: asked.language },
    ...{ since: dayOf(since), days: asked.days, proof: known?.proof ?? null, unreadResults: runs.unread },
    isAnythingRecorded: (known?.names.size ?? 0) > 0 || lessons.length > 0 || runs.rows.length > 0,
    ...{ calls: placed(known?.calls), given: placed(known?.given), tellings: placed(known?.tellings) },
    errors: placed(known?.errors).map((error) => ({ ...error, said: line(error.said) })),
    lessons: lessons.slice(0, LESSONS_MAX),
    suggestions: suggestions
      .slice(0, SUGGESTIONS_MAX)
      .map(({ id, ts, type, status, summary, evidence, projectPath }) => ({
        ...{ id, ts, type, status, summary: line(summary), evidence: line(evidence) },
        project: projects.indexOf(projectPath),
      })),
    runs: ownRuns.map(({ row: { cwd: _, ...run }, project }) => ({
      ...{ ...run, label: run.label && line(run.label), model: run.model && line(run.model) },
      project: projects.indexOf(project),
    })),
    analyses: analyses.map(
      ({ ts, project, trigger, cli, model, status, reason, costUsd, suggestionCount }) => ({
        ...{
          ts,
          project: line(project),
          trigger,
          with: line(model === null ? cli : `${cli} ${model}`),
          status,
        },
        ...{ reason: reason && line(reason), costUsd, suggestions: suggestionCount },
      }),
    ),
    contexts: contexts.slice(0, CONTEXTS_MAX).map(({ ts, agentType, projectPath, text }) => ({
      ...{
        ts,
        project: projects.indexOf(projectPath),
        agentType: line(agentType ?? '?'),
        lines: withoutFrame(text),
      },
    })),
    cut: Object.entries({ ...lists, ...more }).flatMap(([name, [rows, most]]) =>
      (rows?.length ?? 0) >= most ? [name] : [],
    ),
    projects: projects.named(),
  };
}

function reportedLesson(
  { id, said, fix, state, told, held, toldFailed, heldFailed }: ListedLesson,
  source: { lastTs: string; sessions: number; resolution: string | null } | undefined,
) {
  // What was withdrawn is told no more: its words are those of the list.
  const stored = state === 'withdrawn' ? null : (source?.resolution ?? null);
  const wordsIn = (language: Language) =>
    line(stored === null ? fix : resolutionText(stored, messagesIn(language)));
  return {
    ...{ id, said: line(said), fix: { ko: wordsIn('ko'), en: wordsIn('en') }, state },
    ...{
      lastTs: source?.lastTs ?? null,
      sessions: source?.sessions ?? 0,
      told,
      held,
      toldFailed,
      heldFailed,
    },
  };
}

/** The lines between the frame, which is the same around all of them. */
function withoutFrame(text: string): string[] {
  const lines = text.split('\n');
  return (text.startsWith('<record ') ? lines.slice(1, -1) : lines).slice(0, LINES_MAX).map(line);
}

/** The recorded project that a directory lies in; the directory itself where none is. */
function placeOf(cwd: string, names: ReadonlyMap<string, string>): string {
  const above = [...names.keys()].filter((path) => cwd === path || cwd.startsWith(`${path}/`));
  return above.sort((left, right) => right.length - left.length)[0] ?? cwd;
}

function weights(known: Knowledge | undefined, runs: readonly { readonly project: string }[]) {
  const found = new Map<string, number>();
  const add = (project: string, count: number) => found.set(project, (found.get(project) ?? 0) + count);
  for (const { project, calls } of known?.calls ?? []) add(project, calls);
  for (const { project } of [...(known?.lessons ?? []), ...runs]) add(project, 1);
  return found;
}

/** Gives the largest projects an index each as they occur, and one to all others together. */
class Projects {
  readonly #indexes = new Map<string, number>();
  readonly #names: ReadonlyMap<string, string>;
  readonly #large: ReadonlySet<string>;

  constructor(names: ReadonlyMap<string, string>, weight: ReadonlyMap<string, number>) {
    this.#names = names;
    const sorted = [...weight].sort(([, left], [, right]) => right - left);
    this.#large = new Set(sorted.slice(0, PROJECTS_MAX).map(([path]) => path));
  }

  indexOf(path: string): number {
    const key = this.#large.has(path) ? path : '';
    const index = this.#indexes.get(key) ?? this.#indexes.size;
    this.#indexes.set(key, index);
    return index;
  }

  named(): Report['projects'] {
    return [...this.#indexes.keys()].map((path) => ({
      name: line(path && (this.#names.get(path) || getProjectName(path))),
      path: path === '' ? null : line(path),
    }));
  }
}

/** Midnight of this machine's time zone, so many days before. */
export function startOfDay(now: Date, daysBefore: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysBefore);
}

/** `2026-03-01` in this machine's time zone. */
export function dayOf(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
