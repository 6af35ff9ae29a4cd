import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { releasesOf } from '../../scripts/build.ts';
import { archiveName, TARGETS } from '../../scripts/release/targets.ts';
import { archivesIn, isTrustedUrl, versionIn } from '../../src/setup/release.ts';

const version = fc
  .tuple(fc.nat(30), fc.nat(30), fc.nat(30), fc.constantFrom('', '-rc.1', '-beta', '+build.5'))
  .map(([major, minor, patch, end]) => `${major}.${minor}.${patch}${end}`);
const sha256 = fc.stringMatching(/^[0-9a-f]{64}$/);

describe('archivesIn()', () => {
  test('finds the archives of a target, whatever else a release has, the newest first', () => {
    const files = fc.array(fc.record({ version, target: fc.constantFrom(...TARGETS), sha256 }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(files, fc.constantFrom(...TARGETS), fc.constantFrom(' ', '*'), (all, target, mode) => {
        const named = all.map((one) => ({ ...one, name: archiveName(one.version, one.target) }));
        const others = ['install.sh', 'self-generation-0.1.0-node.tar.xz', 'opencode-plugin.js'];
        const lines = [...others.map((name) => ({ name, sha256: 'a'.repeat(64) })), ...named];
        const text = lines.map(({ name, sha256 }) => `${sha256} ${mode}${name}\n`).join('');
        const found = archivesIn(text, target);
        const wanted = named.filter((one) => one.target === target);
        expect(found.map(({ name }) => name).sort()).toEqual(wanted.map(({ name }) => name).sort());
        for (const { name, sha256 } of found)
          expect(wanted.some((one) => one.name === name && one.sha256 === sha256)).toBe(true);
        const order = found.map((one) => one.version);
        expect(order.every((one, at) => at === 0 || Bun.semver.order(order[at - 1] ?? '', one) >= 0)).toBe(
          true,
        );
      }),
    );
  });

  test('takes no line that sha256sum would not write, and no path', () => {
    const digest = 'a'.repeat(64);
    const name = 'self-generation-0.1.0-linux-x64.tar.xz';
    for (const line of [
      `${digest} ${name}`,
      `${digest.slice(1)}  ${name}`,
      `${digest}  ../${name}`,
      `${digest}  ${name}.sig`,
      `${digest}  self-generation-latest-linux-x64.tar.xz`,
    ])
      expect(archivesIn(`${line}\n`, 'linux-x64')).toEqual([]);
    expect(archivesIn(`${digest}  ${name}\r\n`, 'linux-x64')).toHaveLength(1);
  });
});

test('versionIn() takes a version alone', () => {
  fc.assert(fc.property(version, (one) => versionIn(`${one}\n`) === one));
  for (const text of ['', 'source', '1.2', '1.2.3 and more', 'v1.2.3'])
    expect(versionIn(text)).toBeUndefined();
});

test('isTrustedUrl() wants https, or this machine', () => {
  const trusted = ['https://example.org/x', 'http://127.0.0.1:80/', 'http://localhost:1/x', 'http://[::1]/'];
  for (const url of trusted) expect([url, isTrustedUrl(url)]).toEqual([url, true]);
  const others = [
    'http://example.org',
    'http://localhost.example.org',
    'http://127.0.0.1.example.org',
    'ftp://localhost',
    'x',
  ];
  for (const url of others) expect([url, isTrustedUrl(url)]).toEqual([url, false]);
});

test('releasesOf() takes the repository of package.json, in each of its forms', () => {
  const url = 'https://example.org/o/r';
  for (const repository of [url, { url }, { url: `git+${url}.git` }])
    expect(releasesOf({ repository })).toBe(`${url}/releases`);
  expect(releasesOf({})).toBeUndefined();
});
