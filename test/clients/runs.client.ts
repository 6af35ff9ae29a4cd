import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../../src/core/guards.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { USAGE } from './mcp-users.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { type ModelAnswer, type ModelRequest, toolNames } from './one-shot-model.ts';
import { processesNow, processesOf, type Workspace } from './one-shot-workspace.ts';
import { DIALECTS } from './runs-dialects.ts';

/**
 * A run from beginning to end with each of the four real clients, which is both the requester and the sub-agent: the
 * requester's model calls `sessions_spawn`, the sub-agent works, puts its result into words, and the words stand in the
 * requester's next request.
 */

const suite = await offlineSuite();

setDefaultTimeout(240_000);

const APPEARS_WITHIN_MS = 30_000;
const REQUESTER = '[[the requester]]';
const TASK = 'Look whether the bridge holds.';
const FOUND = 'The bridge holds, as far as it was looked at.';
const ANNOUNCED = 'The bridge holds: said in the announce step.';
const RULES = 'Bridges are walked over, never driven over.';
const SENT = '[[sent later]]';
const MISSING = '/nonexistent-bridge';

/** Who may only look, where who approves of everything may do everything. */
const LOOKING_ARGS: Partial<Record<ClientName, readonly string[]>> = {
  codex: [
    ...['exec', '--json', '--skip-git-repo-check', '--model', 'some-other-model', '--sandbox', 'read-only'],
    ...['-c', 'mcp_servers.self-generation.default_tools_approval_mode="approve"', '-'],
  ],
};

type Part = 'requester' | 'child' | 'announce step' | 'other';

/** Everything that a request says, as JSON; quotes and lines as they are. */
const everything = (request: ModelRequest | undefined) =>
  JSON.stringify(request?.body ?? {})
    .replaceAll('\\\\', '\\')
    .replaceAll('\\n', '\n')
    .replaceAll('\\', '');

/** Who asks the model. A title is asked for without tools; so is the announce step, which has none. */
function partOf(request: ModelRequest): Part {
  const words = everything(request);
  const hasTools = toolNames(request).length > 0;
  if (words.includes(REQUESTER)) return hasTools ? 'requester' : 'other';
  // What was sent later comes after the announce step of what was done before.
  if (words.lastIndexOf('Sub-agent announce step.') > words.lastIndexOf(SENT)) return 'announce step';
  return words.includes('[Subagent Task]') && hasTools ? 'child' : 'other';
}

/** Each part's answers in their order; what is beyond them, and what is neither, is a short text. */
function play(
  answers: Partial<Record<Part, readonly ModelAnswer[]>>,
): (request: ModelRequest) => ModelAnswer {
  const asked: Record<Part, number> = { requester: 0, child: 0, 'announce step': 0, other: 0 };
  return (request) => {
    const part = partOf(request);
    return answers[part]?.[asked[part]++] ?? { kind: 'text', text: 'done' };
  };
}

const say = (text: string): ModelAnswer => ({ kind: 'text', text });
const call = (one: ToolCall): ModelAnswer => ({ kind: 'calls', calls: [one] });

