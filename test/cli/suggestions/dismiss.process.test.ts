import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { applyCommand, dismissCommand } from '../../../src/cli/suggestions/decide.ts';
import { type Home, readEvents, temporaryHome } from '../../support/home.ts';
import { SECRETS } from '../../support/made-up.ts';
import { feedbackOf, RULE, SKILL, seedSuggestion, storedSuggestion } from '../../support/suggestions.ts';
import { callHere, inApp, printed, refused } from '../call.ts';

const call = (home: Home, words: readonly string[]) => callHere(dismissCommand, words, inApp(home));

describe('dismiss', () => {
  test('records the reason on one line', async () => {
    using home = temporaryHome();
    const { id } = seedSuggestion(home, RULE);
    const stdout = printed(await call(home, ['1', '--why', ' we use\npnpm ']));
    expect(stdout).toBe(`Dismissed: Use bun. "self-generation undo ${id}" makes it wait again.\n`);
    const decided = {
      status: 'dismissed',
      why: 'we use pnpm',
      decidedTs: '2026-11-20T09:47:09.123Z',
    } as const;
    expect(storedSuggestion(home, id)).toMatchObject(decided);
    expect(feedbackOf(home)).toEqual([`rejected ${id}`]);
    expect(readEvents(home.paths)).toEqual([]);
  });

  test('keeps no secret and at most 300 characters of it', async () => {
    using home = temporaryHome();
    for (const [index, { text, secret }] of SECRETS.entries()) {
      const { id } = seedSuggestion(home, { ...RULE, rule: `Not ${index}` });
      await call(home, [id, '--why', `${'x '.repeat(100)}${text} ${'y '.repeat(200)}`]);
      const { why } = storedSuggestion(home, id);
      expect(why).not.toContain(secret.slice(0, 12));
      expect(why?.length).toBeLessThanOrEqual(300);
    }
  });

  test('needs no reason', async () => {
    using home = temporaryHome();
    const { id } = seedSuggestion(home, RULE);
    const { stdout } = await call(home, [id, '--json']);
    expect(JSON.parse(stdout)).toEqual({ kind: 'dismissed', id, type: 'claude_md', why: null });
  });

  test('refuses what is applied, and what is dismissed already', async () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/app`);
    const { id } = seedSuggestion(home, SKILL);
    await callHere(applyCommand, [id, '--yes'], inApp(home));
    expect(await call(home, [id])).toEqual(
      refused(1, `error: Cannot dismiss ${id}: it is applied; run "self-generation undo ${id}" first.\n`),
    );
    expect(feedbackOf(home)).toEqual([`accepted ${id}`]);
    const other = seedSuggestion(home, RULE);
    await call(home, [other.id]);
    const again = await call(home, [other.id, '--json']);
    expect(again).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(again.stdout)).toMatchObject({ kind: 'refused', reason: 'it is dismissed already' });
  });

  test('exits with 3 for what does not exist, and stores nothing', async () => {
    using home = temporaryHome();
    seedSuggestion(home, RULE);
    for (const word of ['anything', '7', 's000000000']) expect((await call(home, [word])).code).toBe(3);
    expect(feedbackOf(home)).toEqual([]);
    expect((await call(home, ['x'])).code).toBe(2);
    expect((await call(home, [])).code).toBe(2);
  });
});
