import { afterAll, describe, expect, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  archiveName,
  programName,
  runtimeOf,
  TARGETS,
  type Target,
} from '../../../scripts/release/targets.ts';
import { SHELLS } from '../../../src/cli/completion/shells.ts';
import { type Machine, machineIn, rootFor, thisMachine } from '../../support/machine.ts';
import { agentStart, bashFailure } from '../../support/payloads.ts';
import { canRun, notTested, ROOT } from '../../support/program.ts';

/** Builds a release of everything, with no network, and looks at what users get of it. */

const VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
const MISSING = TARGETS.filter((target) => !existsSync(runtimeOf(target)));
const OFFLINE = ['unshare', '--user', '--map-root-user', '--net'];
const UNUSABLE =
  MISSING.length > 0
    ? `runtimes are missing for ${MISSING.join(', ')}: npm ci --prefix scripts/release`
    : canRun([...OFFLINE, 'true'])
      ? undefined
      : 'this machine lets nobody make a network of their own';

const LIMIT_MS = 600_000;
const place = mkdtempSync(join(tmpdir(), 'self-generation-release-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

type Out = { readonly exitCode: number; readonly said: string; readonly folder: string };

function releaseFrom(folder: string, name: string, words: readonly string[] = []): Out {
  const out = join(place, name);
  const command = [
    ...OFFLINE,
    process.execPath,
    join(folder, 'scripts/release/release.ts'),
    '--fast',
    '--out',
    out,
  ];
  const env = { ...process.env, SOURCE_DATE_EPOCH: '1700000000' };
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command, ...words], { cwd: tmpdir(), env });
  return { exitCode, said: `${stderr}${stdout}`, folder: out };
}

/** Once, when the first asks for it. */
let made: Out | undefined;
function everything(): Out {
  made ??= releaseFrom(ROOT, 'release');
  return made;
}

function unpacked(name: string): string {
  const { folder } = everything();
  const into = mkdtempSync(join(place, 'unpacked-'));
  const archive = join(folder, name);
  const command = name.endsWith('.zip')
    ? ['unzip', '-q', archive, '-d', into]
    : ['tar', '-xf', archive, '-C', into];
  expect(Bun.spawnSync(command).exitCode, name).toBe(0);
  return join(into, readdirSync(into)[0] ?? '');
}

const programOf = (target: Target) => join(unpacked(archiveName(VERSION, target)), programName(target));

/** What `file` says of a target's program. */
const KINDS: Readonly<Record<Target, RegExp>> = {
  'linux-x64': /^ELF 64-bit .* x86-64, .* interpreter \/lib64\/ld-linux-x86-64\.so\.2/,
  'linux-x64-baseline': /^ELF 64-bit .* x86-64, .* interpreter \/lib64\/ld-linux-x86-64\.so\.2/,
  'linux-x64-musl': /^ELF 64-bit .* x86-64, .* interpreter \/lib\/ld-musl-x86_64\.so\.1/,
  'linux-arm64': /^ELF 64-bit .* aarch64, .* interpreter \/lib\/ld-linux-aarch64\.so\.1/,
  'linux-arm64-musl': /^ELF 64-bit .* aarch64, .* interpreter \/lib\/ld-musl-aarch64\.so\.1/,
  'darwin-x64': /^Mach-O 64-bit x86_64 executable/,
  'darwin-arm64': /^Mach-O 64-bit arm64 executable/,
  'windows-x64': /^PE32\+ executable .* x86-64/,
  'windows-arm64': /^PE32\+ executable .* Aarch64/,
};

/** Installs it and looks whether a sub-agent is told of an error that it has recorded and how it is solved. */
function triesAll({ program, home, run }: Machine): void {
  const input = (payload: object) => JSON.stringify({ ...payload, cwd: home });
  const works = (words: string[], given = '') => {
    const ran = run([program, ...words], given);
    expect(ran.exitCode, `${words.join(' ')}: ${ran.stderr}${ran.stdout}`).toBe(0);
    return ran.stdout;
  };
  expect(works(['--version'])).toBe(`${VERSION}\n`);
  works(['install', '--client-version', '2.1.328']);
  expect(run([program, 'doctor']).stdout).not.toContain('failed');
  works(['hook', 'error-logger'], input(bashFailure('Error: PORT is not set')));
  works(['errors', 'resolve', '1', 'set PORT in .env.local']);
  const installed = `${home}/.self-generation/hooks/self-generation`;
  const { stdout } = run([installed, 'hook', 'subagent-context'], input(agentStart('general-purpose')));
  expect(stdout).toContain('set PORT in .env.local');
}

