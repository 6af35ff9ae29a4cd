import { expect, test } from 'bun:test';
import { WakeableSleep } from '../../src/system/wakeable-sleep.ts';

const LONG_MS = 600_000;

test('a sleep ends by itself, and says that nothing woke it', async () => {
  const rest = new WakeableSleep();
  expect(await rest.sleep(1)).toBe(false);
});

test('a sleep ends when it is woken, once', async () => {
  const rest = new WakeableSleep();
  const slept = rest.sleep(LONG_MS);
  rest.wake();
  rest.wake();
  expect(await slept).toBe(true);
  expect(await rest.sleep(1)).toBe(false);
});

test('what wakes between two sleeps ends the next at once', async () => {
  const rest = new WakeableSleep();
  await rest.sleep(1);
  rest.wake();
  expect(await rest.sleep(LONG_MS)).toBe(true);
});
