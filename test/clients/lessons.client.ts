import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { resolutionText } from '../../src/core/told-texts.ts';
import { answer, say, startSubAgent, useTool } from '../../src/setup/scripted-model.ts';
import { runProblems, textsOf } from './checks.ts';
import {
  type ClientRun,
  clientNamed,
  makeWorkspace,
  readTable,
  removeWorkspace,
  runProductOrThrow,
  type Workspace,
  writeFiles,
} from './claude-code.ts';
import { CLIENT_VERSION, installClient, PRODUCT } from './install-client.ts';
import { offlineSuite } from './offline.ts';

/** A flag, a variable, an argument, a directory as the fix: what is learnt of each in a session of the real client. */

type Case = {
  readonly fails: string;
  readonly prints: string;
  readonly works: string;
  /** By what the stand-in of the program knows the call that works: its arguments and environment. */
  readonly knownBy: string;
  /** What is told of it, where that is not both calls as they were. */
  readonly told?: string;
};

const CASES: readonly Case[] = [
  {
    ...{ fails: 'npm run build', works: 'NODE_OPTIONS=--max-old-space-size=4096 npm run build' },
    knownBy: '*max-old-space-size*',
    prints: 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
  },
  {
    ...{ fails: 'npm install', works: 'npm install --legacy-peer-deps', knownBy: '*--legacy-peer-deps*' },
    prints: 'npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree',
  },
  {
    ...{ fails: 'npm run dev', works: 'PORT=3001 npm run dev', knownBy: '*PORT=3001*' },
    prints: 'Error: listen EADDRINUSE: address already in use :::3000',
  },
  {
    ...{ fails: 'npm run e2e', works: 'DATABASE_URL=postgres://app:Zr7kPw2x@localhost/test npm run e2e' },
    ...{ knownBy: '*DATABASE_URL=postgres*', prints: 'Error: DATABASE_URL is not set' },
    told: 'use `DATABASE_URL=… npm run e2e` instead of `npm run e2e`',
  },
  {
    ...{ fails: 'npm run lint', works: 'cd web && npm run lint', knownBy: '*/web#*' },
    ...{ prints: 'npm error Missing script: "lint"', told: 'run `npm run lint` in `web`' },
  },
  {
    ...{ fails: 'docker compose up -d db', works: 'docker compose -f infra/compose.yml up -d db' },
    ...{ knownBy: '*infra/compose.yml*', prints: 'no configuration file provided: not found' },
  },
  {
    ...{ fails: 'prisma migrate dev', works: 'prisma migrate dev --schema db/schema.prisma' },
    knownBy: '*--schema*',
    prints: 'Error: Could not find Prisma Schema that is required for this command.',
  },
  {
    ...{ fails: 'cargo test --feature net', works: 'cargo test --features net', knownBy: '*--features*' },
    prints: "error: unexpected argument '--feature' found",
  },
  {
    ...{ fails: 'go test ./e2e', works: 'go test -tags=e2e ./e2e', knownBy: '*-tags=e2e*' },
    prints: 'package shop/e2e: build constraints exclude all Go files in e2e',
  },
  {
    ...{ fails: 'kubectl --context prod get pods', works: 'kubectl --context kind-dev get pods' },
    ...{ knownBy: '*kind-dev*', prints: 'error: context "prod" does not exist' },
  },
  {
    ...{ fails: 'terraform plan', works: 'terraform -chdir=infra plan', knownBy: '*-chdir=infra*' },
    prints: 'Error: No configuration files',
  },
  {
    ...{ fails: 'make biuld', works: 'make build', knownBy: '*#build#*' },
    prints: "make: *** No rule to make target 'biuld'.  Stop.",
  },
  {
    ...{ fails: 'gh pr diff 12 --stat', works: 'gh pr diff 12 --name-only', knownBy: '*--name-only*' },
    prints: 'unknown flag: --stat\n\nUsage:  gh pr diff [<number>] [flags]',
    told: 'use `gh pr diff … --name-only` instead of `gh pr diff … --stat`',
  },
  {
    ...{ fails: 'mvn test', works: 'mvn -f server/pom.xml test', knownBy: '*server/pom.xml*' },
    prints:
      '[ERROR] The goal you specified requires a project to execute but there is no POM in this directory',
  },
  {
    ...{ fails: 'git pull origin main', works: 'git pull origin main --allow-unrelated-histories' },
    ...{ knownBy: '', prints: 'fatal: refusing to merge unrelated histories' },
  },
];
const programOf = ({ fails }: Case) => fails.slice(0, fails.indexOf(' '));

