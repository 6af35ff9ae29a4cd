import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import type { CliContext } from '../../src/cli/context.ts';
import { importCommand } from '../../src/cli/import.ts';
import { type Home, readEvents, readRows, spoolFiles, temporaryHome } from '../support/home.ts';
import { runHookProcess, runProgram } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';
import { seedErrors } from '../support/seed.ts';
import { Clock, importedRows, NOW, putText, Transcript, transcriptPath } from '../support/transcripts.ts';
import { callHere, printed, refused, said } from './call.ts';

/** The transcripts' project, so that no other one's files on this machine play a part. */
const projectIn = (home: Home) => `${home.path}/app`;

function put(home: Home, session = 's1', start = '2026-11-20T09:00:00Z', cwd = projectIn(home)): Transcript {
  const transcript = new Transcript({ session, cwd, clock: new Clock(Date.parse(start)) })
    .prompt('Make the test pass.')
    .fail('Bash', { command: 'npm test' }, 'Exit code 1\nError: PORT is not set')
    .succeed('Bash', { command: 'PORT=8080 npm test' })
    .succeed('Edit', { file_path: `${cwd}/settings.ini` });
  putText(home, transcriptPath(session), transcript.text);
  return transcript;
}

/** A home with one session. */
function homeWithSession(): Home {
  const home = temporaryHome();
  put(home);
  return home;
}

const run = (home: Home, words: readonly string[] = [], changes: Partial<CliContext> = {}) =>
  callHere(importCommand, words, { env: { HOME: home.path }, now: () => NOW, cwd: home.path, ...changes });

/** What is shown of it, in the language of the locale or else English. */
const LESSON = `
A lesson, as an agent reads it:
  - Error: PORT is not set (Bash)
    Fix: "use \`PORT=8080 npm test\` instead of \`npm test\`"
    worked in 1 session of app
`;

describe('import', () => {
  test('reads the transcripts of the client and says what came of it', async () => {
    using home = homeWithSession();
    const events = 'Events: 1 prompt, 1 tool_error, 2 tool_use\nLessons: 1 more\n';
    expect(await run(home)).toEqual(said(`Read 0.0 MiB of 1 session in 1 transcript.\n${events}${LESSON}`));
    expect(readEvents(home.paths)).toHaveLength(4);
    expect(readEvents(home.paths)[0]?.projectPath).toBe(projectIn(home));
  });

  test('has nothing new to say the second time', async () => {
    using home = homeWithSession();
    await run(home);
    expect(await run(home)).toEqual(said(`Nothing new in 1 transcript.\n${LESSON}`));
  });

  test('says what it left out, and warns of what it could not read', async () => {
    using home = temporaryHome();
    const transcript = put(home);
    transcript.failure(transcript.call('Bash', { command: 'x' }), 'No.', { toolDenialKind: 'user-rejected' });
    const path = putText(home, transcriptPath('s1'), `{broken\n${transcript.text}`);
    symlinkSync('/nowhere/at/all', `${path}.broken.jsonl`);
    const { stdout, stderr, code } = await run(home);
    expect(stdout).toContain('Left out: 1 × broken line, 1 × refused call\n');
    expect(stderr).toMatch(/^warning: Cannot read ".+broken\.jsonl": .*ENOENT/);
    expect(code).toBe(0);
  });

  test('--json prints all of it as JSON', async () => {
    using home = homeWithSession();
    const stdout = printed(await run(home, ['--json']));
    const read = { filesFound: 1, sessions: 1, added: { prompt: 1 }, unreadable: [] };
    const transcripts = { ...read, passedOver: { brokenLines: 0 } };
    expect(JSON.parse(stdout)).toMatchObject({ dryRun: false, transcripts, fixes: 1, removed: 0 });
  });

  test('shows how far it is, and takes that away at the end', async () => {
    using home = homeWithSession();
    const shown: string[] = [];
    await run(home, [], { progress: (text) => void shown.push(text) });
    expect(shown).toEqual(['Reading 1 session, 0.0 MiB: 100 %', '']);
  });

  test('--dry-run changes nothing', async () => {
    using home = homeWithSession();
    const before = readdirSync(home.path, { recursive: true }).map(String).sort();
    const { stdout, code } = await run(home, ['--dry-run']);
    expect(stdout).toStartWith('Nothing was changed. An import would do this:\nRead 0.0 MiB of 1 session');
    expect(code).toBe(0);
    expect(readdirSync(home.path, { recursive: true }).map(String).sort()).toEqual(before);
    const json = printed(await run(home, ['--dry-run', '--json']));
    expect(JSON.parse(json)).toMatchObject({ dryRun: true, fixes: 1 });
  });

  test('--project takes the sessions of one directory', async () => {
    using home = temporaryHome();
    put(home, 's1');
    put(home, 's2', '2026-11-20T10:00:00Z', `${home.path}/other`);
    const { stdout } = await run(home, ['--project', './other']);
    expect(stdout).toContain('Left out: 1 × session not asked for\n');
    expect(new Set(readEvents(home.paths).map((event) => event.sessionId))).toEqual(new Set(['s2']));
  });

  test('--days takes the sessions of that time', async () => {
    using home = homeWithSession();
    const later = () => new Date(Date.now() + 3 * 86_400_000);
    expect((await run(home, ['--days', '2'], { now: later })).stdout).toContain(
      'Left out: 1 × session not asked for',
    );
    expect((await run(home, ['--days', '4'], { now: later })).stdout).toContain('Events: 1 prompt');
  });

  test('shows lessons in the language of an install: by the settings, else by the locale', async () => {
    using home = homeWithSession();
    const korean = { HOME: home.path, LANG: 'ko_KR.UTF-8' };
    expect((await run(home, ['--dry-run'], { env: korean })).stdout).toContain(
      '해결: "`PORT=8080 npm test` 사용',
    );
    expect(existsSync(home.paths.database)).toBe(false);
    home.writeConfig({ language: 'en' });
    expect((await run(home, ['--dry-run'], { env: korean })).stdout).toContain(LESSON);
  });

  test('CLAUDE_CONFIG_DIR says where the transcripts are', async () => {
    using home = temporaryHome();
    putText(home, 'config/projects/-x/s1.jsonl', new Transcript().prompt('Go.').text);
    const env = { HOME: home.path, CLAUDE_CONFIG_DIR: `${home.path}/config` };
    expect((await run(home, [], { env })).stdout).toContain('Events: 1 prompt');
  });
});

