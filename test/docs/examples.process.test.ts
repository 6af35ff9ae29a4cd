import { expect, test } from 'bun:test';
import { chmodSync } from 'node:fs';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { teamOf } from '../../src/orchestrate/team.ts';
import { asAbove } from '../../src/prune/placeholder.ts';
import { loadRunConfig } from '../../src/settings/all-settings.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { contextOf, type ProcessResult, runProgram } from '../support/hook-process.ts';
import { agentStart } from '../support/payloads.ts';
import { BINARY, DIST, ROOT } from '../support/program.ts';
import { seedErrors } from '../support/seed.ts';
import { blocks, isOurs, readPage, shellLines, USER_PAGES } from './pages.ts';

/** The examples of the pages, executed. */

/** Runs what is typed in this home, with a client that only knows its version. */
function typeIn(home: Home, line: string): Promise<ProcessResult> {
  chmodSync(home.put('bin/claude', '#!/bin/sh\necho "2.1.328 (Claude Code)"\n'), 0o755);
  return runProgram(['/bin/sh', '-c', line], {
    home: home.path,
    env: { PATH: `${home.path}/bin:${DIST}:/usr/bin:/bin` },
  });
}

/** These start agents: some have tests of their own below. The last ones need the real client, a browser, a release, a server. */
const NOT_HERE =
  /^\S+ (?:subagents|explore|plan|run|steer|queue|memory|orchestrate|worklog|doctor --live|report --open|update --from|team)\b/;

test('the harmless commands of the pages end with 0, page by page', async () => {
  using home = temporaryHome();
  expect(await typeIn(home, 'self-generation install')).toMatchObject({ exitCode: 0 });
  const failed: string[] = [];
  const typed = USER_PAGES.flatMap((file) => shellLines(readPage(file))).filter(isOurs);
  const harmless = [...new Set(typed)].filter((line) => !NOT_HERE.test(line));
  expect(harmless.length).toBeGreaterThan(12);
  for (const line of [...harmless, 'self-generation status']) {
    const { exitCode, stderr } = await typeIn(home, line.replace(/^dist\//, ''));
    // In a new home nothing is there to be analysed, and that is said.
    const complaint = stderr.replace(/^Too little to analyse: .*\n$/, '');
    if (exitCode !== 0 || complaint !== '') failed.push(`${line}: ${exitCode} ${stderr}`);
  }
  expect(failed).toEqual([]);
  expect((await typeIn(home, 'self-generation frobnicate')).exitCode).toBe(2);
}, 180_000);

test('the placeholder that is shown is what stands in place of a result', () => {
  const input = { filePath: 'src/fifo.v' };
  const call = { id: 'c', tool: 'read', input, state: 'done', output: '' } as const;
  expect(readPage('docs/pruning.md')).toContain(`\n${asAbove(call)}\n`);
});

/** The one block of the page that has these words, run with clients that are scripts. */
async function runExample(file: string, words: string, home: Home): Promise<ProcessResult> {
  const [example = '', ...others] = blocks(readPage(file), 'sh').filter((block) => block.includes(words));
  expect([example === '', others]).toEqual([false, []]);
  home.put('project/AGENTS.md', 'Be careful.');
  return runProgram(['sh', '-ec', example], {
    home: home.path,
    cwd: `${home.path}/project`,
    env: { PATH: `${DIST}:${ROOT}/test/fixtures/bin:${ROOT}/node_modules/.bin:${process.env.PATH}` },
  });
}

test('the example of a background sub-agent ends with its result', async () => {
  using home = temporaryHome();
  const result = await runExample('docs/background-runs.md', 'subagents spawn', home);
  expect(result.exitCode).toBe(0);
  expect(result.stderr).toMatch(/^(?:waiting: #1 \w+ \(lint\)\n)*$/);
  expect(result.stdout).toMatch(/\n1\) success · lint · [^\n]+\n[^\n]+\n$/);
}, 30_000);

test('the example of exploring and planning ends with a plan of three versions', async () => {
  using home = temporaryHome();
  const result = await runExample('docs/background-runs.md', 'generation explore', home);
  expect(result.exitCode).toBe(0);
  expect(result.stdout).toStartWith('=== EXPLORATION RESULTS ===\nthe work is done\n=====');
  expect(result.stdout.match(/=== IMPLEMENTATION PLAN ===/g)).toHaveLength(2);
  // The draft, what it lacked, and what was said of it.
  expect(result.stdout).toMatch(
    /\n\w{8} +draft +3 +(?:just now|\d+ s ago) +Expire sessions after 30 days\.\n$/,
  );
}, 30_000);

test('the example of a team in the settings is one', () => {
  const [example = '', ...others] = blocks(readPage('docs/main-conversation.md'), 'json5');
  expect(others).toEqual([]);
  using home = temporaryHome();
  home.put('.self-generation/config.json', example);
  const config = loadRunConfig(home.paths);
  const team = config.kind === 'refused' ? [] : teamOf(config.settings);
  expect(team.map(({ name, role }) => `${name} ${role}`)).toEqual(['server backend', 'manual docs']);
});

test("the entry for one's own settings answers SubagentStart once the program is installed", async () => {
  const [example = '', ...others] = blocks(readPage('docs/clients.md'), 'json');
  expect(others).toEqual([]);
  const settings = JSON.parse(example) as Settings;
  expect(Object.keys(settings.hooks)).toEqual(['SubagentStart']);
  const [{ hooks = [] } = {}] = settings.hooks.SubagentStart ?? [];
  const [{ type, command, timeout } = { type: '', command: '', timeout: 0 }] = hooks;
  const registered = HOOKS.find((hook) => hook.event === 'SubagentStart');
  expect({ type, timeout }).toEqual({ type: 'command', timeout: registered?.timeoutSeconds ?? 0 });

  using home = temporaryHome();
  const installed = await runProgram([BINARY, 'install'], { home: home.path });
  expect(installed).toMatchObject({ exitCode: 0 });
  seedErrors(home.paths, [{ error: 'a well-known error' }]);
  const stdin = JSON.stringify(agentStart('executor'));
  // Once as it stands, as the client runs it: the shell puts in the home directory.
  for (const line of [command, command.replaceAll('$HOME', home.path)])
    expect(contextOf(await runProgram(['sh', '-c', line], { home: home.path, stdin }))).toContain(
      'a well-known error',
    );
});

type Settings = {
  readonly hooks: Record<
    string,
    readonly { readonly hooks: readonly { type: string; command: string; timeout: number }[] }[]
  >;
};
