import { describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { updateCommand } from '../../src/cli/update.ts';
import { asRecord } from '../../src/core/guards.ts';
import { type UpdateOptions, type UpdateReport, update } from '../../src/setup/update.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { callHere } from '../cli/call.ts';
import { installedIn, uninstallIn } from '../support/installed.ts';
import { addArchive, writeChecksums } from '../support/releases.ts';
import { putFile, treeOf } from '../support/tree.ts';
import { useMachine } from './machine.ts';

/** Updates between programs that are shell scripts; test/clients/update.client.ts has the real ones. */

/** A program that installs itself in one step, as ours does, and notes how it was called. */
const programOf = (version: string, more = '') => `#!/bin/sh
PATH=/usr/bin:/bin
${more}
case $1 in
  --version) echo ${version} ;;
  install)
    echo "${version} $*" >> "$HOME/calls"
    hooks=$HOME/.self-generation/hooks
    mkdir -p "$hooks"
    [ "$0" = "$hooks/self-generation" ] || { cp "$0" "$hooks/.new.$$" && mv "$hooks/.new.$$" "$hooks/self-generation"; }
    printf '%s' '{"warnings":["ask again"],"clients":[{"notes":["of ${version}"]}]}' ;;
  sleep) sleep 30 & wait ;;
esac
`;

const at = useMachine(programOf('0.1.0'));
const env = () => ({ HOME: at.home, PATH: process.env.PATH });
const folder = (...names: string[]) => join(at.root, 'release', ...names);
const binary = () => at.state('hooks', 'self-generation');
const kept = () => at.state('hooks', 'versions', 'self-generation-0.1.0');
const archiveOf = (version: string) => `self-generation-${version}-linux-x64.tar.xz`;
const publish = (version: string, more?: string) =>
  addArchive(folder(), archiveOf(version), programOf(version, more));
const calls = () => (existsSync(at.inHome('calls')) ? readFileSync(at.inHome('calls'), 'utf8') : '');

function updates(changes: Partial<UpdateOptions> = {}): Promise<UpdateReport> {
  return update({
    ...{ env: env(), platform: 'linux', run: runCommand, target: 'linux-x64', from: folder() },
    ...{ checksOnly: false, dryRun: false, allowsDowngrade: false, onStart: () => {} },
    ...changes,
  });
}

async function installedVersion(): Promise<string> {
  const end = await runCommand(binary(), ['--version'], { env: env(), timeoutMs: 10_000 });
  return end.kind === 'exited' ? end.stdout.trim() : end.kind;
}

async function refusal(changes: Partial<UpdateOptions> = {}): Promise<string> {
  const report = await updates(changes);
  return report.kind === 'failed'
    ? `Cannot ${report.action}: ${report.reason}. ${report.advice}`
    : report.state;
}

/** As nothing had happened: the same files, and the old program. */
async function changesNothing(work: () => Promise<string>): Promise<string> {
  const before = treeOf(at.state());
  const said = await work();
  expect(treeOf(at.state())).toEqual(before);
  expect(calls()).toBe('');
  return said;
}

describe('update()', () => {
  test('puts the newest version into its place and has it install itself', async () => {
    await installedIn(at.home);
    for (const version of ['0.9.0', '0.10.0', '0.2.0']) publish(version);
    expect(await updates()).toEqual({
      kind: 'done',
      state: 'updated',
      installed: '0.1.0',
      newest: '0.10.0',
      place: folder(),
      notes: ['of 0.10.0', 'ask again'],
    });
    expect(await installedVersion()).toBe('0.10.0');
    // Claude Code is set up, other clients are not.
    expect(calls()).toMatch(/^0\.10\.0 install --json --no-link --claude( --no-\w+)+\n$/);
    expect(readdirSync(at.state('hooks'))).toEqual(['self-generation']);
  });

  test('does nothing when that version is installed', async () => {
    await installedIn(at.home);
    publish('0.1.0');
    expect(await changesNothing(refusal)).toBe('up to date');
  });

  test('only looks, or only tries, when it is asked for no more', async () => {
    await installedIn(at.home);
    publish('0.2.0');
    expect(await changesNothing(() => refusal({ checksOnly: true }))).toBe('available');
    expect(await changesNothing(() => refusal({ dryRun: true }))).toBe('available');
  });

  test('takes the archive that is named', async () => {
    await installedIn(at.home);
    for (const version of ['0.2.0', '0.3.0']) publish(version);
    const from = pathToFileURL(folder(archiveOf('0.2.0'))).href;
    for (const one of [from, folder(archiveOf('0.2.0'))])
      expect(await updates({ from: one })).toMatchObject({ kind: 'done', newest: '0.2.0' });
    expect(await installedVersion()).toBe('0.2.0');
  });

  test('takes a version before its release only when that is named', async () => {
    await installedIn(at.home);
    for (const version of ['0.2.0', '0.3.0-rc.1']) publish(version);
    expect(await updates()).toMatchObject({ newest: '0.2.0' });
    expect(await updates({ from: folder(archiveOf('0.3.0-rc.1')) })).toMatchObject({ newest: '0.3.0-rc.1' });
  });

  test('does not run beside another', async () => {
    await installedIn(at.home);
    publish('0.2.0');
    const both = await Promise.all([refusal(), refusal()]);
    expect(both.sort()).toEqual([
      'Cannot update: another update is going on. Run it again when that has ended.',
      'updated',
    ]);
    expect(readdirSync(at.state('hooks'))).toEqual(['self-generation']);
  });

  test('loads it from a server', async () => {
    await installedIn(at.home);
    publish('0.2.0');
    const answer = ({ url }: Request) => new Response(Bun.file(folder(new URL(url).pathname.slice(3))));
    using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer });
    const from = `http://127.0.0.1:${server.port}/v/`;
    expect(await updates({ from })).toMatchObject({ kind: 'done', state: 'updated' });
    expect(await installedVersion()).toBe('0.2.0');
  });

  test('follows redirections, but to nowhere that anybody could change', async () => {
    await installedIn(at.home);
    publish('0.2.0');
    const redirects = ({ url }: Request) => {
      const { pathname, origin } = new URL(url);
      if (pathname.startsWith('/v/')) return new Response(Bun.file(folder(pathname.slice(3))));
      const to = { good: `${origin}/v`, loop: `${origin}/loop`, bad: 'http://example.org' }[
        pathname.split('/')[1] ?? ''
      ];
      return Response.redirect(`${to}/${pathname.split('/')[2]}`);
    };
    using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: redirects });
    const from = `http://127.0.0.1:${server.port}`;
    expect(await changesNothing(() => refusal({ from: `${from}/bad` }))).toContain(
      '"http://example.org/checksums.txt" is not https',
    );
    expect(await changesNothing(() => refusal({ from: `${from}/loop` }))).toContain(
      'redirected more than 5 times',
    );
    expect(await refusal({ from: `${from}/good` })).toBe('updated');
  });

  test('takes an older version only when that is allowed', async () => {
    await installedIn(at.home);
    publish('0.0.9');
    expect(await changesNothing(() => refusal({ checksOnly: true }))).toBe('up to date');
    expect(await changesNothing(refusal)).toContain('0.0.9 is older than 0.1.0, which is installed');
    expect(await refusal({ allowsDowngrade: true })).toBe('updated');
    expect(await installedVersion()).toBe('0.0.9');
  });

  test('keeps the program that a session runs until the session has ended', async () => {
    await installedIn(at.home);
    publish('0.2.0');
    // A script's process runs the shell, so this one is a copy of a program.
    putFile(binary(), readFileSync('/bin/sleep'), 0o700);
    const session = Bun.spawn([binary(), '60']);
    const report = await updates();
    expect(report).toMatchObject({
      state: 'updated',
      kept: at.state('hooks/versions/self-generation-unknown'),
    });
    publish('0.3.0');
    expect(await refusal()).toBe('updated');
    expect(readdirSync(at.state('hooks', 'versions')).sort()).toEqual([
      'self-generation-0.2.0',
      'self-generation-unknown',
    ]);
    session.kill();
    await session.exited;
    expect(await refusal()).toBe('up to date');
    expect(readdirSync(at.state('hooks'))).toEqual(['self-generation']);
  });

  test('brings the old program back when the new one cannot install itself', async () => {
    await installedIn(at.home);
    // It fails where the settings are, after it has put itself into its place.
    publish(
      '0.2.0',
      '[ -d "$HOME/.claude" ] && [ "$1" = install ] && { cp "$0" "$HOME/.self-generation/hooks/self-generation.x"; mv "$HOME/.self-generation/hooks/self-generation.x" "$HOME/.self-generation/hooks/self-generation"; echo "no such setting" >&2; exit 1; }',
    );
    expect(await refusal()).toBe(
      'Cannot update: the new program: "install" ended with exit code 1: no such setting. ' +
        'The program from before is back in its place.',
    );
    expect(await installedVersion()).toBe('0.1.0');
    expect(calls()).toMatch(/^0\.1\.0 install --json --no-link --claude( --no-\w+)+\n$/);
    expect(readdirSync(at.state('hooks'))).toEqual(['self-generation']);
  });

  test('uninstall removes the versions that are kept as well', async () => {
    const before = treeOf(at.home);
    await installedIn(at.home);
    putFile(kept(), 'old', 0o700);
    mkdirSync(at.state('hooks', 'versions', 'new-abc'));
    expect(uninstallIn(at.home).kind).toBe('done');
    expect(treeOf(at.home)).toEqual(before);
  });
});

