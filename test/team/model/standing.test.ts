import { describe, expect, test } from 'bun:test';
import { contentId, type Fact, idOf } from '../../../src/team/model/fact.ts';
import { isAccepted, participantsIn, standingOf } from '../../../src/team/model/standing.ts';

const REPOSITORY = idOf('shop');
const BODY = {
  ...{ key: 'k', said: 's', sessions: 3, failed: 2, helped: 2 },
  remedy: { kind: 'words' as const, summary: 'use it' },
};
const ABOUT = contentId({ kind: 'lesson', repository: REPOSITORY, body: BODY });

let seq = 0;
const fact = (author: string, kind: Fact['kind'], body: object, role = 'member'): Fact =>
  ({
    seq: ++seq,
    author,
    role,
    id: idOf(seq),
    about: ABOUT,
    repository: REPOSITORY,
    at: '',
    kind,
    body,
  }) as Fact;
const shares = (author: string, sessions = 3) => fact(author, 'lesson', { ...BODY, sessions });
const judges = (author: string, accepts: boolean | null, role?: string) =>
  fact(author, 'verdict', { accepts, why: null }, role);
const takesPart = (author: string, isThere = true) => fact(author, 'part', { takesPart: isThere });
const withdraws = (author: string, role?: string) => fact(author, 'withdraw', { reason: 'wrong' }, role);

const accepted = (trust: 'me' | 'reviewers' | 'majority', facts: Fact[], gone: string[] = []) => {
  const me = 'me';
  const standing = standingOf(facts);
  const members = new Map(facts.map(({ author, role }) => [author, role]));
  for (const login of gone) members.delete(login);
  const participants = participantsIn(facts);
  return standing !== undefined && isAccepted(standing, { trust, me, participants, members });
};

describe('standingOf()', () => {
  test('nobody shares it: nothing is known, whoever judges it', () => {
    expect(standingOf([judges('a', true), withdraws('a')])).toBeUndefined();
  });

  test('adds the sessions of its authors up, each of them once and up to a bound', () => {
    const facts = [
      shares('a'),
      shares('b', 1_000_000),
      fact('a', 'support', { sessions: 7, failed: 1, helped: 1 }),
    ];
    expect(standingOf(facts)).toMatchObject({ authors: ['a', 'b'], sessions: 7 + 50 });
  });

  test('support of somebody who does not share it counts nothing', () => {
    expect(
      standingOf([shares('a'), fact('b', 'support', { sessions: 9, failed: 1, helped: 1 })]),
    ).toMatchObject({
      sessions: 3,
    });
  });

  test('who withdraws is an author or a reviewer, whatever the server let through', () => {
    expect(standingOf([shares('a'), withdraws('b')])?.withdrawn).toBeNull();
    expect(standingOf([shares('a'), withdraws('a')])?.withdrawn).toMatchObject({ by: 'a' });
    expect(standingOf([shares('a'), withdraws('b', 'reviewer')])?.withdrawn).toMatchObject({ by: 'b' });
  });

  test('what is withdrawn comes back by a reviewer alone, also when its author shares it again', () => {
    const gone = [shares('a'), withdraws('a')];
    const restored = (role: string) => fact('c', 'restore', { reason: 'right' }, role);
    expect(standingOf([...gone, restored('member')])?.withdrawn).not.toBeNull();
    expect(standingOf([...gone, shares('a', 9)])?.withdrawn).not.toBeNull();
    expect(standingOf([...gone, restored('owner')])?.withdrawn).toBeNull();
    expect(standingOf([...gone, restored('owner'), withdraws('a')])?.withdrawn).not.toBeNull();
  });

  test('sharing it as well gives nobody a say in its end', () => {
    expect(standingOf([shares('a'), shares('b'), withdraws('b')])?.withdrawn).toBeNull();
  });

  test('what is said in another repository counts nothing', () => {
    const elsewhere = (one: Fact): Fact => ({ ...one, repository: idOf('other') });
    const facts = [shares('a'), elsewhere(judges('r', true, 'owner')), elsewhere(withdraws('a'))];
    expect(standingOf(facts)).toMatchObject({ withdrawn: null });
    expect(standingOf(facts)?.opinions.size).toBe(0);
  });

  test('what a reviewer has restored is contradicted by a reviewer alone', () => {
    const contradicts = (author: string, role?: string) =>
      fact(author, 'contradicted', { reason: 'it failed' }, role);
    const restored = [shares('a'), contradicts('b'), fact('c', 'restore', { reason: 'no' }, 'reviewer')];
    expect(standingOf([...restored, contradicts('b')])?.withdrawn).toBeNull();
    expect(standingOf([...restored, contradicts('c', 'reviewer')])?.withdrawn).not.toBeNull();
  });

  test('any member’s log may contradict it', () => {
    const found = standingOf([shares('a'), fact('b', 'contradicted', { reason: 'it failed 3 times' })]);
    expect(found?.withdrawn).toEqual({ by: 'b', reason: 'it failed 3 times', isContradiction: true });
  });
});

