import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync } from 'node:fs';
import fc from 'fast-check';
import type { Telling } from '../../src/benefit/model/telling.ts';
import {
  ensureCoin,
  linkSession,
  readLedger,
  recordTellings,
  verifyLedger,
} from '../../src/database/ledger.ts';
import type { Decision } from '../../src/hooks/decision.ts';
import { noteRepository } from '../../src/lessons/store/lesson-log.ts';
import { readRows } from '../support/home.ts';
import { decideIn, play } from '../support/hook-play.ts';
import { insideFrame, runHookProcess } from '../support/hook-process.ts';
import { agentStart, bashFailure, PROJECT, payload } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';
import { type FixSeed, seedErrors, seedFixes, withDatabase } from '../support/seed.ts';

const home = homePerTest();
const NOW = new Date();
const SESSIONS = Array.from({ length: 60 }, (_, index) => `session-${index}`);

const TRIAL = { config: { language: 'en', proof: { holdOut: 'trial' } } };
const OFF = { config: { language: 'en' } };

const lesson = (name: string, more: Partial<FixSeed> = {}): FixSeed => ({
  ...{ error: `key of ${name}`, said: `${name} failed`, sessions: 2, resolvedBy: 'lesson' },
  resolution: { kind: 'command', failing: 'make old', use: `make ${name}` },
  ...more,
});
const lint = (rule: string): FixSeed => ({
  ...{ error: `${rule} · eslint`, said: rule, sessions: 2, resolvedBy: 'lesson' },
  resolution: { kind: 'lint', rule, message: rule },
});

/** Lessons in a database that has a coin. */
function seed(...fixes: FixSeed[]): void {
  withDatabase(home.paths, (db) => ensureCoin(db, NOW));
  seedFixes(home.paths, fixes);
}

const started = (session: string, options: object = TRIAL) =>
  decideIn(home, agentStart('executor', { session_id: session }), options);
const linesOf = ({ reply }: Decision) => insideFrame(reply?.context)?.split('\n') ?? [];
const heldOf = ({ tellings = [] }: Decision) => tellings.filter(({ isHeld }) => isHeld);

function note({ tellings = [] }: Decision, sessionId: string): void {
  const ts = NOW.toISOString();
  withDatabase(home.paths, (db) => recordTellings({ ts, sessionId, agentId: null, tellings }, db));
}