describe('import --from', () => {
  test('takes directories and transcripts, also at once', async () => {
    using home = temporaryHome();
    putText(home, 'one/s1.jsonl', new Transcript().prompt('Go.').text);
    putText(home, 'two.jsonl', new Transcript({ session: 's2' }).prompt('Go on.').text);
    const stdout = printed(await run(home, ['--from', 'one', 'two.jsonl']));
    expect(stdout).toContain('Events: 2 prompt\n');
    const again = await run(home, ['--from', 'one', 'two.jsonl']);
    expect(again.stdout).toBe('Nothing new in 2 transcripts.\n');
  });

  test('ends with 1 where nothing is of a session, each time, and takes in none of it', async () => {
    using home = temporaryHome();
    putText(home, 'README.md', '# Notes\n\n{"a": 1}\n');
    putText(home, 'one/s1.jsonl', new Transcript().prompt('Go.').text);
    putText(home, 'empty/notes.txt', 'x');
    const advice = 'Name a transcript (.jsonl), or a directory of them';
    const reasons = { 'README.md': 'there is no session in it', empty: 'there is no .jsonl file below it' };
    for (const [name, reason] of Object.entries(reasons))
      for (const words of [[name], [name, '--dry-run'], ['one', name]]) {
        const problem = `error: Cannot import "${home.path}/${name}": ${reason}. ${advice}.\n`;
        expect(await run(home, ['--from', ...words])).toEqual(refused(1, problem));
      }
    expect(existsSync(home.paths.database)).toBe(false);
  });

  test('prints no escape sequence out of a name', async () => {
    using home = temporaryHome();
    putText(home, 'one/\x1b[2Js1.jsonl', '');
    symlinkSync('/nowhere/at/all', `${home.path}/one/\x1b[2Js2.jsonl`);
    const { stdout, stderr } = await run(home, ['--from', 'one']);
    expect(stderr).toContain('s2.jsonl');
    const nowhere = await run(home, ['--from', '\x1b[2Jnowhere']);
    expect(nowhere.stderr).toContain('nowhere');
    expect(`${stdout}${stderr}${nowhere.stderr}`).not.toContain('\x1b');
  });

  test('refuses a database, whatever it is called, before anything is taken in', async () => {
    using home = temporaryHome();
    using other = temporaryHome();
    seedErrors(other.paths, [{ error: 'Error: a' }]);
    symlinkSync(other.paths.database, `${home.path}/learned.jsonl`);
    putText(home, 'one/s1.jsonl', new Transcript().prompt('Go.').text);
    expect(await run(home, ['--from', 'one', 'learned.jsonl'])).toEqual(
      refused(
        2,
        `error: Cannot import "${home.path}/learned.jsonl": it is a database, and only transcripts can be read. Name a transcript (.jsonl), or a directory of them.\n`,
      ),
    );
    expect(existsSync(home.paths.home)).toBe(false);
  });
});

