import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../../src/core/guards.ts';
import { PLAN_SECTIONS } from '../../src/runs/context/plan.ts';
import { listPlans } from '../../src/runs/context/plan-store.ts';
import { CLIENT_NAMES } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { USAGE } from './mcp-users.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { type ModelAnswer, type ModelRequest, toolNames } from './one-shot-model.ts';
import { processesOf, type Workspace } from './one-shot-workspace.ts';
import { DIALECTS } from './runs-dialects.ts';

/**
 * explore and plan as a person uses them, with each of the four real clients: what an answer rests on, several agents at
 * once, a plan that is decided on at a terminal, Ctrl-C; and explore as a tool of a session.
 */

const suite = await offlineSuite();

setDefaultTimeout(240_000);

const WITHIN_MS = 60_000;
const planOf = (words: string) => PLAN_SECTIONS.map((name) => `## ${name}\n1. ${words}`).join('\n\n');
const say = (text: string): ModelAnswer => ({ kind: 'text', text });
const calls = (...all: ToolCall[]): ModelAnswer => ({ kind: 'calls', calls: all });
const textOf = ({ body }: ModelRequest) => JSON.stringify(body);

for (const name of CLIENT_NAMES) {
  suite(`${name}`, () => {
    const { model, read } = DIALECTS[name];
    let user: InstalledUser;
    let workspace: Workspace;
    let explored: ModelRequest[];
    const bridge = () => join(user.project, 'bridge.txt');
    const flags = ['--context', 'none', '--client', name, '--model', model];
    const plans = () => listPlans(null, pathsOf(workspace.home));

    /** Explore agents read the bridge and then say this; a plan agent writes what is decided by its words. */
    function play(
      found: string,
      plan: (request: ModelRequest) => ModelAnswer = () => say(planOf('build')),
    ): void {
      explored = [];
      workspace.board.script = (request) => {
        const words = textOf(request);
        if (toolNames(request).length === 0) return say('done');
        if (words.includes('has started to explore')) {
          explored.push(request);
          return words.includes('line two') ? say(found) : calls(read(bridge()));
        }
        return words.includes('has started for one plan') ? plan(request) : say('done');
      };
    }

    beforeAll(async () => {
      user = await makeUser(name);
      ({ workspace } = user);
      await writeFile(bridge(), 'line one\nline two\nline three\n');
      await user.program('install', '--client-version', '2.1.328');
      await writeFile(pathsOf(workspace.home).config, JSON.stringify({ language: 'en' }));
    });
    beforeEach(() => play('done'));
    afterAll(() => workspace.remove());

    test('an answer names the files that were read with their lines, and marks the others', async () => {
      play('FILES FOUND\n- bridge.txt:2 holds it\n- src/tower.ts:10-20 looks like it');
      const said = JSON.parse(
        await user.program('explore', '--json', ...flags, 'Where is the bridge?'),
      ) as Json;
      expect(said).toMatchObject({
        status: 'completed',
        output: 'FILES FOUND\n- bridge.txt:2 holds it\n- src/tower.ts:10-20 (unverified) looks like it',
        artifacts: { filesRead: [{ path: bridge(), lines: [{ from: 1 }] }], explorationDepth: 1 },
        errors: [],
      });
      expect(said.executionTimeMs).toBeGreaterThan(0);
      expect((said.tokenUsage as Json).input).toBeGreaterThan(0);
      expect((said.toolCalls as Json[]).length).toBeGreaterThan(0);
      expect(await processesOf(workspace)).toEqual([]);
    });

    test('plan --explore 2 has two agents look at once, and the plan is made of what they found', async () => {
      const asked: string[] = [];
      play('The bridge has lines.', (request) => {
        asked.push(textOf(request));
        return say(planOf('build'));
      });
      const said = JSON.parse(
        await user.program('plan', '--json', '--explore', '2', ...flags, 'Build a bridge.'),
      ) as Json;
      expect(said).toMatchObject({ status: 'completed', output: planOf('build'), plan: { lacking: [] } });
      expect(asked.join().match(/The bridge has lines\./g)).toHaveLength(2);
      const starts = JSON.parse(await user.program('subagents', 'list', '--json')).runs as Json[];
      const times = starts.map(({ startedAt, endedAt }) => [
        Date.parse(String(startedAt)),
        Date.parse(String(endedAt)),
      ]);
      const [, first = [0, 0], second = [0, 0]] = times;
      expect(Math.max(first[0] ?? 0, second[0] ?? 0)).toBeLessThan(Math.min(first[1] ?? 0, second[1] ?? 0));
      expect(await processesOf(workspace)).toEqual([]);
    });

    test('what a plan has had explored counts as read, with its lines', async () => {
      const { call } = USAGE[name];
      const asks = calls(call('explore', { query: 'Where is the bridge?' }));
      play('bridge.txt:2 has it', (request) =>
        textOf(request).includes('EXPLORATION RESULTS ===') ? say(planOf('build')) : asks,
      );
      const said = JSON.parse(await user.program('plan', '--json', ...flags, 'Build a bridge.')) as Json;
      expect(said).toMatchObject({
        status: 'completed',
        artifacts: { filesRead: [{ path: bridge(), lines: [{ from: 1 }] }], toolCallsCount: 1 },
      });
    });

    test('a plan is drafted, refined in the same session and approved, on a terminal', async () => {
      play('', (request) =>
        say(planOf(textOf(request).includes('Name the tests') ? 'the second' : 'the first')),
      );
      await using terminal = user.onTerminal('plan', ...flags, 'Build a bridge.');
      await shows(terminal, 'version 1 · approve');
      expect(terminal.shown()).toContain('1. the first');
      terminal.type('Name the tests\r');
      await shows(terminal, 'version 2 · approve');
      expect(terminal.shown()).toContain('1. the second');
      terminal.type('approve\r');
      expect(await terminal.exited).toBe(0);
      const [plan] = plans();
      expect(plan).toMatchObject({ status: 'approved', current: 2, versions: [{ turn: 1 }, { turn: 2 }] });
      expect(new Set(plan?.versions.map(({ runId }) => runId)).size).toBe(1);
      expect(readFileSync(plan?.approved?.file ?? '', 'utf8')).toEndWith(`---\n\n${planOf('the second')}\n`);
    });

    test('Ctrl-C ends what explores, and leaves no process', async () => {
      workspace.board.script = (request) => {
        if (textOf(request).includes('has started to explore')) explored.push(request);
        return { kind: 'hang' };
      };
      await using terminal = user.onTerminal('explore', ...flags, 'Where is the bridge?');
      await until(() => explored.length > 0, terminal.shown);
      terminal.type('\x03');
      expect(await terminal.exited).toBe(130);
      expect(terminal.shown()).toContain('Exploration failed: stopped by Ctrl-C');
      await until(async () => (await processesOf(workspace)).length === 0, terminal.shown);
    });

    test('explore is a tool of a session of the client, and answers with the words of the result', async () => {
      play('bridge.txt:1 has it');
      await user.program('install', '--mcp', name, '--client-version', '2.1.328');
      const inner = workspace.board.script;
      const query = { query: 'Where is the bridge?', client: name, model, timeoutSeconds: 40 };
      let turns = 0;
      const { asked } = await user.talk('Ask for the bridge.', (request, index) => {
        const isOfAgent = textOf(request).includes('has started to explore');
        if (isOfAgent || toolNames(request).length === 0) return inner(request, index);
        return turns++ === 0 ? calls(USAGE[name].call('explore', query)) : say('done');
      });
      const told = asked.map(textOf).join('\n');
      expect(told.includes('=== EXPLORATION RESULTS ===')).toBe(true);
      expect(told.includes('bridge.txt:1 has it')).toBe(true);
    });
  });
}

const shows = (terminal: { readonly shown: () => string }, words: string) =>
  until(() => terminal.shown().includes(words), terminal.shown);

async function until(holds: () => boolean | Promise<boolean>, shown: () => string): Promise<void> {
  const endMs = Date.now() + WITHIN_MS;
  while (!(await holds())) {
    if (Date.now() > endMs) throw new Error(`Waited in vain; it shows: ${shown()}`);
    await Bun.sleep(50);
  }
}
