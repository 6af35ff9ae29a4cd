import { describe } from 'bun:test';
import { enterNamespace } from './namespace.ts';

/** What groups tests in a network namespace of their own; without one it says why, and skips them. */
export async function offlineSuite(prepare: () => Promise<unknown>): Promise<typeof describe> {
  const entry = await enterNamespace(prepare);
  if (entry.kind === 'ended') process.exit(entry.exitCode);
  if (entry.kind === 'refused') console.log(`SKIPPED: ${entry.reason}`);
  const suite = entry.kind === 'refused' ? describe.skip : describe;
  return suite as typeof describe;
}
