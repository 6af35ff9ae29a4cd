import { expect, test } from 'bun:test';
import {
  codesDiffer,
  codesIn,
  equalCodes,
  missingProgram,
  programsIn,
} from '../../../src/lessons/errors/error-marks.ts';

const codes: [text: string, codes: string[]][] = [
  ['src/a.ts(1,2): error TS2304: Cannot find name', ['TS2304']],
  ["TS18048: 'x' is possibly 'undefined'", ['TS2532']],
  ['error[E0382]: borrow of moved value', ['E0382']],
  ['Error [ERR_REQUIRE_ESM]: no', ['ERR_REQUIRE_ESM']],
  ['Error: P1001: no server', ['P1001']],
  ['curl: (7) Failed to connect', ['curl: (7)']],
  ["code: '28P01'", ["code: '28P01'"]],
  ["5:1  error  'x' is not defined  no-undef", ['rule no-undef']],
  ['SHA256 and UTF-8 of 2024, HTTP 404, v18.20.1, port 5432', []],
  ['', []],
];
for (const [text, found] of codes) {
  test(`codesIn() finds ${found.join() || 'nothing'} in ${text}`, () => {
    expect([...codesIn(text)]).toEqual(found);
  });
}

const pairs: [left: string, right: string, differ: boolean][] = [
  ['TS2304', 'TS2322', true],
  ['TS2304', 'TS2304', false],
  ['TS2304 TS2322', 'TS2322', false],
  ['TS2304', 'E0382', false],
  ['ERR_REQUIRE_ESM', 'ERR_MODULE_NOT_FOUND', true],
  ['curl: (7)', 'curl: (28)', true],
  ['TS2304', '', false],
];
for (const [left, right, differ] of pairs) {
  test(`codesDiffer() is ${differ} for ${left} and ${right || 'nothing'}`, () => {
    expect(codesDiffer(codesIn(left), codesIn(right))).toBe(differ);
    expect(codesDiffer(codesIn(right), codesIn(left))).toBe(differ);
  });
}

test('equalCodes() gives all codes of one mistake', () => {
  expect(equalCodes('TS2741')).toEqual(['TS2741', 'TS2739', 'TS2740']);
  expect(equalCodes('E0382')).toEqual(['E0382']);
});

const programs: [text: string, program: string | undefined][] = [
  ['zsh: command not found: pnpm', 'pnpm'],
  ['(eval):1: command not found: rg', 'rg'],
  ['bash: line 3: docker-compose: command not found', 'docker-compose'],
  ['make: protoc: Command not found', 'protoc'],
  ['/bin/sh: 1: tsc: not found', 'tsc'],
  ['make: g++: No such file or directory', 'g++'],
  ['bash: line 1: jq: 명령어를 찾을 수 없음', 'jq'],
  ["'npm'은(는) 내부 또는 외부 명령이 아닙니다", 'npm'],
  ["'terraform' is not recognized as an internal or external command", 'terraform'],
  ["The term 'node' is not recognized as the name of a cmdlet", 'node'],
  ['exec: "bash": executable file not found in $PATH', 'bash'],
  ['Error: spawn ffmpeg ENOENT', 'ffmpeg'],
  ['env: node: No such file or directory', 'node'],
  ['env: ‘python3’: No such file or directory', 'python3'],
  ['linker `cc` not found', 'cc'],
  ['gyp ERR! stack Error: not found: make', 'make'],
  ['failed to compute cache key: "/package.json": not found: not found', undefined],
  ["$'\\r': command not found", undefined],
  ['file not found', undefined],
  ['', undefined],
];
for (const [text, program] of programs) {
  test(`missingProgram() is ${program} in ${text}`, () =>
    expect(missingProgram(text)).toBe(program as string));
}

const speakers: [left: string, right: string, isOne: boolean][] = [
  ['psql: error: connection refused', 'FATAL: could not connect, port 5432', true],
  ['psql: error: connection refused', 'The connection to the server localhost:8080 was refused', false],
  ['fatal: SSL certificate problem', 'curl: (60) SSL certificate problem', false],
  ['/bin/sh: exec format error', 'exec /app: exec format error', true],
];
for (const [left, right, isOne] of speakers) {
  test(`programsIn() has ${isOne ? 'a' : 'no'} program in common for ${left} and ${right}`, () => {
    const others = programsIn(right);
    expect([...programsIn(left)].some((program) => others.has(program))).toBe(isOne);
  });
}
