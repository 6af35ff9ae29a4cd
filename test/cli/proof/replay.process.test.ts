import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { proofCommand } from '../../../src/cli/proof/proof.ts';
import { type Home, readRows, temporaryHome } from '../../support/home.ts';
import { withDatabase } from '../../support/seed.ts';
import { importHome, Transcript, transcriptPath } from '../../support/transcripts.ts';
import { callHere, terminal } from '../call.ts';

const SAYS = 'Exit code 127\nsh: jest-runner: command not found';
const FAILING = 'npm run unit';
const USE = 'pnpm unit';

/** Sessions in which it failed, and a lesson of it. Returns the lesson's number. */
function failed(home: Home, sessions: number): number {
  for (let index = 0; index < sessions; index++) {
    const session = `00000000-0000-4000-8000-00000000000${index}`;
    const transcript = new Transcript({ session })
      .prompt(`change number ${index}`)
      .succeed('Bash', { command: 'ls src' }, 'a.ts')
      .fail('Bash', { command: FAILING }, SAYS)
      .say('I ran into an error.');
    home.put(transcriptPath(session), transcript.text);
  }
  importHome(home);
  const remedy = JSON.stringify({ kind: 'command', failing: FAILING, use: USE });
  return withDatabase(home.paths, (db) => {
    const [row] = db.sqlite.all(
      "SELECT json_extract(data, '$.error') AS error FROM events WHERE type = 'tool_error'",
    );
    db.sqlite.run(
      `INSERT INTO error_kb(ts, error_normalized, said, project_path, resolution, resolved_by)
       VALUES ('2026-11-20', ?1, 'jest-runner: command not found', '/home/dev/app', ?2, 'lesson')
       ON CONFLICT(error_normalized, project_path) DO UPDATE SET resolution = ?2, resolved_by = 'lesson'`,
      ...[String(row?.error), remedy],
    );
    return Number(db.sqlite.get('SELECT id FROM error_kb WHERE resolution = ?', remedy)?.id);
  });
}

const answerOf = (command: string, costUsd: number | null) => ({
  ...{ type: 'result', subtype: 'success', is_error: false, num_turns: 1, stop_reason: 'end_turn' },
  result: JSON.stringify({ command }),
  ...(costUsd === null ? {} : { total_cost_usd: costUsd }),
  usage: { input_tokens: 100, output_tokens: 10 },
});

/** A client that answers by what it is asked, and keeps the questions. */
function client(home: Home, told: string, without: string, costUsd: number | null = 0.01, body = '') {
  const directory = `${home.path}/bin`;
  mkdirSync(`${home.path}/asked`, { recursive: true });
  home.put('told', JSON.stringify(answerOf(told, costUsd)));
  home.put('without', JSON.stringify(answerOf(without, costUsd)));
  const program = home.put(
    'bin/claude',
    `#!/bin/sh
cat > '${home.path}/asked/'$$
printf '%s\\n' "$@" > '${home.path}/args'
${body}
if grep -q 'given these records' '${home.path}/asked/'$$; then cat '${home.path}/told'; else cat '${home.path}/without'; fi
`,
  );
  chmodSync(program, 0o755);
  return { env: { HOME: home.path, PATH: `${directory}:${process.env.PATH}` }, now: () => new Date() };
}

const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));
const questions = (home: Home) =>
  readdirSync(`${home.path}/asked`).map((name) => readFileSync(`${home.path}/asked/${name}`, 'utf8'));
const replayWords = (id: number, ...words: string[]) => ['--replay', String(id), '--budget', '1', ...words];

