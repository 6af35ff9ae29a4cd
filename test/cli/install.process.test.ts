import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { installCommand } from '../../src/cli/install.ts';
import { hooksIn } from '../../src/hooks/hooks.ts';
import { madeCalls, storeCalls } from '../analysis/made-calls.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { BINARY } from '../support/program.ts';
import { withDatabase } from '../support/seed.ts';
import { putText, Transcript, transcriptPath } from '../support/transcripts.ts';
import { putFile } from '../support/tree.ts';
import { call, callHere, terminal } from './call.ts';

const INSTALL = ['install', '--client-version', '2.1.328'];
const NO_CHANGE = 'Already installed, up to date.\n';

/** What stands in config.json after an install in this process, and what was asked. */
async function installedWith(home: Home, words: readonly string[], answer?: boolean) {
  const asked: string[] = [];
  const env = { HOME: home.path, PATH: '/nowhere', LANG: 'en_US.UTF-8' };
  const changes = { ...(answer === undefined ? {} : terminal(answer, asked)), env };
  const result = await callHere(installCommand, [...INSTALL.slice(1), ...words], changes);
  const text = existsSync(home.paths.config) ? readFileSync(home.paths.config, 'utf8') : '{}';
  const { analysisOnSessionEnd: analysis, lessons, announce, proof } = JSON.parse(text);
  return {
    ...{ ...result, asked: asked.length, questions: asked, question: asked[0], analysis },
    ...{ lessons: lessons?.model, wake: announce?.wake, holdOut: proof?.holdOut },
  };
}

describe('install asks whether a model may write lessons, and whether results wake a session', () => {
  type Expected = {
    asked: number;
    lessons?: string;
    analysis?: boolean;
    wake?: string;
    holdOut?: string;
  };
  const rows: [string, string, boolean | undefined, Expected][] = [
    [
      'and takes a yes for lessons that wait',
      '',
      true,
      { asked: 4, lessons: 'suggest', wake: 'on', holdOut: 'trial' },
    ],
    ['and takes one no for all', '', false, { asked: 1, lessons: 'off', wake: 'off', holdOut: 'off' }],
    ['not where nobody can answer, and leaves it off', '', undefined, { asked: 0 }],
    [
      'not when the answers are given',
      '--lessons daily --wake on --hold-out low',
      false,
      { asked: 0, lessons: 'daily', wake: 'on', holdOut: 'low' },
    ],
    ['two where one answer is given', '--wake off', true, { asked: 3, lessons: 'suggest', wake: 'off' }],
    ['not when the older answer is given', '--analyze yes', false, { asked: 1, analysis: true, wake: 'off' }],
    ['nor by its older name', '--analyse yes', false, { asked: 1, analysis: true, wake: 'off' }],
    ['not in a dry run', '--dry-run', true, { asked: 0 }],
    ['not when a program reads the report', '--json', true, { asked: 0 }],
  ];
  for (const [how, flags, answer, expected] of rows) {
    test(how, async () => {
      const words = flags.split(' ').filter(Boolean);
      using home = temporaryHome();
      expect(await installedWith(home, words, answer)).toMatchObject({ code: 0, ...expected });
      const { analysis, lessons, wake } = expected;
      const standing = await installedWith(home, words, answer);
      expect([standing.analysis, standing.lessons, standing.wake]).toEqual([analysis, lessons, wake]);
    });
  }

  test('says what holding out costs and how long an answer takes, also where there are settings', async () => {
    using home = temporaryHome();
    home.writeConfig({ language: 'en', subagentContext: { agents: [] } });
    const { questions, holdOut } = await installedWith(home, [], true);
    expect(questions).toEqual([
      expect.stringContaining('whether some lessons stay untold'),
      expect.stringContaining('at a typical rate of 4 repeated failures a week'),
    ]);
    expect(questions[1]).toContain('about 13 weeks');
    expect(holdOut).toBe('trial');
    expect(JSON.parse(readFileSync(home.paths.config, 'utf8')).language).toBe('en');
    expect(await installedWith(home, [], false)).toMatchObject({ asked: 0, holdOut: 'trial' });
    expect(await installedWith(home, ['--hold-out', 'off'])).toMatchObject({ asked: 0, holdOut: 'off' });
  });

  test('leaves the comments of settings alone, and keeps agents from deciding what is held out', async () => {
    using home = temporaryHome();
    const text = '{ // mine\n  subagentContext: { agents: [] } }';
    home.put('.self-generation/config.json', text);
    const env = { HOME: home.path, PATH: '/nowhere' };
    const words = [...INSTALL.slice(1), '--hold-out', 'trial'];
    const { stderr } = await callHere(installCommand, words, { env });
    expect(stderr).toContain('self-generation config set proof.holdOut trial');
    expect(readFileSync(home.paths.config, 'utf8')).toBe(text);
    const asked = await callHere(installCommand, words, { env, agentMark: () => 'CLAUDECODE' });
    expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining('a person decides') });
  });

  test('not a second time, and changes no settings that are there', async () => {
    using home = temporaryHome();
    await installedWith(home, [], false);
    expect(await installedWith(home, [], true)).toMatchObject({ asked: 0, lessons: 'off' });
    const { stderr, analysis } = await installedWith(home, ['--analyse', 'yes', '--lessons', 'daily']);
    expect(analysis).toBeUndefined();
    expect(stderr).toContain('self-generation config set analysisOnSessionEnd true');
    expect(stderr).toContain('self-generation config set lessons.model daily');
  });

  test('says what waking costs, and registers the hook that wakes unless it is not wanted', async () => {
    const waiterOf = (home: Home) => {
      const settings = readFileSync(`${home.path}/.claude/settings.json`, 'utf8');
      const { Stop } = JSON.parse(settings).hooks;
      return Stop.flatMap((group: { hooks: object[] }) => group.hooks).find((entry: object) =>
        JSON.stringify(entry).includes('result-waiter'),
      );
    };
    const version = ['--client-version', '2.1.328'];
    using home = temporaryHome();
    const { questions } = await installedWith(home, version, true);
    expect(questions[2]).toContain('one request to the model with the whole conversation, five at most');
    expect(waiterOf(home)).toMatchObject({ async: true, asyncRewake: true, timeout: 2_000_000 });
    using other = temporaryHome();
    await installedWith(other, version, false);
    expect(waiterOf(other)).toBeUndefined();
    await installedWith(home, ['--client-version', '2.1.200']);
    expect(waiterOf(home)).toBeUndefined();
  });

  test("says what it would cost in the user's own numbers", async () => {
    using home = temporaryHome();
    putFile(`${home.path}/.claude/projects/-home-dev-app/one.jsonl`, '{}');
    expect((await installedWith(home, ['--no-learn'], true)).questions[1]).toMatch(
      /1 sessions found; \d+000 tokens each time, about 0\.\d\d USD with sonnet/,
    );
    using other = temporaryHome();
    const now = Date.parse('2026-11-20T09:00:00.000Z');
    const failed = [
      { line: 'x y', said: 'error of x' },
      { line: 'x z', session: 's2' },
    ];
    const calls = madeCalls(failed, new Date(now).toISOString());
    withDatabase(other.paths, (db) => storeCalls(calls, db));
    expect((await installedWith(other, [], true)).questions[1]).toContain(
      '2 sessions and 1 failing calls recorded',
    );
  });
});

