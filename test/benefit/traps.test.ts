import { describe, expect, test } from 'bun:test';
import { sha256 } from '#runtime';
import { type Random, random } from '../../scripts/measure.ts';
import { type Prevention, type PreventionEvent, prevention } from '../../src/benefit/evidence/prevention.ts';
import { armOf } from '../../src/benefit/model/coin.ts';
import { proofOf } from '../../src/benefit/report.ts';
import { settleNew } from '../../src/benefit/settle-new.ts';
import { linkSession, readLedger, verifyLedger } from '../../src/database/ledger.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { temporaryHome } from '../support/home.ts';
import { FAILING, ran, SAYS, tell, USE } from '../support/ledger.ts';

/**
 * Worlds in which what is told goes from one agent to the next: who knows fails 0.4 times as often. Designs that toss for less
 * than the whole tree compare agents that know with agents that know too.
 */

const RATIO = 0.4;
const P = 0.5;
const KEY = '0123456789abcdef'.repeat(4);

const toss = (root: string) =>
  armOf({ key: KEY, channel: 'start', group: 'a failure', root, holdPercent: 100 * P });

/** A moment at which something could be told, in an agent of a session of a tree. */
type Moment = {
  readonly tree: string;
  readonly session: string;
  readonly agent: string;
  readonly moment: string;
};
type Design = (moment: Moment) => string;

const ours: Design = ({ tree }) => tree;
const perSession: Design = ({ session }) => session;
const perAgent: Design = ({ agent }) => agent;
const perMoment: Design = ({ moment }) => moment;

/** How a tree is made, and what goes on to the next agent. */
type Shape = {
  readonly sessions: number;
  readonly agents: number;
  readonly moments: number;
  readonly passedOn: number;
};

/** Agents one after the other: what one knows reaches the next by what it reports, now and then. */
const DELEGATES: Shape = { sessions: 1, agents: 3, moments: 1, passedOn: 0.45 };
/** An agent that is told again, as when its conversation was made shorter, and still knows what it was told. */
const IS_TOLD_AGAIN: Shape = { sessions: 1, agents: 1, moments: 4, passedOn: 1 };
/** A session that was resumed and forked: its conversation goes on. */
const GOES_ON: Shape = { sessions: 3, agents: 1, moments: 1, passedOn: 1 };

const RISK = 0.02;
const TREES = 60_000;

/** What failed in so many trees, each with the arm that the design gave to the moment; ours counts a tree's first failure. */
function failuresOf(shape: Shape, design: Design, { next }: Random): PreventionEvent[] {
  const isFirstOnly = design === ours;
  return Array.from({ length: TREES }, (_, at) => at).flatMap((at) => {
    const events: PreventionEvent[] = [];
    let isKnown = false;
    for (let session = 0; session < shape.sessions; session++)
      for (let agent = 0; agent < shape.agents; agent++) {
        let knows: boolean = isKnown;
        for (let moment = 0; moment < shape.moments; moment++) {
          const inSession = `${at}.${session}`;
          const inAgent = `${inSession}.${agent}`;
          const isHeld = toss(
            design({ tree: `${at}`, session: inSession, agent: inAgent, moment: `${inAgent}.${moment}` }),
          );
          knows ||= !isHeld;
          if (next() < RISK * (knows ? RATIO : 1)) events.push({ isHeld, p: P });
        }
        isKnown ||= knows && next() < shape.passedOn;
      }
    return isFirstOnly ? events.slice(0, 1) : events;
  });
}

/** The risk where told, as a multiple, as somebody would read it off. */
const readOff = ({ told, held }: Prevention) => told / held;

describe('what goes from one agent to the next is seen only by a coin for each tree', () => {
  test.each([
    // A coin for each agent reads about 0.54 for 0.4, one for each moment 0.67.
    ['each agent', DELEGATES, perAgent, 0.47, 0.62],
    ['each moment', IS_TOLD_AGAIN, perMoment, 0.58, 0.8],
    ['each session that goes on', GOES_ON, perSession, 0.45, 0.6],
  ])('a coin for %s finds less than there is, ours finds it', (_, shape, wrong, least, most) => {
    const misread = prevention(failuresOf(shape, wrong, random(1)));
    expect(readOff(misread)).toBeGreaterThan(least);
    expect(readOff(misread)).toBeLessThan(most);
    expect(misread.low).toBeGreaterThan(RATIO);
    const read = prevention(failuresOf(shape, ours, random(1)));
    expect(Math.abs(readOff(read) - RATIO)).toBeLessThan(0.05);
    expect(read.low < RATIO && read.high > RATIO).toBe(true);
  });
});

