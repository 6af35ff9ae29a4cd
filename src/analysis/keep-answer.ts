import { asRecord, parseJson, readString } from '../core/guards.ts';
import { inertText } from '../core/inert-text.ts';
import { getProjectName } from '../core/project.ts';
import { redactSecrets } from '../core/redact.ts';
import { counted } from '../core/text.ts';
import { resolutionText } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import {
  callsCommand,
  plainLine,
  provesCommand,
  quotedCommands,
  tellingWord,
} from '../lessons/advised-commands.ts';
import { isShellTool } from '../lessons/command.ts';
import { findingsIn } from '../lessons/findings.ts';
import type { LessonEvidence } from '../lessons/lesson.ts';
import {
  doubtLesson,
  lessonState,
  releaseLesson,
  type StoredModelLesson,
  saveModelLesson,
  wasDoubted,
  withdrawLesson,
} from '../lessons/store/model-lessons.ts';
import type { Config } from '../settings/hook-settings.ts';
import { expireSuggestions, listSuggestions, saveProposals } from '../suggestions/model/store.ts';
import type { Proposal, Suggestion } from '../suggestions/model/suggestion.ts';
import { type AnalysedCall, type AnalysisKey, saveAnswer, shellLines } from './analysis-store.ts';
import { type AnalysisAnswer, commandsAlone, type ModelLesson, readAnalysisAnswer } from './answer.ts';
import type { CandidateGroup } from './candidates.ts';

/** A lesson that is told, and what has happened since that speaks against it. */
export type Contradiction = {
  readonly lesson: StoredModelLesson;
  readonly counterExamples: readonly string[];
};

const EXAMPLES_MAX = 4;
const EXAMPLE_LENGTH_MAX = 260;

/**
 * The told lessons whose advised command has failed at least as often as it worked since then, or whose failing command
 * works again in other sessions, at least as often as it fails. Calls count, and not the copies of them.
 */
export function findContradictions(
  lessons: readonly StoredModelLesson[],
  calls: readonly AnalysedCall[],
): Contradiction[] {
  return lessons.flatMap((lesson) => {
    const since = calls.filter(
      ({ ts, tool, line, projectPath }) =>
        ts > lesson.ts && line !== null && isShellTool(tool) && projectPath === lesson.projectPath,
    );
    const against = [...failedAsAdvised(lesson, since), ...worksAgain(lesson, since)];
    if (against.length === 0) return [];
    return [{ lesson, counterExamples: against.slice(-EXAMPLES_MAX).map(describe) }];
  });
}

function failedAsAdvised({ advice }: StoredModelLesson, calls: readonly AnalysedCall[]): AnalysedCall[] {
  const commands = quotedCommands(advice);
  const ran = calls.filter(({ line }) => commands.some((command) => callsCommand(line ?? '', command)));
  const failed = ran.filter((call) => call.failure !== null && !isAboutWork(call));
  const worked = ran.filter(({ failure }) => failure === null).length;
  return failed.length >= worked ? failed : [];
}

/** Checks, tests and builds fail when the work is not right yet; other calls say why they tell nothing. */
function isAboutWork({ failure }: AnalysedCall): boolean {
  return failure !== null && (failure.noise !== null || findingsIn(failure.raw).length > 0);
}

function worksAgain({ evidence }: StoredModelLesson, calls: readonly AnalysedCall[]): AnalysedCall[] {
  if (evidence.isFinding) return [];
  const lines = new Set(evidence.failingLines);
  const again = calls.filter(({ line }) => lines.has(plainLine(line ?? '')));
  const worked = again.filter(
    ({ failure, sessionId }) => failure === null && !evidence.sessions.includes(sessionId),
  );
  const failed = again.filter(({ failure, id }) => failure !== null && !evidence.failed.includes(id)).length;
  return worked.length >= evidence.failed.length + failed ? worked : [];
}

function describe({ line, directory, failure }: AnalysedCall): string {
  const outcome = failure === null ? 'ok' : `failed (${failure.said || failure.key})`;
  const where = directory ? ` (in ${directory})` : '';
  return inertText(redactSecrets(`${outcome}: ${line ?? ''}${where}`), EXAMPLE_LENGTH_MAX);
}

type Keeping = {
  readonly mode: Config['lessons']['model'];
  /** What was sent to be looked at again. */
  readonly contradicted: readonly Contradiction[];
  readonly ts: string;
};

const CONFIDENCE_MIN = 0.8;
const CALL_IDS_MAX = 20;
const RUNS_KEPT_MAX = 5;
const WORDS_MAX = 3;
/** Before the other suggestions: as many times as it happened, a lesson is worth. */
const PRIORITY_MAX = 10;

/**
 * Proposes the lessons, tells the commands of those that may be told before that, and decides on those that were in doubt.
 * `proposed`: those that wait for the user, each with its project; `told`: the commands that agents are told from now on.
 */
