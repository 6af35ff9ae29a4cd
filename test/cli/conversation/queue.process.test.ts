import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { isTerminal } from '../../../src/runs/model/turn.ts';
import { type Talk, talkHome } from './talk.ts';

setDefaultTimeout(60_000);

/** Something is answered until this file is there, and others wait. */
async function busy(
  here: Talk,
  ...waiting: string[]
): Promise<{ go: () => void; first: Promise<{ code: number; stderr: string }> }> {
  const file = `${here.home.path}/go`;
  const note = `${here.home.path}/note`;
  const first = here.call('run', `[[note ${note}]] [[until ${file}]] at work`);
  await here.until('it works', () => existsSync(note));
  for (const message of waiting) await here.call('run', '--no-wait', message);
  return { go: () => writeFileSync(file, ''), first };
}

const over = (here: Talk) =>
  here.until('all is answered', () => here.said().every(({ state }) => isTerminal(state)));
/** The messages that were answered, in the order in which they were. */
const answered = (here: Talk) =>
  here
    .said()
    .filter(({ state }) => state === 'success')
    .toSorted((one, other) => (one.startedAtMs ?? 0) - (other.startedAtMs ?? 0))
    .map(({ message }) => message);

describe('a message during an answer', () => {
  test('waits, and those that wait are answered one after the other', async () => {
    await using here = talkHome();
    const { go, first } = await busy(here, 'one', 'two');
    const third = here.start(['run', 'three']);
    await here.until('it waits', () => here.said().length === 4);
    go();
    expect((await first).code).toBe(0);
    const { code, stderr } = await here.ended(third);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('⏳ It waits behind 3 other messages.\n'),
    });
    expect(answered(here).slice(1)).toEqual(['one', 'two', 'three']);
  });

  test('joins the one that waits with collect', async () => {
    await using here = talkHome();
    const { go } = await busy(here, 'one');
    await here.call('run', '--no-wait', '--queue', 'collect', 'two');
    go();
    await over(here);
    expect(answered(here).slice(1)).toEqual(['one\n\n---\n\ntwo']);
  });

  test('takes the place of all others with interrupt', async () => {
    await using here = talkHome();
    const { first } = await busy(here, 'one', 'two');
    expect((await here.call('run', '--queue', 'interrupt', 'now')).code).toBe(0);
    expect(await first).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('stopped by a newer message'),
    });
    expect(answered(here)).toEqual(['now']);
  });

  test('is as the settings have it when nothing is said', async () => {
    await using here = talkHome({ run: { queue: 'interrupt' } });
    await busy(here, 'one');
    await over(here);
    expect(answered(here)).toEqual(['one']);
  });

  test('for another client waits as well, and is told what was answered meanwhile, and not what waits behind it', async () => {
    await using here = talkHome();
    const { go } = await busy(here);
    const other = here.start(['run', '--cli', 'codex', 'other']);
    await here.until('it waits', () => here.said().length === 2);
    await here.call('run', '--no-wait', '--cli', 'claude', 'behind');
    await Bun.sleep(300);
    expect(here.said()[1]?.state).toBe('queued');
    go();
    expect((await here.ended(other)).code).toBe(0);
    const told = here.prompts().find((text) => text.endsWith('other'));
    expect(told).toContain(' at work\n\n[assistant] the work is done\n\n---\n');
    expect(told).not.toContain('behind');
    await over(here);
    expect(here.prompts().find((text) => text.endsWith('behind'))).toContain('[assistant] codex has done it');
  });

  test('is refused when many wait, unless it joins one of them, and says what can be done', async () => {
    await using here = talkHome();
    await busy(here, ...Array.from({ length: 20 }, (_, index) => `m${index}`));
    expect(await here.call('run', 'one more')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(
        'to the session wait already: wait for an answer first, or drop some with "queue"',
      ),
    });
    expect((await here.call('run', '--no-wait', '--queue', 'collect', 'joins')).code).toBe(0);
    expect(here.said().at(-1)?.message).toBe('m19\n\n---\n\njoins');
    await here.call('subagents', 'stop', 'all');
  });

  test('that no new session may begin for stops nothing, and leaves the conversation the current one', async () => {
    await using here = talkHome();
    const { go, first } = await busy(here);
    here.home.writeConfig({ language: 'en', agents: { defaults: { subagents: { maxQueued: 0 } } } });
    for (const words of [
      ['--queue', 'steer', '--effort', 'low'],
      ['--queue', 'interrupt', '--effort', 'low'],
      ['--new'],
    ])
      expect((await here.call('run', ...words, 'x')).code).toBe(5);
    go();
    expect((await first).code).toBe(0);
    expect(answered(here)).toHaveLength(1);
  });

  test('for another client is no steering while others wait, and takes their place with interrupt', async () => {
    await using here = talkHome();
    await busy(here, 'one');
    const steered = await here.call('run', '--queue', 'steer', '--cli', 'codex', 'x');
    expect(steered).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Cannot run: messages wait for claude'),
    });
    expect((await here.call('run', '--queue', 'interrupt', '--cli', 'codex', 'now')).code).toBe(0);
    expect(answered(here)).toEqual(['now']);
  });
});

