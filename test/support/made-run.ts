import { ASKS_NEVER } from '../../src/runs/model/permissions.ts';
import type { Run, RunWithMessages } from '../../src/runs/model/run.ts';
import { NO_POLICY } from '../../src/runs/model/tool-policy.ts';
import type { Ending, Turn } from '../../src/runs/model/turn.ts';
import { NO_USAGE } from '../../src/runs/model/turn.ts';

/** Runs as they stand in the database, for tests of what is said about them. */

const STARTED_AT_MS = Date.parse('2026-11-20T09:00:00.000Z');
const MADE_ID = '1a2b3c4d5e6f40718293a4b5c6d7e8f9';

/** The key of the child whose run has this id. */
export function childKeyOf(id: string): Run['childKey'] {
  return `agent:main:subagent:${id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')}`;
}

export function madeRun(changes: Partial<Run> = {}): Run {
  const id = changes.id ?? MADE_ID;
  return {
    ...{ id, number: 3, childKey: childKeyOf(id), agentId: 'main', client: 'claude', label: null },
    requester: { key: 'agent:main:app-0011223344556677', session: null, client: null, cwd: '/home/dev/app' },
    ...{ task: 'Fix the tests.', thinking: null, cleanup: 'keep', runTimeoutMs: 0 },
    model: { requested: null, resolved: null, observed: null },
    ...{ cwd: '/home/dev/app', worktreeMode: 'never', worktree: null },
    ...{ policy: NO_POLICY, permissions: ASKS_NEVER, gaps: [], agentDir: null },
    ...{ sessionId: 'session-1', profile: null, handover: null, part: null, instructions: null, pool: null },
    ...{ warning: null, terminal: null },
    ...{ archiveAfterMs: 3_600_000, createdAtMs: STARTED_AT_MS, archiveAtMs: null, archivedAtMs: null },
    ...changes,
  };
}

export function madeTurn(changes: Partial<Turn> = {}): Turn {
  return {
    ...{ runId: MADE_ID, number: 1, kind: 'task', announces: null, state: 'running', version: 4 },
    ...{ message: 'Fix the tests.', name: null, ahead: false, session: null, permissions: null },
    ...{ queuedAtMs: STARTED_AT_MS, claimedAtMs: STARTED_AT_MS, startedAtMs: STARTED_AT_MS },
    ...{ launchedAtMs: STARTED_AT_MS, endedAtMs: null, deadlineAtMs: null },
    ...{ stop: null, owner: null, process: null, exit: null },
    ...{ usage: NO_USAGE, result: null, error: null, notes: [] },
    ...changes,
  };
}

/** After 5 minutes and 12 seconds, with success and nothing else. */
export function madeEnding(changes: Partial<Ending> = {}): Ending {
  return {
    ...{ outcome: 'success', result: null, error: null, notes: [], usage: NO_USAGE },
    exit: { code: 0, signal: null },
    endedAtMs: STARTED_AT_MS + 312_000,
    ...changes,
  };
}

export function madeRunWithTurn(run: Partial<Run>, turn: Partial<Turn> = {}): RunWithMessages {
  const made = madeRun(run);
  return { run: made, turn: madeTurn({ runId: made.id, ...turn }), waiting: 0 };
}
