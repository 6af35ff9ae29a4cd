import { describe, expect, test } from 'bun:test';
import { replay } from '../../scripts/replay-ledger.ts';
import { readLedger, verifyLedger } from '../../src/database/ledger.ts';
import { temporaryHome } from '../support/home.ts';
import { FAILING, KEY, SAYS, USE } from '../support/ledger.ts';
import { Clock, putText, Transcript, transcriptPath } from '../support/transcripts.ts';

const DAY_MS = 86_400_000;
const SESSIONS = 16;

/** The outcomes of sessions in which the same fails every time, after the first, in which it is learnt. */
function played(planted: { readonly effect?: number; readonly harm?: number }) {
  using home = temporaryHome();
  for (let day = 0; day < SESSIONS; day++) {
    const session = `s${day}`;
    const clock = new Clock(Date.parse('2026-10-01T09:00:00.000Z') + day * DAY_MS);
    const transcript = new Transcript({ session, clock })
      .prompt('Go.')
      .fail('Bash', { command: FAILING }, SAYS);
    putText(home, transcriptPath(session), transcript.succeed('Bash', { command: USE }).text);
  }
  const plan = { directory: `${home.path}/.claude/projects`, effect: 0, harm: 0, seed: 1, ...planted };
  return replay(plan, (db) => {
    expect(verifyLedger(db)).toEqual([]);
    return readLedger(db).filter(({ key, channel }) => key === KEY && channel === 'start');
  });
}

describe('replay()', () => {
  test('notes one telling at the start of each session, and what came of it, until it is withdrawn for that', () => {
    const rows = played({});
    expect(rows.length).toBeGreaterThan(4);
    expect(rows.map(({ root }) => root)).toEqual(rows.map((_, at) => `s${at + 1}`));
    for (const row of rows) expect(row).toMatchObject({ calls: 1, ended: 'passed', holdPercent: 50 });
  });

  test('an effect that is planted takes failures from the told arm alone', () => {
    const rows = played({ effect: 1 });
    expect(new Set(rows.map(({ isHeld }) => isHeld)).size).toBe(2);
    for (const { isHeld, failedAt } of rows) expect(failedAt !== null).toBe(isHeld);
  });

  test('so does harm, and nothing that was held out fails for it', () => {
    const rows = played({ effect: 1, harm: 1 });
    for (const { isHeld, failedCall } of rows) expect(failedCall?.startsWith('planted')).toBe(!isHeld);
  });
});
