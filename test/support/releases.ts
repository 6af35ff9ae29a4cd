import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { putFile } from './tree.ts';

/** Adds an archive with this program to the folder of a release, and writes its checksums.txt. Returns the archive's path. */
export function addArchive(folder: string, name: string, program: string | Buffer): string {
  const made = join(folder, 'made');
  mkdirSync(made, { recursive: true });
  putFile(join(made, 'self-generation'), program, 0o755);
  const archive = join(folder, name);
  // Not small, but soon done.
  const { exitCode, stderr } = Bun.spawnSync(['tar', '-cJf', archive, '-C', made, 'self-generation'], {
    env: { ...process.env, XZ_OPT: '-0' },
  });
  if (exitCode !== 0) throw new Error(`Cannot make "${archive}": ${stderr}`);
  Bun.spawnSync(['rm', '-r', made]);
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
