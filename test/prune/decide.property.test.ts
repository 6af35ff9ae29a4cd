import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Call, Message } from '../../src/prune/call.ts';
import type { Decision } from '../../src/prune/decision.ts';
import type { PruneSettings } from '../../src/settings/prune-settings.ts';
import { decided, piecesOf, pruned, shown, text } from './history.ts';

/** Few tools, files, versions and errors, so that much is repeated; lengths on both sides of what is worth it. */
const MADE = fc.record({
  tool: fc.constantFrom('read', 'read', 'write', 'edit', 'bash', 'task'),
  filePath: fc.constantFrom('a.ts', './a.ts', 'b.ts'),
  version: fc.constantFrom('one', 'two'),
  length: fc.constantFrom(50, 600, 4000),
  isWhole: fc.boolean(),
  state: fc.constantFrom<Call['state']>('done', 'done', 'done', 'failed', 'running'),
  isCleared: fc.constantFrom(false, false, false, false, true),
});
const MESSAGE = fc.record({
  kind: fc.constantFrom('user', 'compaction', ...Array<'model'>(10).fill('model')),
  chars: fc.nat(500),
  gapMs: fc.constantFrom(1000, 60_000, 3_600_000),
  calls: fc.array(MADE, { maxLength: 3 }),
});
const HISTORY = fc.array(MESSAGE, { maxLength: 40 }).map((made): Message[] => {
  let [atMs, next] = [0, 0];
  return made.map(({ kind, chars, gapMs, calls }) => {
    atMs += kind === 'model' && gapMs === 3_600_000 && chars % 4 > 0 ? 1000 : gapMs;
    if (kind !== 'model') return { by: 'user', atMs, chars, calls: [], isCompaction: kind === 'compaction' };
    return { by: 'model', atMs, chars, calls: calls.map((one) => callOf(`c${next++}`, one)) };
  });
});

function callOf(id: string, made: typeof MADE extends fc.Arbitrary<infer T> ? T : never): Call {
  const { tool, filePath, version, length, isWhole, state, isCleared } = made;
  const value = text(version, length);
  const inputs: Record<string, Call['input']> = {
    read: { filePath },
    write: { filePath, content: value },
    edit: { filePath, edits: [{ oldString: value, newString: text('new', length) }] },
  };
  const output = tool === 'read' && state === 'done' ? shown([value], { isWhole }) : value;
  const ended =
    state === 'running' ? '' : tool === 'write' || tool === 'edit' ? `${state} ${version}` : output;
  return { id, tool, input: inputs[tool] ?? { command: version }, state, output: ended, isCleared };
}

const PRICED = fc.record({
  cachedPriceRatio: fc.constantFrom(0, 0.1, 0.1, 0.5, 1),
  errorSteps: fc.constantFrom(0, 2, 4),
  protectedTurns: fc.constantFrom(0, 0, 1, 2),
  deduplicate: fc.constantFrom(true, true, false),
  supersedeWrites: fc.constantFrom(true, true, false),
  protectedFiles: fc.constantFrom([], [], ['b.*']),
});

/** The requests of a session: what they consist of, and when each is made. */
function requestsOf(messages: readonly Message[]) {
  const made = messages.flatMap(({ by, atMs }, count) =>
    by === 'model' ? [{ count, nowMs: atMs ?? 0 }] : [],
  );
  return [...made, { count: messages.length, nowMs: (messages.at(-1)?.atMs ?? 0) + 1 }];
}

/** Decides request by request, each time with what was decided before. */
function stepByStep(messages: readonly Message[], settings: Partial<PruneSettings>) {
  let earlier: readonly Decision[] = [];
  return requestsOf(messages).map(({ count, nowMs }) => {
    const step = decided(messages.slice(0, count), { settings, earlier, nowMs });
    earlier = step.decisions;
    return { ...step, count, nowMs };
  });
}

function check(
  property: (messages: Message[], settings: Partial<PruneSettings>) => void,
  numRuns = 600,
): void {
  fc.assert(fc.property(HISTORY, PRICED, property), { numRuns });
}

test('the same history gives the same decisions, made request by request or at once by another process', () => {
  check((messages, settings) => {
    for (const { count, nowMs, decisions, waiting } of stepByStep(messages, settings))
      expect(decided(messages.slice(0, count), { settings, nowMs })).toEqual({ decisions, waiting });
  });
});

test('what is decided stays decided', () => {
  check((messages, settings) => {
    const steps = stepByStep(messages, settings);
    for (const [index, { decisions }] of steps.entries())
      expect(steps[index + 1]?.decisions ?? decisions).toEqual(expect.arrayContaining([...decisions]));
  });
});

test('to prune what is pruned changes nothing', () => {
  check((messages, settings) => {
    const asked = { settings, nowMs: Number.MAX_SAFE_INTEGER };
    const { decisions } = decided(messages, asked);
    const once = pruned(messages, decisions);
    expect(decided(once, asked).decisions).toEqual([]);
    expect(pruned(once, decisions)).toEqual(once);
  });
});

