import { test as testOfBun } from 'bun:test';
import { type Home, inHome } from './store/made-up.ts';

/** A test in a home of its own, with a database of runs. */
export function test(title: string, work: (home: Home) => void | Promise<void>): void {
  testOfBun(title, () => inHome(work));
}
