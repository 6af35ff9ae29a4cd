import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isTerminal } from '../../../src/runs/model/turn.ts';
import { type Conversation, currentConversation } from '../../../src/runs/store/parts.ts';
import { readRuns } from '../../../src/runs/store/rows.ts';
import { CHECKPOINT_VARIABLE } from '../../../src/runs/world.ts';
import { type Talk, talkHome } from './talk.ts';

setDefaultTimeout(60_000);

const NOTE = '{"entry": "Port 4711 is used."}';
/** Codex is asked for the notes, and the conversation is with Claude Code. */
const SETTINGS = { memory: { enabled: true, flushEvery: 2, client: 'codex' } };

const conversation = (here: Talk): Conversation => {
  const found = readRuns(here.home.paths, (db) => currentConversation(here.requester.key, db));
  if (found === undefined) throw new Error('There is no conversation');
  return found;
};
const asked = (here: Talk) => here.parts().filter(({ run }) => run.part.name.startsWith('memory.'));
const noted = (here: Talk) =>
  here.until('the note is made', () =>
    asked(here).every(({ turns }) => turns.every(({ state }) => isTerminal(state))),
  );
const files = (here: Talk): string[] => {
  const { memory } = here.home.paths;
  if (!existsSync(memory)) return [];
  return readdirSync(memory).flatMap((word) =>
    readdirSync(`${memory}/${word}`).map((name) => `${memory}/${word}/${name}`),
  );
};
const text = (here: Talk) =>
  files(here)
    .map((path) => readFileSync(path, 'utf8'))
    .join('');
const talk = async (here: Talk, ...messages: string[]) => {
  for (const message of messages) expect(await here.call('run', message)).toMatchObject({ code: 0 });
};

