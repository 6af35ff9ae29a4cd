import { test } from 'bun:test';
import { type Home, inHome } from './store/made-up.ts';

/** A test in a home of its own, with a database of runs. */
export function testInHome(title: string, work: (home: Home) => void | Promise<void>): void {
  test(title, () => inHome(work));
}
