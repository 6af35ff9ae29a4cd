import { describe, expect, test } from 'bun:test';
import type { PluginLog } from '../../../src/prune/opencode/plugin-log.ts';
import { isSubAgentSession, sessionKinds } from '../../../src/prune/opencode/session-kinds.ts';
import { type Answers, hostOf, prompt } from './host.ts';

const S = 'ses_1';

function kindsWith(get?: Answers['get']) {
  const lines: string[] = [];
  let asked = 0;
  const log: PluginLog = {
    info: (component, message) => lines.push(`INFO ${component}: ${message}`),
    failure: (action, error) => lines.push(`ERROR ${action}: ${error}`),
  };
  const { client } = hostOf({
    get: (id) => {
      asked++;
      return get?.(id) ?? Promise.resolve({ data: { id, title: 'work' } });
    },
  });
  const kinds = sessionKinds(client, log, 50);
  const tell = (type: string, info: object) => kinds.event({ event: { type, properties: { info } } });
  return { ...kinds, tell, lines, asked: () => asked };
}

describe('sessionKinds()', () => {
  test('a session with a parent is a sub-agent, as OpenCode tells when it makes it, without being asked', async () => {
    const kinds = kindsWith();
    kinds.tell('session.created', { id: S, parentID: 'ses_0', title: 'x' });
    kinds.tell('session.updated', { id: 'ses_2', title: 'x' });
    expect(await kinds.kindOf(S, [])).toBe('sub');
    expect(await kinds.kindOf('ses_2', [])).toBe('main');
    expect(kinds.asked()).toBe(0);
  });

  test('what a message is an answer to is no parent of a session', async () => {
    const kinds = kindsWith();
    kinds.tell('message.updated', { id: S, parentID: 'msg_0' });
    expect(await kinds.kindOf(S, [])).toBe('main');
  });

  test('one that nothing was told of is looked up, once', async () => {
    const kinds = kindsWith(async (id) => ({ data: { id, parentID: id === S ? 'ses_0' : undefined } }));
    expect(await Promise.all([kinds.kindOf(S, []), kinds.kindOf(S, [])])).toEqual(['sub', 'sub']);
    expect(await kinds.kindOf(S, [])).toBe('sub');
    expect(kinds.asked()).toBe(1);
    expect(await kinds.kindOf('ses_2', [])).toBe('main');
  });

  const failures: [string, NonNullable<Answers['get']>][] = [
    ['fails', async () => ({ error: { name: 'NotFoundError' } })],
    ['fails and gives something', async (id) => ({ data: { id }, error: { name: 'NotFoundError' } })],
    ['throws', () => Promise.reject(new Error('gone'))],
    ['gives nothing', async () => ({})],
    ['gives another session', async () => ({ data: { id: 'ses_9' } })],
  ];
  for (const [what, get] of failures) {
    test(`one whose look-up ${what} is unknown, and looked up again for the next request`, async () => {
      const kinds = kindsWith(get);
      expect([await kinds.kindOf(S, []), await kinds.kindOf(S, [])]).toEqual(['unknown', 'unknown']);
      expect(kinds.asked()).toBe(2);
      expect(kinds.lines.every((line) => line.startsWith('ERROR'))).toBe(true);
    });
  }

  test('a look-up that takes long makes it unknown for now, and counts when it is there', async () => {
    const { promise, resolve } = Promise.withResolvers<{ data: unknown }>();
    const kinds = kindsWith(() => promise);
    const startMs = performance.now();
    expect(await kinds.kindOf(S, [])).toBe('unknown');
    expect(performance.now() - startMs).toBeLessThan(1000);
    resolve({ data: { id: S } });
    await Bun.sleep(0);
    expect(await kinds.kindOf(S, [])).toBe('main');
    expect(kinds.asked()).toBe(1);
  });

  test('one that never ends is asked again for the next request', async () => {
    const kinds = kindsWith((id) =>
      kinds.asked() > 1 ? Promise.resolve({ data: { id } }) : new Promise(() => {}),
    );
    expect([await kinds.kindOf(S, []), await kinds.kindOf(S, [])]).toEqual(['unknown', 'main']);
  });

  test('a fork of a sub-agent is known by its title', async () => {
    const title = 'review files (@general subagent) (fork #1)';
    const kinds = kindsWith(async (id) => ({ data: { id, title } }));
    kinds.tell('session.created', { id: 'ses_2', title });
    expect([await kinds.kindOf(S, []), await kinds.kindOf('ses_2', [])]).toEqual(['sub', 'sub']);
  });

  test('or by whom its prompts were for, also where OpenCode told of a main session', async () => {
    const kinds = kindsWith();
    kinds.config({
      agent: { scout: { mode: 'subagent' }, helper: { mode: 'all' }, explore: { mode: 'primary' } },
    });
    kinds.tell('session.created', { id: S, title: 'x' });
    const kindBy = (id: string, agent: string) => kinds.kindOf(id, [prompt(id, 'x', agent), prompt(id, 'y')]);
    expect(await kindBy(S, 'scout')).toBe('sub');
    expect(await kinds.kindOf(S, [])).toBe('sub');
    expect(await kindBy('ses_2', 'general')).toBe('sub');
    expect(await kindBy('ses_3', 'helper')).toBe('main');
    expect(await kindBy('ses_4', 'explore')).toBe('main');
  });

  test('what is told while it is looked up counts, and is logged in place of what was thought before', async () => {
    const kinds = kindsWith((id) => Bun.sleep(10).then(() => ({ data: { id } })));
    const kind = kinds.kindOf(S, []);
    kinds.tell('session.updated', { id: S, parentID: 'ses_0' });
    expect(await kind).toBe('sub');
    await kinds.kindOf('ses_2', []);
    await kinds.kindOf('ses_2', [prompt('ses_2', 'x', 'general')]);
    const said = kinds.lines
      .filter((line) => line.includes('isSubAgent'))
      .map((line) => line.split(' = ')[1]);
    expect(said).toEqual(['true', 'false', 'true']);
  });

  test('one pair of lines says of each session what it is', async () => {
    const kinds = kindsWith(async (id) => ({ data: { id, parentID: id === S ? 'ses_0' : undefined } }));
    for (const id of [S, 'ses_2', S, 'ses_2']) await kinds.kindOf(id, []);
    expect(kinds.lines).toEqual([
      'INFO state: session ID = ses_1',
      'INFO state: isSubAgent = true',
      'INFO state: session ID = ses_2',
      'INFO state: isSubAgent = false',
    ]);
  });
});

test('isSubAgentSession() is true of a session with a parent, and false where that cannot be looked up', async () => {
  const isSub = (get: Answers['get']) => isSubAgentSession(hostOf(get && { get }).client, S);
  expect(await isSub(async (id) => ({ data: { id, parentID: 'ses_0' } }))).toBe(true);
  expect(await isSub(async (id) => ({ data: { id } }))).toBe(false);
  for (const [, get] of [['', async () => ({ error: 1 })] as const, ['', () => Promise.reject(1)] as const])
    expect(await isSub(get)).toBe(false);
});
