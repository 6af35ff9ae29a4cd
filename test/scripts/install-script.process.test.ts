import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ownPackage, releasesOf } from '../../scripts/build.ts';
import { archiveName, TARGETS } from '../../scripts/release/targets.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { type ProcessResult, runProgram } from '../support/hook-process.ts';
import { canRun, notTested, ROOT } from '../support/program.ts';
import { addArchive } from '../support/releases.ts';
import { startOnTerminal } from '../support/terminal.ts';
import { treeOf } from '../support/tree.ts';

/** install.sh in each shell, with a program in the archive that says how it was called. */

const SCRIPT = join(ROOT, 'scripts/install.sh');
const SHELLS = [['dash'], ['busybox', 'ash'], ['bash']];
const USABLE = SHELLS.filter(
  (shell) => canRun([...shell, '-c', ':']) || !notTested(shell.join(' '), 'not here'),
);
/** All that it needs of the system, so that one can be left out. */
const TOOLS =
  'awk cat chmod cp cut df find getconf grep head id mkdir mktemp rm sed sha256sum sort tail tar tr uname xz';
const MACHINE = { s: 'Linux', m: 'x86_64' };

const PROGRAM = `#!/bin/sh
case $1 in
  --version) echo "$VERSION" ;;
  install) echo "called: $*"; [ ! -t 0 ] || echo 'somebody can be asked'; exit "\${FAILS:-0}" ;;
esac
`;

/** A release of these archives, each with a program that runs on any machine. */
function makeRelease(home: Home, names: readonly string[]): string {
  const folder = join(home.path, 'release');
  for (const name of names) addArchive(folder, name, PROGRAM);
  return folder;
}

type World = {
  readonly shell?: readonly string[];
  readonly machine?: { readonly s: string; readonly m: string };
  readonly ldd?: string;
  readonly isOld?: boolean;
  readonly without?: string;
  readonly tools?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
};

/** Runs the script on a machine that is made up, in a home of its own. */
function installs(home: Home, words: readonly string[], world: World = {}): Promise<ProcessResult> {
  const {
    shell = USABLE[0] ?? ['sh'],
    machine = MACHINE,
    ldd = 'ldd (GNU libc) 2.36',
    isOld,
    without,
  } = world;
  const bin = join(home.path, 'bin');
  mkdirSync(bin, { recursive: true });
  const tools = {
    uname: `[ "$1" = -s ] && echo '${machine.s}' || echo '${machine.m}'`,
    ldd: `echo '${ldd}' >&2; exit 1`,
    ...(isOld && { grep: `case "$*" in */proc/cpuinfo) exit 1 ;; esac\nexec ${Bun.which('grep')} "$@"` }),
    ...world.tools,
  };
  for (const name of [...shell.slice(0, 1), 'sh', 'curl', ...TOOLS.split(' ')]) {
    const path = Bun.which(name);
    if (path !== null && name !== without && !(name in tools)) symlinkSync(path, join(bin, name));
  }
  for (const [name, text] of Object.entries(tools)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  mkdirSync(join(home.path, 'user'), { recursive: true });
  return runProgram([...shell, SCRIPT, ...words], {
    home: join(home.path, 'user'),
    env: { PATH: bin, ...world.env },
  });
}

const NAMES = TARGETS.map((target) => archiveName('0.2.0', target)).filter((name) =>
  name.endsWith('.tar.xz'),
);

describe('install.sh', () => {
  test('lets who sits at the terminal be asked, also where it comes by a pipe', async () => {
    using home = temporaryHome();
    const from = makeRelease(home, NAMES);
    const env = { ...process.env, HOME: home.path };
    const piped = ['sh', '-c', 'cat "$1" | sh -s -- --from "$2"', 'sh', SCRIPT, from];
    await using script = startOnTerminal(piped, { cwd: home.path, env });
    expect(await script.exited).toBe(0);
    expect(script.shown()).toContain('somebody can be asked');
    const alone = await installs(home, ['--from', from]);
    expect(alone.stdout).not.toContain('somebody can be asked');
  });
});

describe('install.sh takes the archive for the machine', () => {
  const MUSL = 'musl libc (x86_64)';
  const rows: [string, World, string][] = [
    ['Linux', {}, 'linux-x64'],
    ['Linux without AVX2', { isOld: true }, 'linux-x64-baseline'],
    ['Alpine', { ldd: MUSL }, 'linux-x64-musl'],
    ['arm64', { machine: { s: 'Linux', m: 'aarch64' } }, 'linux-arm64'],
    ['Alpine on arm64', { machine: { s: 'Linux', m: 'aarch64' }, ldd: MUSL }, 'linux-arm64-musl'],
    ['a Mac', { machine: { s: 'Darwin', m: 'arm64' } }, 'darwin-arm64'],
    ['an Intel Mac', { machine: { s: 'Darwin', m: 'x86_64' }, tools: { sysctl: 'echo 0' } }, 'darwin-x64'],
    ['Rosetta', { machine: { s: 'Darwin', m: 'x86_64' }, tools: { sysctl: 'echo 1' } }, 'darwin-arm64'],
  ];
  for (const [title, world, target] of rows) {
    test(`${title}: ${target}`, async () => {
      using home = temporaryHome();
      const result = await installs(home, ['--from', makeRelease(home, NAMES)], world);
      expect(result.stderr).toBe('');
      expect(result.stdout).toStartWith(`Taking self-generation-0.2.0-${target}.tar.xz\ncalled: install\n`);
    });
  }

  for (const [machine, reason] of [
    [{ s: 'Linux', m: 'riscv64' }, 'there is no program for the processor "riscv64"'],
    [{ s: 'FreeBSD', m: 'amd64' }, 'there is no program for "FreeBSD"'],
    [{ s: 'MINGW64_NT-10.0', m: 'x86_64' }, 'on Windows it is installed by install.ps1'],
  ] as const) {
    test(`and says that there is none for ${machine.s} on ${machine.m}`, async () => {
      using home = temporaryHome();
      const { exitCode, stderr } = await installs(home, ['--from', makeRelease(home, NAMES)], { machine });
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(reason) });
    });
  }
});

