import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync } from 'node:fs';
import { suggestionsCommand } from '../../../src/cli/suggestions/suggestions.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { isoBeforeNow, rule, seedAnalysis, withDatabase } from '../../support/seed.ts';
import { HOOK, RULE, SKILL, seedSuggestion } from '../../support/suggestions.ts';
import { callHere, printed } from '../call.ts';

const APP = '/home/dev/app';
const own = { project: 'app', projectPath: APP };

type Listed = { number: number | null } & Record<'id' | 'status' | 'summary' | 'text', string>;

const call = (home: Home, words: readonly string[], cwd = APP) =>
  callHere(suggestionsCommand, words, { env: { HOME: home.path }, cwd, now: () => new Date() });

async function list(home: Home, words: readonly string[] = [], cwd = APP): Promise<Listed[]> {
  const stdout = printed(await call(home, [...words, '--json'], cwd));
  return (JSON.parse(stdout) as { suggestions: Listed[] }).suggestions;
}

describe('suggestions', () => {
  test("lists this project's and everybody's that wait, the most important first", async () => {
    using home = temporaryHome();
    seedSuggestion(home, SKILL);
    seedSuggestion(home, RULE, own);
    seedSuggestion(home, HOOK, { project: 'other', projectPath: '/home/dev/other' });
    const stdout = printed(await call(home, []));
    expect(stdout).toMatch(
      /^1\. \[claude_md\] Use bun\n {3}s[0-9a-z]{9,11} {2}new {2}app\n {3}Use bun and not npm\.\n {3}npm failed three times\n/,
    );
    expect(stdout).toContain('\n2. [skill] Release\n');
    expect(stdout).toContain('all projects');
    expect(stdout).not.toContain('generated');
  });

  test('show tells the whole of one, what would be written where, and what to do', async () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/app`);
    const here = { project: 'app', projectPath: `${home.path}/app` };
    const { id } = seedSuggestion(home, SKILL, here);
    seedSuggestion(home, RULE, here);
    const before = existsSync(`${home.path}/app/.claude`);
    const stdout = printed(await call(home, ['show', '2'], `${home.path}/app`));
    for (const part of [
      '[skill] Release\n',
      `${id} · app · waits for your decision · proposed `,
      '\nSkill "release-it"\n  1. Run the tests.\n  2. Set the tag $ARGUMENTS.\n',
      '\nEvidence\n  asked for five times\n',
      `\nApplying it\n--- /dev/null\n+++ ${home.path}/app/.claude/skills/release-it/SKILL.md\n`,
      `\nDecide\n  self-generation apply ${id} `,
      `  self-generation dismiss ${id} --why "…" `,
    ])
      expect(stdout).toContain(part);
    expect(existsSync(`${home.path}/app/.claude`)).toBe(before);
    const asJson = JSON.parse(printed(await call(home, ['show', id, '--json'], `${home.path}/app`)));
    expect(asJson).toMatchObject({ id, text: SKILL.action, effect: { refused: null } });
    expect(asJson.effect.diff).toContain('+1. Run the tests.');
  });

  test('show says why one cannot be applied, and of one that was decided on what takes that back', async () => {
    using home = temporaryHome();
    const { id } = seedSuggestion(home, RULE, { project: 'gone', projectPath: '/nowhere/gone' });
    const stdout = printed(await call(home, ['show', id]));
    expect(stdout).toContain('\nIt cannot be applied\n  its project "/nowhere/gone" is no directory');
    expect(stdout).not.toContain(`apply ${id}`);
    withDatabase(home.paths, (db) =>
      db.sqlite.run("UPDATE suggestions SET status = 'dismissed', why = 'we use npm' WHERE id = ?", id),
    );
    const decided = printed(await call(home, ['show', id]));
    expect(decided).toContain('\nDismissed because\n  we use npm\n');
    expect(decided).toContain(`  self-generation undo ${id} `);
    expect((await call(home, ['show', 'nosuch'])).code).toBe(3);
  });

  test('prints everything as JSON', async () => {
    using home = temporaryHome();
    const { id, ts } = seedSuggestion(home, RULE, own);
    const words = { summary: 'Use bun', evidence: 'npm failed three times', text: 'Use bun and not npm.' };
    const about = { type: 'claude_md', priority: 3, origin: 'analysis', details: {}, lastTs: ts };
    const undecided = { status: 'new', decidedTs: null, why: null, applied: null };
    const row = { number: 1, id, ts, ...own, ...words, ...about, ...undecided };
    expect(await list(home)).toEqual([row]);
  });

  test('keeps the numbers when one is decided on, and shows it with --all', async () => {
    using home = temporaryHome();
    const { id } = seedSuggestion(home, RULE, own);
    seedSuggestion(home, SKILL, own);
    withDatabase(home.paths, (db) =>
      db.sqlite.run("UPDATE suggestions SET status = 'dismissed', why = 'no' WHERE id = ?", id),
    );
    expect((await list(home)).map(({ number, summary }) => `${number} ${summary}`)).toEqual(['2 Release']);
    const all = (await list(home, ['--all'])).map(({ number, status }) => `${number} ${status}`);
    expect(all).toEqual(['1 dismissed', '2 new']);
    expect((await call(home, ['--all'])).stdout).toContain('   why: no\n');
  });

  test('lists another project, and all, without the numbers that mean something here', async () => {
    using home = temporaryHome();
    seedSuggestion(home, RULE, own);
    seedSuggestion(home, HOOK, { project: 'other', projectPath: '/home/dev/other' });
    const rows = await list(home, ['--project', '/home/dev/other/']);
    expect(rows.map(({ number, summary }) => [number, summary])).toEqual([[null, HOOK.summary]]);
    expect(await list(home, ['--project', 'all'])).toHaveLength(2);
    expect((await call(home, ['--project', '/home/dev/other'])).stdout).toStartWith('- [hook] ');
    expect((await call(home, ['--project', APP])).stdout).toStartWith('1. [claude_md] ');
  });

  test('takes in what another implementation left, of the last week', async () => {
    using home = temporaryHome();
    seedAnalysis(home.paths, { suggestions: [rule('of today')], project: 'app', projectPath: APP });
    seedAnalysis(home.paths, { suggestions: [rule('of the week')], project: 'app', ageHours: 167 });
    seedAnalysis(home.paths, { suggestions: [rule('of the month')], project: 'app', ageHours: 169 });
    const texts = (await list(home)).map(({ text }) => text);
    expect(texts.sort()).toEqual(['of the week', 'of today']);
  });

  test('says when there is none, and creates nothing for it', async () => {
    using home = temporaryHome();
    expect((await call(home, [])).stdout).toStartWith('No suggestion waits for a decision.');
    expect((await call(home, ['--all'])).stdout).toBe('No suggestions.\n');
    expect(await list(home)).toEqual([]);
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('knows one project by all worktrees of its repository', async () => {
    using home = temporaryHome();
    const app = `${home.path}/app`;
    const tree = `${home.path}/tree`;
    mkdirSync(`${app}/.git/worktrees/tree`, { recursive: true });
    home.put('app/.git/worktrees/tree/gitdir', `${tree}/.git\n`);
    home.put('tree/.git', `gitdir: ${app}/.git/worktrees/tree\n`);
    seedSuggestion(home, RULE, { project: 'app', projectPath: app, ts: isoBeforeNow(5) });
    expect(await list(home, [], tree)).toHaveLength(1);
  });

  test('fails without a home, with a project that is none and with a word too many', async () => {
    using home = temporaryHome();
    expect(await callHere(suggestionsCommand, [], { env: {} })).toMatchObject({ code: 1 });
    expect(await call(home, ['--project', 'nowhere'])).toMatchObject({ code: 3 });
    expect(await call(home, ['x'])).toMatchObject({ code: 2 });
  });
});