function keepLessons(lessons: readonly ModelLesson[], { contradicted, mode, ts }: Keeping, db: Db) {
  const proposed: { readonly proposal: Proposal; readonly projectPath: string }[] = [];
  const told: string[] = [];
  const refused: string[] = [];
  for (const { lesson: before } of contradicted) {
    const isRepeated = lessons.some(
      ({ group }) => group.projectPath === before.projectPath && group.keys.includes(before.key),
    );
    if (isRepeated) releaseLesson(before.id, db);
    else withdrawLesson(before.id, 'model', db);
  }
  for (const lesson of lessons) {
    const { group, advice } = lesson;
    const objection = objectionTo(lesson, db);
    if (objection !== undefined) {
      refused.push(`lesson of group ${group.group}: ${objection}`);
      continue;
    }
    const evidence = evidenceOf(lesson, db);
    const { key, projectPath, said } = group;
    const commands = mode === 'daily' && isProven(lesson, evidence, db) ? commandsAlone(advice) : '';
    const saved = { ...lesson, advice: commands, key, projectPath, said, evidence, ts, by: 'model' } as const;
    if (commands !== '' && saveModelLesson(saved, db)) told.push(commands);
    proposed.push({ proposal: proposalOf(lesson, evidence), projectPath });
  }
  return { proposed, told, refused };
}

/**
 * From now on they are not told, whatever the model says to it. Those that went to the model before, and of which no answer
 * came, it has let go as far as we know.
 */
export function doubtLessons(contradictions: readonly Contradiction[], db: Db): void {
  for (const { lesson, counterExamples } of contradictions) {
    if (lesson.counterExamples === null) doubtLesson(lesson.id, counterExamples, db);
    else withdrawLesson(lesson.id, 'model', db);
  }
}

/** What the user or an earlier answer has said of the same failure. */
function objectionTo({ group, advice }: ModelLesson, db: Db): string | undefined {
  const { keys, projectPath } = group;
  for (const key of keys) {
    const { state, text } = lessonState(key, projectPath, db);
    if (state === 'withdrawn') return 'one was withdrawn';
    if (state === 'written-by-user') return 'a person has said what helps';
    if (text !== null && isSame(text, advice)) return 'it is told already';
  }
  const earlier = listSuggestions({ statuses: ['new', 'shown', 'applied', 'dismissed'] }, db).find(
    ({ type, details, text, projectPath: path }) =>
      type === 'lesson' &&
      path === projectPath &&
      text !== advice &&
      keys.includes(details.lesson?.errorKey ?? ''),
  );
  return earlier && `one is ${earlier.status === 'shown' ? 'new' : earlier.status} already (${earlier.id})`;
}

/** In the same words, or by the same commands. */
function isSame(resolution: string, advice: string): boolean {
  const parsed = parseJson(resolution);
  const remedy = asRecord(parsed);
  const use = remedy.kind === 'command' ? readString(remedy, 'use') : undefined;
  const known = use === undefined ? quotedCommands(readString(remedy, 'summary') ?? '') : [use];
  const commands = quotedCommands(advice);
  return (
    resolutionText(resolution) === advice ||
    (commands.length > 0 && commands.every((command) => known.includes(command)))
  );
}

/** Of other kinds the words say what to do, and the commands alone would say something else. */
const IN_COMMANDS = new Set<ModelLesson['kind']>(['command', 'environment', 'directory', 'order']);

/**
 * Confident, about a call and not about what a check found in the work, nothing but commands that ran here with success, and
 * neither contradicted nor beside a lesson of the rules.
 */
function isProven({ confidence, group, kind }: ModelLesson, { ran }: LessonEvidence, db: Db): boolean {
  return (
    confidence >= CONFIDENCE_MIN &&
    IN_COMMANDS.has(kind) &&
    !group.isFinding &&
    ran.length > 0 &&
    !group.keys.some((key) => wasDoubted(key, group.projectPath, db)) &&
    !group.keys.some((key) => lessonState(key, group.projectPath, db).state === 'learnt')
  );
}

/** `ran` is empty unless every quoted command ran with success. */
function evidenceOf({ advice, group }: ModelLesson, db: Db): LessonEvidence {
  const runs = quotedCommands(advice).map((command) => runsOf(command, group.projectPath, db));
  return {
    ran: runs.every((ids) => ids.length > 0) ? [...new Set(runs.flat())] : [],
    failed: group.callIds.slice(-CALL_IDS_MAX),
    sessions: group.sessionIds.slice(-CALL_IDS_MAX),
    failingLines: group.failingLines,
    isFinding: group.isFinding,
  };
}

/** The calls of a project that ran a command with success, newest first; none when it fails there as often. */
function runsOf(command: string, projectPath: string, db: Db): string[] {
  const text = tellingWord(command);
  if (text === undefined || projectPath === '') return [];
  const idsOf = (outcome: 'worked' | 'failed', holds: typeof provesCommand) => {
    const lines = shellLines({ projectPath, text, outcome }, db).filter(({ line }) => holds(line, command));
    return [...new Set(lines.map(({ id }) => id))];
  };
  const worked = idsOf('worked', provesCommand);
  return worked.length > idsOf('failed', callsCommand).length ? worked.slice(0, RUNS_KEPT_MAX) : [];
}

