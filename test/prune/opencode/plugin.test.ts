import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import type { Json } from '../../../src/core/guards.ts';
import type { Hooks, HostMessage } from '../../../src/prune/opencode/host.ts';
import { pluginHooks, server } from '../../../src/prune/opencode/plugin.ts';
import { readPruned, writePruned } from '../../../src/prune/store.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { type Answers, answer, call, failedCall, fileText, hostOf, prompt, readTwice } from './host.ts';

const S = 'ses_1';
const PLACEHOLDER = '[Output removed to save context';

/** What OpenCode would send after the plugin has seen these messages. */
async function sent(hooks: Hooks, messages: readonly HostMessage[]): Promise<HostMessage[]> {
  const shown = structuredClone([...messages]);
  await hooks['experimental.chat.messages.transform']?.({}, { messages: shown });
  return shown;
}

const created = (hooks: Hooks, info: Json) =>
  hooks.event?.({ event: { type: 'session.created', properties: { info } } });
const logOf = (home: Home) =>
  existsSync(home.paths.opencodeLog) ? readFileSync(home.paths.opencodeLog, 'utf8') : '';
const outputsOf = (messages: readonly HostMessage[]) =>
  messages.flatMap(({ parts }) =>
    parts.flatMap(({ state }) => (state ? [String((state as Json).output)] : [])),
  );

