import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { lookup } from 'node:dns/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../../src/core/state-paths.ts';
import { runCommand } from '../../src/system/run-command.ts';
import { pathsOf } from '../support/home.ts';
import { BINARY } from '../support/program.ts';
import { type Attempts, watchAttempts } from './attempts.ts';
import { textsOf } from './checks.ts';
import { installCli } from './install-clis.ts';
import { offlineSuite } from './offline.ts';
import type { ModelRequest } from './one-shot-model.ts';
import type { Place } from './one-shot-users.ts';
import { makeWorkspace, type Workspace, writeFiles } from './one-shot-workspace.ts';
import { inPlace } from './runs-dialects.ts';

/**
 * A user whose client goes to a provider of its own, which stands in the client's configuration alone: the built program
 * sends a sub-agent's task and an analysis there, with that provider's key, and tries to reach nobody else.
 */

const NAMES = ['codex', 'opencode'] as const;
type Name = (typeof NAMES)[number];

const suite = await offlineSuite(() => Promise.all(NAMES.map(installCli)));

setDefaultTimeout(120_000);

const PROGRAM_TIMEOUT_MS = 90_000;
const TASK = 'Look whether the bridge holds.';
const KEY = 'the-key-of-the-house';
const HEADER = 'the-header-of-the-house';
/** Other vendors' keys, which would do for those vendors. */
const OTHERS = {
  ...{ ANTHROPIC_API_KEY: 'other', OPENAI_API_KEY: 'other', AWS_PROFILE: 'other', CODEX_API_KEY: 'other' },
};

/** What the user of each has configured. */
const HOUSES: Readonly<Record<Name, (place: Place) => Readonly<Record<string, unknown>>>> = {
  codex: ({ modelUrl }) => ({
    '.codex/config.toml': [
      'model = "house-model"\nmodel_provider = "house"',
      `[model_providers.house]\nname = "House"\nbase_url = "${modelUrl}/house/v1"`,
      `env_key = "HOUSE_KEY"\nhttp_headers = { X-House = "${HEADER}" }`,
    ].join('\n'),
  }),
  opencode: ({ modelUrl }) => {
    const headers = { 'X-House': '{file:./header.txt}' };
    const options = { baseURL: `${modelUrl}/house/v1`, apiKey: '{env:HOUSE_KEY}', headers };
    const models = { 'house-model': { tool_call: true, limit: { context: 400_000, output: 8192 } } };
    return {
      ...inPlace('.config/opencode'),
      '.config/opencode/opencode.json': {
        ...{ $schema: 'https://opencode.ai/config.json', model: 'house/house-model' },
        provider: { house: { npm: '@ai-sdk/openai-compatible', options, models } },
      },
      '.config/opencode/header.txt': HEADER,
    };
  },
};

for (const name of NAMES) {
  suite(`a provider in the configuration of ${name}`, () => {
    let workspace: Workspace;
    let attempts: Attempts;
    let project = '';

    async function program(words: readonly string[], stdin = ''): Promise<string> {
      const { OPENCODE_CONFIG: _config, ...rest } = workspace.env;
      const env: Environment = { ...rest, ...OTHERS, HOUSE_KEY: KEY, CLAUDE_PROJECT_DIR: project };
      const end = await runCommand(BINARY, words, {
        env,
        cwd: project,
        stdin,
        timeoutMs: PROGRAM_TIMEOUT_MS,
      });
      if (end.kind !== 'exited') throw new Error(`${words.join(' ')}: ${JSON.stringify(end)}`);
      return `${end.stdout}${end.stderr}`;
    }

    /** What was asked of the model meanwhile; of anybody else nothing may have been asked. */
    async function askedBy(work: () => Promise<unknown>): Promise<readonly ModelRequest[]> {
      const { model } = workspace.board;
      const before = [model.requests.length, workspace.gate.asked.length, attempts.seen.length] as const;
      workspace.board.script = () => ({ kind: 'text', text: 'It holds.' });
      const said = await work();
      const asked = model.requests.slice(before[0]).filter(({ api }) => api !== 'other');
      if (asked.length === 0) throw new Error(`Nothing was asked: ${said}`);
      const through = workspace.gate.asked.slice(before[1]);
      expect([...through, ...attempts.seen.slice(before[2])]).toEqual([]);
      return asked;
    }

    function expectHouse(asked: readonly ModelRequest[], words: string): void {
      for (const { path, headers, body } of asked) {
        expect(path).toStartWith('/house/v1/');
        expect(headers.authorization).toBe(`Bearer ${KEY}`);
        expect(headers['x-house']).toBe(HEADER);
        expect(body.model).toBe('house-model');
      }
      expect(textsOf(asked[0]?.body).join('\n')).toContain(words);
    }

    beforeAll(async () => {
      attempts = await watchAttempts();
      // What is to be seen can be seen: a name, and an address.
      await lookup('house.example').catch(() => undefined);
      await fetch('http://192.0.2.1/').catch(() => undefined);
      expect(attempts.seen).toEqual(expect.arrayContaining(['name house.example', 'port 80 of 192.0.2.1']));
      workspace = await makeWorkspace(name);
      project = await mkdtemp(join(workspace.root, 'project-'));
      await rm(join(workspace.home, '.codex'), { recursive: true, force: true });
      await writeFiles(workspace.home, HOUSES[name](workspace));
    });
    afterAll(async () => {
      attempts.stop();
      await workspace.remove();
    });

    test('is where a sub-agent and its announce step ask, and nobody else is', async () => {
      const asked = await askedBy(() => program(['subagents', 'spawn', '--wait', '--cli', name, TASK]));
      expectHouse(asked, TASK);
    });

    test('is where an analysis asks, and nobody else is', async () => {
      for (let count = 0; count < 6; count++) {
        const event = { session_id: 's', cwd: project, hook_event_name: 'UserPromptSubmit' };
        const stdin = JSON.stringify({ ...event, prompt: `bridge ${count}` });
        await program(['hook', 'prompt-logger'], stdin);
      }
      expectHouse(await askedBy(() => program(['analyze', '--cli', name])), 'bridge 3');
    });

    test('has its key in no file of ours', async () => {
      const { home } = pathsOf(workspace.home);
      const options = { env: process.env, timeoutMs: 10_000 };
      const end = await runCommand('grep', ['-rlE', `${KEY}|${HEADER}`, home], options);
      expect(end).toMatchObject({ kind: 'exited', code: 1, stdout: '' });
    });
  });
}
