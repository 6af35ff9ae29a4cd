import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describeEnd } from '../../src/setup/live-check.ts';
import { runCommand } from '../../src/sys/run-command.ts';

/** A client that can be started: a native binary, or the `cli.js` of an older release. */
export type InstalledClient = { readonly path: string; readonly version: string };

/** The release that the tests are written for. */
export const CLIENT_VERSION = process.env.CLAUDE_CODE_VERSION ?? '2.1.328';

const PACKAGE = '@anthropic-ai/claude-code';
const INSTALL_TIMEOUT_MS = 10 * 60_000;

/**
 * The client of this exact version, from the cache or from npm. No install script runs: the native binary is taken
 * from its platform package. Safe to call from several processes at once: each installs for itself, the first
 * rename wins.
 */
export async function installClient(version: string): Promise<InstalledClient> {
  if (!/^\d+\.\d+\.\d+$/.test(version))
    throw new Error(`Cannot install the client: no version: "${version}"`);
  const cache =
    process.env.SELF_GENERATION_CLIENT_CACHE ?? join(homedir(), '.cache', 'self-generation-test-clients');
  const directory = join(cache, version);
  const cached = findClient(directory);
  if (cached !== undefined) return { path: cached, version };

  await mkdir(cache, { recursive: true });
  const incoming = await mkdtemp(join(cache, '.incoming-'));
  try {
    await install(version, incoming);
    await rename(incoming, directory).catch((error: unknown) => {
      if (findClient(directory) === undefined) throw error;
    });
  } finally {
    await rm(incoming, { recursive: true, force: true });
  }
  const path = findClient(directory);
  if (path === undefined) throw new Error(`Cannot use client ${version}: it is not in "${directory}"`);
  return { path, version };
}

async function install(version: string, directory: string): Promise<void> {
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'test-client', private: true }));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const end = await runCommand('npm', ['install', ...flags, `${PACKAGE}@${version}`], {
    cwd: directory,
    env: process.env,
    timeoutMs: INSTALL_TIMEOUT_MS,
  });
  if (end.kind !== 'exited' || end.code !== 0) {
    throw new Error(`Cannot install client ${version}: npm ${describeEnd(end)}`);
  }
  if (findClient(directory) === undefined) {
    throw new Error(`Cannot install client ${version}: no program for ${process.platform}-${process.arch}`);
  }
}

function findClient(directory: string): string | undefined {
  const modules = join(directory, 'node_modules');
  const native = `${PACKAGE}-${process.platform}-${process.arch}`;
  const places = [
    join(modules, native, 'claude'),
    join(modules, `${native}-musl`, 'claude'),
    join(modules, PACKAGE, 'cli.js'),
  ];
  return places.find((path) => existsSync(path));
}
