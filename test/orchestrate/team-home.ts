import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beginOrchestration } from '../../src/orchestrate/engine.ts';
import type { OrchestrationOptions } from '../../src/orchestrate/model/facts.ts';
import type { OrchestrationState } from '../../src/orchestrate/model/state.ts';
import type { Scripted } from '../fixtures/scripted-claude.ts';
import { PATH, runsHome } from '../runs/runs-home.ts';
import { runProgram } from '../support/hook-process.ts';
import { BINARY } from '../support/program.ts';
import { ASKED, planText, subtask, verdictText } from './scripted.ts';
import { OPTIONS } from './simulated.ts';

const FIXTURES = resolve(import.meta.dir, '../fixtures');

/** Two of a team: what the second has done passes at the second time. */
export const MENDED: readonly Scripted[] = [
  { match: ASKED.plan, answer: planText([subtask('ann'), subtask('bob')]) },
  {
    match: ASKED.retry('bob wrote it once'),
    write: { 'src/bob.txt': 'bob bob\n' },
    answer: 'bob wrote it twice',
  },
  { match: ASKED.work('ann'), write: { 'src/ann.txt': 'ann\n' }, answer: 'ann wrote it' },
  { match: ASKED.work('bob'), write: { 'src/bob.txt': 'bob\n' }, answer: 'bob wrote it once' },
  { match: ASKED.review(1), answer: verdictText({ ann: true, bob: false }) },
  { match: ASKED.review(2), answer: verdictText({ bob: true }, 'The site is built.') },
];
/** Which of these are started, each once, in this order. */
export const MENDED_STARTS = [0, 2, 3, 4, 1, 5];

/** A home with a project that is a git repository, and a client that answers by a script. */
export async function teamHome(settings: object = {}) {
  const list = OPTIONS.team.map(({ name: id, role }) => ({ id, role }));
  const here = runsHome({ language: 'en', announce: { mode: 'raw' }, agents: { list }, ...settings });
  const { home, project, world, requester } = here;
  world.env.PATH = `${FIXTURES}/scripted:${PATH}`;
  const git = (...args: string[]) => {
    const who = ['-c', 'user.name=dev', '-c', 'user.email=dev@example.com'];
    const { exitCode, stdout, stderr } = Bun.spawnSync(['git', ...who, ...args], { cwd: project });
    if (exitCode !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
    return stdout.toString().trim();
  };
  git('init', '-q', '-b', 'main');
  home.put('project/README.md', 'a project\n');
  git('add', '.');
  git('commit', '-q', '-m', 'first');
  return {
    ...here,
    git,
    script: (lines: readonly Scripted[]) => home.put('script.json', JSON.stringify(lines)),
    /** In the order in which clients were started. */
    starts: (): readonly { index: number; isResumed: boolean; cwd: string; at: number; prompt: string }[] => {
      const path = `${home.path}/starts.jsonl`;
      if (!existsSync(path)) return [];
      // The last line may not be whole yet.
      return readFileSync(path, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    },
    /** The program, in the project. */
    program: async (words: readonly string[], env: Record<string, string> = {}) => {
      const options = { home: home.path, env: { ...world.env, ...env }, cwd: project, stdin: '' };
      const { exitCode, stdout, stderr } = await runProgram([BINARY, ...words], options);
      return { exitCode, stdout, stderr };
    },
    read: (path: string) => readFileSync(`${project}/${path}`, 'utf8'),
    begin: (options: Partial<OrchestrationOptions> = {}, prompt = 'Build the site.'): OrchestrationState => {
      const { key, session, client } = requester;
      const asked = { requester: key, session, client, cwd: project, prompt };
      const begun = beginOrchestration({ ...asked, options: { ...OPTIONS, ...options } }, world);
      if ('status' in begun) throw new Error(begun.error);
      return begun;
    },
  };
}

export type TeamHome = Awaited<ReturnType<typeof teamHome>>;
