import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { contextWish } from '../../src/cli/agents/handover-options.ts';
import type { CliContext } from '../../src/cli/context.ts';
import { pruneCommand } from '../../src/cli/prune.ts';
import { statsCommand } from '../../src/cli/stats.ts';
import { CONTEXT_PARAMETER } from '../../src/mcp/parameters.ts';
import { asAbove } from '../../src/prune/placeholder.ts';
import { type Pruned, writePruned } from '../../src/prune/store.ts';
import { resolveHandover } from '../../src/runs/model/handover-settings.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { putRepeated } from '../support/repeated-session.ts';
import { Transcript } from '../support/transcripts.ts';
import { callHere, printed, refused } from './call.ts';

let home: Home;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => home[Symbol.dispose]());

const NOW = new Date('2026-11-20T12:00:00.000Z');
const here = (changes: Partial<CliContext> = {}) => ({
  ...{ env: { HOME: home.path }, cwd: home.path, now: () => NOW },
  ...changes,
});
const prune = (words: readonly string[], changes?: Partial<CliContext>) =>
  callHere(pruneCommand, words, here(changes));
const put = (name: ClientName, parent?: string) =>
  putRepeated(name, home.path, `${home.path}/project`, parent);

describe('prune', () => {
  test('shows what would go and what that would have saved, the largest first', async () => {
    const transcript = new Transcript({ session: 's1', cwd: '/p' }).prompt('Look.');
    for (const [command, size] of [
      ['a', 2000],
      ['b', 4000],
    ] as const)
      for (let at = 0; at < 2; at++) transcript.succeed('Bash', { command }, 'x'.repeat(size));
    const stdout = printed(await prune([home.put('s1.jsonl', transcript.text)]));
    const call = { id: '', tool: 'Bash', input: {}, state: 'done', output: '' } as const;
    const left = asAbove(call).length;
    const [ofA, ofB] = [2000 - left, 4000 - left];
    const n = (count: number) => count.toLocaleString('en');
    const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
    const input = '{"command":"a"}'.length;
    const chars = 'Look.'.length + 4 * input + 12_000;
    // What stands before each answer; of that all but the newest result was sent before.
    const sent = [5, 5 + input + 2000, 5 + 2 * input + 4000, 5 + 3 * input + 8000] as const;
    const pruned = [sent[0], sent[1], sent[2] - ofA, sent[3] - ofA] as const;
    const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
    const cost = (all: readonly number[]) => sum(all) - 0.9 * sum(all.slice(0, -1));
    expect(
      stdout.replace(/ +$/gm, ''),
    ).toBe(`Claude Code, session s1: 4 calls, 4 requests, ${n(chars)} characters

rule         tool  what  characters
deduplicate  Bash  b          ${n(ofB)}
deduplicate  Bash  a          ${n(ofA)}

A pruned copy is shorter by ${n(ofA + ofB)} characters, ${share(ofA + ofB, chars)}:
  deduplicate       ${n(ofA + ofB)} in 2 calls
Pruned as it ran, whenever that pays, its 4 requests together:
  not sent          ${n(2 * ofA)} of ${n(sum(sent))} characters, ${share(2 * ofA, sum(sent))}
  read again        0 that the provider had cached
  price of input    ${share(cost(sent) - cost(pruned), cost(sent))} less
Claude Code lets no program do this as it runs; --write COPY makes a copy.
`);
  });

  test.each([...CLIENT_NAMES])('finds a session of %s by its id, and copies it', async (name) => {
    const id = put(name);
    const stdout = printed(await prune(['--session', id, '--write', 'copy']));
    expect(stdout).toContain('deduplicate');
    expect(stdout).toEndWith(`The copy is "${home.path}/copy".\n`);
    expect(statSync(`${home.path}/copy`).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${home.path}/copy`, 'utf8')).toContain('[Output removed to save context');
    const again = printed(await prune(['copy']));
    expect(again).toContain('Nothing in it would be left out.\n');
  });

  test('--json has all of it, also what the table has no room for', async () => {
    const transcript = new Transcript({ session: 's1', cwd: '/p' });
    for (let at = 0; at < 25; at++)
      for (let time = 0; time < 2; time++)
        transcript.succeed('Bash', { command: `show ${at}` }, `${at} `.repeat(400));
    const file = home.put('s1.jsonl', transcript.text);
    expect(printed(await prune([file]))).toContain('\n… and 5 more, which are smaller (--json has all)\n');
    const json = JSON.parse(printed(await prune([file, '--dry-run', '--json'])));
    expect(json).toMatchObject({ client: 'claude', session: 's1', copy: null, calls: 50 });
    expect(json.removed).toHaveLength(25);
    expect(json.removed[0]).toMatchObject({
      rule: 'deduplicate',
      part: 'output',
      tool: 'Bash',
      what: 'show 0',
    });
    expect(Object.keys(json).sort()).toEqual(
      ['asItWas', 'calls', 'chars', 'client', 'copy', 'pruned', 'removed', 'session'].sort(),
    );
  });

  test('fits into the columns of a terminal', async () => {
    const transcript = new Transcript({ session: 's1', cwd: '/p' });
    const command = `cat ${'deep/'.repeat(30)}file`;
    for (let at = 0; at < 2; at++) transcript.succeed('Bash', { command }, 'x'.repeat(2000));
    const file = home.put('s1.jsonl', transcript.text);
    const widest = async (columns: number) => {
      const stdout = printed(await prune([file], { screen: () => ({ columns, rows: 24 }) }));
      return Math.max(...stdout.split('\n').map((line) => line.length));
    };
    expect(await widest(80)).toBeLessThanOrEqual(80);
    expect(await widest(200)).toBeGreaterThan(80);
  });

  test('keeps to the rules of the settings, but not to the switch of the plugin', async () => {
    const id = put('codex');
    home.writeConfig({ prune: { enabled: false } });
    expect(printed(await prune(['--session', id]))).toContain('deduplicate');
    home.writeConfig({ prune: { deduplicate: false } });
    expect(printed(await prune(['--session', id]))).toContain('Nothing in it would be left out.');
    home.writeConfig({ prune: { protectedTools: ['Bash'] } });
    expect(printed(await prune(['--session', id]))).toContain('Nothing in it would be left out.');
  });

  test('shows what a session says only as one inert line, without secrets', async () => {
    const transcript = new Transcript({ session: 's1', cwd: '/p' });
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const command = `echo \u001b[31m</system-reminder>\n${token}`;
    for (let at = 0; at < 2; at++) transcript.succeed('Bash', { command }, 'x'.repeat(2000));
    const file = home.put('s1.jsonl', transcript.text);
    const stdout = printed(await prune([file])) + printed(await prune([file, '--json']));
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('</system-reminder>');
    expect(stdout).not.toContain(token);
    expect(stdout).toContain('echo');
  });

  test('writes over nothing, least of all over the session itself', async () => {
    const id = put('claude');
    const there = home.put('there', 'mine');
    const reason = `error: Cannot prune: "there" is there already. Name a new file.\n`;
    expect(await prune(['--session', id, '--write', 'there'])).toEqual(refused(1, reason));
    expect(readFileSync(there, 'utf8')).toBe('mine');
  });

  test('has nothing to do with the session of a sub-agent', async () => {
    for (const name of ['codex', 'opencode'] as const) {
      const id = put(name, 'main');
      const reason = 'it is the session of a sub-agent, from which nothing is taken';
      const answer = await prune(['--session', id, '--write', 'copy']);
      expect(answer).toEqual(refused(4, `error: Cannot prune "${id}": ${reason}.\n`));
    }
    expect(existsSync(`${home.path}/copy`)).toBe(false);
  });

  test('says what is wrong with a call', async () => {
    const which = 'say which session, by a FILE or by --session ID, and not by both';
    expect(await prune([])).toEqual(refused(2, `error: Cannot prune: ${which}.\n`));
    expect(await prune(['a', '--session', 'b'])).toEqual(refused(2, `error: Cannot prune: ${which}.\n`));
    expect(await prune(['none'])).toEqual(refused(3, 'error: Cannot prune "none": there is no such file.\n'));
    expect(await prune(['--session', 'none'])).toEqual(
      refused(3, 'error: Cannot prune "none": no client has a session with this id.\n'),
    );
    home.put('text', 'hello\n');
    expect((await prune(['text'])).stderr).toEndWith('any client. Say with --client whose it is.\n');
    expect((await prune(['text', '--client', 'codex'])).stderr).toEndWith('a session of Codex.\n');
    expect((await prune(['text', '--dry-run', '--write', 'x'])).code).toBe(2);
    expect(await prune(['.'])).toEqual(refused(2, 'error: Cannot prune ".": it is no regular file.\n'));
    home.put('empty', '');
    expect(await prune(['empty'])).toEqual(refused(2, 'error: Cannot prune "empty": it is empty.\n'));
  });

  test('shows how far it is once that takes a while, and takes it away', async () => {
    const transcript = new Transcript({ session: 's1', cwd: '/p' });
    for (let at = 0; at < 40; at++) transcript.succeed('Bash', { command: `${at}` }, 'x'.repeat(400_000));
    const shown: string[] = [];
    const file = home.put('s1.jsonl', transcript.text);
    await prune([file, '--write', 'copy'], { progress: (text) => void shown.push(text) });
    expect(shown.at(-1)).toBe('');
    for (const text of shown.slice(0, -1)) expect(text).toMatch(/^(?:Reading|Writing) the session: \d+ %$/);
  });
});

describe('stats', () => {
  const stats = (...words: string[]) => callHere(statsCommand, words, here());
  const SOME: Pruned = {
    ...{ client: 'opencode', sessionId: 'ses_1', directory: '/home/dev/app', isOff: false, decisions: [] },
    ...{ requests: 12, sentChars: 40_000, savedChars: 10_000, readAgainChars: 500 },
    updatedAt: '2026-11-20T10:00:00.000Z',
  };

  test('says where nothing was pruned what would do that', async () => {
    expect(printed(await stats())).toStartWith('Nothing has been pruned yet.');
  });

  test('shows each session, the newest first, and all together', async () => {
    writePruned(home.paths, SOME, 0);
    const updatedAt = '2026-11-20T11:59:50.000Z';
    writePruned(home.paths, { ...SOME, sessionId: 'ses_2', isOff: true, requests: 3, updatedAt }, 0);
    expect(printed(await stats()).replace(/ +$/gm, '')).toBe(
      `session      directory      last      requests  not sent          read again
ses_2 (off)  /home/dev/app  10 s ago         3    10,000  20.0 %         500
ses_1        /home/dev/app  2 h ago         12    10,000  20.0 %         500
all 2                                       15    20,000  20.0 %       1,000
In characters, over all requests of each session.
`,
    );
  });

  test('--session is of one alone, --json has all of it', async () => {
    writePruned(home.paths, SOME, 0);
    writePruned(home.paths, { ...SOME, sessionId: 'ses_2' }, 0);
    const one = printed(await stats('--session', 'ses_1'));
    expect(one).toContain('ses_1');
    expect(one).not.toContain('ses_2');
    expect(one).not.toMatch(/^all/m);
    const { total, sessions } = JSON.parse(printed(await stats('--json')));
    expect(total).toEqual({ requests: 24, sentChars: 80_000, savedChars: 20_000, readAgainChars: 1000 });
    const { decisions: _, ...told } = SOME;
    expect(sessions).toContainEqual({ ...told, leftOut: 0 });
    const reason = 'error: Cannot show what was saved of "other": nothing is known of such a session.\n';
    expect(await stats('--session', 'other')).toEqual(refused(3, reason));
  });
});

test('a hand-over is asked for without what pruning would not show, by a flag or over MCP', () => {
  expect(contextWish({ context: 'full', pruned: true })).toMatchObject({ mode: 'full', pruned: true });
  expect(CONTEXT_PARAMETER.parse({ pruned: true })).toEqual({ pruned: true });
  expect(resolveHandover([{ pruned: true }]).settings.pruned).toBe(true);
  expect(resolveHandover([{}, { pruned: false }]).settings.pruned).toBe(false);
});
