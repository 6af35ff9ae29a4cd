import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { safeName } from '../../src/core/text.ts';

const stays = (name: string) => expect(safeName(name)).toBe(name);
const goes = (name: string) => {
  expect(safeName(name)).toMatch(/^redacted-\w+$/);
  expect(safeName(name)).toBe(safeName(name));
};

describe('safeName()', () => {
  const readable = {
    'ids of sessions': [
      '5ccbac7a-90c5-4c33-840b-85f1c3800580 0199a213-81a0-7800-8aa1-bbab2a035a53 1',
      'ses_54a1d2e3effeX9vQkL2mNpRsTu session-1 session-1a my-2nd-session',
    ],
    'ids of agents and calls': [
      'a1b2c3d4e5f60718 agent-a1b2c3d toolu_01AbCdEf23GhIjKl45MnOp67 toolu_bdrk_01AbCdEf23GhIjKl45MnOp67',
      'call_9zX8yW7vU6tS5rQ4pO3nM2lK run_shell_command-1763800000000-8f3a9c1b2d4e5 item_0',
    ],
    'names of agents and tools that a user chooses': [
      'e2e-runner k8s-expert a11y-auditor 3d-printer mcp__k8s__get_pods',
      'mcp__claude_ai_Context7__query-docs plugin:frontend:designer 코드-리뷰어2',
    ],
  };
  for (const [what, names] of Object.entries(readable))
    test.each(names.join(' ').split(' '))(`leaves ${what} as they are: %s`, stays);
  test.each(['', 'i18n reviewer'])('leaves what is empty or has a blank: "%s"', stays);

  const made = 'Tiger-4821!x Kp9QzR2mLtX4vB7n x7k2m pcsk_1_ngFW__rvwQAX_g_3__wto54W k8s-e2e-i18n-a1b2c3';
  const others = ['https://a.example/x', 'deadbeef'.repeat(8), 'abcdefgh'.repeat(4)];
  test.each([...made.split(' '), ...others, 'run-1763800000000-Kp9QzR2mLtX4'])(
    'replaces what no client makes: %s',
    goes,
  );

  test('replaces everything that has letters behind digits and is longer than such words are', () => {
    const random = fc.stringMatching(/^[g-zG-Z]\d[g-zG-Z]\d[A-Za-z0-9]{1,60}$/);
    fc.assert(fc.property(random, goes));
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[g-z]\d[g-z]\d$/), { minLength: 2 }), (parts) =>
        goes(parts.join('-')),
      ),
    );
  });
});
