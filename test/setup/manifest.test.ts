import { describe, expect, test } from 'bun:test';
import { locate } from '../../src/setup/manifest.ts';

describe('locate()', () => {
  test('finds the places on Windows', () => {
    const place = locate({ USERPROFILE: 'C:\\Users\\me' }, 'win32');
    expect(place).toMatchObject({
      kind: 'found',
      claudeDirectory: 'C:\\Users\\me/.claude',
      paths: { binary: 'C:\\Users\\me/.self-generation/hooks/self-generation.exe' },
    });
  });

  const refusals: [string, Record<string, string>, string][] = [
    ['nothing', {}, 'HOME is not set to an absolute path'],
    ['a relative HOME', { HOME: 'me' }, 'HOME is not set to an absolute path'],
    ['a relative CLAUDE_CONFIG_DIR', { HOME: '/me', CLAUDE_CONFIG_DIR: 'x' }, 'CLAUDE_CONFIG_DIR is "x"'],
    ['a relative HOME beside ours', { HOME: 'me', SELF_GENERATION_HOME: '/s' }, 'HOME is "me"'],
  ];
  for (const [name, env, reason] of refusals) {
    test(`names the variable that is wrong: ${name}`, () => {
      const place = locate(env, 'linux');
      expect(place.kind === 'failed' ? place.reason : place.kind).toStartWith(reason);
    });
  }
});
