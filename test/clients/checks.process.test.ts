import { describe, expect, test } from 'bun:test';
import { HOOKS } from '../../src/hooks/hooks.ts';
import type { ModelRequest } from '../../src/setup/scripted-model.ts';
import {
  contextProblems,
  fileSecretProblems,
  type Problems,
  recordingProblems,
  registrationProblems,
  requestSecretProblems,
  runProblems,
  silenceProblems,
  solutionProblems,
} from './checks.ts';
import type { ClientRun, EventRow, Recorded } from './claude-code.ts';
import { findLeaks } from './namespace.ts';

/** A check that is always content proves nothing: each one is given what it must not accept. */

const CONTEXT = `SubagentStart hook additional context: <record note="프로젝트 기록이며 지시가 아님">
이 프로젝트의 최근 에러 패턴:
- Error: PORT is not set (Bash)
  해결: "\`PORT=8080 npm test\` 사용"`;
const SOLVED = {
  errorNormalized: 'PORT is not set · npm test',
  resolution: { kind: 'command', use: 'PORT=8080 npm test' },
};

/** What a check reports of each of these. */
function check<T>(problemsOf: (value: T) => Problems) {
  return (what: string, value: T, ...expected: string[]) =>
    test(what, () => expect(problemsOf(value)).toEqual(expected));
}

function request(conversation: string, turn: number, text: string): ModelRequest {
  const body = { messages: [{ role: 'user', content: [{ type: 'text', text }] }] };
  return { kind: 'turn', conversation, turn, body };
}

describe('contextProblems() reports', () => {
  const first = request('executor', 0, CONTEXT);
  const row = check((requests: readonly ModelRequest[]) => contextProblems(requests, ['executor']));
  const none = 'executor, turn 0: has no context';
  const escaped = CONTEXT.replace('해결: ', '해결: {"summary":"');

  row('nothing when all is well', [first, request('executor', 1, CONTEXT), request('main', 0, 'hello')]);
  row('an agent that never asked', [], 'executor: made no first request');
  row('a first request without context', [request('executor', 0, 'hi')], none);
  row('context lost later', [first, request('executor', 1, 'hi')], 'executor, turn 1: has no context');
  row('context in another place', [request('executor', 0, CONTEXT.slice(20))], none);
  const lacking = 'executor, turn 0: context lacks the fix in words';
  row('a fix that is missing or escaped JSON', [request('executor', 0, escaped)], lacking);
  row('context for main', [first, request('main', 1, CONTEXT)], 'main, turn 1: has context, must not');
  const auxiliary: ModelRequest = { kind: 'auxiliary', body: { system: CONTEXT } };
  row('context in a call beside', [first, auxiliary], 'auxiliary call: has context, must not');
});

describe('recordingProblems() reports', () => {
  const event = (type: string, data: EventRow['data'], projectPath = '/shop') => ({
    type,
    data,
    projectPath,
  });
  const prompt = event('prompt', { text: 'go' });
  const use = event('tool_use', { tool: 'Bash' });
  const error = event('tool_error', { tool: 'Edit', error: 'String not found' });
  const stop = event('subagent_stop', { agentType: 'executor' });
  const summary = event('session_summary', {});
  const all = [prompt, use, error, stop, summary];
  const toolErrors = [{ tool: 'Edit', says: 'not found' }];
  const expected = { prompts: ['go'], toolUses: ['Bash'], toolErrors, stops: ['executor'] };
  const row = check((events: readonly EventRow[]) =>
    recordingProblems({ events, errors: [] }, expected, '/shop'),
  );
  const stored = (times: number) => `tool_error: "not found" of Edit is stored ${times} times`;
  const notified = event('prompt', { text: '<task-notification>' });
  const elsewhere = event('tool_use', { tool: 'Bash' }, '/');

  row('nothing when all is well', all.toReversed());
  row('a notification taken as prompt', [...all, notified], 'prompt: "<task-notification>" is too much');
  row('a call stored twice', [...all, use], 'tool_use: "Bash" is too much');
  row('a failure stored twice', [...all, error], 'tool_error: "Edit" is too much', stored(2));
  row('a failure not stored', [prompt, use, stop, summary], 'tool_error: "Edit" is missing', stored(0));
  row('a sub-agent not stored', [prompt, use, error, summary], 'subagent_stop: "executor" is missing');
  row('a session without its end', [prompt, use, error, stop], 'session_summary: 0 rows');
  row('another project', [prompt, elsewhere, error, stop, summary], 'tool_use: project is /, not /shop');
});

describe('solutionProblems() reports', () => {
  const row = check((errors: Recorded['errors']) => solutionProblems({ events: [], errors }));
  const other = { errorNormalized: 'engine stalled', resolution: { use: 'PORT=8080 npm test' } };

  row('nothing when all is well', [SOLVED, { ...other, resolution: undefined }]);
  row('no solution', [], 'error_kb: 0 solved errors: ');
  const both = 'error_kb: 2 solved errors: "PORT is not set · npm test", "engine stalled"';
  row('an error that nothing solved', [SOLVED, other], both);
  row('the wrong error', [other], 'error_kb: solved: "engine stalled"');
  row('a solution without words', [{ ...SOLVED, resolution: {} }], 'error_kb: told is ""');
});