for (const name of CLIENT_NAMES) {
  suite(`a sub-agent of ${name}`, () => {
    const usage = USAGE[name];
    const { model, command, write } = DIALECTS[name];
    let user: InstalledUser;
    let workspace: Workspace;
    let project: string;
    let program: InstalledUser['program'];
    const paths = () => pathsOf(workspace.home);
    /** Runs the requester's client once; what was asked of the model meanwhile, by part. */
    async function talk(
      prompt: string,
      answers: Partial<Record<Part, readonly ModelAnswer[]>>,
      args = usage.approving,
    ): Promise<Record<Part, readonly ModelRequest[]>> {
      const { asked } = await user.talk(`${REQUESTER} ${prompt}`, play(answers), args);
      const parts: Part[] = ['requester', 'child', 'announce step', 'other'];
      const byPart = parts.map((part) => [part, asked.filter((one) => partOf(one) === part)]);
      return Object.fromEntries(byPart);
    }

    /** As the user has it, in a terminal of their own. */
    function configure(allow: readonly string[]): Promise<void> {
      const subagents = name === 'claude' ? {} : { model };
      const agents = { defaults: { subagents } };
      const settings = { language: 'en', agents, tools: { subagents: { allow } } };
      return writeFile(paths().config, JSON.stringify(settings));
    }

    beforeAll(async () => {
      user = await makeUser(name);
      ({ workspace, project, program } = user);
      await writeFile(join(project, 'AGENTS.md'), RULES);
      await program('install', '--mcp', name, '--client-version', '2.1.328');
      await configure(['edit', 'exec']);
    });
    afterAll(() => workspace.remove());

    test('is started by the requester’s model, works, announces, and its words are in the requester’s next request', async () => {
      const asked = await talk('look at the bridge', {
        requester: [
          call(usage.call('sessions_spawn', { task: TASK, label: 'bridge' })),
          call(usage.call('subagents', { action: 'wait', target: 'all', timeoutSeconds: 120 })),
          call(usage.call('sessions_list', {})),
        ],
        child: [call(command(`ls ${MISSING}`)), say(FOUND)],
        'announce step': [say(`Result:\n${ANNOUNCED}\n\nNotes:\n- looked once`)],
      });

      // What the sub-agent was told, once, and what it could do.
      const [first, ...later] = asked.child;
      expect(everything(first)).toContain(TASK);
      expect(everything(first)).toContain(RULES);
      expect(later.length).toBeGreaterThan(0);
      const offered = asked.child.flatMap(toolNames);
      const starting = /(?:^|_)(?:sessions_spawn|subagents|[Tt]ask|Agent|invoke_agent|spawn_agent)$/;
      expect(offered.filter((tool) => starting.test(tool))).toEqual([]);
      // The announce step goes on in the session of the work.
      expect(asked['announce step'].length).toBeGreaterThan(0);
      expect(everything(asked['announce step'][0])).toContain(FOUND);

      // The requester is told at once that it was accepted, and of the result with one of its next answers.
      const [, accepted, ...next] = asked.requester.map(everything);
      expect(accepted).toContain('"status":"accepted"');
      expect(accepted).not.toContain(ANNOUNCED);
      const told = next.at(-1) ?? '';
      expect(told).toContain('Status: success');
      expect(told).toContain(`Result:\n${ANNOUNCED}`);
      expect(told).toContain('Notes:\n- looked once');
      expect(told).toMatch(/Stats: runtime \d+s • tokens [\d.]+k? \(in /);
      expect(told.split(ANNOUNCED)).toHaveLength(2);
      const rows = withRuns(paths(), (db) => db.all('SELECT attempts FROM outbox'));
      expect(rows).toEqual([{ attempts: 1 }]);
      expect(await processesOf(workspace)).toEqual([]);
    });

    test('has its failed tool recorded with the project', () => {
      using db = new Database(paths().database, { readonly: true });
      const sql = "SELECT project_path, data FROM events WHERE type = 'tool_error'";
      const rows = db.query(sql).all() as Json[];
      expect(rows.map(({ project_path }) => project_path)).toContain(project);
      expect(rows.map(({ data }) => String(data)).join('\n')).toContain('nonexistent-bridge');
    });

    test('goes on in its session when it is sent a message', async () => {
      workspace.board.script = play({
        child: [say('It still holds.')],
        'announce step': [say('Result:\nstill\n\nNotes:\n- (none)')],
      });
      const from = workspace.board.model.requests.length;
      const sent = await program('subagents', 'send', '1', `${SENT} And now?`, '--json');
      expect(sent).toContain('It still holds.');
      const asked = workspace.board.model.requests.slice(from).filter((one) => partOf(one) === 'child');
      expect(everything(asked[0])).toContain(FOUND);
      expect(everything(asked[0])).toContain('And now?');
      await program('subagents', 'wait', 'all');
    });

    test('is stopped while it works, and nothing of it is left', async () => {
      workspace.board.script = play({ child: [call(command('sleep 333'))] });
      await program('subagents', 'spawn', '--label', 'sleeper', '--cli', name, 'Sleep.');
      await waitUntil(() => processesNow(workspace.root).some(({ words }) => words.includes('sleep 333')));
      expect(await program('subagents', 'stop', 'sleeper')).toContain('Stopped 1 subagent.');
      expect(await processesOf(workspace)).toEqual([]);
      const info = JSON.parse(await program('subagents', 'info', 'sleeper', '--json')) as Json;
      expect(info.status).toBe('stopped');
    });

    test('has the permissions of its requester’s session, where the client says what these are', async () => {
      const info = JSON.parse(await program('subagents', 'info', '1', '--json')) as Json;
      expect(info.permissions).toMatchObject({ mode: name === 'codex' ? 'all' : 'default' });
    });

    test('does no more than its requester may, and after one grant what it was refused', async () => {
      const file = join(project, 'granted.txt');
      const told = async () => {
        const play = {
          requester: [
            call(usage.call('sessions_spawn', { task: `Make a file ${crypto.randomUUID()}.` })),
            call(usage.call('subagents', { action: 'wait', target: 'all', timeoutSeconds: 120 })),
            call(usage.call('sessions_list', {})),
          ],
          child: [call(write(file)), say(FOUND)],
          'announce step': [say(`Result:\n${ANNOUNCED}\n\nNotes:\n- (none)`)],
        };
        const asked = await talk('have a file made', play, LOOKING_ARGS[name]);
        return everything(asked.requester.at(-1));
      };
      await configure([]);
      const refused = await told();
      expect(refused).toContain('Not permitted in default mode:');
      expect(existsSync(file)).toBe(false);
      const [, setting = ''] = /config set tools\.subagents\.allow '(\[.*?\])'/.exec(refused) ?? [];
      await configure(JSON.parse(setting) as string[]);
      expect(await told()).not.toContain('Not permitted');
      expect(readFileSync(file, 'utf8').trim()).toBe('x');
    });

    if (name === 'claude') {
      test('is announced by the hook of the next call to the session whose shell started it', async () => {
        await program('install', '--hooks=per-call', '--client-version', '2.1.328');
        // The call ends when the run has something to tell, and is not told by it.
        const spawn = `'${paths().binary}' subagents spawn --label hooked '${TASK}'; sleep 15`;
        const asked = await talk('start it in the shell', {
          requester: [call({ name: 'Bash', input: { command: spawn, description: 'x', timeout: 120_000 } })],
          child: [say(FOUND)],
          'announce step': [say(`Result:\n${ANNOUNCED}\n\nNotes:\n- by the hook`)],
        });
        const after = everything(asked.requester.at(-1));
        expect(after).toContain('Notes:\n- by the hook');
        expect(after).toContain('BEGIN_UNTRUSTED_CHILD_RESULT');
      });

      test('reports to the command that waits for it, and to nobody else', async () => {
        const spawn = `'${paths().binary}' subagents spawn --wait --label waited 'Once more: ${TASK}'`;
        const asked = await talk('wait for it in the shell', {
          requester: [call({ name: 'Bash', input: { command: spawn, description: 'x', timeout: 120_000 } })],
          child: [say(FOUND)],
          'announce step': [say(`Result:\n${ANNOUNCED}\n\nNotes:\n- to who waits`)],
        });
        const after = everything(asked.requester.at(-1));
        expect(after.split('- to who waits')).toHaveLength(2);
        expect(after).not.toContain('BEGIN_UNTRUSTED_CHILD_RESULT');
      });
    }
  });
}

async function waitUntil(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + APPEARS_WITHIN_MS;
  while (Date.now() < deadline && !isSo()) await Bun.sleep(50);
}
