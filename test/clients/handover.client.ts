import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { type Json, readRecord } from '../../src/core/guards.ts';
import { CLIENT_NAMES } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { textsOf } from './checks.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { USAGE } from './mcp-users.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { type ModelAnswer, type ModelRequest, toolNames } from './one-shot-model.ts';
import { processesOf, type Workspace } from './one-shot-workspace.ts';
import { DIALECTS } from './runs-dialects.ts';

/** What sub-agents are handed of the session in which each of the four real clients starts them, seen in their first requests. */

const suite = await offlineSuite();

setDefaultTimeout(300_000);

const SAID = 'The bridge over the Han is to carry trains.';
const DONE = 'said-by-a-tool-of-the-parent';
const OTHER = 'The tunnel under the Han is to carry ships.';
const SUMMARY = ['Requirements', 'Constraints', 'Decisions', 'Open Items', 'Files Touched']
  .map((name) => `## ${name}\n- ${name.toLowerCase()} of the bridge`)
  .join('\n');
const SUMMARISE = 'Summarise the conversation below';

/** All that a request says, as JSON; quotes and lines as they are. */
const everything = (request: ModelRequest | undefined) =>
  JSON.stringify(request?.body ?? {})
    .replaceAll('\\\\', '\\')
    .replaceAll('\\n', '\n')
    .replaceAll('\\', '');

const isChild = (request: ModelRequest) =>
  everything(request).includes('[Subagent Task]') && toolNames(request).length > 0;
const isSummary = (request: ModelRequest) => everything(request).includes(SUMMARISE);
const frames = (words: string) => words.match(/<\/?conversation-[0-9a-z]+>/g) ?? [];
const times = (words: string, word: string) => words.split(word).length - 1;