describe('a start, with a coin', () => {
  test('leaves out what is held, and tells everything else as it would without', () => {
    seedErrors(home.paths, [{ error: 'a bare error that has no fix yet' }]);
    seed(lesson('one'), lesson('two'), lint('no-console'), lint('sort-keys'), lesson('six', { sessions: 1 }));
    const all = linesOf(started('any', OFF));
    let held = 0;
    for (const session of SESSIONS) {
      const decision = started(session);
      const isHeld = (line: string) =>
        heldOf(decision).some(({ text }) => text.split('\n').includes(line.replace(/ ×\d+$/, '')));
      const expected = all.filter((line) => !isHeld(line) && !line.includes('Lint rules'));
      const shown = linesOf(decision);
      const isEmpty = shown.every((line) => !line.startsWith('- '));
      if (isEmpty) expect(decision.reply).toBeUndefined();
      else expect(shown.filter((line) => !line.includes('Lint rules'))).toEqual(expected);
      held += heldOf(decision).length;
    }
    const share = held / SESSIONS.length / (started('any', OFF).tellings?.length ?? 0);
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.6);
  });

  test('a held lint rule leaves the line, which goes when all of them are held', () => {
    seed(lint('no-console'), lint('sort-keys'));
    const shown = new Set<string>();
    for (const session of SESSIONS) {
      const decision = started(session);
      const told = decision.tellings?.filter(({ isHeld }) => !isHeld).map(({ text }) => text.slice(2)) ?? [];
      const line = told.length === 0 ? undefined : `- Lint rules of this project: ${told.join('; ')}`;
      expect(linesOf(decision)[1]).toBe(line as string);
      shown.add(String(line));
    }
    expect(shown.size).toBe(4);
  });

  test('nothing moves up into a held place', () => {
    seed(...['one', 'two', 'three', 'four', 'five', 'six'].map((name) => lesson(name)));
    const off = new Set(started('any', OFF).tellings?.map(({ text }) => text));
    expect(off.size).toBe(3);
    for (const session of SESSIONS)
      expect(new Set(started(session).tellings?.map(({ text }) => text))).toEqual(off);
  });

  test('everything held is no reply, and is noted', () => {
    seed(lesson('one'));
    const decisions = SESSIONS.map((session) => started(session));
    const silent = decisions.filter(({ reply }) => reply === undefined);
    expect(silent.length).toBeGreaterThan(10);
    expect(decisions.length - silent.length).toBeGreaterThan(10);
    for (const decision of silent) expect(heldOf(decision)).toHaveLength(1);
  });

  test('the same is held for every sub-agent, for the main session and for a fork', () => {
    seed(lesson('one'), lesson('two'), lesson('three'));
    for (const session of SESSIONS) {
      const { tellings } = started(session);
      expect(decideIn(home, payload('session-start', { session_id: session }), TRIAL).tellings).toEqual(
        tellings,
      );
      withDatabase(home.paths, (db) => linkSession(`fork of ${session}`, session, db));
      expect(started(`fork of ${session}`).tellings).toEqual(tellings);
    }
  });

  test('clones of a repository share their coin', () => {
    seed(lesson('one'));
    withDatabase(home.paths, (db) => noteRepository(PROJECT, 'repository', db));
    expect(started('any').tellings?.[0]?.group).toEqual({ place: 'repository', key: 'key of one' });
  });

  test('what the ledger says stays, whatever the setting and the answer have become', () => {
    seed(lesson('one'));
    const held = SESSIONS.find((session) => heldOf(started(session)).length > 0) as string;
    note(started(held), held);
    withDatabase(home.paths, (db) => db.sqlite.exec("INSERT INTO answered VALUES ('rule', 0, '2026')"));
    const low = { config: { proof: { holdOut: 'low' } } };
    for (const options of [TRIAL, low])
      expect(started(held, options).tellings).toMatchObject([{ isHeld: true, holdPercent: 50 }]);
    const percents = SESSIONS.filter((session) => session !== held).map(
      (session) => started(session).tellings?.[0],
    );
    expect(new Set(percents.map((telling) => telling?.holdPercent))).toEqual(new Set([10]));
  });

  const neverHeld: [what: string, fixes: FixSeed[], kind: Telling['kind'], change?: string][] = [
    ['what a person wrote', [lesson('one', { resolvedBy: 'user' })], 'user'],
    ['what is pinned', [lesson('one')], 'rule', 'UPDATE error_kb SET pinned = 1'],
    ['what is pinned and quiet', [lesson('one')], 'rule', 'UPDATE error_kb SET pinned = 1, quiet = 1'],
    [
      'what a person shares of another project',
      [lesson('one', { projectPath: '/home/dev/other', resolvedBy: 'model' })],
      'model',
      'UPDATE error_kb SET shared = resolution',
    ],
  ];
  for (const [what, fixes, kind, change = 'SELECT 1'] of neverHeld) {
    test(`never holds out ${what}`, () => {
      seed(...fixes);
      withDatabase(home.paths, (db) => db.sqlite.exec(change));
      for (const session of SESSIONS)
        expect(started(session).tellings).toMatchObject([{ kind, holdPercent: 0, isHeld: false }]);
    });
  }

  test('does not tell a lesson that is quiet', () => {
    seed(lesson('one'));
    withDatabase(home.paths, (db) => db.sqlite.exec('UPDATE error_kb SET quiet = 1'));
    expect(started('any', OFF)).toEqual({});
  });

  test('holds out nothing before there is a coin', () => {
    seedFixes(home.paths, [lesson('one')]);
    expect(heldOf(started('any'))).toEqual([]);
  });

  test('a copied conversation has been told', () => {
    seed(lesson('one'));
    for (const [source, isTold] of [
      ['startup', true],
      ['resume', true],
      ['fork', false],
      ['compact', false],
    ] as const) {
      const { tellings = [] } = decideIn(home, payload('session-start', { source }), OFF);
      expect(tellings.length > 0, source).toBe(isTold);
    }
  });

  test('an error without a fix is one of its own kind, and in one wording however often it happened', () => {
    seedErrors(home.paths, [{ error: 'a bare error that has no fix yet' }]);
    const [once] = started('any', OFF).tellings ?? [];
    expect(once).toMatchObject({
      kind: 'error',
      group: { place: PROJECT, key: 'a bare error that has no fix yet' },
    });
    seedErrors(home.paths, [{ error: 'a bare error that has no fix yet' }]);
    const again = started('any', OFF);
    expect(again.reply?.context).toContain(' ×2');
    expect(again.tellings).toEqual([once as Telling]);
  });

  test('whatever is told and held out, the ledger takes all of it, and finds nothing wrong', () => {
    const name = fc.stringMatching(/^[a-z]{5,12}$/);
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 6 }), name, (names, session) => {
        withDatabase(home.paths, (db) => db.sqlite.exec('DELETE FROM error_kb'));
        seed(...names.map((one) => lesson(one)), lint('no-console'));
        const before = withDatabase(home.paths, (db) => readLedger(db).length);
        note(started(session), session);
        note(started(session), session);
        const rows = withDatabase(home.paths, readLedger);
        const keys = rows.slice(before).map(({ key, root }) => `${root} ${key}`);
        expect(new Set(keys).size).toBe(keys.length);
        expect(withDatabase(home.paths, verifyLedger)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });
});

