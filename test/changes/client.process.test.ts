import { expect, test } from 'bun:test';
import { ChangedSource } from './changed-source.ts';

/** A client that prints what it was asked, with a word before it. */
const DUMMY = `import type { Json } from '../../core/guards.ts';
import { ASKS_NEVER } from '../../runs/model/permissions.ts';
import type { Client } from '../client.ts';
import { StreamReader } from '../reading.ts';
import { hookCalls } from '../tools.ts';

class DummyReader extends StreamReader {
  protected step({ said }: Json) {
    this.sessionId = 's';
    this.text = String(said);
    return [this.end(null)];
  }
}

const SESSION = { id: 's1', path: '/sessions/s1', modifiedMs: 1 };

export const dummy: Client = {
  name: 'dummy',
  title: 'The Dummy',
  npmPackage: 'dummy-cli',
  keepsBudget: false,
  politeSignal: 'SIGTERM',
  thinking: [],
  version: { read: (stdout) => stdout.trim(), measured: ['1.0.0'] },
  gaps: () => [],
  ruleGaps: () => [],
  command: ({ prompt }) => ({ args: [], stdin: prompt }),
  attach: () => ({ args: [] }),
  reader: (start) => new DummyReader(start),
  hookCalls,
  sessions: {
    startedIn: () => [SESSION],
    withId: () => SESSION,
    all: () => [{ ...SESSION, cwd: '/home/dev/app', parentId: null, agentType: null }],
    read: () => [{ kind: 'prompt', text: 'Say it.', pictures: [], ts: new Date().toISOString() }],
    format: {
      headIn: ({ dummy }) => (typeof dummy === 'string' ? { id: dummy, isOfAgent: false, cwd: undefined } : undefined),
      reader: () => ({ read: () => [{ kind: 'prompt', text: 'Say it.', pictures: [] }] }),
      withCalls: (record) => record,
    },
  },
  route: () => ({ model: null, settings: {}, env: {}, passedOn: [] }),
  permissions: () => ASKS_NEVER,
  login: { directories: ['.dummy'], files: { login: 'is a login' }, variables: [] },
  caller: { marks: { DUMMY: '1' }, mcpName: 'dummy' },
  server: {
    place: ({ home }) => ({ directory: \`\${home}/.dummy\`, path: \`\${home}/.dummy/servers.json\` }),
    format: 'json',
    holder: 'servers',
    entry: ({ command }) => ({ command, args: ['mcp'] }),
  },
};
`;

const PROGRAM = `[ "$1" = --version ] && { echo 1.0.0; exit; }
prompt=$(cat); case $prompt in *"What is to be said?"*) said=answered ;; *) said=lost ;; esac
echo "{\\"said\\": \\"$said\\"}"
`;

test('a client is one folder and one row: types, runs, settings, import, install and doctor know it', async () => {
  using source = new ChangedSource({
    files: { 'clients/dummy/client.ts': DUMMY },
    rows: [
      {
        file: 'clients/table.ts',
        behind: "export { codex } from './codex/client.ts';",
        line: "export { dummy } from './dummy/client.ts';",
      },
    ],
    programs: { dummy: PROGRAM },
  });
  expect(source.typeErrors()).toBe('');

  const spawned = source.run(['subagents', 'spawn', '--cli', 'dummy', '--wait', 'What is to be said?']);
  expect(spawned).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('answered') });
  expect(source.run(['subagents', 'info', '1']).stdout).toContain('Client: dummy');

  const setting = 'agents.defaults.subagents.client';
  expect(source.run(['config', 'set', setting, 'dummy']).exitCode).toBe(0);
  expect(source.run(['config', 'set', setting, 'nobody']).stderr).toContain('dummy');

  const imported = source.run(['import', '--client', 'dummy']);
  expect(imported).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Events: 1 prompt') });

  await source.build();
  expect(source.run(['install', '--mcp', 'dummy']).stdout).toContain('The Dummy');
  expect(source.run(['doctor']).stdout).toContain('registered with The Dummy');
}, 120_000);
