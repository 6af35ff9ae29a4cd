import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { translated } from '../../../src/hooks/callers/callers.ts';
import { readEventBase } from '../../../src/hooks/event.ts';
import { hookPayload } from '../../support/arbitrary-payload.ts';
import { CLIENT_NAMES } from '../../support/clients.ts';
import { agentStart, payload } from '../../support/payloads.ts';

const OTHERS = CLIENT_NAMES.filter((name) => name !== 'claude');

describe('translated()', () => {
  test("leaves Claude Code's events alone, and those of nobody that is known", () => {
    fc.assert(
      fc.property(
        hookPayload(),
        fc.constantFrom(undefined, 'claude', 'plugin', '../x', 'nobody'),
        (value, client) => {
          const event = { ...(value as object), client };
          expect(translated(event)).toEqual({ event });
        },
      ),
    );
  });

  test('has an event for each other client, whatever it was handed', () => {
    fc.assert(
      fc.property(hookPayload(), fc.constantFrom(...OTHERS), (value, client) => {
        expect(translated({ ...(value as object), client })?.event).toMatchObject({ client });
      }),
    );
  });
});

describe('an event of another client', () => {
  const base = (client: string, type: string) => readEventBase(agentStart(type, { client }), 'SubagentStart');

  test("has no transcript of Claude Code's", () => {
    expect(base('claude', 'x').transcriptPath).toBe(String(payload('subagent-start').transcript_path));
    for (const client of OTHERS) expect(base(client, 'x').transcriptPath).toBeUndefined();
  });

  test('names its kinds of agents as the settings do', () => {
    expect(base('codex', 'default').agentType).toBe('general-purpose');
    expect(base('codex', 'worker').agentType).toBe('executor');
    expect(base('codex', 'explorer').agentType).toBe('explorer');
    expect(base('opencode', 'general').agentType).toBe('general-purpose');
    expect(base('claude', 'default').agentType).toBe('default');
    expect(base('codex', 'constructor').agentType).toBe('constructor');
  });

  test('is of no client whose name is not known, which could be a path', () => {
    expect(base('../../x', 'x').client).toBeUndefined();
    expect(base('codex', 'x').client).toBe('codex');
  });
});
