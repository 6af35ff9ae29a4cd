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

type Row = { readonly what: string; readonly problems: Problems; readonly expected: Problems };

function check({ what, problems, expected }: Row): void {
  test(what, () => expect(problems).toEqual([...expected]));
}

function request(conversation: string, turn: number, text: string): ModelRequest {
  return {
    kind: 'turn',
    conversation,
    turn,
    body: { messages: [{ role: 'user', content: [{ type: 'text', text }] }] },
  };
}

describe('contextProblems() reports', () => {
  const first = request('executor', 0, CONTEXT);
  const row = (what: string, requests: readonly ModelRequest[], ...expected: string[]) =>
    check({ what, problems: contextProblems(requests, ['executor']), expected });

  row('nothing when all is well', [first, request('executor', 1, CONTEXT), request('main', 0, 'hello')]);
  row('an agent that never asked', [], 'executor: made no first request');
  row('a first request without context', [request('executor', 0, 'hi')], 'executor, turn 0: has no context');
  row('context lost later', [first, request('executor', 1, 'hi')], 'executor, turn 1: has no context');
  row(
    'context in another place',
    [request('executor', 0, CONTEXT.slice(20))],
    'executor, turn 0: has no context',
  );
  row(
    'a fix that is missing or escaped JSON',
    [request('executor', 0, CONTEXT.replace('해결: ', '해결: {"summary":"'))],
    'executor, turn 0: context lacks the fix in words',
  );
  row('context for main', [first, request('main', 1, CONTEXT)], 'main, turn 1: has context, must not');
  const auxiliary: ModelRequest = { kind: 'auxiliary', body: { system: CONTEXT } };
  row('context in a call beside', [first, auxiliary], 'auxiliary call: has context, must not');
});

