import { expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { tryProcessLock } from '../../src/hooks/store/use-database.ts';
import { temporaryHome } from '../support/home.ts';

const MODULE = resolve(import.meta.dir, '../../src/hooks/store/use-database.ts');

test('tryProcessLock() grants the lock to one at a time, until it is released', () => {
  using home = temporaryHome();
  const file = `${home.path}/x.lock`;
  const release = tryProcessLock(file);
  expect(release).toBeFunction();
  expect(tryProcessLock(file)).toBeUndefined();
  release?.();
  tryProcessLock(file)?.();
});

test('tryProcessLock() grants it when the process that had it was killed', async () => {
  using home = temporaryHome();
  const file = `${home.path}/x.lock`;
  const script = `const { tryProcessLock } = await import(${JSON.stringify(MODULE)});
    globalThis.release = tryProcessLock(${JSON.stringify(file)});
    console.log(globalThis.release === undefined ? 'no' : 'held'); setInterval(() => {}, 1000);`;
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'ignore' });
  try {
    const { value } = await child.stdout.getReader().read();
    expect(new TextDecoder().decode(value)).toBe('held\n');
    expect(tryProcessLock(file)).toBeUndefined();
  } finally {
    child.kill('SIGKILL');
  }
  await child.exited;
  const release = tryProcessLock(file);
  expect(release).toBeFunction();
  release?.();
}, 30_000);

test('tryProcessLock() throws when the file cannot be made', () => {
  using home = temporaryHome();
  expect(() => tryProcessLock(`${home.path}/missing/x.lock`)).toThrow();
});
