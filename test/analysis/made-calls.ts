import type { AnalysedCall } from '../../src/analysis/analysis-store.ts';
import type { Db } from '../../src/database/connection.ts';
import { insertEvent } from '../../src/database/events.ts';
import type { Noise } from '../../src/lessons/failure.ts';
import { PROJECT } from '../support/payloads.ts';

/** A call as a made-up session has it. `said`: it failed so. */
export type MadeCall = {
  readonly line?: string;
  readonly tool?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly said?: string;
  readonly raw?: string;
  readonly noise?: Noise;
  readonly remark?: string;
  readonly directory?: string;
  readonly file?: string;
  readonly id?: string;
  readonly ts?: string;
  readonly projectPath?: string;
};

/** Calls in their order, a second apart. */
export function madeCalls(made: readonly MadeCall[], start = '2026-11-20T09:00:00.000Z'): AnalysedCall[] {
  return made.map((one, index) => ({
    id: one.id ?? `call-${index + 1}`,
    ts: one.ts ?? new Date(Date.parse(start) + index * 1000).toISOString(),
    sessionId: one.session ?? 's1',
    agentId: one.agent ?? null,
    projectPath: one.projectPath ?? PROJECT,
    tool: one.tool ?? 'Bash',
    line: one.line ?? null,
    command: null,
    directory: one.directory ?? null,
    remark: one.remark ?? null,
    file: one.file ?? null,
    failure:
      one.said === undefined
        ? null
        : { key: one.said, said: one.said, raw: one.raw ?? one.said, noise: one.noise ?? null },
  }));
}

/** Stores calls as hooks do. */
export function storeCalls(calls: readonly AnalysedCall[], db: Db): void {
  for (const { id, ts, sessionId, projectPath, failure, ...call } of calls) {
    const common = { ...call, toolUseId: id };
    const data =
      failure === null
        ? common
        : { ...common, error: failure.key, said: failure.said, errorRaw: failure.raw, noise: failure.noise };
    const kept = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
    const type = failure === null ? 'tool_use' : 'tool_error';
    insertEvent({ type, ts, sessionId, project: 'app', projectPath, data: kept }, db);
  }
}
