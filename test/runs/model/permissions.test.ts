import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  ASKS_FIRST,
  ASKS_NEVER,
  commandRules,
  commandStart,
  granted,
  grantProblem,
  mayUse,
  NETWORK,
  narrower,
  PERMISSION_MODES,
  type Permissions,
  parseRule,
  pathRules,
  readPermissions,
  splitGrants,
} from '../../../src/runs/model/permissions.ts';

const made = (changes: Partial<Permissions>): Permissions => ({ ...ASKS_FIRST, ...changes });

describe('parseRule()', () => {
  const rows: [string, ReturnType<typeof parseRule>][] = [
    ['Bash(npm test:*)', { tool: 'exec', calls: 'npm test:*' }],
    ['run_shell_command(git status)', { tool: 'exec', calls: 'git status' }],
    ['Bash', { tool: 'exec', calls: null }],
    ['Bash(*)', { tool: 'exec', calls: null }],
    ['Write', { tool: 'edit', calls: null }],
    ['MultiEdit(src/**)', { tool: 'edit', calls: 'src/**' }],
    ['WebFetch(domain:example.com)', { tool: 'web_fetch', calls: 'domain:example.com' }],
    ['mcp__files__read', { tool: 'mcp__files__read', calls: null }],
    ['Bash(echo "a) b")', { tool: 'exec', calls: 'echo "a) b"' }],
    ['*', { tool: '*', calls: null }],
    ['', undefined],
    ['Bash(npm', undefined],
    ['two words', undefined],
  ];
  for (const [text, rule] of rows) test(JSON.stringify(text), () => expect(parseRule(text)).toEqual(rule));
});

describe('mayUse()', () => {
  const rows: [string, Partial<Permissions>, string][] = [
    ['looking only, in plan mode', { mode: 'plan' }, ''],
    ['looking only, in default mode', {}, ''],
    ['files', { mode: 'edit' }, 'edit'],
    ['files, where the client judges the rest', { mode: 'auto' }, 'edit'],
    ['everything', { mode: 'all' }, 'edit exec web_fetch network'],
    ['what a rule allows as a whole', { allow: ['Bash', 'network'] }, 'exec network'],
    ['nothing by a rule for some calls', { allow: ['Bash(ls:*)', 'Edit(src/**)'] }, ''],
    [
      'nothing that is forbidden, even in part',
      { mode: 'all', deny: ['Bash(rm:*)', 'WebFetch'] },
      'edit network',
    ],
    ['nothing where all is forbidden', { mode: 'all', deny: ['*'] }, ''],
  ];
  for (const [title, permissions, allowed] of rows)
    test(`lets through ${title}`, () => {
      const tools = ['edit', 'exec', 'web_fetch', NETWORK] as const;
      expect(tools.filter((tool) => mayUse(tool, made(permissions))).join(' ')).toBe(allowed);
    });
});

describe('commandRules()', () => {
  test('has what is allowed and forbidden beside all others', () => {
    const permissions = made({
      mode: 'all',
      allow: ['Bash(npm test:*)'],
      deny: ['Bash(git push:*)', 'Read(.env)'],
    });
    expect(commandRules(permissions)).toEqual({ others: true, allow: ['npm test:*'], deny: ['git push:*'] });
  });
  test('allows no command where commands are forbidden as a whole', () => {
    const permissions = made({ mode: 'all', allow: ['Bash(npm test:*)'], deny: ['Bash'] });
    expect(commandRules(permissions)).toEqual({ others: false, allow: [], deny: [] });
  });
});

test('commandStart() knows what commands begin with, and no other pattern', () => {
  const starts = ['npm test:*', 'npm test *', 'npm test', 'git * main:*', ':*'].map(commandStart);
  expect(starts).toEqual(['npm test', 'npm test', undefined, undefined, undefined]);
});

test('pathRules() are those about reading', () => {
  expect(pathRules(made({ deny: ['Read(.env)', 'Grep', 'Edit(src/**)', 'Bash(cat:*)'] }))).toEqual([
    'Read(.env)',
    'Grep',
  ]);
});

