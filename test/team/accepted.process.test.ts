import { describe, expect, test } from 'bun:test';
import { configCommand } from '../../src/cli/config.ts';
import { errorsCommand } from '../../src/cli/learned/errors.ts';
import { applyCommand } from '../../src/cli/suggestions/decide.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { printed } from '../cli/call.ts';
import { readRows } from '../support/home.ts';
import { HAS_POSTGRES, lesson, offered, type Person, remedyOf, sharedWorld } from './team-world.ts';

const world = sharedWorld();
const trust = (person: Person, whom: string) => person.run(configCommand, 'set', 'team.trust', whom);

describe.skipIf(!HAS_POSTGRES)('what was accepted', () => {
  test('is told no more once the one whose word counted takes it back, or another one’s word counts', async () => {
    const { person, owner } = await world();
    const [tess, uwe, vera] = [await person('tess'), await person('uwe', 'reviewer'), await person('vera')];
    await trust(vera, 'reviewers');
    tess.learn(lesson('taken-back'));
    for (const one of [tess, uwe, vera]) await one.sync();
    const id = await offered(uwe, 'taken-back');
    await uwe.apply(id);
    for (const one of [uwe, vera]) await one.sync();
    expect(vera.told()).toEqual([remedyOf('taken-back')]);
    await trust(vera, 'me');
    await vera.sync();
    expect(vera.told()).toEqual([]);
    await trust(vera, 'reviewers');
    await vera.sync();
    expect(vera.told()).toEqual([remedyOf('taken-back')]);
    await uwe.undo(id);
    await uwe.dismiss(id);
    for (const one of [uwe, vera]) await one.sync();
    expect(vera.told()).toEqual([]);
    await uwe.undo(id);
    await uwe.apply(id);
    for (const one of [uwe, vera]) await one.sync();
    expect(vera.told()).toEqual([remedyOf('taken-back')]);
    await owner.team('members', 'remove', 'uwe');
    await vera.sync();
    expect(vera.told()).toEqual([]);
  });

  test('makes room for what helps instead, and does not come back when that changes', async () => {
    const { person } = await world();
    const [walt, xena] = [await person('walt'), await person('xena')];
    const key = lesson('same-error').key;
    const better = lesson('better', { key, said: key });
    walt.learn(lesson('same-error'));
    for (const one of [walt, xena]) await one.sync();
    await xena.apply(await offered(xena, 'tool same-error'));
    for (const one of [xena, walt]) await one.sync();
    const number = /(\d+) +\S+ \S+ +walt shared/.exec(await walt.team('log', '--limit', '9'))?.[1] ?? '';
    await walt.team('revert', number);
    expect(walt.told()).toEqual([]);
    walt.learn(lesson('same-error'));
    expect(walt.told()).toEqual([]);
    walt.learn(better);
    expect(walt.told()).toEqual([remedyOf('better')]);
    for (const one of [walt, xena]) await one.sync();
    await xena.apply(await offered(xena, 'tool better'));
    expect(xena.told()).toEqual([remedyOf('better')]);
    for (const one of [xena, walt, xena]) await one.sync();
    expect([walt.told(), xena.told()]).toEqual([[remedyOf('better')], [remedyOf('better')]]);
  });

  test('gives way to a person’s own words, which no withdrawal takes away', async () => {
    const { person } = await world();
    const [yan, zoe] = [await person('yan'), await person('zoe')];
    yan.learn(lesson('own-words'));
    for (const one of [yan, zoe]) await one.sync();
    const id = await offered(zoe, 'own-words');
    await zoe.apply(id);
    const [{ id: row = 0 } = {}] = readRows(
      zoe.home.paths,
      "SELECT id FROM error_kb WHERE resolved_by = 'lesson'",
    );
    printed(await zoe.run(errorsCommand, 'resolve', String(row), 'say it without the dashes', '--json'));
    await zoe.undo(id);
    await zoe.sync();
    expect(zoe.told().map((one) => JSON.parse(one).summary)).toEqual(['say it without the dashes']);
  });

  test('is not offered again when its error was to be forgotten', async () => {
    const { person } = await world();
    const [abe, bea] = [await person('abe'), await person('bea')];
    abe.learn(lesson('forgotten'));
    for (const one of [abe, bea]) await one.sync();
    await offered(bea, 'forgotten');
    bea.learn(lesson('forgotten'));
    const [{ id = 0 } = {}] = readRows(
      bea.home.paths,
      "SELECT id FROM error_kb WHERE error_normalized LIKE '%forgotten%'",
    );
    printed(await bea.run(errorsCommand, 'forget', String(id), '--yes', '--json'));
    await bea.sync();
    const texts = JSON.stringify((await bea.suggestions()).filter(({ status }) => status !== 'expired'));
    expect(texts).not.toContain('forgotten');
  });

  test('is told no more after unshare and leave, since nobody would hear of a withdrawal', async () => {
    const { person } = await world();
    const [cal, deb] = [await person('cal'), await person('deb')];
    cal.learn(lesson('left'));
    for (const one of [cal, deb]) await one.sync();
    await deb.apply(await offered(deb, 'left'));
    expect(deb.told()).toEqual([remedyOf('left')]);
    await deb.team('unshare');
    expect(deb.told()).toEqual([]);
    await deb.team('share', '--yes');
    await deb.sync();
    expect(deb.told()).toEqual([remedyOf('left')]);
    await deb.team('leave', '--yes');
    expect(deb.told()).toEqual([]);
  });

  test('a rule is applied to the files of who accepts it, and status names it when it is withdrawn', async () => {
    const { person } = await world();
    const [ed, flo] = [await person('ed'), await person('flo')];
    writeDatabase(ed.home.paths, (db) =>
      db.sqlite.run(
        `INSERT INTO suggestions (id, ts, last_ts, project, project_path, origin, type, status, summary, text)
         VALUES ('s123456789', '2026-11-20', '2026-11-20', 'shop', ?, 'analysis', 'claude_md', 'applied', 'Port', 'Set PORT first.')`,
        ed.project,
      ),
    );
    for (const one of [ed, flo]) await one.sync();
    const id = await offered(flo, 'Set PORT first.');
    printed(await flo.run(applyCommand, id, '--client', 'claude', '--yes', '--json'));
    expect(await Bun.file(`${flo.project}/.claude/CLAUDE.md`).text()).toContain('- Set PORT first.');
    for (const one of [flo, ed]) await one.sync();
    const number =
      /(\d+) +\S+ \S+ +ed shared the rule/.exec(await ed.team('log', '--limit', '99'))?.[1] ?? '';
    await ed.team('revert', number);
    await flo.sync();
    expect(await flo.team('status')).toContain(
      `A rule that you applied was withdrawn in the team: "self-generation undo ${id}"`,
    );
  });

  test('from a directory that is a clone of something else nothing is sent', async () => {
    const { person } = await world();
    const gus = await person('gus');
    gus.learn(lesson('secret-work'));
    Bun.spawnSync(['git', 'remote', 'set-url', 'origin', 'https://git.example.com/secret.git'], {
      cwd: gus.project,
    });
    expect(await gus.sync()).toMatchObject({ pushed: 0, moved: [gus.project] });
  });

  test('a reason with a path or a secret in it stays here', async () => {
    const { person } = await world();
    const hank = await person('hank');
    hank.learn(lesson('reasons'));
    await hank.sync();
    const number = /(\d+) +\S+ \S+ +hank shared/.exec(await hank.team('log', '--limit', '9'))?.[1] ?? '';
    await hank.team('revert', number, '--why', 'see /home/hank/private/notes.txt');
    const log = await hank.team('log', '--limit', '3');
    expect(log).toContain('the reason names a place outside of the repository');
    expect(log).not.toContain('/home/hank');
  });
});
