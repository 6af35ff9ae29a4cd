import { describe, expect, test } from 'bun:test';
import { decidePostToolUseFailure } from '../../src/hooks/error-logger.ts';
import { decidePostToolBatch } from '../../src/hooks/tool-logger.ts';
import { type Home, readEvents, readRows, temporaryHome } from '../support/home.ts';
import { bench, eventOf } from '../support/hook-context.ts';
import { bashFailure, type Payload, payload, SESSION } from '../support/payloads.ts';

function decideFailure(home: Home, input: Payload) {
  using work = bench(home);
  return decidePostToolUseFailure(eventOf('PostToolUseFailure', input), work.context);
}

describe('decidePostToolBatch()', () => {
  const decideBatch = (home: Home, input: Payload) => {
    using work = bench(home);
    return decidePostToolBatch(eventOf('PostToolBatch', input), work.context);
  };

  test('records the calls that the client rejected', () => {
    using home = temporaryHome();
    using work = bench(home);
    work.keep(decideBatch(home, payload('post-tool-batch-rejected')));
    expect(readEvents(home.paths, 'tool_error').map((event) => event.data)).toEqual([
      {
        tool: 'Edit',
        error: 'String to replace not found in file. · Edit',
        said: 'String to replace not found in file.',
        noise: 'client',
        errorRaw: 'String to replace not found in file.\nString: not there',
        toolUseId: 'toolu_e2',
        file: 'notes.txt',
      },
    ]);
  });

  test('passes over calls that ran, and over answers that are no text', () => {
    using home = temporaryHome();
    expect(decideBatch(home, payload('post-tool-batch'))).toEqual({});
    const [call] = payload('post-tool-batch-rejected').tool_calls as Payload[];
    const answers = [
      [{ type: 'text', text: '<tool_use_error>x' }],
      null,
      7,
      'ok <tool_use_error>no',
      '<tool_use_error>',
    ];
    for (const tool_response of answers) {
      expect(
        decideBatch(home, payload('post-tool-batch', { tool_calls: [{ ...call, tool_response }] })),
      ).toEqual({});
    }
  });

  test('does not count again what was reported as a failure of its own', () => {
    using home = temporaryHome();
    using work = bench(home);
    const [call] = payload('post-tool-batch-rejected').tool_calls as Payload[];
    const { tool_response: _, ...rejected } = call ?? {};
    work.keep(
      decideFailure(home, bashFailure('String to replace not found', rejected)),
      decideBatch(home, payload('post-tool-batch-rejected')),
      decideBatch(home, payload('post-tool-batch-rejected', { session_id: 'of-a-fork' })),
    );
    expect(readEvents(home.paths).map((event) => event.sessionId)).toEqual([SESSION]);
  });

  test('counts what a client does not identify each time', () => {
    using home = temporaryHome();
    using work = bench(home);
    const [call] = payload('post-tool-batch-rejected').tool_calls as Payload[];
    const anonymous = { tool_calls: [{ ...call, tool_use_id: undefined }] };
    work.keep(
      decideBatch(home, payload('post-tool-batch-rejected', anonymous)),
      decideBatch(home, payload('post-tool-batch-rejected', anonymous)),
    );
    expect(readEvents(home.paths)).toHaveLength(2);
  });

  test('keeps what the client says about its own rules out of the knowledge base', () => {
    using home = temporaryHome();
    using work = bench(home);
    work.keep(decideBatch(home, payload('post-tool-batch-rejected')));
    expect(readRows(home.paths, 'SELECT * FROM error_kb')).toEqual([]);
  });
});