describe('granted()', () => {
  test('adds rules, and opens everything where all is granted', () => {
    expect(granted(made({ mode: 'plan' }), ['edit'])).toEqual(made({ mode: 'plan', allow: ['edit'] }));
    expect(granted(made({ deny: ['Bash'] }), ['all'])).toEqual(made({ mode: 'all', deny: ['Bash'] }));
  });
});

test('granted() knows what the clients call the same', () => {
  const edits = ['edit', 'acceptEdits', 'auto_edit', 'workspace-write'];
  for (const word of edits) expect(granted(made({}), [word])).toEqual(made({ allow: ['edit'] }));
  for (const word of ['all', 'bypassPermissions', 'yolo', 'danger-full-access'])
    expect(granted(made({}), [word])).toEqual(made({ mode: 'all' }));
});

test('splitGrants() leaves commas in brackets alone', () => {
  expect(splitGrants('edit, exec(git log --format=%h,%s:*) ,web_fetch,')).toEqual([
    ...['edit', 'exec(git log --format=%h,%s:*)', 'web_fetch'],
  ]);
});

test('splitGrants() grants nothing for a bracket too many or too few', () => {
  for (const text of ['exec(', 'exec)', 'exec((', 'edit,exec(npm test', 'exec(a),exec(', ')exec'])
    expect(splitGrants(text).some((one) => grantProblem(one) !== undefined)).toBeTrue();
  expect(splitGrants('exec(echo (a, (b)):*),edit')).toEqual(['exec(echo (a, (b)):*)', 'edit']);
});

test('grantProblem() knows what can be granted', () => {
  const good = ['edit', 'all', 'Bash(npm test:*)', 'exec', 'network', 'WebFetch', 'read', 'web_search'];
  expect(good.map(grantProblem)).toEqual(good.map(() => undefined));
  for (const bad of ['everything', 'editt', '', 'Bash(', 'exec()', '*', 'sessions_spawn', 'еdit'])
    expect(grantProblem(bad)).toContain('is no permission');
});

test('readPermissions() asks first where nothing is known', () => {
  for (const value of [null, undefined, 'all', {}, { mode: 'root' }])
    expect(readPermissions(value)).toEqual(ASKS_FIRST);
  expect(readPermissions({ mode: 'edit', allow: ['a', 1], deny: 2 })).toEqual({
    mode: 'edit',
    allow: ['a'],
    deny: [],
  });
});

describe('narrower()', () => {
  const rule = fc.constantFrom(
    'edit',
    'exec',
    'exec(npm test:*)',
    'web_fetch',
    'network',
    'Bash(git:*)',
    '*',
  );
  const permissions = fc.record({
    mode: fc.constantFrom(...PERMISSION_MODES),
    allow: fc.array(rule, { maxLength: 4 }),
    deny: fc.array(rule, { maxLength: 2 }),
  });
  const tools = ['edit', 'exec', 'web_fetch', 'network'] as const;

  test('lets through nothing that one of both keeps back, and has each one’s bounds', () => {
    fc.assert(
      fc.property(permissions, permissions, (one, other) => {
        const both = narrower(one, other);
        for (const tool of tools)
          if (mayUse(tool, both)) expect(mayUse(tool, one) && mayUse(tool, other)).toBe(true);
        for (const calls of commandRules(both).allow)
          for (const each of [one, other])
            expect(
              commandRules(each).others || commandRules(each).allow.includes(calls) || each.deny.length > 0,
            ).toBe(true);
        expect(both.deny).toEqual(expect.arrayContaining([...one.deny, ...other.deny]));
      }),
    );
  });
  test('is the other where one may do everything', () => {
    const other = made({ mode: 'edit', allow: ['exec(npm test:*)'], deny: ['Read(.env)'] });
    expect(narrower(ASKS_NEVER, other)).toEqual(other);
    expect(narrower(other, ASKS_NEVER)).toEqual(other);
  });
});
