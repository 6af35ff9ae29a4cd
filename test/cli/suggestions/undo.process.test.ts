import { describe, expect, test } from 'bun:test';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import type { CliContext } from '../../../src/cli/context.ts';
import { applyCommand, dismissCommand, undoCommand } from '../../../src/cli/suggestions/decide.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { feedbackOf, RULE, SKILL, seedSuggestion, storedSuggestion } from '../../support/suggestions.ts';
import { callHere, inApp, printed } from '../call.ts';

const call = (home: Home, words: readonly string[], changes: Partial<CliContext> = {}) =>
  callHere(undoCommand, words, inApp(home, changes));

/** A home with one applied skill. */
async function applied(): Promise<Home & { id: string; command: string }> {
  const home = temporaryHome();
  mkdirSync(`${home.path}/app`);
  const { id } = seedSuggestion(home, SKILL, { project: 'app', projectPath: `${home.path}/app` });
  const { code } = await callHere(applyCommand, ['1', '--yes'], inApp(home));
  expect(code).toBe(0);
  return { ...home, id, command: `${home.path}/app/.claude/skills/release-it/SKILL.md` };
}

describe('undo', () => {
  test('shows what goes, asks and takes it back', async () => {
    using home = await applied();
    const confirm = async (question: string) => question === 'Take this back?';
    const stdout = printed(await call(home, [home.id.slice(0, 5)], { isInteractive: true, confirm }));
    expect(stdout).toContain(`--- ${home.command}\n+++ /dev/null\n`);
    expect(stdout).toEndWith('Undone: "Release" waits for a decision again.\n');
    expect(existsSync(`${home.path}/app/.claude`)).toBe(false);
    expect(storedSuggestion(home, home.id)).toMatchObject({ status: 'shown', applied: null });
    expect(feedbackOf(home)).toEqual([`accepted ${home.id}`, `undone ${home.id}`]);
  });

  test('changes nothing without an answer, or when the answer is no', async () => {
    using home = await applied();
    const nobody = await call(home, [home.id]);
    expect(nobody.code).toBe(1);
    expect(nobody.stderr).toContain('nobody can be asked here. Pass --yes');
    expect((await call(home, [home.id], { isInteractive: true })).code).toBe(1);
    const json = await call(home, [home.id, '--json']);
    expect(json).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'not-confirmed', id: home.id });
    expect(existsSync(home.command)).toBe(true);
    expect(storedSuggestion(home, home.id).status).toBe('applied');
  });

  test('says what to do about what was edited since', async () => {
    using home = await applied();
    appendFileSync(home.command, 'mine\n');
    const { stderr, code } = await call(home, [home.id, '--yes']);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `"${home.command}" was changed since; remove it, or keep it under another name, and then run this again`,
    );
    expect(existsSync(home.command)).toBe(true);
    const json = await call(home, [home.id, '--yes', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'refused' });
    expect(json).toMatchObject({ code: 1, stderr: '' });
    renameSync(home.command, `${home.path}/app/.claude/skills/release-it/mine.md`);
    expect((await call(home, [home.id, '--yes'])).code).toBe(0);
    expect(readdirSync(`${home.path}/app/.claude/skills/release-it`)).toEqual(['mine.md']);
  });

  test('leaves a rule that another applied suggestion put there too, and says so', async () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/app`);
    const first = seedSuggestion(home, RULE, { project: 'app', projectPath: `${home.path}/app` });
    const second = seedSuggestion(home, RULE);
    for (const { id } of [first, second])
      expect((await callHere(applyCommand, [id, '--yes'], inApp(home))).code).toBe(0);
    const path = `${home.path}/app/.claude/CLAUDE.md`;
    const stdout = printed(await call(home, [first.id]));
    expect(stdout).toStartWith(`The rule stays in "${path}": another suggestion`);
    expect(readFileSync(path, 'utf8')).toContain(RULE.rule);
    expect((await call(home, [second.id, '--yes'])).code).toBe(0);
    expect(existsSync(`${home.path}/app/.claude`)).toBe(false);
  });

  test('needs no answer where no file is changed', async () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/app`);
    const { id } = seedSuggestion(home, SKILL);
    await callHere(dismissCommand, [id], inApp(home));
    const stdout = printed(await call(home, [id, '--json']));
    expect(JSON.parse(stdout)).toEqual({ kind: 'undone', id, type: 'skill', diff: '', notes: [] });
    expect(storedSuggestion(home, id).status).toBe('shown');
  });

  test('exits with 1 for what waits, 3 for what is unknown and 2 for a wrong call', async () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/app`);
    const { id } = seedSuggestion(home, SKILL);
    expect((await call(home, [id])).stderr).toBe(`error: Cannot undo ${id}: it waits for your decision.\n`);
    expect((await call(home, [id])).code).toBe(1);
    expect((await call(home, ['s000000000'])).code).toBe(3);
    expect((await call(home, [])).code).toBe(2);
  });
});
