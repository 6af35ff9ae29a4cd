import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import fc from 'fast-check';
import type { SessionStep } from '../../../src/core/conversation.ts';
import { isPruned } from '../../../src/prune/placeholder.ts';
import { prunedResults, withoutPlaceholders } from '../../../src/runs/context/pruned-steps.ts';
import { withContext } from '../../../src/runs/context/with-context.ts';
import { handoverLine } from '../../../src/runs/model/handover.ts';
import type { ContextWish } from '../../../src/runs/model/handover-settings.ts';
import { requesterHere } from '../../../src/runs/requester.ts';
import { loadPruneSettings } from '../../../src/settings/prune-settings.ts';
import { pruneSession } from '../../../src/transcripts/pruned-session.ts';
import { sourceInStore, writeCopy } from '../../../src/transcripts/session-source.ts';
import { CLIENT_NAMES, type ClientName } from '../../support/clients.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { putRepeated } from '../../support/repeated-session.ts';

let home: Home;
let project: string;
beforeEach(() => {
  home = temporaryHome();
  project = `${home.path}/project`;
  mkdirSync(project);
});
afterEach(() => home[Symbol.dispose]());

async function handed(wish: ContextWish) {
  const world = {
    ...{ paths: home.paths, env: { HOME: home.path }, platform: 'linux', cwd: project },
    ...{ executablePath: '/bin/true', isCompiled: true, now: () => new Date() },
  };
  const answer = await withContext({ task: 'look' }, wish, requesterHere(world), world);
  if ('status' in answer || answer.handover === undefined) throw new Error('Nothing was handed over');
  return answer.handover;
}

const put = (name: ClientName) => putRepeated(name, home.path, project);
const times = (text: string, words: string) => text.split(words).length - 1;
const AGAIN = 'tests/unit/case-0';
const ONCE = 'src/file-0.ts';

describe.each([...CLIENT_NAMES])('a hand-over of a session of %s', (name) => {
  test('has of equal results the newest where it is to be pruned, and says how many are left out', async () => {
    const session = put(name);
    const whole = await handed({ mode: 'full', session });
    expect([times(whole.text, AGAIN), times(whole.text, ONCE)]).toEqual([3, 1]);
    expect(whole.report.pruned).toBeUndefined();
    const { text, report } = await handed({ pruned: true, session });
    expect([times(text, AGAIN), times(text, ONCE)]).toEqual([1, 1]);
    expect(text.indexOf(AGAIN)).toBeGreaterThan(text.indexOf('Once more.'));
    expect(report).toMatchObject({ mode: 'full', pruned: 2 });
    expect(handoverLine(report)).toContain('; 2 results pruned');
  });

  test('has more room for what stands nowhere else', async () => {
    const session = put(name);
    const room = { mode: 'full', maxChars: 4500, session } as const;
    expect(times((await handed(room)).text, ONCE)).toBe(0);
    expect(times((await handed({ ...room, pruned: true })).text, ONCE)).toBe(1);
  });

  test('is of what its client keeps, whatever was shown of it, and the same after it was copied', async () => {
    const session = put(name);
    const before = await handed({ mode: 'full', session });
    const source = sourceInStore(session, name, { HOME: home.path });
    if ('reason' in source) throw new Error(source.reason);
    const { change } = pruneSession(source, loadPruneSettings(home.paths), () => {});
    writeCopy(source, change, `${home.path}/copy`, () => {});
    expect(await handed({ mode: 'full', session })).toEqual(before);
    expect(before.text).not.toContain('removed to save context');
  });
});

test('a client that goes on with a pruned copy hands no placeholder on', async () => {
  const session = put('claude');
  const source = sourceInStore(session, 'claude', { HOME: home.path });
  if ('reason' in source) throw new Error(source.reason);
  const { change } = pruneSession(source, loadPruneSettings(home.paths), () => {});
  const folder = `${home.path}/.claude/projects/${project.replace(/[^A-Za-z0-9]/g, '-')}`;
  writeCopy(source, change, `${folder}/the-copy.jsonl`, () => {});
  const { text } = await handed({ mode: 'full', session: 'the-copy' });
  expect([times(text, AGAIN), times(text, ONCE)]).toEqual([1, 1]);
  expect(text).not.toContain('removed to save context');
});

describe('of any conversation', () => {
  const output = fc.constantFrom('a'.repeat(900), 'b'.repeat(900), 'c'.repeat(1200), 'short');
  const call = fc.record({ tool: fc.constantFrom('Bash', 'Look'), of: fc.constantFrom('x', 'y'), output });
  const turns = fc.array(fc.oneof({ weight: 6, arbitrary: call }, fc.constant('prompt')), { maxLength: 40 });

  const stepsOf = (said: readonly (string | { tool: string; of: string; output: string })[]): SessionStep[] =>
    said.flatMap((one, at): SessionStep[] => {
      const id = `call ${at}`;
      if (typeof one === 'string') return [{ kind: 'prompt', text: one, pictures: [] }];
      const input = JSON.stringify({ command: one.of });
      return [
        { kind: 'call', id, tool: one.tool, input },
        { kind: 'result', id, text: one.output, isError: false, pictures: [] },
      ];
    });
  const kinds = (steps: readonly SessionStep[]) => {
    const calls = new Map(steps.flatMap((step) => (step.kind === 'call' ? [[step.id, step] as const] : [])));
    const told = steps.flatMap((step) => {
      const made = step.kind === 'result' ? calls.get(step.id) : undefined;
      return step.kind === 'result' ? [`${made?.tool} ${made?.input} ${step.text}`] : [];
    });
    return new Set(told);
  };

  test('no result is lost that does not stand there still', () => {
    const settings = loadPruneSettings(home.paths);
    fc.assert(
      fc.property(turns, (said) => {
        const steps = stepsOf(said);
        const left = prunedResults(steps, settings, '/p');
        const kept = steps.filter((step) => step.kind !== 'result' || !left.has(step.id));
        expect(kinds(kept)).toEqual(kinds(steps));
      }),
      { numRuns: 2000 },
    );
  });

  test('no placeholder is handed on, and nothing that is none is lost', () => {
    const placeholder = fc.constantFrom(
      '[Output removed to save context: it is word for word that of the earlier call.]',
      'String not found\n[Input removed to save context: the call failed.]',
      '[Input removed to save context: the call failed.]',
    );
    const text = fc.oneof(fc.string({ maxLength: 60 }), placeholder);
    fc.assert(
      fc.property(fc.array(text), (texts) => {
        const steps = texts.map(
          (one, at): SessionStep => ({
            kind: 'result',
            id: `${at}`,
            text: one,
            isError: false,
            pictures: [],
          }),
        );
        const isPlaceholder = (output: string) =>
          isPruned({ id: '', tool: '', input: {}, state: 'done', output });
        const handedOn = [...withoutPlaceholders(steps)].flatMap((step) =>
          step.kind === 'result' ? [step.text] : [],
        );
        expect(handedOn.some(isPlaceholder)).toBe(false);
        for (const one of texts) if (!isPlaceholder(one)) expect(handedOn).toContain(one);
      }),
      { numRuns: 2000 },
    );
  });
});
