import { describe, expect, test } from 'bun:test';
import { readdirSync, rmSync } from 'node:fs';
import { mergeTranscripts } from '../../../src/learn/import/merge-transcripts.ts';
import { nothingPassedOver } from '../../../src/learn/import/transcript-cursor.ts';
import { listTranscripts, type TranscriptFile } from '../../../src/learn/import/transcript-files.ts';
import type { Unreadable } from '../../../src/sys/find-files.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { Clock, putText, Transcript, transcriptPath } from '../../support/transcripts.ts';

function filesOf(home: Home): readonly TranscriptFile[] {
  return listTranscripts([`${home.path}/.claude/projects`], () => undefined).sessions.flatMap(
    ({ files }) => files,
  );
}

function merge(files: readonly TranscriptFile[], isSettled: (ts: string) => boolean = () => true) {
  const unreadable: Unreadable[] = [];
  const passedOver = nothingPassedOver();
  const merged = [...mergeTranscripts(files, { isSettled, passedOver, unreadable })];
  const steps = merged.flatMap(({ step }) => step?.events.map((event) => event.ts) ?? []);
  return { merged, steps, unreadable, passedOver };
}

/** Agents that take turns, call by call. */
function agents(home: Home, count: number, calls: number): void {
  const clock = new Clock();
  const transcripts = Array.from({ length: count }, (_, index) => {
    const agent = `abc${index.toString(16)}`;
    return { agent, transcript: new Transcript({ agent, clock }) };
  });
  for (let call = 0; call < calls; call++)
    for (const { transcript } of transcripts) transcript.succeed('Bash', { command: 'ls' });
  for (const { agent, transcript } of transcripts)
    putText(home, transcriptPath('s1', agent), transcript.text);
}

describe('mergeTranscripts()', () => {
  test('gives what happened in the order in which it happened, and at last the ends of the files', () => {
    using home = temporaryHome();
    agents(home, 3, 4);
    const files = filesOf(home);
    const { merged, steps } = merge(files);
    expect(steps).toHaveLength(12);
    expect(steps).toEqual(steps.toSorted());
    const ends = merged.filter(({ step }) => step === undefined);
    expect(ends.map(({ file, end }) => [file.path, end])).toEqual(
      files.map((file) => [file.path, file.bytes]),
    );
  });

  test('keeps the order of a file although its clock jumps', () => {
    using home = temporaryHome();
    const times = ['2026-11-20T09:00:05.000Z', '2026-11-20T09:00:01.000Z', '2026-11-20T09:00:09.000Z'];
    const transcript = new Transcript();
    for (const [index, timestamp] of times.entries()) transcript.prompt(`prompt ${index}`, { timestamp });
    putText(home, transcriptPath('s1'), transcript.text);
    expect(merge(filesOf(home)).steps).toEqual(times);
  });

  test('has few files open, however many agents there were', () => {
    using home = temporaryHome();
    agents(home, 60, 3);
    const files = filesOf(home);
    const before = readdirSync('/proc/self/fd').length;
    let most = 0;
    const options = { isSettled: () => true, passedOver: nothingPassedOver(), unreadable: [] };
    let count = 0;
    for (const { step } of mergeTranscripts(files, options)) {
      if (step !== undefined) count++;
      most = Math.max(most, readdirSync('/proc/self/fd').length - before);
    }
    expect(count).toBe(180);
    expect(most).toBeGreaterThan(5);
    expect(most).toBeLessThan(20);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });

  test('reports a file that cannot be read and gives the others', () => {
    using home = temporaryHome();
    agents(home, 3, 2);
    const files = filesOf(home);
    rmSync(files[1]?.path ?? '');
    const { steps, unreadable, merged } = merge(files);
    expect(steps).toHaveLength(4);
    expect(unreadable).toEqual([{ path: files[1]?.path ?? '', reason: expect.stringContaining('ENOENT') }]);
    expect(merged.some(({ file }) => file === files[1])).toBe(false);
  });

  test('ends a file where it is not settled', () => {
    using home = temporaryHome();
    agents(home, 2, 3);
    const files = filesOf(home);
    const { steps, passedOver, merged } = merge(files, (ts) => ts < '2026-11-20T09:00:07.000Z');
    expect(steps).toHaveLength(3);
    expect(passedOver.unsettledFiles).toBe(2);
    for (const { file, end } of merged) expect(end).toBeLessThan(file.bytes);
  });

  test('closes its files when nobody wants the rest', () => {
    using home = temporaryHome();
    agents(home, 3, 3);
    const files = filesOf(home);
    const before = readdirSync('/proc/self/fd').length;
    const options = { isSettled: () => true, passedOver: nothingPassedOver(), unreadable: [] };
    for (const { step } of mergeTranscripts(files, options)) if (step !== undefined) break;
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });
});
