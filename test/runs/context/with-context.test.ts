import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withContext } from '../../../src/runs/context/with-context.ts';
import type { Handover } from '../../../src/runs/model/handover.ts';
import type { ContextWish } from '../../../src/runs/model/handover-settings.ts';
import { requesterHere } from '../../../src/runs/requester.ts';
import type { SpawnRequest } from '../../../src/runs/spawn-plan.ts';
import { putSessions, sessionsOf } from '../../support/client-sessions.ts';
import { CLIENT_NAMES, type ClientName } from '../../support/clients.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { HOSTILE } from './hostile-conversation.ts';

let home: Home;
let project: string;
beforeEach(() => {
  home = temporaryHome();
  project = `${home.path}/project`;
  mkdirSync(project);
});
afterEach(() => home[Symbol.dispose]());

type Call = { readonly wish?: ContextWish; readonly env?: Record<string, string> };

function ask(request: Partial<SpawnRequest>, { wish = {}, env = {} }: Call = {}) {
  const world = {
    ...{ paths: home.paths, env: { HOME: home.path, ...env }, platform: 'linux', cwd: project },
    ...{ executablePath: '/bin/true', isCompiled: true, now: () => new Date() },
  };
  return withContext({ task: 'look', ...request }, wish, requesterHere(world), world);
}

async function handedOver(request: Partial<SpawnRequest>, call?: Call): Promise<Handover | undefined> {
  const answer = await ask(request, call);
  if ('status' in answer) throw new Error(answer.error);
  return answer.handover;
}

/** Puts a client's sessions into the project; the id of the one that all others came of. */
function put(name: ClientName): string {
  putSessions(home.path, name, project);
  const ids = sessionsOf(name, home.path, project).map(({ id }) => id);
  return ids.find((id) => /^(?:ef0f0c93|01a20728-a235|ses_df8d69)/.test(id)) ?? ids[0] ?? '';
}

describe('what is handed over when', () => {
  const modeOf = async (request: Partial<SpawnRequest>, call: Call = {}) => {
    const wish = { session: undefined, ...call.wish };
    return (await handedOver(request, { ...call, wish }))?.report.mode;
  };
  const plan = { profile: 'plan' } as const;
  const inEnvironment = { PLAN_MODE_CONTEXT_MODE: 'recent' };
  beforeEach(() => {
    putSessions(home.path, 'gemini', project);
  });

  test('nothing of a run without a word about it, and of an explore run', async () => {
    expect(await modeOf({})).toBeUndefined();
    expect(await modeOf({}, { env: inEnvironment })).toBeUndefined();
    expect(await modeOf({ profile: 'explore' }, { env: inEnvironment })).toBeUndefined();
  });

  test('what the call says', async () => {
    expect(await modeOf({}, { wish: { mode: 'full' } })).toBe('full');
    expect(await modeOf({ profile: 'explore' }, { wish: { mode: 'recent' } })).toBe('recent');
    expect(await modeOf(plan, { wish: { mode: 'none' }, env: inEnvironment })).toBeUndefined();
  });

  test('"recent" where the call says how many, and all of it where it says how much', async () => {
    expect(await modeOf({}, { wish: { recentN: 3 } })).toBe('recent');
    expect(await modeOf({}, { wish: { maxChars: 500 } })).toBe('full');
  });

  test('R10: of a plan all of it, else what environment and configuration say, in this order', async () => {
    expect(await modeOf(plan)).toBe('full');
    home.writeConfig({ context: { mode: 'none' } });
    expect(await modeOf(plan)).toBeUndefined();
    expect(await modeOf(plan, { env: inEnvironment })).toBe('recent');
    home.writeConfig({ context: { mode: 'recent' } });
    expect(await modeOf({})).toBeUndefined();
  });

  test('before these what the settings of the agent say, for any run', async () => {
    const subagents = { context: { mode: 'recent' }, allowAgents: ['*'] };
    home.writeConfig({ agents: { list: [{ id: 'reviewer', subagents }] }, context: { mode: 'none' } });
    expect(await modeOf({ agentId: 'Reviewer' })).toBe('recent');
    const full = { env: { PLAN_MODE_CONTEXT_MODE: 'full' } };
    expect(await modeOf({ ...plan, agentId: 'reviewer' }, full)).toBe('recent');
    expect(await modeOf({ agentId: 'reviewer' }, { wish: { mode: 'none' } })).toBeUndefined();
    expect(await modeOf({})).toBeUndefined();
  });

  test('R10: all of it in a mode that there is none of, with a warning', async () => {
    const given = await handedOver(plan, { env: { PLAN_MODE_CONTEXT_MODE: 'ful' } });
    const warnings = ['there is no mode "ful": full is used (none, full, summary, recent)'];
    expect(given?.report).toMatchObject({ mode: 'full', warnings });
    const upper = await handedOver(plan, { env: { PLAN_MODE_CONTEXT_MODE: ' Recent ' } });
    expect(upper?.report).toMatchObject({ mode: 'recent', warnings: [] });
  });
});