describe('steer', () => {
  test('stops what is answered, comes before what waits, and loses none of it', async () => {
    await using here = talkHome();
    const { first } = await busy(here, 'one', 'two');
    const { code, stdout } = await here.call('steer', '[[answer Steered.]]', 'look', 'there');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Steered.\n' });
    expect((await first).code).toBe(7);
    await over(here);
    expect(answered(here)).toEqual(['[[answer Steered.]] look there', 'one', 'two']);
  });

  test('happens also when who asked for it is gone at once', async () => {
    await using here = talkHome();
    await busy(here, 'one');
    const child = here.start(['steer', 'there']);
    await here.until('it is stored', () => here.said().length === 3);
    child.kill('SIGKILL');
    await here.call('queue');
    await over(here);
    expect(answered(here)).toEqual(['there', 'one']);
  });

  test('of a conversation at rest says something, and of none begins one', async () => {
    await using here = talkHome();
    expect((await here.call('steer', 'first')).code).toBe(0);
    expect((await here.call('steer', 'second')).code).toBe(0);
    expect(answered(here)).toEqual(['first', 'second']);
  });
});

describe('queue', () => {
  test('lists what is answered and what waits, and drops one or all of that', async () => {
    await using here = talkHome();
    const { go } = await busy(here, 'one', 'two', 'three');
    const listed = await here.call('queue');
    expect(
      listed.stdout.split('\n').map((line) =>
        line
          .trimEnd()
          .replace(/ {2,}/g, '|')
          .replace(/\|(?:just now|\d+ s ago)/, '|now'),
      ),
    ).toEqual([
      ...['#|state|client|since|message', expect.stringMatching(/^\|running\|claude\|now\|\[\[note .*…$/)],
      ...['1|queued|claude|now|one', '2|queued|claude|now|two', '3|queued|claude|now|three', ''],
    ]);
    expect((await here.call('queue', 'drop', '2')).stdout).toBe('Dropped: two\n');
    expect(await here.call('queue', 'drop', '7')).toMatchObject({
      code: 3,
      stderr: '⚠️ Cannot drop message 7: "queue" shows which wait\n',
    });
    const { waiting } = JSON.parse((await here.call('queue', 'list', '--json')).stdout);
    expect(waiting).toMatchObject([
      { number: 1, message: 'one' },
      { number: 2, message: 'three' },
    ]);
    expect((await here.call('queue', 'clear')).stdout).toBe('Dropped: one\nDropped: three\n');
    go();
    await over(here);
    expect(answered(here)).toHaveLength(1);
    expect((await here.call('queue', 'clear')).stdout).toBe('No message waits.\n');
    expect((await here.call('queue')).stdout).toBe(
      'Nothing is answered and nothing waits in conversation 1.\n',
    );
  });

  test('of a project without a conversation says so', async () => {
    await using here = talkHome();
    expect((await here.call('queue')).stdout).toBe('There is no conversation in this project yet.\n');
  });

  test('a message that was dropped is not told to another client', async () => {
    await using here = talkHome();
    const { go } = await busy(here, 'never mind this');
    await here.call('queue', 'clear');
    go();
    await over(here);
    await here.call('run', '--cli', 'codex', 'next');
    const asked = here.prompts().find((text) => text.endsWith('next')) ?? '';
    expect(asked).toContain('at work');
    expect(asked).not.toContain('never mind this');
  });
});
