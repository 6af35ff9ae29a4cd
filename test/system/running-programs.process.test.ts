import { describe, expect, test } from 'bun:test';
import { chmodSync, copyFileSync, renameSync } from 'node:fs';
import fc from 'fast-check';
import { programsIn, runningPrograms } from '../../src/system/running-programs.ts';
import { temporaryHome } from '../support/home.ts';

const BINARY = '/Users/dev/.self-generation/hooks/self-generation';
/** What `ps -axww -o lstart=,comm=` of macOS prints, in UTC. */
const LISTING = `Fri Nov 20 09:47:09 2026     /sbin/launchd
Mon Nov  9 08:00:00 2026     /Applications/Some App.app/Contents/MacOS/Some App
Fri Nov 20 10:00:00 2026     ${BINARY}
Fri Nov 20 10:00:05 2026     ${BINARY}
                             -zsh
`;

describe('programsIn()', () => {
  test('reads what ps of macOS prints, blanks in names included', () => {
    expect(programsIn(LISTING, () => undefined).map(({ path }) => path)).toEqual([
      '/sbin/launchd',
      '/Applications/Some App.app/Contents/MacOS/Some App',
      BINARY,
      BINARY,
    ]);
  });

  test('takes for replaced what has changed since the process started', () => {
    const changedMs = (path: string) => (path === BINARY ? Date.UTC(2026, 10, 20, 10, 0, 3, 500) : undefined);
    const found = programsIn(LISTING, changedMs).filter(({ path }) => path === BINARY);
    expect(found.map(({ isReplaced }) => isReplaced)).toEqual([true, false]);
  });

  test('throws at no listing', () => {
    fc.assert(fc.property(fc.string(), (text) => programsIn(text, () => 0).length >= 0));
  });
});

test.if(process.platform === 'linux')(
  'runningPrograms() tells a replaced program from one that is there',
  async () => {
    using home = temporaryHome();
    const path = `${home.path}/program`;
    copyFileSync('/bin/sleep', path);
    chmodSync(path, 0o700);
    const child = Bun.spawn([path, '60']);
    const found = () => runningPrograms().filter((one) => one.path === path);
    while (found().length === 0) await Bun.sleep(5); // Until it is no copy of this process.
    expect(found()).toEqual([{ path, isReplaced: false }]);
    renameSync(home.put('new', ''), path);
    expect(found()).toEqual([{ path, isReplaced: true }]);
    child.kill();
    await child.exited;
    expect(found()).toEqual([]);
  },
);