describe('recordingProblems() reports', () => {
  const event = (type: string, data: EventRow['data'], projectPath = '/shop'): EventRow => ({
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
  const expected = {
    prompts: ['go'],
    toolUses: ['Bash'],
    toolErrors: [{ tool: 'Edit', says: 'not found' }],
    stops: ['executor'],
  };
  const row = (what: string, events: readonly EventRow[], ...found: string[]) =>
    check({ what, problems: recordingProblems({ events, errors: [] }, expected, '/shop'), expected: found });

  row('nothing when all is well', all.toReversed());
  row(
    'a notification taken for a prompt',
    [...all, event('prompt', { text: '<task-notification>' })],
    'prompt: "<task-notification>" is too much',
  );
  row('a call stored twice', [...all, use], 'tool_use: "Bash" is too much');
  row(
    'a failure stored twice',
    [...all, error],
    'tool_error: "Edit" is too much',
    'tool_error: "not found" of Edit is stored 2 times',
  );
  row(
    'a failure not stored',
    [prompt, use, stop, summary],
    'tool_error: "Edit" is missing',
    'tool_error: "not found" of Edit is stored 0 times',
  );
  row('a sub-agent not stored', [prompt, use, error, summary], 'subagent_stop: "executor" is missing');
  row('a session without its end', [prompt, use, error, stop], 'session_summary: 0 rows');
  row(
    'another project',
    [prompt, event('tool_use', { tool: 'Bash' }, '/'), error, stop, summary],
    'tool_use: project is /, not /shop',
  );
});

describe('solutionProblems() reports', () => {
  const row = (what: string, errors: Recorded['errors'], ...expected: string[]) =>
    check({ what, problems: solutionProblems({ events: [], errors }), expected });
  const other = { errorNormalized: 'engine stalled', resolution: { use: 'PORT=8080 npm test' } };

  row('nothing when all is well', [SOLVED, { ...other, resolution: undefined }]);
  row('no solution', [], 'error_kb: 0 solved errors: ');
  row(
    'an error that nothing solved',
    [SOLVED, other],
    'error_kb: 2 solved errors: "PORT is not set · npm test", "engine stalled"',
  );
  row('the wrong error', [other], 'error_kb: solved: "engine stalled"');
  row('a solution without words', [{ ...SOLVED, resolution: {} }], 'error_kb: told is ""');
});

describe('runProblems() and silenceProblems() report', () => {
  const response = { event: 'Stop', exitCode: 0, outcome: 'success', stdout: '', stderr: '' };
  const run: ClientRun = {
    end: { kind: 'exited', code: 0, stdout: '', stderr: '' },
    requests: [request('main', 0, 'hello')],
    hookResponses: [response],
  };
  const row = (what: string, change: Partial<ClientRun>, ...expected: string[]) =>
    check({ what, problems: runProblems({ ...run, ...change }, ['Stop']), expected });
  const silent = (what: string, change: Partial<ClientRun>, ...expected: string[]) =>
    check({ what, problems: silenceProblems({ ...run, ...change }, { events: [], errors: [] }), expected });

  row('nothing when all is well', {});
  row(
    'a failed client',
    { end: { kind: 'exited', code: 1, stdout: 'oh', stderr: '' } },
    'client: ended with exit code 1: oh',
  );
  row('a stuck client', { end: { kind: 'timed-out' } }, 'client: took too long');
  row(
    'a complaint of the client',
    { end: { kind: 'exited', code: 0, stdout: '', stderr: 'x' } },
    'client: stderr: x',
  );
  row('a hook not called', { hookResponses: [] }, 'Stop: no hook was called');
  row('a hook that fails', { hookResponses: [{ ...response, exitCode: 1 }] }, 'Stop: exit code 1, success');
  row(
    'a hook cut off',
    { hookResponses: [response, { ...response, event: 'SessionStart', outcome: 'cancelled' }] },
    'SessionStart: exit code 0, cancelled',
  );
  row('nothing for one that nobody waits for', {
    hookResponses: [{ ...response, exitCode: 1, outcome: 'cancelled' }],
  });
  row('a hook that complains', { hookResponses: [{ ...response, stderr: 'x' }] }, 'Stop: stderr: x');
  silent('nothing when nothing was said', {});
  silent(
    'a hook that said something',
    { hookResponses: [{ ...response, stdout: '{}' }] },
    'Stop: the hook said {}',
  );
  silent(
    'an injected text',
    { requests: [request('main', 2, 'x [Self-Generation] y')] },
    'main, turn 2: has "[Self-Generation"',
  );
  test('a stored event', () => {
    const events = [{ type: 'prompt', projectPath: '/', data: {} }];
    expect(silenceProblems(run, { events, errors: [] })).toEqual(['events: 1 rows']);
  });
});

describe('the checks for secrets report', () => {
  const values = { prompt: 'hush' };
  const row = (what: string, problems: Problems, ...expected: string[]) =>
    check({ what, problems, expected });

  row('nothing when there is none', fileSecretProblems(new Map([['a.db', Buffer.from('quiet')]]), values));
  row(
    'one among bytes',
    fileSecretProblems(new Map([['a.db', Buffer.from('\0hush\xff', 'latin1')]]), values),
    'a.db: has the secret of the prompt',
  );
  row('that no file was looked at', fileSecretProblems(new Map(), values), 'no file was looked at');
  row(
    'one in a request',
    requestSecretProblems([request('main', 0, 'hush')], values),
    'secret of the prompt: main, turn 0: has "hush"',
  );
  row('that no request was looked at', requestSecretProblems([], values), 'no request was looked at');
});

describe('registrationProblems() reports', () => {
  const settings = (events: readonly string[]) => ({
    hooks: Object.fromEntries(events.map((event) => [event, []])),
  });
  const events = [...new Set(HOOKS.map(({ event }) => event))];
  const old = events.filter((event) => event !== 'PostToolBatch');
  const row = (what: string, found: readonly string[], version: string, ...expected: string[]) =>
    check({ what, problems: registrationProblems(settings(found), version), expected });

  row('nothing when all is well', events, '2.1.328');
  row('nothing for an old client', old, '2.1.100');
  row(
    'an event that the client does not know',
    events,
    '2.1.100',
    'PostToolBatch: registered, but unknown to 2.1.100',
  );
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
  const row = (what: string, change: Partial<typeof lo>, ...expected: string[]) =>
    check({ what, problems: findLeaks({ ...lo, ...change }), expected });

  row('nothing when there is only lo', {});
  row('nothing for an idle tunnel of the kernel', { devices: `${lo.devices}${device('  sit0')}\n` });
  row('a device', { devices: `${lo.devices}${device('  eth0')}\n` }, 'device eth0');
  row('a route', { routes: `${lo.routes}eth0\t00000000\n` }, 'route through eth0');
  row('an IPv6 route', { routes6: `${'0'.repeat(32)} 00 sit0\n` }, 'route through sit0');
  row('a table that cannot be read', { devices: '' }, 'no device lo: the tables could not be read');
});
