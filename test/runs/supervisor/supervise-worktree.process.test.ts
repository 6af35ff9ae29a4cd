import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import type { Environment } from '../../../src/core/state-paths.ts';
import { gitAt } from '../workspace/tree-place.ts';
import { type SupervisorHome, supervisorHome } from './supervisor-home.ts';

/** Turns that work in a tree of their own. */

setDefaultTimeout(60_000);

/** A repository with a commit, and a directory in it. */
async function repository({ home }: SupervisorHome): Promise<string> {
  const root = `${home.path}/repository`;
  home.put('repository/part/file', 'text');
  const env: Environment = { PATH: process.env.PATH, HOME: home.path };
  home.put('.gitconfig', '[user]\n\tname = Test\n\temail = test@example.com\n');
  for (const words of ['init --quiet', 'add .', 'commit --quiet -m first'])
    await gitAt(root, words.split(' '), env);
  return root;
}

/** The name of a temporary directory may look like a secret. */
const ending = (path: string) => path.split('/').slice(-3).join('/');

describe('a turn in a working tree of its own', () => {
  test('leaves nothing when it changed nothing, works there in its announce step too, and again in the next turn', async () => {
    await using sup = supervisorHome();
    const root = await repository(sup);
    const story = await sup.run('[[where]]', { cwd: `${root}/part`, worktreeMode: 'always' });
    const { worktree, cwd, id: runId } = story.run;
    expect(worktree?.repository).toBe(root);
    expect(cwd).toBe(`${worktree?.path}/part`);
    expect(story.turns).toMatchObject([
      { state: 'success', result: ending(cwd) },
      { kind: 'announce', state: 'success' },
    ]);
    expect(existsSync(worktree?.path ?? '')).toBe(false);
    expect(story.outbox).toMatchObject([{ notes: '- (none)' }]);
    const next = await sup.send(runId, '[[where]]');
    // The client finds its session by the directory.
    expect(next.turns[2]).toMatchObject({ kind: 'send', state: 'success', result: ending(cwd) });
    expect(existsSync(worktree?.path ?? '')).toBe(false);
  });

  for (const mode of ['turn', 'raw'])
    test(`keeps what it wrote, and says where (announced by ${mode})`, async () => {
      await using sup = supervisorHome({ announce: { mode } });
      const root = await repository(sup);
      const story = await sup.run('[[write new-file]]', { cwd: root, worktreeMode: 'always' });
      const { path = '' } = story.run.worktree ?? {};
      expect(existsSync(`${path}/new-file`)).toBe(true);
      expect(existsSync(`${root}/new-file`)).toBe(false);
      expect(String(story.outbox[0]?.notes)).toMatch(new RegExp(`^- worktree kept: \\S+${ending(path)} `));
    });

  test('is named by the words that are told when the announce step takes too long, and the step has time enough', async () => {
    await using sup = supervisorHome();
    const root = await repository(sup);
    const changes = { cwd: root, worktreeMode: 'always' } as const;
    const turn = sup.accept('[[write new-file]] [[announce hang]]', changes);
    const supervisor = sup.supervise(turn);
    await sup.until('it is asked for words', () => sup.story(turn.runId).turns[1]?.state === 'running');
    const { run, turns, outbox } = sup.story(turn.runId);
    const told = new RegExp(`worktree\\b.*: \\S+${ending(run.worktree?.path ?? '')} `);
    expect(String(outbox[0]?.notes)).toMatch(told);
    expect(turns[0]?.notes).toEqual([]);
    expect(Number(outbox[0]?.ready_at) - (turns[0]?.endedAtMs ?? 0)).toBeGreaterThanOrEqual(75_000);
    sup.stop(turn.runId);
    await supervisor.exited;
    const { notes } = sup.story(turn.runId).outbox[0] ?? {};
    expect(String(notes)).toMatch(/^- worktree kept: .*$/);
  });

  test('is refused where there is no repository, before anything is started', async () => {
    await using sup = supervisorHome();
    const story = await sup.run('do it', { worktreeMode: 'always' });
    expect(story.turns).toMatchObject([{ state: 'error', launchedAtMs: null }]);
    expect(story.turns[0]?.error).toContain('is in no git repository');
  });
});
