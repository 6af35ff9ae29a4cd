import { describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { changeTurn } from '../../src/runs/store/turns.ts';
import { checkRuns } from '../../src/setup/background-runs.ts';
import { currentBoot, identityOf } from '../../src/system/process-identity.ts';
import { accepted, ended, type Home, inHome, NOW_MS, started } from '../runs/store/made-up.ts';

const look = ({ paths }: Home, afterMs = 1000) =>
  [checkRuns({ paths, now: new Date(NOW_MS + afterMs) })].flat();
const HOUR_MS = 3_600_000;

describe('checkRuns()', () => {
  test('is ok where there has never been a run, whatever the settings say', () =>
    inHome((home) => {
      home.db.close();
      for (const suffix of ['', '-wal', '-shm']) rmSync(home.paths.runsDatabase + suffix, { force: true });
      writeFileSync(home.paths.config, '{ broken');
      expect(look(home)).toMatchObject([{ status: 'ok' }]);
    }));

  test('counts runs, what is not delivered yet, and working trees that were kept', () =>
    inHome((home) => {
      const { runId } = ended(home.db);
      accepted(home.db);
      const tree = join(home.paths.worktrees, '0123', runId);
      mkdirSync(tree, { recursive: true });
      writeFileSync(join(tree, 'work'), '');
      const detail = `2 runs, 1 at work or waiting, 1 announcement not delivered yet, 1 working tree kept: ${tree}, integrity ok`;
      expect(look(home)).toEqual([{ status: 'ok', detail }]);
    }));

  test('warns of announcements that nobody has asked for in a day', () =>
    inHome((home) => {
      ended(home.db);
      expect(look(home, 23 * HOUR_MS)).toMatchObject([{ status: 'ok' }]);
      const [check] = look(home, 25 * HOUR_MS);
      expect(check).toMatchObject({
        status: 'warning',
        detail: '1 announcement of sub-agents not delivered, the oldest since 2026-05-01T10:00:01.000Z',
      });
      expect(check?.remedy).toContain('"self-generation subagents inbox" in "/home/dev/shop"');
    }));

  test('warns of a run whose supervisor is gone, and of none whose supervisor lives', () =>
    inHome((home) => {
      const turn = started(home.db);
      const alive = changeTurn(turn, { owner: identityOf(process.pid) ?? null }, home.db);
      if (alive === undefined) throw new Error('Cannot change the turn');
      expect(look(home)).toMatchObject([{ status: 'ok' }]);
      changeTurn(alive, { owner: { pid: process.pid, start: '1', boot: currentBoot() } }, home.db);
      const [check] = look(home);
      expect(check).toMatchObject({ status: 'warning', detail: expect.stringContaining(turn.runId) });
      expect(check?.remedy).toContain('self-generation subagents list');
    }));

  test('fails for settings with which no sub-agent is started', () =>
    inHome((home) => {
      accepted(home.db);
      writeFileSync(home.paths.config, '{"budget": 5}');
      const detail = expect.stringContaining('no sub-agent is started: the settings do not say');
      expect(look(home)).toMatchObject([{ status: 'failed', detail }]);
    }));

  test('shows what supervisors have noted in the last week, without anything a terminal obeys', () =>
    inHome((home) => {
      const log = join(home.paths.home, 'logs', 'runs.log');
      mkdirSync(join(home.paths.home, 'logs'));
      const line = (ms: number, message: string) =>
        `${JSON.stringify({ ts: new Date(NOW_MS + ms).toISOString(), run: 'x', message })}\n`;
      writeFileSync(log, `${line(-8 * 24 * HOUR_MS, 'old')}no JSON\n`);
      expect(look(home)).toMatchObject([{ status: 'ok' }]);
      writeFileSync(log, line(0, 'disk full \u001b[2J'));
      const [check] = look(home);
      expect(check).toMatchObject({ status: 'warning', remedy: `All of them: ${log}` });
      expect(check?.detail).toContain('1 failure in the last 7 days');
      expect(check?.detail).toContain('disk full');
      expect(check?.detail).not.toContain('\u001b');
    }));

  test('fails for a database of a newer version, and says what to do', () =>
    inHome((home) => {
      home.db.exec('PRAGMA user_version = 99');
      const [check] = look(home);
      expect(check).toMatchObject({
        status: 'failed',
        detail: expect.stringContaining('schema version is 99'),
        remedy: 'Install the newest version of self-generation',
      });
    }));

  test('fails for a damaged database, and says how to get a new one', () =>
    inHome((home) => {
      home.db.close();
      for (const suffix of ['-wal', '-shm']) rmSync(home.paths.runsDatabase + suffix, { force: true });
      writeFileSync(home.paths.runsDatabase, 'no database'.repeat(1000));
      const [check] = look(home);
      expect(check).toMatchObject({ status: 'failed', detail: expect.stringContaining('is damaged') });
      expect(check?.remedy).toContain(`mv "${home.paths.runsDatabase}"`);
    }));
});