describe('where there is no conversation', () => {
  test('a call that asks for one is refused, and a plan is made without, which is said', async () => {
    const error = `Cannot find a session that was started in "${project}"`;
    const refusal = await ask({}, { wish: { mode: 'full' } });
    expect(refusal).toEqual({ status: 'error', error: expect.stringContaining(error) });
    const nothing = { mode: 'full', session: null, charsOut: 0, messagesIn: 0 };
    const warnings = [expect.stringContaining(error)];
    const given = await handedOver({ profile: 'plan' });
    expect(given).toEqual({ text: '', report: expect.objectContaining({ ...nothing, warnings }) });
  });

  test('two in which there is work are refused to a plan as well', async () => {
    put('codex');
    expect(await ask({ profile: 'plan' })).toMatchObject({
      status: 'error',
      error: expect.stringContaining('there is work in Codex '),
    });
  });
});

/** As test/fixtures/handovers has them; KEEP_GOLDEN=1 writes them anew. */
const GOLDEN = join(import.meta.dir, '../../fixtures/handovers');

describe('the hand-over of a session that the real client wrote', () => {
  for (const name of CLIENT_NAMES) {
    test(`of ${name} is this text, in each mode`, async () => {
      const session = put(name);
      const texts: string[] = [];
      for (const wish of [{ mode: 'full' }, { mode: 'recent', recentN: 4 }, { maxChars: 900 }] as const) {
        const given = await handedOver({}, { wish: { ...wish, session } });
        expect(given?.report).toMatchObject({ charsOut: given?.text.length, session: { client: name } });
        if ('maxChars' in wish) expect(given?.text.length).toBeLessThanOrEqual(wish.maxChars);
        texts.push(`${JSON.stringify(wish)}\n${given?.text}\n`);
      }
      const text = texts
        .join('\n')
        .replaceAll(project, '/home/dev/project')
        .replaceAll(/conversation-[0-9a-z]+/g, 'conversation-…');
      const golden = `${GOLDEN}/${name}.txt`;
      if (process.env.KEEP_GOLDEN === '1') writeFileSync(golden, text);
      expect(text).toBe(readFileSync(golden, 'utf8'));
    });
  }
});

describe('a hostile conversation', () => {
  for (const [what, said] of Object.entries(HOSTILE)) {
    test(`with ${what} has one frame, and no speaker but those of the session`, async () => {
      const folder = `.claude/projects/${project.replace(/[^A-Za-z0-9]/g, '-')}`;
      const record = (type: 'user' | 'assistant', content: unknown, at: number) =>
        JSON.stringify({
          ...{ type, uuid: `u${at}`, parentUuid: at === 0 ? null : `u${at - 1}`, sessionId: 's' },
          ...{ isSidechain: false, message: { role: type, content } },
        });
      const lines = [
        record('user', said, 0),
        record('assistant', [{ type: 'text', text: said }], 1),
        record('assistant', [{ type: 'tool_use', id: 'c', name: said, input: { said } }], 2),
        record('user', [{ type: 'tool_result', tool_use_id: 'c', content: said }], 3),
        record('user', 'And now?', 4),
      ];
      home.put(`${folder}/hostile.jsonl`, `${lines.join('\n')}\n`);
      const given = await handedOver({}, { wish: { mode: 'full', session: 'hostile' } });
      const text = given?.text ?? '';
      const [frame = ''] = text.split('\n');
      expect(frame).toMatch(/^<conversation-[0-9a-z]+>$/);
      expect(text).toEndWith(`\n${frame.replace('<', '</')}`);
      expect(text.match(/<\/?conversation/g)).toHaveLength(2);
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      const speakers = text.match(/^(?:user|assistant|system|human|developer)(?=:)/gim) ?? [];
      // What looks like the client's own words is none of the user's, and a long turn is handed over by its ends.
      expect(['user assistant user', 'assistant user', 'user user']).toContain(speakers.join(' '));
      expect(text).not.toMatch(/<\/?(?:system-reminder|record|log)\b|<\|im_/);
      expect(text.length).toBeLessThanOrEqual(120_000);
    });
  }
});
