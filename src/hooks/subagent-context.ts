import type { HoldOut } from '../benefit/model/coin.ts';
import type { LessonKind, Telling } from '../benefit/model/telling.ts';
import { framed, inertText, isInstructionShaped } from '../core/inert-text.ts';
import { cutText } from '../core/text.ts';
import { type Messages, messagesIn, resolutionSummary, resolutionText } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import { getCachedAnalysis, queryEvents, type StoredEvent } from '../database/events.ts';
import { readTree, type Tellable, type ToldTree, toss, untossedTree } from '../database/hold-out.ts';
import { isInformative } from '../lessons/errors/normalize-error.ts';
import { findResolution, readToldLessons, type StoredLesson } from '../lessons/store/told-lessons.ts';
import { type Decision, type HookContext, NOTHING, type Project } from './decision.ts';
import type { HookEventOf } from './event.ts';
import { appliedRules, isOfInterest, isWithheld } from './store/told-rules.ts';

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
/** Where one is too long for the room that is left, a shorter one that comes later takes it. */
const LESSONS_TRIED = 6;
const ERROR_ROWS_MAX = 50;
const RULES_MAX = 3;
const RULES_LOOKED_AT = 10;
const FIX_LENGTH_MAX = 150;
const ERROR_LENGTH_MAX = 200;
const RULE_LENGTH_MAX = 400;
const TOOL_LENGTH_MAX = 60;
const ANALYSIS_HOURS = 48;

/**
 * SubagentStart: tells a code agent what the project has learnt, and its rules. Reads only. Plain loops on purpose: this
 * runs before every sub-agent, and a process pays for each array method at its first use.
 */
export function decideSubagentStart(event: HookEventOf<'SubagentStart'>, context: HookContext): Decision {
  if (!isCodeAgent(event.agentType ?? '', context.config.subagentContext)) return NOTHING;
  const asking = { sessionId: event.sessionId, task: context.taskOf?.(event) ?? '' };
  const { text, tellings } = projectKnowledge(context, asking);
  if (text === '') return tellings.length === 0 ? NOTHING : { tellings };
  return { reply: { event: 'SubagentStart', context: text }, tellings };
}

type Asking = {
  readonly sessionId: string;
  /** What the reader is about to do. */
  readonly task: string;
};

/** A text for an agent, and what it tells; `text` is without what the coin holds out, and empty where that is all. */
type Told = { readonly text: string; readonly tellings: readonly Telling[] };

export const NOT_TOLD: Told = { text: '', tellings: [] };

/** What the project has to tell, framed, in at most 500 characters. */
export function projectKnowledge(context: HookContext, asking: Asking): Told {
  const db = context.knowledge();
  if (db === undefined) return NOT_TOLD;
  const { recordNote } = messagesIn(context.config.language);
  const lengthMax = CONTEXT_LENGTH_MAX - framed('', recordNote).length;
  const { text, tellings } = composeContext(knowledgeSections(context, asking, db), lengthMax);
  return { text: text === '' ? '' : framed(text, recordNote), tellings };
}

/**
 * What the agent is to know. Text that is shaped like an instruction is left out; because that is rare and looking for
 * it in each text is dear, all of it is looked through at once first.
 */
function knowledgeSections(context: HookContext, asking: Asking, db: Db): Section[] {
  const { holdOut } = context.config.proof;
  const isTossed = holdOut !== 'off' && db.isOwn;
  const tree = isTossed ? readTree(asking.sessionId, 'start', db) : untossedTree(asking.sessionId, 'start');
  const coin = { holdOut, tree };
  const all = gather(context, asking.task, coin, db, () => true);
  const text = render(all);
  return text !== '' && isInstructionShaped(text)
    ? gather(context, asking.task, coin, db, (one) => !isInstructionShaped(one))
    : all;
}

type Coin = { readonly holdOut: HoldOut; readonly tree: ToldTree };

function gather(context: HookContext, task: string, { holdOut, tree }: Coin, db: Db, keep: Keep): Section[] {
  const messages = messagesIn(context.config.language);
  const reading = {
    project: context.project,
    messages,
    db,
    keep,
    clean: context.clean ?? ((text: string) => text),
  };
  const { place, lessons } = toldLessons(reading, task, LESSONS_TRIED);
  // What somebody else's database has is not in our ledger.
  const tellingOf: TellingOf = ({ key, kind, text, isPinned }) =>
    db.isOwn ? [toss({ group: { place, key }, kind, text, isPinned, callId: null }, holdOut, tree)] : [];
  const errors: Item[] = [];
  for (const lesson of lessons) errors.push(lessonItem(lesson, reading, tellingOf));
  if (errors.length < ERRORS_MAX) {
    for (const error of recentErrors(reading, lessons)) errors.push(errorItem(error, reading, tellingOf));
  }
  return [
    { heading: messages.recentErrors, items: errors, most: ERRORS_MAX },
    { heading: messages.rules, items: projectRules(context, reading), most: RULES_MAX },
  ];
}

