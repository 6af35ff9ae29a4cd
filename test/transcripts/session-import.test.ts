import { describe, expect, test } from 'bun:test';
import { decide, parseHookEvent } from '../../src/hooks/hooks.ts';
import { readConfig } from '../../src/settings/hook-settings.ts';
import { PastContexts, takingTurns } from '../../src/transcripts/session-import.ts';
import { temporaryHome } from '../support/home.ts';
import { projectAt } from '../support/transcripts.ts';

const TS = '2026-11-20T09:00:00.000Z';

function contexts(home: string): PastContexts {
  return new PastContexts({ config: readConfig({}), env: { HOME: home }, projectAt });
}

function prompt(text: string, cwd?: string) {
  const event = parseHookEvent({ hook_event_name: 'UserPromptSubmit', session_id: 's', cwd, prompt: text });
  if (event === undefined) throw new Error('no event');
  return event;
}

describe('contextOf()', () => {
  const rows: [string, string | undefined, string | undefined, string | null][] = [
    ['the directory of the start', '/home/dev/app', '/home/dev/app', '/home/dev/app'],
    ['the start when the shell is below it', '/home/dev/app/src/a', '/home/dev/app', '/home/dev/app'],
    ['the start when the shell is below it, on Windows', 'C:\\app\\src', 'C:\\app', 'C:\\app'],
    ['the place itself when it only begins alike', '/home/dev/app2', '/home/dev/app', '/home/dev/app2'],
    ['the place itself when it is elsewhere', '/home/dev', '/home/dev/app', '/home/dev'],
    ['the place when the start is not known', '/home/dev/app', undefined, '/home/dev/app'],
    ['the start when the place is not known', undefined, '/home/dev/app', '/home/dev/app'],
    ['nothing', undefined, undefined, null],
  ];
  for (const [what, cwd, startedIn, path] of rows) {
    test(`takes ${what} for the project`, () => {
      const context = contexts('/home/dev').contextOf(prompt('x', cwd), { ts: TS, startedIn });
      expect(context.project.path).toBe(path);
      expect(context.now.toISOString()).toBe(TS);
      expect(context.knowledge()).toBeUndefined();
    });
  }

  test('knows the skills that were called', () => {
    using home = temporaryHome();
    home.put('.claude/commands/deploy.md', 'Deploy it.');
    const past = contexts(home.path);
    const decisionOn = (text: string) => {
      const event = prompt(text, '/home/dev/app');
      return decide(event, past.contextOf(event, { ts: TS, startedIn: undefined }));
    };
    expect(decisionOn('/deploy now').recording).toMatchObject({ kind: 'prompt', skill: 'deploy' });
    for (const text of ['deploy it', '/nothing']) {
      const { recording, reply } = decisionOn(text);
      expect(reply).toBeUndefined();
      expect(Object.keys(recording ?? {})).not.toContain('skill');
    }
  });
});

/** Time that passes only when something takes it. */
function setUp() {
  let nowMs = 1000;
  const slept: number[] = [];
  const inTurn = takingTurns({
    now: () => nowMs,
    sleep: (ms) => {
      slept.push(ms);
      nowMs += ms;
    },
  });
  const take = (ms: number) => {
    nowMs += ms;
    return ms;
  };
  return { inTurn, take, slept };
}

describe('takingTurns()', () => {
  test('leaves the database alone for as long as it was held', () => {
    const { inTurn, take, slept } = setUp();
    expect([inTurn(() => take(30)), inTurn(() => take(5)), inTurn(() => take(1))]).toEqual([30, 5, 1]);
    expect(slept).toEqual([30, 5]);
  });

  test('counts what is done between', () => {
    const { inTurn, take, slept } = setUp();
    inTurn(() => take(30));
    take(20);
    inTurn(() => take(10));
    take(50);
    inTurn(() => take(10));
    expect(slept).toEqual([10]);
  });

  test('rests after a failure too, and passes it on', () => {
    const { inTurn, take, slept } = setUp();
    const fail = () =>
      inTurn(() => {
        take(7);
        throw new Error('no');
      });
    expect(fail).toThrow('no');
    inTurn(() => {});
    expect(slept).toEqual([7]);
  });

  test('takes the real time when it is given none', () => {
    expect(takingTurns()(() => 'done')).toBe('done');
  });
});
