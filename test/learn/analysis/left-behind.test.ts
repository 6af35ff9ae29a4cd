import { describe, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { endClients, removeOldDirectories } from '../../../src/learn/analysis/left-behind.ts';
import { identityOf, isSameProcess } from '../../../src/sys/process-identity.ts';
import { temporaryHome } from '../../support/home.ts';

/** A program that ends at SIGTERM, or not. */
function start(script: string) {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  return { child, pid: child.pid ?? 0, ended: once(child, 'exit') };
}

describe.if(process.platform === 'linux')('endClients()', () => {
  for (const [what, script, signal] of [
    ['one that obeys', 'echo; sleep 60', 'SIGTERM'],
    ['one that does not', 'trap "" TERM; echo; while :; do sleep 60; done', 'SIGKILL'],
  ] as const) {
    test(`ends ${what}`, async () => {
      const { child, pid, ended } = start(script);
      await once(child.stdout, 'data');
      const client = identityOf(pid);
      await endClients(client ? [client] : []);
      expect(await ended).toEqual([null, signal]);
    });
  }

  test('leaves a process alone that has the same id and started at another time', async () => {
    const { child, pid, ended } = start('sleep 60');
    const alive = identityOf(pid) ?? { pid, start: '', boot: '' };
    await endClients([
      { ...alive, start: `${alive.start}0` },
      { pid: process.pid, start: '1', boot: 'another' },
    ]);
    expect(isSameProcess(alive)).toBe(true);
    child.kill('SIGKILL');
    await ended;
  });
});

describe('removeOldDirectories()', () => {
  test('removes what nothing was put into since, with what is in it, and nothing else', () => {
    using home = temporaryHome();
    for (const name of ['analysis-old', 'analysis-new', 'other-old']) mkdirSync(`${home.path}/${name}`);
    writeFileSync(`${home.path}/analysis-old/left`, '');
    writeFileSync(`${home.path}/analysis-file`, '');
    for (const name of ['analysis-old', 'other-old', 'analysis-file'])
      utimesSync(`${home.path}/${name}`, 1000, 1000);
    removeOldDirectories(home.path, new Date(2_000_000));
    const names = ['analysis-old', 'analysis-new', 'other-old', 'analysis-file'];
    expect(names.map((name) => existsSync(`${home.path}/${name}`))).toEqual([false, true, true, true]);
    expect(() => removeOldDirectories(`${home.path}/none`, new Date())).not.toThrow();
  });
});
