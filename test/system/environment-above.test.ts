import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isSetAbove, programAbove } from '../../src/system/processes.ts';

const PROBE = `
  import { isSetAbove } from '${import.meta.dir}/../../src/system/processes.ts';
  console.log(isSetAbove('MARK_OF_A_TEST'), isSetAbove('MARK_OF'));
`;

/** What a process says that has nothing in its own environment, with this in that of its grandparent. */
function ask(env: Record<string, string>): string {
  const command = `env -i ${process.execPath} -e '${PROBE.replaceAll("'", '"')}'; :`;
  const asked = Bun.spawnSync(['sh', '-c', `sh -c "$1"; :`, 'sh', command], { env, stderr: 'inherit' });
  return asked.stdout.toString().trim();
}

describe('isSetAbove()', () => {
  test('sees the variable of a process further up, also where it is the first or empty', () => {
    expect(ask({ MARK_OF_A_TEST: '1' })).toBe('true false');
    expect(ask({ A: '1', MARK_OF_A_TEST: '' })).toBe('true false');
  });

  test('does not see what is not there, or only part of another name or value', () => {
    expect(ask({ A: 'MARK_OF_A_TEST=1', NO_MARK_OF_A_TEST: '1' })).toBe('false false');
  });

  test('is false for a process that there is not', () => {
    expect(isSetAbove('PATH', 2 ** 22 + 1)).toBe(false);
  });
});

describe('programAbove()', () => {
  /** What a process says that has nothing in its environment, below these words; the last `sh` gives it its place. */
  function askBelow(start: (directory: string, line: string) => string[]): string {
    const directory = mkdtempSync(`${tmpdir()}/above-`);
    try {
      symlinkSync('/bin/sh', `${directory}/codex`);
      const probe = `import { programAbove } from "${import.meta.dir}/../../src/system/processes.ts"; console.log(programAbove(["gemini", "codex"]));`;
      writeFileSync(`${directory}/probe.ts`, probe);
      const line = `sh -c 'exec env -i ${process.execPath} ${directory}/probe.ts'; :`;
      writeFileSync(
        `${directory}/gemini.js`,
        `console.log(Bun.spawnSync(["sh", "-c", ${JSON.stringify(line)}]).stdout.toString().trim())`,
      );
      return Bun.spawnSync(start(directory, line), { stderr: 'inherit' }).stdout.toString().trim();
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  test('knows a client by its name, or by that of the script that an interpreter runs', () => {
    expect(askBelow((directory, line) => [`${directory}/codex`, '-c', line])).toBe('codex');
    expect(askBelow((directory) => [process.execPath, '--smol', `${directory}/gemini.js`])).toBe('gemini');
  });

  test('takes no word of a command line for a program', () => {
    expect(askBelow((_, line) => ['sh', '-c', `: codex gemini; ${line}`, 'codex', 'gemini'])).toBe(
      'undefined',
    );
    expect(programAbove(['codex'], 2 ** 22 + 1)).toBeUndefined();
  });
});
