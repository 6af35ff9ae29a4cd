import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { coversCommand } from '../../src/core/command.ts';
import { isInformative } from '../../src/core/normalize-error.ts';
import type { Recording } from '../../src/core/recording.ts';
import type { Db } from '../../src/store/connection.ts';
import { getDb } from '../../src/store/db.ts';
import { record } from '../../src/store/record.ts';
import { pruneOldEvents } from '../../src/store/retention.ts';
import { spool } from '../../src/store/spool.ts';
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
} from './conformance/context.ts';

const ERRORS = [
  'Error: no port given',
  'TypeError: x is not a function',
  'Exit code 1',
  '<PATH>: <N>',
  '',
  '실패했습니다 다시',
];
const COMMANDS = ['npm test', 'npm test -- src/a.test.ts', 'npm run build', 'npm test | tail', 'ls', ''];
const FILES = ['src/a.ts', 'src/b.ts'];

const where = fc.record({
  session: fc.constantFrom('s1', 's2'),
  agent: fc.constantFrom(null, 'a1', 'a2'),
  projectPath: fc.constantFrom('/home/dev/shop', '/home/dev/bank', null),
  ts: fc.nat(1000).map(time),
});
const call = fc.oneof(
  fc.record({ tool: fc.constant('Bash'), command: fc.constantFrom(...COMMANDS) }),
  fc.record({ tool: fc.constantFrom('Edit', 'Write', 'Read'), file: fc.constantFrom(...FILES) }),
  fc.record({ tool: fc.constant('WebFetch') }),
);
const recording: fc.Arbitrary<Recording> = fc.oneof(
  fc.tuple(fc.string({ unit: 'grapheme' }), where).map(([text, at]) => prompt(text, at)),
  fc.tuple(call, where).map(([{ tool, ...rest }, at]) => success(tool, { ...rest, ...at })),
  fc
    .tuple(call, where, fc.constantFrom(...ERRORS), fc.option(fc.nat(5), { nil: undefined }))
    .map(([{ tool, ...rest }, at, error, shown]) =>
      failure(tool, error, { ...rest, ...at, ...(shown === undefined ? {} : { shown }) }),
    ),
  where.map((at): Recording => ({ kind: 'subagent-stop', at: origin(at) })),
  where.map((at) => sessionEnd(at)),
);
const step = fc.record({ recording, isSpooled: fc.boolean() });

/** Errors that nothing solved, by the rules in words and without a database. */
function unsolved(recordings: readonly Recording[]): number {
  let open: { error: Recording & { kind: 'tool-errors' } }[] = [];
  for (const one of recordings) {
    if (one.kind === 'tool-errors') open.push({ error: one });
    if (one.kind === 'tool-use') open = open.filter(({ error }) => !solves(one, error));
  }
  return open.length;
}

function solves(
  use: Recording & { kind: 'tool-use' },
  { at, errors }: Recording & { kind: 'tool-errors' },
): boolean {
  const [error] = errors;
  if (error === undefined || at.sessionId !== use.at.sessionId) return false;
  if (use.at.agentId !== null && use.at.agentId !== at.agentId) return false;
  if (error.command && use.command) return coversCommand(use.command, error.command);
  const edits = ['Edit', 'Write'];
  const sameKind = error.tool === use.tool || (edits.includes(error.tool) && edits.includes(use.tool));
  return error.file !== null && error.file === use.file && sameKind;
}

function checkInvariants(db: Db, recordings: readonly Recording[]): void {
  expect(count(db, 'events')).toBe(recordings.length);
  expect(count(db, 'open_errors')).toBe(unsolved(recordings));
  expect(count(db, 'open_errors', 'event_id NOT IN (SELECT id FROM events)')).toBe(0);
  const known = db.sqlite.all('SELECT error_normalized AS error, use_count, seen_count FROM error_kb');
  for (const { error, use_count: uses, seen_count: seen } of known) {
    expect(isInformative(String(error))).toBe(true);
    expect(Number(seen)).toBeGreaterThanOrEqual(Number(uses));
    expect(recordings.some((one) => one.kind === 'tool-errors' && one.errors[0]?.error === error)).toBe(true);
  }
  expect(count(db, 'error_kb_text')).toBe(known.length);
  expect(count(db, 'error_files', 'kb_id NOT IN (SELECT id FROM error_kb)')).toBe(0);
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
        expect(count(db, 'events') + count(db, 'event_text') + count(db, 'open_errors')).toBe(0);
        checkIntegrity(db);
      } finally {
        db.sqlite.close();
        rmSync(home, { recursive: true, force: true });
      }
    }),
    { numRuns: 100 },
  );
}, 120_000);