describe('update() changes nothing and says why when', () => {
  const rows: [string, () => unknown, string][] = [
    ['no place is known', () => ({ from: undefined }), 'does not know where releases are published'],
    ['the source runs', () => ({ target: undefined }), 'this is the source'],
    ['the folder is missing', () => ({ from: '/no/such' }), 'there is no "/no/such"'],
    ['the server could be anybody', () => ({ from: 'http://example.org/x' }), 'is not https'],
    [
      'the release has nothing for this machine',
      () => ({ target: 'linux-arm64' }),
      'has no archive for linux-arm64',
    ],
    [
      'there is no checksums.txt',
      () => void rmSync(folder('checksums.txt')),
      'Without it nothing can be verified',
    ],
    [
      'the archive was changed',
      () => appendFileSync(folder(archiveOf('0.2.0')), 'x'),
      'and checksums.txt says',
    ],
    ['the archive is missing', () => void rmSync(folder(archiveOf('0.2.0'))), 'no such file'],
    [
      'the archive is none',
      () => {
        writeFileSync(folder(archiveOf('0.2.0')), 'x');
        writeChecksums(folder());
      },
      'cannot be unpacked: tar, which needs xz for it, ended with exit code 2',
    ],
    [
      'the program has another version than its name',
      () => void addArchive(folder(), archiveOf('0.2.0'), programOf('0.3.0')),
      'does not work on this machine: it says that it is 0.3.0',
    ],
    [
      'the program does not run here',
      () => void addArchive(folder(), archiveOf('0.2.0'), '\x7fELF'),
      'it says that it is none',
    ],
    [
      'its hooks do not work',
      () => void publish('0.2.0', '[ "$1" != doctor ] || { echo "hook broken"; exit 1; }'),
      '"doctor" ended with exit code 1: hook broken. Nothing was changed.',
    ],
  ];
  for (const [title, prepare, reason] of rows) {
    test(title, async () => {
      await installedIn(at.home);
      publish('0.2.0');
      const changes = asRecord(prepare());
      expect(await changesNothing(() => refusal(changes))).toContain(reason);
    });
  }

  test('nothing is installed', async () => {
    publish('0.2.0');
    expect(await refusal()).toContain('Run "self-generation install" first.');
    expect(readdirSync(at.home)).toEqual([]);
  });
});

