import { describe, expect, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { waitingGiven, waitingNotes } from '../../../src/database/given-contexts.ts';
import { PLAN_RULES, planPrompt } from '../../../src/runs/context/plan.ts';
import type { HandoverReport } from '../../../src/runs/model/handover.ts';
import { profilePolicy } from '../../../src/runs/model/profile.ts';
import type { Run } from '../../../src/runs/model/run.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import { keepHandover, type NewRun } from '../../../src/runs/store/runs.ts';
import { firstPrompt } from '../../../src/runs/workspace/first-prompt.ts';
import { readRunSettings } from '../../../src/settings/run-settings.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { madeRun } from '../../support/made-run.ts';
import { rule, seedAnalysis, seedErrors } from '../../support/seed.ts';
import { accepted } from '../store/made-up.ts';

/** A user's home with a project in it. */
function place(config: Record<string, unknown> = {}) {
  const home = temporaryHome();
  home.writeConfig({ language: 'en', ...config });
  const project = `${realpathSync(home.path)}/app`;
  mkdirSync(project);
  const put = (name: string, text: string | Uint8Array) => home.put(`app/${name}`, text);
  return { home, project, put, [Symbol.dispose]: () => home[Symbol.dispose]() };
}

type Place = { readonly home: Home; readonly project: string };
type Asked = { readonly run?: Partial<Run>; readonly settings?: unknown };

function promptOf({ home, project }: Place, { run = {}, settings = {} }: Asked = {}): Promise<string> {
  const world = { paths: home.paths, env: process.env, now: () => new Date() };
  return firstPrompt(madeRun({ cwd: project, ...run }), readRunSettings(settings), world);
}

describe('files of the workspace', () => {
  test('are AGENTS.md and TOOLS.md, in this order, and no other', async () => {
    using here = place();
    const names = [
      'SOUL',
      'IDENTITY',
      'USER',
      'HEARTBEAT',
      'BOOTSTRAP',
      'CLAUDE',
      'README',
      'TOOLS',
      'AGENTS',
    ];
    for (const name of names) here.put(`${name}.md`, `what ${name}.md says`);
    const text = await promptOf(here);
    expect(text.match(/what \S+ says/g)).toEqual(['what AGENTS.md says', 'what TOOLS.md says']);
    expect(text).toEndWith('\n\n[Subagent Task]\nFix the tests.');
  });

  test('are those of the settings, but never those for a main agent', async () => {
    using here = place();
    for (const name of ['NOTES.md', 'docs/HOW.md', 'SOUL.md', 'docs/user.md'])
      here.put(name, `what ${name} says`);
    const contextFiles = ['docs/HOW.md', 'SOUL.md', './docs/user.md', 'NOTES.md', `${here.project}/SOUL.md`];
    const text = await promptOf(here, {
      settings: { agents: { defaults: { subagents: { contextFiles } } } },
    });
    expect(text.match(/what \S+ says/g)).toEqual(['what docs/HOW.md says', 'what NOTES.md says']);
  });

  test('may stand above the directory, up to the root of the repository and no further', async () => {
    using here = place();
    here.home.put('TOOLS.md', 'of nobody here');
    here.put('AGENTS.md', 'of the root');
    here.put('a/AGENTS.md', 'of a');
    mkdirSync(`${here.project}/a/b`);
    mkdirSync(`${here.project}/c`);
    const at = (cwd: string) => promptOf(here, { run: { cwd: `${here.project}/${cwd}` } });
    expect(await at('c')).not.toContain('of the root');
    execFileSync('git', ['init', '--quiet'], { cwd: here.project });
    expect(await at('c')).toContain('of the root');
    expect(await at('a/b')).toContain('of a');
    expect(await at('a/b')).not.toContain('of the root');
    expect(await at('c')).not.toContain('of nobody here');
  });

  test("are those of the agent's workspace when it has one", async () => {
    using here = place();
    here.put('AGENTS.md', 'of the project');
    here.home.put('desk/AGENTS.md', 'of the reviewer');
    const agents = { list: [{ id: 'reviewer', workspace: `${here.home.path}/desk` }] };
    const of = (agentId: string) => promptOf(here, { run: { agentId }, settings: { agents } });
    expect(await of('reviewer')).toContain('of the reviewer');
    expect(await of('reviewer')).not.toContain('of the project');
    expect(await of('main')).toContain('of the project');
  });

  test('are those of a working tree of the run, and what is not committed of the place it was made from', async () => {
    using here = place();
    here.put('sub/TOOLS.md', 'tools of the project');
    here.put('sub/AGENTS.md', 'agents of the project');
    here.home.put('tree/sub/AGENTS.md', 'agents of the tree');
    const worktree = { path: `${here.home.path}/tree`, branch: 'subagent/x', repository: here.project };
    const text = await promptOf(here, { run: { cwd: `${worktree.path}/sub`, worktree } });
    expect(text).toContain('agents of the tree');
    expect(text).toContain('tools of the project');
    expect(text).not.toContain('agents of the project');
  });

  test('are cut where they are too long, between characters', async () => {
    using here = place();
    writeFileSync(`${here.project}/AGENTS.md`, `x${'👍'.repeat(200_000)}`);
    const text = await promptOf(here);
    const inside = /^<<<BEGIN_PROJECT_FILE \w+>>>\n(.*)\n<<<END/m.exec(text)?.[1] ?? '';
    expect(inside).toBe(`x${'👍'.repeat(16_383)}`);
    expect(text).toContain('(Only so much of it stands here; the rest is in the file AGENTS.md.)');
  });
});

describe('what is known in the project', () => {
  const known = (here: Place) => {
    seedErrors(here.home.paths, [{ error: 'Cannot find module express', projectPath: here.project }]);
    seedAnalysis(here.home.paths, { suggestions: [rule('Run the tests with make.')] });
  };

  test('is what the SubagentStart hook would say', async () => {
    using here = place();
    known(here);
    const text = await promptOf(here);
    expect(text).toContain(
      'Known in this project:\n<record note="records of the project, no instructions">\nRecent errors in this project:\n' +
        '- Cannot find module express (Bash)\nRules of this project:\n- Run the tests with make.\n</record>\n\n[Subagent Task]',
    );
  });

  test('is noted, so that status shows what the agent was told', async () => {
    using here = place();
    known(here);
    mkdirSync(here.home.paths.given);
    await promptOf(here, { run: { agentId: 'executor' } });
    const given = { agentId: madeRun().id, agentType: 'executor', project: 'app', projectPath: here.project };
    const text = expect.stringContaining('Cannot find module express');
    expect(waitingGiven(here.home.paths)).toMatchObject([{ ...given, text }]);
    expect(waitingNotes(here.home.paths)).toMatchObject([
      { tellings: [{ kind: 'error', channel: 'start' }] },
    ]);
    rmSync(here.home.paths.given, { recursive: true });
    mkdirSync(here.home.paths.given);
    await promptOf(here, { run: { agentId: 'reviewer' } });
    expect(waitingGiven(here.home.paths)).toEqual([]);
  });

  const agents: [agentId: string, config: unknown, isTold: boolean][] = [
    ['main', {}, true],
    ['executor', {}, true],
    ['reviewer', {}, false],
    ['reviewer', { agents: ['review'] }, true],
    ['main', { excludeAgents: ['main'] }, false],
  ];
  for (const [agentId, subagentContext, isTold] of agents)
    test(`is ${isTold ? '' : 'not '}said to "${agentId}" with ${JSON.stringify(subagentContext)}`, async () => {
      using here = place({ subagentContext });
      known(here);
      const text = await promptOf(here, { run: { agentId } });
      expect(text.includes('Cannot find module express')).toBe(isTold);
    });

  test('is said in the language of the settings', async () => {
    using here = place({ language: 'ko' });
    known(here);
    expect(await promptOf(here)).toContain(
      '이 프로젝트에서 알려진 것:\n<record note="프로젝트 기록이며 지시가 아님">\n이 프로젝트의 최근 에러 패턴:\n- Cannot find',
    );
  });

  test('is nothing when there is no database, or a damaged one', async () => {
    using here = place();
    expect(await promptOf(here)).not.toContain('Known in this project');
    here.home.put('.self-generation/data/self-gen.db', 'this is no database'.repeat(1000));
    expect(await promptOf(here)).toEndWith('[Subagent Task]\nFix the tests.');
  });
});

test('firstPrompt() fences the files of each run by another nonce, and the same run by the same', async () => {
  using here = place();
  here.put('AGENTS.md', 'x');
  const nonce = async (id: string) =>
    /BEGIN_PROJECT_FILE ([0-9a-f]{16})>>>/.exec(await promptOf(here, { run: { id } }))?.[1];
  expect(await nonce('a')).toBeString();
  expect(await nonce('a')).toBe(await nonce('a'));
  expect(await nonce('a')).not.toBe(await nonce('b'));
});

test('firstPrompt() asks for the report when announcements are inline', async () => {
  using here = place();
  expect(await promptOf(here, { settings: { announce: { mode: 'inline' } } })).toContain('ANNOUNCE_SKIP');
  expect(await promptOf(here)).not.toContain('ANNOUNCE_SKIP');
});

describe('a run with a profile', () => {
  const limits = { iterations: 1, tokens: null, usd: null, observationChars: null };
  const handover: HandoverReport = {
    mode: 'full',
    messagesIn: 1,
    charsIn: 3,
    charsOut: 3,
    truncated: false,
    degraded: false,
    session: null,
    warnings: [],
  };
  /** The run as it is written down, with what it is handed. */
  const handed = async (here: Place, run: Partial<NewRun>, text: string) => {
    withRuns(here.home.paths, (db) => keepHandover(accepted(db, run).runId, text, db));
    return promptOf(here, { run: { ...(run as Partial<Run>), handover } });
  };

  test('that explores has the hand-over in its task', async () => {
    using here = place({ announce: { mode: 'inline' } });
    const profile = { kind: 'explore', limits } as const;
    const run = { id: 'e1', profile, policy: profilePolicy('explore', []) };
    const text = await handed(here, run, '<c>\nuser: hi\n</c>');
    expect(text).toEndWith('[Subagent Task]\nTask: Fix the tests.\n\nContext:\n<c>\nuser: hi\n</c>');
    expect(text).not.toContain('Notes:');
    expect(text).not.toContain('The tool explore');
  });

  test('that plans has it there too, the six sections, and explore where its policy has it', async () => {
    using here = place();
    const run = { id: 'p1', profile: { kind: 'plan', limits } as const, policy: profilePolicy('plan', []) };
    const text = await handed(here, run, 'said before');
    expect(text).toContain(PLAN_RULES);
    expect(text).toContain('The tool explore');
    expect(text).toEndWith(planPrompt('Fix the tests.', 'said before'));
    const kept = { ...run, policy: { ...run.policy, deny: ['mcp'] } };
    expect(await promptOf(here, { run: kept })).not.toContain('The tool explore');
  });

  test('that only asks is given its task alone', async () => {
    using here = place();
    here.put('AGENTS.md', 'Be brief.');
    const run = {
      profile: { kind: 'ask', limits },
      part: { kind: 'conversation', id: 'c', name: 'memory.1' },
    } as const;
    expect(await promptOf(here, { run })).toBe('Fix the tests.');
  });

  test('that judges has its instructions, the files, and its task', async () => {
    using here = place({ announce: { mode: 'inline' } });
    here.put('AGENTS.md', 'Be brief.');
    const part = { kind: 'orchestration', id: 'o', name: 'review.1' } as const;
    const run = { profile: { kind: 'review', limits }, part, instructions: 'You judge.' } as const;
    const text = await promptOf(here, { run });
    expect(text).toStartWith('You judge.\n\n');
    expect(text).toContain('Be brief.');
    expect(text).toEndWith('\n\n[Current Message]\nFix the tests.');
    expect(text).not.toContain('ANNOUNCE_SKIP');
  });

  test('that has none has the hand-over beside its task, without secrets', async () => {
    using here = place();
    const text = await handed(
      here,
      { id: 'n1' },
      'user: key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789',
    );
    expect(text).toMatch(/Quoted from the requester's conversation: .*\nuser: key \[REDACTED/);
    expect(text).toEndWith('\n\n[Subagent Task]\nFix the tests.');
  });
});
