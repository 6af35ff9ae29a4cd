import { describe, expect, test } from 'bun:test';
import { readdirSync, rmSync } from 'node:fs';
import type { TranscriptFile } from '../../src/clients/claude/transcript-files.ts';
import { listTranscripts } from '../../src/clients/claude/transcript-list.ts';
import {
  MergedTranscripts,
  nothingPassedOver,
  ReadingBudget,
} from '../../src/clients/claude/transcript-reader.ts';
import type { Unreadable } from '../../src/system/files.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { Clock, putText, Transcript, transcriptPath } from '../support/transcripts.ts';

function filesOf(home: Home): readonly TranscriptFile[] {
  const { sessions } = listTranscripts([`${home.path}/.claude/projects`], () => undefined);
  return sessions.flatMap(({ files }) => files);
}

const optionsFor = (unreadable: Unreadable[] = [], budget = new ReadingBudget()) => ({
  budget,
  lookBackBytes: 0,
  passedOver: nothingPassedOver(),
  unreadable,
});

function merge(files: readonly TranscriptFile[], budget?: ReadingBudget) {
  const unreadable: Unreadable[] = [];
  const merged = [...new MergedTranscripts(files, optionsFor(unreadable, budget)).read()];
  const steps = merged.flatMap(({ step }) => step?.events.map((event) => event.ts) ?? []);
  return { merged, steps, unreadable };
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

describe('MergedTranscripts', () => {
  test('gives what happened in the order in which it happened, and at last the ends of the files', () => {
    using home = temporaryHome();
    agents(home, 3, 4);
    const files = filesOf(home);
    const { merged, steps } = merge(files);
    expect(steps).toHaveLength(12);
    expect(steps).toEqual(steps.toSorted());
    const ends = merged.filter(({ step }) => step === undefined);
    const whole = files.map((file) => [file.path, file.bytes]);
    expect(ends.map(({ file, end }) => [file.path, end])).toEqual(whole);
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
    let count = 0;
    for (const { step } of new MergedTranscripts(files, optionsFor()).read()) {
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

  test('reads no more than it may, and says so', () => {
    using home = temporaryHome();
    agents(home, 2, 30);
    const files = filesOf(home);
    const budget = new ReadingBudget({ bytes: 6000, deadlineMs: performance.now() + 60_000 });
    const { steps, merged } = merge(files, budget);
    expect(steps.length).toBeGreaterThan(4);
    expect(steps.length).toBeLessThan(30);
    expect(budget.hasCut).toBe(true);
    for (const { file, end } of merged) expect(end).toBeLessThan(file.bytes);
    const late = new ReadingBudget({ bytes: 1e9, deadlineMs: performance.now() - 1 });
    expect(merge(files, late).merged).toEqual([]);
    const enough = new ReadingBudget({ bytes: 1e9, deadlineMs: performance.now() + 60_000 });
    expect([merge(files, enough).steps.length, enough.hasCut]).toEqual([60, false]);
  });

  test('closes its files when nobody wants the rest', () => {
    using home = temporaryHome();
    agents(home, 3, 3);
    const files = filesOf(home);
    const before = readdirSync('/proc/self/fd').length;
    for (const { step } of new MergedTranscripts(files, optionsFor()).read()) if (step !== undefined) break;
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });
});
