/**
 * How well a new error finds the stored error whose fix applies: the labelled pairs of test/fixtures/error-pairs.json
 * through the store and the hook, against the rules of the earlier implementation.
 *
 *   bun scripts/eval-errors.ts              figures for each split and kind
 *   bun scripts/eval-errors.ts --mistakes   and the pairs that are answered wrongly
 *
 * First every pair has a database of its own; then all stored errors are in one.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { statePaths } from '../src/core/state-paths.ts';
import { cleanText } from '../src/core/text.ts';
import type { Db } from '../src/database/connection.ts';
import { getDb } from '../src/database/db.ts';
import type { ToolError } from '../src/hooks/decision.ts';
import { errorLogger } from '../src/hooks/error-logger.ts';
import { parseHookEvent } from '../src/hooks/hooks.ts';
import { sessionMessagesIn } from '../src/hooks/session-analyzer.ts';
import { toolError } from '../src/hooks/tool-call.ts';
import { recordPersonsFix } from '../src/lessons/store/error-entries.ts';
import { searchErrorKB } from '../src/lessons/store/error-search.ts';
import { recordSeen } from '../src/lessons/store/seen-errors.ts';
import { readConfig } from '../src/settings/hook-settings.ts';

const FIXTURES = `${import.meta.dir}/../test/fixtures`;
const TIME = '2026-05-01T10:00:00.000Z';
/** What failed: the pairs do not say it. */
const COMMAND = 'npm test';
const PROJECT = { name: 'shop', path: '/home/dev/shop', spellings: ['/home/dev/shop'] };

/** Two errors as they were printed, and whether the fix of the first is that of the second. */
export type ErrorPair = {
  readonly id: string;
  readonly stored: string;
  readonly query: string;
  readonly sameFix: boolean;
  readonly kind: string;
  readonly split: 'calibration' | 'test';
};

/** The stored error whose fix is shown for the printed one; `isSimilar`: as that of a similar error, of another name. */
export type Shown = { readonly id: number; readonly isSimilar: boolean };
export type Search = (printed: string, db: Db) => Shown | null;

/** The pairs of a labelled set: of the one in sight of the makers, or of the one written without it, in which names count. */
export function readPairs(set: 'error-pairs' | 'error-pairs-blind' = 'error-pairs'): ErrorPair[] {
  const pairs = JSON.parse(readFileSync(`${FIXTURES}/${set}.json`, 'utf8')) as ErrorPair[];
  return pairs.map((pair) => ({ ...pair, split: pair.split ?? (isEven(pair) ? 'test' : 'calibration') }));
}

/** Whose mistakes nobody looks at. */
function isEven({ id }: ErrorPair): boolean {
  return Number(id.slice(1)) % 2 === 0;
}

/** The search itself, also of errors that the hook does not look up: of logins, interruptions, the client's own rules. */
export const searchInStore: Search = (printed, db) => {
  const known = searchErrorKB(errorOf(printed).error, PROJECT.path, db, cleanText(printed));
  return known && { id: known.id, isSimilar: known.differing !== undefined };
};

/** Whether the hook looks an error up at all. */
export function isLookedUp(printed: string): boolean {
  const { noise } = errorOf(printed);
  return noise === null || noise === 'finding' || noise === 'unclear';
}

/** The hook itself. */
export const searchAsHook: Search = (printed, db) => {
  const event = parseHookEvent({
    hook_event_name: 'PostToolUseFailure',
    session_id: 'eval',
    cwd: PROJECT.path,
    tool_name: 'Bash',
    tool_input: { command: COMMAND },
    error: printed,
  });
  if (event?.name !== 'PostToolUseFailure') throw new Error(`Cannot read the event: it is ${event?.name}`);
  const reading = { config: readConfig({}), now: new Date(TIME), project: PROJECT, knowledge: () => db };
  const context = { ...reading, skills: () => [], searchErrors: searchErrorKB };
  const { recording, reply } = errorLogger.decide(event, context);
  const id = recording?.kind === 'tool-errors' ? recording.shownKbId : null;
  const { similarError } = sessionMessagesIn(reading.config.language);
  return id === null ? null : { id, isSimilar: reply?.context.startsWith(similarError) === true };
};

/** The rules of the earlier implementation: the same normalised text, else the same first 30 characters. */
export const searchAsPredecessor: Search = (printed, db) => {
  const { error } = errorOf(printed);
  if (error === '') return null;
  const order = 'ORDER BY use_count DESC, ts DESC LIMIT 1';
  const row =
    db.sqlite.get(
      `SELECT id FROM error_kb WHERE resolution IS NOT NULL AND error_normalized = ? ${order}`,
      error,
    ) ??
    db.sqlite.get(
      `SELECT id FROM error_kb WHERE resolution IS NOT NULL AND error_normalized LIKE ? || '%'
       AND LENGTH(error_normalized) BETWEEN ? AND ? ${order}`,
      error.slice(0, 30),
      Math.floor(error.length * 0.7),
      Math.ceil(error.length / 0.7),
    );
  return row === undefined ? null : { id: Number(row.id), isSimilar: false };
};

