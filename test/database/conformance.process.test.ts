import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { CASES, runCase, startWorker } from './conformance.ts';

const ROOT = `${import.meta.dir}/../..`;
const MAIN = `${import.meta.dir}/conformance.main.ts`;
const TIMEOUT_MS = 60_000;

describe('the store under Bun', () => {
  for (const one of CASES) {
    test(one.title, () => runCase(one, [process.execPath, MAIN]), TIMEOUT_MS);
  }
});

describe('the store under Node', () => {
  const folder = mkdtempSync(`${tmpdir()}/store-node-`);
  const outcomes = new Map<string, string>();
  let output = '';

  beforeAll(async () => {
    await bundle(folder);
    if (!(await canLoadDriver())) return;
    symlinkSync(`${ROOT}/node_modules`, `${folder}/node_modules`);
    const ended = await startWorker(['node', `${folder}/suite.mjs`]).ended;
    output = ended.output;
    for (const [, result, title] of output.matchAll(/^(ok|not ok) \d+ - (.+)$/gm)) {
      outcomes.set(title ?? '', result ?? '');
    }
    expect(ended.code, output).toBe(0);
  }, TIMEOUT_MS * 2);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('runs as many cases as under Bun, each by its own title', async () => {
    if (!(await canLoadDriver())) return notTested();
    expect(new Set(CASES.map((one) => one.title)).size).toBe(CASES.length);
    expect([...outcomes.keys()]).toEqual(CASES.map((one) => one.title));
  });

  for (const { title } of CASES) {
    test(title, async () => {
      if (!(await canLoadDriver())) return notTested();
      expect(outcomes.get(title), details(output, title)).toBe('ok');
    });
  }

  test('openSqlite() says what to do when better-sqlite3 cannot be loaded', async () => {
    const alone = mkdtempSync(`${tmpdir()}/store-alone-`);
    await Bun.write(`${alone}/suite.mjs`, Bun.file(`${folder}/suite.mjs`));
    const words = ['worker', 'migrate', `${alone}/home`];
    const { code, output } = await startWorker(['node', `${alone}/suite.mjs`, ...words]).ended;
    rmSync(alone, { recursive: true });
    expect(code).not.toBe(0);
    expect(output).toMatch(
      /not installed or was not built.*npm install better-sqlite3@12.*self-generation binary/,
    );
  });
});

/** As scripts/build.ts bundles the hooks. */
async function bundle(folder: string): Promise<void> {
  const result = await Bun.build({
    entrypoints: [MAIN],
    outdir: folder,
    naming: 'suite.mjs',
    target: 'node',
    format: 'esm',
    external: ['better-sqlite3'],
    conditions: ['node'],
  });
  if (!result.success) throw new AggregateError(result.logs, 'Cannot bundle the suite');
}

let isLoadable: Promise<boolean> | undefined;

function canLoadDriver(): Promise<boolean> {
  const script = `new (require('${ROOT}/node_modules/better-sqlite3'))(':memory:').close()`;
  isLoadable ??= startWorker(['node', '-e', script]).ended.then(
    ({ code }) => code === 0,
    () => false,
  );
  return isLoadable;
}

function notTested(): void {
  console.warn('NOT TESTED HERE: the store under Node. This machine has no Node or no built better-sqlite3');
}

function details(output: string, title: string): string {
  const start = output.indexOf(`- ${title}\n`);
  return start < 0 ? output : (output.slice(start).split(/\n(?:not )?ok /)[0] ?? '');
}
