import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TurnRequest } from '../../src/clients/client.ts';
import { clientNamed } from '../../src/clients/clients.ts';
import { ASKS_FIRST, ASKS_NEVER, type Permissions } from '../../src/runs/model/permissions.ts';
import { refusedCalls } from '../../src/runs/workspace/refused-calls.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { madeRun } from '../support/made-run.ts';
import { installCli } from './install-clis.ts';
import { enterNamespace } from './namespace.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { makeWorkspace, type Workspace } from './one-shot-workspace.ts';
import { runTurn } from './runs-workspace.ts';

/** What the real clients let a run do, by its permissions: each call leaves a file, or it was refused. */

const entry = await enterNamespace(() => Promise.all(CLIENT_NAMES.map(installCli)));
if (entry.kind === 'ended') process.exit(entry.exitCode);
if (entry.kind === 'refused') console.log(`SKIPPED: ${entry.reason}`);
const suite = entry.kind === 'refused' ? describe.skip : describe;

setDefaultTimeout(120_000);

type Dialect = {
  readonly model: string;
  readonly write: (path: string) => ToolCall;
  readonly command: (command: string) => ToolCall;
};

const DIALECTS: Readonly<Record<ClientName, Dialect>> = {
  claude: {
    model: 'haiku',
    write: (path) => ({ name: 'Write', input: { file_path: path, content: 'x' } }),
    command: (command) => ({ name: 'Bash', input: { command, description: 'x' } }),
  },
  codex: {
    model: 'gpt-5.5',
    write: (path) => ({
      name: 'apply_patch',
      input: `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch`,
    }),
    command: (command) => ({ name: 'exec_command', input: { cmd: command } }),
  },
  gemini: {
    model: 'gemini-2.5-flash',
    write: (path) => ({ name: 'write_file', input: { file_path: path, content: 'x' } }),
    command: (command) => ({ name: 'run_shell_command', input: { command, description: 'x' } }),
  },
  opencode: {
    model: 'scripted/some-model',
    write: (path) => ({ name: 'write', input: { filePath: path, content: 'x' } }),
    command: (command) => ({ name: 'bash', input: { command, description: 'x' } }),
  },
};

/** What was done of: a file written, a command that a rule may name, and the same with another one behind it. */
type Done = { readonly written: boolean; readonly made: boolean; readonly more: boolean };

const NOTHING: Done = { written: false, made: false, more: false };
const MAKES = 'exec(touch made:*)';
const made = (changes: Partial<Permissions>): Permissions => ({ ...ASKS_FIRST, ...changes });

/** `codex`: any command runs in its sandbox, which may write or not. */
const rows: [title: string, Permissions, byRules: Done, byCodex: Done][] = [
  ['nothing in plan mode', made({ mode: 'plan' }), NOTHING, NOTHING],
  ['nothing in default mode', ASKS_FIRST, NOTHING, NOTHING],
  ['the command that a rule allows', made({ allow: [MAKES] }), { ...NOTHING, made: true }, NOTHING],
  [
    'files where that is granted',
    made({ allow: ['edit', MAKES] }),
    { written: true, made: true, more: false },
    { written: true, made: true, more: true },
  ],
  [
    'everything where all is',
    ASKS_NEVER,
    { written: true, made: true, more: true },
    { written: true, made: true, more: true },
  ],
  [
    'not the file that is excepted',
    { ...ASKS_NEVER, deny: ['Edit(./written)'] },
    { written: false, made: true, more: true },
    NOTHING,
  ],
  ['no file that is forbidden', { ...ASKS_NEVER, deny: ['Edit', 'Bash'] }, NOTHING, NOTHING],
];

/** Each of the commands would leave the file. Codex has no rules for commands. */
const forms: [title: string, Permissions, commands: readonly string[]][] = [
  [
    'lets no file be written with a command that a rule allows, nor another command run with it',
    made({ allow: ['exec(echo:*)'] }),
    ['echo x > made', 'echo $(touch made)', 'echo `touch made`', 'echo x | tee made', 'echo x\ntouch made'],
  ],
  [
    'keeps back what is forbidden behind whatever stands before it',
    { ...ASKS_NEVER, deny: ['exec(touch:*)'] },
    ['echo x; touch made', 'X=1 touch made', 'command touch made', '/usr/bin/touch made', '(touch made)'],
  ],
];

for (const name of CLIENT_NAMES) {
  suite(name, () => {
    const { model, write, command } = DIALECTS[name];
    let workspace: Workspace;
    const inProject = (path: string) => join(workspace.root, 'project', path);
    beforeAll(async () => {
      workspace = await makeWorkspace(name);
      mkdirSync(inProject(''), { recursive: true });
    });
    afterAll(() => workspace.remove());

    for (const [title, permissions, commands] of forms) {
      test.skipIf(name === 'codex')(title, async () => {
        rmSync(inProject('made'), { force: true });
        const { conclusion } = await runTurn(workspace, clientNamed(name), {
          model,
          permissions,
          script: (_request, index) => {
            const one = commands[index];
            return one === undefined
              ? { kind: 'text', text: 'done' }
              : { kind: 'calls', calls: [command(one)] };
          },
        });
        expect(conclusion).toMatchObject({ outcome: 'success', text: 'done' });
        expect(existsSync(inProject('made'))).toBeFalse();
      });
    }

    for (const [title, permissions, byRules, byCodex] of rows) {
      test(`lets through ${title}`, async () => {
        const files = ['written', 'made', 'more'].map(inProject);
        for (const file of files) rmSync(file, { force: true });
        writeFileSync(inProject('read.txt'), 'x');
        const calls = [
          write(inProject('written')),
          command('touch made'),
          command("touch made2 && sh -c 'touch more'"),
        ];
        const request: Partial<TurnRequest> = { model, permissions };
        const { conclusion, events } = await runTurn(workspace, clientNamed(name), {
          ...request,
          script: (_request, index) => {
            const one = calls[index];
            return one === undefined ? { kind: 'text', text: 'done' } : { kind: 'calls', calls: [one] };
          },
        });
        expect(conclusion).toMatchObject({ outcome: 'success', text: 'done' });
        const [written = false, madeOne = false, more = false] = files.map(existsSync);
        const expected = name === 'codex' ? byCodex : byRules;
        expect({ written, made: madeOne, more }).toEqual(expected);

        const refused = refusedCalls(madeRun({ client: name, permissions }));
        for (const event of events) refused.observe(event);
        const isSeen = permissions.deny.length === 0 || name !== 'codex'; // Which tells nobody.
        if (isSeen)
          expect(refused.notes([]).length).toBe(Object.values(expected).every((done) => done) ? 0 : 1);
      });
    }
  });
}
