import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import pc from 'picocolors';
import { changeRun } from '../../../src/runs/store/runs.ts';
import { firstPrompt } from '../../../src/runs/workspace/first-prompt.ts';
import { prepareWorktree } from '../../../src/runs/workspace/worktree.ts';
import { readRunSettings } from '../../../src/settings/run-settings.ts';
import { runCommand } from '../../../src/system/run-command.ts';
import { madeRun } from '../../support/made-run.ts';
import { newShelf, type Shelf } from './shelf.ts';

// Each starts dozens of git processes.
setDefaultTimeout(30_000);

type Trees = { shelf: Shelf; git: (...args: string[]) => Promise<string>; env: Record<string, string> };

/** A project that is a repository, and run 1 in a tree of its own in which a file was changed and one is new. */
async function shelfWithTree(state: 'ended' | 'running' = 'ended'): Promise<Trees & { tree: string }> {
  const shelf = newShelf();
  const env = { HOME: shelf.home.path, PATH: process.env.PATH ?? '' };
  const git = async (...args: string[]) => {
    const options = { cwd: shelf.project, env, timeoutMs: 30_000 };
    const result = await runCommand(
      'git',
      ['-c', 'user.name=dev', '-c', 'user.email=d@e.invalid', ...args],
      options,
    );
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
  return { shelf, git, env, tree: worktree.path };
}

const SCREEN = { screen: () => ({ columns: 80, rows: 24 }), colours: pc.createColors(true) };

describe('subagents diff', () => {
  test('prints the patch as it is through a pipe, and in colours, with nothing hidden, on a terminal', async () => {
    const { shelf, env, tree } = await shelfWithTree();
    using _ = shelf;
    const piped = await shelf.call(['diff', '1'], { env });
    expect(piped).toMatchObject({ code: 0, stderr: '' });
    expect(piped.stdout).toContain('\n one\n+\u001b[2J\n');
    expect(piped.stdout).toContain('+++ b/b.txt\n');
    const { stdout } = await shelf.call(['diff', 'fix tests'], { env, ...SCREEN });
    expect(stdout).toContain('\u001b[32m+<U+001B>[2J\u001b[39m\n');
    expect(await shelf.json<object>(['diff', '1'], { env })).toMatchObject({
      number: 1,
      patch: piped.stdout,
      worktree: { path: tree },
    });
  });

  test('refuses a run without a worktree, and says how to have one', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start());
    const { code, stderr } = await shelf.call(['diff', '1']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        '⚠️ Cannot diff the worktree of #1: it works in "/home/dev/app", in no worktree of its own: "spawn --worktree always" gives one.\n',
    });
    expect((await shelf.call(['diff', '2'])).code).toBe(3);
    expect((await shelf.call(['diff'])).code).toBe(2);
  });
});

describe('subagents merge', () => {
  test('brings the changes in and says what it did, and once more that they are there', async () => {
    const { shelf, env } = await shelfWithTree();
    using _ = shelf;
    expect(await shelf.call(['merge', '1'], { env })).toEqual({
      code: 0,
      stderr: '',
      stdout: `Merged #1: 2 files changed in ${shelf.project}, not committed.\n"self-generation subagents discard 1" removes its worktree.\n`,
    });
    expect(readFileSync(`${shelf.project}/b.txt`, 'utf8')).toBe('new\n');
    const again = await shelf.call(['merge', '1'], { env });
    expect(again.stdout).toStartWith(
      `Nothing to merge: what #1 has changed is in ${shelf.project} already.\n`,
    );
  });

  test('changes nothing at a conflict, and says where it is and what to do', async () => {
    const { shelf, env, tree } = await shelfWithTree();
    using _ = shelf;
    writeFileSync(`${shelf.project}/b.txt`, 'mine\n');
    const { code, stderr } = await shelf.call(['merge', '1'], { env });
    expect(code).toBe(1);
    expect(stderr).toStartWith('⚠️ Cannot merge the changes of #1: ');
    for (const part of ['b.txt: already exists', 'nothing was changed', 'Commit or put away', tree])
      expect(stderr).toContain(part);
    expect(readFileSync(`${shelf.project}/a.txt`, 'utf8')).toBe('one\n');
  });
});