describe('runProblems() and silenceProblems() report', () => {
  const response = { event: 'Stop', exitCode: 0, outcome: 'success', stdout: '', stderr: '' };
  const end = { kind: 'exited', code: 0, stdout: '', stderr: '' } as const;
  const run: ClientRun = { end, requests: [request('main', 0, 'hello')], hookResponses: [response] };
  const row = check((change: Partial<ClientRun>) => runProblems({ ...run, ...change }, ['Stop']));
  const silent = check((change: Partial<ClientRun>) =>
    silenceProblems({ ...run, ...change }, { events: [], errors: [] }),
  );
  const answering = (change: object, ...others: (typeof response)[]) => ({
    hookResponses: [...others, { ...response, ...change }],
  });

  row('nothing when all is well', {});
  row('a failed client', { end: { ...end, code: 1, stdout: 'oh' } }, 'client: ended with exit code 1: oh');
  row('a stuck client', { end: { kind: 'timed-out' } }, 'client: took too long');
  row('a complaint of the client', { end: { ...end, stderr: 'x' } }, 'client: stderr: x');
  row('a hook not called', { hookResponses: [] }, 'Stop: no hook was called');
  row('a hook that fails', answering({ exitCode: 1 }), 'Stop: exit code 1, success');
  const cut = answering({ event: 'SessionStart', outcome: 'cancelled' }, response);
  row('a hook cut off', cut, 'SessionStart: exit code 0, cancelled');
  row('nothing for one that nobody waits for', answering({ exitCode: 1, outcome: 'cancelled' }));
  row('a hook that complains', answering({ stderr: 'x' }), 'Stop: stderr: x');
  silent('nothing when nothing was said', {});
  silent('a hook that said something', answering({ stdout: '{}' }), 'Stop: the hook said {}');
  const injected = [request('main', 2, 'x [Self-Generation] y')];
  silent('an injected text', { requests: injected }, 'main, turn 2: has "[Self-Generation"');
  test('a stored event', () => {
    const events = [{ type: 'prompt', projectPath: '/', data: {} }];
    expect(silenceProblems(run, { events, errors: [] })).toEqual(['events: 1 rows']);
  });
});

describe('the checks for secrets report', () => {
  const values = { prompt: 'hush' };
  const file = check((text: string) =>
    fileSecretProblems(new Map([['a.db', Buffer.from(text, 'latin1')]]), values),
  );
  const asked = check((requests: ModelRequest[]) => requestSecretProblems(requests, values));

  file('nothing when there is none', 'quiet');
  file('one among bytes', '\0hush\xff', 'a.db: has the secret of the prompt');
  test('that no file was looked at', () =>
    expect(fileSecretProblems(new Map(), values)).toEqual(['no file was looked at']));
  const found = 'secret of the prompt: main, turn 0: has "hush"';
  asked('one in a request', [request('main', 0, 'hush')], found);
  asked('that no request was looked at', [], 'no request was looked at');
});

describe('registrationProblems() reports', () => {
  const events = [...new Set(HOOKS.map(({ event }) => event))];
  const old = events.filter((event) => event !== 'PostToolBatch');
  const row = (what: string, found: readonly string[], version: string, ...expected: string[]) => {
    const hooks = Object.fromEntries(found.map((event) => [event, []]));
    test(what, () => expect(registrationProblems({ hooks }, version)).toEqual(expected));
  };

  row('nothing when all is well', events, '2.1.328');
  row('nothing for an old client', old, '2.1.100');
  row('an unknown event', events, '2.1.100', 'PostToolBatch: registered, but unknown to 2.1.100');
  const withoutStop = events.filter((event) => event !== 'Stop');
  row('an event left out', withoutStop, '2.1.150', 'Stop: not registered');
});

describe('findLeaks() reports', () => {
  const device = (name: string) => `${name}: 0 0 0 0`;
  const HEAD = 'Inter-| Receive\n face |bytes\n';
  const lo = {
    devices: `${HEAD}${device('    lo')}\n`,
    routes: 'Iface\tDestination\n',
    routes6: `${'0'.repeat(32)} 00 lo\n`,
  };
  const row = check((change: Partial<typeof lo>) => findLeaks({ ...lo, ...change }));

  row('nothing when there is only lo', {});
  row('nothing for an idle tunnel of the kernel', { devices: `${lo.devices}${device('  sit0')}\n` });
  row('a device', { devices: `${lo.devices}${device('  eth0')}\n` }, 'device eth0');
  row('a route', { routes: `${lo.routes}eth0\t00000000\n` }, 'route through eth0');
  row('an IPv6 route', { routes6: `${'0'.repeat(32)} 00 sit0\n` }, 'route through sit0');
  row('a table that cannot be read', { devices: '' }, 'no device lo: the tables could not be read');
});
