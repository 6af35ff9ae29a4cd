import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { type Said, type SayOptions, say } from '../../src/conversation/say.ts';
import { archiveRun } from '../../src/runs/archive.ts';
import { isTerminal } from '../../src/runs/model/turn.ts';
import { requesterHere } from '../../src/runs/requester.ts';
import { type Talk, talkHome } from '../cli/conversation/talk.ts';

setDefaultTimeout(60_000);

function accepted(here: Talk, prompt: string, options: SayOptions = {}, cwd = here.project): Said {
  const world = { ...here.world, env: here.env, cwd };
  const answer = say(prompt, options, { requester: requesterHere(world), world });
  if (answer.status !== 'accepted') throw new Error(answer.error);
  return answer;
}

const answered = (here: Talk) =>
  here.until('all is answered', () => here.said().every(({ state }) => isTerminal(state)));

describe('say()', () => {
  test('gives the same turn for the same name, also when a later session goes on', async () => {
    await using here = talkHome();
    const first = accepted(here, 'one', { name: 'orchestration.1' });
    await answered(here);
    const second = accepted(here, 'two', { name: 'orchestration.2' });
    await answered(here);
    accepted(here, 'three', { client: 'codex' });
    await answered(here);
    accepted(here, 'four', { isNew: true });
    await answered(here);
    expect(accepted(here, 'one', { name: 'orchestration.1' }).turn).toEqual(first.turn);
    expect(accepted(here, 'two', { name: 'orchestration.2' }).turn).toEqual(second.turn);
    expect(here.said().map(({ message }) => message)).toEqual(['four']);
  });

  test('loses none of several first messages that are said at once', async () => {
    await using here = talkHome();
    const answers = await Promise.all(['one', 'two', 'three'].map((message) => here.call('run', message)));
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(
      here
        .said()
        .map(({ message }) => message)
        .sort(),
    ).toEqual(['one', 'three', 'two']);
    expect(here.parts()).toHaveLength(1);
  });

  test('goes on in the session that another process has begun since it looked', async () => {
    await using here = talkHome();
    let isFaster = true;
    const now = () => {
      if (isFaster) {
        isFaster = false;
        accepted(here, 'the faster one');
      }
      return new Date();
    };
    const world = { ...here.world, env: here.env, now };
    const answer = say('the slower one', {}, { requester: here.requester, world });
    expect(answer).toMatchObject({ status: 'accepted', session: 'resumed', conversation: 1 });
    await answered(here);
    expect(here.said().map(({ message }) => message)).toEqual(['the faster one', 'the slower one']);
  });

  test('goes on in a new session, which is told of it, when the old one is archived', async () => {
    await using here = talkHome();
    accepted(here, 'one');
    await answered(here);
    const [old] = here.parts();
    if (old !== undefined) archiveRun(old.run, here.home.paths, new Date());
    expect(accepted(here, 'two')).toMatchObject({ conversation: 1, session: 'new', client: 'claude' });
    await answered(here);
    expect(here.prompts().find((text) => text.endsWith('two'))).toContain('[Recent Context]\n\n[user] one\n');
  });

  const lost: [what: string, (here: Talk) => void, prompt: string, place: string][] = [
    ['directory is gone', ({ project }) => rmdirSync(`${project}/sub`), 'two', ''],
    ['client has no such session any more', () => {}, 'two [[no-resume]]', '/sub'],
    ['user works above its directory', () => {}, 'two', ''],
  ];
  test.each(lost)('goes on in a new session when the %s', async (_, lose, prompt, place) => {
    await using here = talkHome();
    Bun.spawnSync(['git', 'init', '--quiet'], { cwd: here.project, env: here.env });
    mkdirSync(`${here.project}/sub`);
    accepted(here, 'one', {}, `${here.project}/sub`);
    await answered(here);
    lose(here);
    accepted(here, prompt, {}, here.project + place);
    await answered(here);
    expect(accepted(here, 'three', {}, here.project + place).conversation).toBe(1);
    await answered(here);
    expect(here.said().at(-1)).toMatchObject({ state: 'success', error: null });
    expect(here.parts().map(({ run }) => run.cwd)).toEqual([`${here.project}/sub`, here.project + place]);
    expect(here.prompts().some((text) => text.includes('[Recent Context]\n\n[user] one\n'))).toBe(true);
  });

  test('gives a message with a name a turn of its own, also where others are collected', async () => {
    await using here = talkHome();
    const file = `${here.home.path}/go`;
    accepted(here, `[[until ${file}]]`);
    await here.until('it works', () => here.said()[0]?.state === 'running');
    accepted(here, 'waits');
    const named = () => accepted(here, 'named', { name: 'orchestration.1', mode: 'collect' }).turn;
    expect(named()).toEqual(named());
    writeFileSync(file, '');
    await answered(here);
    expect(
      here
        .said()
        .map(({ message }) => message)
        .slice(1),
    ).toEqual(['waits', 'named']);
  });

  test('goes on in another working tree of the repository in a session of its own', async () => {
    await using here = talkHome();
    const tree = `${here.home.path}/tree`;
    const git = (...words: string[]) => {
      const who = ['-c', 'user.name=x', '-c', 'user.email=x@example.com'];
      expect(Bun.spawnSync(['git', ...who, ...words], { cwd: here.project, env: here.env }).exitCode).toBe(0);
    };
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '-m', 'x');
    git('worktree', 'add', '--quiet', tree);
    accepted(here, 'one');
    await answered(here);
    mkdirSync(`${here.project}/src`);
    expect(accepted(here, 'two', {}, `${here.project}/src`).session).toBe('resumed');
    await answered(here);
    expect(accepted(here, 'three', {}, tree)).toMatchObject({ conversation: 1, session: 'new' });
    await answered(here);
    expect(here.parts().map(({ run }) => run.cwd)).toEqual([here.project, tree]);
  });

  test('tells the team and the skills of the user to a new session', async () => {
    await using here = talkHome({
      agents: { list: [{ id: 'ada', role: 'backend', description: 'Databases.' }, { id: 'bob' }] },
    });
    here.home.put(
      '.claude/skills/notes/SKILL.md',
      '---\nname: notes\ndescription: How notes are kept\n---\nx\n',
    );
    accepted(here, 'one');
    await answered(here);
    const [prompt = ''] = here.prompts();
    expect(prompt).toContain('- ada (backend): Databases.');
    expect(prompt).toContain('notes');
    expect(prompt).not.toContain('bob');
  });

  test('takes as much in a session that goes on as in a new one', async () => {
    await using here = talkHome();
    const long = '가'.repeat(300_000);
    accepted(here, long);
    await answered(here);
    expect(accepted(here, long).session).toBe('resumed');
    await answered(here);
    expect(here.said().map(({ state }) => state)).toEqual(['success', 'success']);
  });

  test('refuses an empty message, and one that is too long', async () => {
    await using here = talkHome();
    accepted(here, 'one');
    const speaker = { requester: here.requester, world: { ...here.world, env: here.env } };
    expect(say(' ', {}, speaker)).toMatchObject({ status: 'error' });
    expect(say('x'.repeat(1_100_000), {}, speaker)).toMatchObject({
      error: expect.stringContaining('put it into a file'),
    });
    await answered(here);
  });
});
