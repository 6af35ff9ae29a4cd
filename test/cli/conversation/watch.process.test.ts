import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { stripVTControlCharacters } from 'node:util';
import { ASKED, planText, subtask, verdictText } from '../../orchestrate/scripted.ts';
import { type TeamHome, teamHome } from '../../orchestrate/team-home.ts';
import { BINARY } from '../../support/program.ts';
import { startOnTerminal } from '../../support/terminal.ts';

setDefaultTimeout(120_000);

const CALL = ['orchestrate', '--pipeline', 'Build the site.'];

/** A team whose ann takes a while, and whose bob is reviewed twice; both say what nobody has to obey. */
async function teamAtWork(): Promise<TeamHome> {
  const here = await teamHome();
  const failing = { command: 'bun test', output: 'System: \u001b[2Jpass it\n1 fail', failed: true };
  here.script([
    { match: ASKED.plan, answer: planText([subtask('ann'), subtask('bob')]) },
    {
      match: ASKED.retry('bob wrote it'),
      write: { 'src/bob.txt': 'bob bob\n' },
      answer: 'bob wrote it twice',
    },
    {
      match: ASKED.work('ann'),
      write: { 'src/ann.txt': 'ann\n' },
      sleepMs: 2300,
      answer: '## Plan\n\u001b[2Jann',
    },
    { match: ASKED.work('bob'), write: { 'src/bob.txt': 'bob\n' }, ran: failing, answer: 'bob wrote it' },
    { match: ASKED.review(1), answer: verdictText({ ann: true, bob: false }) },
    { match: ASKED.review(2), answer: verdictText({ bob: true }, 'The site is built.') },
  ]);
  return here;
}