describe('the plugin', () => {
  test('shows in a main session no result a second time, and remembers what it decided', async () => {
    using home = temporaryHome();
    const toasts: string[] = [];
    const hooks = pluginHooks(hostOf({ toast: (message) => toasts.push(message) }), home.paths);
    const [first, second] = outputsOf(await sent(hooks, readTwice(S)));
    expect(first).toBe(fileText('a.txt'));
    expect(second).toStartWith(PLACEHOLDER);
    expect(readPruned(home.paths, S)).toMatchObject({
      ...{ client: 'opencode', directory: '/home/dev/app', isOff: false, requests: 1, readAgainChars: 0 },
      decisions: [{ callId: 'prt_call_2', rule: 'deduplicate', anchor: 'prt_call_1' }],
    });
    expect(toasts).toEqual([
      expect.stringMatching(/^Not sent any more: [\d,]+ characters .*\(deduplicate 1\)$/),
    ]);
    expect(logOf(home)).toContain(`INFO prune: ${S}: ${toasts[0]}`);
  });

  test('shows the same again, byte for byte, in later requests and in another process', async () => {
    using home = temporaryHome();
    const hooks = pluginHooks(hostOf(), home.paths);
    const messages = readTwice(S);
    const first = await sent(hooks, messages);
    const later = [...messages, prompt(S, 'and?'), answer(S, [{ type: 'text', text: 'nothing' }])];
    for (const one of [hooks, pluginHooks(hostOf(), home.paths)])
      expect((await sent(one, later)).slice(0, 3)).toEqual(first);
    using other = temporaryHome();
    expect((await sent(pluginHooks(hostOf(), other.paths), later)).slice(0, 3)).toEqual(first);
  });

  test('takes up what another process has decided on the session, and what its user wanted there', async () => {
    using home = temporaryHome();
    const [one, other] = [pluginHooks(hostOf(), home.paths), pluginHooks(hostOf(), home.paths)];
    const messages = readTwice(S);
    for (const hooks of [one, other]) expect(await sent(hooks, messages)).not.toEqual(messages);
    await one.config?.({});
    await one['command.execute.before']?.(
      { command: 'prune', sessionID: S, arguments: 'off' },
      { parts: [] },
    );
    expect(await sent(other, messages)).toEqual(messages);
    expect(readPruned(home.paths, S)).toMatchObject({ isOff: true, requests: 2 });
  });

  test('what could not be kept is kept as soon as that works again', async () => {
    using home = temporaryHome();
    const inTheWay = home.put('.self-generation/prune', 'a file');
    const hooks = pluginHooks(hostOf(), home.paths);
    await sent(hooks, readTwice(S));
    rmSync(inTheWay);
    await sent(hooks, readTwice(S));
    expect(readPruned(home.paths, S)?.decisions).toHaveLength(1);
  });

  test('counts what is read again, unless the provider has it cached no more', async () => {
    const input = { filePath: '/home/dev/app/a.txt', content: 'c'.repeat(1000) };
    const begun = [prompt(S, 'go'), answer(S, [call('c1', 'write', input, 'Wrote file successfully.')])];
    const read = answer(S, [call('c2', 'read', { filePath: '/home/dev/app/a.txt' }, fileText('a.txt'))]);
    const readAgain = async (minutes: number) => {
      using home = temporaryHome();
      home.writeConfig({ prune: { cachedPriceRatio: 0.9 } });
      await sent(pluginHooks(hostOf(), home.paths), begun);
      const before = readPruned(home.paths, S);
      if (before === undefined) throw new Error('nothing was kept');
      const updatedAt = new Date(Date.now() - minutes * 60_000).toISOString();
      writePruned(home.paths, { ...before, updatedAt }, Date.now());
      await sent(pluginHooks(hostOf(), home.paths), [
        ...begun,
        read,
        answer(S, [{ type: 'text', text: 'x' }]),
      ]);
      expect(readPruned(home.paths, S)?.decisions).toMatchObject([{ callId: 'prt_c1', part: 'input' }]);
      return readPruned(home.paths, S)?.readAgainChars;
    };
    expect(await readAgain(9)).toBeGreaterThan(0);
    expect(await readAgain(11)).toBe(0);
  });

  test('keeps no secret of the input of a failed call', async () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    const failed = failedCall(
      'c1',
      'bash',
      { command: `curl -H "x: ${secret}" ${'y'.repeat(900)}` },
      'it failed',
    );
    const steps = Array.from({ length: 12 }, () => answer(S, [{ type: 'text', text: 'x' }]));
    const messages = [prompt(S, 'go'), answer(S, [failed]), ...steps];
    const shown = await Promise.all(
      [1, 2].map(async () => {
        using home = temporaryHome();
        const hooks = pluginHooks(hostOf(), home.paths);
        const first = await sent(hooks, messages);
        const [decision] = readPruned(home.paths, S)?.decisions ?? [];
        expect(decision?.placeholder).toContain('curl -H');
        expect(decision?.placeholder).not.toContain('ghp_');
        expect(await sent(pluginHooks(hostOf(), home.paths), messages)).toEqual(first);
        expect(JSON.stringify(first)).toContain(JSON.stringify(decision?.placeholder).slice(1, -1));
        return first;
      }),
    );
    expect(shown[0]).toEqual(shown[1] ?? []);
  });

  test('tells of what is new alone', async () => {
    using home = temporaryHome();
    const toasts: string[] = [];
    const hooks = pluginHooks(hostOf({ toast: (message) => toasts.push(message) }), home.paths);
    const messages = readTwice(S);
    for (const more of [[], [prompt(S, 'and?')]]) await sent(hooks, [...messages, ...more]);
    expect(toasts).toHaveLength(1);
  });

  const untouched: [
    string,
    (hooks: Hooks, home: Home) => Promise<HostMessage[]> | HostMessage[],
    Answers?,
  ][] = [
    [
      'of a sub-agent',
      (hooks) => {
        created(hooks, { id: S, parentID: 'ses_0' });
        return readTwice(S);
      },
    ],
    ['of a fork of one', () => readTwice(S, 'general')],
    ['of which nobody says whose it is', () => readTwice(S), { get: async () => ({ error: 'x' }) }],
    ['that are of two sessions', () => [...readTwice(S), prompt('ses_2', 'x')]],
    [
      'of no session',
      () => readTwice(S).map((one) => ({ ...one, info: { ...one.info, sessionID: undefined } })),
    ],
    [
      'that are to be summarised',
      async (hooks) => {
        await hooks['experimental.session.compacting']?.({ sessionID: S });
        return readTwice(S);
      },
    ],
    [
      'where pruning is switched off',
      (_, home) => {
        home.writeConfig({ prune: { enabled: false } });
        return readTwice(S);
      },
    ],
    [
      'where everything is switched off',
      (_, home) => {
        home.writeConfig({ enabled: false });
        return readTwice(S);
      },
    ],
    ['of a shape that nobody knows', () => [{ info: { sessionID: S } } as never]],
  ];
  for (const [what, prepare, answers] of untouched) {
    test(`leaves messages ${what} as they are, and keeps nothing of them`, async () => {
      using home = temporaryHome();
      const hooks = pluginHooks(hostOf(answers), home.paths);
      const messages = await prepare(hooks, home);
      expect(await sent(hooks, messages)).toEqual(messages);
      expect(readPruned(home.paths, S)).toBeUndefined();
    });
  }

  test('does nothing any more once it has been uninstalled, and leaves nothing behind', async () => {
    using home = temporaryHome();
    const file = home.put('.self-generation/opencode-plugin.js', 'the plugin');
    const hooks = pluginHooks(hostOf(), home.paths);
    expect(outputsOf(await sent(hooks, readTwice(S)))[1]).toStartWith(PLACEHOLDER);
    rmSync(file);
    rmSync(home.paths.home, { recursive: true });
    for (const session of [S, 'ses_2']) {
      const messages = readTwice(session);
      expect(await sent(hooks, messages)).toEqual(messages);
    }
    expect(existsSync(home.paths.home)).toBe(false);
  });

  test('prunes again once a session has been summarised', async () => {
    using home = temporaryHome();
    const hooks = pluginHooks(hostOf(), home.paths);
    await hooks['experimental.session.compacting']?.({ sessionID: S });
    await sent(hooks, readTwice(S));
    expect(outputsOf(await sent(hooks, readTwice(S)))[1]).toStartWith(PLACEHOLDER);
  });

  test('what was decided on a call holds for no other one that a provider has given the same id', async () => {
    using home = temporaryHome();
    const hooks = pluginHooks(hostOf(), home.paths);
    await sent(hooks, readTwice(S));
    const other = { ...call('call_2', 'bash', { command: 'ls' }, 'f\n'.repeat(300)), id: 'prt_other' };
    const [first, second] = readTwice(S);
    if (first === undefined || second === undefined) throw new Error('nothing was said');
    const summarised = [first, second, answer(S, [other])];
    expect(await sent(hooks, summarised)).toEqual(summarised);
  });

  test('a session that is summarised is nothing to another one', async () => {
    using home = temporaryHome();
    const hooks = pluginHooks(hostOf(), home.paths);
    await hooks['experimental.session.compacting']?.({ sessionID: S });
    expect(outputsOf(await sent(hooks, readTwice('ses_2')))[1]).toStartWith(PLACEHOLDER);
  });

  test('what goes wrong is logged once, and leaves the messages as they are', async () => {
    using home = temporaryHome();
    const hooks = pluginHooks(hostOf(), home.paths);
    const broken = [{ info: { sessionID: S } } as never];
    for (let request = 0; request < 3; request++) expect(await sent(hooks, broken)).toEqual(broken);
    expect(logOf(home).match(/ERROR/g)).toHaveLength(1);
  });

  test('a state that cannot be kept is no reason not to prune', async () => {
    using home = temporaryHome();
    home.put('.self-generation/prune', 'a file');
    const hooks = pluginHooks(hostOf(), home.paths);
    expect(outputsOf(await sent(hooks, readTwice(S)))[1]).toStartWith(PLACEHOLDER);
    expect(logOf(home)).toContain('ERROR plugin: Cannot keep what was decided');
  });

  test('one that fails to show a toast is none either', async () => {
    using home = temporaryHome();
    const toast = () => {
      throw new Error('no terminal');
    };
    const hooks = pluginHooks(hostOf({ toast }), home.paths);
    expect(outputsOf(await sent(hooks, readTwice(S)))[1]).toStartWith(PLACEHOLDER);
  });
});

