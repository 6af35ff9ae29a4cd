import { describe } from 'bun:test';
import { CLIENT_NAMES } from '../support/clients.ts';
import { installCli } from './install-clis.ts';
import { enterNamespace } from './namespace.ts';

const installAll = () => Promise.all(CLIENT_NAMES.map(installCli));

/** What groups tests in a network namespace of their own; without one it says why, and skips them. */
export async function offlineSuite(prepare: () => Promise<unknown> = installAll): Promise<typeof describe> {
  const entry = await enterNamespace(prepare);
  if (entry.kind === 'ended') process.exit(entry.exitCode);
  if (entry.kind === 'refused') console.log(`SKIPPED: ${entry.reason}`);
  const suite = entry.kind === 'refused' ? describe.skip : describe;
  return suite as typeof describe;
}