describe('install learns from the sessions that are there', () => {
  const QUESTION = 'Found 1 session of Claude Code (0.0 MiB).\nLearn from them now?';
  const BEST = '    Fix: "use `PORT=8080 npm test` instead of `npm test`"\n    worked in 1 session of app\n';

  function homeWithSession(): Home {
    const home = temporaryHome();
    const transcript = new Transcript({ session: 's1', cwd: `${home.path}/app` })
      .prompt('Make the test pass.')
      .fail('Bash', { command: 'npm test' }, 'Exit code 1\nError: PORT is not set')
      .succeed('Bash', { command: 'PORT=8080 npm test' });
    putText(home, transcriptPath('s1'), transcript.text);
    return home;
  }

  test('when Enter is typed, which learns and leaves the rest off, and shows the best lessons', async () => {
    using home = homeWithSession();
    const asked: string[] = [];
    const ask = async (question: string) => (asked.push(question) > 0 ? '' : undefined);
    const env = { HOME: home.path, PATH: '/nowhere' };
    const { code, stdout } = await callHere(installCommand, INSTALL.slice(1), {
      env,
      isInteractive: true,
      ask,
    });
    expect(asked).toEqual([
      expect.stringContaining('English, or Korean'),
      expect.stringContaining(
        `${QUESTION} They are read on this machine, and nothing is sent anywhere. [Y/n]`,
      ),
      expect.stringContaining('Choose now? [y/N]'),
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(BEST) });
    expect(stdout).toContain('Learned from 1 session: 1 lesson.\n');
    expect(JSON.parse(readFileSync(home.paths.config, 'utf8'))).toMatchObject({
      ...{ language: 'en', lessons: { model: 'off' } },
      ...{ announce: { wake: 'off' }, proof: { holdOut: 'off' } },
    });
  });

  test('with questions whose lines end between words', async () => {
    using home = homeWithSession();
    const asked: string[] = [];
    const screen = () => ({ columns: 60, rows: 24 });
    const env = { HOME: home.path, PATH: '/nowhere' };
    await callHere(installCommand, INSTALL.slice(1), { ...terminal(true, asked), env, screen });
    expect(asked[1]).toBe(
      'Found 1 session of Claude Code (0.0 MiB).\nLearn from them now? They are read on this machine, and\nnothing is sent anywhere. [Y/n] ',
    );
    for (const line of asked.join('\n').split('\n')) expect(line.length).toBeLessThan(61);
    expect(asked.at(-1)).toContain('prevented');
  });

  test('and is ended by Ctrl-C before anything is changed', async () => {
    using home = homeWithSession();
    const env = { HOME: home.path, PATH: '/nowhere' };
    const end = await callHere(installCommand, INSTALL.slice(1), { env, isInteractive: true });
    expect(end).toEqual({ code: 130, stdout: '', stderr: 'Nothing was changed.\n' });
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('not where nobody can be asked, unless --learn says so', async () => {
    using home = homeWithSession();
    const { stdout } = await installedWith(home, []);
    expect(stdout).toContain('1 session of Claude Code (0.0 MiB) can be learned from, which sends nothing');
    expect(stdout).toContain(`    ${home.paths.binary} import\n`);
    expect(existsSync(home.paths.database)).toBe(false);
    expect((await installedWith(home, ['--learn', '--dry-run'])).stdout).toContain(
      'It would learn from 1 session',
    );
    expect(existsSync(home.paths.database)).toBe(false);
    const json = JSON.parse((await installedWith(home, ['--learn', '--json'])).stdout);
    expect(json).toMatchObject({
      kind: 'done',
      learned: { fixes: 1, best: [{ sessions: 1, project: 'app' }] },
    });
    expect((await installedWith(home, ['--learn'])).stdout).toContain(BEST);
  });

  test('says so where there is none to show', async () => {
    using home = temporaryHome();
    putText(home, transcriptPath('s1'), new Transcript().prompt('Go.').text);
    const { stdout } = await installedWith(home, ['--learn']);
    expect(stdout).toContain(
      'Learned from 1 session: 0 lessons.\nNo lesson yet: it takes a command that failed',
    );
  });
});

describe('install', () => {
  test('installs itself, says what it did and where to check, then that nothing is left to do', async () => {
    using home = temporaryHome();
    const first = await call(home, INSTALL);
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    expect(first.stdout).toStartWith('Installed self-generation.\n');
    expect(first.stdout).toContain(`created  ${home.paths.binary}\n`);
    expect(first.stdout).toContain(`9 hooks run in every new Claude Code session.\n\nWhat happens next\n`);
    expect(readFileSync(home.paths.binary).equals(readFileSync(BINARY))).toBe(true);
    expect(await call(home, INSTALL)).toMatchObject({ exitCode: 0, stderr: '', stdout: NO_CHANGE });
  });

  test('registers what the client can start as it stands in the settings', async () => {
    using home = temporaryHome();
    await call(home, INSTALL);
    const { hooks } = JSON.parse(readFileSync(`${home.path}/.claude/settings.json`, 'utf8'));
    for (const { event } of hooksIn('session')) {
      const { command, args } = hooks[event][0].hooks[0];
      const child = Bun.spawn([command, ...args], { env: { HOME: home.path }, stdin: Buffer.from('{}') });
      expect(await child.exited).toBe(0);
    }
  });

  test('--hooks=per-call hands each call to a hook, also after a repair, until --hooks=session', async () => {
    using home = temporaryHome();
    const events = () =>
      Object.keys(JSON.parse(readFileSync(`${home.path}/.claude/settings.json`, 'utf8')).hooks);
    const perCall = await call(home, [...INSTALL, '--hooks=per-call']);
    expect(perCall.stdout).toContain('11 hooks, one for each call, run in every new Claude Code session');
    expect(events()).toContain('PostToolUse');
    expect((await call(home, INSTALL)).stdout).toBe(NO_CHANGE);
    await call(home, [...INSTALL, '--hooks=session']);
    expect(events()).not.toContain('PostToolUse');
    expect((await call(home, [...INSTALL, '--hooks=other'])).exitCode).toBe(2);
  });

  test('tells of the client that it cannot find on standard error, beside the report', async () => {
    using home = temporaryHome();
    const { stdout, stderr, exitCode } = await call(home, ['install', '--dry-run']);
    expect(exitCode).toBe(0);
    expect(stdout).toStartWith('Nothing was changed. Install would do this:\n');
    expect(stderr).toStartWith(
      'warning: The version of Claude Code is unknown (there is no "claude" on PATH)',
    );
    expect(readdirSync(home.path)).toEqual([]);
  });

  test('exits with 1 and the place for settings that are broken, and changes nothing', async () => {
    using home = temporaryHome();
    const settings = home.put('.claude/settings.json', '{\n  "a": 1\n  "b": 2\n}');
    const text = await call(home, INSTALL);
    expect(text).toMatchObject({ exitCode: 1, stdout: '' });
    expect(text.stderr).toBe(
      `error: Cannot register hooks in "${settings}": line 3, column 3: not valid JSON (comma expected); ` +
        'correct it there. Correct that and run the command again; nothing was changed.\n',
    );
    const json = await call(home, [...INSTALL, '--json']);
    expect({ code: json.exitCode, stderr: json.stderr }).toEqual({ code: 1, stderr: '' });
    const reason = expect.stringContaining('line 3');
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'failed', reason });
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('leaves nothing that other users can read', async () => {
    using home = temporaryHome();
    await call(home, INSTALL);
    for (const name of readdirSync(home.paths.home, { recursive: true, encoding: 'utf8' })) {
      expect(statSync(`${home.paths.home}/${name}`).mode & 0o077).toBe(0);
    }
  });
});