describe('import that cannot be done', () => {
  test('says so when there are no transcripts', async () => {
    using home = temporaryHome();
    expect(await run(home)).toEqual(
      refused(
        1,
        `error: Cannot import: there are no transcripts, because there is no "${home.path}/.claude/projects". Say where they are with --from.\n`,
      ),
    );
    expect(existsSync(home.paths.home)).toBe(false);
  });

  const rows: [string, string[], number, string][] = [
    ['a path that is not there', ['--from', 'nowhere'], 1, 'nowhere": there is no such file or directory.\n'],
    ['days that are no number', ['--days', 'two'], 2, 'It is a number above 0, at most 36500.'],
    ['days below 0', ['--days=-1'], 2, 'It is a number above 0'],
    ['a word too many', ['transcripts'], 2, 'too many arguments'],
    ['a flag that there is not', ['--fast'], 2, "unknown option '--fast'"],
    ['--from without a path', ['--from'], 2, 'argument missing'],
  ];
  for (const [what, words, code, message] of rows) {
    test(`ends with ${code} for ${what}`, async () => {
      using home = temporaryHome();
      const answer = await run(home, words);
      expect(answer).toEqual(refused(code, expect.stringContaining(message)));
      expect(answer.stderr).toStartWith('error: ');
    });
  }

  test.each([
    [{}, 'HOME is not set to an absolute path. Set it and run again'],
    [
      { HOME: '/home/dev', CLAUDE_CONFIG_DIR: 'here' },
      'CLAUDE_CONFIG_DIR is "here", which is not an absolute path. Set it to an absolute path, or unset it, and run again',
    ],
  ])('ends with 1 and what to do where %o names no place', async (env, message) => {
    using home = temporaryHome();
    expect(await run(home, [], { env })).toEqual(refused(1, `error: Cannot import: ${message}.\n`));
  });

  test('says what the matter is with the database, and that nothing is lost', async () => {
    using home = homeWithSession();
    home.put('.self-generation/data/self-gen.db', 'This is no database. '.repeat(99));
    const { code, stderr } = await run(home);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: Cannot import: Cannot write ".*self-gen\.db": file is not a database\. Run "self-generation doctor"\. What has been taken in so far stays/,
    );
  });
});

describe('the built program', () => {
  test('survives SIGKILL anywhere, and hooks record beside it', async () => {
    using home = temporaryHome();
    using whole = temporaryHome();
    for (let session = 0; session < 12; session++) {
      const transcript = put(home, `s${session}`, `2026-11-20T0${session % 10}:00:00Z`, '/home/dev/app');
      for (let call = 0; call < 300; call++)
        transcript.succeed('Bash', { command: `make part-${call}` }, 'x'.repeat(2000));
      for (const one of [home, whole]) putText(one, transcriptPath(`s${session}`), transcript.text);
    }
    const finished = await runProgram([BINARY, 'import', '--json'], { home: whole.path });
    expect(finished).toMatchObject({ exitCode: 0, stderr: '' });
    const env = { HOME: home.path };
    const start = () => Bun.spawn([BINARY, 'import'], { env, stdout: 'ignore', stderr: 'ignore' });
    let kills = 0;
    for (let delayMs = 60; delayMs < 1000; delayMs += 80) {
      const child = start();
      await Promise.race([child.exited, Bun.sleep(delayMs)]);
      child.kill('SIGKILL');
      await child.exited;
      if (child.signalCode === 'SIGKILL') kills++;
    }
    const last = start();
    const hook = { session_id: 'beside', cwd: '/home/dev/b', hook_event_name: 'UserPromptSubmit' };
    await runHookProcess({ ...hook, prompt: 'beside' }, { home: home.path });
    expect(await last.exited).toBe(0);
    expect(kills).toBeGreaterThan(0);
    expect(spoolFiles(home.paths)).toEqual([]);
    const own = readRows(home.paths, "SELECT COUNT(*) AS count FROM events WHERE session_id = 'beside'");
    expect(own).toEqual([{ count: 1 }]);
    const { events, ...rest } = importedRows(home);
    const { events: expected, ...expectedRest } = importedRows(whole);
    expect(events?.filter((row) => (row as { session_id: string }).session_id !== 'beside')).toEqual(
      expected ?? [],
    );
    expect(rest).toEqual(expectedRest);
  }, 120_000);
});
