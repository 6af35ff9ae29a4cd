/** Archives whose bytes depend on nothing but their content and one time: no owner, no umask, no order of a directory. */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** One file of an archive: its path there, with `/`, and what is in it. */
export type Content = {
  readonly path: string;
  /** The text, or the file that is copied. */
  readonly from: { readonly text: string } | { readonly file: string };
  readonly isExecutable?: boolean;
};

export type Packing = {
  /** The one folder in the archive, which everything lies in. */
  readonly folder: string;
  /** When every file was last changed, in seconds since 1970. */
  readonly atSeconds: number;
  /** Little compression, for a trial. */
  readonly isFast: boolean;
};

/**
 * Writes `.tar.xz`, `.tgz` or `.zip` by GNU tar, xz, gzip and zip, which have to be there. Several threads of xz cut its
 * input into blocks, however many run. @throws Error when one of them fails
 */
export function pack(archive: string, contents: readonly Content[], { folder, ...how }: Packing): void {
  const stage = mkdtempSync(join(tmpdir(), 'self-generation-release-'));
  try {
    const top = join(stage, folder);
    for (const content of contents) put(join(top, content.path), content, how.atSeconds);
    const paths = contents.map(({ path }) => `${folder}/${path}`).sort();
    mkdirSync(dirname(archive), { recursive: true });
    rmSync(archive, { force: true });
    run(packer(resolve(archive), how), stage, paths.join('\n'));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function put(path: string, { from, isExecutable = false }: Content, atSeconds: number): void {
  mkdirSync(dirname(path), { recursive: true });
  if ('text' in from) writeFileSync(path, from.text);
  else copyFileSync(from.file, path);
  chmodSync(path, isExecutable ? 0o755 : 0o644);
  utimesSync(path, atSeconds, atSeconds);
}

/** The command that reads paths, one a line. */
function packer(archive: string, { atSeconds, isFast }: Omit<Packing, 'folder'>): string[] {
  if (archive.endsWith('.zip')) return ['zip', '-q', '-X', isFast ? '-1' : '-9', archive, '-@'];
  const level = isFast ? '1' : '9';
  const filter = archive.endsWith('.tgz') ? `gzip -n -${level}` : `xz -T4 -${isFast ? 0 : 6}`;
  const nobody = ['--owner=0', '--group=0', '--numeric-owner', `--mtime=@${atSeconds}`];
  return ['tar', '--format=ustar', ...nobody, '-I', filter, '-cf', archive, '-T', '-'];
}

function run(command: readonly string[], cwd: string, input: string): void {
  const [program = ''] = command;
  const env = { PATH: process.env.PATH, TZ: 'UTC', LC_ALL: 'C' };
  const { exitCode, stderr } = Bun.spawnSync([...command], { cwd, env, stdin: Buffer.from(input) });
  if (exitCode !== 0) throw new Error(`Cannot pack with ${program}: exit code ${exitCode} ${stderr}`);
}