test('a program works at any moment, wherever an update is killed', async () => {
  const versions: string[] = [];
  for (let killAfterMs = 0, isDone = false; !isDone; killAfterMs += 12) {
    rmSync(at.state(), { recursive: true, force: true });
    await installedIn(at.home);
    publish('0.2.0');
    const child = Bun.spawn([process.execPath, join(import.meta.dir, 'run-update.main.ts'), folder()], {
      env: env(),
      detached: true,
      stdout: 'ignore',
    });
    await Bun.sleep(killAfterMs);
    isDone = child.exitCode !== null;
    if (!isDone) process.kill(-child.pid, 'SIGKILL');
    await child.exited;
    versions.push(await installedVersion());
    // What is left does not keep the next one from being done.
    expect(['updated', 'up to date']).toContain(await refusal());
    expect(await installedVersion()).toBe('0.2.0');
    expect(uninstallIn(at.home).kind).toBe('done');
    expect(existsSync(at.state('hooks'))).toBe(false);
  }
  expect(versions[0]).toBe('0.1.0');
  expect(versions.at(-1)).toBe('0.2.0');
  expect(versions.length).toBeGreaterThan(5);
  expect(versions.filter((version) => !['0.1.0', '0.2.0'].includes(version))).toEqual([]);
}, 120_000);

describe('update', () => {
  const says = (words: string[], changes = {}) =>
    callHere(updateCommand, words, { env: env(), cwd: at.root, ...changes });

  test('is not for agents, but looking is', async () => {
    await installedIn(at.home);
    const agentMark = () => 'CLAUDECODE is set';
    const refused = await says(['--from', 'release'], { agentMark });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('an agent seems to run this (CLAUDECODE is set)');
    expect((await says(['--check'], { agentMark })).stderr).not.toContain('an agent');
  });

  test('says what fails, with exit code 1, also as JSON', async () => {
    const { code, stderr } = await says([]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('error: Cannot update: there is no'),
    });
    expect(JSON.parse((await says(['--json'])).stdout)).toMatchObject({ kind: 'failed', action: 'update' });
  });
});