/** Gives any fix for any error. */
export const searchAnything: Search = (_printed, db) => {
  const row = db.sqlite.get('SELECT id FROM error_kb WHERE resolution IS NOT NULL LIMIT 1');
  return row === undefined ? null : { id: Number(row.id), isSimilar: false };
};

/** Whether a fix was shown; where the labels say that only the name is another, whether it was shown as that of this very error. */
export type Outcome = { readonly pair: ErrorPair; readonly isFound: boolean };

export type Figures = {
  readonly pairs: number;
  /** Fixes that were shown and apply; that were shown and do not; that apply and were not shown. */
  readonly right: number;
  readonly wrong: number;
  readonly missed: number;
  /** 1 when nothing was shown. */
  readonly precision: number;
  /** 1 when there was nothing to find. */
  readonly recall: number;
};

/** Each pair in a database of its own. */
export function searchPairs(search: Search, pairs: readonly ErrorPair[]): Outcome[] {
  return withDatabase((db) =>
    pairs.map((pair) => {
      db.sqlite.exec('BEGIN');
      learn(pair, db);
      const shown = search(pair.query, db);
      const isFound =
        shown !== null && !(shown.isSimilar && !pair.sameFix && pair.kind === 'other-identifier');
      db.sqlite.exec('ROLLBACK');
      return { pair, isFound };
    }),
  );
}

/** Counts outcomes. */
export function figuresOf(outcomes: readonly Outcome[]): Figures {
  const found = outcomes.filter(({ isFound }) => isFound);
  const right = found.filter(({ pair }) => pair.sameFix).length;
  const wrong = found.length - right;
  const same = outcomes.filter(({ pair }) => pair.sameFix).length;
  return {
    pairs: outcomes.length,
    right,
    wrong,
    missed: same - right,
    precision: found.length === 0 ? 1 : right / found.length,
    recall: same === 0 ? 1 : right / same,
  };
}

export type Evaluation = {
  readonly search: string;
  readonly split: string;
  /** `all`, or one kind of pairs. */
  readonly kind: string;
  readonly figures: Figures;
};

const SEARCHES: Readonly<Record<string, Search>> = {
  ours: searchInStore,
  hook: searchAsHook,
  predecessor: searchAsPredecessor,
};

/** Our search, what of it the hook tells, and the predecessor's, for each split, and for each kind of pairs in it. */
export function evaluateErrors(): Evaluation[] {
  const pairs = readPairs();
  return Object.entries(SEARCHES).flatMap(([search, run]) => {
    const outcomes = searchPairs(run, pairs);
    return ['calibration', 'test', 'all'].flatMap((split) => {
      const ofSplit = outcomes.filter(({ pair }) => split === 'all' || pair.split === split);
      const kinds = [...new Set(ofSplit.map(({ pair }) => pair.kind))].sort();
      const ofKind = kinds.map((kind) => ({
        kind,
        outcomes: ofSplit.filter(({ pair }) => pair.kind === kind),
      }));
      return [{ kind: 'all', outcomes: ofSplit }, ...ofKind].map((part) => ({
        search,
        split,
        kind: part.kind,
        figures: figuresOf(part.outcomes),
      }));
    });
  });
}

/** What is shown for the pairs of one kind of label when all stored errors are in one database. */
export type AmongAll = {
  readonly search: string;
  readonly split: string;
  readonly sameFix: boolean;
  readonly pairs: number;
  /** The labelled error, or one with the same text. */
  readonly labelled: number;
  /** Another error: it may have the same fix or not, nobody has labelled it. */
  readonly other: number;
  /** Any error, as one that is only similar. */
  readonly similar: number;
  readonly nothing: number;
};

/** The harder measurement: the stored errors of all pairs in one database. */
export function evaluateAmongAll(pairs: readonly ErrorPair[] = readPairs()): AmongAll[] {
  return withDatabase((db) => {
    for (const pair of pairs) learn(pair, db);
    return Object.entries(SEARCHES).flatMap(([search, run]) => {
      const shown = pairs.map((pair) => ({ pair, what: whatIsShown(pair, run(pair.query, db), db) }));
      return ['calibration', 'test', 'all'].flatMap((split) =>
        [true, false].map((sameFix) => {
          const part = shown.filter(
            ({ pair }) => pair.sameFix === sameFix && (split === 'all' || pair.split === split),
          );
          const count = (what: What) => part.filter((one) => one.what === what).length;
          const [labelled, other] = [count('labelled'), count('other')];
          const [similar, nothing] = [count('similar'), count('nothing')];
          return { search, split, sameFix, pairs: part.length, labelled, other, similar, nothing };
        }),
      );
    });
  });
}

