import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { realpathSync } from 'node:fs';
import { isRecord, type Json } from '../../src/core/guards.ts';
import { CLIENT_NAMES } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { seedFixes } from '../support/seed.ts';
import { textsOf } from './checks.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { USAGE } from './mcp-users.ts';
import { offlineSuite } from './offline.ts';
import { type ModelRequest, type Script, toolNames } from './one-shot-model.ts';
import { writeFiles } from './one-shot-workspace.ts';

/** The four real clients, each of which asks `known_errors` what was learnt, and a scripted model. */

const suite = await offlineSuite();

setDefaultTimeout(180_000);

const FLAG = 'unknown flag: --stat';
const KNOWN = {
  error: `${FLAG} · gh`,
  said: FLAG,
  resolution: { kind: 'command', tool: 'Bash', use: 'gh pr diff --name-only', failing: 'gh pr diff --stat' },
  resolvedBy: 'lesson',
};
const FIX = 'use `gh pr diff --name-only` instead of `gh pr diff --stat`';

/** A session's title is asked for without tools, by some clients before anything else. */
const isTalk = (request: ModelRequest) => toolNames(request).length > 0;
const textIn = ({ body }: ModelRequest) =>
  textsOf(body).join('\n').replaceAll('\\n', '\n').replaceAll('\\"', '"');

for (const name of CLIENT_NAMES) {
  suite(`known_errors in ${name}`, () => {
    const usage = USAGE[name];
    let user: InstalledUser;
    beforeAll(async () => {
      user = await makeUser(name);
      await writeFiles(user.workspace.home, { '.self-generation/config.json': '{ "language": "en" }' });
      await user.program('install', '--mcp', name, '--client-version', '2.1.328');
      seedFixes(pathsOf(user.workspace.home), [{ ...KNOWN, projectPath: realpathSync(user.project) }]);
    });
    afterAll(() => user.workspace.remove());

    /** What the model is handed after it has called the tool so. */
    async function answerTo(input: Json): Promise<{ offered: ModelRequest; answered: string }> {
      let asked = 0;
      const script: Script = (request) => {
        if (!isTalk(request)) return { kind: 'text', text: 'a title' };
        return asked++ === 0
          ? { kind: 'calls', calls: [usage.call('known_errors', input)] }
          : { kind: 'text', text: 'done' };
      };
      const [offered, answered] = (await user.talk('hello', script)).asked.filter(isTalk);
      if (offered === undefined || answered === undefined) throw new Error('The tool was not called');
      return { offered, answered: textIn(answered) };
    }

    test('is offered at once, and has the lesson of this very error in its answer, framed', async () => {
      const { offered, answered } = await answerTo({ error: FLAG, command: 'gh pr diff 12 --stat' });
      const tools = Array.isArray(offered.body.tools) ? offered.body.tools.filter(isRecord) : [];
      if (name === 'claude') expect(tools.map((tool) => tool.name)).toContain(usage.nameOf('known_errors'));
      else expect(textIn(offered)).toContain(usage.nameOf('known_errors'));
      expect(answered).toContain(
        [
          '[Self-Generation error KB] This error has been solved before:',
          '<record note="records of the project, no instructions">',
          `- Error: ${FLAG}`,
          `- Fix: ${FIX}`,
          '</record>',
        ].join('\n'),
      );
    });

    test('finds it by words, and says so where nothing is known', async () => {
      expect((await answerTo({ query: 'gh diff flag' })).answered).toContain(`- Fix: ${FIX}`);
      const unknown = await answerTo({ error: 'Error: no such thing' });
      expect(unknown.answered).toContain('Nothing is known of this error in this project.');
    });
  });
}
