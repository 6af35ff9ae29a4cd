import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import pc from 'picocolors';
import { changeRun } from '../../../src/runs/store/runs.ts';
import { firstPrompt } from '../../../src/runs/workspace/first-prompt.ts';
import { prepareWorktree } from '../../../src/runs/workspace/worktree.ts';
import { readRunSettings } from '../../../src/settings/run-settings.ts';
import { runCommand } from '../../../src/system/run-command.ts';
import { madeRun } from '../../support/made-run.ts';
import { refused, said, terminal } from '../call.ts';
import { newShelf, type Shelf } from './shelf.ts';

// Each starts dozens of git processes.
setDefaultTimeout(30_000);

type Trees = Shelf & {
  readonly git: (...args: string[]) => Promise<string>;
  readonly env: Record<string, string>;
  readonly tree: string;
};

/** A project that is a repository, and run 1 in a tree of its own in which a file was changed and one is new. */
async function shelfWithTree(state: 'ended' | 'running' = 'ended'): Promise<Trees> {
  const shelf = newShelf();
  const env = { HOME: shelf.home.path, PATH: process.env.PATH ?? '' };
  const git = async (...args: string[]) => {
    const options = { cwd: shelf.project, env, timeoutMs: 30_000 };
    const who = ['-c', 'user.name=dev', '-c', 'user.email=d@e.invalid'];
    const result = await runCommand('git', [...who, ...args], options);
    return result.kind === 'exited' ? result.stdout : '';
  };
  rmSync(`${shelf.project}/.git`, { recursive: true });
  await git('init', '--quiet');
  writeFileSync(`${shelf.project}/a.txt`, 'one\n');
  await git('add', '.');
  await git('commit', '--quiet', '-m', 'first');
  const turn = shelf.start({ label: 'fix tests' });
  const asked = madeRun({ id: turn.runId, label: 'fix tests', cwd: shelf.project, worktreeMode: 'always' });
  const prepared = await prepareWorktree(asked, shelf.home.paths, { env, isShared: false });
  if (prepared.kind !== 'made') throw new Error(`It was not made: ${JSON.stringify(prepared)}`);
  const { worktree, cwd } = prepared;
  shelf.write((db) => changeRun(turn.runId, { worktree, cwd }, db));
  writeFileSync(`${worktree.path}/a.txt`, 'one\n\u001b[2J\n');
  writeFileSync(`${worktree.path}/b.txt`, 'new\n');
  if (state === 'ended') shelf.end(turn);
  const call: Shelf['call'] = (words, changes) => shelf.call(words, { env, ...changes });
  return { ...shelf, call, git, env, tree: worktree.path };
}

const SCREEN = { screen: () => ({ columns: 80, rows: 24 }), colours: pc.createColors(true) };

describe('subagents diff', () => {
  test('prints the patch as it is through a pipe, and in colours, with nothing hidden, on a terminal', async () => {
    using shelf = await shelfWithTree();
    const piped = await shelf.call(['diff', '1']);
    expect(piped).toMatchObject({ code: 0, stderr: '' });
    expect(piped.stdout).toContain('\n one\n+\u001b[2J\n');
    expect(piped.stdout).toContain('+++ b/b.txt\n');
    const { stdout } = await shelf.call(['diff', 'fix tests'], SCREEN);
    expect(stdout).toContain('\u001b[32m+<U+001B>[2J\u001b[39m\n');
    expect(JSON.parse((await shelf.call(['diff', '1', '--json'])).stdout)).toMatchObject({
      number: 1,
      patch: piped.stdout,
      worktree: { path: shelf.tree },
    });
  });

  test('refuses a run without a worktree, and says how to have one', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start());
    expect(await shelf.call(['diff', '1'])).toEqual(
      refused(
        1,
        '⚠️ Cannot diff the worktree of #1: it works in "/home/dev/app", in no worktree of its own: "spawn --worktree always" gives one.\n',
      ),
    );
    expect((await shelf.call(['diff', '2'])).code).toBe(3);
    expect((await shelf.call(['diff'])).code).toBe(2);
  });
});

