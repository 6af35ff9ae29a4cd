import { describe, expect, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, realpathSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
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
  const rows: [what: string, plant: (here: Here, path: string) => void][] = [
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
    [
      'a link to .env',
      (here, path) => {
        here.put('.env', KEY);
        symlinkSync('.env', path);
      },
    ],
    [
      'a link to a tracked file with a sensitive name',
      (here, path) => {
        here.put('secrets.yml', KEY);
        here.git('add', 'secrets.yml');
        symlinkSync('secrets.yml', path);
      },
    ],
    [
      'a link to a file that git ignores',
      (here, path) => {
        here.put('.gitignore', 'local\n');
        here.put('local', KEY);
        symlinkSync('local', path);
      },
    ],
    [
      'a link to a file that git does not track',
      (here, path) => {
        here.put('notes', KEY);
        symlinkSync('notes', path);
      },
    ],
    [
      "a link to git's own files",
      (here, path) => {
        here.put('.git/config', `[remote "o"]\n\turl = ${KEY}\n`);
        symlinkSync('.git/config', path);
      },
    ],
    ['a hard link', (here, path) => linkSync(outside(here), path)],
    [
      'a hard link in the place of a tracked file',
      (here, path) => {
        here.put('AGENTS.md', 'the tracked text');
        here.put('TOOLS.md', 'the tracked text');
        here.git('add', 'AGENTS.md', 'TOOLS.md');
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
    [
      'a file that git ignores',
      (here, path) => {
        here.put('.gitignore', '*.md\n');
        here.put(path.slice(here.project.length + 1), KEY);
      },
    ],
    ['a pipe', (_, path) => execFileSync('mkfifo', [path])],
    ['a link to a device', (_, path) => symlinkSync('/dev/zero', path)],
    ['a directory', (_, path) => mkdirSync(path)],
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
