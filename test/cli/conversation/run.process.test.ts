import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isTerminal } from '../../../src/runs/model/turn.ts';
import { RUN_VARIABLE } from '../../../src/system/process-identity.ts';
import { BINARY } from '../../support/program.ts';
import { startOnTerminal } from '../../support/terminal.ts';
import { talkHome } from './talk.ts';

setDefaultTimeout(60_000);

describe('run', () => {
  test('tells the answer on standard output, and what was done for it on the other', async () => {
    await using here = talkHome();
    const { code, stdout, stderr } = await here.call(
      'run',
      '[[failing test]] [[answer All is well.]]',
      'please',
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'All is well.\n' });
    expect(stderr).toMatch(
      /^warning: it may look, and not change files: .*\n\[main\] new session of claude in conversation 1\n\[main\] warning: .*\n\[main\] cmd: npm run test\n\[main\] cmd: npm run test → exit \?\n {2}Error: no test here\n✅ \$0\.0200 · in=200 out=40 · \d+\.\ds\n$/,
    );
    expect(here.waiting()).toEqual([]);
  });

  test('goes on in the same session, whose client is told what was typed and nothing else', async () => {
    await using here = talkHome();
    await here.call('run', 'the first');
    await here.call('run', 'the second');
    expect(here.parts()).toHaveLength(1);
    const [first, second] = here.prompts();
    expect(first).toEndWith('[Current Message]\nthe first');
    expect(first?.trim()).toStartWith('You are the main agent of this project');
    expect(first).not.toContain('sub-agent');
    expect(second?.trim()).toBe('the second');
  });

  test('tells another client what was said before, on its standard input', async () => {
    await using here = talkHome();
    await here.call('run', 'Which port? [[failing lint]] [[answer Port 4711 열림.]]');
    const file = `${here.home.path}/asked`;
    const { code, stdout } = await here.call(
      'run',
      '--cli',
      'codex',
      `[[keep ${file}]] [[answer I am codex.]] and now?`,
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'I am codex.\n' });
    const asked = readFileSync(file, 'utf8');
    expect(asked).toContain('[Recent Context]\n\n[user] Which port?');
    expect(asked).toContain(
      '[assistant] Port 4711 열림.\n(⚡ npm run lint → exit ?)\n\n---\n[Current Message]\n[[keep',
    );
    await here.call('run', 'again');
    expect(here.parts().map(({ run, turns }) => [run.client, turns.length])).toEqual([
      ['claude', 1],
      ['codex', 2],
    ]);
  });

  test('has what the user typed as its message, without what was said before', async () => {
    await using here = talkHome();
    await here.call('run', 'one');
    await here.call('run', '--cli', 'codex', 'two');
    expect(here.parts().map(({ run }) => run.task)).toEqual(['one', 'two']);
  });

  test('--new knows of no other conversation, and --resume goes on with one', async () => {
    await using here = talkHome();
    await here.call('run', 'the first one');
    const { stdout } = await here.call('run', '--new', '--json', 'another one');
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({ conversation: 2, session: 'new' });
    expect(here.prompts().filter((text) => text.includes('[Recent Context]'))).toEqual([]);
    const resumed = await here.call('run', '--resume', '1', '--json', 'more');
    expect(JSON.parse(resumed.stdout.split('\n')[0] ?? '')).toMatchObject({
      conversation: 1,
      session: 'resumed',
    });
    expect(here.parts()).toHaveLength(1);
    expect(await here.call('run', '--resume', '7', 'x')).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: '⚠️ Cannot run: there is no conversation 7 in this project: there are 1, 2\n',
    });
  });

  test('--list shows the conversations by the numbers that --resume takes', async () => {
    await using here = talkHome();
    expect((await here.call('run', '--list')).stdout).toBe('There is no conversation in this project yet.\n');
    await here.call('run', 'the first one');
    await here.call('run', 'and more');
    await here.call('run', '--new', 'another one');
    const { stdout } = await here.call('run', '--list');
    expect(stdout.split('\n').map((line) => line.trimEnd().replace(/ {2,}/g, '|'))).toEqual([
      '#|used|client|messages|begins with',
      expect.stringMatching(/^2\|(?:just now|\d+ s ago)\|claude\|1\|another one$/),
      expect.stringMatching(/^1\|(?:just now|\d+ s ago)\|claude\|2\|the first one$/),
      '',
    ]);
    expect(JSON.parse((await here.call('run', '--list', '--json')).stdout)).toMatchObject({
      conversations: [{ number: 2 }, { number: 1, messages: 2, begins: 'the first one' }],
    });
  });

  test('begins a session of its own for another model or effort', async () => {
    await using here = talkHome();
    await here.call('run', '--model', 'opus', 'one');
    await here.call('run', '--model', 'opus', 'two');
    await here.call('run', '--effort', 'low', 'three');
    await here.call('run', 'four');
    expect(here.parts().map(({ run, turns }) => [run.model.resolved, run.thinking, turns.length])).toEqual([
      ['opus', null, 2],
      ['opus', 'low', 2],
    ]);
  });

  test('keeps the permissions of its session, and begins another one for others', async () => {
    await using here = talkHome();
    await here.call('run', '--permissions', 'edit', 'one');
    expect((await here.call('run', '--permissions', 'edit', 'two')).stderr).not.toContain('new session');
    await here.call('run', 'three');
    await here.call('run', '--permissions', 'edit,exec(make:*)', 'four');
    expect(here.parts().map(({ run, turns }) => [run.permissions.allow, turns.length])).toEqual([
      [['edit'], 3],
      [['edit', 'exec(make:*)'], 1],
    ]);
    expect((await here.call('run', '--permissions', 'nonsense(', 'x')).code).toBe(1);
  });

  test('puts what is piped in into a fence behind the prompt, and takes it alone for "-" and no words', async () => {
    await using here = talkHome();
    await here.shell(`printf 'a \\033[31mred\\033[0m line\\n\`\`\`\\n' | "$P" run look at this`);
    await here.shell(`echo alone | "$P" run -`);
    await here.shell(`echo only > file; "$P" run < file`);
    expect(here.said().map(({ message }) => message)).toEqual([
      'look at this\n\nStandard input:\n````\na red line\n```\n````',
      'alone',
      'only',
    ]);
  });

  test('goes on without an input that nobody writes to', async () => {
    await using here = talkHome();
    const { code, stderr } = await here.shell('mkfifo never; exec 3<>never; "$P" run look <never');
    expect(code).toBe(0);
    expect(stderr).toStartWith('warning: nothing came on standard input within 10 s');
    expect(here.said().map(({ message }) => message)).toEqual(['look']);
  });

  test('as JSON prints one event a line, without secrets, and the turn at the end', async () => {
    await using here = talkHome();
    const key = `sk-ant-api03-${'a1B2c3D4'.repeat(12)}`;
    const { code, stdout, stderr } = await here.call('run', '--json', `[[failing lint]] [[answer ${key}]]`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ type }) => type).filter((type) => type !== 'usage')).toEqual([
      ...['accepted', 'warning', 'tool-call', 'tool-result', 'text', 'result'],
    ]);
    expect(events.at(-1)).toMatchObject({ status: 'success', turn: 1 });
    expect(stdout).not.toContain(key);
  });

  const failures: [what: string, words: string[], code: number, said: RegExp][] = [
    ['fails', ['[[error-result 1]]'], 1, /^⚠️ error: the service is overloaded$/m],
    ['has no words', ['run', ''], 2, /^⚙️ Usage: self-generation run \[options\] PROMPT$/m],
    [
      'names a client that is not there',
      ['--cli', 'gemini', 'x'],
      1,
      /gemini is not on the PATH: install it/,
    ],
    ['names a client that is none', ['--cli', 'nosuch', 'x'], 2, /Allowed choices are/],
    ['is given a mode that is none', ['--queue', 'later', 'x'], 2, /Allowed choices are/],
    ['is given two conversations', ['--new', '--resume', '1', 'x'], 2, /--new begins a conversation/],
  ];
  test.each(failures)('that %s says why, with an exit code for it', async (_, words, code, said) => {
    await using here = talkHome();
    const answer = await here.call('run', ...words.filter((word) => word !== 'run'));
    expect(answer.code).toBe(code);
    expect(answer.stderr).toMatch(said);
  });

  test('leaves the conversation as it was when a new one cannot begin', async () => {
    await using here = talkHome();
    await here.call('run', 'one');
    expect((await here.call('run', '--new', '--cli', 'gemini', 'two')).code).toBe(1);
    await here.call('run', 'three');
    expect(here.said().map(({ message }) => message)).toEqual(['one', 'three']);
  });

  test('is refused inside of a run', async () => {
    await using here = talkHome();
    const child = here.start(['run', 'x'], { [RUN_VARIABLE]: `${'a'.repeat(32)}/1` });
    expect(await here.ended(child)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('not allowed'),
    });
  });

  test('says that an answer is cut', async () => {
    await using here = talkHome();
    const file = `${here.home.path}/long`;
    writeFileSync(file, '가나다 '.repeat(30_000));
    const { stdout, stderr } = await here.call('run', `[[answer-in ${file}]]`);
    expect(stdout.trim().length).toBeLessThanOrEqual(64 * 1024);
    expect(stderr).toContain('Note: the answer is longer than 65536 characters, and ends there');
    expect((await here.call('run', 'short')).stderr).not.toContain('Note:');
  });

  test('goes on after a client that never ends by itself, with its answer', async () => {
    await using here = talkHome();
    const { code, stdout, stderr } = await here.call('run', '[[answer It is done.]] [[linger]]');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'It is done.\n' });
    expect(stderr).toContain('Note: the client did not end after its result, and was ended');
    expect((await here.call('run', 'next')).code).toBe(0);
  });

  test('is no failure when its reader has gone, and the answer goes on', async () => {
    await using here = talkHome();
    const file = `${here.home.path}/go`;
    const { stdout, code } = await here.shell(`"$P" run --json '[[slow 300]] [[until ${file}]]' | head -1`);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'accepted' });
    expect(here.said().map(({ state }) => isTerminal(state))).toEqual([false]);
    writeFileSync(file, '');
    await here.until('it ends', () => here.said()[0]?.state === 'success');
    expect(await here.shell(`"$P" run '[[answer one\\ntwo]]' | head -1`)).toMatchObject({
      code: 0,
      stdout: 'one\n',
    });
  });

  test('--no-wait leaves, and the message is answered', async () => {
    await using here = talkHome();
    const { code, stdout } = await here.call('run', '--no-wait', 'x');
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Said to claude in conversation 1, in a new session\./),
    });
    await here.until('it is answered', () => here.said()[0]?.state === 'success');
  });

  test('Ctrl-C stops the answer, and the conversation goes on behind it', async () => {
    await using here = talkHome();
    const note = `${here.home.path}/note`;
    await using terminal = startOnTerminal([BINARY, 'run', `[[note ${note}]] [[messages 2]] [[hang]]`], {
      ...{ cwd: here.project, env: here.env },
    });
    await here.until('it works', () => existsSync(note) && here.said()[0]?.state === 'running');
    await here.until('it says that it works', () => terminal.shown().includes('claude running'));
    terminal.type('\x03');
    expect(await terminal.exited).toBe(130);
    expect(terminal.shown()).toContain('stopping the answer … (Ctrl-C again leaves)');
    expect(terminal.shown()).toContain('⚠️ stopped: stopped by Ctrl-C');
    const [pid] = readFileSync(note, 'utf8').split(' ');
    expect(() => process.kill(Number(pid), 0)).toThrow();
    const file = `${here.home.path}/asked`;
    await here.call('run', '--cli', 'codex', `[[keep ${file}]]`);
    expect(readFileSync(file, 'utf8')).toContain('[assistant] ⏹️ [interrupted]');
  });

  test('a second Ctrl-C leaves at once, and JSON ends with a line that says so', async () => {
    await using here = talkHome();
    const note = `${here.home.path}/note`;
    const child = here.start(['run', '--json', `[[note ${note}]] [[ignore-term]] [[hang]]`]);
    await here.until('it works', () => existsSync(note) && here.said()[0]?.state === 'running');
    await Bun.sleep(300);
    child.kill('SIGINT');
    await here.until('the stop is stored', () => here.said()[0]?.stop !== null);
    child.kill('SIGINT');
    const lines = (await child.stdout.text()).trimEnd().split('\n');
    expect(await child.exited).toBe(130);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ type: 'error', error: { code: 'interrupted' } });
    expect(isTerminal(here.said()[0]?.state ?? 'success')).toBe(false);
  });
});