for (const name of CLIENT_NAMES) {
  suite(`a session of ${name} that starts sub-agents`, () => {
    const usage = USAGE[name];
    const { model, command } = DIALECTS[name];
    let user: InstalledUser;
    let workspace: Workspace;
    const requests = () => workspace.board.model.requests.filter(({ api }) => api !== 'other');

    /** The model of a session calls these tools one after the other; sub-agents have nothing to say. */
    function play(calls: readonly ToolCall[]): (request: ModelRequest) => ModelAnswer {
      let at = 0;
      return (request) => {
        if (isSummary(request)) return { kind: 'text', text: SUMMARY };
        const isParent = !isChild(request) && toolNames(request).length > 0;
        const one = isParent ? calls[at++] : undefined;
        return one === undefined ? { kind: 'text', text: 'done' } : { kind: 'calls', calls: [one] };
      };
    }

    /** What the parent was answered last, once all that it has started has ended. */
    async function talk(prompt: string, ...calls: readonly ToolCall[]): Promise<string> {
      const { asked } = await user.talk(prompt, play(calls), usage.approving);
      await user.program('subagents', 'wait', 'all');
      return everything(asked.filter((one) => !isChild(one) && toolNames(one).length > 0).at(-1));
    }

    /**
     * Codex' commands run in a login shell, which has a PATH of its own. Claude Code writes its transcript a moment later,
     * and no model calls as fast as this one.
     */
    const inShell = (...words: readonly string[]) => {
      const spawn = [pathsOf(workspace.home).binary, 'subagents', 'spawn', ...words];
      const path = `sleep 1; PATH='${workspace.root}/bin:${process.env.PATH}'`;
      return command(`${path} ${spawn.map((one) => `'${one}'`).join(' ')}`);
    };

    /** The prompt in the first request of the run with this task. */
    const firstOf = (task: string) =>
      requests()
        .filter(isChild)
        .flatMap(({ body }) => textsOf(body))
        .find((text) => text.includes(`[Subagent Task]\n${task}`)) ?? '';

    const reportOf = async (run: string) =>
      readRecord(JSON.parse(await user.program('subagents', 'info', run, '--json')) as Json, 'handover');

    beforeAll(async () => {
      user = await makeUser(name);
      ({ workspace } = user);
      await user.program('install', '--mcp', name, '--client-version', '2.1.328');
      const agents = { defaults: { subagents: name === 'claude' ? {} : { model } } };
      const settings = { language: 'en', agents, announce: { mode: 'raw' } };
      await writeFile(pathsOf(workspace.home).config, JSON.stringify(settings));
      await talk(
        SAID,
        command(`echo ${DONE}`),
        inShell('--context', 'full', 'Task in full'),
        inShell('Task of nothing'),
        usage.call('sessions_spawn', { task: 'Task of late', context: { mode: 'recent', recentN: 1 } }),
        // OpenCode ends at its own end whatever its servers have started.
        usage.call('subagents', { action: 'wait', target: 'all', timeoutSeconds: 120 }),
      );
    });
    afterAll(() => workspace.remove());

    test('hands all of that very session over once, in one frame, where its shell says so', async () => {
      const first = firstOf('Task in full');
      expect(frames(first)).toHaveLength(2);
      expect(times(first, `user: ${SAID}`)).toBe(1);
      expect(times(first, DONE)).toBe(2); // The call, and its result.
      expect(await reportOf('1')).toMatchObject({ mode: 'full', session: { client: name }, degraded: false });
      expect(await user.program('subagents', 'info', '1')).toContain('\nContext: full of session ');
    });

    test('hands nothing over where nobody asks for it', async () => {
      const first = firstOf('Task of nothing');
      expect(first).toContain('[Subagent Task]');
      for (const word of [SAID, DONE, '<conversation']) expect(first).not.toContain(word);
      expect(await user.program('subagents', 'info', '2')).not.toContain('\nContext: ');
    });

    test('hands its newest turn over where its model says so over MCP', async () => {
      const first = firstOf('Task of late');
      expect(frames(first)).toHaveLength(2);
      expect(times(first, `user: ${SAID}`)).toBe(1);
      expect(await reportOf('3')).toMatchObject({ mode: 'recent', session: { client: name } });
    });

    test('is known among others, or, where the client does not say which one asks, named', async () => {
      const answered = await talk(OTHER, inShell('--context', 'full', 'Task of the other'));
      const { id } = readRecord(await reportOf('1'), 'session');
      if (name === 'claude' || name === 'codex') {
        const first = firstOf('Task of the other');
        expect(times(first, `user: ${OTHER}`)).toBe(1);
        expect(first).not.toContain(SAID);
        expect(first).not.toContain(DONE);
      } else {
        expect(answered).toContain('Cannot tell whose conversation to hand over');
        expect(answered).toContain(String(id));
        expect(firstOf('Task of the other')).toBe('');
      }
      await talk('Once more.', inShell('--context', 'full', '--session', String(id), 'Task of the first'));
      expect(times(firstOf('Task of the first'), `user: ${SAID}`)).toBe(1);
      expect(firstOf('Task of the first')).not.toContain(OTHER);
    });

    test('is summarised by the model of the sub-agent, once for two of them', async () => {
      const { id } = readRecord(await reportOf('1'), 'session');
      workspace.board.script = play([]);
      const words = ['--cli', name, '--context', 'summary', '--session', String(id)];
      for (const task of ['Task one of the summary', 'Task two of the summary']) {
        await user.program('subagents', 'spawn', ...words, '--wait', task);
        const first = firstOf(task);
        expect(frames(first)).toHaveLength(2);
        expect(first).toContain('## Decisions\n  - decisions of the bridge\n');
        expect(first).not.toContain(SAID);
      }
      const [asked, ...again] = requests().filter(isSummary);
      expect(again).toEqual([]);
      expect(everything(asked)).toContain(`user: ${SAID}`);
      expect(await reportOf('last')).toMatchObject({ mode: 'summary', degraded: false, warnings: [] });
      expect(await processesOf(workspace)).toEqual([]);
    });
  });
}
