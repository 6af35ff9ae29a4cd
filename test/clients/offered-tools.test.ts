import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type OwnTools, offeredTools } from '../../src/clients/tools.ts';
import { NO_POLICY, TOOL_NAMES, type ToolPolicy } from '../../src/runs/model/tool-policy.ts';

const TOOLS: OwnTools = {
  ...{ Bash: 'exec', Grep: 'read', Read: 'read', WebFetch: 'web_fetch', Write: 'write' },
};

const offered = (policy: Partial<ToolPolicy>) => offeredTools({ ...NO_POLICY, ...policy }, TOOLS);

const known = [...TOOL_NAMES, ...Object.keys(TOOLS), 'group:fs', 'group:web', 'bash', 'web_*', 'r*', '*'];
const name = fc.oneof(fc.constantFrom(...known), fc.string({ maxLength: 5 }));
const names = fc.array(name, { maxLength: 5 });

describe('offeredTools()', () => {
  const rows: [string, Partial<ToolPolicy>, string[]][] = [
    ['all without a policy', {}, ['Bash', 'Grep', 'Read', 'WebFetch', 'Write']],
    ['none that is denied by the name of the policy', { deny: ['read'] }, ['Bash', 'WebFetch', 'Write']],
    ['none that is denied by the name of the client', { deny: ['READ'] }, ['Bash', 'WebFetch', 'Write']],
    ['the others of its name where one is denied', { deny: ['Grep'] }, ['Bash', 'Read', 'WebFetch', 'Write']],
    ['what is allowed by either name', { allow: ['exec', 'WebFetch'] }, ['Bash', 'WebFetch']],
    ['one of several that share a name', { allow: ['grep'] }, ['Grep']],
    ['nothing that is allowed and denied, by two names', { allow: ['exec'], deny: ['Bash'] }, []],
    ['nothing where nothing is allowed', { allow: [] }, []],
  ];
  for (const [title, policy, expected] of rows) {
    test(`gives ${title}`, () => {
      expect(offered(policy)).toEqual(expected);
    });
  }

  const GEMINI: OwnTools = {
    ...{ google_web_search: 'web_search', grep_search: 'read', read_file: 'read', replace: 'edit' },
    ...{ run_shell_command: 'exec', web_fetch: 'web_fetch', write_file: 'write' },
  };
  const elsewhere: [deny: string, claude: string | null, gemini: string | null][] = [
    ['WebFetch', 'WebFetch', 'web_fetch'],
    ['WebSearch', null, 'google_web_search'],
    ['run_shell_command', 'Bash', 'run_shell_command'],
    ['exec_command', 'Bash', 'run_shell_command'],
    ['Write', 'Write', 'write_file'],
    ['write_file', 'Write', 'write_file'],
    ['replace', null, 'replace'],
    ['Grep', 'Grep', 'grep_search'],
    ['grep_search', 'Grep', 'grep_search'],
    ['run_*', 'Bash', 'run_shell_command'],
  ];
  for (const [deny, claude, gemini] of elsewhere) {
    test(`leaves no client with ${deny}, which is what one of them calls it`, () => {
      const without = (tools: OwnTools) => {
        const left = offeredTools({ ...NO_POLICY, deny: [deny] }, tools);
        return Object.keys(tools).filter((name) => !left.includes(name));
      };
      expect(without(TOOLS)).toEqual(claude === null ? [] : [claude]);
      expect(without(GEMINI)).toEqual(gemini === null ? [] : [gemini]);
    });
  }

  test('never offers more because more is denied, or because a list of what is allowed is shorter', () => {
    fc.assert(
      fc.property(names, names, fc.option(names), fc.nat(), (deny, more, allow, kept) => {
        const all = offered({ deny, allow });
        const stricter = offered({ deny: [...deny, ...more], allow });
        const shorter = offered({ deny, allow: allow?.slice(0, kept % (allow.length + 1)) ?? more });
        for (const tool of [...stricter, ...shorter]) expect(all).toContain(tool);
        expect(all.every((tool) => tool in TOOLS)).toBe(true);
      }),
    );
  });
});
