import { expect, test } from 'bun:test';
import { protocolOf, toldRemote } from '../../../src/runs/pool/remote.ts';

const rows: [string, string | undefined][] = [
  ['https://host.example/a/b.git', 'https https://host.example/a/b.git'],
  ['https://user:secret@host.example/a/b.git', 'https https://host.example/a/b.git'],
  ['https://ghp_token@host.example:8443/a/b.git', 'https https://host.example:8443/a/b.git'],
  ['ssh://git@host.example/a/b.git', 'ssh ssh://git@host.example/a/b.git'],
  ['ssh://git:secret@host.example:22/a/b.git', 'ssh ssh://git@host.example:22/a/b.git'],
  ['git@host.example:a/b.git', 'ssh git@host.example:a/b.git'],
  ['/srv/git/b.git', 'file /srv/git/b.git'],
  ['file:///srv/git/b.git', 'file /srv/git/b.git'],
  ['http://host.example/a', undefined],
  ['git://host.example/a', undefined],
  ['ext::sh -c touch% /tmp/x', undefined],
  ['fd::17/foo', undefined],
  ['--upload-pack=touch /tmp/x', undefined],
  ['ssh://-oProxyCommand=x/a', undefined],
  ['-oProxyCommand=x@host:a', undefined],
  ['host:-a', undefined],
  ['../b.git', undefined],
  ['C:\\work\\b', undefined],
  [`https://host.example/${'a'.repeat(2000)}`, undefined],
  ['', undefined],
];

for (const [url, told] of rows) {
  test(`toldRemote() gives ${told} of ${JSON.stringify(url.slice(0, 60))}`, () => {
    const found = toldRemote(url);
    expect(found && `${found.kind} ${found.url}`).toBe(told);
    // What is told is let through as it is, and tells itself again.
    if (found !== undefined) expect(toldRemote(found.url)).toEqual(found);
  });
}

test('protocolOf() lets through what was told, and a directory only where that is allowed', () => {
  expect(protocolOf('https://host.example/a', 'remote alone')).toBe('https');
  expect(protocolOf('git@host.example:a', 'remote alone')).toBe('ssh');
  expect(protocolOf('/srv/git/b.git', 'remote alone')).toBeUndefined();
  expect(protocolOf('/srv/git/b.git', 'local too')).toBe('file');
  expect(protocolOf('file:///srv/git/b.git', 'local too')).toBeUndefined();
  expect(protocolOf('https://user:secret@host.example/a', 'local too')).toBeUndefined();
  expect(protocolOf('ext::sh', 'local too')).toBeUndefined();
});