function proposalOf({ advice, kind, confidence, group }: ModelLesson, evidence: LessonEvidence): Proposal {
  const { callIds, sessionIds, said, key } = group;
  const times = `${counted(callIds.length, 'call')} in ${counted(sessionIds.length, 'session')}`;
  return {
    type: 'lesson',
    summary: whatFor(group),
    evidence: `failed: ${said}; ${times}`,
    text: advice,
    priority: Math.min(PRIORITY_MAX, sessionIds.length) * confidence,
    details: { lesson: { errorKey: key, said, kind, confidence, evidence } },
  };
}

/** Announced to agents too: so it says what the lesson is for, and not what it says. */
function whatFor({ failingLines }: CandidateGroup): string {
  const words = (failingLines[0] ?? '').split(' ').slice(0, WORDS_MAX);
  const plain = words.filter((word) => /^[\w@./:-]{1,30}$/.test(word)).join(' ');
  return plain === '' ? 'What helps when a call fails' : `What helps when "${plain}" fails`;
}

/** What is kept of an answer, and what became of its proposals so far. */
export type StoredAnswer = {
  readonly answer: Pick<AnalysisAnswer, 'clusters' | 'workflows' | 'errorPatterns'>;
  readonly suggestions: readonly Suggestion[];
  /** Lessons that agents are told from now on, without anybody's word. */
  readonly told: readonly string[];
  /** Why lessons were left out. */
  readonly dropped: readonly string[];
};

const EXPIRY_DAYS = 30;
const MS_PER_DAY = 86_400_000;

/** Stores the answer and its proposals; the analysis in the cache carries the ids that commands know. */
export function keepAnswer(
  answer: AnalysisAnswer,
  keeper: Keeping & { readonly key: AnalysisKey },
  db: Db,
): StoredAnswer {
  const { key, ts } = keeper;
  const { project, projectPath } = key;
  const proposed = { ts, project, projectPath: projectPath ?? '', origin: 'analysis' } as const;
  const ids = saveProposals(answer.proposals, proposed, db);
  const suggestions = answer.proposals.map((proposal, index) => cached(proposal, ids[index] ?? '', key));
  const lessons = keepLessons(answer.lessons, keeper, db);
  const lessonIds = lessons.proposed.flatMap(({ proposal, projectPath: path }) => {
    const name = path === projectPath ? project : getProjectName(path);
    return saveProposals([proposal], { ...proposed, project: name, projectPath: path }, db);
  });
  const shown = shownPart(answer);
  saveAnswer(key, JSON.stringify({ ...shown, suggestions, lessonIds }), ts, db);
  expireSuggestions(new Date(Date.parse(ts) - EXPIRY_DAYS * MS_PER_DAY).toISOString(), db);
  const kept = suggestionsOf([...ids, ...lessonIds], db);
  return { answer: shown, suggestions: kept, told: lessons.told, dropped: lessons.refused };
}

/** In the shape that analysis_cache has always had. */
function cached(proposal: Proposal, id: string, key: AnalysisKey) {
  const { type, summary, evidence, priority, text, details } = proposal;
  const content = type === 'claude_md' ? { rule: text } : type === 'skill' ? { action: text } : {};
  const project = key.projectPath === null ? null : key.project;
  return { type, id, summary, evidence, priority, project, ...content, ...details };
}

/** Makes a stored answer the newest from now on, and returns it. `groups`: the failures that were sent. */
export function reuseAnswer(
  known: string,
  { key, groups, ts }: { key: AnalysisKey; groups: ReadonlyMap<number, CandidateGroup>; ts: string },
  db: Db,
): StoredAnswer {
  saveAnswer(key, known, ts, db);
  const parsed = parseJson(known) as { suggestions?: { id?: unknown }[]; lessonIds?: unknown[] } | undefined;
  const ids = [...(parsed?.suggestions ?? []).map(({ id }) => id), ...(parsed?.lessonIds ?? [])].map(String);
  const read = readAnalysisAnswer(known, groups);
  const answer = read.kind === 'valid' ? read.answer : read.usable;
  const shown = shownPart(answer ?? { clusters: [], workflows: [], errorPatterns: [] });
  return { answer: shown, suggestions: suggestionsOf(ids, db), told: [], dropped: [] };
}

function suggestionsOf(ids: readonly string[], db: Db): Suggestion[] {
  return listSuggestions({}, db).filter(({ id }) => ids.includes(id));
}

function shownPart({ clusters, workflows, errorPatterns }: StoredAnswer['answer']): StoredAnswer['answer'] {
  return { clusters, workflows, errorPatterns };
}
