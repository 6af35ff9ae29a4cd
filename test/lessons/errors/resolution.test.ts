import { expect, test } from 'bun:test';
import { messagesIn, resolutionSummary, resolutionText } from '../../../src/core/told-texts.ts';

const texts: [resolution: string, text: string, summary: string | undefined][] = [
  ['{"summary":"edited a.ts"}', 'edited a.ts', 'edited a.ts'],
  ['{"summary":"","resolvedBy":"user"}', 'user', undefined],
  ['{"summary":5,"resolvedBy":"user"}', 'user', undefined],
  ['{"resolvedBy":"x","toolSequence":["Bash","Edit"]}', 'x: Bash → Edit', undefined],
  ['{"toolSequence":["Bash","Edit"]}', 'Bash → Edit', undefined],
  ['{"resolvedBy":"x","toolSequence":[]}', 'x', undefined],
  ['{"other":1}', '{"other":1}', undefined],
  ['reinstall the package', 'reinstall the package', undefined],
  ['["a"]', '["a"]', undefined],
  ['null', 'null', undefined],
  ['', '', undefined],
  ['{"__proto__":{"summary":"x"}}', '{"__proto__":{"summary":"x"}}', undefined],
];
for (const [resolution, text, summary] of texts) {
  test(`resolutionText() gives ${text} when the column has ${resolution}`, () => {
    expect(resolutionText(resolution)).toBe(text);
  });
  test(`resolutionSummary() gives ${summary} when the column has ${resolution}`, () => {
    expect(resolutionSummary(resolution, messagesIn('en'))).toBe(summary);
  });
}

const remedies: [kind: string, parts: object, korean: string, english: string][] = [
  [
    'command',
    { failing: 'npm i', use: 'pnpm i' },
    '`pnpm i` 사용 (`npm i` 대신)',
    'use `pnpm i` instead of `npm i`',
  ],
  ['command', { use: 'pnpm i' }, '`pnpm i` 사용', 'use `pnpm i`'],
  [
    'without',
    { failing: 'lint --x', leaveOut: '--x' },
    '`--x` 없이 실행 (`lint --x`)',
    'leave out `--x` in `lint --x`',
  ],
  ['without', { leaveOut: '--x' }, '`--x` 없이 실행', 'leave out `--x`'],
  ['directory', { use: 'go test', directory: 'api' }, '`api`에서 `go test` 실행', 'run `go test` in `api`'],
  [
    'directory',
    { use: 'x', directory: '' },
    '프로젝트 루트에서 `x` 실행',
    'run `x` in the root of the project',
  ],
  ['fixer', { failing: 'make', use: 'x' }, '`x` 실행 (`make`가 실패하면)', 'run `x` when `make` fails so'],
  [
    'ran',
    { summary: 'run `x`' },
    '여기서 성공함(모델이 학습): run `x`',
    'worked here (learned by a model): run `x`',
  ],
  [
    'lint',
    { rule: 'no-x', message: 'No x' },
    '이 프로젝트의 린트 규칙: No x (no-x)',
    'lint rule of this project: No x (no-x)',
  ],
  [
    'lint',
    { rule: 'no-x', message: 'no-x: a' },
    '이 프로젝트의 린트 규칙: no-x: a',
    'lint rule of this project: no-x: a',
  ],
];
for (const [kind, parts, korean, english] of remedies) {
  const stored = JSON.stringify({ kind, ...parts });
  test(`resolutionText() says in both languages what to do: ${stored}`, () => {
    expect(resolutionText(stored, messagesIn('ko'))).toBe(korean);
    expect(resolutionText(stored, messagesIn('en'))).toBe(english);
    expect(resolutionText(stored)).toBe(english);
    expect(resolutionSummary(stored, messagesIn('ko'))).toBe(korean);
  });
}

test('resolutionText() leaves out what was called where both commands do not fit', () => {
  const [failing, use] = ['npm '.repeat(20).trim(), 'pnpm '.repeat(20).trim()];
  const said = (kind: string) => resolutionText(JSON.stringify({ kind, failing, use }));
  expect([said('command'), said('fixer')]).toEqual([`use \`${use}\``, `run \`${use}\``]);
});

const unknown: [remedy: object, text: string][] = [
  [{ kind: 'spell', use: 'x' }, '{"kind":"spell","use":"x"}'],
  [{ kind: 'command' }, '{"kind":"command"}'],
  [{ kind: 'command', use: '', summary: 'as said' }, 'as said'],
  [{ kind: 'fixer', use: 7, resolvedBy: 'model' }, 'model'],
];
for (const [remedy, text] of unknown) {
  test(`resolutionText() makes no words up for ${JSON.stringify(remedy)}`, () => {
    expect(resolutionText(JSON.stringify(remedy))).toBe(text);
  });
}