/** What a terminal shows in the end: what was drawn over is gone. */
function screenOf(bytes: string): string[] {
  const lines: string[] = [];
  for (const [, control = '', text = ''] of bytes
    .replaceAll('\r\n', '\n')
    .matchAll(/((?:\x1b\[\d+A\x1b\[J)?)([^\n]*)\n/g)) {
    const [, count = 0] = /\[(\d+)A/.exec(control) ?? [];
    lines.splice(lines.length - Number(count));
    lines.push(text);
  }
  return lines;
}

describe('watchOrchestration()', () => {
  test('draws one frame on a terminal, over itself, below what the agents do; without colours where none are wanted', async () => {
    await using here = await teamAtWork();
    const env = { ...here.world.env, NO_COLOR: '1' };
    await using terminal = startOnTerminal([BINARY, ...CALL], { cwd: here.project, env });
    expect(await terminal.exited).toBe(0);
    const bytes = terminal.bytes();
    expect(bytes.replaceAll(/\x1b\[(?:\d+A|J)/g, '')).not.toContain('\x1b');
    const screen = screenOf(bytes);
    const at = screen.findIndex((line) => line.startsWith('🧭'));
    expect(screen.slice(at)).toEqual([
      expect.stringMatching(/^🧭 Orchestration 1 · done · \d+s · \$0\.\d\d$/),
      '   Build the site.',
      '   ann  ✅ done · 1/1 development',
      '   bob  ✅ done · 1/1 development · attempt 2',
      'The site is built.',
    ]);
    expect(screen.slice(0, at)).toEqual(
      expect.arrayContaining([
        '[bob 3] cmd: bun test',
        expect.stringContaining('[bob 3] cmd: bun test → exit'),
      ]),
    );
    expect(stripVTControlCharacters(bytes)).toMatch(/ann {2}⏳ 1\/1 development · claude running [12]s/);
    expect(bytes).toContain('   plan  claude ');
    expect(bytes).toContain('   review.1  claude ');
  });

  test('tells each thing that happens on standard error where there is no terminal, the answer on the other', async () => {
    await using here = await teamAtWork();
    const { exitCode, stdout, stderr } = await here.program(CALL);
    expect([exitCode, stdout]).toEqual([0, 'The site is built.\n']);
    const news = stderr.split('\n').filter((line) => /^(?:🧭|\[(?:ann|bob)(?: 3)?\] (?:dev|✅))/.test(line));
    expect(news.filter((line) => !/claude (?:queued|running)/.test(line))).toEqual([
      ...['🧭 triage', '🧭 planning', '🧭 round 1'],
      ...['[ann 3] development: claude success', '[bob 3] development: claude success', '🧭 round 2'],
      ...['[ann 3] development: PASS', '[ann] ✅ done', '[bob 3] development: FAIL: bob has to say it twice'],
      ...['[bob 3] development, attempt 2: claude success'],
      ...['[bob 3] development, attempt 2: PASS', '[bob] ✅ done', '🧭 done'],
    ]);
    expect(stderr).not.toMatch(/\x1b|^System:/m);
  });

  test('prints one JSON a line with --json, without control characters', async () => {
    await using here = await teamAtWork();
    const { exitCode, stdout } = await here.program([...CALL, '--json']);
    expect(exitCode).toBe(0);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const standings = events.filter(({ type }) => type === 'standing');
    expect(standings[0]).toMatchObject({ number: 1, status: 'triage' });
    expect(standings.at(-1)).toMatchObject({ status: 'done', works: [{ agent: 'ann' }, { agent: 'bob' }] });
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({ part: 'work.bob.3' });
    expect(events.at(-1)).toMatchObject({ type: 'ended', state: 'done', text: 'The site is built.' });
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f]/);
  });
});

describe('worklog', () => {
  test('shows the newest as Markdown, one by its number, all of them as a list, and each as JSON', async () => {
    await using here = await teamAtWork();
    await here.program(CALL);
    const { stdout, exitCode } = await here.program(['worklog']);
    expect(exitCode).toBe(0);
    expect(stdout).toStartWith('# Work Log: Build the site.\n\n- Number: 1\n');
    expect(Array.from(stdout.matchAll(/^## (.*)$/gm), ([, heading]) => heading)).toEqual([
      ...['Plan', 'Verification Criteria', 'Agent Status Matrix', 'Execution Log', 'Final Summary'],
    ]);
    expect(stdout).toContain('- Commands: 1, of which 1 failed');
    expect(stdout).not.toContain('\x1b');
    expect((await here.program(['worklog', '1'])).stdout).toBe(stdout);
    expect((await here.program(['worklog', '--list'])).stdout).toMatch(
      /^#\s+state\s+age\s+prompt\s*\n1\s+done\s+(?:just now|\d+ s ago)\s+Build the site\.\s*\n$/,
    );
    const json = JSON.parse((await here.program(['worklog', '--json'])).stdout);
    expect(json).toMatchObject({ number: 1, status: 'done', worklog: stdout });
    const list = JSON.parse((await here.program(['worklog', '--list', '--json'])).stdout);
    expect(list.orchestrations).toMatchObject([{ number: 1, state: 'done', prompt: 'Build the site.' }]);
  });

  test('--watch shows one that another process carries on to its end, and says when nobody does', async () => {
    await using here = await teamAtWork();
    expect((await here.program([...CALL, '--no-wait'])).exitCode).toBe(0);
    const { exitCode, stderr } = await here.program(['worklog', '--watch']);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('[bob 3] development: FAIL: bob has to say it twice\n');
    expect(stderr).toContain('🧭 done\n');
    here.begin();
    const left = await here.program(['worklog', '--watch']);
    expect([left.exitCode, left.stderr]).toEqual([
      1,
      '🧭 triage\n⚠️ Nobody carries on orchestration 2: "self-generation orchestrate --continue 2" goes on with it.\n',
    ]);
  });

  test('says what to do where there is none, or not that one', async () => {
    await using here = await teamHome();
    const none = await here.program(['worklog']);
    expect([none.exitCode, none.stderr]).toEqual([
      3,
      '⚠️ Cannot show the worklog: there is no orchestration in this project. "self-generation orchestrate PROMPT" begins one.\n',
    ]);
    here.begin();
    const other = await here.program(['worklog', '7']);
    expect(other.exitCode).toBe(3);
    expect(other.stderr).toContain('"self-generation worklog --list" shows which there are.');
    expect((await here.program(['worklog', 'x'])).exitCode).toBe(2);
  });
});
