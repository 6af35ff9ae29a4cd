import { createHash } from 'node:crypto';
import { copyFileSync, createReadStream, readdirSync, statSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import { withOpenFile } from '../system/files.ts';
import type { RunCommand } from '../system/run-command.ts';
import { describeEnd, hasSucceeded } from './live-check.ts';
import { isTrustedUrl } from './release.ts';

/** Where a release's files come from: a folder of this machine, or a server. */
export type Source = {
  /** As the user knows it. */
  readonly place: string;
  /** The only archive that is wanted, where the user has named one. */
  readonly only?: string;
  /** Puts a file of the release there. @throws Error that says why it cannot. */
  readonly get: (name: string, target: string, bytesMax: number) => Promise<void>;
};

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const REDIRECTIONS_MAX = 5;
const DOWNLOAD_LIMIT_MS = 15 * 60_000;
const UNPACK_LIMIT_MS = 5 * 60_000;

/** The source that is a URL, a folder, or an archive with its checksums.txt beside it. @throws Error that says why it is none. */
export function sourceOf(given: string): Source {
  const from = given.startsWith('file://') ? fileURLToPath(given) : given;
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(from)) return serverAt(from);
  const stats = statSync(from, { throwIfNoEntry: false });
  if (stats === undefined) throw new Error(`there is no "${from}"`);
  const folder = stats.isDirectory() ? from : dirname(from);
  const get = async (name: string, target: string) => copyFileSync(join(folder, name), target);
  return { place: from, ...(!stats.isDirectory() && { only: basename(from) }), get };
}

function serverAt(url: string): Source {
  const get = async (name: string, target: string, bytesMax: number) => {
    const file = `${url.replace(/\/+$/, '')}/${name}`;
    try {
      const response = await load(file, AbortSignal.timeout(DOWNLOAD_LIMIT_MS));
      if (!response.ok) throw new Error(`the server answers ${response.status} ${response.statusText}`);
      await save(response, target, bytesMax);
    } catch (cause) {
      throw new Error(`"${file}" cannot be loaded: ${reasonOf(cause)}`, { cause });
    }
  };
  return { place: url, get };
}

/** The answer at the end of all redirections, none of which leaves what can be trusted. */
async function load(url: string, signal: AbortSignal, hops = REDIRECTIONS_MAX): Promise<Response> {
  if (!isTrustedUrl(url))
    throw new Error(`"${url}" is not https, so that anybody on the way could change it`);
  const response = await fetch(url, { redirect: 'manual', signal });
  const to = REDIRECTS.includes(response.status) ? response.headers.get('location') : null;
  if (to === null) return response;
  if (hops === 0) throw new Error(`it is redirected more than ${REDIRECTIONS_MAX} times`);
  return load(new URL(to, url).href, signal, hops - 1);
}

/** Never more than expected, whatever the server says of the length. */
async function save(response: Response, target: string, bytesMax: number): Promise<void> {
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    withOpenFile(target, 'a', (file) => writeSync(file, chunk));
  }
}

/** SHA-256 of a file, in hexadecimal digits. @throws Error from the system. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

type Unpacking = { readonly platform: string; readonly env: Environment; readonly run: RunCommand };

/**
 * Unpacks an archive into a folder by the system's `tar` and gives the path of the program in it, which lies at the top or in
 * one folder. @throws Error that says why it cannot.
 */
export async function unpackProgram(
  archive: string,
  folder: string,
  { platform, env, run }: Unpacking,
): Promise<string> {
  const isWindows = platform === 'win32';
  // That of Git knows neither zip nor drives.
  const tar = isWindows ? `${env.SystemRoot ?? 'C:\\Windows'}\\System32\\tar.exe` : 'tar';
  const words = archive.endsWith('.zip') ? '-xf' : '-xJf';
  const end = await run(tar, [words, archive, '-C', folder], {
    env,
    cwd: folder,
    timeoutMs: UNPACK_LIMIT_MS,
  });
  if (!hasSucceeded(end)) {
    const needs = archive.endsWith('.xz') ? ', which needs xz for it' : '';
    throw new Error(`"${basename(archive)}" cannot be unpacked: ${tar}${needs}, ${describeEnd(end)}`);
  }
  const name = isWindows ? 'self-generation.exe' : 'self-generation';
  const places = ['.', ...readdirSync(folder)].map((inside) => join(folder, inside, name));
  const program = places.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  if (program === undefined) throw new Error(`"${basename(archive)}" has no ${name} in it`);
  return program;
}