describe('memory', () => {
  test('is written after so many answers, for the user alone, and told to the next session', async () => {
    await using here = talkHome(SETTINGS);
    here.codexSays(NOTE);
    await talk(here, 'one');
    expect(asked(here)).toEqual([]);
    await talk(here, 'two');
    await noted(here);
    expect(asked(here)[0]?.run.task).toContain(
      'user said: one\nassistant said: the work is done\nuser said: two\n',
    );
    await here.call('run', '--new', 'three');
    expect(text(here)).toMatch(
      /^## \d\d:\d\d\n\nPort 4711 is used\.\n\n<!-- turns 0 to \d+ of [0-9a-f]{32} -->\n$/,
    );
    const [file = ''] = files(here);
    expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
    await here.call('run', '--new', 'four');
    expect(here.prompts().find((prompt) => prompt.endsWith('four'))).toContain(
      '## Recent Session Memories\n- ',
    );
  });

  test('is asked of no model unless the user has switched it on', async () => {
    await using here = talkHome({ memory: { ...SETTINGS.memory, enabled: false } });
    await talk(here, 'one', 'two', 'three');
    expect(asked(here)).toEqual([]);
  });

  test('of a run that failed loses nothing: the same turns are asked for again with later ones', async () => {
    await using here = talkHome(SETTINGS);
    here.codexSays('I would rather not.');
    await talk(here, 'one', 'two');
    await noted(here);
    await talk(here, 'three');
    expect({ flushed: conversation(here).flushedPosition, asked: asked(here).length }).toEqual({
      flushed: 0,
      asked: 1,
    });
    here.codexSays(NOTE);
    await talk(here, 'four');
    await noted(here);
    const task = asked(here)[1]?.run.task ?? '';
    for (const message of ['one', 'two', 'three', 'four']) expect(task).toContain(`user said: ${message}\n`);
    await talk(here, 'five');
    expect(text(here)).toContain('Port 4711 is used.');
    expect(conversation(here)).toMatchObject({
      flushCycles: 1,
      flushedPosition: here.said().filter(({ message }) => message === 'four')[0]?.position,
    });
  });

  test('is written once, also when this program dies between the file and the watermark', async () => {
    await using here = talkHome(SETTINGS);
    here.codexSays(NOTE);
    await talk(here, 'one', 'two');
    await noted(here);
    const child = here.start(['run', 'three'], { [CHECKPOINT_VARIABLE]: 'after-note' });
    await child.exited;
    expect(child.signalCode).toBe('SIGKILL');
    expect([text(here).match(/Port 4711/g)?.length, conversation(here).flushedPosition]).toEqual([1, 0]);
    await talk(here, 'four');
    expect([text(here).match(/Port 4711/g)?.length, conversation(here).flushCycles]).toEqual([1, 1]);
  });

  test('moves on when nothing was worth a note', async () => {
    await using here = talkHome(SETTINGS);
    here.codexSays('{"skip": true}');
    await talk(here, 'one', 'two');
    await noted(here);
    await talk(here, 'three');
    expect(conversation(here).flushCycles).toBe(1);
    expect(files(here)).toEqual([]);
  });

  test('is told to a session that goes on after each second note, and not as what its user typed', async () => {
    await using here = talkHome({ memory: { ...SETTINGS.memory, flushEvery: 2 } });
    here.codexSays(NOTE);
    for (const message of ['one', 'two', 'three', 'four', 'five', 'six']) {
      await talk(here, message);
      await noted(here);
    }
    const told = here.prompts().filter((prompt) => prompt.trim().startsWith('## Recent Session Memories'));
    expect(told.map((prompt) => prompt.slice(prompt.lastIndexOf('\n') + 1))).toEqual(['five']);
    const file = `${here.home.path}/asked`;
    await here.call('run', '--cli', 'codex', `[[keep ${file}]] [[answer x]]`);
    expect(readFileSync(file, 'utf8')).toContain('[user] five\n');
  });

  test('flush notes down at once what was said, and says so', async () => {
    await using here = talkHome({ memory: { client: 'codex' } });
    expect(await here.call('memory', 'flush')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no conversation yet'),
    });
    here.codexSays(NOTE);
    await talk(here, 'one');
    const flushed = await here.call('memory', 'flush');
    expect(flushed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\w{6} {2}\d{4}-\d\d-\d\d \d\d:\d\d\n {2}Port 4711 is used\.\n$/),
    });
    expect((await here.call('memory', 'flush')).stdout).toBe('All that was said is noted down already.\n');
    here.codexSays('no');
    await talk(here, 'two');
    expect(await here.call('memory', 'flush')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Nothing is lost'),
    });
    here.codexSays('{"skip": true}');
    expect((await here.call('memory', 'flush')).stdout).toBe('Nothing of it was worth a note.\n');
  });

  test('is listed, searched and forgotten', async () => {
    await using here = talkHome({ memory: { client: 'codex' } });
    expect((await here.call('memory')).stdout).toBe('There is no note.\n');
    for (const note of ['Port 4711 is used.', '로그인 테스트는 느리다.']) {
      here.codexSays(JSON.stringify({ entry: note }));
      await talk(here, 'x');
      await here.call('memory', 'flush');
    }
    const { entries } = JSON.parse((await here.call('memory', 'list', '--json')).stdout);
    expect(entries.map((one: { text: string }) => one.text)).toEqual([
      '로그인 테스트는 느리다.',
      'Port 4711 is used.',
    ]);
    expect((await here.call('memory', 'search', 'PORT')).stdout).toMatch(/ {2}Port 4711 is used\.\n$/);
    expect((await here.call('memory', 'forget', entries[1].id)).stdout).toMatch(/^Forgotten: the note of /);
    expect(await here.call('memory', 'forget', entries[1].id)).toMatchObject({ code: 3 });
    expect((await here.call('memory')).stdout).not.toContain('4711');
    await here.call('run', '--new', 'after');
    expect(here.prompts().find((prompt) => prompt.endsWith('after'))).not.toContain('4711');
  });
});
