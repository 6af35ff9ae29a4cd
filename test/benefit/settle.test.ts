import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  type Advice,
  settle,
  type TreeCall,
  type TreeLog,
  type Unsettled,
} from '../../src/benefit/settle.ts';
import { readFailure } from '../../src/lessons/failure.ts';
import { PROJECT } from '../support/payloads.ts';

const START = Date.parse('2026-11-20T09:00:00.000Z');
const LINT = 'npm run lint -- --bail';
const SAID = "Exit code 1\nerror: unknown option '--bail'";
const KEY = keyOf(LINT, SAID);

function keyOf(line: string, text: string): string {
  return readFailure({ tool: 'Bash', line, text }).key;
}

/** A call: what was typed, and what it said where it failed. */
type Made = Partial<TreeCall> & { readonly says?: string };

/** Calls in their order, ten seconds apart, the first ten seconds after the telling. */
function made(...calls: Made[]): TreeCall[] {
  return calls.map(({ says, ...call }, at) => {
    const line = call.line === undefined ? 'npm run lint' : call.line;
    const { tool = 'Bash' } = call;
    const failed = says === undefined ? undefined : readFailure({ tool, line, text: says });
    return {
      ...{
        kind: 'call',
        id: `c${at + 1}`,
        session: 's1',
        agent: null,
        tool,
        line,
        directory: '',
        file: null,
      },
      ts: new Date(START + (at + 1) * 10_000).toISOString(),
      ...{ place: PROJECT, root: PROJECT, chars: 100 },
      outcome: failed && says !== undefined ? { kind: 'failed', ...failed, text: says } : { kind: 'worked' },
      ...call,
    };
  });
}

const ADVICE: Advice = { use: ['npm run lint'], failing: [LINT], places: [''] };
const row = (changes: Partial<Unsettled> = {}): Unsettled => ({
  ...{ id: 7, group: { place: PROJECT, key: KEY }, channel: 'start', ts: START, agent: null, callId: null },
  advice: ADVICE,
  ...changes,
});

function outcome(calls: readonly TreeCall[], changes: Partial<Unsettled> = {}, log: Partial<TreeLog> = {}) {
  const [found] = settle({ calls, prompts: [], isSilent: false, ...log }, [row(changes)]);
  if (found === undefined) throw new Error('no outcome');
  return found;
}

const FAILS: Made = { line: LINT, says: SAID };
const NOTHING = { failedAt: null, failedCall: null, calls: null, ms: null, chars: null, ended: null };

