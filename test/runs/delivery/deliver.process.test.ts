import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import {
  acknowledgeDelivery,
  confirmSaid,
  type Delivery,
  type Reader,
  returnDelivery,
  takeDelivery,
  unmarkInbox,
} from '../../../src/runs/delivery/deliver.ts';
import { inboxMark, type Requester } from '../../../src/runs/model/run.ts';
import { runsHome } from '../runs-home.ts';
import { tell } from '../told.ts';

const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;

function bench() {
  const runs = runsHome();
  const { paths } = runs.home;
  let nowMs = Date.now();
  const world = { ...runs.world, now: () => new Date(nowMs) };
  return {
    ...runs,
    paths,
    world,
    tell: (words: Parameters<typeof tell>[2] = {}, requester: Partial<Requester> = {}) =>
      tell({ ...runs.requester, ...requester }, paths, { endedAtMs: nowMs, ...words }),
    take: (reader: Partial<Reader> = {}, requester: Partial<Requester> = {}) =>
      takeDelivery({ ...runs.requester, ...requester }, { owner: 'one', isPerson: false, ...reader }, world),
    later: (ms: number) => {
      nowMs += ms;
    },
  };
}

const idsOf = (delivery: Delivery | undefined) => delivery?.announcements.map(({ id }) => id) ?? [];

describe('takeDelivery()', () => {
  test('gives what waits once, the oldest first, to a requester who comes back after a week', async () => {
    await using made = bench();
    const told = Array.from({ length: 15 }, (_, index) =>
      made.tell({ result: `result ${index}`, endedAtMs: Date.now() - WEEK_MS }),
    );
    const given: string[] = [];
    let text = '';
    for (let delivery = made.take(); delivery !== undefined; delivery = made.take()) {
      given.push(...idsOf(delivery));
      text += delivery.text;
    }
    expect(given).toEqual(told);
    for (let index = 0; index < 15; index++) expect(text.split(`result ${index}\n`)).toHaveLength(2);
    expect(made.waiting()).toEqual([]);
  });

  test('gives again, with its id and a word of it, what nobody said to have got', async () => {
    await using made = bench();
    const id = made.tell();
    expect(made.take({ owner: 'lost' })?.text).not.toContain('redelivery');
    made.later(9 * MINUTE_MS);
    expect(made.take({ owner: 'next' })).toBeUndefined();
    made.later(2 * MINUTE_MS);
    const again = made.take({ owner: 'next' });
    expect(idsOf(again)).toEqual([id]);
    expect(again?.text).toContain('redelivery: true');
    expect(again?.text).toContain(id);
  });

  test('gives again at once what was given back', async () => {
    await using made = bench();
    const id = made.tell();
    made.take({ owner: 'a' });
    returnDelivery('a', made.world);
    expect(idsOf(made.take({ owner: 'b' }))).toEqual([id]);
    expect(acknowledgeDelivery(made.requester.key, 'b', made.world)).toEqual([id]);
    expect(made.waiting()).toEqual([]);
  });

  test('leaves to a holder what it has not said yet, for ten seconds, though its owner asks again meanwhile', async () => {
    await using made = bench();
    const id = made.tell();
    const [first, second] = ['one:1', 'one:2'];
    expect(idsOf(made.take({ holder: first }))).toEqual([id]);
    made.later(9999);
    expect(made.take({ holder: second })).toBeUndefined();
    expect(made.waiting()).toMatchObject([{ state: 'leased', attempts: 1 }]);
    made.later(1);
    expect(made.take({ holder: second })?.text).toContain('redelivery: true');
    // The first comes after all: what has been given to the second stays there.
    confirmSaid(first, { owner: 'one' }, made.world);
    made.take({ holder: 'one:3' });
    expect(made.waiting()).toMatchObject([{ state: 'leased', attempts: 2 }]);
  });

  test('settles what was said when its owner asks again, and leaves it that time for it', async () => {
    await using made = bench();
    made.tell();
    const holder = 'one:1';
    made.take({ holder });
    confirmSaid(holder, { owner: 'one' }, made.world);
    made.later(9 * MINUTE_MS);
    expect(made.take({ owner: 'another' })).toBeUndefined();
    expect(made.take({ holder: 'one:2' })).toBeUndefined();
    expect(made.waiting()).toEqual([]);
  });

  test("keeps a session's own for it for ten minutes; a person gets it at once", async () => {
    await using made = bench();
    const id = made.tell({}, { session: 'gone' });
    expect(made.take({}, { session: 'other' })).toBeUndefined();
    expect(idsOf(made.take({ owner: 'inbox', isPerson: true }))).toEqual([id]);
    returnDelivery('inbox', made.world);
    expect(idsOf(made.take({ owner: 'own' }, { session: 'gone' }))).toEqual([id]);
    returnDelivery('own', made.world);
    made.later(11 * MINUTE_MS);
    expect(idsOf(made.take({}, { session: 'other' }))).toEqual([id]);
  });

  test('gives nothing to another project, nor inside a run', async () => {
    await using made = bench();
    made.tell();
    expect(made.take({}, { key: 'agent:main:other-1' })).toBeUndefined();
    const inside = { ...made.world, env: { SELF_GENERATION_RUN: 'a/1' } };
    expect(takeDelivery(made.requester, { owner: 'x', isPerson: true }, inside)).toBeUndefined();
    expect(made.waiting()).toMatchObject([{ state: 'pending' }]);
  });

  for (const lengthMax of [2000, 5000, 9500])
    test(`stays within ${lengthMax} characters, however long the results are`, async () => {
      await using made = bench();
      for (let index = 0; index < 20; index++) {
        const words = { result: `가 ${'r'.repeat(4000)}`, notes: '- n'.repeat(600), stats: 's'.repeat(300) };
        made.tell(words);
      }
      let count = 0;
      for (let delivery = made.take({ lengthMax }); delivery; delivery = made.take({ lengthMax })) {
        expect(delivery.text.length).toBeLessThanOrEqual(lengthMax);
        count += delivery.announcements.length;
      }
      expect(count).toBe(20);
    });
});

describe('a mark', () => {
  test('is there from the first announcement to the last word on it', async () => {
    await using made = bench();
    const mark = inboxMark(made.requester.key, made.paths);
    expect(existsSync(mark)).toBe(false);
    made.tell();
    expect(existsSync(mark)).toBe(true);
    made.take();
    expect(existsSync(mark)).toBe(true);
    acknowledgeDelivery(made.requester.key, 'one', made.world);
    expect(existsSync(mark)).toBe(false);
  });

  test('stays while something waits, and is of one requester alone', async () => {
    await using made = bench();
    const [own, other] = [made.requester.key, 'agent:main:other-1'].map((key) => inboxMark(key, made.paths));
    made.tell();
    made.tell({}, { key: 'agent:main:other-1' });
    unmarkInbox(made.requester.key, made.paths, Date.now());
    expect([own, other].map((mark) => existsSync(mark ?? ''))).toEqual([true, true]);
    made.take();
    made.take();
    expect([own, other].map((mark) => existsSync(mark ?? ''))).toEqual([false, true]);
  });
});
