import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../../src/core/guards.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
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
 * Runs that explore and plan with each of the four real clients: they read, they change nothing, a limit ends them with
 * what they have, and a plan has something looked up one level deep.
 */

const suite = await offlineSuite();

setDefaultTimeout(240_000);

/** Two clients start one behind the other, beside another suite. */
const APPEARS_WITHIN_MS = 120_000;
const FOUND = 'FILES FOUND\nbridge.txt:1-1\nPATTERNS\n(none)\nCONVENTIONS\n(none)';
const PARTIAL = 'Only bridge.txt was seen before the limit.';
const SECTIONS = ['Task Analysis', 'Interface Specification', 'Architecture', 'Implementation Steps'];
const PLAN = [...SECTIONS, 'Verification Strategy', 'Success Criteria']
  .map((name) => `## ${name}\n1. see bridge.txt`)
  .join('\n\n');

type Part = 'explore' | 'plan' | 'last' | 'other';

/** Who asks the model. A title is asked for without tools, and so is the last answer, which has none. */
function partOf(request: ModelRequest): Part {
  const words = JSON.stringify(request.body);
  if (words.includes('Sub-agent last answer.')) return 'last';
  if (toolNames(request).length === 0) return 'other';
  if (words.includes('has started to explore')) return 'explore';
  return words.includes('has started for one plan') ? 'plan' : 'other';
}

const say = (text: string): ModelAnswer => ({ kind: 'text', text });
const calls = (...all: ToolCall[]): ModelAnswer => ({ kind: 'calls', calls: all });

