import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { putFile } from './tree.ts';

/**
 * Adds an archive with this program, in one folder as in those of a release, and writes checksums.txt beside it. Returns the
 * archive's path.
 */
export function addArchive(folder: string, name: string, program: string | Buffer): string {
  const top = name.replace(/\.tar\.xz$/, '');
  putFile(join(folder, top, 'self-generation'), program, 0o755);
  const archive = join(folder, name);
  // Not small, but soon done.
  const { exitCode, stderr } = Bun.spawnSync(['tar', '-cJf', archive, '-C', folder, top], {
    env: { ...process.env, XZ_OPT: '-0' },
  });
  if (exitCode !== 0) throw new Error(`Cannot make "${archive}": ${stderr}`);
  rmSync(join(folder, top), { recursive: true });
  writeChecksums(folder);
  return archive;
}

/** Writes checksums.txt of all archives in a folder, as `sha256sum` does. */
export function writeChecksums(folder: string): void {
  const lines = readdirSync(folder)
    .filter((name) => name.endsWith('.tar.xz'))
    .map((name) => {
      const digest = new Bun.CryptoHasher('sha256').update(readFileSync(join(folder, name))).digest('hex');
      return `${digest}  ${name}\n`;
    });
  writeFileSync(join(folder, 'checksums.txt'), lines.join(''));
}
