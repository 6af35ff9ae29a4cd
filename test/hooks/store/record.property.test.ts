import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import type { Db } from '../../../src/database/connection.ts';
import { getDb } from '../../../src/database/db.ts';
import { pruneOldEvents } from '../../../src/database/retention.ts';
import type { Recording } from '../../../src/hooks/decision.ts';
import { record, spool } from '../../../src/hooks/store/record.ts';
import { isInformative } from '../../../src/lessons/errors/normalize-error.ts';
import {
  checkIntegrity,
  count,
  failure,
  origin,
  pathsIn,
  prompt,
  sessionEnd,
  success,
  time,
} from '../../database/conformance/context.ts';

const ERRORS = [
  'Error: no port given',
  'TypeError: x is not a function',
  'Exit code 1',
  '<PATH>: <N>',
  '',
  '실패했습니다 다시',
];
const NOISES = [null, 'unclear', 'finding', 'client'];
const COMMANDS = ['npm test', 'npm test -- src/a.test.ts', 'npm run build', 'npm test | tail', 'ls', ''];
const FILES = ['src/a.ts', 'src/b.ts'];

/** Further apart than the moments that count as one, so that only equal ones do. */
const STEP_S = 3;

const where = fc
  .record({
    session: fc.constantFrom('s1', 's2'),
    agent: fc.constantFrom(null, 'a1', 'a2'),
    projectPath: fc.constantFrom('/home/dev/shop', '/home/dev/bank', null),
    ts: fc.nat(1000).map((steps) => time(steps * STEP_S)),
    id: fc.constantFrom(undefined, 'c1', 'c2', 'c3'),
  })
  .map(({ id, ...rest }) => (id === undefined ? rest : { ...rest, id }));
const call = fc.oneof(
  fc.record({ tool: fc.constant('Bash'), command: fc.constantFrom(...COMMANDS) }),
  fc.record({ tool: fc.constantFrom('Edit', 'Write', 'Read'), file: fc.constantFrom(...FILES) }),
  fc.record({ tool: fc.constant('WebFetch') }),
);
const recording: fc.Arbitrary<Recording> = fc.oneof(
  fc.tuple(fc.string({ unit: 'grapheme' }), where).map(([text, at]) => prompt(text, at)),
  fc.tuple(call, where).map(([{ tool, ...rest }, at]) => success(tool, { ...rest, ...at })),
  fc
    .tuple(call, where, fc.constantFrom(...ERRORS), fc.constantFrom(...NOISES), fc.option(fc.nat(5)))
    .map(([{ tool, ...rest }, at, error, noise, shown]) =>
      failure(tool, error, { ...rest, ...at, noise, ...(shown === null ? {} : { shown }) }),
    ),
  where.map((at): Recording => ({ kind: 'subagent-stop', at: origin(at) })),
  where.map((at) => sessionEnd(at)),
);
const step = fc.record({ recording, isSpooled: fc.boolean() });

/** Each call, prompt and end of a sub-agent once, by the rule in words and without a database. */
function distinct(recordings: readonly Recording[]): Recording[] {
  const known = new Set<string>();
  return recordings.filter((one) => {
    const id = identify(one);
    if (id === null) return true;
    const isNew = !known.has(id);
    known.add(id);
    return isNew;
  });
}

function identify(one: Recording): string | null {
  if (one.kind === 'tool-errors') return one.errors[0]?.toolUseId ?? null;
  if (one.kind === 'tool-use') return one.toolUseId;
  const { sessionId, agentId, ts } = one.at;
  if (one.kind === 'prompt') return JSON.stringify([sessionId, ts, one.text]);
  return one.kind === 'subagent-stop' ? JSON.stringify([sessionId, ts, agentId]) : null;
}

/** How often each error of each project was seen that somebody else may meet, too. */
function seen(recordings: readonly Recording[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of recordings) {
    if (one.kind !== 'tool-errors') continue;
    for (const { error, noise } of one.errors) {
      if (!isInformative(error) || !(noise === null || noise === 'unclear')) continue;
      const name = `${error} in ${one.at.projectPath ?? ''}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  return counts;
}

function checkInvariants(db: Db, recordings: readonly Recording[]): void {
  const kept = distinct(recordings);
  expect(count(db, 'events')).toBe(kept.length);
  const rows = db.sqlite.all('SELECT error_normalized, project_path, seen_count, resolution FROM error_kb');
  expect(
    Object.fromEntries(rows.map((row) => [`${row.error_normalized} in ${row.project_path}`, row.seen_count])),
  ).toEqual(seen(kept));
  for (const { resolution } of rows) expect(resolution).toBeNull();
  expect(count(db, 'error_kb_text')).toBe(rows.length);
  checkIntegrity(db);
}

test('record() keeps its promises under any order of recordings, written at once or after waiting', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const home = mkdtempSync(`${tmpdir()}/store-any-`);
      const paths = pathsIn(home);
      const db = getDb(paths, { mode: 'write', busyTimeoutMs: 1000 });
      try {
        for (const [index, { recording, isSpooled }] of steps.entries()) {
          if (isSpooled) spool([recording], paths, index);
          else record([recording], paths, db);
        }
        record([], paths, db);
        checkInvariants(
          db,
          steps.map((one) => one.recording),
        );
        pruneOldEvents(1, new Date(time(200_000)), db);
        expect(count(db, 'events') + count(db, 'event_text')).toBe(0);
        checkIntegrity(db);
      } finally {
        db.sqlite.close();
        rmSync(home, { recursive: true, force: true });
      }
    }),
    { numRuns: 100 },
  );
}, 120_000);
