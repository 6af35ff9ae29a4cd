import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { CLIENT_NAMES } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { withDatabase } from '../support/seed.ts';
import { RULE, SKILL, seedSuggestion } from '../support/suggestions.ts';
import { treeBelow } from '../support/tree.ts';
import { installCli } from './install-clis.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { writeFiles } from './one-shot-workspace.ts';

/** What apply writes for each of the real clients stands in what that client asks its model. */

setDefaultTimeout(180_000);
const FILES = {
  claude: { rule: '.claude/CLAUDE.md', skill: '.claude/skills/release-it/SKILL.md' },
  codex: { rule: 'AGENTS.md', skill: '.agents/skills/release-it/SKILL.md' },
  gemini: { rule: 'GEMINI.md', skill: '.agents/skills/release-it/SKILL.md' },
  opencode: { rule: 'AGENTS.md', skill: '.agents/skills/release-it/SKILL.md' },
} as const;
/** What makes a client read its rules elsewhere, below home and in the project, and where. */
const INSTEAD: Readonly<Record<string, { home?: Files; project?: Files; rule: string }>> = {
  codex: {
    project: { 'AGENTS.override.md': '# Mine\n', 'AGENTS.md': '# Theirs\n' },
    rule: 'AGENTS.override.md',
  },
  gemini: {
    home: {
      '.gemini/settings.json':
        '{ "context": { "fileName": ["OWN.md", "GEMINI.md"] }, "security": { "auth": { "selectedType": "gemini-api-key" } } }',
    },
    rule: 'OWN.md',
  },
};
type Files = Readonly<Record<string, string>>;
/** How the model calls a skill, where there is a tool for that. */
const CALLS: Readonly<Record<string, ToolCall>> = {
  claude: { name: 'Skill', input: { skill: 'release-it' } },
  gemini: { name: 'activate_skill', input: { name: 'release-it' } },
  opencode: { name: 'skill', input: { name: 'release-it' } },
};
const WHEN = 'Publishes a release of this very project';

for (const client of CLIENT_NAMES) {
  const suite = await offlineSuite(() => installCli(client));
  suite(`rules and skills of ${client}`, () => {
    let user: InstalledUser;
    const decide = async (verb: string, id: string, ...flags: string[]) =>
      expect(await user.onTerminal(verb, id, ...flags, '--yes').exited).toBe(0);
    const said = async () => {
      const { asked } = await user.talk('Hello.', () => ({ kind: 'text', text: 'Done.' }));
      return JSON.stringify(asked.map(({ body }) => body));
    };
    const filesIn = () =>
      Object.entries(treeBelow(user.project)).flatMap(([name, what]) =>
        what.startsWith('file') ? [name] : [],
      );

    beforeAll(async () => {
      user = await makeUser(client);
      // OpenCode lists a skill's files by it, and would load it.
      await writeFiles(join(user.workspace.root, 'bin'), { rg: '#!/bin/sh\nexit 0\n' });
      await chmod(join(user.workspace.root, 'bin/rg'), 0o755);
    });
    afterAll(() => user.workspace.remove());

    const call = CALLS[client];
    test.skipIf(call === undefined)('a skill that was called is recorded', async () => {
      const { id } = seedSuggestion({ paths: pathsOf(user.workspace.home) }, { ...SKILL, summary: WHEN });
      await decide('apply', id, '--client', client);
      const calls = call === undefined ? [] : [call];
      const { asked } = await user.talk('Release.', ({ body }) =>
        calls.length > 0 && !JSON.stringify(body).includes('title generator')
          ? { kind: 'calls', calls: calls.splice(0) }
          : { kind: 'text', text: 'Done.' },
      );
      expect(JSON.stringify(asked.map(({ body }) => body))).toContain('Set the tag');
      await user.program('import');
      const used = withDatabase(pathsOf(user.workspace.home), (db) =>
        db.sqlite.all(
          "SELECT json_extract(data, '$.skillName') AS name FROM events WHERE type = 'skill_used'",
        ),
      );
      expect(used).toEqual([{ name: 'release-it' }]);
      await decide('undo', id);
    });

    const instead = INSTEAD[client];
    test.skipIf(instead === undefined)('reach the model where it reads other files instead', async () => {
      const { home = {}, project = {}, rule = '' } = instead ?? {};
      const textOf = (name: string) => readFileSync(join(user.workspace.home, name), 'utf8');
      const before = Object.fromEntries(Object.keys(home).map((name) => [name, textOf(name)]));
      await writeFiles(user.workspace.home, home);
      await writeFiles(user.project, project);
      const { id } = seedSuggestion({ paths: pathsOf(user.workspace.home) }, RULE);
      await decide('apply', id, '--client', client);
      expect(readFileSync(join(user.project, rule), 'utf8')).toContain(RULE.rule);
      expect(await said()).toContain(RULE.rule);
      await decide('undo', id);
      expect(await said()).not.toContain(RULE.rule);
      for (const name of Object.keys(project)) rmSync(join(user.project, name));
      await writeFiles(user.workspace.home, before);
    });

    for (const [scope, flags] of [
      ['the project', []],
      ['all projects', ['--global']],
    ] as const) {
      test(`for ${scope} reach the model, and are gone with undo`, async () => {
        const seeded = [RULE, { ...SKILL, summary: WHEN }].map(
          (proposal) => seedSuggestion({ paths: pathsOf(user.workspace.home) }, proposal).id,
        );
        expect(await said()).not.toContain(RULE.rule);
        for (const id of seeded) await decide('apply', id, '--client', client, ...flags);
        if (scope === 'the project')
          expect(filesIn().sort()).toEqual(Object.values(FILES[client as keyof typeof FILES]).sort());
        const asked = await said();
        expect(asked).toContain(RULE.rule);
        expect(asked).toContain(WHEN);
        for (const id of seeded) await decide('undo', id);
        expect(filesIn()).toEqual([]);
        const after = await said();
        expect(after).not.toContain(RULE.rule);
        expect(after).not.toContain(WHEN);
      });
    }
  });
}