/** A piece of what is told. */
type Item = {
  /** With all that might be told: its room is taken up in any case. */
  readonly text: string;
  /** Without what is held out; empty where that is all. */
  readonly shown: string;
  readonly tellings: readonly Telling[];
};

/** What is told of an error, as it is tossed for; none where the ledger has no place for it. */
type TellingOf = (told: Pick<Tellable, 'kind' | 'text' | 'isPinned'> & { readonly key: string }) => Telling[];

/** What is told without a coin. */
function plainItem(text: string): Item {
  return { text, shown: text, tellings: [] };
}

function tossedItem(text: string, tellings: readonly Telling[]): Item {
  return { text, shown: tellings[0]?.isHeld ? '' : text, tellings };
}

/** One line, or two: what happened and what to do; of lint rules all in one. */
export function lessonItem(
  lesson: ToldLesson,
  { messages, clean }: Pick<Reading, 'messages' | 'clean'>,
  tellingOf: TellingOf,
): Item {
  const { key, kind, isPinned, said, tool, fix, origin, rules } = lesson;
  const line = (words: string) => `- ${inertText(clean(words), ERROR_LENGTH_MAX)}${messages.from(origin)}`;
  if (rules !== undefined) return lintItem(rules, messages, line, tellingOf);
  const text =
    fix === ''
      ? line(said)
      : `- ${inertText(clean(said), ERROR_LENGTH_MAX)} (${inertText(tool, TOOL_LENGTH_MAX)})${messages.from(origin)}\n  ${messages.fix} ${quotedFix(clean(fix))}`;
  return tossedItem(text, tellingOf({ key, kind, text, isPinned }));
}

