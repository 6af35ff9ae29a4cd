import { describe, expect, test } from 'bun:test';
import {
  type Happening,
  OpenCalls,
  readEntry,
  type TranscriptOwner,
  timeOf,
} from '../../src/clients/claude/transcript.ts';
import type { Json } from '../../src/core/guards.ts';
import type { HookEvent } from '../../src/hooks/event.ts';
import { PROJECT } from '../support/payloads.ts';
import { type Entry, Transcript } from '../support/transcripts.ts';

const MAIN: TranscriptOwner = { sessionId: 'from-name', agentId: null, agentType: null };
const AGENT: TranscriptOwner = { sessionId: 's1', agentId: 'a1', agentType: 'executor' };

/** What happened in a whole transcript. */
function read({ entries }: { entries: readonly unknown[] }, owner = MAIN): Happening[] {
  const calls = new OpenCalls();
  return entries.flatMap((entry) => readEntry(entry, owner, calls));
}

function events(transcript: { entries: readonly unknown[] }, owner = MAIN): HookEvent[] {
  return read(transcript, owner).flatMap((found) => (found.kind === 'event' ? [found.event] : []));
}

function prompts(transcript: { entries: readonly unknown[] }, owner = MAIN): string[] {
  const told = events(transcript, owner);
  return told.map((event) => (event.name === 'UserPromptSubmit' ? event.prompt : event.name));
}

function passedOver(transcript: { entries: readonly unknown[] }): string[] {
  return read(transcript).flatMap((happening) => (happening.kind === 'passed-over' ? [happening.why] : []));
}

describe('readEntry() and prompts', () => {
  const text = (words: string) => ({ type: 'text', text: words });
  const command = (name: string, words: string) =>
    `<command-message>${name} is running…</command-message>\n<command-name>/${name}</command-name>\n<command-args>${words}</command-args>`;
  const compacting = '<command-message>compact</command-message>';
  const continued = 'This session is being continued from a previous conversation';
  const rows: [string, unknown, string[]][] = [
    ['a text', 'Fix it, 부탁합니다', ['Fix it, 부탁합니다']],
    ['blocks of text', [text('one'), text('two')], ['one\ntwo']],
    ['an image and a text', [{ type: 'image', source: {} }, text('look')], ['look']],
    ['what an editor puts beside', [text('<ide_opened_file>a.ts</ide_opened_file>'), text('why?')], ['why?']],
    ['a reminder beside it', [text('<system-reminder>x</system-reminder>'), text('go on')], ['go on']],
    ['a command of the user', command('hello', 'big world'), ['/hello big world']],
    ['a command without words', command('plugin:hello', ''), ['/plugin:hello']],
    ['a tag of the user', '<div>why is this red?</div>', ['<div>why is this red?</div>']],
    ['a text about a command', 'what does <command-name> mean?', ['what does <command-name> mean?']],
    ['an image alone', [{ type: 'image', source: {} }], []],
    ['nothing', '', []],
    ['no content', undefined, []],
    ['a command of the client', `<command-name>/compact</command-name>\n ${compacting}`, []],
    ['what such a command printed', '<local-command-stdout>Compacted</local-command-stdout>', []],
    ['a warning about such commands', '<local-command-caveat>…</local-command-caveat>', []],
    ['a shell command of the user', '<bash-input>ls</bash-input>', []],
    ['what that printed', '<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>', []],
    ['the end of a background task', '<task-notification>\n<task-id>a1</task-id>', []],
    ['an interruption', [text('[Request interrupted by user for tool use]')], []],
    ['the summary after a compaction', `${continued} that ran out of context. x`, []],
  ];
  for (const [what, content, expected] of rows) {
    test(`gives ${JSON.stringify(expected)} for ${what}`, () => {
      expect(prompts(new Transcript().prompt(content))).toEqual(expected);
    });
  }

  const marks: [string, Entry][] = [
    ['text that the client has put in', { isMeta: true }],
    ['a summary', { isCompactSummary: true }],
    ['what only stands in the transcript', { isVisibleInTranscriptOnly: true }],
    ['the task of a sub-agent in the main transcript', { isSidechain: true }],
    ['a prompt of the system', { promptSource: 'system' }],
    ['a notification', { origin: { kind: 'task-notification' } }],
    ['a prompt of another agent', { origin: { kind: 'peer' } }],
  ];
  for (const [what, mark] of marks) {
    test(`gives nothing for ${what}`, () => {
      expect(prompts(new Transcript().prompt('Do the job', mark))).toEqual([]);
      expect(prompts(new Transcript().queued('Do the job', mark))).toEqual([]);
    });
  }

  test('gives prompts of any source of the user', () => {
    for (const mark of [{ promptSource: 'typed' }, { promptSource: 'sdk' }, { origin: { kind: 'human' } }])
      expect(prompts(new Transcript().prompt('Do the job', mark))).toEqual(['Do the job']);
  });

  test('gives nothing for the task of a sub-agent', () => {
    expect(events(new Transcript({ agent: 'a1' }).prompt('Do the job'), AGENT)).toEqual([]);
  });

  test('gives what was typed while the agent worked, as such', () => {
    const [found] = read(new Transcript().queued([{ type: 'text', text: 'and hurry' }]));
    expect(found).toMatchObject({ kind: 'event', isQueued: true, event: { prompt: 'and hurry' } });
    expect(prompts(new Transcript().queued('plain'))).toEqual(['plain']);
    const notification = { type: 'queued_command', prompt: 'x', commandMode: 'task-notification' };
    expect(prompts(new Transcript().add({ type: 'attachment', attachment: notification }))).toEqual([]);
    expect(prompts(new Transcript({ agent: 'a1' }).queued('x'), AGENT)).toEqual([]);
  });
});