type What = 'labelled' | 'other' | 'similar' | 'nothing';

function whatIsShown(pair: ErrorPair, shown: Shown | null, db: Db): What {
  if (shown === null) return 'nothing';
  if (shown.isSimilar) return 'similar';
  const row = db.sqlite.get('SELECT error_normalized FROM error_kb WHERE id = ?', shown.id);
  return row?.error_normalized === errorOf(pair.stored).error ? 'labelled' : 'other';
}

function errorOf(printed: string): ToolError {
  const call = {
    tool: 'Bash',
    input: { command: COMMAND },
    toolUseId: null,
    remark: null,
    chars: 0,
    cwd: PROJECT.path,
  };
  return toolError(call, printed, PROJECT);
}

/** As a hook records an error, and somebody later how it was solved. */
function learn({ id, stored }: ErrorPair, db: Db): void {
  const { error, said, errorRaw } = errorOf(stored);
  const at = { ts: TIME, projectPath: PROJECT.path };
  recordSeen(error, { ...at, said, errorRaw }, db);
  recordPersonsFix(error, { ...at, summary: `fix of ${id}` }, db);
}

function withDatabase<T>(work: (db: Db) => T): T {
  const home = mkdtempSync(`${tmpdir()}/eval-errors-`);
  const paths = statePaths({ SELF_GENERATION_HOME: home }, process.platform);
  if (paths === undefined) throw new Error(`Cannot evaluate in "${home}": not absolute`);
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
  try {
    return work(db);
  } finally {
    db.sqlite.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Without a line between rows. */
const PLAIN = {
  style: { head: [], border: [] },
  chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
};

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

function printFigures(): void {
  const evaluations = evaluateErrors();
  const head = ['split', 'kind', 'pairs', 'search', 'right', 'wrong', 'missed', 'precision', 'recall'];
  const table = new Table({ head, ...PLAIN });
  for (const ours of evaluations.filter(({ search }) => search === 'ours')) {
    for (const { search, split, kind, figures } of evaluations) {
      if (split !== ours.split || kind !== ours.kind) continue;
      const { pairs, right, wrong, missed, precision, recall } = figures;
      table.push([split, kind, pairs, search, right, wrong, missed, percent(precision), percent(recall)]);
    }
  }
  console.log(`One database for each pair\n${table}`);
}

function printAmongAll(): void {
  const head = ['search', 'split', 'same fix', 'pairs', 'labelled error', 'another', 'similar', 'nothing'];
  const table = new Table({ head, ...PLAIN });
  for (const { search, split, sameFix, pairs, labelled, other, similar, nothing } of evaluateAmongAll()) {
    table.push([search, split, sameFix ? 'yes' : 'no', pairs, labelled, other, similar, nothing]);
  }
  console.log(`All stored errors in one database: what is shown\n${table}`);
}

/** Where every other answer than the labelled error is wrong: no two errors of that set have the same fix. */
export function blindFigures(): Map<string, Figures> {
  const rows = evaluateAmongAll(readPairs('error-pairs-blind'));
  const figures = rows.flatMap((same) => {
    const unlike = rows.find((row) => !row.sameFix && row.search === same.search && row.split === same.split);
    if (!same.sameFix || unlike === undefined) return [];
    const wrong = same.other + unlike.labelled + unlike.other;
    const { labelled: right, pairs } = same;
    const precision = right + wrong === 0 ? 1 : right / (right + wrong);
    const all = {
      pairs: pairs + unlike.pairs,
      right,
      wrong,
      missed: pairs - right,
      precision,
      recall: right / pairs,
    };
    return [[`${same.search} ${same.split}`, all] as const];
  });
  return new Map(figures);
}

function printBlind(): void {
  const table = new Table({
    head: ['search', 'pairs', 'right', 'wrong', 'missed', 'precision', 'recall'],
    ...PLAIN,
  });
  for (const [search, { pairs, right, wrong, missed, precision, recall }] of blindFigures())
    table.push([search, pairs, right, wrong, missed, percent(precision), percent(recall)]);
  console.log(
    `The set in which names count, all stored errors in one database ("test" is held out)\n${table}`,
  );
}

function printMistakes(): void {
  for (const { pair, isFound } of searchPairs(searchInStore, readPairs())) {
    if (isFound === pair.sameFix) continue;
    console.log(`${isFound ? 'wrong ' : 'missed'} ${pair.id} ${pair.split} ${pair.kind}`);
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { mistakes: { type: 'boolean', default: false } } });
  printFigures();
  printAmongAll();
  printBlind();
  if (values.mistakes) printMistakes();
}
