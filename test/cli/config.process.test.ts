import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { configCommand } from '../../src/cli/config.ts';
import { CONFIG_FIELDS, readPath } from '../../src/settings/all-settings.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { call, callHere, printed, refused, refusedJson, said } from './call.ts';

const config = (home: Home, ...words: string[]) =>
  callHere(configCommand, words, { env: { HOME: home.path } });
/** A home with these settings. */
function homeWith(values: unknown): Home {
  const home = temporaryHome();
  home.writeConfig(values);
  return home;
}
const fileOf = (home: Home) => readFileSync(home.paths.config, 'utf8');
const valuesOf = (home: Home) => JSON.parse(fileOf(home));

describe('config list', () => {
  test('shows every setting with its value, its default and its meaning', async () => {
    using home = homeWith({ language: 'en' });
    const stdout = printed(await config(home, 'list'));
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(CONFIG_FIELDS.length + 1);
    for (const { key, description } of CONFIG_FIELDS) {
      expect(lines.find((line) => line.startsWith(`${key} `))).toContain(description);
    }
    expect(lines.find((line) => line.startsWith('language '))).toContain('"en" (default "ko")');
    expect(await config(home)).toEqual(said(stdout));
  });

  test('tells of bad fields beside the table, and inside of the JSON', async () => {
    const subagents = { maxPerClient: { codex: 2 } }; // A setting of an earlier release.
    using home = homeWith({ language: 'fr', colour: 1, agents: { defaults: { subagents } } });
    expect((await config(home)).stderr).toBe(
      'warning: language: expected "ko" or "en"; "ko" is used\nwarning: colour: no such setting; it has no effect\n' +
        'warning: agents.defaults.subagents.maxPerClient: no such setting; it has no effect\n',
    );
    const problems = [
      ...[
        { key: 'language', found: 'fr' },
        { key: 'colour', found: 1 },
      ],
      { key: 'agents.defaults.subagents.maxPerClient' },
    ];
    const json = JSON.parse(printed(await config(home, '--json')));
    expect(json).toMatchObject({ config: { language: 'ko' }, problems });
  });
});

describe('settings of background runs', () => {
  const OPUS = '{"anthropic":{"models":[{"id":"opus","cost":{"input":15,"output":75}}]}}';
  const rows: [key: string, text: string, stored?: unknown][] = [
    ['agents.defaults.subagents.maxConcurrent', '3'],
    ['agents.defaults.subagents.model', 'haiku', 'haiku'],
    ['agents.defaults.subagents.thinking', 'high', 'high'],
    ['agents.list', '[{"id":"reviewer","subagents":{"client":"codex"}}]'],
    ['tools.subagents.tools.deny', '["web_fetch"]'],
    ['tools.subagents.tools.allow', 'null'],
    ['tools.subagents.strict', 'false'],
    ['announce.mode', 'inline', 'inline'],
    ['budget.day.usd', '2.5'],
    ['models.providers', OPUS],
  ];
  for (const [key, text, stored = JSON.parse(text)] of rows) {
    test(`are set, shown and unset as the others are: ${key} ${text}`, async () => {
      using home = temporaryHome();
      expect(await config(home, 'set', key, text)).toEqual(said(`${key} = ${JSON.stringify(stored)}\n`));
      expect(readPath(valuesOf(home), key)).toEqual(stored);
      const shown = typeof stored === 'string' ? stored : JSON.stringify(stored);
      expect((await config(home, 'get', key)).stdout).toBe(`${shown}\n`);
      const standard = CONFIG_FIELDS.find((field) => field.key === key)?.default;
      expect((await config(home, 'unset', key)).stdout).toBe(
        `${key} = ${JSON.stringify(standard)} (the default)\n`,
      );
    });
  }

  const misspelt = '[{"id": "a", "subagents": {"modle": "x"}}]';
  const bad: [key: string, text: string, expected: string][] = [
    ['agents.defaults.subagents.maxConcurrent', '0', 'expected a whole number from 1 to 100000'],
    ['agents.list', misspelt, 'expected a list of agents, like [{"id": "reviewer"}]'],
    ['tools.subagents.tools.deny', 'exec', 'expected a list of tools, like ["exec", "web_fetch"]'],
    ['announce.mode', 'loud', 'expected "turn", "inline" or "raw"'],
    ['agents.defaults.subagents.contextFiles', '["SOUL.md"]', 'none that is for main agents'],
  ];
  for (const [key, text, expected] of bad) {
    test(`are refused when they are bad: ${key} ${text}`, async () => {
      using home = temporaryHome();
      expect(await config(home, 'set', key, text)).toEqual(refused(2, expect.stringContaining(expected)));
    });
  }

  test('show what is in force when a part of a list is bad, and which part that is', async () => {
    using home = homeWith({ agents: { list: [{ id: 'a', workspace: 'relative' }, { id: '?' }] } });
    expect((await config(home, 'get', 'agents.list')).stdout).toBe('[{"id":"a"}]\n');
    expect((await config(home)).stderr).toBe(
      'warning: agents.list[0].workspace: expected null, or an absolute path; null is used\n' +
        'warning: agents.list[1]: expected an object with an "id" of its own, of letters, digits, - and _; it is left out\n',
    );
  });
});