describe('subagents merge', () => {
  test('brings the changes in and says what it did, and once more that they are there', async () => {
    using shelf = await shelfWithTree();
    expect(await shelf.call(['merge', '1'])).toEqual(
      said(
        `Merged #1: 2 files changed in ${shelf.project}, not committed.\n"self-generation subagents discard 1" removes its worktree.\n`,
      ),
    );
    expect(readFileSync(`${shelf.project}/b.txt`, 'utf8')).toBe('new\n');
    const again = await shelf.call(['merge', '1']);
    expect(again.stdout).toStartWith(
      `Nothing to merge: what #1 has changed is in ${shelf.project} already.\n`,
    );
  });

  test('changes nothing at a conflict, and says where it is and what to do', async () => {
    using shelf = await shelfWithTree();
    writeFileSync(`${shelf.project}/b.txt`, 'mine\n');
    const { code, stderr } = await shelf.call(['merge', '1']);
    expect(code).toBe(1);
    expect(stderr).toStartWith('⚠️ Cannot merge the changes of #1: ');
    for (const part of ['b.txt: already exists', 'nothing was changed', 'Commit or put away', shelf.tree])
      expect(stderr).toContain(part);
    expect(readFileSync(`${shelf.project}/a.txt`, 'utf8')).toBe('one\n');
  });
});

describe('subagents discard', () => {
  test('keeps what is nowhere else until somebody agrees', async () => {
    using shelf = await shelfWithTree();
    const { code, stderr } = await shelf.call(['discard', '1']);
    expect(code).toBe(1);
    expect(stderr).toContain('2 files are not committed: it would be lost.');
    expect(stderr).toContain('with --yes');
    const asked: string[] = [];
    expect((await shelf.call(['discard', '1'], terminal(false, asked))).code).toBe(1);
    expect(existsSync(shelf.tree)).toBe(true);
    expect((await shelf.call(['discard', '1'], terminal(true, asked))).stdout).toStartWith(
      'Discarded the worktree of #1: ',
    );
    expect(asked).toEqual(Array(2).fill(`#1, ${shelf.tree}: 2 files are not committed. Discard it?`));
    expect([existsSync(shelf.tree), await shelf.git('branch', '--list', 'subagent/*')]).toEqual([false, '']);
    expect(await shelf.git('worktree', 'list')).not.toContain(shelf.tree);
  });

  test('needs no answer for what is merged, unless something is left that no patch holds', async () => {
    using shelf = await shelfWithTree();
    await shelf.call(['merge', '1']);
    writeFileSync(`${shelf.tree}/.gitignore`, 'secret\n');
    writeFileSync(`${shelf.tree}/secret`, 'x');
    expect((await shelf.call(['discard', '1'])).stderr).toContain('not committed');
    writeFileSync(`${shelf.project}/.gitignore`, 'secret\n');
    expect((await shelf.call(['discard', '1'])).stderr).toContain('1 ignored file is left');
    rmSync(`${shelf.tree}/secret`);
    expect(await shelf.call(['discard', '1'])).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(shelf.tree)).toBe(false);
  });

  test('--yes needs no answer, and it can be repeated', async () => {
    using shelf = await shelfWithTree();
    for (let time = 0; time < 2; time++)
      expect((await shelf.call(['discard', '1', '--yes', '--json'])).stdout).toContain('"discarded"');
    expect(existsSync(shelf.tree)).toBe(false);
  });
});

for (const verb of ['merge', 'discard'])
  test(`subagents ${verb} is refused while the run works`, async () => {
    using shelf = await shelfWithTree('running');
    const { code, stderr } = await shelf.call([verb, '1', ...(verb === 'discard' ? ['--yes'] : [])]);
    expect(code).toBe(1);
    expect(stderr).toContain('of #1: it is running: "self-generation subagents wait 1" waits for its end');
    expect([existsSync(shelf.tree), existsSync(`${shelf.project}/b.txt`)]).toEqual([true, false]);
  });

test('a run with a worktree of its own is told, as who starts it is, that changes are not in it', async () => {
  using shelf = await shelfWithTree();
  shelf.home.put('bin/claude', '#!/bin/sh\n');
  chmodSync(`${shelf.home.path}/bin/claude`, 0o755);
  writeFileSync(`${shelf.project}/c.txt`, 'not committed');
  const words = ['spawn', '--worktree', 'always', 'Fix the tests.'];
  const { code, stderr } = await shelf.call(words, {
    env: { ...shelf.env, PATH: `${shelf.env.PATH}:${shelf.home.path}/bin` },
  });
  expect(code).toBe(0);
  expect(stderr).toContain('1 file is not committed, and so not in its worktree: commit first what it needs');
  const worktree = { path: '/tree', branch: 'b', repository: shelf.project };
  const run = madeRun({ cwd: shelf.project, worktree });
  const world = { paths: shelf.home.paths, env: shelf.env, now: () => new Date() };
  expect(await firstPrompt(run, readRunSettings({}), world)).toContain('커밋되지 않은 파일 1개는');
});
