import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientName } from '../support/clients.ts';
import { CLIENT_VERSION, installClient, installPackage } from './install-client.ts';

/** The releases that the tests are written for. */
const SPECS = {
  codex: '@openai/codex@0.169.0',
  gemini: '@google/gemini-cli@0.61.0',
  opencode: 'opencode-ai@1.18.33',
} as const;

/** Below the installation. OpenCode's own entry is a stand-in until an install script has run. */
const PROGRAMS: Readonly<Record<keyof typeof SPECS, string>> = {
  codex: '.bin/codex',
  gemini: '.bin/gemini',
  opencode: `opencode-${process.platform}-${process.arch}/bin/opencode`,
};

/** The program of this client, from the cache or from npm. */
export async function installCli(name: ClientName): Promise<string> {
  if (name === 'claude') return (await installClient(CLIENT_VERSION)).path;
  const spec = SPECS[name];
  return installPackage({
    name: `${name}-${spec.slice(spec.lastIndexOf('@') + 1)}`,
    spec,
    find: (directory) => {
      const path = join(directory, 'node_modules', PROGRAMS[name]);
      return existsSync(path) ? path : undefined;
    },
  });
}