describe('config get', () => {
  const rows: [string, unknown, string][] = [
    ['language', { language: 'en' }, 'en'],
    ['language', {}, 'ko'],
    ['language', { language: 'fr' }, 'ko'],
    ['enabled', {}, 'true'],
    ['subagentContext.agents', { subagentContext: { agents: ['a'] } }, '["a"]'],
  ];
  for (const [key, values, printed] of rows) {
    test(`prints ${printed} for ${key} of ${JSON.stringify(values)}`, async () => {
      using home = homeWith(values);
      expect(await config(home, 'get', key)).toEqual(said(`${printed}\n`));
      const { value } = JSON.parse((await config(home, 'get', key, '--json')).stdout) as { value: unknown };
      expect(typeof value === 'string' ? value : JSON.stringify(value)).toBe(printed);
    });
  }

  const unknown: [words: string, what: string, hint: string][] = [
    ['get colour', 'colour', ''],
    ['get langage', 'langage', 'Did you mean language? '],
    ['set agents x', 'agents', 'Did you mean subagentContext.agents? '],
    ['unset subagentContext.agent', 'subagentContext.agent', 'Did you mean subagentContext.agents? '],
  ];
  for (const [words, key, hint] of unknown) {
    test(`exits with 3 and names the nearest setting: config ${words}`, async () => {
      using home = temporaryHome();
      const said = `error: Cannot find the setting "${key}": there is none of this name. ${hint}"self-generation config list" shows all.\n`;
      expect(await config(home, ...words.split(' '))).toEqual(refused(3, said));
      expect(existsSync(home.paths.config)).toBe(false);
    });
  }
});

describe('config set', () => {
  const rows: [string, string, unknown][] = [
    ['language', 'en', 'en'],
    ['language', '"en"', 'en'],
    ['enabled', 'false', false],
    ['retentionDays', '30', 30],
    ['analysisModel', 'opus', 'opus'],
    ['subagentContext.agents', '["a", "b"]', ['a', 'b']],
  ];
  for (const [key, text, value] of rows) {
    test(`takes ${text} for ${key}`, async () => {
      using home = temporaryHome();
      const answer = await config(home, 'set', key, text);
      expect(answer).toEqual(said(`${key} = ${JSON.stringify(value)}\n`));
      expect(JSON.parse((await config(home, 'get', key, '--json')).stdout)).toEqual({ key, value });
    });
  }

  const wrong: [string, string, string][] = [
    ['language', 'fr', 'expected "ko" or "en".'],
    ['enabled', 'yes', 'expected true or false.'],
    ['retentionDays', '-5', 'expected a number above 0, at most 36500.'],
    ['retentionDays', 'NaN', 'expected a number above 0, at most 36500.'],
    ['subagentContext.agents', 'reviewer', `for example '["reviewer", "fixer"]'.`],
  ];
  for (const [key, text, expected] of wrong) {
    test(`exits with 2 for ${key} ${text}, says what it takes and keeps every byte`, async () => {
      using home = temporaryHome();
      home.put('.self-generation/config.json', ' {"language" : "en"}');
      const { stdout, stderr, code } = await config(home, 'set', key, text);
      expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
      expect(stderr).toStartWith(`error: Cannot set ${key} to ${text}: `);
      expect(stderr).toEndWith(`${expected}\n`);
      expect(fileOf(home)).toBe(' {"language" : "en"}');
    });
  }

  test('keeps what it does not know, on every level', async () => {
    const agents = ['a'];
    const other = { later: [1], language: 'fr' };
    using home = homeWith({ ...other, subagentContext: { agents, later: { x: null } } });
    await config(home, 'set', 'subagentContext.excludeAgents', '["b"]');
    const subagentContext = { agents, later: { x: null }, excludeAgents: ['b'] };
    expect(valuesOf(home)).toEqual({ ...other, subagentContext });
  });

  test('writes a file that only its owner can read, in one step and without leftovers', async () => {
    using home = homeWith({ language: 'ko' });
    chmodSync(home.paths.config, 0o644);
    chmodSync(home.paths.home, 0o755);
    const inode = statSync(home.paths.config).ino;
    await config(home, 'set', 'language', 'en');
    const stats = statSync(home.paths.config);
    expect(stats.mode & 0o777).toBe(0o600);
    expect(stats.ino).not.toBe(inode); // Renamed into its place, not written over.
    expect(statSync(home.paths.home).mode & 0o777).toBe(0o700);
    expect(readdirSync(home.paths.home)).toEqual(['config.json']);
  });

  test('writes through a link into the dotfiles', async () => {
    using home = temporaryHome();
    const real = home.put('dotfiles/config.json', '{}');
    mkdirSync(home.paths.home);
    symlinkSync(real, home.paths.config);
    await config(home, 'set', 'language', 'en');
    expect(lstatSync(home.paths.config).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(real, 'utf8'))).toEqual({ language: 'en' });
  });

  test('is whole whenever it is read, while several write it', async () => {
    using home = homeWith({ language: 'ko' });
    let isDone = false;
    const writers = Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        call(home, ['config', 'set', 'retentionDays', String(index + 1)]),
      ),
    ).finally(() => {
      isDone = true;
    });
    let reads = 0;
    while (!isDone) {
      expect(valuesOf(home).language).toBe('ko');
      reads++;
      await new Promise(setImmediate);
    }
    for (const { exitCode } of await writers) expect(exitCode).toBe(0);
    expect(reads).toBeGreaterThan(1);
    expect(readdirSync(home.paths.home)).toEqual(['config.json']);
  });
});

