/** The platforms that a release has a program for, and what their files are called. */

/** Bun's x64 runtime asks for no AVX2 any more: `linux-x64` and its `-baseline` are the same bytes under two names. */
export const TARGETS = [
  'linux-x64',
  'linux-x64-baseline',
  'linux-x64-musl',
  'linux-arm64',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'windows-x64',
  'windows-arm64',
] as const;

export type Target = (typeof TARGETS)[number];

/** As npm names it in a package.json: `os`, `cpu` and `libc`. */
export type Platform = {
  readonly os: 'linux' | 'darwin' | 'win32';
  readonly cpu: 'x64' | 'arm64';
  readonly libc?: 'glibc' | 'musl';
};

/** The platform that a target is for. */
export function platformOf(target: Target): Platform {
  const cpu = target.includes('arm64') ? 'arm64' : 'x64';
  if (target.startsWith('darwin')) return { os: 'darwin', cpu };
  if (target.startsWith('windows')) return { os: 'win32', cpu };
  return { os: 'linux', cpu, libc: target.endsWith('-musl') ? 'musl' : 'glibc' };
}

/** The program's own name in archives and packages. */
export function programName(target: Target): string {
  return platformOf(target).os === 'win32' ? 'self-generation.exe' : 'self-generation';
}

/** The archive of a target's program: `self-generation-0.1.0-linux-x64.tar.xz`; for Windows a `.zip`. */
export function archiveName(version: string, target: Target): string {
  const kind = platformOf(target).os === 'win32' ? 'zip' : 'tar.xz';
  return `self-generation-${version}-${target}.${kind}`;
}

/** The runtime that a target's program is built on, from the packages of scripts/release/package.json. */
export function runtimeOf(target: Target): string {
  const folder = `${import.meta.dir}/node_modules/@oven/bun-${target.replace('arm64', 'aarch64')}`;
  return `${folder}/bin/${platformOf(target).os === 'win32' ? 'bun.exe' : 'bun'}`;
}
