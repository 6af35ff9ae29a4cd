import { expect, test } from 'bun:test';
import type * as ClaudeSetup from '../../src/clients/claude/setup.ts';
import { locate, type Place } from '../../src/setup/manifest.ts';
import type * as Settings from '../../src/setup/settings-file.ts';
import { ChangedSource } from './changed-source.ts';

const HANDLER = `import type { Handler } from './invocation.ts';

export const noticeReader: Handler = {
  read: () => ({}),
  decide: ({ sessionId }) => ({ reply: { event: 'Notification', context: \`noticed in \${sessionId}\` } }),
};
`;
const ROW = "  { name: 'notice-reader', event: 'Notification', timeoutSeconds: 5, handler: noticeReader },";

test('a hook is one file and one row', async () => {
  using source = new ChangedSource({
    files: { 'hooks/notice-reader.ts': HANDLER },
    rows: [
      {
        file: 'hooks/hooks.ts',
        behind: "import { preToolGuide } from './pre-tool-guide.ts';",
        line: "import { noticeReader } from './notice-reader.ts';",
      },
      { file: 'hooks/hooks.ts', behind: 'const TABLE = [', line: ROW },
    ],
  });
  expect(source.typeErrors()).toBe('');

  const input = JSON.stringify({ hook_event_name: 'Notification', session_id: 's1', cwd: '/nowhere' });
  for (const words of [['hook', 'notice-reader'], ['hook'], []]) {
    const { exitCode, stdout } = source.run(words, { input });
    expect({ exitCode, answer: JSON.parse(stdout) }).toEqual({
      exitCode: 0,
      answer: { hookSpecificOutput: { hookEventName: 'Notification', additionalContext: 'noticed in s1' } },
    });
  }

  expect(source.run(['hook', '--help']).stdout).toContain('"notice-reader"');
  const settings = await source.import<typeof Settings>('setup/settings-file.ts');
  const { clientFeatures } = await source.import<typeof ClaudeSetup>('clients/claude/setup.ts');
  const place = locate({ HOME: '/home/me' }, 'linux') as Place;
  const how = { mode: 'session', wakes: true } as const;
  const registration = settings.registrationFor(place, clientFeatures('2.1.328'), how);
  const { Notification } = JSON.parse(settings.registerHooks(undefined, registration)).hooks;
  const command = '/home/me/.self-generation/hooks/self-generation';
  const entry = { type: 'command', command, args: ['hook', 'notice-reader'], timeout: 5 };
  expect(Notification).toEqual([{ hooks: [entry] }]);
}, 60_000);
