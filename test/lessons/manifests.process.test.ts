import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { namedByManifests } from '../../src/lessons/learn-project.ts';
import { putFile } from '../support/tree.ts';

const ROOT = mkdtempSync(`${tmpdir()}/manifests-`);
afterAll(() => rmSync(ROOT, { recursive: true }));

let count = 0;
/** Whether a project with these files names it. */
function isNamed(files: Readonly<Record<string, string>>, fetched: string, place = ''): boolean {
  const project = `${ROOT}/${count++}`;
  mkdirSync(project);
  for (const [file, text] of Object.entries(files)) putFile(`${project}/${file}`, text);
  return namedByManifests(project)(fetched, place);
}

describe('namedByManifests()', () => {
  const files: [file: string, text: string, named: readonly string[], others: readonly string[]][] = [
    [
      'package.json',
      '{"name":"a","devDependencies":{"b":"^1","@c/d":"*","e":"npm:real@1"},"bin":{"f":"f.js"},"scripts":{"check":"tsc && npx g -x"},"keywords":["h"]}',
      ['b', 'b@2', '@c/d@latest', 'f', 'tsc', 'g', 'npm:real@1'],
      ['a', 'h', 'check', 'devDependencies', 'b@npm:other', '@c/e'],
    ],
    [
      'package-lock.json',
      '{"packages":{"":{"name":"a"},"node_modules/b":{"bin":{"c":"x"}},"node_modules/b/node_modules/@d/e":{}}}',
      ['b', 'c', '@d/e'],
      ['a', 'node_modules'],
    ],
    [
      'pnpm-lock.yaml',
      "packages:\n\n  /a@1.0.0:\n    x: y\n  '@b/c@2.0.0(d@1)':\n    x: y\n",
      ['a', '@b/c'],
      ['x'],
    ],
    ['yarn.lock', '"@a/b@^1":\n  version "1"\nc@^2:\n  dependencies:\n', ['@a/b', 'c'], ['version']],
    [
      'bun.lock',
      '{\n  "packages": {\n    "a": ["a@1"],\n    "@b/c": ["@b/c@1"],\n  }\n}',
      ['a', '@b/c'],
      ['packages'],
    ],
    [
      'pyproject.toml',
      '[project]\nname = "a"\ndependencies = [\n  "b>=1",\n  "c[x]~=2; python_version > \'3\'",\n  "d",\n]\n[tool.poetry.dependencies]\ne = "^1"\n[tool.other]\nf = "1"\n',
      ['b', 'c', 'd', 'e', 'b==2'],
      ['f'],
    ],
    ['requirements.txt', 'a==1\nb[x]>=2\n# c\nd\n', ['a', 'b', 'd'], ['c', 'x']],
    ['uv.lock', '[[package]]\nname = "a"\nversion = "1"\n', ['a'], ['version']],
    ['Cargo.toml', '[dependencies]\na = "1"\n[package]\nname = "b"\n', ['a'], ['b', 'name']],
    [
      'go.mod',
      'module x.example/me\n\nrequire (\n\tx.example/a v1\n)\nrequire y.example/b/c v2 // indirect\n',
      ['x.example/a@v1', 'x.example/a/cmd/tool@latest', 'y.example/b/c'],
      ['x.example/b', 'x.example/me2', 'y.example/b', 'x.example/ab'],
    ],
    ['Gemfile', "gem 'a', '~> 1'\n  gem \"b\"\n", ['a', 'b'], ['c']],
    ['composer.json', '{"require-dev":{"a/b":"1"}}', ['a/b'], ['a']],
    ['deno.json', '{"imports":{"a":"npm:b@1","c":"jsr:@d/e@2"}}', ['npm:b', 'jsr:@d/e@1'], ['a', 'c']],
    ['compose.yaml', 'services:\n  a:\n    image: "b/c:1"\n    # image: d\n', ['b/c', 'b/c:2'], ['a', 'd']],
    ['Dockerfile', 'FROM --platform=x a/b:1 AS c\nRUN d\n', ['a/b'], ['c', 'd']],
    ['.tool-versions', 'nodejs 20\n', ['nodejs@22'], ['20']],
  ];
  for (const [file, text, named, others] of files) {
    test(`reads ${file}`, () => {
      for (const name of named) expect([name, isNamed({ [file]: text }, name)]).toEqual([name, true]);
      for (const name of others) expect([name, isNamed({ [file]: text }, name)]).toEqual([name, false]);
    });
  }

  const MANIFEST = { 'package.json': '{"dependencies":{"a":"1"}}' };
  test('looks where the command ran, and above up to the root of the repository', () => {
    const nested = { 'web/package.json': MANIFEST['package.json'], 'api/x': '' };
    expect([isNamed(nested, 'a', 'web'), isNamed(nested, 'a', 'api'), isNamed(nested, 'a')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(isNamed({ ...MANIFEST, 'web/x': '' }, 'a', 'web/deep')).toBe(true);
    for (const place of ['../x', '/elsewhere', '~/x', '/\0'])
      expect(isNamed(MANIFEST, 'a', place)).toBe(true);
    putFile(`${ROOT}/outer/package.json`, MANIFEST['package.json']);
    putFile(`${ROOT}/outer/inner/x`, '');
    expect(namedByManifests(`${ROOT}/outer/inner`)('a', '')).toBe(false);
    putFile(`${ROOT}/outer/.git/HEAD`, 'ref: refs/heads/main');
    expect(namedByManifests(`${ROOT}/outer/inner`)('a', '')).toBe(true);
  });

  test('names nothing where there is nothing, or nothing that can be read', () => {
    expect(namedByManifests(`${ROOT}/nowhere`)('a', '')).toBe(false);
    for (const text of ['', '[]', '{"dependencies":', '{"dependencies":["a"],"scripts":"a","bin":"a"}'])
      expect(isNamed({ 'package.json': text }, 'a')).toBe(false);
    mkdirSync(`${ROOT}/odd/package.json`, { recursive: true });
    Bun.spawnSync(['mkfifo', `${ROOT}/odd/yarn.lock`]);
    expect(namedByManifests(`${ROOT}/odd`)('a', '')).toBe(false);
  });
});
