import { describe, expect } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { StatePaths } from '../../src/core/state-paths.ts';
import type { Sqlite } from '../../src/database/sqlite.ts';
import { archiveRun } from '../../src/runs/archive.ts';
import { turnFiles } from '../../src/runs/model/run.ts';
import type { LogEntry } from '../../src/runs/model/run-log.ts';
import { readLog } from '../../src/runs/read-log.ts';
import { dismissAnnouncements } from '../../src/runs/store/outbox.ts';
import { getRun } from '../../src/runs/store/runs.ts';
import { appendTurn, changeTurn, endTurn } from '../../src/runs/store/turns.ts';
import { test } from './in-home.ts';
import { A, ended, ending, NOW_MS, started } from './store/made-up.ts';

const TASK = 'count the files';

function write(paths: StatePaths, runId: string, number: number, lines: readonly unknown[]): void {
  const { directory, output } = turnFiles(paths, runId, number);
  mkdirSync(directory, { recursive: true });
  writeFileSync(
    output,
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  );
}

function logOf(paths: StatePaths, runId: string, db: Sqlite): readonly LogEntry[] {
  const found = getRun(runId, db);
  if (found === undefined) throw new Error(`There is no run "${runId}"`);
  return readLog(found.run, { paths });
}

const said = (text: string, id: string) => ({
  type: 'assistant',
  message: { id, content: [{ type: 'text', text }] },
});
const called = (id: string, command: string) => ({
  type: 'assistant',
  message: { id: `message of ${id}`, content: [{ type: 'tool_use', id, name: 'Bash', input: { command } }] },
});
const answered = (id: string, content: string, isError = false) => ({
  type: 'user',
  message: { content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }] },
});

/** One turn with a call of a command that fails, in the words of two clients: of one message in pieces. */
const TURNS = {
  claude: {
    tool: 'Bash',
    lines: [
      { type: 'system', subtype: 'init', session_id: 's', model: 'm' },
      said('Let me see.', 'm1'),
      called('t1', 'ls'),
      answered('t1', 'no such directory', true),
      said('Three.', 'm3'),
    ],
  },
  gemini: {
    tool: 'run_shell_command',
    lines: [
      { type: 'init', session_id: 's', model: 'm' },
      { type: 'message', role: 'assistant', content: 'Let me', delta: true },
      { type: 'message', role: 'assistant', content: ' see.', delta: true },
      { type: 'tool_use', tool_name: 'run_shell_command', tool_id: 't1', parameters: { command: 'ls' } },
      { type: 'tool_result', tool_id: 't1', status: 'error', output: 'no such directory' },
      { type: 'message', role: 'assistant', content: 'Three.', delta: true },
    ],
  },
};

describe('readLog()', () => {
  for (const [client, { tool, lines }] of Object.entries(TURNS))
    test(`reads what ${client} said and did, behind what it was asked`, ({ db, paths }) => {
      const { runId } = ended(db, { client: client as keyof typeof TURNS });
      write(paths, runId, 1, lines);
      expect(logOf(paths, runId, db)).toEqual([
        { kind: 'user', text: TASK },
        { kind: 'assistant', text: 'Let me see.' },
        { kind: 'tool-call', tool, text: '{"command":"ls"}' },
        { kind: 'tool-result', tool, isError: true, text: 'no such directory' },
        { kind: 'assistant', text: 'Three.' },
      ]);
    });

  test('reads all turns from the first on, and the same when they are archived', ({ db, paths }) => {
    const { runId } = ended(db);
    write(paths, runId, 1, [said('Three.', 'm1')]);
    for (const [kind, message] of [
      ['send', 'And hidden ones?'],
      ['announce', 'Sub-agent announce step.\n\nThe task was long.'],
    ] as const) {
      const announces = kind === 'announce' ? 1 : null;
      const turn = appendTurn({ runId, kind, announces, message, nowMs: NOW_MS, state: 'starting' }, db);
      const running = changeTurn(turn, { state: 'running', launchedAtMs: NOW_MS }, db);
      if (running === undefined) throw new Error('It does not run');
      endTurn(running, ending(), null, db);
      write(paths, runId, turn.number, [said(`To the ${kind}.`, 'm1')]);
    }
    const log = logOf(paths, runId, db);
    expect(log.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      `user: ${TASK}`,
      'assistant: Three.',
      'user: And hidden ones?',
      'assistant: To the send.',
      'user: Sub-agent announce step.',
      'assistant: To the announce.',
    ]);
    const run = getRun(runId, db)?.run;
    dismissAnnouncements('all', A, NOW_MS, db);
    if (run !== undefined) archiveRun(run, paths, new Date(NOW_MS));
    expect(() => readFileSync(turnFiles(paths, runId, 1).output)).toThrow();
    expect(logOf(paths, runId, db)).toEqual(log);
  });

  test('is empty when nothing was started', ({ db, paths }) => {
    const { runId } = ended(db);
    db.run('UPDATE turns SET launched_at = NULL');
    expect(logOf(paths, runId, db)).toEqual([]);
  });

  test('reads what there is of a turn that is being written', ({ db, paths }) => {
    const { runId } = started(db);
    expect(logOf(paths, runId, db)).toEqual([{ kind: 'user', text: TASK }]);
    write(paths, runId, 1, [said('One.', 'm1')]);
    const { output } = turnFiles(paths, runId, 1);
    const half = JSON.stringify(said('Two.', 'm2')).slice(0, -5);
    writeFileSync(output, half, { flag: 'a' });
    expect(logOf(paths, runId, db).at(-1)).toEqual({ kind: 'assistant', text: 'One.' });
  });

  test('passes over garbage', ({ db, paths }) => {
    const { runId } = ended(db);
    write(paths, runId, 1, ['not json', '{"type":', '[]', 'null', said('One.', 'm1'), '\u2028']);
    expect(logOf(paths, runId, db)).toEqual([
      { kind: 'user', text: TASK },
      { kind: 'assistant', text: 'One.' },
    ]);
  });

  test('keeps the end of what was said and of what was done, each by itself, and shortens long texts', ({
    db,
    paths,
  }) => {
    const { runId } = ended(db);
    const calls = Array.from({ length: 5000 }, (_, index) => called(`t${index}`, `echo ${index}`));
    write(paths, runId, 1, [said('One.', 'm1'), ...calls, said('x'.repeat(100_000), 'm2')]);
    const log = logOf(paths, runId, db);
    const told = log.filter(({ kind }) => kind === 'user' || kind === 'assistant');
    expect(told.map(({ text }) => text.length)).toEqual([TASK.length, 'One.'.length, 32 * 1024]);
    const done = log.filter(({ kind }) => kind === 'tool-call');
    expect(done).toHaveLength(2000);
    expect(done.at(-1)?.text).toBe('{"command":"echo 4999"}');
    expect(log.indexOf(told[2] as LogEntry)).toBe(log.length - 1);
  });

  test('names the tool of a result however far away its call is', ({ db, paths }) => {
    const { runId } = ended(db);
    const between = Array.from({ length: 1500 }, (_, index) => answered(`other${index}`, 'x'));
    write(paths, runId, 1, [called('t1', 'ls'), ...between, answered('t1', 'end')]);
    expect(logOf(paths, runId, db).at(-1)).toEqual({
      kind: 'tool-result',
      tool: 'Bash',
      isError: false,
      text: 'end',
    });
  });
});
