/** What a release is made of, as texts: `checksums.txt`, and beside it an archive for each target. */

declare const SELF_GENERATION_TARGET: string | undefined;
declare const SELF_GENERATION_RELEASES: string | undefined;

/** What this program was built for, as `linux-x64-musl`; undefined where the source runs. */
export const TARGET: string | undefined =
  typeof SELF_GENERATION_TARGET === 'string' ? SELF_GENERATION_TARGET : undefined;
/** Where releases are published, `https://…/releases`, by the `repository` of package.json; undefined where it has none. */
export const RELEASES: string | undefined =
  typeof SELF_GENERATION_RELEASES === 'string' && SELF_GENERATION_RELEASES !== ''
    ? SELF_GENERATION_RELEASES
    : undefined;

export const CHECKSUMS = 'checksums.txt';

/** An archive of a release. `sha256`: in hexadecimal digits. */
export type Archive = { readonly name: string; readonly version: string; readonly sha256: string };

const VERSION = String.raw`\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?`;
const LINE = /^([0-9a-f]{64}) [ *](\S+)$/;

/** The archives for a target that stand in checksums.txt (as `sha256sum` writes it), the newest first. */
export function archivesIn(checksums: string, target: string): Archive[] {
  const name = new RegExp(`^self-generation-(${VERSION})-${target}\\.(?:tar\\.xz|zip)$`);
  return checksums
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, sha256 = '', file = ''] = LINE.exec(line) ?? [];
      const version = name.exec(file)?.[1];
      return version === undefined ? [] : [{ name: file, version, sha256 }];
    })
    .sort((left, right) => Bun.semver.order(right.version, left.version));
}

/** The version that `self-generation --version` has printed; undefined where that is none. */
export function versionIn(printed: string): string | undefined {
  return new RegExp(`^${VERSION}$`).exec(printed.trim())?.[0];
}

/** Whether files may be loaded from there: what https protects, or what does not leave this machine. */
export function isTrustedUrl(text: string): boolean {
  const { protocol, hostname } = URL.parse(text) ?? { protocol: '', hostname: '' };
  return (
    protocol === 'https:' || (protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
  );
}