test('a request is shorter by what is saved, and only in the calls that are named', () => {
  check((messages, settings) => {
    const before = structuredClone(messages);
    const { decisions } = decided(messages, { settings, nowMs: Number.MAX_SAFE_INTEGER });
    const after = pruned(messages, decisions);
    expect(messages).toEqual(before);
    const savedChars = decisions.reduce((sum, one) => sum + one.savedChars, 0);
    const charsOf = (history: Message[]) => piecesOf(history).reduce((sum, [, chars]) => sum + chars, 0);
    expect(charsOf(messages) - charsOf(after)).toBe(savedChars);
    const named = new Set(decisions.map(({ callId }) => callId));
    for (const [index, message] of after.entries()) {
      const others = ({ calls }: Message) => calls.filter(({ id }) => !named.has(id));
      expect(others(message)).toEqual(others(messages[index] as Message));
    }
    for (const { calls } of messages)
      for (const { id, tool, state, isCleared } of calls)
        if (tool === 'task' || state === 'running' || isCleared) expect(named).not.toContain(id);
  });
});

test('what a decision refers to is there, in full or in a newer form', () => {
  check((messages, settings) => {
    const { decisions } = decided(messages, { settings, nowMs: Number.MAX_SAFE_INTEGER });
    const decisionOf = new Map(decisions.map((one) => [one.callId, one]));
    const outputs = new Map(messages.flatMap(({ calls }) => calls.map(({ id, output }) => [id, output])));
    const ids = [...outputs.keys()];
    for (const decision of decisions) {
      const seen = new Set<string>();
      let last: Decision | undefined = decision;
      while (last?.anchor != null && last.part === 'output' && !seen.has(last.callId)) {
        seen.add(last.callId);
        const anchor = last.anchor;
        // The same, or of the file something that came after all of these.
        if (last.rule === 'deduplicate') expect(outputs.get(anchor)).toBe(outputs.get(last.callId) as string);
        else for (const id of seen) expect(ids.indexOf(anchor)).toBeGreaterThan(ids.indexOf(id));
        last = decisionOf.get(anchor);
      }
      // It ends at something that is shown.
      expect(seen.has(last?.callId ?? '')).toBe(false);
    }
  });
});

test('never costs more than without, but for what it costs to wait as long as that pays', () => {
  check((messages, settings) => {
    const ratio = settings.cachedPriceRatio ?? 0;
    const costs = { without: 0, with: 0, rent: 0 };
    const last: Record<'without' | 'with', ReturnType<typeof piecesOf>> = { without: [], with: [] };
    let [lastMs, lastCount]: [number | undefined, number] = [undefined, 0];
    for (const { count, nowMs, decisions, waiting } of stepByStep(messages, settings)) {
      const request = messages.slice(0, count);
      const isCold = lastMs === undefined || nowMs - lastMs > 600_000;
      const wasCompacted = request.some(({ isCompaction }, index) => isCompaction && index >= lastCount);
      lastMs = nowMs;
      lastCount = count;
      for (const [name, history] of [
        ['without', request],
        ['with', pruned(request, decisions)],
      ] as const) {
        const pieces = piecesOf(history);
        const total = pieces.reduce((sum, [, chars]) => sum + chars, 0);
        let cached = 0;
        if (!isCold && !wasCompacted)
          for (const [index, [text, chars]] of pieces.entries()) {
            if (last[name][index]?.[0] !== text) break;
            cached += chars;
          }
        costs[name] += cached * ratio + (total - cached);
        last[name] = pieces;
      }
      costs.rent += waiting.reduce((sum, one) => sum + one.savedChars * ratio, 0);
    }
    expect(costs.with).toBeLessThanOrEqual(costs.without + costs.rent + 1e-6);
    if (ratio === 0 || ratio === 1) expect(costs.with).toBeLessThanOrEqual(costs.without + 1e-6);
  });
});

test('half characters and texts of every kind are decided on', () => {
  const anything = fc.array(
    fc.record({
      tool: fc.string(),
      output: fc.string({ unit: 'binary', maxLength: 900 }),
      input: fc.dictionary(fc.string(), fc.jsonValue()),
    }),
  );
  fc.assert(
    fc.property(anything, fc.constantFrom('\ud800', '__proto__', 'x'), (made, odd) => {
      const calls = made.map((one, index): Call => {
        const input = JSON.parse(`{${JSON.stringify(odd)}: ${JSON.stringify(odd.repeat(300))}}`);
        return {
          ...one,
          id: `${index % 90}`,
          state: index % 3 ? 'done' : 'failed',
          input: { ...one.input, ...input },
          output: one.output + odd.repeat(300),
        };
      });
      const messages = calls.map((one): Message => ({ by: 'model', chars: 1, calls: [one] }));
      const { decisions } = decided(messages, { settings: { cachedPriceRatio: 1 } });
      for (const { placeholder } of decisions) expect(placeholder.isWellFormed()).toBe(true);
      expect(() => pruned(messages, decisions)).not.toThrow();
    }),
    { numRuns: 200 },
  );
});