describe('settle()', () => {
  test('finds the first failure of the group, and what it cost until its check passed', () => {
    const calls = made({ line: 'ls' }, FAILS, { line: 'cat a.json' }, { line: 'npm run lint' }, FAILS);
    expect(outcome(calls)).toEqual({
      ...{ id: 7, failedAt: START + 20_000, failedCall: 'c2' },
      ...{ calls: 2, ms: 20_000, chars: 200, ended: 'passed' },
      ...{ adviceFailed: false, formWorked: false, leaked: false },
    });
  });

  test.each<[string, Made]>([
    ['of another key', { line: 'npm test', says: 'Exit code 1\nsh: jest: command not found' }],
    ['of another project', { ...FAILS, place: '/home/dev/other', root: '/home/dev/other' }],
    ['of a rule of the client', { ...FAILS, outcome: failedAs('client') }],
    ['that the user interrupted', { ...FAILS, outcome: failedAs('interrupted') }],
    ['from before it was told', { ...FAILS, ts: new Date(START - 1).toISOString() }],
  ])('a failure %s is none', (_what, call) => expect(outcome(made(call))).toMatchObject(NOTHING));

  test('a failure in a project is one of it, also where its repository was found out after the telling', () => {
    const failedAt = START + 10_000;
    expect(outcome(made({ ...FAILS, place: 'repository' }))).toMatchObject({ failedAt });
    expect(
      outcome(made({ ...FAILS, place: 'repository' }), { channel: 'failure', callId: null }),
    ).toMatchObject({ failedAt });
  });

  test('a check is the same by its family, and passes where its own end is known', () => {
    const passing = (line: string) => outcome(made(FAILS, { line })).ended;
    for (const line of ['npm run lint', 'cd web && npm run lint', 'npm run lint -- --fix src'])
      expect([line, passing(line)]).toEqual([line, 'passed']);
    for (const line of ['npm run build', 'npm run lint || true', 'npm run lint; ls', 'echo npm run lint'])
      expect([line, passing(line)]).toEqual([line, null]);
  });

  test('of a failing line its culprit is the check', () => {
    const both = { line: `npm run build && ${LINT}`, says: SAID };
    const group = { place: PROJECT, key: keyOf(both.line, SAID) };
    const cost = (line: string) => outcome(made(both, { line }), { group }).ended;
    expect([cost('npm run build'), cost('npm run lint')]).toEqual([null, 'passed']);
  });

  test('of other tools the same tool on the same file is the check', () => {
    const call = { tool: 'mcp__db__query', line: null, says: 'no such table: users' };
    const group = { place: PROJECT, key: readFailure({ tool: call.tool, line: null, text: call.says }).key };
    const cost = (...next: Made[]) => outcome(made(call, ...next), { group });
    expect(
      cost({ tool: 'mcp__db__list', line: null }, { ...call, outcome: { kind: 'worked' } }),
    ).toMatchObject({
      calls: 2,
      ended: 'passed',
    });
  });

  test("counts the failing agent's own calls", () => {
    const other = { session: 's1', agent: 'a2', line: 'npm run lint' };
    expect(outcome(made(FAILS, other, { session: 's2' }, { line: 'ls' }))).toMatchObject({
      calls: 1,
      ended: null,
    });
  });

  test('stops at 20 calls, and where the tree has fallen silent', () => {
    const looks = Array.from({ length: 30 }, () => ({ line: 'ls' }));
    expect(outcome(made(FAILS, ...looks))).toMatchObject({ calls: 20, chars: 2000, ended: 'cap' });
    expect(outcome(made(FAILS, { line: 'ls' }), {}, { isSilent: true })).toMatchObject({
      calls: 1,
      ended: 'left',
    });
    expect(outcome(made(FAILS), {}, { isSilent: true })).toMatchObject({ calls: 0, ms: 0, ended: 'left' });
  });

  describe('at a failing call', () => {
    const at = (changes: Partial<Unsettled>) =>
      outcome(made(FAILS, FAILS, {}), { channel: 'failure', ...changes });

    test('is the very call, even of another key', () => {
      expect(at({ callId: 'c2' })).toMatchObject({ failedCall: 'c2', calls: 1, ended: 'passed' });
      expect(at({ callId: 'c2', group: { place: PROJECT, key: 'alike' } }).failedCall).toBe('c2');
      expect(at({ callId: 'c9' })).toMatchObject({ ...NOTHING, failedCall: 'c9' });
    });

    test('is the nearest one where the call has no id', () => {
      expect(at({ ts: START + 11_000 }).failedCall).toBe('c1');
      expect(at({ ts: START + 19_000 }).failedCall).toBe('c2');
      expect(at({ ts: START + 600_000 })).toMatchObject(NOTHING);
    });
  });

  describe('flags', () => {
    const NO_SCRIPT = 'npm error Missing script: "lint"';

    test('that the advised form failed, for another reason than a finding', () => {
      expect(outcome(made({ line: 'npm run lint', says: NO_SCRIPT })).adviceFailed).toBe(true);
      expect(outcome(made({ line: 'cd web && npm run lint', says: NO_SCRIPT })).adviceFailed).toBe(true);
      const finding =
        'src/a.ts:1:1 lint/style/useConst FIXABLE\n  × This let is only assigned once.\nFound 1 error.';
      expect(outcome(made({ line: 'npm run lint', says: finding })).adviceFailed).toBe(false);
      expect(outcome(made({ line: `${LINT}=9`, says: SAID }, FAILS)).adviceFailed).toBe(false);
    });

    test('neither, where both forms differ by a quote alone', () => {
      const advice = { use: ['gh api "x?n=1"'], failing: ['gh api x?n=1'], places: [''] };
      const says = '(eval):1: no matches found: x?n=1';
      const { adviceFailed, formWorked } = outcome(
        made({ line: 'gh api x?n=1', says }, { line: 'gh api "x?n=1"' }),
        { advice },
      );
      expect([adviceFailed, formWorked]).toEqual([false, false]);
    });

    test('that the failing form worked, there where it had failed', () => {
      expect(outcome(made({ line: LINT })).formWorked).toBe(true);
      for (const call of [
        { line: `${LINT} || true` },
        { line: LINT, directory: 'web' },
        { line: 'npm run lint' },
      ])
        expect(outcome(made(call)).formWorked).toBe(false);
      // What is told adds to what fails.
      const advice = { use: ['PORT=1 npm test'], failing: ['npm test'], places: [''] };
      expect(outcome(made({ line: 'PORT=1 npm test' }), { advice }).formWorked).toBe(false);
    });

    test('that the advised form stands in a prompt or in the instructions', () => {
      const leaked = (...prompts: string[]) => outcome(made({}), {}, { prompts }).leaked;
      expect(leaked('hello', 'Use `npm run lint` here.')).toBe(true);
      expect(leaked('Use npm test.')).toBe(false);
    });
  });

  const LINES = ['npm run lint', LINT, 'ls', 'npm test', `${LINT} || true`];
  const someCalls = fc
    .array(
      fc.record({ line: fc.constantFrom(...LINES), fails: fc.boolean(), agent: fc.constantFrom(null, 'a1') }),
    )
    .map((all) =>
      made(...all.map(({ line, fails, agent }) => ({ line, agent, ...(fails ? { says: SAID } : {}) }))),
    );

  test('is the same for the same calls, at most 20, and later calls change nothing that has ended', () => {
    fc.assert(
      fc.property(someCalls, fc.nat(), (calls, cut) => {
        const all = outcome(calls);
        expect(outcome(calls)).toEqual(all);
        expect(all.calls ?? 0).toBeLessThanOrEqual(20);
        expect(all.calls === null).toBe(all.failedAt === null);
        const before = outcome(calls.slice(0, cut % (calls.length + 1)));
        if (before.ended !== null)
          expect(all).toMatchObject({ calls: before.calls, ms: before.ms, ended: before.ended });
      }),
    );
  });

  test.each(['settle.ts', 'store/outcomes.ts', 'store/advice.ts'])('%s has never heard of an arm', (file) => {
    const source = readFileSync(`${import.meta.dir}/../../src/benefit/${file}`, 'utf8');
    const code = source.replace(/\/\*\*[\s\S]*?\*\/|\/\/.*/g, '');
    expect(code).not.toMatch(/held|hold_percent|holdPercent|isHeld|coin|armOf|readLedger|\bSELECT \*/i);
  });
});

function failedAs(noise: 'client' | 'interrupted'): TreeCall['outcome'] {
  return { kind: 'failed', key: KEY, said: SAID, text: SAID, noise };
}
