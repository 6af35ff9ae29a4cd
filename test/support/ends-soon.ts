import { expect, test } from 'bun:test';
import { cpuTimeMs } from './cpu-time.ts';

const MIB = 1024 * 1024;

/** Tests that work on a mebibyte of each of these takes no more than this: that nothing goes back and forth in a text. */
export function testEndsSoon(
  name: string,
  work: (text: string) => unknown,
  units: readonly string[],
  cpuMsMax = 2000,
): void {
  test.each(units)(`${name}() ends soon when it is given a mebibyte of %j`, (unit) => {
    const text = unit.repeat(Math.ceil(MIB / unit.length));
    expect(cpuTimeMs(() => work(text))).toBeLessThan(cpuMsMax);
  });
}
