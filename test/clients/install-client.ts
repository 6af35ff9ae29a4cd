import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describeEnd } from '../../src/setup/live-check.ts';
import { runCommand } from '../../src/system/run-command.ts';

/** A client that can be started: a native binary, or the `cli.js` of an older release. */
export type InstalledClient = { readonly path: string; readonly version: string };

/** The release that the tests are written for. */
export const CLIENT_VERSION = process.env.CLAUDE_CODE_VERSION ?? '2.1.328';

/** The built program, or another one to be tested in its place. */
export const PRODUCT =
  process.env.SELF_GENERATION_BINARY ?? join(import.meta.dir, '../../dist/self-generation');

const PACKAGE = '@anthropic-ai/claude-code';
const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** A package of npm, and the program to be found in it once it is installed. */
export type PackagedProgram = {
  /** The directory's name in the cache. */
  readonly name: string;
  /** With its exact version. */
  readonly spec: string;
  readonly find: (directory: string) => string | undefined;
};

/** The client of this exact version, from the cache or from npm. */
export async function installClient(version: string): Promise<InstalledClient> {
  if (!/^\d+\.\d+\.\d+$/.test(version))
    throw new Error(`Cannot install the client: no version: "${version}"`);
  const path = await installPackage({ name: version, spec: `${PACKAGE}@${version}`, find: findClient });
  return { path, version };
}

/**
 * The program's path, from the cache or from npm. No install script runs: native binaries are taken from their platform
 * packages. Safe to call from several processes at once: each installs for itself, the first rename wins.
 */
export async function installPackage(program: PackagedProgram): Promise<string> {
  const cache =
    process.env.SELF_GENERATION_CLIENT_CACHE ?? join(homedir(), '.cache', 'self-generation-test-clients');
  const directory = join(cache, program.name);
  const cached = program.find(directory);
  if (cached !== undefined) return cached;

  await mkdir(cache, { recursive: true });
  const incoming = await mkdtemp(join(cache, '.incoming-'));
  try {
    await install(program, incoming);
    await rename(incoming, directory).catch((error: unknown) => {
      if (program.find(directory) === undefined) throw error;
    });
  } finally {
    await rm(incoming, { recursive: true, force: true });
  }
  const path = program.find(directory);
  if (path === undefined) throw new Error(`Cannot use ${program.spec}: it is not in "${directory}"`);
  return path;
}

async function install({ spec, find }: PackagedProgram, directory: string): Promise<void> {
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'test-client', private: true }));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const end = await runCommand('npm', ['install', ...flags, spec], {
    cwd: directory,
    env: process.env,
    timeoutMs: INSTALL_TIMEOUT_MS,
  });
  if (end.kind !== 'exited' || end.code !== 0) {
    throw new Error(`Cannot install ${spec}: npm ${describeEnd(end)}`);
  }
  if (find(directory) === undefined) {
    throw new Error(`Cannot install ${spec}: no program for ${process.platform}-${process.arch}`);
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
