import assert from 'node:assert/strict';
import { queryEvents } from '../../../src/database/events.ts';
import type { Recording } from '../../../src/hooks/decision.ts';
import { record, summarizeSession } from '../../../src/hooks/store/record.ts';
import { type Case, checkIntegrity, failure, prompt, sessionEnd, success, tell, time } from './context.ts';

/** What is said about a session at its end. */

export const SUMMARY_CASES: readonly Case[] = [
  {
    title: 'summarizeSession() counts solved errors apart from unsolved ones (D18)',
    run: (context) => {
      const db = context.open();
      tell(context, db, prompt('one'), failure('Bash', 'Error: no port given', { command: 'npm test' }));
      tell(context, db, success('Edit', { file: 'settings.ini' }), success('Bash', { command: 'npm test' }));
      tell(context, db, failure('Bash', 'Error: still broken', { command: 'npm run build' }));
      tell(context, db, failure('Bash', 'Error: still broken', { command: 'npm run build' }), sessionEnd());
      const [event] = queryEvents({ type: 'session_summary' }, db);
      assert.deepEqual(event?.uniqueErrors, ['Error: still broken']);
      assert.deepEqual([event?.errorCount, event?.unresolvedErrorCount], [3, 2]);
      assert.deepEqual(event?.toolCounts, { Edit: 1, Bash: 1 });
      assert.deepEqual(event?.toolSequence, ['Edit', 'Bash']);
      assert.deepEqual(event?.lastEditedFiles, ['settings.ini']);
      assert.deepEqual([event?.promptCount, event?.lastPrompts, event?.reason], [1, ['one'], 'exit']);
    },
  },
  {
    title: 'summarizeSession() of an empty session is zeros and empty lists',
    run: ({ open }) => {
      assert.deepEqual(summarizeSession('none', 'other', open()), {
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
    },
  },
  {
    title: 'summarizeSession() is bounded however long the session was (D40)',
    run: (context) => {
      const db = context.open();
      const told: Recording[] = [];
      for (let index = 0; index < 900; index++) {
        told.push(prompt(`😀${'long prompt '.repeat(20)}${index}`, { ts: time(index) }));
        told.push(success('Edit', { file: `src/f${index}.ts`, ts: time(index) }));
        told.push(
          failure('Bash', `Error: kind number ${index}`, { command: `make part${index}`, ts: time(index) }),
        );
      }
      record(told, context.paths, db);
      const summary = summarizeSession('s1', 'exit', db);
      const lengths = Object.values(summary).map((value) => (Array.isArray(value) ? value.length : 0));
      assert.ok(Math.max(...lengths) <= 200, String(lengths));
      assert.ok(JSON.stringify(summary).length < 8000);
      assert.deepEqual(
        summary.lastEditedFiles,
        [899, 898, 897, 896, 895].map((index) => `src/f${index}.ts`),
      );
      assert.equal((summary.uniqueErrors as string[])[0], 'Error: kind number 899');
      assert.ok((summary.lastPrompts as string[]).every((text) => text.length <= 100 && text.isWellFormed()));
      checkIntegrity(db);
    },
  },
  {
    title: 'summarizeSession() counts tools whose names mean something to JavaScript',
    run: (context) => {
      const db = context.open();
      for (const tool of ['constructor', '__proto__', 'toString', 'constructor'])
        tell(context, db, success(tool));
      const { toolCounts } = summarizeSession('s1', 'exit', db);
      const text = JSON.stringify(toolCounts);
      assert.deepEqual(Object.entries(JSON.parse(text) as object).sort(), [
        ['__proto__', 1],
        ['constructor', 2],
        ['toString', 1],
      ]);
    },
  },
];
