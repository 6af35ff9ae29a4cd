import { describe, expect, test } from 'bun:test';
import { isSetAbove } from '../../src/sys/environment-above.ts';

const PROBE = `
  import { isSetAbove } from '${import.meta.dir}/../../src/sys/environment-above.ts';
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
