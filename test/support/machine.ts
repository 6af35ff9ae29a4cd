import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { canRun } from './program.ts';

/** Where a program for some platform is run, with a home of its own. */
export type Machine = {
  /** What the program is called there, and its home. */
  readonly program: string;
  readonly home: string;
  /** Runs the words; `input` is their standard input. */
  readonly run: (words: readonly string[], input?: string) => Ran;
};

export type Ran = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/** Roots that scripts/release/roots.sh has made, each with the name of its target. */
const ROOTS = process.env.SELF_GENERATION_ROOTS ?? '/nowhere';

const QEMU = '/usr/bin/qemu-aarch64-static';
/** What an ELF file for arm64 begins with; the mask leaves out what may differ. As Debian's qemu-user-binfmt has it. */
const ARM64 = String.raw`:arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:`;

/** The kernel keeps formats for each user namespace since 6.7: what is registered here is seen in here alone. */
const REGISTER = `mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf '%s' '${ARM64}${QEMU}:FOCP' >/proc/sys/fs/binfmt_misc/register`;

const ENTER = `root=$0 program=$1 home=$2
shift 2
mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"; mount -t tmpfs tmpfs "$root/tmp"
mount --bind "$program" "$root/program"; mount --bind "$home" "$root/home"
exec env -i HOME=/home PATH=/usr/sbin:/usr/bin chroot "$root" "$@"`;

function inside(script: string, words: readonly string[]): string[] {
  return ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-euc', script, ...words];
}

/** This machine itself. */
export function thisMachine(program: string, home: string): Machine {
  return { program, home, run: (words, input) => run([...words], { HOME: home, PATH: '/nowhere' }, input) };
}

/** The root of a target, and the reason why it cannot be used. */
export function rootFor(target: string): { readonly root: string; readonly unusable: string | undefined } {
  const root = `${ROOTS}/${target}`;
  return { root, unusable: reasonAgainst(root, target) };
}

function reasonAgainst(root: string, target: string): string | undefined {
  if (!existsSync(root)) return `there is no root for it in SELF_GENERATION_ROOTS (scripts/release/roots.sh)`;
  const isForeign = target.includes('arm64');
  if (isForeign && !existsSync(QEMU)) return `there is no ${QEMU}`;
  if (canRun(inside(isForeign ? REGISTER : 'mount -t tmpfs tmpfs /mnt', []))) return undefined;
  return 'this machine does not let us mount, or register a format, in a namespace of our own';
}

/** The machine that a root stands for: nothing is in it but the libraries, the program, a home, /proc, /dev and /tmp. */
export function machineIn(root: string, program: string, home: string): Machine {
  const script = root.includes('arm64') ? `${REGISTER}\n${ENTER}` : ENTER;
  return {
    program: program.replace(dirname(program), '/program'),
    home: '/home',
    run: (words, input) => run(inside(script, [root, dirname(program), home, ...words]), process.env, input),
  };
}

function run(command: string[], env: NodeJS.ProcessEnv, input = ''): Ran {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { env, cwd: '/', stdin: Buffer.from(input) });
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}
