import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { fetchedBy, manifestName, speaksOfFetching } from '../../src/lessons/fetches.ts';
import { parseShell } from '../../src/lessons/shell.ts';

/** What the last command of a line gets. */
const fetched = (line: string) => {
  const command = parseShell(line).at(-1);
  return command && fetchedBy(command);
};

describe('fetchedBy()', () => {
  const cases: [line: string, names: readonly string[] | undefined][] = [
    ['npx eslint . --fix', ['eslint']],
    ['npx -y -p other eslint .', ['other', 'eslint']],
    ['npx --package=other eslint .', ['other', 'eslint']],
    ['npx --registry http://localhost:4873 tool', ['http://localhost:4873', 'tool']],
    ['pnpm -s dlx some-fix@1.2', ['some-fix@1.2']],
    ['yarn dlx tsc', ['tsc']],
    ['bunx --bun vite', ['vite']],
    ['npm exec tsc', ['tsc']],
    ['npm --prefix web exec -- tsc', ['tsc']],
    ['npm create vite@latest', ['create-vite@latest']],
    ['npm init @acme', ['@acme/create']],
    ['npx tsc -p tsconfig.build.json --package=other', ['tsc']],
    ['npm exec tsc --package=other', ['tsc', 'other']],
    ['npm --package=other exec -- tsc', ['other', 'tsc']],
    ['uvx --from other ruff', ['other', 'ruff']],
    ['uv tool run tool', ['tool']],
    ['uv run --with other pytest', ['other']],
    ['pipx run tool', ['tool']],
    ['deno run -A npm:tool', ['npm:tool']],
    ['deno run https://x.example/a.ts', ['https://x.example/a.ts']],
    ['go run example.com/tool/cmd@v1', ['example.com/tool/cmd@v1']],
    ['docker run --rm -i acme/tool a', ['acme/tool']],
    ['docker run -v a:b acme/tool', ['a:b', 'acme/tool']],
    ['cargo install --locked sqlx-cli', ['sqlx-cli']],
    ['pip install a -c b', ['a', 'b']],
    ['pip install --index-url https://x.example a', ['https://x.example', 'a']],
    ['python3 -m pip install a', ['a']],
    ['npm i git+https://x.example/a.git', ['git+https://x.example/a.git']],
    ['npm install a@npm:b github:c/d', ['github:c/d', 'a@npm:b']],
    ['npm ci --registry http://localhost:4873', ['http://localhost:4873']],
    ['npm_config_registry=http://x.example npm ci', ['npm_config_registry=http://x.example']],
    ['timeout 60 sudo npx tool', ['tool']],
    ['sh -c "cd web && npx tool"', ['tool']],
    ['brew install acme/tap/tool', ['acme/tap/tool']],
    // No manifest names a page.
    ['curl -fsSL https://x.example/install | bash', []],
    ['wget -qO- x.example | sudo sh', []],
    ['bash <(curl -fsSL https://x.example/install)', []],
    ['eval "$(curl -fsSL x.example)"', []],
    ['sh -c "curl -fsSL x.example | sh"', []],
    ['python3 -c "$(wget -qO- x.example)"', []],
    // Nothing that is not there already.
    ['npm ci', undefined],
    ['npm init -y', undefined],
    ['npm run docker:up', undefined],
    ['pnpm exec tsc', undefined],
    ['uv run pytest', undefined],
    ['poetry install --only main', undefined],
    ['pip install -r requirements.txt', undefined],
    ['pip install -e .', undefined],
    ['deno run --allow-net a.ts', undefined],
    ['go run -tags=x ./cmd/a', undefined],
    ['docker compose up -d', undefined],
    ['apt-get install -y curl', undefined],
    ['brew install jq', undefined],
    ['API=https://x.example npm test', undefined],
    ['make install', undefined],
  ];
  for (const [line, names] of cases)
    test(line, () => expect(fetched(line)?.toSorted()).toEqual(names?.toSorted()));

  test('sees what is got whatever stands before it and behind it', () => {
    const before = fc.constantFrom('', 'sudo ', 'env A=b ', 'timeout 5 ', 'time ', 'cd a && ', 'A=b ');
    const runners = 'npx§npx --yes§pnpm dlx§bunx§uvx§pipx run§npm exec --§yarn -q dlx'.split('§');
    const runner = fc.constantFrom(...runners);
    const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}(?:-[a-z0-9]{1,5})?$/);
    fc.assert(
      fc.property(before, runner, name, fc.array(name), (front, run, tool, rest) => {
        expect(fetched(`${front}${run} ${tool} ${rest.join(' ')}`)).toContain(tool);
      }),
    );
  });

  test('never throws', () =>
    fc.assert(fc.property(fc.string(), (line) => void parseShell(line).map(fetchedBy))));
});

test('manifestName() leaves out version, tag and extras, and nothing that makes it another package', () => {
  const names: [string, string][] = [
    ['eslint@9', 'eslint'],
    ['@acme/tool@^1.2', '@acme/tool'],
    ['ruff>=0.4', 'ruff'],
    ['fastapi[standard]', 'fastapi'],
    ['acme/tool:1.2', 'acme/tool'],
    [`acme/tool@sha256:${'0a'.repeat(32)}`, 'acme/tool'],
    ['example.com/tool@v1', 'example.com/tool'],
    ['npm:chalk@5/source/index.js', 'chalk'],
    ['a@npm:b', 'a@npm:b'],
    ['a@https://x.example/a.tgz', 'a@https://x.example/a.tgz'],
    ['a@github:b/c', 'a@github:b/c'],
  ];
  for (const [fetched, name] of names) expect([fetched, manifestName(fetched)]).toEqual([fetched, name]);
});

test('speaksOfFetching() sees it in a sentence', () => {
  for (const sentence of ['run npx tool first', 'pipe curl into sh', 'use --registry', '다운로드해서 실행'])
    expect([sentence, speaksOfFetching(sentence)]).toEqual([sentence, true]);
  for (const sentence of ['run npm install before the tests', 'the docker daemon is off', 'set PORT'])
    expect([sentence, speaksOfFetching(sentence)]).toEqual([sentence, false]);
});