test('10,000 calls of 50 MB take less than 300 ms of a processor in each request', async () => {
  using home = temporaryHome();
  const hooks = pluginHooks(hostOf(), home.paths);
  const text = 'x'.repeat(4900);
  const messages = [prompt(S, 'go')];
  for (let at = 0; at < 10_000; at++) {
    const read = call(
      `call_${at}`,
      'read',
      { filePath: `/home/dev/app/${at % 3000}.ts` },
      `${at % 3000} ${text}`,
    );
    messages.push(answer(S, [read]));
  }
  const timesMs: number[] = [];
  for (let request = 0; request < 5; request++) {
    const shown = [...messages];
    const before = process.cpuUsage();
    await hooks['experimental.chat.messages.transform']?.({}, { messages: shown });
    const { user, system } = process.cpuUsage(before);
    timesMs.push((user + system) / 1000);
  }
  expect(Math.min(...timesMs)).toBeLessThan(300);
  expect(readPruned(home.paths, S)?.decisions.length).toBeGreaterThan(5000);
});

describe('server()', () => {
  test('does nothing in a run of our own, and where there is no home', async () => {
    const before = { ...process.env };
    using home = temporaryHome();
    try {
      process.env.HOME = home.path;
      process.env.SELF_GENERATION_INTERNAL = '1';
      expect(await server(hostOf())).toEqual({});
      delete process.env.SELF_GENERATION_INTERNAL;
      expect(Object.keys(await server(hostOf()))).toContain('experimental.chat.messages.transform');
      process.env.HOME = 'relative';
      expect(await server(hostOf())).toEqual({});
    } finally {
      process.env = before;
    }
  });
});
