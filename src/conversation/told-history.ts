import type { Handover } from '../runs/model/handover.ts';
import { isSession } from '../runs/model/part.ts';
import { isTerminal } from '../runs/model/turn.ts';
import type { PartRun } from '../runs/store/parts.ts';
import { readRuns, runsTransaction } from '../runs/store/rows.ts';
import { getRun, keepHandover } from '../runs/store/runs.ts';
import type { RunsWorld } from '../runs/world.ts';
import { buildHistoryBlock } from './history.ts';
import { partsOf, recentMessages } from './messages.ts';

/** What a new session of a conversation is told of those before it. Undefined: nothing was said before. */
export function historyFor(parts: readonly PartRun[], world: RunsWorld): Handover | undefined {
  const messages = recentMessages(parts, world);
  const text = buildHistoryBlock(messages);
  if (text === '') return undefined;
  const charsIn = messages.reduce((sum, one) => sum + one.text.length, 0);
  const sizes = {
    messagesIn: messages.length,
    charsIn,
    charsOut: text.length,
    truncated: text.length < charsIn,
  };
  return { text, report: { mode: 'history', ...sizes, degraded: false, session: null, warnings: [] } };
}

/**
 * A session that has waited is told what was answered meanwhile, and not what waits behind it. Call it before its client is
 * started; of any other run it does nothing. @throws Error when the database cannot be read or written
 */
export function renewHistory(runId: string, world: RunsWorld): void {
  const run = readRuns(world.paths, (db) => getRun(runId, db))?.run;
  if (run == null || run.part === null || !isSession(run.part) || run.sessionId !== null) return;
  const others = partsOf(run.part, world).filter((one) => one.run.id !== run.id);
  const ended = others.map((one) => ({ ...one, turns: one.turns.filter(({ state }) => isTerminal(state)) }));
  const isNews = ended.some(({ turns }) =>
    turns.some(({ endedAtMs }) => (endedAtMs ?? 0) >= run.createdAtMs),
  );
  const text = isNews ? historyFor(ended, world)?.text : undefined;
  if (text !== undefined) runsTransaction(world.paths, (db) => keepHandover(run.id, text, db));
}