describe('proof --replay', () => {
  test('says before what it would send and cost, and sends nothing where nobody agrees', async () => {
    using home = temporaryHome();
    const id = failed(home, 3);
    const world = client(home, USE, FAILING);
    const { stdout, stderr, code } = await callHere(proofCommand, replayWords(id), world);
    expect(code).toBe(1);
    expect(stdout).toContain('3 moments before a real failure');
    expect(stdout).toMatch(/Needed {2}8 to 35 if it fails 9 times of 10 without the lesson/);
    expect(stdout).toMatch(/about 0\.\d{3} USD a pair, 0\.\d\d USD for 3 pairs/);
    expect(stderr).toContain('Pass --yes to ask them');
    const asked: string[] = [];
    await callHere(proofCommand, replayWords(id), { ...world, ...terminal(false, asked) });
    expect(asked).toEqual(['Ask Claude Code 6 questions now?']);
    expect(questions(home)).toEqual([]);
    expect(widest(stdout)).toBeLessThanOrEqual(80);
  });

  test('asks twice about each moment, without tools, and counts pairs that differ', async () => {
    using home = temporaryHome();
    const id = failed(home, 7);
    const world = client(home, USE, `${FAILING} | tail`);
    const { stdout, code } = await callHere(proofCommand, replayWords(id, '--yes'), world);
    expect(code).toBe(0);
    expect(stdout).toContain('7 pairs of 7 differ: 7 better with the lesson, 0 worse.');
    expect(stdout).toContain('Evidence 31.9 of 20');
    expect(stdout).toContain('nothing was executed');
    expect(widest(stdout)).toBeLessThanOrEqual(80);
    const sent = questions(home);
    expect(sent).toHaveLength(14);
    expect(sent.filter((text) => text.includes(USE))).toHaveLength(7);
    expect(sent.every((text) => text.includes('change number') && !text.includes(`${FAILING}\n`))).toBe(true);
    expect(sent.some((text) => text.includes('command not found') && !text.includes(USE))).toBe(false);
    expect(readFileSync(`${home.path}/args`, 'utf8')).toContain('--max-budget-usd');
    const [run] = readRows(home.paths, 'SELECT trigger, status, cost_usd, cli FROM analysis_runs');
    expect(run).toEqual({ trigger: 'replay', status: 'done', cost_usd: expect.closeTo(0.14), cli: 'claude' });
    expect(existsSync(`${home.paths.home}/analysis-1`)).toBe(false);
  });

  test('asks no moment twice: a later replay goes on', async () => {
    using home = temporaryHome();
    const id = failed(home, 4);
    const world = client(home, USE, FAILING);
    await callHere(proofCommand, replayWords(id, '--yes', '--pairs', '3'), world);
    const { stdout } = await callHere(proofCommand, replayWords(id, '--yes'), world);
    expect(stdout).toContain('1 moment before a real failure, 3 pairs answered before');
    expect(stdout).toContain('4 pairs of 4 differ');
    expect(questions(home)).toHaveLength(8);
  });

  test('stops at the budget, also where the client does not say what it takes', async () => {
    using home = temporaryHome();
    const id = failed(home, 6);
    const words = ['--replay', String(id), '--budget', '0.05', '--yes'];
    const { stderr } = await callHere(proofCommand, words, client(home, USE, FAILING, 0.01));
    expect(stderr).toContain('stopped: the budget is used up');
    expect(questions(home)).toHaveLength(4);
    const { stdout } = await callHere(proofCommand, words, client(home, USE, FAILING, null));
    expect(stdout).toContain('at most 0.05 USD');
  });

  test('stops upon Ctrl-C, ends the client and keeps what was answered', async () => {
    using home = temporaryHome();
    const id = failed(home, 3);
    let interrupt = () => {};
    const world = {
      ...client(home, USE, FAILING, 0.01, `[ "$(ls '${home.path}/asked' | wc -l)" -gt 2 ] && sleep 300`),
      onInterrupt: (act: () => void) => {
        interrupt = act;
        return () => {};
      },
      progress: (text: string) => {
        if (text.startsWith('1 of 3')) setTimeout(interrupt, 300);
      },
    };
    const { stdout, stderr, code } = await callHere(proofCommand, replayWords(id, '--yes'), world);
    expect(code).toBe(130);
    expect(stderr).toContain('stopped: interrupted. What was answered is kept');
    expect(stdout).toContain('1 pair of 1 differ');
    expect(readRows(home.paths, 'SELECT * FROM replay_pairs')).toHaveLength(1);
    expect(readRows(home.paths, 'SELECT status FROM analysis_runs')).toEqual([{ status: 'failed' }]);
  });

  test('does not count an answer that is no command, and says nothing about a client that fails', async () => {
    using home = temporaryHome();
    const id = failed(home, 2);
    const world = client(home, USE, '');
    const { stdout } = await callHere(proofCommand, replayWords(id, '--yes'), world);
    expect(stdout).toContain('2 pairs not counted: an answer could not be used.');
    using other = temporaryHome();
    const broken = client(other, USE, FAILING, 0.01, 'echo no login >&2; exit 1');
    const failing = await callHere(proofCommand, replayWords(failed(other, 2), '--yes'), broken);
    expect(failing).toMatchObject({ code: 1, stderr: expect.stringContaining('stopped: ') });
    expect(failing.stdout).toContain('No pair has been answered');
  });

  test('is refused to agents, without a budget, and for what is no lesson', async () => {
    using home = temporaryHome();
    const id = failed(home, 1);
    const world = client(home, USE, FAILING);
    const mark = { ...world, agentMark: () => 'CLAUDECODE' };
    expect(await callHere(proofCommand, replayWords(id, '--yes'), mark)).toMatchObject({ code: 1 });
    expect(await callHere(proofCommand, ['--replay', String(id)], world)).toMatchObject({ code: 2 });
    expect(await callHere(proofCommand, replayWords(999, '--yes'), world)).toMatchObject({ code: 3 });
    expect(await callHere(proofCommand, ['--budget', '1'], world)).toMatchObject({ code: 2 });
    expect(questions(home)).toEqual([]);
  });

  test('counts failures whose transcript is gone', async () => {
    using home = temporaryHome();
    const id = failed(home, 2);
    home.put(transcriptPath('00000000-0000-4000-8000-000000000001'), '');
    const { stdout } = await callHere(proofCommand, replayWords(id), client(home, USE, FAILING));
    expect(stdout).toContain('1 moment before a real failure, 1 more without a transcript');
  });
});
