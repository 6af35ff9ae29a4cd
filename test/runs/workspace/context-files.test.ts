import { describe, expect, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  realpathSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { contextFiles } from '../../../src/runs/workspace/first-prompt.ts';
import { temporaryHome } from '../../support/home.ts';

const NAMES = ['AGENTS.md', 'TOOLS.md'];

/** A repository in a user's home, with one commit's worth of tracked files. */
function repository(tracked: Readonly<Record<string, string>> = {}) {
  const home = temporaryHome();
  const project = `${realpathSync(home.path)}/app`;
  mkdirSync(project);
  const put = (name: string, text: string) => home.put(`app/${name}`, text);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, stdio: 'pipe' });
  git('init', '--quiet');
  for (const [name, text] of Object.entries({ 'README.md': 'the readme', ...tracked })) put(name, text);
  git('add', '--all');
  const told = async (names = NAMES) => {
    const files = await contextFiles([project], names, process.env);
    return files.map(({ name, text }) => `${name}: ${text}`);
  };
  return { home, project, put, git, told, [Symbol.dispose]: () => home[Symbol.dispose]() };
}

describe('contextFiles() gives', () => {
  test('a plain file, tracked or not', async () => {
    using here = repository({ 'AGENTS.md': 'tracked' });
    here.put('TOOLS.md', 'not yet');
    expect(await here.told()).toEqual(['AGENTS.md: tracked', 'TOOLS.md: not yet']);
  });

  test('what a link leads to when git tracks that, also below a linked directory', async () => {
    using here = repository({ 'CLAUDE.md': 'for all', 'docs/how.md': 'how' });
    symlinkSync('CLAUDE.md', `${here.project}/AGENTS.md`);
    symlinkSync('docs', `${here.project}/d`);
    expect(await here.told(['AGENTS.md', 'd/how.md'])).toEqual(['AGENTS.md: for all', 'd/how.md: how']);
  });

  test('a file with another name as long as its content is the tracked one', async () => {
    using here = repository({ 'AGENTS.md': 'the same' });
    linkSync(`${here.project}/AGENTS.md`, `${here.home.path}/copy`);
    expect(await here.told()).toEqual(['AGENTS.md: the same']);
  });

  test('a plain file where there is no repository, or none that git understands', async () => {
    using here = repository({ 'AGENTS.md': 'plain' });
    here.put('.git/config', '[core\n');
    expect(await here.told()).toEqual(['AGENTS.md: plain']);
    renameSync(`${here.project}/.git`, `${here.home.path}/git`);
    expect(await here.told()).toEqual(['AGENTS.md: plain']);
  });

  test('CLAUDE.md and GEMINI.md where they are named, without what they import', async () => {
    using here = repository({
      'CLAUDE.md': 'Use tabs.\n@docs/more.md',
      'GEMINI.md': '@./docs/more.md',
      'docs/more.md': 'imported',
    });
    expect(await here.told()).toEqual([]);
    expect(await here.told(['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'])).toEqual([
      'CLAUDE.md: Use tabs.\n@docs/more.md',
      'GEMINI.md: @./docs/more.md',
    ]);
  });

  test('no secret and nothing private of it', async () => {
    using here = repository({ 'AGENTS.md': 'password=Xk29-pLq8Zt77 <private>hush</private> end' });
    const [text] = await here.told();
    expect(text).toEndWith('end');
    expect(text).not.toMatch(/Xk29|hush/);
  });
});

describe('contextFiles() gives nothing of', () => {
  const KEY = 'the bytes of a key';
  type Here = ReturnType<typeof repository>;
  const outside = ({ home }: Here) => home.put('id', KEY);
  type Plant = (here: Here, path: string) => unknown;
  /** A link to a file of the project with this name, which git may track. */
  const linked =
    (name: string, { text = KEY, isTracked = false } = {}): Plant =>
    (here, path) => {
      here.put(name, text);
      if (isTracked) here.git('add', name);
      symlinkSync(name, path);
    };
  const ignoring =
    (what: string, plant: Plant): Plant =>
    (here, path) => {
      here.put('.gitignore', `${what}\n`);
      plant(here, path);
    };
  const written =
    (text: string | Uint8Array): Plant =>
    (_, path) =>
      writeFileSync(path, text);
  const rows: [what: string, plant: Plant][] = [
    ['a link to a file outside', (here, path) => symlinkSync(outside(here), path)],
    [
      'a link to a link to one',
      (here, path) => {
        symlinkSync(outside(here), `${here.project}/one`);
        here.git('add', 'one');
        symlinkSync('one', path);
      },
    ],
    [
      'a link through a linked directory',
      (here, path) => {
        here.home.put('keys/id', KEY);
        symlinkSync('../keys', `${here.project}/keys`);
        symlinkSync('keys/id', path);
      },
    ],
    ['a link to .env', linked('.env')],
    ['a link to a tracked file with a sensitive name', linked('secrets.yml', { isTracked: true })],
    ['a link to a file for a main agent', linked('SOUL.md', { isTracked: true })],
    ['a link to a file that git ignores', ignoring('local', linked('local'))],
    ['a link to a file that git does not track', linked('notes')],
    ["a link to git's own files", linked('.git/config', { text: `[remote "o"]\n\turl = ${KEY}\n` })],
    ['a hard link', (here, path) => linkSync(outside(here), path)],
    [
      'a hard link in the place of a tracked file',
      (here, path) => {
        for (const name of NAMES) here.put(name, 'the tracked text');
        here.git('add', ...NAMES);
        unlinkSync(path);
        linkSync(outside(here), path);
      },
    ],
    [
      'a link to a hard link',
      (here, path) => {
        linkSync(outside(here), `${here.project}/hard`);
        symlinkSync('hard', path);
      },
    ],
    ['a file that git ignores', ignoring('*.md', written(KEY))],
    ['a pipe', (_, path) => execFileSync('mkfifo', [path])],
    ['a link to a device', (_, path) => symlinkSync('/dev/zero', path)],
    ['a directory', (_, path) => mkdirSync(path)],
    ['a binary file', written(Uint8Array.of(0x61, 0, 0x62))],
    ['an empty file', written(' \n')],
  ];
  for (const [what, plant] of rows) {
    for (const name of NAMES)
      test(`${name} when it is ${what}`, async () => {
        using here = repository();
        plant(here, `${here.project}/${name}`);
        expect(await here.told([name])).toEqual([]);
      });
  }

  test('links outside of a repository', async () => {
    using home = temporaryHome();
    home.put('desk/.env', KEY);
    symlinkSync('.env', `${home.path}/desk/AGENTS.md`);
    linkSync(home.put('id', KEY), `${home.path}/desk/TOOLS.md`);
    expect(await contextFiles([`${home.path}/desk`], NAMES, process.env)).toEqual([]);
  });

  test('names that lead out, whatever the settings say', async () => {
    using here = repository();
    outside(here);
    here.put('.git/config', KEY);
    expect(await here.told(['../id', 'x/../../id', '.git/config', `${here.home.path}/id`])).toEqual([]);
  });
});