describe('readEntry() and calls', () => {
  const ABORTED = '<error>Command was aborted before completion</error>';

  test('gives a success with the call that its result belongs to', () => {
    const transcript = new Transcript();
    const first = transcript.call('Bash', { command: 'npm test' });
    const second = transcript.call('Read', { file_path: `${PROJECT}/a.ts` });
    transcript.result(second, 'text').result(first, 'ok', { toolUseResult: { stdout: 'ok' } });
    const bash = { tool: 'Bash', input: { command: 'npm test' }, toolUseId: first, isUnfinished: false };
    expect(events(transcript)).toMatchObject([
      { name: 'PostToolUse', tool: 'Read', input: { file_path: `${PROJECT}/a.ts` }, toolUseId: second },
      { name: 'PostToolUse', ...bash },
    ]);
  });

  test('gives a failure with its text', () => {
    const error = 'Exit code 1\n안녕';
    const transcript = new Transcript().fail('Bash', { command: 'npm test' }, error);
    const failure = { name: 'PostToolUseFailure', tool: 'Bash', error, isInterrupt: false };
    expect(events(transcript)).toMatchObject([failure]);
  });

  test('gives the texts of a failure that stand in blocks', () => {
    const transcript = new Transcript();
    const [before, after] = ['echo:', 'FAIL'].map((text) => ({ type: 'text', text }));
    transcript.failure(transcript.call('mcp__x__y', {}), [before, { type: 'image', source: {} }, after]);
    expect(events(transcript)).toMatchObject([{ name: 'PostToolUseFailure', error: 'echo:\nFAIL' }]);
  });

  test('gives what the client itself rejected as a batch of one call', () => {
    const rejection = '<tool_use_error>String to replace not found in file.</tool_use_error>';
    const transcript = new Transcript().fail('Edit', { file_path: 'a.ts' }, rejection);
    const calls = [{ tool: 'Edit', response: rejection, toolUseId: expect.any(String) }];
    expect(events(transcript)).toMatchObject([{ name: 'PostToolBatch', calls }]);
  });

  test('gives several results of one entry in order', () => {
    const transcript = new Transcript();
    const ids = ['a', 'b'].map((command) => transcript.call('Bash', { command }));
    const content = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' }));
    const toolUseResult = { backgroundTaskId: 'x' };
    transcript.add({ type: 'user', message: { role: 'user', content }, toolUseResult });
    const found = events(transcript);
    expect(found).toMatchObject([{ input: { command: 'a' } }, { input: { command: 'b' } }]);
    expect(found).toMatchObject([{ isUnfinished: false }, { isUnfinished: false }]);
  });

  const unfinished: [string, (one: Transcript, id: string) => Transcript][] = [
    ['started in the background', (one) => one.succeed('Bash', { command: 'x', run_in_background: true })],
    [
      'moved to the background',
      (one, id) => one.result(id, '', { toolUseResult: { backgroundTaskId: 'b1' } }),
    ],
    [
      'moved to the background in a sub-agent',
      (one, id) => one.result(id, 'Command running in background with ID: b1. Output'),
    ],
    ['stopped', (one, id) => one.failure(id, ABORTED, { toolUseResult: { stdout: '', interrupted: true } })],
  ];
  for (const [what, write] of unfinished) {
    test(`gives a call that was ${what} as one that shows nothing`, () => {
      const transcript = new Transcript();
      write(transcript, transcript.call('Bash', { command: 'x' }));
      expect(events(transcript)).toMatchObject([{ name: 'PostToolUse', isUnfinished: true }]);
    });
  }

  const unwanted = "The user doesn't want to";
  const refusals: [string, string, Entry?][] = [
    ['the user, in words', `${unwanted} proceed with this tool use. The tool use was rejected`],
    ['the user, in other words', `${unwanted} take this action right now. STOP`],
    ['the user, beside the words', 'No.', { toolUseResult: 'User rejected tool use' }],
    ['a mark', 'No.', { toolDenialKind: 'user-rejected' }],
    ['a decision', 'No.', { permissionDecision: { decision: 'reject' } }],
    ['missing permission', "Claude requested permissions to write to /a, but you haven't granted it yet."],
    ['a rule', 'Permission to use Bash with command curl x has been denied.'],
    ['a shell rule', 'This command requires approval'],
    ['a hook', 'PreToolUse:Bash hook error: [x]: blocked'],
    ['stopping it', `a\n${ABORTED}`],
  ];
  for (const [what, text, mark] of refusals) {
    test(`passes over a call that was refused by ${what}`, () => {
      const transcript = new Transcript();
      transcript.failure(transcript.call('Bash', { command: 'x' }), text, mark);
      expect([events(transcript), passedOver(transcript)]).toEqual([[], ['refusedCalls']]);
    });
  }

  const denied = 'Exit code 1\nPermission to use x has been denied';
  for (const text of [denied, 'Permission denied (publickey).', 'Hook failed']) {
    test(`does not take "${text.replace('\n', ' ')}" for a refusal`, () => {
      expect(events(new Transcript().fail('Bash', { command: 'x' }, text))).toMatchObject([{ error: text }]);
    });
  }

  test('passes over a result whose call is not known, and a second result', () => {
    const transcript = new Transcript();
    transcript.result('toolu_unknown', 'ok').result(transcript.call('Bash', { command: 'x' }), 'ok');
    transcript.result('toolu_s1__0', 'again');
    expect(passedOver(transcript)).toEqual(['resultsWithoutCall', 'resultsWithoutCall']);
    expect(events(transcript)).toHaveLength(1);
  });

  test('holds no more of a call than is looked at', () => {
    const calls = new OpenCalls();
    const transcript = new Transcript();
    const more = { content: 'x'.repeat(1e6), edits: [{ a: 1 }] };
    const id = transcript.call('Write', { file_path: 'a', replace_all: false, ...more });
    for (const entry of transcript.entries) readEntry(entry, MAIN, calls);
    const call = calls.close(id);
    expect(call?.input).toMatchObject({ file_path: 'a', replace_all: false });
    expect(JSON.stringify(call).length).toBeLessThan(20_000);
  });
});

