import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord, type Json, parseJson } from '../../src/core/guards.ts';
import { requesterKey } from '../../src/runs/model/run.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { pathExists, readTextFile } from '../../src/system/runtime-bun.ts';
import { ended } from '../runs/store/made-up.ts';
import { CLIENT_NAMES } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { treeBelow } from '../support/tree.ts';
import { textsOf } from './checks.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { USAGE } from './mcp-users.ts';
import { offlineSuite } from './offline.ts';
import { type ModelRequest, type Script, toolNames } from './one-shot-model.ts';
import { marksOf, type Workspace } from './one-shot-workspace.ts';

/** The four real clients after `install --mcp`, and a scripted model; nothing can leave the machine. */

const suite = await offlineSuite();

setDefaultTimeout(180_000);

const PRINTING = ['-p', '--output-format', 'json'];
const TOOLS = [
  ...[
    'sessions_spawn',
    'sessions_list',
    'sessions_history',
    'sessions_send',
    'agents_list',
    'subagents',
    'known_errors',
  ],
];

const asText = (request: ModelRequest | undefined) =>
  textsOf(request?.body).join('\n') + JSON.stringify(request?.body ?? {});
const toolsIn = ({ body }: ModelRequest = { body: {} } as ModelRequest) =>
  Array.isArray(body.tools) ? body.tools.filter(isRecord) : [];
/** A session's title is asked for without tools, by some clients before anything else. */
const isTalk = (request: ModelRequest) => toolNames(request).length > 0;

