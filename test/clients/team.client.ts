import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../src/core/guards.ts';
import { connectServer } from '../../src/database/postgres.ts';
import { readServerAddress } from '../../src/database/server-address.ts';
import { answer, type ScriptedModel, say, startScriptedModel } from '../../src/setup/scripted-model.ts';
import { ADMIN, postgresPrograms, startPostgres, type TestServer } from '../support/postgres-server.ts';
import { textsOf } from './checks.ts';
import {
  makeWorkspace,
  removeWorkspace,
  runClientOn,
  runProduct,
  runProductOrThrow,
  type Workspace,
} from './claude-code.ts';
import { CLIENT_VERSION, installClient, PRODUCT } from './install-client.ts';
import { offlineSuite } from './offline.ts';
import * as scenarios from './scenarios.ts';

/** Three members of a team, each with a home and the real client: one learns, one reviews, one is told. */

const suite = await offlineSuite(() => installClient(CLIENT_VERSION));
const HAS_POSTGRES = postgresPrograms() !== undefined;
if (!HAS_POSTGRES) console.warn('NOT TESTED HERE: a team with the real client; PostgreSQL is not installed');

setDefaultTimeout(300_000);
const ended: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ended.reverse()) await end();
});

type Member = { readonly workspace: Workspace; readonly model: ScriptedModel; readonly login: string };

async function member(login: string): Promise<Member> {
  const workspace = await makeWorkspace({ client: await installClient(CLIENT_VERSION), binary: PRODUCT });
  ended.push(() => removeWorkspace(workspace));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: workspace.project, stdio: 'ignore' });
  git('init', '-q');
  git('remote', 'add', 'origin', 'https://git.example.com/shop.git');
  await runProductOrThrow(workspace, ['install']);
  const { main: delegate = [], ...workers } = scenarios.foreground(workspace.project).script;
  const script = {
    ...scenarios.learn(workspace.project).script,
    ...workers,
    delegate,
    talk: [answer(say('Done.'))],
  };
  const model = await startScriptedModel({ script, auxiliary: () => answer(say('ok')) });
  ended.push(model.stop);
  return { workspace, model, login };
}

async function run({ workspace, model }: Member, ...words: string[]): Promise<string> {
  const end = await runProduct(workspace, words, '', model.url);
  if (end.kind !== 'exited' || end.code !== 0)
    throw new Error(`Cannot run "${words.join(' ')}": ${JSON.stringify(end)}`);
  return end.stdout;
}

/** What the sub-agent of a new session is given when it starts. */
async function givenTo({ workspace, model }: Member): Promise<string> {
  const { requests } = await runClientOn(model, workspace, { prompt: '[[conv:delegate]] Delegate.' });
  return requests
    .filter((one) => one.kind === 'turn' && one.conversation === 'executor' && one.turn === 0)
    .flatMap((one) => (one.kind === 'other' ? [] : textsOf(one.body)))
    .filter((text) => text.includes('SubagentStart hook'))
    .join('\n');
}

async function asAdmin(server: TestServer, sql: string): Promise<void> {
  const read = readServerAddress(server.url(ADMIN), {});
  if (read.kind === 'wrong') throw new Error(read.reason);
  const admin = await connectServer(read.address);
  await admin.script(sql);
  await admin.close();
}

/** The lesson that the first one's session teaches. */
const LESSON = 'PORT is not set';

suite('a team', () => {
  test.skipIf(!HAS_POSTGRES)(
    'what one learns is told to the sub-agent of another after a reviewer accepted it, not before, and nowhere after its withdrawal',
    async () => {
      const server = await startPostgres();
      ended.push(server.remove);
      const [ada, rita, ben] = [await member('ada'), await member('rita'), await member('ben')];
      await asAdmin(server, 'CREATE ROLE ada LOGIN CREATEROLE; GRANT CREATE ON DATABASE postgres TO ada');
      const made = parseJson(
        await run(ada, 'team', 'join', server.url('ada'), '--create', 'shop', '--json'),
      ) as { key: string };
      await asAdmin(
        server,
        `ALTER ROLE ada NOCREATEROLE; CREATE ROLE rita LOGIN; CREATE ROLE ben LOGIN;
         GRANT self_generation_reviewer TO rita; GRANT self_generation_member TO ben`,
      );
      await run(ada, 'team', 'members', 'add', 'rita', '--role', 'reviewer');
      await run(ada, 'team', 'members', 'add', 'ben');
      for (const one of [rita, ben]) {
        const keyFile = join(one.workspace.root, 'team.key');
        writeFileSync(keyFile, made.key);
        await run(one, 'team', 'join', server.url(one.login), '--key-file', keyFile);
        await run(one, 'config', 'set', 'team.trust', 'reviewers');
      }
      for (const one of [ada, rita, ben]) await run(one, 'team', 'share', '--yes');

      // The end of the session sends what it has taught: nobody runs a command.
      await runClientOn(ada.model, ada.workspace, {
        prompt: scenarios.learn(ada.workspace.project).prompt,
      });
      await waitFor(
        async () => (await run(ada, 'team', 'log')).includes(LESSON),
        async () =>
          `${await run(ada, 'team', 'status')}${await run(ada, 'lessons', '--json')}${await run(ada, 'team', 'sync', '--json')}`,
      );

      // The others fetch it, and it waits.
      for (const one of [rita, ben]) await run(one, 'team', 'sync');
      expect(await givenTo(ben)).not.toContain(LESSON);
      expect(await givenTo(rita)).not.toContain(LESSON);
      // The reviewer's session is told that something waits, as of every suggestion.
      const { suggestions } = parseJson(await run(rita, 'suggestions', '--json')) as {
        suggestions: { id: string; origin: string; evidence: string; summary: string }[];
      };
      const waiting = suggestions.find(({ summary }) => summary.includes(LESSON));
      expect(waiting).toMatchObject({ origin: 'team', evidence: expect.stringContaining('by ada') });
      await run(rita, 'apply', waiting?.id ?? '', '--yes');
      await run(rita, 'team', 'sync');
      await run(ben, 'team', 'sync');
      expect(await givenTo(ben)).toContain(LESSON);
      expect(await givenTo(rita)).toContain(LESSON);

      // Its author finds out that it is wrong.
      const log = await run(ada, 'team', 'log', '--limit', '100');
      const number = new RegExp(`(\\d+) +\\S+ \\S+ +ada[^\\n]* shared[^\\n]*${LESSON}`).exec(log)?.[1] ?? '';
      await run(ada, 'team', 'revert', number, '--why', 'the port has a default now');
      for (const one of [rita, ben]) await run(one, 'team', 'sync');
      for (const one of [ada, rita, ben]) expect(await givenTo(one)).not.toContain(LESSON);
    },
  );
});

async function waitFor(isThere: () => Promise<boolean>, state: () => Promise<string>): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (await isThere()) return;
    await Bun.sleep(200);
  }
  throw new Error(`It did not happen in time: ${await state()}`);
}
