import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { planText, subtask, verdictText } from '../orchestrate/scripted.ts';
import { pathsOf } from '../support/home.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { offlineSuite } from './offline.ts';
import { type ModelAnswer, type ModelRequest, toolNames } from './one-shot-model.ts';
import { processesOf, type Workspace } from './one-shot-workspace.ts';
import { DIALECTS } from './runs-dialects.ts';

/**
 * An orchestration with two employees in different real clients, Claude Code and Codex: planned, done, reviewed, mended with
 * what the reviewer found, passed. Their models are scripted; the files are really changed.
 */

const suite = await offlineSuite();

setDefaultTimeout(300_000);

const PARTS = ['plan', 'front', 'back', 'review 1', 'review 2', 'other'] as const;
type Part = (typeof PARTS)[number];
const FEEDBACK = 'back has to say it twice';
const SUMMARY = 'Both sides of the bridge are there.';

/** Everything that a request says; quotes and lines as they are. */
const everything = ({ body }: ModelRequest) =>
  JSON.stringify(body).replaceAll('\\n', '\n').replaceAll('\\', '');

/** Who asks the model. What it is now stands in its instructions; a title is asked for without tools. */
function partOf(request: ModelRequest): Part {
  const words = everything(request);
  if (toolNames(request).length === 0) return 'other';
  const [, round] = /This is review ([12])\./.exec(words) ?? [];
  if (round !== undefined) return round === '1' ? 'review 1' : 'review 2';
  if (words.includes('You are "front" of a team')) return 'front';
  if (words.includes('You are "back" of a team')) return 'back';
  return words.includes('Make a plan that divides') ? 'plan' : 'other';
}

const say = (text: string): ModelAnswer => ({ kind: 'text', text });
const call = (one: ReturnType<(typeof DIALECTS)['claude']['write']>): ModelAnswer => ({
  kind: 'calls',
  calls: [one],
});

suite('an orchestration in Claude Code and Codex', () => {
  let user: InstalledUser;
  let workspace: Workspace;
  const asked = Object.fromEntries(PARTS.map((part) => [part, []])) as unknown as Record<
    Part,
    ModelRequest[]
  >;
  const at = (name: string) => join(user.project, name);

  function play(answers: Partial<Record<Part, readonly ModelAnswer[]>>): void {
    workspace.board.script = (request) => {
      const part = partOf(request);
      return answers[part]?.[asked[part].push(request) - 1] ?? say('done');
    };
  }

  beforeAll(async () => {
    user = await makeUser('claude', 'codex');
    ({ workspace } = user);
    await writeFile(at('bridge.txt'), 'line one\n');
    const git = ['-c', 'user.name=dev', '-c', 'user.email=dev@example.com', '-C', user.project];
    for (const words of [
      ['init', '-q'],
      ['add', '.'],
      ['commit', '-q', '-m', 'first'],
    ])
      expect(spawnSync('git', [...git, ...words]).status).toBe(0);
    await user.program('install', '--client-version', '2.1.328');
    const agent = (id: string, client: 'claude' | 'codex') => ({
      ...{ id, role: 'custom', subagents: { client, model: DIALECTS[client].model } },
    });
    const list = [agent('front', 'claude'), agent('back', 'codex')];
    const settings = { language: 'en', agents: { list }, tools: { subagents: { allow: ['edit', 'exec'] } } };
    await writeFile(pathsOf(workspace.home).config, JSON.stringify(settings));
  });
  afterAll(() => workspace.remove());

  test('is planned, done, reviewed, mended with the feedback, passed and summed up; the files are changed', async () => {
    const { claude, codex } = DIALECTS;
    play({
      plan: [call(claude.read(at('bridge.txt'))), say(planText([subtask('front'), subtask('back')]))],
      front: [
        call(claude.write(at('front.txt'))),
        call(claude.command('cat front.txt')),
        say('front wrote it'),
      ],
      back: [
        ...[call(codex.write(at('back.txt'))), say('back wrote it once')],
        ...[call(codex.edit(at('bridge.txt'))), say('back wrote it twice')],
      ],
      'review 1': [call(claude.read(at('back.txt'))), say(verdictText({ front: true, back: false }))],
      'review 2': [say(verdictText({ back: true }, SUMMARY))],
    });
    const said = await user.program('orchestrate', '--pipeline', 'Build both sides of the bridge.');
    expect(said).toBe(`${SUMMARY}\n`);
    expect(
      ['front.txt', 'back.txt', 'bridge.txt'].map((name) => readFileSync(at(name), 'utf8').trim()),
    ).toEqual([...['x', 'x', 'line 1']]);
    const [counts, words] = [
      PARTS.map((part) => asked[part].length),
      (part: Part) => asked[part].map(everything),
    ];
    expect(counts.slice(0, 5)).toEqual([2, 3, 4, 2, 1]);

    // Each client has its own role and no other; the second is told what the first has done.
    expect(words('front')[0]).not.toContain('Make a plan');
    expect(words('back')[0]).toContain('front wrote it');
    expect(words('back')[0]).toContain('Changed: front.txt');
    // The reviewer has the diff and the commands, and may change nothing.
    expect(words('review 1')[0]).toContain('cat front.txt → exit code 0');
    expect(words('review 1')[0]).toMatch(/diff --git a\/back\.txt b\/back\.txt/);
    expect(
      asked['review 1'].flatMap(toolNames).filter((tool) => ['Write', 'Edit', 'Bash'].includes(tool)),
    ).toEqual([]);
    // The retry goes on in the session of the first attempt, and is told what to mend.
    expect(words('back')[1]).not.toContain(FEEDBACK);
    expect(words('back')[2]).toContain(FEEDBACK);
    expect(words('back')[2]).toContain('back wrote it once');
    expect(words('review 2')[0]).toContain('+line 1');
    expect(words('review 2')[0]).not.toContain('front wrote it');
    expect(await processesOf(workspace)).toEqual([]);
  });

  test('stands in the worklog, and is done', async () => {
    const log = await user.program('worklog');
    expect(log).toContain('- Status: done');
    expect(log).toContain(FEEDBACK);
    expect((await user.attempt('orchestrate', '--continue')).kind).toBe('exited');
  });
});
