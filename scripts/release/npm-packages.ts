/** The packages for npm: one with a small launcher, and one with the program for each platform, of which npm takes one. */
import type { Content } from './pack.ts';
import { platformOf, programName, type Target } from './targets.ts';

export type NpmPackage = {
  /** The name of its file: `self-generation-linux-x64-0.1.0.tgz`. */
  readonly file: string;
  readonly contents: readonly Content[];
};

/** The man page in the package that users name, which npm puts where `man` finds it. */
export const MANUAL = 'self-generation.1';

/** What all packages say alike, of the repository's package.json. */
export type Described = {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly repository?: unknown;
};

/** Those that npm is to have: its x64 program is that of every CPU, which `linux-x64-baseline` is another name of. */
export function isForNpm(target: Target): boolean {
  return target !== 'linux-x64-baseline';
}

/** The package that users name; `launcher` is its text. Every target is an optional dependency of the same version. */
export function mainPackage(
  described: Described,
  { launcher, targets, texts }: { launcher: string; targets: readonly Target[]; texts: readonly Content[] },
): NpmPackage {
  const { version } = described;
  const manifest = {
    name: 'self-generation',
    ...pick(described),
    type: 'module',
    bin: { 'self-generation': 'self-generation.js' },
    man: [`./${MANUAL}`],
    engines: { node: '>=18' },
    optionalDependencies: Object.fromEntries(targets.map((target) => [packageName(target), version])),
  };
  const contents = [
    json(manifest),
    { path: 'self-generation.js', from: { text: launcher }, isExecutable: true },
    ...texts,
  ];
  return { file: `self-generation-${version}.tgz`, contents };
}

/** The package with the program for a platform. */
export function platformPackage(
  described: Described,
  { target, program, license }: { target: Target; program: string; license: Content },
): NpmPackage {
  const { os, cpu, libc } = platformOf(target);
  const manifest = {
    name: packageName(target),
    ...pick(described),
    description: `The program of self-generation for ${target}.`,
    os: [os],
    cpu: [cpu],
    ...(libc !== undefined && { libc: [libc] }),
    preferUnplugged: true,
  };
  const executable = { path: programName(target), from: { file: program }, isExecutable: true };
  return {
    file: `self-generation-${target}-${described.version}.tgz`,
    contents: [json(manifest), executable, license],
  };
}

function packageName(target: Target): string {
  return `@self-generation/${target}`;
}

function pick({ version, description, license, repository }: Described) {
  return { version, description, license, ...(repository !== undefined && { repository }) };
}

function json(manifest: object): Content {
  return { path: 'package.json', from: { text: `${JSON.stringify(manifest, null, 2)}\n` } };
}