describe('install.sh', () => {
  for (const shell of USABLE) {
    test(`in ${shell.join(' ')} verifies, unpacks, installs and leaves nothing behind`, async () => {
      using home = temporaryHome();
      const from = makeRelease(home, ['self-generation-0.2.0-linux-x64.tar.xz']);
      const before = treeOf(from);
      const result = await installs(home, ['--from', from, '--', '--dry-run', 'a b'], { shell });
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
      expect(result.stdout).toContain('called: install --dry-run a b\n');
      expect(readdirSync(join(home.path, 'user'))).toEqual([]);
      expect(treeOf(from)).toEqual(before);
    });

    test(`in ${shell.join(' ')} refuses what its checksum does not fit`, async () => {
      using home = temporaryHome();
      const name = 'self-generation-0.2.0-linux-x64.tar.xz';
      const from = makeRelease(home, [name]);
      const text = readFileSync(join(from, 'checksums.txt'), 'utf8');
      writeFileSync(
        join(from, 'checksums.txt'),
        text.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
      );
      const { exitCode, stderr, stdout } = await installs(home, ['--from', from], { shell });
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: `Taking ${name}\n` });
      expect(stderr).toContain('checksums.txt says');
      expect(readdirSync(join(home.path, 'user'))).toEqual([]);
    });
  }

  test('takes the newest version of a folder, or the one that is named', async () => {
    using home = temporaryHome();
    const versions = ['0.10.0', '0.10.1-rc.1', '0.2.0', '0.9.1'];
    const from = makeRelease(
      home,
      versions.map((version) => `self-generation-${version}-linux-x64.tar.xz`),
    );
    const taken = async (...words: string[]) => (await installs(home, words)).stdout.split('\n')[0];
    expect(await taken('--from', from)).toBe('Taking self-generation-0.10.0-linux-x64.tar.xz');
    using other = temporaryHome();
    const named = await installs(other, ['--from', from, '--version', '0.2.0']);
    expect(named.stdout).toStartWith('Taking self-generation-0.2.0-linux-x64.tar.xz\n');
    using third = temporaryHome();
    const archive = join(from, 'self-generation-0.9.1-linux-x64.tar.xz');
    expect((await installs(third, ['--from', archive])).stdout).toStartWith('Taking self-generation-0.9.1-');
  });

  test('takes checksums.txt with line ends of Windows, or with a line twice', async () => {
    using home = temporaryHome();
    const from = makeRelease(home, NAMES);
    const text = readFileSync(join(from, 'checksums.txt'), 'utf8');
    writeFileSync(join(from, 'checksums.txt'), `${text}${text}`.replaceAll('\n', '\r\n'));
    expect(await installs(home, ['--from', from])).toMatchObject({ exitCode: 0, stderr: '' });
  });

  for (const name of ['with a space', `'"$(touch x)*`, 'line\nend', 'back\\slash']) {
    test(`installs into a home called ${JSON.stringify(name)}`, async () => {
      using home = temporaryHome();
      const from = makeRelease(home, NAMES);
      const user = join(home.path, name);
      mkdirSync(user);
      const result = await installs(home, ['--from', from], { env: { HOME: user } });
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
      expect(readdirSync(user)).toEqual([]);
    });
  }

  test('removes what one that was killed a day ago has left, but nothing of one that runs', async () => {
    using home = temporaryHome();
    const from = makeRelease(home, NAMES);
    const user = join(home.path, 'user');
    for (const name of ['.self-generation-install.old', '.self-generation-install.new', 'old'])
      mkdirSync(join(user, name, 'unpacked'), { recursive: true });
    const before = Date.now() / 1000 - 2 * 86_400;
    for (const name of ['.self-generation-install.old', 'old']) utimesSync(join(user, name), before, before);
    expect((await installs(home, ['--from', from])).exitCode).toBe(0);
    expect(readdirSync(user).sort()).toEqual(['.self-generation-install.new', 'old']);
  });

  test('says how it is called', async () => {
    using home = temporaryHome();
    const { exitCode, stdout } = await installs(home, ['--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toStartWith('Installs self-generation for this user');
    expect(stdout).toEndWith('otherwise that of "self-generation install".\n');
    const piped = Bun.spawnSync(['sh', '-s', '--', '--help'], { stdin: Bun.file(SCRIPT), timeout: 10_000 });
    expect(piped.stdout.toString()).toBe('The first lines of install.sh say what it takes.\n');
    expect(piped.exitCode).toBe(0);
  });

  test('sets up no client with --no-hooks, and ends as install does', async () => {
    using home = temporaryHome();
    const from = makeRelease(home, NAMES);
    const result = await installs(home, ['--from', from, '--no-hooks'], { env: { FAILS: '7' } });
    expect(result.exitCode).toBe(7);
    expect(result.stdout).toContain('called: install --no-claude --no-codex --no-gemini --no-opencode\n');
  });

  test('loads from a server, and says so where it has no such file', async () => {
    using home = temporaryHome();
    const from = makeRelease(home, NAMES);
    using server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async ({ url }) => {
        const file = Bun.file(from + new URL(url).pathname.replace('/releases', ''));
        return (await file.exists()) ? new Response(file) : new Response('', { status: 404 });
      },
    });
    const url = `http://127.0.0.1:${server.port}`;
    const good = await installs(home, ['--base-url', `${url}/releases/`]);
    expect(good).toMatchObject({ exitCode: 0, stderr: '' });
    using other = temporaryHome();
    const missing = await installs(other, ['--base-url', `${url}/nothing`]);
    expect(missing.stderr).toContain(`"${url}/nothing/checksums.txt" cannot be loaded.`);
    expect(missing.exitCode).toBe(1);
  });

  test('removes its directory when it is interrupted', async () => {
    using home = temporaryHome();
    using server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Promise<Response>(() => {}),
    });
    const user = join(home.path, 'user');
    mkdirSync(user);
    const child = Bun.spawn(['sh', SCRIPT, '--base-url', `http://127.0.0.1:${server.port}`], {
      env: { HOME: user, PATH: process.env.PATH ?? '' },
      detached: true,
      stderr: 'ignore',
    });
    while (readdirSync(user).length === 0) await Bun.sleep(20);
    process.kill(-child.pid, 'SIGINT');
    await child.exited;
    expect(readdirSync(user)).toEqual([]);
    await server.stop(true);
  });

  type Row = [string, (home: Home) => string[], World, number, string];
  const released = (home: Home) => ['--from', makeRelease(home, NAMES)];
  const rows: Row[] = [
    [
      'nothing says where from',
      () => [],
      {},
      1,
      "Give a folder or a server's folder: --from DIR, --base-url URL.",
    ],
    [
      'the folder is missing',
      () => ['--from', '/no/such'],
      {},
      1,
      'there is no folder or archive "/no/such"',
    ],
    ['http could be changed', () => ['--base-url', 'http://example.org'], {}, 1, 'is not https'],
    [
      'a host only looks like this one',
      () => ['--base-url', 'http://localhost.example.org'],
      {},
      1,
      'is not https',
    ],
    [
      'a name before the host makes it look like this one',
      () => ['--base-url', 'http://localhost:x@example.org/'],
      {},
      1,
      'has a name or a password in it',
    ],
    ['an option is unknown', () => ['--dry-run'], {}, 2, 'stands behind "--"'],
    ['a value is missing', () => ['--from'], {}, 2, '--from needs a value'],
    ['there is no xz', released, { without: 'xz' }, 1, 'there is no xz, which tar needs'],
    ['nothing computes SHA-256', released, { without: 'sha256sum' }, 1, 'nothing here computes SHA-256'],
    [
      'there is no curl and no wget',
      () => ['--base-url', 'https://localhost'],
      { without: 'curl' },
      1,
      'neither curl nor wget',
    ],
    [
      'the disk is full',
      released,
      { tools: { df: 'echo h; echo /dev/x 9 9 2048 9% /' } },
      1,
      '2 MB free, 400 MB needed',
    ],
    [
      'the version is not there',
      (home) => [...released(home), '--version', '9.9.9'],
      {},
      1,
      'does not name "self-generation-9.9.9-linux-x64.tar.xz"',
    ],
    [
      'there are two checksums for the archive',
      (home) => {
        const words = released(home);
        const path = join(home.path, 'release/checksums.txt');
        const text = readFileSync(path, 'utf8');
        writeFileSync(path, `${text}${text.replace(/^[0-9a-f]{64}/gm, '0'.repeat(64))}`);
        return words;
      },
      {},
      1,
      'checksums.txt has several SHA-256 for "self-generation-0.2.0-linux-x64.tar.xz"',
    ],
    [
      'the version is none',
      (home) => [...released(home), '--version', '../x'],
      {},
      1,
      'checksums.txt does not name "self-generation-../x-linux-x64.tar.xz"',
    ],
    [
      "sudo runs it in the user's home",
      released,
      {
        env: { SUDO_UID: '1000' },
        tools: {
          id: 'echo 0',
          find: `case "$*" in *"-user 1000") echo . ;; *) exec ${Bun.which('find')} "$@" ;; esac`,
        },
      },
      1,
      'Run it without sudo.',
    ],
    ['HOME is not known', released, { env: { HOME: 'x' } }, 1, 'HOME is not set to an absolute path'],
  ];
  for (const [title, words, world, code, reason] of rows) {
    test(`says what is wrong when ${title}, and leaves nothing behind`, async () => {
      using home = temporaryHome();
      const result = await installs(home, words(home), world);
      expect(result.stderr).toStartWith('error: ');
      expect(result.stderr).toContain(reason);
      expect(result.exitCode).toBe(code);
      expect(readdirSync(join(home.path, 'user'))).toEqual([]);
    });
  }

  test('refuses a folder without checksums.txt', async () => {
    using home = temporaryHome();
    const from = makeRelease(home, NAMES);
    await Bun.file(join(from, 'checksums.txt')).delete();
    const { exitCode, stderr } = await installs(home, ['--from', from]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringContaining('there is no "checksums.txt"'),
    });
  });
});

describe('shellcheck', () => {
  const check = (text: string) =>
    Bun.spawnSync(['shellcheck', '-'], { stdin: Buffer.from(text) }).stdout.toString();
  const isHere = canRun(['shellcheck', '--version']) || !notTested('shellcheck', 'it is not on this machine');

  test.if(isHere)('finds nothing in install.sh, and finds what is planted', () => {
    const text = readFileSync(SCRIPT, 'utf8');
    expect(check(text)).toBe('');
    expect(check(`${text}rm -rf $HOME/$1\n`)).toContain('SC2086');
  });
});

test('both scripts take releases from where package.json says that the repository is', () => {
  const published = releasesOf(ownPackage()) ?? '';
  expect(readFileSync(SCRIPT, 'utf8')).toContain(`\nRELEASES='${published}'\n`);
  expect(readFileSync(join(ROOT, 'scripts/install.ps1'), 'utf8')).toContain(`\n$Releases = '${published}'\n`);
});