describe('readEntry() and sub-agents', () => {
  test('gives the end of a sub-agent with its last message', () => {
    const transcript = new Transcript({ agent: 'a1' }).say('thinking', 'tool_use').say('done');
    expect(events(transcript, AGENT)).toMatchObject([{ name: 'SubagentStop', ...AGENT }]);
  });

  const others: [string, Transcript, TranscriptOwner][] = [
    ['the end of a turn of the main session', new Transcript().say('done'), MAIN],
    ['an error of the service', new Transcript().say('no', 'end_turn', { isApiErrorMessage: true }), AGENT],
    ['a message without a reason', new Transcript({ agent: 'a1' }).say('done', null), AGENT],
  ];
  for (const [what, transcript, owner] of others) {
    test(`does not take ${what} for the end of a sub-agent`, () => {
      expect(events(transcript, owner)).toEqual([]);
    });
  }

  test('says in which agent a call was made', () => {
    const transcript = new Transcript({ agent: 'a1' }).succeed('Bash', { command: 'x' });
    expect(events(transcript, AGENT)).toMatchObject([AGENT]);
    const untyped: TranscriptOwner = { ...AGENT, agentType: null };
    expect(events(transcript, untyped)).toMatchObject([{ agentType: null }]);
    const [call, result] = transcript.entries;
    const named = { entries: [call, { ...result, attributionAgent: 'Explore' }] };
    expect(events(named, untyped)).toMatchObject([{ agentType: 'Explore' }]);
  });
});

