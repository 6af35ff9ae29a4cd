import { describe, expect, test } from 'bun:test';
import { waitingAnnouncements } from '../../../src/runs/store/outbox.ts';
import { printed, refused } from '../call.ts';
import { NOW_MS, newShelf, type Shelf, sessionOf } from './shelf.ts';

const STATS = 'Stats: runtime 5m12s • tokens n/a • sessionKey k • transcript /t';

/** A success and a failure that wait to be told. */
function shelfWithNews(): Shelf {
  const shelf = newShelf();
  shelf.end(shelf.start({ label: 'one' }), {}, { id: 'aaaa-1' });
  shelf.end(shelf.start({ label: 'two' }), {}, { id: 'bbbb-2', status: 'error', result: 'no\u001b[1A' });
  return shelf;
}

const waiting = (shelf: Shelf) =>
  shelf.write((db) => waitingAnnouncements(shelf.key, db).map(({ id, attempts }) => ({ id, attempts })));

describe('subagents inbox', () => {
  test('tells a person what waits, each once', async () => {
    using shelf = shelfWithNews();
    const stdout = printed(await shelf.call(['inbox']));
    expect(stdout).toBe(
      [
        '#1 · one · announceId aaaa-1',
        `Status: success\n\nResult:\nAll pass.\n\nNotes:\n- (none)\n\n${STATS}`,
        '',
        '#2 · two · announceId bbbb-2',
        `Status: error\n\nResult:\nno<U+001B>[1A\n\nNotes:\n- (none)\n\n${STATS}`,
        '\n',
      ].join('\n'),
    );
    expect(waiting(shelf)).toEqual([]);
    expect((await shelf.call(['inbox'])).stdout).toBe('Nothing waits to be told.\n');
  });

  test('tells all that waits at once', async () => {
    using shelf = newShelf();
    for (let index = 0; index < 20; index++) shelf.end(shelf.start(), {}, {});
    const { stdout } = await shelf.call(['inbox']);
    expect(stdout.match(/^#\d+ · /gm)).toHaveLength(20);
    expect(waiting(shelf)).toEqual([]);
  });

  test('leaves with --peek everything where it is', async () => {
    using shelf = shelfWithNews();
    expect((await shelf.call(['inbox', '--peek'])).stdout).toContain('#2 · two · announceId bbbb-2\n');
    expect(waiting(shelf)).toEqual([
      { id: 'aaaa-1', attempts: 0 },
      { id: 'bbbb-2', attempts: 0 },
    ]);
  });

  test('prints the same as JSON', async () => {
    using shelf = shelfWithNews();
    const { announcements } = await shelf.json<{ announcements: object[] }>(['inbox']);
    expect(announcements).toHaveLength(2);
    expect(announcements[0]).toMatchObject({
      announceId: 'aaaa-1',
      number: 1,
      label: 'one',
      status: 'success',
      redelivery: false,
      text: `Status: success\n\nResult:\nAll pass.\n\nNotes:\n- (none)\n\n${STATS}`,
    });
    expect(await shelf.json<unknown>(['inbox'])).toEqual({ announcements: [] });
  });

  test('keeps what children said in a fence where an agent reads along', async () => {
    using shelf = shelfWithNews();
    const env = { HOME: shelf.home.path, CODEX_THREAD_ID: 't-1' };
    const { stdout } = await shelf.call(['inbox'], { env });
    expect(stdout).toStartWith('2 background runs of yours ended. What stands between the lines with ');
    expect(stdout.match(/^<<<BEGIN_UNTRUSTED_CHILD_RESULT [0-9a-f]{32}>>>$/gm)).toHaveLength(2);
  });

  test('says what it takes from the session of an agent, and with --mine leaves it there', async () => {
    using shelf = shelfWithNews();
    const requester = sessionOf(shelf.key);
    for (const id of ['cccc-3', 'dddd-4'])
      shelf.end(shelf.start({ requester }), {}, { readyAtMs: NOW_MS, id });
    expect((await shelf.call(['inbox', '--peek'])).stdout).toContain(
      "announceId cccc-3 · meant for an agent's session\n",
    );
    expect((await shelf.call(['inbox', '--mine'])).stdout).not.toContain('cccc-3');
    expect(waiting(shelf).map(({ id }) => id)).toEqual(['cccc-3', 'dddd-4']);
    const { announcements } = await shelf.json<{ announcements: object[] }>(['inbox', '--peek']);
    expect(announcements).toMatchObject([{ requesterSession: 's-1' }, { requesterSession: 's-1' }]);
    const { stdout } = await shelf.call(['inbox']);
    expect(stdout).toEndWith(
      "\n#3, #4 were meant for an agent's session, which will not be told again; with --mine those of other sessions stay there.\n",
    );
    expect(waiting(shelf)).toEqual([]);
  });

  test('takes nothing that could not be written', async () => {
    for (const flag of [[], ['--json']]) {
      using shelf = shelfWithNews();
      await shelf.call(['inbox', ...flag], { written: async () => false });
      expect(waiting(shelf).map(({ id }) => id)).toEqual(['aaaa-1', 'bbbb-2']);
      expect((await shelf.call(['inbox'])).stdout).toContain(
        '#2 · two · announceId bbbb-2 · redelivery: true\n',
      );
      expect(waiting(shelf)).toEqual([]);
    }
  });

  test('says of what is not ready yet that it comes', async () => {
    using shelf = newShelf();
    shelf.end(shelf.start(), {}, { readyAtMs: NOW_MS + 1000 });
    expect((await shelf.call(['inbox'])).stdout).toBe(
      'Nothing yet: 1 announcement being put into words, or handed out to a session.\n',
    );
  });
});

describe('subagents dismiss', () => {
  const calls: [words: string, left: string[]][] = [
    ['all', []],
    ['1', ['bbbb-2']],
    ['two', ['aaaa-1']],
    ['bbbb-2', ['aaaa-1']],
    ['aaaa', ['bbbb-2']],
  ];
  for (const [words, left] of calls) {
    test(`drops what "${words}" names, unread`, async () => {
      using shelf = shelfWithNews();
      const stdout = printed(await shelf.call(['dismiss', words]));
      expect(stdout).toBe(`Dismissed ${2 - left.length} announcement${left.length === 0 ? 's' : ''}.\n`);
      expect(waiting(shelf).map(({ id }) => id)).toEqual(left);
    });
  }

  test('says which were dropped as JSON', async () => {
    using shelf = shelfWithNews();
    expect(await shelf.json<unknown>(['dismiss', 'two'])).toEqual({ dismissed: ['bbbb-2'] });
  });

  test('says when nothing of a run waits', async () => {
    using shelf = shelfWithNews();
    await shelf.call(['dismiss', 'one']);
    expect(await shelf.call(['dismiss', 'one'])).toEqual(
      refused(3, '⚠️ Nothing of "one" waits to be told.\n'),
    );
    expect((await shelf.call(['dismiss', 'all'])).stdout).toBe('Dismissed 1 announcement.\n');
    expect((await shelf.call(['dismiss', 'all'])).stdout).toBe('Dismissed 0 announcements.\n');
  });
});