describe('isAccepted()', () => {
  test('me: by my own last word alone', () => {
    expect(accepted('me', [shares('a')])).toBe(false);
    expect(accepted('me', [shares('a'), judges('r', true, 'reviewer')])).toBe(false);
    expect(accepted('me', [shares('a'), judges('me', true)])).toBe(true);
    expect(accepted('me', [shares('a'), judges('me', true), judges('me', false)])).toBe(false);
    expect(accepted('me', [shares('a'), judges('me', true), judges('me', null)])).toBe(false);
  });

  test('reviewers: by a reviewer who is not its author, and not against another reviewer', () => {
    expect(accepted('reviewers', [shares('a'), judges('b', true)])).toBe(false);
    expect(accepted('reviewers', [shares('a'), judges('r', true, 'reviewer')])).toBe(true);
    expect(accepted('reviewers', [shares('r'), judges('r', true, 'owner')])).toBe(false);
    const disagreeing = [shares('a'), judges('r', true, 'reviewer'), judges('o', false, 'owner')];
    expect(accepted('reviewers', disagreeing)).toBe(false);
    expect(accepted('reviewers', [...disagreeing, judges('o', null, 'owner')])).toBe(true);
  });

  test('majority: by more than half of those who take part beside its authors', () => {
    const there = ['a', 'b', 'c', 'd', 'me'].map((name) => takesPart(name));
    const judged = (...names: string[]) => names.map((name) => judges(name, true));
    expect(accepted('majority', [...there, shares('a'), ...judged('a', 'b')])).toBe(false);
    expect(accepted('majority', [...there, shares('a'), ...judged('b', 'c')])).toBe(false);
    expect(accepted('majority', [...there, shares('a'), ...judged('b', 'c', 'd')])).toBe(true);
    // Whoever takes no part, or no more, has no voice.
    expect(accepted('majority', [...there, shares('a'), ...judged('x', 'y', 'z')])).toBe(false);
    expect(accepted('majority', [...there, takesPart('d', false), shares('a'), ...judged('b', 'c')])).toBe(
      true,
    );
    expect(accepted('majority', [takesPart('a'), shares('a')])).toBe(false);
  });

  test('who has left the team has no voice, for or against', () => {
    const facts = [shares('a'), judges('r', true, 'reviewer'), judges('o', false, 'owner')];
    expect(accepted('reviewers', facts, ['o'])).toBe(true);
    expect(accepted('reviewers', facts, ['o', 'r'])).toBe(false);
    const there = ['b', 'c', 'd'].map((name) => takesPart(name));
    expect(accepted('majority', [...there, shares('a'), judges('b', true)], ['c', 'd'])).toBe(true);
  });

  test('a word from before one shared it oneself still counts', () => {
    const facts = [shares('a'), judges('r', true, 'reviewer'), fact('r', 'lesson', BODY, 'reviewer')];
    expect(accepted('reviewers', facts)).toBe(true);
    expect(accepted('reviewers', [facts[2] as Fact, judges('r', true, 'reviewer')])).toBe(false);
  });

  test('what I have rejected is told to nobody here, whoever accepts it', () => {
    const facts = [takesPart('b'), shares('a'), judges('b', true, 'reviewer'), judges('me', false)];
    expect([accepted('reviewers', facts), accepted('majority', facts)]).toEqual([false, false]);
  });
});