for (const name of CLIENT_NAMES) {
  suite(`install --mcp for ${name}`, () => {
    const usage = USAGE[name];
    let user: InstalledUser;
    let workspace: Workspace;
    let before: Record<string, string> = {};
    const state = (...names: string[]) => join(workspace.home, '.self-generation', ...names);
    /** Runs the client; the model answers by the script once it is really asked. */
    async function talk(prompt: string, script: Script, args?: readonly string[]) {
      let asked = 0;
      const title = { kind: 'text', text: 'a title' } as const;
      const answer: Script = (request) => (isTalk(request) ? script(request, asked++) : title);
      const run = await user.talk(prompt, answer, args);
      return { stdout: run.stdout, talk: run.asked.filter(isTalk) };
    }

    const calls =
      (...tools: readonly (readonly [string, Json])[]): Script =>
      (_request, index) => {
        const [tool, input] = tools[index] ?? [];
        return tool === undefined || input === undefined
          ? { kind: 'text', text: 'done' }
          : { kind: 'calls', calls: [usage.call(tool, input)] };
      };

    beforeAll(async () => {
      user = await makeUser(name);
      ({ workspace } = user);
      before = treeBelow(workspace.home);
      await user.program('install', '--mcp', name, '--client-version', '2.1.328');
      // What the client says first, and what it starts the server with, is taken down on the way.
      await rename(state('hooks', 'self-generation'), state('hooks', 'real'));
      const [log, environment] = [join(workspace.root, 'said.log'), join(workspace.root, 'environment.log')];
      const tee = `#!/bin/sh\n[ "$1" != hook ] || [ ! -e '${join(workspace.root, 'no-hooks')}' ] || exit 0\n[ "$1" = mcp ] || exec '${state('hooks', 'real')}' "$@"\nenv > '${environment}'\ntee -a '${log}' | '${state('hooks', 'real')}' mcp\n`;
      await writeFile(state('hooks', 'self-generation'), tee);
      await chmod(state('hooks', 'self-generation'), 0o700);
    });
    afterAll(() => workspace.remove());

    test('the model is told of the tools, calls them, and gets the answers', async () => {
      const run = await talk('hello', calls(['agents_list', {}], ['sessions_list', { limit: 5 }]));
      expect(run.talk).toHaveLength(3);
      const [first, second, third] = run.talk.map(asText);
      if (name === 'claude') {
        // The others are found by its tool search.
        const offered = toolsIn(run.talk[0]).filter(({ name }) => String(name).startsWith('mcp__'));
        const names = ['sessions_spawn', 'sessions_send', 'subagents', 'known_errors'].map(usage.nameOf);
        expect(offered.map((tool) => tool.name).toSorted()).toEqual(names.toSorted());
        expect(offered.find((tool) => tool.name === names[0])).toMatchObject({
          input_schema: { type: 'object', required: ['task'], properties: { task: { type: 'string' } } },
        });
      }
      if (name === 'codex') expect(first).toContain('mcp__self_generation');
      else for (const tool of TOOLS) expect(first).toContain(usage.nameOf(tool));
      expect(second?.replaceAll('\\', '')).toContain('"requester":"main","allowAny":false');
      expect(third?.replaceAll('\\', '')).toContain('"count":0,"sessions":[]');
      const said = (await readFile(join(workspace.root, 'said.log'), 'utf8')).split('\n');
      const hello = said.map(parseJson).find((one) => isRecord(one) && one.method === 'initialize');
      expect(hello).toMatchObject({ params: { clientInfo: { name: usage.connectsAs } } });
    });

    test('what waits stands in the next request to the model, and only there', async () => {
      const paths = pathsOf(workspace.home);
      const key = requesterKey(user.project, { readTextFile, pathExists });
      // Otherwise Claude Code's hook is faster.
      await writeFile(join(workspace.root, 'no-hooks'), '');
      const tells = { result: 'forty-two bugs', stats: 'Stats: runtime 5m12s • sessionKey x' };
      withRuns(paths, (db) => ended(db, { key }, tells));
      const script = calls(['agents_list', {}], ['sessions_list', { includeArchived: true }]);
      const run = await talk('hello', script);
      const [first, second] = run.talk.map(asText);
      expect(first).not.toContain('forty-two bugs');
      expect(second).toContain('forty-two bugs');
      expect(second).toContain('Stats: runtime 5m12s');
      const rows = withRuns(paths, (db) => db.all('SELECT state, attempts FROM outbox'));
      expect(rows).toEqual([{ state: 'acked', attempts: 1 }]);
      const session = /"session_id":"([^"]+)"/.exec(run.stdout)?.[1];
      const environment = await readFile(join(workspace.root, 'environment.log'), 'utf8');
      expect(environment.includes(`CLAUDE_CODE_SESSION_ID=${session}\n`)).toBe(name === 'claude');
      expect(environment.includes('CLAUDE_CODE_SESSION_ID')).toBe(name === 'claude');
    });

    if (name === 'claude') {
      for (const [prompt, answer] of [
        ['/subagents list', 'Active: 0 · Done: 1'],
        ['/stop', 'Stopped 0 subagents.'],
      ] as const) {
        test(`${prompt} is answered without a request to a model`, async () => {
          await rm(join(workspace.root, 'no-hooks'), { force: true });
          const run = await user.talk(prompt, () => ({ kind: 'text', text: 'asked' }), PRINTING);
          expect(run.asked).toEqual([]);
          const { result, num_turns: turns } = JSON.parse(run.stdout);
          expect(result).toContain(answer);
          expect(turns).toBe(0);
          await writeFile(join(workspace.root, 'no-hooks'), '');
        });
      }

      test('/subagents hands what is typed to the tool where no hook answers, and nothing of it to a shell', async () => {
        const touch = (mark: string) => `touch '${join(workspace.marks, mark)}'`;
        const words = `list !\`${touch('bang')}\` $(${touch('substituted')}); ${touch('next')} \`${touch('ticks')}\``;
        const run = await talk(`/subagents ${words}`, calls(['subagents', { action: 'list' }]), PRINTING);
        expect(asText(run.talk[0])).toContain('ARGUMENTS: list');
        expect(asText(run.talk[0])).toContain("$(touch '");
        expect(asText(run.talk[1]).replaceAll('\\', '')).toContain('"active":0,"done":');
        expect(marksOf(workspace)).toEqual([]);
      });
    }

    test('uninstall leaves the user with what was there before', async () => {
      await rm(state('hooks', 'self-generation'));
      await rename(state('hooks', 'real'), state('hooks', 'self-generation'));
      await user.program('uninstall', '--purge');
      const left = treeBelow(workspace.home);
      for (const file of Object.keys(usage.files)) {
        if (file !== '.claude.json') expect(left[file]).toBe(before[file] ?? '');
      }
      // Claude Code keeps its own books in that file: of ours nothing is left in it.
      const books = left['.claude.json'] ?? '';
      expect(books).not.toContain('self-generation');
      expect(Object.keys(left).filter((path) => path.startsWith('.self-generation'))).toEqual([]);
      expect(left['.claude/commands/subagents.md']).toBeUndefined();
    });
  });
}
