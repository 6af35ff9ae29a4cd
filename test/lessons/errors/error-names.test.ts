import { expect, test } from 'bun:test';
import { wordsAndNames } from '../../../src/lessons/errors/names-in-errors.ts';

const named: [line: string, names: string[]][] = [
  ["Error: Cannot find module '@shop/core/tax.js'", ['tax.js']],
  ['Cannot find package `left-pad` imported from /srv/a/index.mjs', ['left-pad', 'index.mjs']],
  ["src/a.ts(4,25): error TS2339: Property 'userId' does not exist on type 'Cart'.", ['userId', 'Cart']],
  ['main.go:9:2: no required module provides package github.com/jackc/pgx/v5', ['pgx/v5']],
  ['./x.sh: line 18: API_TOKEN: unbound variable', ['API_TOKEN']],
  ['연결 실패: "orders" 이름의 릴레이션이 없습니다', ['orders']],
  ['Fehler: Relation »orders« existiert nicht', ['orders']],
  ['Bind for 0.0.0.0:5433 failed: port is already allocated', [':5433']],
  ['connect ECONNREFUSED 127.0.0.1:6379', [':6379']],
  ['server at "localhost", port 5432 failed', [':5432']],
  ['No matching distribution found for torch==2.1.0', ['torch']],
  ["'@shop/ui@^2.3.0' is not in this registry.", ['ui']],
  ['404 Not Found - GET https://packages.example.org/@shop%2fui - Not found', ['ui']],
  ['curl: (6) Could not resolve host: api.example.com', ['api.example.com']],
  ['E: Unable to locate package jq', ['jq']],
  ['error: src refspec docs-preview does not match any', ['docs-preview']],
  ["code: 'MODULE_NOT_FOUND',", []],
  ['Exception in thread "main" java.lang.StackOverflowError', []],
  ['[vite] Internal server error: src/store/index.ts:2:15 - not a module', []],
  ["See 'git push --help' for details.", []],
  ['Exit code 12 after 3.5s at 2025-01-02T03:04:05Z, commit 4f1c2a9', []],
  ['the certificate is self-signed', []],
];
for (const [line, names] of named) {
  test(`wordsAndNames() names ${names.join(' and ') || 'nothing'} in ${line}`, () => {
    expect(wordsAndNames(line).names).toEqual(names);
  });
}

test('wordsAndNames() gives the words of the message without the names', () => {
  const { words } = wordsAndNames("a.go:3:1: Cannot find module 'tax' in FOLDER.");
  expect([...words]).toEqual(['cannot', 'find', 'module', 'in', 'folder']);
});

test('wordsAndNames() ends soon when a line has 400 of one character', () => {
  const start = performance.now();
  for (const unit of ['a', "'", '"', '/', '.', ':', '-', '(', ' ', '1', '가', 'a.', ':1', '»'])
    wordsAndNames(unit.repeat(400));
  expect(performance.now() - start).toBeLessThan(1000);
});
