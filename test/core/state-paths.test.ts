import { expect, test } from 'bun:test';
import { type Environment, statePaths } from '../../src/core/state-paths.ts';

const homes: [env: Environment, platform: string, home: string | undefined][] = [
  [{ HOME: '/home/me' }, 'linux', '/home/me/.self-generation'],
  [{ HOME: '/home/me/' }, 'linux', '/home/me/.self-generation'],
  [{ HOME: '/home/me', SELF_GENERATION_HOME: '/srv/state' }, 'linux', '/srv/state'],
  [{ HOME: '/home/me', SELF_GENERATION_HOME: '/srv/state//' }, 'linux', '/srv/state'],
  [{ SELF_GENERATION_HOME: '/srv/state' }, 'linux', '/srv/state'],
  [{ HOME: '/home/me', SELF_GENERATION_HOME: 'state' }, 'linux', '/home/me/.self-generation'],
  [{ HOME: '/home/me', SELF_GENERATION_HOME: './state' }, 'linux', '/home/me/.self-generation'],
  [{ HOME: '/home/me', SELF_GENERATION_HOME: '' }, 'linux', '/home/me/.self-generation'],
  [{ HOME: '/' }, 'linux', '/.self-generation'],
  [{ HOME: 'home' }, 'linux', undefined],
  [{ HOME: '' }, 'linux', undefined],
  [{}, 'linux', undefined],
  [{ USERPROFILE: 'C:\\Users\\me' }, 'linux', undefined],
  [{ USERPROFILE: 'C:\\Users\\me' }, 'win32', 'C:\\Users\\me/.self-generation'],
  [{ USERPROFILE: 'C:\\Users\\me\\' }, 'win32', 'C:\\Users\\me/.self-generation'],
  [{ HOME: '/c/Users/me', USERPROFILE: 'C:\\Users\\me' }, 'win32', 'C:\\Users\\me/.self-generation'],
  [{ HOME: 'D:\\home' }, 'win32', 'D:\\home/.self-generation'],
  [{ SELF_GENERATION_HOME: '\\\\server\\share\\me' }, 'win32', '\\\\server\\share\\me'],
];
for (const [env, platform, home] of homes) {
  test(`statePaths() returns ${home} when the environment is ${JSON.stringify(env)} on ${platform}`, () => {
    expect(statePaths(env, platform)?.home).toBe(home as string);
  });
}

test('statePaths() returns paths below home when there is a home', () => {
  const { home, ...paths } = statePaths({ HOME: '/home/me' }, 'linux') ?? {};
  for (const path of Object.values(paths)) expect(path).toStartWith(`${home}/`);
  expect(new Set(Object.values(paths)).size).toBe(Object.keys(paths).length);
  expect(paths).toMatchObject({
    binary: '/home/me/.self-generation/hooks/self-generation',
    config: '/home/me/.self-generation/config.json',
    database: '/home/me/.self-generation/data/self-gen.db',
  });
});

test('statePaths() names an executable when the platform is Windows', () => {
  const paths = statePaths({ USERPROFILE: 'C:\\Users\\me' }, 'win32');
  expect(paths?.binary).toEndWith('/hooks/self-generation.exe');
});