describe('a failing call, with a coin', () => {
  const ERROR = "Exit code 1\nerror: unknown option '--bail'";
  const known = lesson('bail', { error: "unknown option '--bail' · npm", said: ERROR.slice(12) });
  const failed = (session: string, id = 'toolu_1') =>
    bashFailure(ERROR, {
      ...{ session_id: session, tool_use_id: id },
      tool_input: { command: 'npm run lint -- --bail' },
    });
  const find = (isHeld: boolean) =>
    SESSIONS.find(
      (session) => heldOf(decideIn(home, failed(session), TRIAL)).length === Number(isHeld),
    ) as string;

  test('tells in one half of the sessions, and notes both', () => {
    seed(known);
    const decisions = SESSIONS.map((session) => decideIn(home, failed(session), TRIAL));
    for (const { tellings, reply } of decisions) {
      expect(tellings).toMatchObject([
        { channel: 'failure', kind: 'rule', callId: 'toolu_1', holdPercent: 50 },
      ]);
      expect(reply === undefined).toBe(tellings?.[0]?.isHeld === true);
    }
    expect(decisions.filter(({ reply }) => reply).length).toBeGreaterThan(20);
    expect(decisions.filter(({ reply }) => !reply).length).toBeGreaterThan(20);
  });

  test('what is held out does not count as shown', () => {
    seed(known);
    play(home, [failed(find(true))], TRIAL);
    expect(readRows(home.paths, 'SELECT shown_count, seen_count FROM error_kb')).toMatchObject([
      { shown_count: 0, seen_count: 1 },
    ]);
  });

  test('a second call says nothing in either arm, also where the note of the first is not taken, or lost', () => {
    seed(known);
    for (const session of [find(true), find(false)]) {
      play(home, [failed(session, `first of ${session}`)], TRIAL);
      expect(decideIn(home, failed(session, 'toolu_2'), TRIAL).tellings).toBeUndefined();
    }
  });

  test('tells once in a tree, and holds out once', () => {
    for (const isHeld of [true, false]) {
      seed({ ...known, error: `${known.error}` });
      const session = find(isHeld);
      note(decideIn(home, failed(session), TRIAL), session);
      withDatabase(home.paths, (db) => linkSession('fork', session, db));
      for (const later of [session, 'fork'])
        for (const options of [TRIAL, OFF]) {
          const { tellings, reply } = decideIn(home, failed(later, 'toolu_2'), options);
          expect([tellings, reply]).toEqual([undefined, undefined]);
        }
      withDatabase(home.paths, (db) => db.sqlite.exec('DELETE FROM error_kb; DELETE FROM forks'));
    }
  });

  test('another name of the same failure belongs to the lesson that is told', () => {
    const MODULE = "Error: Cannot find module 'lodash'";
    seed(lesson('lodash', { error: `${MODULE} · node`, said: MODULE }));
    const other = bashFailure("Error: Cannot find module 'express'", {
      tool_input: { command: 'node a.js' },
    });
    expect(decideIn(home, other, OFF).tellings?.[0]?.group.key).toBe(`${MODULE} · node`);
  });
});

describe('the hooks as processes', () => {
  const run = (event: object) => runHookProcess(event, { home: home.path });
  const rows = () =>
    withDatabase(home.paths, readLedger).map(({ root, channel, agent, key }) => [root, channel, agent, key]);

  test('what is held out is answered with an empty object: whether an answer is taken is seen in both arms', async () => {
    seed(lesson('one'));
    home.put('.self-generation/config.json', JSON.stringify(TRIAL.config));
    const held = SESSIONS.find((session) => heldOf(started(session)).length > 0) as string;
    for (const event of [
      agentStart('executor', { session_id: held }),
      payload('session-start', { session_id: held }),
    ])
      expect((await run(event)).stdout).toBe('{}\n');
    home.put('.self-generation/config.json', JSON.stringify({ enabled: true }));
    expect((await run(agentStart('architect', { session_id: held }))).stdout).toContain('additionalContext');
    expect((await run(agentStart('poet', { session_id: held }))).stdout).toBe('');
  });

  test('what three hooks told stands in the ledger when the session has ended', async () => {
    const KEY = "unknown option '--bail' · npm";
    seed(lesson('bail', { error: KEY, said: "error: unknown option '--bail'" }));
    mkdirSync(home.paths.given, { recursive: true }); // As install does.
    await run(payload('session-start', { session_id: 'main' }));
    await run(agentStart('executor', { session_id: 'main', agent_id: 'a1' }));
    await run(agentStart('executor', { session_id: 'other', agent_id: 'a2' }));
    const error = "Exit code 1\nerror: unknown option '--bail'";
    await run(bashFailure(error, { session_id: 'main', tool_input: { command: 'npm run lint -- --bail' } }));
    await run(payload('session-end', { session_id: 'main' }));
    expect(rows().sort()).toEqual([
      ['main', 'failure', null, KEY],
      ['main', 'start', null, KEY],
      ['other', 'start', 'a2', KEY],
    ]);
    expect(readdirSync(home.paths.given)).toEqual([]);
  });
});