describe('subagents discard', () => {
  test('keeps what is nowhere else until somebody agrees', async () => {
    const { shelf, env, tree, git } = await shelfWithTree();
    using _ = shelf;
    const { code, stderr } = await shelf.call(['discard', '1'], { env });
    expect(code).toBe(1);
    expect(stderr).toContain('2 files are not committed: it would be lost.');
    expect(stderr).toContain('with --yes');
    const asked: string[] = [];
    const answering = (answer: boolean) => ({
      ...{ env, isInteractive: true },
      confirm: async (question: string) => asked.push(question) > 0 && answer,
    });
    expect((await shelf.call(['discard', '1'], answering(false))).code).toBe(1);
    expect(existsSync(tree)).toBe(true);
    expect((await shelf.call(['discard', '1'], answering(true))).stdout).toStartWith(
      'Discarded the worktree of #1: ',
    );
    expect(asked).toEqual(Array(2).fill(`#1, ${tree}: 2 files are not committed. Discard it?`));
    expect([existsSync(tree), await git('branch', '--list', 'subagent/*')]).toEqual([false, '']);
    expect(await git('worktree', 'list')).not.toContain(tree);
  });

  test('needs no answer for what is merged, unless something is left that no patch holds', async () => {
    const { shelf, env, tree } = await shelfWithTree();
    using _ = shelf;
    await shelf.call(['merge', '1'], { env });
    writeFileSync(`${tree}/.gitignore`, 'secret\n');
    writeFileSync(`${tree}/secret`, 'x');
    expect((await shelf.call(['discard', '1'], { env })).stderr).toContain('not committed');
    writeFileSync(`${shelf.project}/.gitignore`, 'secret\n');
    expect((await shelf.call(['discard', '1'], { env })).stderr).toContain('1 ignored file is left');
    rmSync(`${tree}/secret`);
    expect(await shelf.call(['discard', '1'], { env })).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(tree)).toBe(false);
  });

  test('--yes needs no answer, and it can be repeated', async () => {
    const { shelf, env, tree } = await shelfWithTree();
    using _ = shelf;
    for (let time = 0; time < 2; time++)
      expect(await shelf.json<object>(['discard', '1', '--yes'], { env })).toMatchObject({
        status: 'discarded',
        number: 1,
      });
    expect(existsSync(tree)).toBe(false);
  });
});

for (const verb of ['merge', 'discard'])
  test(`subagents ${verb} is refused while the run works`, async () => {
    const { shelf, env, tree } = await shelfWithTree('running');
    using _ = shelf;
    const { code, stderr } = await shelf.call([verb, '1', ...(verb === 'discard' ? ['--yes'] : [])], { env });
    expect(code).toBe(1);
    expect(stderr).toContain('of #1: it is running: "self-generation subagents wait 1" waits for its end');
    expect([existsSync(tree), existsSync(`${shelf.project}/b.txt`)]).toEqual([true, false]);
  });

test('a run with a worktree of its own is told, as who starts it is, that changes are not in it', async () => {
  const { shelf, env } = await shelfWithTree();
  using _ = shelf;
  shelf.home.put('bin/claude', '#!/bin/sh\n');
  chmodSync(`${shelf.home.path}/bin/claude`, 0o755);
  writeFileSync(`${shelf.project}/c.txt`, 'not committed');
  const words = ['spawn', '--worktree', 'always', 'Fix the tests.'];
  const { code, stderr } = await shelf.call(words, {
    env: { ...env, PATH: `${env.PATH}:${shelf.home.path}/bin` },
  });
  expect(code).toBe(0);
  expect(stderr).toContain('1 file is not committed, and so not in its worktree: commit first what it needs');
  const run = madeRun({
    cwd: shelf.project,
    worktree: { path: '/tree', branch: 'b', repository: shelf.project },
  });
  const world = { paths: shelf.home.paths, env, now: () => new Date() };
  expect(await firstPrompt(run, readRunSettings({}), world)).toContain('커밋되지 않은 파일 1개는');
});
