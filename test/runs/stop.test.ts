import { describe, expect } from 'bun:test';
import { giveUpUnseen } from '../../src/runs/stop.ts';
import { changeTurn, getTurn, requestStop } from '../../src/runs/store/turns.ts';
import { currentBoot, identityOf } from '../../src/system/process-identity.ts';
import { test } from './in-home.ts';
import { NOW_MS, started } from './store/made-up.ts';

const ELSEWHERE = `${currentBoot().split('/')[0]}/pid:[1]`;
const STOP = { reason: 'requested', by: 'a test', atMs: NOW_MS } as const;
const here = identityOf(process.pid);
if (here === undefined) throw new Error('Cannot see this process');

describe.if(process.platform === 'linux')('giveUpUnseen()', () => {
  const rows = [
    { what: 'whose supervisor is in another namespace', owner: { ...here, boot: ELSEWHERE }, state: 'lost' },
    { what: 'whose supervisor can be seen', owner: here, state: 'running' },
    { what: 'whose supervisor has certainly ended', owner: { ...here, start: '0' }, state: 'running' },
  ];
  const stops = ['', 'another'].flatMap((session) => rows.map((row) => ({ ...row, session })));
  for (const { what, owner, state, session } of stops) {
    const by = session === '' ? 'the one who asked for it' : 'somebody else';
    test(`leaves a turn ${what} ${state} when ${by} stops it, and tells who asked only where that was somebody else`, ({
      db,
      paths,
    }) => {
      const begun = changeTurn(started(db), { owner }, db);
      if (begun !== undefined) requestStop(begun.runId, { ...STOP, session }, db);
      const turn = getTurn(begun?.runId ?? '', 1, db);
      if (turn === undefined) throw new Error('Cannot change the turn');
      const given = giveUpUnseen([{ runId: turn.runId, turn: 1 }], {
        paths,
        env: {},
        platform: 'linux',
        cwd: '/',
        executablePath: process.execPath,
        isCompiled: false,
        now: () => new Date(NOW_MS + 1),
      });
      expect(given).toHaveLength(state === 'lost' ? 1 : 0);
      const now = getTurn(turn.runId, 1, db);
      expect(now?.state as string).toBe(state);
      if (state === 'lost') expect(now?.error).toContain('container or sandbox');
      const isTold = state === 'lost' && session !== '';
      expect(db.all('SELECT status FROM outbox')).toEqual(isTold ? [{ status: 'unknown' }] : []);
    });
  }
});
