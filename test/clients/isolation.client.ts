import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientNamed } from '../../src/clients/clients.ts';
import type { StoredSession } from '../../src/clients/sessions.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { CLIENT_NAMES, type ClientName } from '../support/clients.ts';
import { pathsOf } from '../support/home.ts';
import { type InstalledUser, makeUser } from './installed-user.ts';
import { USAGE } from './mcp-users.ts';
import { offlineSuite } from './offline.ts';
import type { ToolCall } from './one-shot-dialects.ts';
import { type ModelAnswer, type ModelRequest, toolNames } from './one-shot-model.ts';
import type { Workspace } from './one-shot-workspace.ts';
import { DIALECTS } from './runs-dialects.ts';

/**
 * A session of each of the four real clients and the agents that are handed it know nothing more of each other, in either
 * direction, whatever happens on one side afterwards.
 */

const suite = await offlineSuite();

setDefaultTimeout(240_000);

const GOAL = 'The bridge over the Han is to carry trains.';
/** Printed by a command of the session, in its first turn and in its second. */
const MARKS = ['printed-in-the-first-turn', 'printed-in-the-second-turn'] as const;
const LATER = 'The bridge is to carry ships instead.';
const QUERY = 'Where is the bridge?';

/** The words that go on with a session. */
const SESSION_ARGS: Readonly<Record<ClientName, (id: string) => readonly string[]>> = {
  claude: (id) => [...USAGE.claude.approving, `--resume=${id}`],
  codex: (id) => ['exec', 'resume', ...USAGE.codex.approving.slice(1, -1), id, '-'],
  gemini: (id) => [...USAGE.gemini.approving, '--resume', id],
  opencode: (id) => [...USAGE.opencode.approving, '--session', id],
};

const textOf = ({ body }: ModelRequest) => JSON.stringify(body);
const isOfAgent = (request: ModelRequest) => textOf(request).includes('has started to explore');

/** Without ids and times, and without what Codex counts about itself beside the question. */
const masked = ({ body: { client_metadata: _, ...body } }: ModelRequest) =>
  JSON.stringify(body)
    .replace(/[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}/g, 'ID')
    .replace(/\b(?:ses|msg|prt|tmp|call|user)_[\w-]+/g, 'ID')
    .replace(/\b[0-9a-f]{16,64}\b/g, 'HASH')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z?/g, 'TIME')
    .replace(/\b\d{10,13}(?:\.\d+)?\b/g, 'TIME');

for (const name of CLIENT_NAMES) {
  suite(`${name}`, () => {
    const { model, read, command } = DIALECTS[name];
    let user: InstalledUser;
    let workspace: Workspace;
    let session: StoredSession;
    const bridge = () => join(user.project, 'bridge.txt');

    /** One turn of the session with these calls. */
    async function talk(prompt: string, calls: readonly ToolCall[], id?: string): Promise<void> {
      let at = 0;
      const script = (request: ModelRequest): ModelAnswer => {
        const one = toolNames(request).length > 0 ? calls[at++] : undefined;
        return one === undefined ? { kind: 'text', text: 'done' } : { kind: 'calls', calls: [one] };
      };
      await user.talk(prompt, script, id === undefined ? USAGE[name].approving : SESSION_ARGS[name](id));
    }

    /** What the model of an agent is asked, which reads the bridge and then answers. */
    async function asked(...words: readonly string[]): Promise<readonly ModelRequest[]> {
      const { requests } = workspace.board.model;
      const from = requests.length;
      workspace.board.script = (request) => {
        const isFirst = isOfAgent(request) && !textOf(request).includes('line of the bridge');
        return isFirst
          ? { kind: 'calls', calls: [read(bridge())] }
          : { kind: 'text', text: 'bridge.txt:1 has it' };
      };
      await user.program(...words);
      return requests.slice(from).filter((one) => one.api !== 'other' && isOfAgent(one));
    }

    const explore = (...words: readonly string[]) =>
      asked('explore', '--json', '--client', name, '--model', model, ...words, QUERY);
    const stored = () => clientNamed(name).sessions;
    /** The session as its client keeps it. */
    const kept = () =>
      name === 'opencode'
        ? JSON.stringify([...stored().read(session, workspace.env)])
        : readFileSync(session.path, 'utf8');

    beforeAll(async () => {
      user = await makeUser(name);
      ({ workspace } = user);
      await writeFile(bridge(), 'line of the bridge\n');
      await user.program('install', '--client-version', '2.1.328');
      await writeFile(pathsOf(workspace.home).config, JSON.stringify({ language: 'en' }));
      await talk(GOAL, [command(`echo ${MARKS[0]}`)]);
      const [found] = stored().startedIn(user.project, workspace.env);
      if (found === undefined) throw new Error(`There is no session of ${name} in ${user.project}`);
      session = found;
      await talk('Which ones?', [command(`echo ${MARKS[1]}`)], session.id);
    });
    afterAll(() => workspace.remove());

    test('the same asked twice begins with the same request, but for ids and times', async () => {
      const [first] = await explore('--context', 'full');
      const [second] = await explore('--context', 'full');
      if (first === undefined || second === undefined) throw new Error('No model was asked');
      expect(textOf(first)).toContain(GOAL);
      expect(masked(first)).toBe(masked(second));
    });

    test('an agent sees of the tools of a session what it is handed, and nothing else', async () => {
      const seen = async (...words: readonly string[]) => {
        const requests = await explore('--context', ...words);
        return [GOAL, ...MARKS].map((word) => requests.some((one) => textOf(one).includes(word)));
      };
      expect(await seen('none')).toEqual([false, false, false]);
      expect(await seen('recent', '--recent', '1')).toEqual([true, false, true]);
      expect(await seen('full')).toEqual([true, true, true]);
    });

    test('what an agent does leaves the session as it was', async () => {
      const before = kept();
      const requests = await explore('--context', 'full');
      expect(requests.some((one) => textOf(one).includes('line of the bridge'))).toBe(true);
      expect(kept()).toBe(before);
      expect(before).not.toContain(QUERY);
    });

    test('what the session does afterwards does not reach an agent that was handed it before', async () => {
      const frame = (request: ModelRequest | undefined) =>
        /<conversation-(\w+)>.*<\/conversation-\1>/s.exec(request === undefined ? '' : textOf(request))?.[0];
      const [first] = await explore('--context', 'full');
      const handed = () => withRuns(pathsOf(workspace.home), (db) => db.all('SELECT * FROM handovers'));
      const before = handed();
      await talk(LATER, [command('echo printed-later')], session.id);
      expect(kept()).toContain(LATER);
      const [run] = withRuns(pathsOf(workspace.home), (db) =>
        db.all('SELECT number FROM runs ORDER BY created_at DESC LIMIT 1'),
      );
      const later = await asked('subagents', 'send', String(run?.number), 'And now?');
      expect(later.length).toBeGreaterThan(0);
      for (const request of later) {
        expect(textOf(request)).not.toContain(LATER);
        expect(textOf(request)).not.toContain('printed-later');
        expect(frame(request)).toBe(frame(first));
      }
      expect(frame(first)).toContain(GOAL);
      expect(handed()).toEqual(before);
    });
  });
}
