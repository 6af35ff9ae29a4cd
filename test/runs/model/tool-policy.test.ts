import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  combinePolicies,
  entryProblem,
  expandNames,
  isToolAllowed,
  NO_POLICY,
  TOOL_NAMES,
  type ToolPolicy,
} from '../../../src/runs/model/tool-policy.ts';

/** What the clients call their tools, the name in a policy first. */
const SPELLINGS: readonly (readonly string[])[] = [
  ['read', 'read_file', 'read_many_files', 'readfile'],
  ['write', 'write_file', 'writefile'],
  ['edit', 'replace', 'multiedit'],
  ['apply_patch', 'apply-patch', 'applypatch', 'patch'],
  [
    ...['exec', 'bash', 'shell', 'exec_command', 'shell_command', 'local_shell', 'run_shell_command'],
    'unified_exec',
  ],
  ['process', 'write_stdin', 'bashoutput', 'killshell'],
  ['web_search', 'websearch', 'google_web_search'],
  ['web_fetch', 'webfetch'],
  ['task', 'agent', 'spawn_agent'],
  ['todo', 'todowrite', 'todoread', 'write_todos', 'update_plan'],
  ['skill', 'activate_skill'],
  ['grep', 'grep_search', 'search_file_content'],
  ['list', 'list_directory', 'ls'],
  ['question', 'askuserquestion', 'ask_user', 'request_user_input'],
  ['plan_enter', 'enterplanmode', 'enter_plan_mode'],
  ['plan_exit', 'exitplanmode', 'exit_plan_mode'],
];
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'group:fs': ['read', 'write', 'edit', 'apply_patch'],
  'group:runtime': ['exec', 'process'],
  'group:web': ['web_search', 'web_fetch'],
  'group:sessions': TOOL_NAMES.filter((name) => /^(sessions_|agents_|subagents)/.test(name)),
};

/** As slow and as plain as can be. */
function isAllowedPlainly({ deny, allow }: ToolPolicy, tool: string): boolean {
  const spelled = SPELLINGS.find((row) => row.includes(tool)) ?? [tool];
  const servers = tool.startsWith('mcp__') ? ['mcp'] : [];
  const name = spelled[0] ?? tool;
  const isDenied = [...spelled, ...servers].some((one) => deny.some((word) => means(word, one)));
  return (
    !isDenied && (allow?.some((word) => [tool, name, ...servers].some((one) => means(word, one))) ?? true)
  );
}

function means(word: string, tool: string): boolean {
  const lower = word.trim().toLowerCase();
  if (lower === '') return false;
  const meant = GROUPS[lower] ?? [SPELLINGS.find((row) => row.includes(lower))?.[0] ?? lower];
  return meant.some((pattern) => {
    const pieces = pattern.split('*').map((piece) => piece.replace(/[^a-z0-9]/g, '\\$&'));
    return new RegExp(`^${pieces.join('[^]*')}$`).test(tool);
  });
}

const MCP = ['mcp__x__y', 'mcp__x__z', 'mcp__self-generation__find'];
const names = fc.constantFrom(...TOOL_NAMES, ...SPELLINGS.flat(), ...MCP, 'glob', 'other');
const exactWord = fc.oneof(
  names,
  names.map((name) => ` ${name.toUpperCase()}`),
  fc.constantFrom(...Object.keys(GROUPS), 'Group:FS'),
);
const piece = fc.oneof(names, fc.constantFrom('', 'w', 'e', 'web', '_', 'mcp__', 'mcp__x__', 's', 'write_'));
const pattern = fc.array(piece, { minLength: 2, maxLength: 3 }).map((pieces) => pieces.join('*'));
const word = fc.oneof({ arbitrary: exactWord, weight: 3 }, pattern);
const policyOf = (one: fc.Arbitrary<string>): fc.Arbitrary<ToolPolicy> =>
  fc.record({ deny: fc.array(one, { maxLength: 4 }), allow: fc.option(fc.array(one, { maxLength: 5 })) });
const stagesOf = (one: fc.Arbitrary<string>) => fc.array(policyOf(one), { maxLength: 4 });
const policyName = fc.constantFrom(...TOOL_NAMES);

