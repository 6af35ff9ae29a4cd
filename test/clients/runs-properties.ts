import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Client, TurnSession } from '../../src/clients/client.ts';
import { NO_USAGE } from '../../src/runs/model/turn.ts';
import { cutTurn, linesOf, readTurn, recordedTurn, saidTurn, strangeLines } from './runs-recorded.ts';

const SESSION: TurnSession = { kind: 'resume', id: '11111111-1111-4111-8111-111111111111' };

/** What has to hold for the reader of every client, whatever it reads. `whole`: a recording of a turn with a good end. */
export function testReader(client: Client, recordings: readonly string[], whole: string): void {
  const start = () => client.reader({ session: SESSION, before: NO_USAGE });

  test('never succeeds without the result, wherever the turn is cut off', () => {
    const turn = recordedTurn(whole);
    const count = linesOf(turn).length;
    expect(readTurn(client, turn).conclusion.outcome).toBe('success');
    for (let kept = 0; kept < count; kept++) {
      expect(readTurn(client, cutTurn(turn, kept)).conclusion.outcome).toBe('error');
      const unseen = start();
      for (const line of cutTurn(turn, kept).stdout.split('\n')) unseen.read(line);
      expect(unseen.conclude(null, '').outcome).not.toBe('success');
    }
  });

  test('is no success when a good output comes with a bad end', () => {
    const turn = recordedTurn(whole);
    for (const exit of [
      { code: 1, signal: null },
      { code: 144, signal: null },
      { code: null, signal: 'SIGTERM' },
    ]) {
      const { conclusion } = readTurn(client, { ...turn, exit });
      expect(conclusion).toMatchObject({ outcome: 'error', isModelRefused: false });
      expect(conclusion.error).toMatch(/after its result/);
    }
  });

  test('counts no usage twice when lines come again', () => {
    const lines = linesOf(recordedTurn(whole));
    const { usage } = readTurn(client, recordedTurn(whole)).conclusion;
    fc.assert(
      fc.property(fc.array(fc.nat(3), { minLength: 30, maxLength: 30 }), (repeats) => {
        const said = lines.flatMap((line, index) =>
          Array.from({ length: 1 + (repeats[index] ?? 0) }, () => line),
        );
        const { stderr } = recordedTurn(whole);
        const { events, conclusion } = readTurn(client, saidTurn(said, { stderr }));
        expect(conclusion.usage).toEqual(usage);
        const counted = events.flatMap((event) => (event.kind === 'usage' ? [event.usage] : []));
        expect({ ...counted.at(-1), model: usage.model }).toEqual(usage);
        const total = usage.inputTokens ?? 0;
        expect(counted.filter(({ inputTokens }) => (inputTokens ?? 0) > total)).toEqual([]);
      }),
    );
  });

  test('never throws, whatever the lines are', () => {
    const known = recordings.flatMap((name) => linesOf(recordedTurn(name)));
    fc.assert(
      fc.property(fc.array(strangeLines(known), { maxLength: 30 }), (lines) => {
        const reader = start();
        for (const line of lines) reader.read(line);
        const conclusion = reader.conclude({ code: 0, signal: null }, lines.join('\n'));
        expect(['success', 'error', 'unknown']).toContain(conclusion.outcome);
        expect((conclusion.error === null) === (conclusion.outcome === 'success')).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('says nothing of lines of types that it does not know', () => {
    const { events } = readTurn(client, saidTurn([{ type: 'news' }, { type: 7 }, {}]));
    expect(events).toEqual([]);
  });
}
