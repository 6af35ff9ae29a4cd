import { describe, expect, test } from 'bun:test';
import { changeTurn, getTurn } from '../../src/store/runs/turns.ts';
import { giveUpUnseen } from '../../src/subagents/stop.ts';
import { currentBoot, identityOf } from '../../src/sys/process-identity.ts';
import { inHome, NOW_MS, started } from '../store/runs/made-up.ts';

const ELSEWHERE = `${currentBoot().split('/')[0]}/pid:[1]`;
const here = identityOf(process.pid);
if (here === undefined) throw new Error('Cannot see this process');

describe.if(process.platform === 'linux')('giveUpUnseen()', () => {
  const rows = [
    { what: 'whose supervisor is in another namespace', owner: { ...here, boot: ELSEWHERE }, state: 'lost' },
    { what: 'whose supervisor can be seen', owner: here, state: 'running' },
    { what: 'whose supervisor has certainly ended', owner: { ...here, start: '0' }, state: 'running' },
  ];
  for (const { what, owner, state } of rows) {
    test(`leaves a turn ${what} ${state}`, () =>
      inHome(({ db, paths }) => {
        const turn = changeTurn(started(db), { owner }, db);
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
        expect(db.all('SELECT 1 FROM outbox')).toEqual([]);
      }));
  }
});