/** A program that knows one way to be called for each case, and says to any other what is wrong with it. */
function standIn(program: string): string {
  const cases = CASES.filter((one) => programOf(one) === program);
  const words = 'call="$NODE_OPTIONS $PORT_ $PWD#$*#"';
  const knowing = cases.map(({ knownBy }) => `case "$call" in ${knownBy}) exit 0 ;; esac`);
  const saying = cases.map(
    ({ fails, prints }) =>
      `case "$*" in '${fails.slice(program.length + 1)}') printf '%s\\n' '${prints.replaceAll("'", `'\\''`)}' >&2; exit 1 ;; esac`,
  );
  const settings =
    '[ -n "$PORT" ] && PORT_="PORT=$PORT"\n[ -n "$DATABASE_URL" ] && PORT_="DATABASE_URL=$DATABASE_URL"';
  return ['#!/bin/sh', settings, words, ...knowing, ...saying, 'exit 0', ''].join('\n');
}

/** The project as a repository whose remote has another history. */
async function makeUnrelated({ root, project }: Workspace): Promise<void> {
  const user = ['-c', 'user.name=dev', '-c', 'user.email=dev@example.com'];
  const git = (directory: string, ...words: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(['git', '-C', directory, ...user, ...words]);
    if (exitCode !== 0) throw new Error(`Cannot prepare: git ${words.join(' ')}: ${stderr}`);
  };
  await writeFiles(root, { 'other/README.md': 'other\n' });
  for (const directory of [join(root, 'other'), project]) {
    git(directory, 'init', '-q', '-b', 'main');
    git(directory, 'add', '-A');
    git(directory, 'commit', '-q', '-m', 'first');
  }
  git(project, 'remote', 'add', 'origin', join(root, 'other'));
  for (const setting of ['pull.rebase=false', 'user.name=dev', 'user.email=dev@example.com'])
    git(project, 'config', ...setting.split('='));
}

const suite = await offlineSuite(() => installClient(CLIENT_VERSION));

setDefaultTimeout(300_000);

suite('what helped is told', () => {
  let workspace: Workspace;
  let run: ClientRun;
  beforeAll(async () => {
    workspace = await makeWorkspace({ client: await installClient(CLIENT_VERSION), binary: PRODUCT });
    await runProductOrThrow(workspace, ['config', 'set', 'language', 'en']);
    await runProductOrThrow(workspace, ['install']);
    const programs = [...new Set(CASES.map(programOf))].filter((name) => name !== 'git');
    await writeFiles(workspace.bin, Object.fromEntries(programs.map((name) => [name, standIn(name)])));
    for (const name of programs) await chmod(join(workspace.bin, name), 0o700);
    await writeFiles(workspace.project, { 'web/.keep': '' });
    await makeUnrelated(workspace);
    const call = (command: string) => answer(useTool('Bash', { command, description: 'Do it' }));
    const movesTheShell = ({ works }: Case) => Number(works.startsWith('cd'));
    const main = [
      // A directory stays changed for the calls that follow: that case comes last.
      ...CASES.toSorted((left, right) => movesTheShell(left) - movesTheShell(right)).flatMap(
        ({ fails, works }) => [call(fails), call(works)],
      ),
      answer(startSubAgent('executor', 'executor', { run_in_background: false })),
      answer(startSubAgent('general-purpose', 'general', { run_in_background: false })),
      answer(say('Done.')),
    ];
    run = await clientNamed(workspace, {
      prompt: '[[conv:main]] Work.',
      script: { main, executor: [answer(say('done'))], general: [answer(say('done'))] },
      given: [],
      recorded: { prompts: [], toolUses: [], toolErrors: [], stops: [] },
    });
  });
  afterAll(() => removeWorkspace(workspace));

  test('the session ends well', () => expect(runProblems(run, ['PostToolUseFailure'])).toEqual([]));

  for (const { fails, works, told = `use \`${works}\` instead of \`${fails}\`` } of CASES) {
    test(`of ${fails}`, () => {
      const lessons = readTable(workspace, 'error_kb').flatMap(({ resolution }) =>
        typeof resolution === 'string' ? [resolutionText(resolution)] : [],
      );
      expect(lessons).toContain(told);
    });
  }

  // Settings were there before install: it names the agents in them all the same.
  for (const agent of ['executor', 'general'])
    test(`in the turn in which it was found out, to ${agent}`, () => {
      const first = run.requests.find((one) => one.kind === 'turn' && one.conversation === agent);
      const texts = first?.kind === 'turn' ? textsOf(first.body).join('\n') : '';
      const told = /SubagentStart hook additional context: <record [^>]+>\nRecent errors in this project:/;
      expect(texts).toMatch(told);
      expect(texts).toContain('Fix: ');
    });
});