describe('readEntry() and where and when', () => {
  test("takes the entry's own session, directory and time", () => {
    const transcript = new Transcript({ session: 's9', cwd: '/home/dev/other' }).prompt('x');
    const [found] = read(transcript);
    const event = { sessionId: 's9', cwd: '/home/dev/other', agentId: null };
    expect(found).toMatchObject({ ts: '2026-11-20T09:00:01.000Z', event });
  });

  test('takes the session of the file when the entry names none', () => {
    const [entry] = new Transcript().prompt('x').entries;
    const nameless = { ...entry, sessionId: undefined };
    expect(events({ entries: [nameless] })).toMatchObject([{ sessionId: 'from-name' }]);
  });

  for (const timestamp of [undefined, '', 'yesterday', 5]) {
    test(`passes over an entry with the time ${JSON.stringify(timestamp)}`, () => {
      expect(passedOver(new Transcript().prompt('x', { timestamp }))).toEqual(['entriesWithoutTime']);
      expect(passedOver(new Transcript().queued('x', { timestamp }))).toEqual(['entriesWithoutTime']);
    });
  }

  test('timeOf() gives one form for all', () => {
    expect(timeOf({ timestamp: '2026-11-20T10:00:00+01:00' })).toBe('2026-11-20T09:00:00.000Z');
  });
});

test('readEntry() gives nothing for what is no entry', () => {
  const junk: unknown[] = [
    ...[undefined, null, 1, 'user', [], {}, { type: 'user' }],
    { type: 'user', message: null },
    { type: 'user', message: { content: [null, 1, { type: 'tool_use' }] } },
    { type: 'assistant', message: { content: 'x' } },
    { type: 'assistant', message: { content: [{ type: 'tool_use', id: 1, name: 'Bash' }] } },
    { type: 'attachment' },
    { type: 'attachment', attachment: { type: 'queued_command', prompt: { a: 1 } } },
    { type: 'summary', summary: 'x', timestamp: '2026-11-20T09:00:00Z' },
    { type: 'constructor' },
  ];
  for (const entry of junk) expect(read({ entries: [entry] })).toEqual([]);
  const bare = { type: 'user', message: { content: [{ type: 'tool_result' }] } } satisfies Json;
  expect(passedOver({ entries: [bare] })).toEqual(['resultsWithoutCall']);
});
