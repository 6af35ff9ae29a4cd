import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { USAGE } from './mcp-users.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import type { ModelRequest, Script } from './one-shot-model.ts';
import { writeFiles } from './one-shot-workspace.ts';
import { inPlace } from './runs-dialects.ts';

/** What one real client's session has taught is told to the sub-agents of each of the others. */

const suite = await offlineSuite();
setDefaultTimeout(240_000);

const MAIN = 'Do what has to be done.';
const TASK = 'Look what there is.';

/** A script that wants a variable: each client teaches the project another one. */
const TAUGHT: Readonly<Record<ClientName, string>> = {
  ...{ claude: 'PORT', codex: 'DB_PORT', gemini: 'LIMIT', opencode: 'STAGE' },
};
const scriptOf = (name: string) =>
  `#!/bin/sh\n[ -n "$${name}" ] || { echo "Error: ${name} is not set" >&2; exit 1; }\necho done\n`;
const fails = (client: ClientName) => `./${client}-build now`;
const helps = (client: ClientName) => `${TAUGHT[client]}=8080 ./${client}-build now`;

/** How a client's model calls for a command and for a sub-agent, and what else has to be said for that. */
const CALLS: Readonly<
  Record<ClientName, { command: (line: string) => ToolCall; agent: ToolCall; ends?: ToolCall }>
> = {
  claude: {
    command: (command) => ({ name: 'Bash', input: { command, description: 'x' } }),
    agent: { name: 'Agent', input: { description: 'x', prompt: TASK, subagent_type: 'general-purpose' } },
  },
  codex: {
    command: (cmd) => ({ name: 'exec_command', input: { cmd } }),
    agent: { name: 'spawn_agent', namespace: 'multi_agent_v1', input: { message: TASK } },
  },
  gemini: {
    command: (command) => ({ name: 'run_shell_command', input: { command, description: 'x' } }),
    agent: { name: 'invoke_agent', input: { agent_name: 'generalist', prompt: TASK } },
    ends: { name: 'complete_task', input: { result: { response: 'Done.' } } },
  },
  opencode: {
    command: (command) => ({ name: 'bash', input: { command, description: 'x' } }),
    agent: { name: 'task', input: { description: 'x', prompt: TASK, subagent_type: 'general' } },
  },
};

const isOfAgent = ({ body }: ModelRequest) => {
  const text = JSON.stringify(body);
  return text.includes(TASK) && !text.includes(MAIN);
};

/** The main session takes its steps; its sub-agent is done at once. */
function scripted(client: ClientName, steps: readonly ToolCall[]): Script {
  const left = [...steps];
  const { ends } = CALLS[client] as (typeof CALLS)[ClientName];
  return (request) => {
    const isAside = JSON.stringify(request.body).includes('title generator');
    const call = isOfAgent(request) ? ends : isAside ? undefined : left.shift();
    return call === undefined ? { kind: 'text', text: 'Done.' } : { kind: 'calls', calls: [call] };
  };
}

suite('what one client has taught', () => {
  let user: InstalledUser;
  const talk = (client: ClientName, steps: readonly ToolCall[]) =>
    user.talk(MAIN, scripted(client, steps), USAGE[client]?.approving, client);
  const known = () => user.program('errors', 'list');

  beforeAll(async () => {
    user = await makeUser('claude', ...CLIENT_NAMES.filter((client) => client !== 'claude'));
    await writeFiles(user.workspace.home, inPlace('.config/opencode'));
    for (const client of CLIENT_NAMES) {
      await writeFiles(user.project, { [`${client}-build`]: scriptOf(TAUGHT[client] ?? '') });
      await chmod(join(user.project, `${client}-build`), 0o755);
    }
    const answers = [
      '--no-learn',
      '--lessons',
      'off',
      '--wake',
      'off',
      '--hold-out',
      'off',
      '--trust-codex-hooks',
    ];
    expect(await user.onTerminal('install', ...answers, '--client-version', '2.1.328').exited).toBe(0);
  });
  afterAll(() => user.workspace.remove());

  for (const teacher of CLIENT_NAMES) {
    test(`is learnt from ${teacher}, and told to a sub-agent of each other one`, async () => {
      const { command } = CALLS[teacher] as (typeof CALLS)[ClientName];
      await talk(teacher, [command(fails(teacher)), command(helps(teacher))]);
      for (let round = 0; round < 100 && !(await known()).includes(helps(teacher)); round++)
        await Bun.sleep(100);
      expect(await known()).toContain(helps(teacher));
      for (const learner of CLIENT_NAMES.filter((client) => client !== teacher)) {
        const { agent, command: run } = CALLS[learner] as (typeof CALLS)[ClientName];
        const { asked } = await talk(learner, [agent, run('sleep 1')]);
        const [first] = asked.filter(isOfAgent);
        expect(`${learner}: ${JSON.stringify(first?.body)}`).toContain(helps(teacher));
      }
      // Only one lesson at a time is looked for: three fit into what an agent is told.
      for (const id of await idsOf())
        expect(await user.onTerminal('errors', 'forget', id, '--yes').exited).toBe(0);
    });
  }

  async function idsOf(): Promise<string[]> {
    const { errors } = JSON.parse(await user.program('errors', 'list', '--json')) as {
      errors: { id: number }[];
    };
    return errors.map(({ id }) => String(id));
  }
});
