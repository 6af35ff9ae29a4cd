import { beforeAll, setDefaultTimeout, test } from 'bun:test';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { installCli } from './install-clis.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import type { ModelRequest, Script } from './one-shot-model.ts';
import { writeFiles } from './one-shot-workspace.ts';

const suite = await offlineSuite(() => installCli('gemini'));
setDefaultTimeout(180_000);

const CHECK = '#!/bin/sh\n[ -n "$PORT" ] || { echo "Error: PORT is not set" >&2; exit 1; }\necho built\n';
const shell = (command: string): ToolCall => ({
  name: 'run_shell_command',
  input: { command, description: 'x' },
});
const agent = (prompt: string): ToolCall => ({
  name: 'invoke_agent',
  input: { agent_name: 'generalist', prompt },
});

suite('probe', () => {
  let user: InstalledUser;
  beforeAll(async () => {
    user = await makeUser('gemini');
    await writeFiles(user.project, { gradlew: CHECK });
    await chmod(join(user.project, 'gradlew'), 0o755);
    console.log(await user.program('install'));
  });
  test('x', async () => {
    const steps: ToolCall[][] = [
      [shell('./gradlew build')],
      [shell('PORT=8080 ./gradlew build')],
      [shell('./gradlew build')],
      [agent('Look how gradlew builds.')],
    ];
    const kid: ToolCall[][] = [
      [shell('./gradlew build')],
      [{ name: 'complete_task', input: { result: 'x', response: 'x' } }],
    ];
    const script: Script = (request: ModelRequest) => {
      const isKid = JSON.stringify(request.body).includes('complete_task');
      const step = (isKid ? kid : steps).shift();
      console.log('REQ', isKid, JSON.stringify(request.body.contents).slice(-1800));
      return step === undefined ? { kind: 'text', text: 'Done.' } : { kind: 'calls', calls: step };
    };
    const talk = await user.talk('Build it.', script);
    console.log(talk.stdout.slice(0, 3000));
    await Bun.sleep(2000);
    console.log(await user.program('errors', 'list'));
    console.log(await user.program('doctor').catch(String));
    const talk2 = await user.talk('Again.', (request) => {
      console.log('REQ2', JSON.stringify(request.body.contents));
      return { kind: 'text', text: 'ok' };
    });
    console.log(talk2.stdout.slice(0, 300));
    console.log(
      Bun.spawnSync([
        'sh',
        '-c',
        `cd ${user.workspace.home}; find . -type f | grep -v '/tmp/bun' ; cat .self-generation/logs/*; cat .gemini/extensions/self-generation/hooks/hooks.json; sqlite3 x 2>/dev/null; find .gemini/tmp -name '*.jsonl' | xargs tail -c 3000`,
      ]).stdout.toString(),
    );
  });
});
