import { describe, expect, test } from 'bun:test';
import { cpSync, rmSync } from 'node:fs';
import { teamCommand } from '../../src/cli/team/team.ts';
import { readRows } from '../support/home.ts';
import { asAdmin, HAS_POSTGRES, lesson, offered, remedyOf, sharedWorld } from './team-world.ts';

const world = sharedWorld();

describe.skipIf(!HAS_POSTGRES)('a team', () => {
  test('a lesson is told to another only after it was accepted, and gone everywhere after its withdrawal', async () => {
    const { person } = await world();
    const [ada, ben] = [await person('ada'), await person('ben')];
    ada.learn(lesson('first'));
    expect(await ada.sync()).toMatchObject({ kind: 'done', refused: [], keptBack: 0 });
    expect(await ben.sync()).toMatchObject({ offered: 1, told: 0 });
    expect(ben.told()).toEqual([]);
    const id = await offered(ben, 'first');
    expect(await ben.suggestions()).toMatchObject([
      { evidence: 'shared in the team by ada; it failed 4 times and this helped 3 times, in 3 sessions' },
    ]);
    expect((await ben.apply(id)).code).toBe(0);
    expect(ben.told()).toEqual([remedyOf('first')]);
    await ben.sync();
    expect(ben.told()).toEqual([remedyOf('first')]);
    const log = await ada.team('log');
    await ada.sync();
    expect(await ada.team('log')).toContain('ben accepted');
    const number = /(\d+) +\S+ \S+ +ada shared/.exec(await ada.team('log'))?.[1] ?? log;
    await ada.team('revert', number, '--why', 'only with version 2');
    expect(ada.told()).toEqual([]);
    expect(await ben.sync()).toMatchObject({ withdrawn: 1 });
    expect(ben.told()).toEqual([]);
    expect(readRows(ben.home.paths, 'SELECT detail FROM withdrawals').map(({ detail }) => detail)).toEqual([
      'in the team, by ada: only with version 2',
    ]);
    expect(await ben.sync()).toMatchObject({ withdrawn: 0, pushed: 0 });
  });

  test('who was added to the team and has no right on the server is told what gives it', async () => {
    const { server, owner, person } = await world();
    await asAdmin(server, 'CREATE ROLE vera LOGIN');
    await owner.team('members', 'add', 'vera');
    const vera = (await person('vik')).run;
    expect(await vera(teamCommand, 'join', server.url('vera'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('GRANT self_generation_member TO vera'),
    });
  });

  test('a second clone that cannot be seen to be one is shared beside the first', async () => {
    const { person } = await world();
    const [nora, otto] = [await person('nora'), await person('otto')];
    const second = `${nora.home.path}/second`;
    cpSync(nora.project, second, { recursive: true });
    nora.learn(lesson('one'));
    nora.learnAt(second, lesson('two'));
    expect(await nora.sync()).toMatchObject({ keptBack: 0 });
    expect((await otto.sync()).offered).toBe(1);
    expect(await nora.teamAt(second, 'share', '--yes')).toContain('Shared');
    expect(await nora.teamAt(second, 'share', '--yes')).toContain('shared already');
    await nora.sync();
    expect((await otto.sync()).offered).toBe(2);
    // What the team tells is told in both; one that is no clone any more sends nothing.
    await otto.apply(await offered(otto, 'two'));
    rmSync(`${second}/.git`, { recursive: true });
    nora.learn(lesson('three'));
    nora.learnAt(second, lesson('four'));
    expect(await nora.sync()).toMatchObject({ moved: [second] });
    expect((await otto.sync()).offered).toBe(2);
    expect(await nora.team('unshare')).toContain('Nothing of it is sent');
    expect(await nora.run(teamCommand, 'unshare')).toMatchObject({ code: 3 });
  });

  test('what a reviewer restores is told again where it was', async () => {
    const { person, owner } = await world();
    const [cleo, dan] = [await person('cleo'), await person('dan')];
    cleo.learn(lesson('again'));
    await cleo.sync();
    await dan.sync();
    await dan.apply(await offered(dan, 'again'));
    await dan.sync();
    await cleo.sync();
    const numberOf = async (who: typeof cleo, deed: string) =>
      new RegExp(`(\\d+) +\\S+ \\S+ +${deed}`).exec(await who.team('log', '--limit', '500'))?.[1] ?? '';
    await cleo.team('revert', await numberOf(cleo, 'cleo shared'));
    await dan.sync();
    expect([cleo.told(), dan.told()]).toEqual([[], []]);
    // The author withdrew it; to restore it is for reviewers alone.
    await dan.sync();
    const withdrawal = await numberOf(dan, 'cleo withdrew');
    expect(await dan.run(teamCommand, 'revert', withdrawal)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('reviewers may restore'),
    });
    await owner.sync();
    await owner.team('revert', await numberOf(owner, 'cleo withdrew'));
    await cleo.sync();
    await dan.sync();
    expect([cleo.told(), dan.told()]).toEqual([[remedyOf('again')], [remedyOf('again')]]);
  });

  test('a decision that is taken back is taken back in the team, as often as it is taken', async () => {
    const { person } = await world();
    const [eva, finn] = [await person('eva'), await person('finn')];
    eva.learn(lesson('undone'));
    await eva.sync();
    await finn.sync();
    const id = await offered(finn, 'undone');
    for (let round = 0; round < 2; round++) {
      await finn.apply(id);
      await finn.sync();
      expect(finn.told()).toEqual([remedyOf('undone')]);
      expect((await finn.undo(id)).code).toBe(0);
      expect(finn.told()).toEqual([]);
      await finn.sync();
      expect(finn.told()).toEqual([]);
    }
    expect(((await finn.team('log')).match(/finn (?:accepted|took back)/g) ?? []).length).toBe(4);
  });
});