describe('a failure that is repeated in a tree counts once', () => {
  /** Trees in which telling changes nothing; what fails there is tried on average so many times. */
  const promoted = (isEachCounted: boolean) => {
    const { next } = random(3);
    const worlds = Array.from({ length: 300 }, (_, world) => world).filter((world) => {
      let [held, told] = [0, 0];
      for (let tree = 0; tree < 60; tree++) {
        let times = 1;
        while (next() < 0.7) times++;
        const count = isEachCounted ? times : 1;
        if (toss(`${world}.${tree}`)) held += count;
        else told += count;
        const events = Array.from({ length: held + told }, (_, at) => ({ isHeld: at < held, p: P }));
        if (prevention(events).evidence >= 20) return true;
      }
      return false;
    });
    return worlds.length / 300;
  };

  test('every repeat counted proves something where there is nothing in a third of all cases, ours hardly ever', () => {
    expect(promoted(true)).toBeGreaterThan(0.25);
    expect(promoted(false)).toBeLessThan(0.08);
  });
});

describe('the ledger reads the truth', () => {
  const DAY = 86_400_000;
  const START = Date.parse('2026-06-01T09:00:00.000Z');
  const RATE = { startPerWeek: 4, failurePerWeek: 4, weeksSeen: 4 };

  /** Trees of a session, one that resumes it as a fork, and a fork of that, which fail now and then, each several times. */
  const lived = (ratio: number, risk = 0.6) => {
    using home = temporaryHome();
    return writeDatabase(home.paths, (db) => {
      const { next } = random(11);
      const failedTrees = { held: 0, told: 0 };
      // Always the same coin, so that the same arms come of it.
      const coin = [KEY, sha256(KEY), new Date(START).toISOString()];
      db.sqlite.run('INSERT INTO coin(id, key, commitment, since) VALUES (1, ?, ?, ?)', ...coin);
      db.sqlite.transaction(() => {
        for (let tree = 0; tree < 300; tree++) {
          const at = (minutes: number) =>
            new Date(START + (tree * DAY) / 10 + minutes * 60_000).toISOString();
          const sessions = [`s${tree}`, `s${tree}-resumed`, `s${tree}-again`];
          for (const [index, session] of sessions.entries())
            if (index > 0) linkSession(session, sessions[index - 1] ?? '', db);
          const arms = sessions.map((session, index) =>
            tell({ session, ts: at(index * 10), holdPercent: 50 }, db),
          );
          expect(new Set(arms).size).toBe(1);
          const [isHeld = false] = arms;
          if (next() >= risk * (isHeld ? 1 : ratio)) continue;
          failedTrees[isHeld ? 'held' : 'told']++;
          for (const [index, session] of sessions.entries()) {
            ran(FAILING, { session, ts: at(index * 10 + 1), says: SAYS }, db);
            ran(USE, { session, ts: at(index * 10 + 2) }, db);
          }
        }
      });
      settleNew({ now: new Date(START + 60 * DAY) }, db);
      const rows = readLedger(db);
      expect(rows).toHaveLength(300);
      expect(verifyLedger(db)).toEqual([]);
      const proof = proofOf(rows, { holdOut: 'trial', answered: new Set(), rate: RATE });
      expect(proof.start.found).toMatchObject(failedTrees);
      return proof;
    });
  };

  test('that telling prevents six of ten', () => {
    const { start } = lived(RATIO);
    expect(start.verdict).toBe('helps');
    expect(start.found.low < RATIO && start.found.high > RATIO).toBe(true);
  });

  test('that it changes nothing', () => {
    const { start, some } = lived(1);
    expect([start.verdict, some.verdict]).toEqual(['open', 'open']);
    expect(start.found.low < 1 && start.found.high > 1).toBe(true);
  });

  test('that it does harm', () => expect(lived(2.5, 0.35).start.verdict).toBe('harms'));
});
