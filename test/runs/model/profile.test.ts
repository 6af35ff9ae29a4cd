import { describe, expect, test } from 'bun:test';
import {
  agentStatus,
  limitReached,
  type ProfileLimits,
  workCounter,
} from '../../../src/runs/model/profile.ts';
import { NO_USAGE, type Stop } from '../../../src/runs/model/turn.ts';
import { madeTurn } from '../../support/made-run.ts';

const NONE: ProfileLimits = { iterations: null, tokens: null, usd: null, observationChars: null };
const call = (id: string) => ({ kind: 'tool-call', id, tool: 'Read', input: {} }) as const;
const answered = (id: string, text = '') =>
  ({ kind: 'tool-result', id, tool: null, isError: false, text }) as const;
const said = { kind: 'text', text: 'so', isPiece: true } as const;
const used = (tokens: number, costUsd: number | null = null) =>
  ({ kind: 'usage', usage: { ...NO_USAGE, inputTokens: tokens, costUsd } }) as const;

function workOf(events: readonly Parameters<ReturnType<typeof workCounter>['observe']>[0][]) {
  const counter = workCounter();
  for (const event of events) counter.observe(event);
  return counter.work();
}

describe('workCounter() counts', () => {
  test('calls at once as one, also where what they take is told between them', () => {
    const events = [call('a'), used(1), call('b'), answered('a'), answered('b'), call('c'), answered('c')];
    expect(workOf(events).iterations).toBe(2);
  });

  test('calls that are never answered, when something is said between them', () =>
    expect(workOf([call('a'), said, call('b'), said, call('c')]).iterations).toBe(3));

  test('what tools answer, and the newest usage', () => {
    const { observationChars, usage } = workOf([
      used(1),
      answered('a', 'xyz'),
      answered('b', '가'),
      used(7, 2),
    ]);
    expect(observationChars).toBe(4);
    expect(usage).toMatchObject({ inputTokens: 7, costUsd: 2 });
  });
});

describe('limitReached()', () => {
  const work = workOf([call('a'), answered('a', 'xyz'), call('b'), answered('b', 'x'), used(50, 0.5)]);
  const rows: [limits: Partial<ProfileLimits>, words: string | undefined][] = [
    [{}, undefined],
    [{ iterations: 2 }, undefined],
    [{ iterations: 1 }, 'limit reached: 1 calls of tools one after the other'],
    [{ tokens: 51 }, undefined],
    [{ tokens: 50 }, 'limit reached: 50 tokens'],
    [{ usd: 0.51 }, undefined],
    [{ usd: 0.5 }, 'limit reached: 0.5 USD'],
    [{ observationChars: 5 }, undefined],
    [{ observationChars: 4 }, 'limit reached: 4 characters of what its tools answered'],
  ];
  test.each(rows)('%j: %s', (limits, words) =>
    expect(limitReached({ ...NONE, ...limits }, work)).toBe(words),
  );

  test('takes what the client does not say as nothing', () =>
    expect(limitReached({ ...NONE, tokens: 1, usd: 1 }, workOf([]))).toBeUndefined());
});

describe('agentStatus()', () => {
  const stop = (reason: Stop['reason']) => ({ stop: { reason, by: 'x', atMs: 1 } });
  const rows: [of: Parameters<typeof madeTurn>[0], status: string][] = [
    [{ state: 'queued' }, 'pending'],
    [{ state: 'starting' }, 'planning'],
    [{ state: 'running' }, 'running'],
    [{ state: 'stopping', ...stop('limit') }, 'running'],
    [{ state: 'success', result: 'found' }, 'completed'],
    [{ state: 'success', result: ' \n' }, 'failed'],
    [{ state: 'error', result: 'half' }, 'failed'],
    [{ state: 'lost' }, 'failed'],
    [{ state: 'stopped', ...stop('requested') }, 'cancelled'],
    [{ state: 'stopped', ...stop('shutdown') }, 'cancelled'],
    [{ state: 'timeout', ...stop('timeout') }, 'incomplete'],
    [{ state: 'timeout', ...stop('idle') }, 'incomplete'],
    [{ state: 'error', ...stop('budget') }, 'incomplete'],
    [{ state: 'error', ...stop('limit') }, 'incomplete'],
  ];
  test.each(rows)('of %j is %s', (changes, status) =>
    expect(agentStatus(madeTurn(changes))).toBe(status as ReturnType<typeof agentStatus>),
  );
});
