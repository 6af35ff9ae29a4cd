import assert from 'node:assert/strict';
import { queryEvents } from '../../../src/database/events.ts';
import type { Recording } from '../../../src/hooks/decision.ts';
import { record, summarizeSession } from '../../../src/hooks/store/record.ts';
import { checkIntegrity, failure, prompt, sessionEnd, success, test, time } from './context.ts';

/** What is said about a session at its end. */

test('summarizeSession() counts solved errors apart from unsolved ones (D18)', ({ db, tell }) => {
  tell(prompt('one'), failure('Bash', 'Error: no port given', { command: 'npm test' }));
  tell(success('Edit', { file: 'settings.ini' }), success('Bash', { command: 'npm test' }));
  tell(failure('Bash', 'Error: still broken', { command: 'npm run build' }));
  tell(failure('Bash', 'Error: still broken', { command: 'npm run build' }), sessionEnd());
  const [event] = queryEvents({ type: 'session_summary' }, db);
  assert.deepEqual(event?.uniqueErrors, ['Error: still broken']);
  assert.deepEqual([event?.errorCount, event?.unresolvedErrorCount], [3, 2]);
  assert.deepEqual(event?.toolCounts, { Edit: 1, Bash: 1 });
  assert.deepEqual(event?.toolSequence, ['Edit', 'Bash']);
  assert.deepEqual(event?.lastEditedFiles, ['settings.ini']);
  assert.deepEqual([event?.promptCount, event?.lastPrompts, event?.reason], [1, ['one'], 'exit']);
});
test('summarizeSession() of an empty session is zeros and empty lists', ({ db }) => {
  assert.deepEqual(summarizeSession('none', 'other', db), {
    promptCount: 0,
    toolCounts: {},
    toolSequence: [],
    errorCount: 0,
    unresolvedErrorCount: 0,
    uniqueErrors: [],
    lastPrompts: [],
    lastEditedFiles: [],
    reason: 'other',
  });
});
test('summarizeSession() is bounded however long the session was (D40)', ({ db, paths }) => {
  const told: Recording[] = [];
  for (let index = 0; index < 900; index++) {
    const ts = time(index);
    told.push(prompt(`😀${'long prompt '.repeat(20)}${index}`, { ts }));
    told.push(success('Edit', { file: `src/f${index}.ts`, ts }));
    told.push(failure('Bash', `Error: kind number ${index}`, { command: `make part${index}`, ts }));
  }
  record(told, paths, db);
  const summary = summarizeSession('s1', 'exit', db);
  const lengths = Object.values(summary).map((value) => (Array.isArray(value) ? value.length : 0));
  assert.ok(Math.max(...lengths) <= 200, String(lengths));
  assert.ok(JSON.stringify(summary).length < 8000);
  const newest = [899, 898, 897, 896, 895].map((index) => `src/f${index}.ts`);
  assert.deepEqual(summary.lastEditedFiles, newest);
  assert.equal((summary.uniqueErrors as string[])[0], 'Error: kind number 899');
  assert.ok((summary.lastPrompts as string[]).every((text) => text.length <= 100 && text.isWellFormed()));
  checkIntegrity(db);
});
test('summarizeSession() counts tools whose names mean something to JavaScript', ({ db, tell }) => {
  for (const tool of ['constructor', '__proto__', 'toString', 'constructor']) tell(success(tool));
  const { toolCounts } = summarizeSession('s1', 'exit', db);
  const text = JSON.stringify(toolCounts);
  assert.deepEqual(Object.entries(JSON.parse(text) as object).sort(), [
    ['__proto__', 1],
    ['constructor', 2],
    ['toString', 1],
  ]);
});
