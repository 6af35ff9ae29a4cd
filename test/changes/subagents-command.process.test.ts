import { afterAll, expect, test } from 'bun:test';
import { ChangedSource } from './changed-source.ts';

const COUNT = `import { readRunList } from '../../runs/read-log.ts';
import { printJson } from '../output.ts';
import type { RunsHere, SubagentsCommand } from './runs-here.ts';

/** \`subagents count\`: how many runs of this project there are. */
export const count: SubagentsCommand = {
  name: 'count',
  description: 'count the runs of this project',
  calls: [''],
  define: (command) => command.option('--done', 'only those that are over'),
  act: tell,
};

function tell({ context, requester, world, isJson }: RunsHere, flags: { readonly done?: true }): void {
  const { active, done } = readRunList({ requester: requester.key, includeArchived: true, limit: 1 }, world);
  const runs = flags.done ? done : active + done;
  if (isJson) printJson({ runs }, context);
  else context.stdout(\`Runs: \${runs}\\n\`);
}
`;

const file = 'cli/subagents/subagents.ts';
const source = new ChangedSource({
  files: { 'cli/subagents/count.ts': COUNT },
  rows: [
    { file, behind: "import { attach } from './attach.ts';", line: "import { count } from './count.ts';" },
    { file, behind: '  attach,', line: '  count,' },
  ],
});
afterAll(() => source[Symbol.dispose]());

test('a subagents command is a file, and a row with its import', () => {
  expect(source.typeErrors()).toBe('');
}, 60_000);

test('it has its place in the help, and a help of its own', () => {
  expect(source.run(['subagents', '--help']).stdout).toMatch(
    /^ {2}count \[options\] +count the runs of this project$/m,
  );
  const { stdout, exitCode } = source.run(['subagents', 'count', '--help']);
  expect(exitCode).toBe(0);
  expect(stdout).toContain('--done');
  expect(stdout).toContain('\nExamples:\n  $ self-generation subagents count\n');
}, 60_000);

test('it works, as text and as JSON, and refuses what is no option of it', () => {
  expect(source.run(['subagents', 'count'])).toEqual({ exitCode: 0, stdout: 'Runs: 0\n', stderr: '' });
  const json = source.run(['subagents', 'count', '--done', '--json']);
  expect(JSON.parse(json.stdout)).toEqual({ runs: 0 });
  expect(source.run(['subagents', 'count', '--loud'])).toMatchObject({ exitCode: 2, stdout: '' });
}, 60_000);