/** Rules that are held out leave the line. */
function lintItem(
  rules: readonly LintRule[],
  { lintRules }: Messages,
  line: (words: string) => string,
  tellingOf: TellingOf,
): Item {
  const tellings: Telling[] = [];
  const shown: LintRule[] = [];
  for (const rule of rules) {
    const told = tellingOf({ ...rule, kind: 'lint', text: line(rule.words) });
    for (const one of told) tellings.push(one);
    if (!told[0]?.isHeld) shown.push(rule);
  }
  const text = line(lintLine(rules, lintRules));
  if (shown.length === rules.length) return { text, shown: text, tellings };
  return { text, shown: shown.length === 0 ? '' : line(lintLine(shown, lintRules)), tellings };
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

type RecentError = { readonly error: string; readonly said: string; readonly tool: string; count: number };

/**
 * RA-402: the newest different errors among the project's newest 50 error rows, but none that is told already, is noise,
 * or has been solved since without coming back in another session.
 */
function recentErrors({ project, db, keep }: Reading, told: readonly ToldLesson[]): RecentError[] {
  const distinct: RecentError[] = [];
  for (const event of newestErrorEvents(project, db)) {
    const error = typeof event.error === 'string' ? event.error : '';
    const said = typeof event.said === 'string' ? event.said : error;
    const tool = typeof event.tool === 'string' ? event.tool : 'unknown';
    if (typeof event.noise === 'string' || isTold(error, told)) continue;
    let known: RecentError | undefined;
    for (const one of distinct) if (one.error === error && one.tool === tool) known = one;
    if (known) known.count++;
    else if (
      distinct.length < ERRORS_MAX &&
      isInformative(error) &&
      keep(said) &&
      isOfInterest(error, project, db)
    ) {
      distinct.push({ error, said, tool, count: 1 });
    }
  }
  return distinct;
}

function isTold(error: string, told: readonly ToldLesson[]): boolean {
  for (const { key } of told) if (key === error) return true;
  return false;
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

/** `- error (tool)` and, when a fix is known, `  해결: …` with at most 150 characters of it. */
function errorItem({ error, said, tool, count }: RecentError, reading: Reading, tellingOf: TellingOf): Item {
  const { project, messages, db, keep, clean } = reading;
  const times = count > 1 ? ` ×${count}` : '';
  const line = `- ${inertText(clean(said), ERROR_LENGTH_MAX)} (${inertText(tool, TOOL_LENGTH_MAX)})`;
  const known = findResolution(error, project.path, db);
  const fix = known && quotedFix(clean(resolutionSummary(known.resolution, messages) ?? known.resolution));
  const isTold = known !== undefined && fix !== undefined && keep(fix);
  const advice = isTold ? `\n  ${messages.fix} ${fix}${messages.from(known.origin)}` : '';
  const { kind, isPinned }: { kind: LessonKind; isPinned: boolean } = isTold
    ? known
    : { kind: 'error', isPinned: false };
  // Without how often it happened, or each time it would be told in other words.
  const tellings = tellingOf({ key: error, kind, text: `${line}${advice}`, isPinned });
  return tossedItem(`${line}${times}${advice}`, tellings);
}

/** RA-402: the start of the stored resolution as JSON; of our own words, in which escapes would only disturb, those. */
function quotedFix(words: string): string {
  const isPlain = !words.includes('"') || !words.includes('`');
  return inertText(cutText(isPlain ? JSON.stringify(words) : words, FIX_LENGTH_MAX), FIX_LENGTH_MAX);
}

/**
 * RA-403: up to three rules. First those that the user applied, then those that stand in the project's analysis of the
 * last 48 hours without having been refused.
 */
function projectRules({ project, now }: HookContext, reading: Reading): Item[] {
  const { db, keep, clean } = reading;
  const rules = appliedRules(reading, RULES_LOOKED_AT);
  if (rules.length < RULES_MAX) {
    const query = { projectPath: project.path, now };
    const analysis = getCachedAnalysis(ANALYSIS_HOURS, project.name, query, db);
    for (const suggestion of analysis?.suggestions ?? []) {
      if (suggestion.type !== 'claude_md' || !isForProject(suggestion.project, project)) continue;
      const rule = suggestion.rule || suggestion.summary;
      if (typeof rule !== 'string' || rule.trim() === '') continue;
      if (!rules.includes(rule) && !isWithheld(suggestion.id, rule, reading)) rules.push(rule);
    }
  }
  const items: Item[] = [];
  for (const rule of rules) {
    if (items.length < RULES_MAX && keep(rule))
      items.push(plainItem(`- ${inertText(clean(rule), RULE_LENGTH_MAX)}`));
  }
  return items;
}

function isForProject(wanted: unknown, project: Project): boolean {
  return !wanted || wanted === project.name || wanted === project.path;
}

type Section = {
  readonly heading: string;
  readonly items: readonly Item[];
  /** How many of the items are told. */
  readonly most: number;
};

/**
 * RA-404: the sections in at most `lengthMax` UTF-16 units. Items come whole as long as any whole one fits, taken in
 * turn from the sections so that neither crowds out the other; the first of a section is shortened when it must be. What
 * is held out takes its place as anything else, and is then left out: nothing moves up.
 */
export function composeContext(sections: readonly Section[], lengthMax: number): Told {
  const taken: { heading: string; items: Item[] }[] = [];
  let turns = 0;
  let waiting = 0;
  for (const { heading, items } of sections) {
    taken.push({ heading, items: [] });
    turns = Math.max(turns, items.length);
    if (items.length > 0) waiting++;
  }
  for (let turn = 0; turn < turns; turn++) {
    for (let index = 0; index < sections.length; index++) {
      const item = sections[index]?.items[turn];
      const section = taken[index];
      const most = sections[index]?.most ?? 0;
      if (item === undefined || section === undefined || section.items.length >= most) continue;
      if (turn === 0) waiting--;
      section.items.push(item);
      if (render(taken).length <= lengthMax) continue;
      section.items.pop();
      if (turn > 0) continue;
      // The sections that follow still need their share of what is left.
      const left = lengthMax - render(taken).length - section.heading.length - 2;
      const room = Math.floor(left / (1 + waiting));
      if (room > 1) section.items.push(shortened(item, room));
    }
  }
  const tellings: Telling[] = [];
  for (const { items } of taken)
    for (const item of items) for (const one of item.tellings) tellings.push(one);
  return { text: render(taken, 'shown'), tellings };
}

function shortened({ text, shown, tellings }: Item, room: number): Item {
  const cut = (whole: string) => (whole.length < room ? whole : `${cutText(whole, room - 1)}…`);
  return { text: cut(text), shown: cut(shown), tellings };
}

/** The items below their headings, as far as they have a text. */
function render(
  sections: readonly Pick<Section, 'heading' | 'items'>[],
  as: 'text' | 'shown' = 'text',
): string {
  let text = '';
  for (const { heading, items } of sections) {
    let hasHeading = false;
    for (const item of items) {
      if (item[as] === '') continue;
      if (!hasHeading) text += `${text === '' ? '' : '\n'}${heading}`;
      hasHeading = true;
      text += `\n${item[as]}`;
    }
  }
  return text;
}

/** The second part: which lessons an agent is told, in their order. */

type Keep = (text: string) => boolean;

export type Reading = {
  readonly project: Project;
  readonly messages: Messages;
  readonly db: Db;
  /** False for a text that no agent is given. */
  readonly keep: Keep;
  readonly clean: (text: string) => string;
};

type LintRule = { readonly key: string; readonly words: string; readonly isPinned: boolean };

export type ToldLesson = Pick<StoredLesson, 'kind' | 'isPinned'> & {
  readonly key: string;
  /** What happened; of lint rules all that is told. */
  readonly said: string;
  readonly tool: string;
  /** Empty where `said` is all. */
  readonly fix: string;
  /** Which other project taught it. */
  readonly origin: string | null;
  /** Of linters: those in the line. */
  readonly rules?: readonly LintRule[];
};

const WORD_LENGTH_MIN = 4;
const LINT_LENGTH_MAX = 190;
/** Lint rules come behind so many lessons of several sessions. */
const BEFORE_LINT = 2;

/**
 * The project's lessons: those seen in several sessions first, among them those that fit the task, then the rules of its
 * linters in one line, then what a single session has shown, and then what a person shares of other projects.
 */
export function toldLessons(reading: Reading, task: string, most: number) {
  const { db, project, messages, keep } = reading;
  const { lessons: stored, place } = readToldLessons(project.spellings, db);
  rank(stored, task.toLowerCase());
  const several: ToldLesson[] = [];
  const single: ToldLesson[] = [];
  const shared: ToldLesson[] = [];
  const found: LintRule[] = [];
  for (const lesson of stored) {
    const { said, tool, remedy, key, isWhole, origin, kind, isPinned } = lesson;
    const fix = resolutionText(remedy, messages);
    if (!keep(said) || !keep(fix)) continue;
    if (lesson.rule !== undefined && origin === null) {
      if (!hasRule(found, lesson.rule)) found.push({ key, words: lesson.rule, isPinned });
      continue;
    }
    const list = origin !== null ? shared : lesson.sessions > 1 ? several : single;
    if (hasFix(several, fix) || hasFix(single, fix)) continue;
    const what = isWhole ? { said: fix, fix: '' } : { said, fix };
    list.push({ key, ...what, tool, origin, kind, isPinned });
  }
  const told: ToldLesson[] = [];
  for (const lesson of several) if (told.length < Math.min(most, BEFORE_LINT)) told.push(lesson);
  const rules = rulesOfLine(found, messages.lintRules);
  if (rules.length > 0 && told.length < most) {
    const line = { key: '', said: lintLine(rules, messages.lintRules), tool: '', fix: '', origin: null };
    told.push({ ...line, kind: 'lint', isPinned: false, rules });
  }
  for (const lesson of several) if (told.length < most && !told.includes(lesson)) told.push(lesson);
  for (const lesson of single) if (told.length < most) told.push(lesson);
  for (const lesson of shared) {
    if (told.length < most && !hasFix(told, lesson.fix || lesson.said)) told.push(lesson);
  }
  return { place, lessons: told };
}

function hasFix(lessons: readonly ToldLesson[], fix: string): boolean {
  for (const one of lessons) if (one.fix === fix || (one.fix === '' && one.said === fix)) return true;
  return false;
}

function hasRule(rules: readonly LintRule[], words: string): boolean {
  for (const one of rules) if (one.words === words) return true;
  return false;
}

/** As many rules as fit into a line. */
function rulesOfLine(rules: readonly LintRule[], heading: string): LintRule[] {
  const fitting: LintRule[] = [];
  let length = heading.length - 1;
  for (const rule of rules) {
    const longer = length + 2 + rule.words.length;
    if (longer > LINT_LENGTH_MAX && fitting.length > 0) continue;
    fitting.push(rule);
    length = longer;
  }
  return fitting;
}

function lintLine(rules: readonly LintRule[], heading: string): string {
  let line = '';
  for (const { words } of rules) line = line === '' ? `${heading} ${words}` : `${line}; ${words}`;
  return line;
}

/** Those that fit the task first, then by sessions, then as they come. */
function rank(lessons: StoredLesson[], task: string): void {
  const fits = new Map<StoredLesson, number>();
  if (task !== '') for (const lesson of lessons) fits.set(lesson, fitOf(lesson.about.toLowerCase(), task));
  const fit = (lesson: StoredLesson) => fits.get(lesson) ?? 0;
  lessons.sort((left, right) => fit(right) - fit(left) || right.sessions - left.sessions);
}

/** How many of the lesson's words stand in the task. */
function fitOf(lesson: string, task: string): number {
  let fit = 0;
  let word = '';
  for (let index = 0; index <= lesson.length; index++) {
    const code = lesson.charCodeAt(index);
    if ((code >= 0x61 && code <= 0x7a) || code > 0xbf) {
      word += lesson[index];
      continue;
    }
    if (word.length >= WORD_LENGTH_MIN && task.includes(word)) fit++;
    word = '';
  }
  return fit;
}
