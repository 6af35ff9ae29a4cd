import { describe, expect, test } from 'bun:test';
import { remoteName } from '../../src/lessons/repository.ts';

const origin = (url: string) => remoteName(`remote.origin.url ${url}`, '/home/dev/app');

describe('remoteName()', () => {
  test('is the same for all spellings of one address, without who asks', () => {
    for (const url of [
      'git@x.example:team/shop.git',
      'x.example:team/shop',
      'https://x.example/team/shop',
      'https://someone:token@X.Example/team/shop.git/',
      'ssh://git@x.example/team/shop.git',
    ])
      expect([url, origin(url)]).toEqual([url, 'x.example/team/shop']);
  });

  test('differs where host, port, owner or name do', () => {
    const urls = [
      ...['https://x.example/team/shop', 'https://x.example/other/shop', 'https://x.example/team/shop2'],
      ...['https://y.example/team/shop', 'ssh://git@x.example:2222/team/shop', 'https://x.example/Team/shop'],
      '/srv/shop',
    ];
    expect(new Set(urls.map(origin)).size).toBe(urls.length);
  });

  test('is that of origin, or of the only remote', () => {
    const of = (...names: string[]) =>
      remoteName(names.map((name) => `remote.${name}.url https://x.example/${name}`).join('\n'), '/a');
    expect([of('upstream', 'origin'), of('upstream')]).toEqual(['x.example/origin', 'x.example/upstream']);
    expect([of('one', 'two'), of()]).toEqual([undefined, undefined]);
  });

  test('means a relative directory from where it stands', () => {
    expect(remoteName('remote.origin.url ../shop', '/a')).not.toBe(
      remoteName('remote.origin.url ../shop', '/b'),
    );
  });
});
