import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { answerKey, armOf, holdPercentOf } from '../../../src/benefit/model/coin.ts';

const TOSS = { key: 'k'.repeat(64), channel: 'start', group: 'g', root: 's', holdPercent: 50 } as const;
const heldOf = (toss: object, trees: number) =>
  Array.from({ length: trees }, (_, index) => armOf({ ...TOSS, root: `tree ${index}`, ...toss }));
const shareOf = (arms: readonly boolean[]) => arms.filter(Boolean).length / arms.length;

describe('armOf()', () => {
  test('holds out as often as the probability says, and never at 0', () => {
    for (const holdPercent of [10, 50, 90])
      expect(Math.abs(shareOf(heldOf({ holdPercent }, 20_000)) - holdPercent / 100)).toBeLessThan(0.012);
    expect(shareOf(heldOf({ holdPercent: 0 }, 1000))).toBe(0);
    expect(shareOf(heldOf({ holdPercent: 100 }, 1000))).toBe(1);
  });

  test('falls alike for everybody in a tree, and independently for another group, tree, channel or key', () => {
    const arms = heldOf({}, 4000);
    expect(heldOf({}, 4000)).toEqual(arms);
    for (const other of [{ channel: 'failure' }, { group: 'h' }, { key: 'j'.repeat(64) }]) {
      const others = heldOf(other, 4000);
      expect(Math.abs(shareOf(arms.map((arm, index) => arm === others[index])) - 0.5)).toBeLessThan(0.03);
    }
  });

  test('what is held out at a probability is held out at every larger one', () => {
    const percent = fc.constantFrom(0, 10, 50, 100);
    fc.assert(
      fc.property(fc.string(), fc.string(), percent, percent, (group, root, one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other)];
        const toss = { ...TOSS, group, root };
        if (armOf({ ...toss, holdPercent: less })) expect(armOf({ ...toss, holdPercent: more })).toBe(true);
      }),
    );
  });

  test('is HMAC-SHA256 of channel, group and tree, as anybody can compute it', () => {
    const digest = new Bun.CryptoHasher('sha256', TOSS.key).update('start|g|s').digest('hex');
    const drawn = Number(BigInt(`0x${digest}`)) / 2 ** 256;
    for (let holdPercent = 1; holdPercent < 100; holdPercent++)
      expect(armOf({ ...TOSS, holdPercent })).toBe(drawn < holdPercent / 100);
  });
});

describe('holdPercentOf()', () => {
  const rule = {
    holdOut: 'trial',
    kind: 'rule',
    channel: 'start',
    answered: new Set<string>(),
    isPinned: false,
  } as const;
  const answered = new Set([answerKey('rule', 'start')]);
  const rows: [what: string, percent: number, of: object][] = [
    ['half is held out on trial', 50, {}],
    ['a tenth where the question is answered', 10, { answered }],
    ['half where that of another channel is', 50, { answered, channel: 'failure' }],
    ['half where that of another kind is', 50, { answered, kind: 'model' }],
    ['a tenth at "low"', 10, { holdOut: 'low' }],
    ['nothing at "off"', 0, { holdOut: 'off' }],
    ['nothing of what a person wrote', 0, { kind: 'user' }],
    ['nothing of what is pinned', 0, { isPinned: true }],
  ];
  for (const [what, percent, of] of rows)
    test(what, () => expect(holdPercentOf({ ...rule, ...of })).toBe(percent));
});