describe('isToolAllowed()', () => {
  test('says what a plain model says, with patterns, groups, other spellings, and allow against deny', () => {
    fc.assert(
      fc.property(policyOf(word), names, (policy, tool) => {
        expect(isToolAllowed(policy, tool)).toBe(isAllowedPlainly(policy, tool));
      }),
      { numRuns: 2000 },
    );
  });

  test('never lets through what is denied, whatever is allowed', () => {
    fc.assert(
      fc.property(policyOf(word), names, (policy, tool) => {
        expect(isToolAllowed({ ...policy, deny: [...policy.deny, tool] }, tool)).toBe(false);
        expect(isToolAllowed({ ...policy, allow: [] }, tool)).toBe(false);
      }),
    );
  });

  const rows: [title: string, policy: Partial<ToolPolicy>, tool: string, isAllowed: boolean][] = [
    ['everything without a policy', {}, 'exec', true],
    ['no tool that is denied as another client calls it', { deny: ['WebFetch'] }, 'web_fetch', false],
    ['no tool that a pattern denies as another client calls it', { deny: ['run_*'] }, 'exec', false],
    ['no more by a pattern than what it says', { allow: ['s*'] }, 'exec', false],
    ['a part of what reads by its own name alone', { allow: ['Grep'] }, 'read', false],
    ['every tool of a server by "mcp"', { allow: ['mcp'] }, 'mcp__x__y', true],
    ['no tool of a server that is denied in capitals', { deny: ['mcp__x__Find'] }, 'mcp__x__Find', false],
  ];
  for (const [title, policy, tool, isAllowed] of rows)
    test(`lets through ${title}`, () =>
      expect(isToolAllowed({ ...NO_POLICY, ...policy }, tool)).toBe(isAllowed));
});

describe('combinePolicies()', () => {
  test('lets through what every stage does, of all names where nothing is a pattern', () => {
    fc.assert(
      fc.property(stagesOf(exactWord), fc.oneof(policyName, fc.constantFrom(...MCP)), (stages, tool) => {
        const isAllowed = stages.every((stage) => isAllowedPlainly(stage, tool));
        expect(isToolAllowed(combinePolicies(stages), tool)).toBe(isAllowed);
      }),
      { numRuns: 1000 },
    );
  });

  test('lets through what every stage does, of the names of a policy, also with patterns', () => {
    fc.assert(
      fc.property(stagesOf(word), policyName, (stages, tool) => {
        const isAllowed = stages.every((stage) => isAllowedPlainly(stage, tool));
        expect(isToolAllowed(combinePolicies(stages), tool)).toBe(isAllowed);
      }),
      { numRuns: 1000 },
    );
  });

  test('never lets through what one of the stages does not, so that a later one never widens', () => {
    fc.assert(
      fc.property(stagesOf(word), policyOf(word), fc.oneof(names, fc.string()), (stages, later, tool) => {
        const all = combinePolicies([...stages, later]);
        if (!isToolAllowed(all, tool)) return;
        for (const stage of [...stages, later])
          expect(isAllowedPlainly(stage, tool.toLowerCase())).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('gives a policy that combines with others as the stages would', () => {
    fc.assert(
      fc.property(stagesOf(word), policyOf(word), policyName, (stages, later, tool) => {
        const atOnce = combinePolicies([...stages, later]);
        const oneByOne = combinePolicies([combinePolicies(stages), later]);
        expect(isToolAllowed(oneByOne, tool)).toBe(isToolAllowed(atOnce, tool));
      }),
    );
  });
});

test('expandNames() knows every spelling, and no property that all objects have', () => {
  for (const [name = '', ...others] of SPELLINGS) expect(expandNames(others)).toEqual([name]);
  expect(expandNames(['constructor', ' ', '__proto__'])).toEqual(['constructor', '__proto__']);
});

describe('entryProblem()', () => {
  test('has nothing to say of a name by which anybody calls a tool', () => {
    const known = [
      ...TOOL_NAMES,
      ...SPELLINGS.flat(),
      ...Object.keys(GROUPS),
      ...MCP,
      'x*c',
      'gateway',
      'cron',
    ];
    for (const entry of [...known, 'Glob', ' NotebookEdit', 'view_image', 'mcp__x'])
      expect([entry, entryProblem(entry)]).toEqual([entry, entry === 'x*c' ? expect.any(String) : undefined]);
  });

  test('has nothing to say of what denies a tool, and names whatever denies none', () => {
    const tools = [...TOOL_NAMES, ...SPELLINGS.flat(), 'glob', 'view_image', 'notebookedit'];
    const entries = fc.oneof(word, fc.string(), fc.string({ unit: 'grapheme' }));
    fc.assert(
      fc.property(entries, (entry) => {
        fc.pre(!/^\s*(?:mcp__|gateway|cron)/i.test(entry));
        const denies = tools.some((tool) => !isToolAllowed({ deny: [entry], allow: null }, tool));
        expect(entryProblem(entry) === undefined).toBe(denies);
      }),
      { numRuns: 2000, examples: [['c*']] },
    );
  });
});
