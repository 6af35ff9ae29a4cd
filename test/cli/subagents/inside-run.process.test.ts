import { describe, expect, test } from 'bun:test';
import { waitingAnnouncements } from '../../../src/runs/store/outbox.ts';
import { runEvents } from '../../../src/runs/store/rows.ts';
import { refused } from '../call.ts';
import { newShelf } from './shelf.ts';

const ERROR = 'subagents is not allowed from sub-agent sessions: say in your result what is to be done';

describe('inside a run', () => {
  const calls =
    ',list,log 1,info 1,inbox,inbox --peek,dismiss all,spawn x,stop all,send 1 x,wait 1,retry 1'.split(',');
  for (const words of calls) {
    test(`"subagents ${words}" is refused, tells nothing, and is written down`, async () => {
      using shelf = newShelf();
      const turn = shelf.start({ label: 'unit tests' });
      shelf.end(turn, { result: 'All pass.' }, {});
      const env = { HOME: shelf.home.path, SELF_GENERATION_RUN: `${turn.runId}/1` };
      expect(await shelf.call(words.split(' ').filter(Boolean), { env })).toEqual(refused(4, `⚠️ ${ERROR}\n`));
      expect(shelf.write((db) => waitingAnnouncements(shelf.key, db))).toMatchObject([{ state: 'pending' }]);
      expect(shelf.write((db) => runEvents(turn.runId, 10, db))).toMatchObject([
        { type: 'refused', actor: 'command', detail: 'subagents: inside a run' },
      ]);
    });
  }

  test('the refusal is a document where one is expected', async () => {
    using shelf = newShelf();
    const env = { HOME: shelf.home.path, SELF_GENERATION_RUN: 'a/1' };
    const { code, stdout, stderr } = await shelf.call(['list', '--json'], { env });
    expect({ code, stderr }).toEqual({ code: 4, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({ type: 'error', error: { code: 'forbidden', message: ERROR } });
  });
});