describe.skipIf(UNUSABLE !== undefined)('a release', () => {
  test(
    'is built for every target without a network, and its checksums are right',
    () => {
      const { exitCode, said, folder } = everything();
      expect(said).toContain('checksums.txt\n');
      expect(exitCode).toBe(0);
      const name = `self-generation-${VERSION}`;
      const files = [
        ...TARGETS.map((target) => archiveName(VERSION, target)),
        ...[`${name}-node.tar.xz`, `${name}-claude-plugin.zip`, `${name}.cdx.json`],
        ...['checksums.txt', 'install.ps1', 'install.sh', 'npm', 'opencode-plugin.js'],
      ];
      expect(readdirSync(folder).sort()).toEqual(files.sort());
      const check = () => Bun.spawnSync(['sha256sum', '--strict', '-c', 'checksums.txt'], { cwd: folder });
      expect(check().stdout.toString().match(/: OK$/gm)).toHaveLength(files.length - 2);
      const plugin = join(folder, 'opencode-plugin.js');
      const before = readFileSync(plugin);
      writeFileSync(plugin, `${before} `);
      expect(check().exitCode).toBe(1);
      writeFileSync(plugin, before);
    },
    LIMIT_MS,
  );

  test(
    'has completions beside each program, and the man page where there is man',
    () => {
      const inside = (target: Target) => {
        const folder = unpacked(archiveName(VERSION, target));
        return readdirSync(folder, { recursive: true, encoding: 'utf8' });
      };
      const completions = SHELLS.map(({ file }) => `completions/${file}`);
      expect(inside('linux-x64')).toEqual(
        expect.arrayContaining([...completions, 'share/man/man1/self-generation.1']),
      );
      expect(inside('windows-x64')).toEqual(expect.arrayContaining(completions));
      expect(inside('windows-x64')).not.toContain('share');
    },
    LIMIT_MS,
  );

  test(
    'has the same bytes from another folder',
    () => {
      const copy = join(place, 'another folder');
      for (const name of readdirSync(ROOT)) {
        if (!['dist', '.git', 'node_modules'].includes(name))
          cpSync(join(ROOT, name), join(copy, name), {
            recursive: true,
            filter: (from) => !from.endsWith('/node_modules'),
          });
      }
      for (const name of ['node_modules', 'scripts/release/node_modules'])
        Bun.spawnSync(['cp', '-al', join(ROOT, name), join(copy, name)]);
      const targets = ['linux-arm64', 'windows-x64'] as const;
      const { said, folder } = releaseFrom(copy, 'again', ['--targets', targets.join()]);
      expect(said).toContain('checksums.txt\n');
      const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      expect(names).toContain(archiveName(VERSION, targets[0]));
      for (const name of names.filter((each) => each !== 'checksums.txt' && each !== 'npm')) {
        const first = readFileSync(join(everything().folder, name));
        expect(readFileSync(join(folder, name)).equals(first), name).toBe(true);
      }
    },
    LIMIT_MS,
  );

  for (const target of TARGETS) {
    test(
      `has a program for ${target}, as "file" says`,
      () => {
        if (!canRun(['file', '--version'])) return void notTested(target, 'there is no "file"');
        const program = programOf(target);
        expect(Bun.spawnSync(['file', '-b', program]).stdout.toString()).toMatch(KINDS[target]);
        expect(statSync(program).mode & 0o111).toBe(0o111);
      },
      LIMIT_MS,
    );
  }

  const HOST = `${process.platform}-${process.arch}`;
  for (const target of TARGETS.filter((each) => each.startsWith('linux'))) {
    const { root, unusable } = rootFor(target);
    const isOurs = target.replace('-baseline', '') === HOST;
    test(
      `whose program for ${target} runs: install, doctor, a lesson`,
      () => {
        if (!isOurs && unusable !== undefined) return void notTested(`the program for ${target}`, unusable);
        const home = mkdtempSync(join(place, 'home-'));
        const program = programOf(target);
        triesAll(isOurs ? thisMachine(program, home) : machineIn(root, program, home));
      },
      LIMIT_MS,
    );
  }

  test(
    'whose program for x64 runs on a processor of 2008, without AVX',
    () => {
      const old = ['qemu-x86_64-static', '-cpu', 'Nehalem'];
      if (!canRun([...old, '/bin/true'])) return void notTested('an old processor', 'no qemu-x86_64-static');
      const { stdout } = Bun.spawnSync([...old, programOf('linux-x64-baseline'), '--version']);
      expect(stdout.toString()).toBe(`${VERSION}\n`);
    },
    LIMIT_MS,
  );

  test(
    'is installed by npx from the packages, without a network',
    () => {
      const packages = join(everything().folder, 'npm');
      const home = mkdtempSync(join(place, 'npm-'));
      mkdirSync(join(home, 'app'));
      const npm = (words: string[]) => {
        const env = { PATH: process.env.PATH, HOME: home, npm_config_update_notifier: 'false' };
        const command = [...OFFLINE, ...words];
        const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: join(home, 'app'), env });
        return { exitCode, said: `${stdout}${stderr}` };
      };
      const files = [
        `self-generation-${VERSION}.tgz`,
        `self-generation-linux-${process.arch}-${VERSION}.tgz`,
      ];
      const install = npm(['npm', 'install', '--offline', ...files.map((file) => join(packages, file))]);
      expect(install, install.said).toMatchObject({ exitCode: 0 });
      expect(npm(['npx', '--offline', 'self-generation', '--version']).said).toBe(`${VERSION}\n`);
      const set = npm(['npx', '--offline', 'self-generation', 'install', '--client-version', '2.1.328']);
      expect(set, set.said).toMatchObject({ exitCode: 0 });
      const bytes = (file: string) => statSync(file).size;
      expect(bytes(join(home, '.self-generation/hooks/self-generation'))).toBe(bytes(programOf('linux-x64')));

      rmSync(join(home, 'app/node_modules/@self-generation'), { recursive: true });
      const without = npm(['npx', '--offline', 'self-generation', '--version']);
      expect(without.exitCode).toBe(127);
      expect(without.said).toContain(`the package "@self-generation/linux-${process.arch}"`);
    },
    LIMIT_MS,
  );
});

if (UNUSABLE !== undefined) notTested('a release', UNUSABLE);
