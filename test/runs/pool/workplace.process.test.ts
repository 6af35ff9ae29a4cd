import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { PoolSpec } from '../../../src/runs/pool/spec.ts';
import { changesIn, workplaceFor } from '../../../src/runs/pool/workplace.ts';
import { temporaryHome } from '../../support/home.ts';
import { commit, git } from './pool-home.ts';

const LINE = '5f0c1f9e-0000-4000-8000-000000000001';

/** A remote with one commit, and a worker's place for a session. */
async function made(allowsLocal: 'local too' | 'remote alone' = 'local too') {
  const home = temporaryHome();
  const remote = `${home.path}/remote`;
  mkdirSync(remote);
  git(remote, 'init', '--quiet', '--initial-branch=main', '.');
  writeFileSync(`${remote}/file`, 'one\n');
  writeFileSync(`${remote}/.gitignore`, 'ignored\n');
  commit(remote, 'first');
  const head = git(remote, 'rev-parse', 'HEAD').trim();
  const env = { PATH: process.env.PATH, HOME: home.path };
  const spec = { remote, branch: 'main', commit: head, inside: '', session: 'new' } as PoolSpec;
  const places = { home: `${home.path}/pool`, env, allowsLocal };
  const patch = async (place: Awaited<ReturnType<typeof workplaceFor>>) =>
    (await changesIn(place, env)).patch?.toString() ?? '';
  return { home, remote, env, spec, places, patch, [Symbol.dispose]: () => home[Symbol.dispose]() };
}

describe('workplaceFor()', () => {
  test('has the files of the commit, and what is changed there comes as a patch without what is ignored', async () => {
    using one = await made();
    const place = await workplaceFor(LINE, one.spec, one.places);
    expect(readFileSync(`${place.cwd}/file`, 'utf8')).toBe('one\n');
    expect(await one.patch(place)).toBe('');
    writeFileSync(`${place.cwd}/file`, 'two\n');
    writeFileSync(`${place.cwd}/new`, 'new\n');
    writeFileSync(`${place.cwd}/ignored`, 'not sent\n');
    const patch = await one.patch(place);
    expect(patch).toContain('+two');
    expect(patch).toContain('+++ b/new');
    expect(patch).not.toContain('not sent');
    // Another message sees what the one before has left, and brings back what it itself has changed.
    const next = await workplaceFor(LINE, { ...one.spec, session: 'goes on' }, one.places);
    rmSync(`${next.cwd}/new`);
    expect(await one.patch(next)).toContain('deleted file mode');
    expect(await one.patch(next)).not.toContain('+two');
  });

  test('is nothing from elsewhere, and runs nothing, whatever the run has put into its configuration', async () => {
    using one = await made();
    const place = await workplaceFor(LINE, one.spec, one.places);
    const [outside, ran] = [`${one.home.path}/outside`, `${one.home.path}/ran`];
    mkdirSync(outside);
    writeFileSync(`${outside}/file`, 'a secret of this machine\n');
    git(place.root, 'config', 'core.worktree', outside);
    git(place.root, 'config', 'filter.x.clean', `touch ${ran}; cat`);
    git(place.root, 'config', 'core.fsmonitor', `touch ${ran}`);
    writeFileSync(`${place.root}/.gitattributes`, '* filter=x\n');
    writeFileSync(`${place.root}/file`, 'by the run\n');
    const patch = await one.patch(place);
    expect(patch).toContain('+by the run');
    expect(patch).not.toContain('a secret');
    expect(existsSync(ran)).toBe(false);
  });

  test('fetches from a directory only where that is allowed, and says what is wrong', async () => {
    using one = await made('remote alone');
    await expect(workplaceFor(LINE, one.spec, one.places)).rejects.toThrow('without --allow-local-remotes');
    const local = { ...one.places, allowsLocal: 'local too' } as const;
    const missing = { ...one.spec, commit: 'a'.repeat(40) };
    await expect(workplaceFor(LINE, missing, local)).rejects.toThrow('is not in the branch "main"');
    await expect(workplaceFor(LINE, { ...one.spec, session: 'goes on' }, local)).rejects.toThrow('use retry');
  });
});
