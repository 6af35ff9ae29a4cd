import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientNamed } from '../../src/clients/clients.ts';
import { ASKS_FIRST, ASKS_NEVER, type Permissions } from '../../src/runs/model/permissions.ts';
import { refusedCalls } from '../../src/runs/workspace/refused-calls.ts';
import { CLIENT_NAMES } from '../support/clients.ts';
import { madeRun } from '../support/made-run.ts';
import { offlineSuite } from './offline.ts';
import { makeWorkspace, type Workspace } from './one-shot-workspace.ts';
import { DIALECTS } from './runs-dialects.ts';
import { ANSWER, answers, runTurn } from './runs-workspace.ts';

/** What the real clients let a run do, by its permissions: each call leaves a file, or it was refused. */

const suite = await offlineSuite();

setDefaultTimeout(120_000);

/** What was done of: a file written, a command that a rule may name, and the same with another one behind it. */
type Done = { readonly written: boolean; readonly made: boolean; readonly more: boolean };

const NOTHING: Done = { written: false, made: false, more: false };
const ALL: Done = { written: true, made: true, more: true };
const MAKES = 'exec(touch made:*)';
const made = (changes: Partial<Permissions>): Permissions => ({ ...ASKS_FIRST, ...changes });

/** `codex`: any command runs in its sandbox, which may write or not. */
const rows: [title: string, Permissions, byRules: Done, byCodex: Done][] = [
  ['nothing in plan mode', made({ mode: 'plan' }), NOTHING, NOTHING],
  ['nothing in default mode', ASKS_FIRST, NOTHING, NOTHING],
  ['the command that a rule allows', made({ allow: [MAKES] }), { ...NOTHING, made: true }, NOTHING],
  ['files where that is granted', made({ allow: ['edit', MAKES] }), { ...ALL, more: false }, ALL],
  ['everything where all is', ASKS_NEVER, ALL, ALL],
  [
    'not the file that is excepted',
    { ...ASKS_NEVER, deny: ['Edit(./written)'] },
    { ...ALL, written: false },
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
          ...{ model, permissions },
          script: answers(...commands.map((one) => [command(one)])),
        });
        expect(conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
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
        const script = answers(...calls.map((call) => [call]));
        const turn = { model, permissions, script };
        const { conclusion, events } = await runTurn(workspace, clientNamed(name), turn);
        expect(conclusion).toMatchObject({ outcome: 'success', text: ANSWER });
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
