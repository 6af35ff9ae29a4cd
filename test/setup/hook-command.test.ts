import { describe, expect, test } from 'bun:test';
import { HOOKS } from '../../src/hooks/hooks.ts';
import {
  appliedEntry,
  type Invocation,
  type Owner,
  recogniseEntry,
  wantedEntry,
} from '../../src/setup/settings-file.ts';

const HOME = '/home/me';
const BINARY = `${HOME}/.self-generation/hooks/self-generation`;
const ID = 's0a1b2c3d4';
const OWNER: Owner = {
  binaries: [BINARY],
  predecessorDirectories: [`${HOME}/.self-generation/hooks`],
  userHome: HOME,
  platform: 'linux',
};

describe('recogniseEntry()', () => {
  const own = 'ours prompt-logger';
  const old = 'predecessor prompt-logger';
  const line = (command: string) => ({ command });
  const words = (...args: unknown[]) => ({ command: BINARY, args });
  const script = (name: string) => line(`node ${HOME}/.self-generation/hooks/${name}`);
  const applied = `applied ${ID}`;
  const known: [string, Record<string, unknown>, string][] = [
    ['exec form', words('hook', 'prompt-logger'), own],
    ['shell form', line(`'${BINARY}' hook prompt-logger`), own],
    ['unquoted', line(`${BINARY} hook prompt-logger`), own],
    ['double quotes', line(`"${BINARY}" hook 'prompt-logger'`), own],
    [
      '$HOME in double quotes',
      line('"$HOME/.self-generation/hooks/self-generation" hook prompt-logger'),
      own,
    ],
    ['an applied hook, exec form', words('hook', 'applied', ID), applied],
    ['an applied hook, shell form', line(`'${BINARY}' hook applied ${ID}`), applied],
    ['one of an earlier version', words('hook', 'script', ID), applied],
    ['predecessor', script('prompt-logger.mjs'), old],
    ['predecessor with $HOME', line('node "$HOME"/.self-generation/hooks/prompt-logger.mjs'), old],
    [
      'predecessor with braces',
      line('node $'.concat('{HOME}/.self-generation/hooks/prompt-logger.mjs')),
      old,
    ],
  ];
  const foreign: [string, Record<string, unknown>][] = [
    ['another binary', line(`${HOME}/x/.self-generation/hooks/self-generation hook prompt-logger`)],
    ['a path inside ours', line(`${HOME}/.self-generation/mine.sh`)],
    ['an unknown hook', words('hook', 'mine')],
    ['more arguments', words('hook', 'prompt-logger', '-v')],
    ['another command of ours', words('doctor')],
    ['a second command behind it', line(`'${BINARY}' hook prompt-logger; rm x`)],
    ['a pipe', line(`${BINARY} hook prompt-logger | tee x`)],
    ['a comment behind it', line(`${BINARY} hook prompt-logger # mine`)],
    ['an open quote', line(`'${BINARY} hook prompt-logger`)],
    ['another type', { ...words('hook', 'prompt-logger'), type: 'prompt' }],
    ['arguments that are not texts', words('hook', 1)],
    ['an applied hook without an id', words('hook', 'applied')],
    ['an applied hook whose id leads elsewhere', words('hook', 'applied', '../s123')],
    ['an applied hook with more arguments', words('hook', 'applied', ID, ID)],
    ['an applied hook of another binary', { command: '/usr/bin/x', args: ['hook', 'applied', ID] }],
    ['a script of the user', script('mine.mjs')],
    ['a generated script', script('auto/workflow-1.mjs')],
    ['a foreign home', line('node /home/you/.self-generation/hooks/prompt-logger.mjs')],
    ['$HOMER', line('node $HOMER/.self-generation/hooks/prompt-logger.mjs')],
  ];
  for (const [name, found, expected] of [...known, ...foreign]) {
    test(`says ${expected ?? 'foreign'} to ${name}`, () => {
      const { kind, ...who } = recogniseEntry({ type: 'command', ...found }, OWNER) ?? {};
      expect(kind && [kind, ...Object.values(who)].join(' ')).toBe(expected);
    });
  }

  test('compares Windows paths as Windows does', () => {
    const binaries = ['C:\\Users\\me/.self-generation/hooks/self-generation.exe'];
    const owner = { ...OWNER, binaries, platform: 'win32' };
    const command = '"c:/users/ME/.self-generation\\hooks\\self-generation.exe" hook tool-logger';
    expect(recogniseEntry({ command }, owner)).toEqual({ kind: 'ours', name: 'tool-logger' });
  });

  test('knows the unquoted path with a blank that the predecessor wrote', () => {
    const directory = '/home/my self/.self-generation/hooks';
    const owner = { ...OWNER, predecessorDirectories: [directory] };
    const command = `node ${directory}/tool-logger.mjs`;
    expect(recogniseEntry({ command }, owner)?.kind).toBe('predecessor');
  });
});

describe('wantedEntry()', () => {
  const rows: Invocation[] = [
    { binary: BINARY, form: 'exec', platform: 'linux' },
    { binary: "/home/o'neil $x/a b", form: 'shell', platform: 'linux' },
    { binary: 'C:\\Jo Do\\x.exe', form: 'exec', platform: 'win32' },
    { binary: 'C:\\Jo Do\\x.exe', form: 'shell', platform: 'win32' },
  ];
  for (const invocation of rows) {
    test(`is recognised as ours: ${invocation.form} on ${invocation.platform}`, () => {
      const owner = { ...OWNER, binaries: [invocation.binary], platform: invocation.platform };
      for (const hook of HOOKS) {
        const found = recogniseEntry(wantedEntry(hook, invocation), owner);
        expect(found).toEqual({ kind: 'ours', name: hook.name });
      }
      const applied = recogniseEntry(appliedEntry(ID, 10, invocation), owner);
      expect(applied).toEqual({ kind: 'applied', id: ID });
    });
  }
});
