import { expect, test } from 'bun:test';
import { messagesIn } from '../../../src/core/messages.ts';
import { resolutionSummary, resolutionText } from '../../../src/lessons/errors/normalize-error.ts';

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

const remedies: [remedy: object, korean: string, english: string][] = [
  [
    { kind: 'command', failing: 'npm i', use: 'pnpm i' },
    '`pnpm i` 사용 (`npm i` 대신)',
    'use `pnpm i` instead of `npm i`',
  ],
  [{ kind: 'command', use: 'pnpm i' }, '`pnpm i` 사용', 'use `pnpm i`'],
  [
    { kind: 'without', failing: 'npm run lint -- --bail', leaveOut: '--bail' },
    '`--bail` 없이 실행 (`npm run lint -- --bail`)',
    'leave out `--bail` in `npm run lint -- --bail`',
  ],
  [{ kind: 'without', leaveOut: '--bail' }, '`--bail` 없이 실행', 'leave out `--bail`'],
  [
    { kind: 'directory', use: 'go test', directory: 'api' },
    '`api`에서 `go test` 실행',
    'run `go test` in `api`',
  ],
  [
    { kind: 'directory', use: 'go test', directory: '' },
    '프로젝트 루트에서 `go test` 실행',
    'run `go test` in the root of the project',
  ],
  [
    { kind: 'fixer', failing: 'make test', use: 'make gen' },
    '`make gen` 실행 (`make test`가 실패하면)',
    'run `make gen` when `make test` fails so',
  ],
  [
    { kind: 'lint', rule: 'no-console', message: 'No console' },
    '이 프로젝트의 린트 규칙: No console (no-console)',
    'lint rule of this project: No console (no-console)',
  ],
  [
    { kind: 'lint', rule: 'no-console', message: 'no-console: none' },
    '이 프로젝트의 린트 규칙: no-console: none',
    'lint rule of this project: no-console: none',
  ],
];
for (const [remedy, korean, english] of remedies) {
  const stored = JSON.stringify(remedy);
  test(`resolutionText() says in both languages what to do: ${stored}`, () => {
    expect(resolutionText(stored, messagesIn('ko'))).toBe(korean);
    expect(resolutionText(stored, messagesIn('en'))).toBe(english);
    expect(resolutionText(stored)).toBe(english);
    expect(resolutionSummary(stored, messagesIn('ko'))).toBe(korean);
  });
}

test('resolutionText() leaves out what was called where both commands do not fit', () => {
  const [failing, use] = ['npm '.repeat(20).trim(), 'pnpm '.repeat(20).trim()];
  for (const [kind, words] of [
    ['command', 'use'],
    ['fixer', 'run'],
  ] as const)
    expect(resolutionText(JSON.stringify({ kind, failing, use }))).toBe(`${words} \`${use}\``);
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