for (const name of CLIENT_NAMES) {
  suite(`${name}`, () => {
    const { model, read, write, command, agents, harmlessTools } = DIALECTS[name];
    let user: InstalledUser;
    let workspace: Workspace;
    let asked: Record<Part, ModelRequest[]>;
    const bridge = () => join(user.project, 'bridge.txt');
    const files = () => readdirSync(user.project).sort();

    /** Each part's answers in their order, and what it was asked. What is beyond them is a short text. */
    function play(answers: Partial<Record<Part, readonly ModelAnswer[]>>): void {
      const parts = { explore: [], plan: [], last: [], other: [] } as Record<Part, ModelRequest[]>;
      asked = parts;
      workspace.board.script = (request) => {
        const part = partOf(request);
        return answers[part]?.[parts[part].push(request) - 1] ?? say('done');
      };
    }

    /** Calls the built program, and gives its exit code and what it says as JSON. */
    async function call(kind: 'explore' | 'plan', ...words: string[]): Promise<{ code: number; said: Json }> {
      const flags = ['--json', '--context', 'none', '--client', name, '--model', model];
      const end = await user.attempt(kind, ...flags, ...words);
      if (end.kind !== 'exited') throw new Error(`It did not end: ${JSON.stringify(end)}`);
      if (!end.stdout.startsWith('{')) throw new Error(`It said no JSON: ${end.stdout} ${end.stderr}`);
      return { code: end.code, said: JSON.parse(end.stdout) as Json };
    }

    const offered = (part: Part) => [...new Set(asked[part].flatMap(toolNames))].sort();

    beforeAll(async () => {
      user = await makeUser(name);
      ({ workspace } = user);
      await writeFile(bridge(), 'line one\n');
      await user.program('install', '--client-version', '2.1.328');
      // Whatever a run may do besides: it is the profile that keeps these from it.
      const settings = { language: 'en', tools: { subagents: { allow: ['edit', 'exec', 'web_fetch'] } } };
      await writeFile(pathsOf(workspace.home).config, JSON.stringify(settings));
    });
    beforeEach(() => play({}));
    afterAll(() => workspace.remove());

    test('explores: reads a file, and answers with what it has read', async () => {
      play({ explore: [calls(read(bridge())), say(FOUND)] });
      const { code, said } = await call('explore', 'Where is the bridge?');
      expect({ code, status: said.status, output: said.output }).toEqual({
        ...{ code: 0, status: 'completed', output: FOUND },
      });
      const [first, ...more] = asked.explore.map(({ body }) => JSON.stringify(body));
      expect(first).toContain('Task: Where is the bridge?\\n\\nContext:\\nNone');
      expect(more.join()).toContain('line one');
      expect(JSON.stringify(said.artifacts)).toContain('bridge.txt');
      expect(asked.last).toEqual([]);
      expect(await processesOf(workspace)).toEqual([]);
    });

    test('explores: what would change something is refused in the run, whatever its model asks for', async () => {
      const made = join(user.project, 'made.txt');
      const before = files();
      const wanted = [
        write(made),
        command(`echo x > '${made}'`),
        ...agents,
        USAGE[name].call('explore', { query: 'x' }),
      ];
      play({ explore: [...wanted.map((one) => calls(one)), say(FOUND)] });
      const { said } = await call('explore', 'Make a file.');
      expect(said.status).toBe('completed');
      expect(files()).toEqual(before);
      expect(existsSync(made)).toBe(false);
      const reading =
        name === 'codex'
          ? ['apply_patch', 'exec_command', 'update_plan', 'view_image', 'write_stdin']
          : harmlessTools;
      expect(offered('explore').filter((tool) => ![...reading, 'TodoWrite'].includes(tool))).toEqual([]);
      expect(asked.plan).toEqual([]);
    });

    test('explores: a limit ends it, and what it has is asked for without tools, in its session', async () => {
      const look = calls(read(bridge()));
      play({ explore: [look, look, { kind: 'hang' }], last: [say(PARTIAL)] });
      const { code, said } = await call('explore', '--max-iterations', '1', 'Where is the bridge?');
      expect({ code, status: said.status, output: said.output }).toEqual({
        ...{ code: 6, status: 'incomplete', output: PARTIAL },
      });
      expect(JSON.stringify(said.errors)).toContain('limit reached: 1 calls of tools');
      expect(asked.last.length).toBeGreaterThan(0);
      // Codex offers its one tool that writes always; the sandbox refuses it.
      expect(offered('last').filter((tool) => tool !== 'apply_patch')).toEqual([]);
      expect(JSON.stringify(asked.last.at(-1)?.body)).toContain('Where is the bridge?');
      expect(await processesOf(workspace)).toEqual([]);
    });

    test('explores: an error of the service makes it a failure, and no partial answer is asked for', async () => {
      play({
        explore: Array.from({ length: 40 }, () => ({
          kind: 'refuse',
          status: 400,
          message: 'no bridges today',
        })),
      });
      const { code, said } = await call('explore', '--timeout', '100', 'Where is the bridge?');
      expect({ code, status: said.status, output: said.output }).toEqual({
        code: 1,
        status: 'failed',
        output: '',
      });
      expect(String(said.text)).toStartWith('Exploration failed: ');
      expect(asked.last).toEqual([]);
    });

    test('explores: a stop cancels it, and nothing of it is left', async () => {
      play({ explore: [{ kind: 'hang' }] });
      const ended = call('explore', 'Where is the bridge?');
      await waitUntil(() => asked.explore.length > 0);
      await user.program('subagents', 'stop', 'all');
      const { code, said } = await ended;
      expect({ code, status: said.status }).toEqual({ code: 7, status: 'cancelled' });
      expect(asked.last).toEqual([]);
      expect(await processesOf(workspace)).toEqual([]);
    });

    test('plans: has something looked up by a run of its own, one level deep, and nothing else started', async () => {
      const { call: use, nameOf } = USAGE[name];
      play({
        plan: [
          calls(read(bridge())),
          calls(use('explore', { query: 'Where is the bridge?' })),
          calls(use('sessions_spawn', { task: 'Build it.' })),
          say(PLAN),
        ],
        explore: [calls(use('explore', { query: 'deeper' })), calls(read(bridge())), say(FOUND)],
      });
      const { code, said } = await call('plan', 'Build a bridge.');
      expect({ code, status: said.status, output: said.output }).toEqual({
        ...{ code: 0, status: 'completed', output: PLAN },
      });
      const ours = ['explore', 'plan', 'sessions_spawn', 'sessions_list', 'subagents', 'agents_list'].map(
        nameOf,
      );
      // Codex has what a server offers found by a search; it finds no more than it may call.
      const named = name === 'codex' ? [] : [nameOf('explore')];
      expect(offered('plan').filter((tool) => ours.includes(tool))).toEqual(named);
      expect(offered('explore').filter((tool) => ours.includes(tool))).toEqual([]);
      expect(asked.explore.length).toBeGreaterThan(1);
      expect(JSON.stringify(asked.plan.at(-1)?.body)).toContain('=== EXPLORATION RESULTS ===');
      const rows = withRuns(pathsOf(workspace.home), (db) =>
        db.all(
          "SELECT json_extract(profile, '$.kind') AS kind, client FROM runs ORDER BY created_at DESC LIMIT 2",
        ),
      );
      expect(rows).toEqual([
        { kind: 'explore', client: name },
        { kind: 'plan', client: name },
      ]);
      expect(await processesOf(workspace)).toEqual([]);
    });

    test('plans: a stop ends what it has looked up as well, and nothing is left', async () => {
      play({
        plan: [calls(USAGE[name].call('explore', { query: 'Where is the bridge?' })), { kind: 'hang' }],
        explore: [{ kind: 'hang' }],
      });
      const ended = call('plan', 'Build a bridge.');
      await waitUntil(() => asked.explore.length > 0);
      expect(asked.explore).toHaveLength(1);
      await user.program('subagents', 'stop', 'all');
      const { code, said } = await ended;
      expect({ code, status: said.status }).toEqual({ code: 7, status: 'cancelled' });
      expect(await processesOf(workspace)).toEqual([]);
      const states = withRuns(pathsOf(workspace.home), (db) =>
        db.all('SELECT DISTINCT state FROM (SELECT state FROM turns ORDER BY position DESC LIMIT 2)'),
      );
      expect(states).toEqual([{ state: 'stopped' }]);
    });
  });
}

async function waitUntil(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + APPEARS_WITHIN_MS;
  while (Date.now() < deadline && !isSo()) await Bun.sleep(50);
}
