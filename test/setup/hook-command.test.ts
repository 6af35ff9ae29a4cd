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
  const rows: [string, Record<string, unknown>, string | undefined][] = [
    ['exec form', { command: BINARY, args: ['hook', 'prompt-logger'] }, own],
    ['shell form', { command: `'${BINARY}' hook prompt-logger` }, own],
    ['unquoted', { command: `${BINARY} hook prompt-logger` }, own],
    ['double quotes', { command: `"${BINARY}" hook 'prompt-logger'` }, own],
    [
      '$HOME in double quotes',
      { command: '"$HOME/.self-generation/hooks/self-generation" hook prompt-logger' },
      own,
    ],
    [
      'another binary',
      { command: `${HOME}/x/.self-generation/hooks/self-generation hook prompt-logger` },
      undefined,
    ],
    ['a path inside ours', { command: `${HOME}/.self-generation/mine.sh` }, undefined],
    ['an unknown hook', { command: BINARY, args: ['hook', 'mine'] }, undefined],
    ['more arguments', { command: BINARY, args: ['hook', 'prompt-logger', '-v'] }, undefined],
    ['another command of ours', { command: BINARY, args: ['doctor'] }, undefined],
    ['a second command behind it', { command: `'${BINARY}' hook prompt-logger; rm x` }, undefined],
    ['a pipe', { command: `${BINARY} hook prompt-logger | tee x` }, undefined],
    ['a comment behind it', { command: `${BINARY} hook prompt-logger # mine` }, undefined],
    ['an open quote', { command: `'${BINARY} hook prompt-logger` }, undefined],
    ['another type', { type: 'prompt', command: BINARY, args: ['hook', 'prompt-logger'] }, undefined],
    ['arguments that are not texts', { command: BINARY, args: ['hook', 1] }, undefined],
    ['an applied hook, exec form', { command: BINARY, args: ['hook', 'applied', ID] }, `applied ${ID}`],
    ['an applied hook, shell form', { command: `'${BINARY}' hook applied ${ID}` }, `applied ${ID}`],
    ['one of an earlier version', { command: BINARY, args: ['hook', 'script', ID] }, `applied ${ID}`],
    ['an applied hook without an id', { command: BINARY, args: ['hook', 'applied'] }, undefined],
    [
      'an applied hook whose id leads elsewhere',
      { command: BINARY, args: ['hook', 'applied', '../s123'] },
      undefined,
    ],
    [
      'an applied hook with more arguments',
      { command: BINARY, args: ['hook', 'applied', ID, ID] },
      undefined,
    ],
    [
      'an applied hook of another binary',
      { command: '/usr/bin/x', args: ['hook', 'applied', ID] },
      undefined,
    ],
    ['predecessor', { command: `node ${HOME}/.self-generation/hooks/prompt-logger.mjs` }, old],
    ['predecessor with $HOME', { command: 'node "$HOME"/.self-generation/hooks/prompt-logger.mjs' }, old],
    [
      'predecessor with braces',
      { command: 'node $'.concat('{HOME}/.self-generation/hooks/prompt-logger.mjs') },
      old,
    ],
    ['a script of the user', { command: `node ${HOME}/.self-generation/hooks/mine.mjs` }, undefined],
    ['a generated script', { command: `node ${HOME}/.self-generation/hooks/auto/workflow-1.mjs` }, undefined],
    ['a foreign home', { command: 'node /home/you/.self-generation/hooks/prompt-logger.mjs' }, undefined],
    ['$HOMER', { command: 'node $HOMER/.self-generation/hooks/prompt-logger.mjs' }, undefined],
  ];
  for (const [name, found, expected] of rows) {
    test(`says ${expected ?? 'foreign'} to ${name}`, () => {
      const result = recogniseEntry({ type: 'command', ...found }, OWNER);
      expect(result && `${result.kind} ${result.kind === 'applied' ? result.id : result.name}`).toBe(
        expected,
      );
    });
  }

  test('compares Windows paths as Windows does', () => {
    const owner = {
      ...OWNER,
      binaries: ['C:\\Users\\me/.self-generation/hooks/self-generation.exe'],
      platform: 'win32',
    };
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
  const rows: [string, Invocation][] = [
    ['exec on Linux', { binary: BINARY, form: 'exec', platform: 'linux' }],
    ['shell on Linux', { binary: "/home/o'neil $x/a b", form: 'shell', platform: 'linux' }],
    ['exec on Windows', { binary: 'C:\\Jo Do\\x.exe', form: 'exec', platform: 'win32' }],
    ['shell on Windows', { binary: 'C:\\Jo Do\\x.exe', form: 'shell', platform: 'win32' }],
  ];
  for (const [name, invocation] of rows) {
    test(`is recognised as ours: ${name}`, () => {
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