describe('config unset', () => {
  test('goes back to the default and keeps the rest', async () => {
    using home = homeWith({ subagentContext: { agents: ['a'], later: 1 }, language: 'en' });
    const unset = await config(home, 'unset', 'subagentContext.agents');
    expect(unset).toEqual(said('subagentContext.agents = [] (the default)\n'));
    expect(valuesOf(home)).toEqual({ subagentContext: { later: 1 }, language: 'en' });
  });

  test('writes nothing when there is nothing to unset', async () => {
    using home = temporaryHome();
    const { stdout, code } = await config(home, 'unset', 'language', '--json');
    expect({ stdout, code }).toEqual({ stdout: '{\n  "key": "language",\n  "value": "ko"\n}\n', code: 0 });
    expect(existsSync(home.paths.home)).toBe(false);
  });
});

describe('config', () => {
  const calls = ['list', 'list --json', 'get language', 'set language en', 'unset language'];
  for (const text of ['{"language": "en"', '[]', 'null', '']) {
    for (const words of calls) {
      test(`refuses the file ${JSON.stringify(text)} and leaves it: config ${words}`, async () => {
        using home = temporaryHome();
        home.put('.self-generation/config.json', text);
        const reason = `"${home.paths.config}" is no object of JSON or JSON5. Correct or remove the file; it was not changed`;
        const said = `Cannot read the settings: ${reason}.`;
        const expected = words.includes('--json')
          ? refusedJson('failed', said)
          : refused(1, `error: ${said}\n`);
        expect(await config(home, ...words.split(' '))).toEqual(expected);
        expect(fileOf(home)).toBe(text);
      });
    }
  }

  test('takes JSON5, and leaves its comments where they are', async () => {
    using home = temporaryHome();
    const text = `{\n  // spoken\n  language: 'en',\n}\n`;
    home.put('.self-generation/config.json', text);
    expect(await config(home, 'get', 'language')).toEqual(said('en\n'));
    const reason = `"${home.paths.config}" is JSON5, whose comments would be lost; change it there by hand.`;
    const set = await config(home, 'set', 'language', 'ko');
    expect(set).toEqual(refused(1, `error: Cannot set language to ko: ${reason}\n`));
    const unset = await config(home, 'unset', 'language');
    expect(unset).toEqual(refused(1, `error: Cannot unset language: ${reason}\n`));
    expect(fileOf(home)).toBe(text);
  });

  test('exits with 1 and the reason when the file cannot be read', async () => {
    using home = temporaryHome();
    mkdirSync(home.paths.config, { recursive: true });
    const { stdout, stderr, exitCode } = await call(home, ['config', 'set', 'language', 'en']);
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 });
    expect(stderr).toStartWith(`error: Cannot read the settings "${home.paths.config}": EISDIR`);
  });
});
