import { expect, test } from 'bun:test';
import { checkAgents } from '../../../src/setup/config/check-agents.ts';
import { temporaryHome } from '../../support/home.ts';

const REMEDY = `self-generation config set subagentContext.agents '["general-purpose"]'`;

test('checkAgents() warns when no sub-agent of Claude Code would be given anything', () => {
  using home = temporaryHome();
  const check = () => checkAgents({ paths: home.paths, env: { HOME: home.path }, platform: 'linux' });
  const rows: [object, string, string | undefined][] = [
    [{ language: 'en' }, 'warning', REMEDY],
    [{ subagentContext: { agents: ['general-purpose'] } }, 'ok', undefined],
    [
      { subagentContext: { agents: ['general-purpose'], excludeAgents: ['general'] } },
      'warning',
      `Take it out of subagentContext.excludeAgents, then: ${REMEDY}`,
    ],
  ];
  for (const [config, status, remedy] of rows) {
    home.writeConfig(config);
    expect(check()).toMatchObject([{ status, ...(remedy && { remedy }) }]);
  }
  home.put('.claude/agents/mender.md', '---\nname: mender\n---\n');
  home.writeConfig({ subagentContext: { agents: ['mender'] } });
  expect(check()).toMatchObject([
    { status: 'ok', detail: expect.stringContaining('given to mender; general-purpose') },
  ]);
});
