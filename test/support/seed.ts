import type { StatePaths } from '../../src/core/state-paths.ts';
import type { Db } from '../../src/database/connection.ts';
import { getDb } from '../../src/database/db.ts';
import { insertEvent } from '../../src/database/events.ts';
import { PROJECT, SESSION } from './payloads.ts';

/** Rows as earlier hooks and analyses leave them behind. */

export function withDatabase<T>(paths: StatePaths, work: (db: Db) => T): T {
  const db = getDb(paths, { mode: 'write', busyTimeoutMs: 5000 });
  try {
    return db.sqlite.transaction(() => work(db));
  } finally {
    db.sqlite.close();
  }
}

export type ErrorSeed = {
  readonly error: string;
  readonly tool?: string;
  readonly projectPath?: string | null;
  readonly sessionId?: string;
  /** Seconds before now. */
  readonly age?: number;
  readonly said?: string;
  readonly noise?: string;
};

/** `tool_error` events in the order given: the last one is the newest unless an age is given. */
export function seedErrors(paths: StatePaths, errors: readonly ErrorSeed[]): void {
  withDatabase(paths, (db) => {
    for (const [index, seed] of errors.entries()) {
      const { error, tool = 'Bash', projectPath = PROJECT, sessionId = SESSION, age, said, noise } = seed;
      const project = projectPath?.split('/').at(-1) ?? 'unknown';
      const ts = isoBeforeNow(age ?? errors.length - index);
      const data = { tool, error, errorRaw: error, said, noise };
      insertEvent({ type: 'tool_error', ts, sessionId, project, projectPath, data }, db);
    }
  });
}

export type FixSeed = {
  readonly error: string;
  /** A text, or a remedy or a summary that is stored as JSON. */
  readonly resolution: string | object | null;
  readonly useCount?: number;
  readonly projectPath?: string;
  readonly said?: string;
  readonly resolvedBy?: string;
  /** In how many sessions it has helped. */
  readonly sessions?: number;
  readonly state?: string;
};

/** Rows of the knowledge base in the order given: the last one is the newest. */
export function seedFixes(paths: StatePaths, fixes: readonly FixSeed[]): void {
  withDatabase(paths, (db) => {
    for (const [index, fix] of fixes.entries()) {
      const { error, resolution, useCount = 1, projectPath = PROJECT } = fix;
      const ts = isoBeforeNow(60 + fixes.length - index);
      const { said = null, resolvedBy = null, sessions = 0, state = null } = fix;
      const isJson = typeof resolution === 'object' && resolution !== null;
      db.sqlite.run(
        `INSERT INTO error_kb(ts, error_normalized, resolution, use_count, last_used, project_path, said, resolved_by,
           sessions, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[ts, error, isJson ? JSON.stringify(resolution) : resolution, useCount, ts, projectPath],
        ...[said, resolvedBy, sessions, state],
      );
    }
  });
}

export type AnalysisSeed = {
  readonly suggestions: readonly unknown[];
  readonly ageHours?: number;
  readonly project?: string;
  readonly projectPath?: string | null;
};

export function seedAnalysis(paths: StatePaths, seed: AnalysisSeed): void {
  const { suggestions, ageHours = 1, project = 'app', projectPath = null } = seed;
  withDatabase(paths, (db) =>
    db.sqlite.run(
      'INSERT INTO analysis_cache(ts, project, days, input_hash, analysis, project_path) VALUES (?, ?, 7, ?, ?, ?)',
      isoBeforeNow(ageHours * 3600),
      project,
      `hash ${Math.random()}`,
      JSON.stringify({ suggestions }),
      projectPath,
    ),
  );
}

export function rule(text: string, project: string | null = 'app'): Record<string, unknown> {
  return { type: 'claude_md', project, rule: text, summary: `summary of ${text}`, id: `s-${text.length}` };
}

export function isoBeforeNow(seconds: number): string {
  return new Date(Date.now() - seconds * 1000).toISOString();
}
