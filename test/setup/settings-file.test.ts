import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parse, parseTree } from 'jsonc-parser';
import { HOOKS, type Hook, hooksIn } from '../../src/hooks/hooks.ts';
import { Refused } from '../../src/setup/file-plan.ts';
import {
  type AppliedRegistration,
  hasHook,
  hookRemoval,
  inspectHooks,
  isApplied,
  type Registration,
  recogniseEntry,
  registerApplied,
  registerHooks,
} from '../../src/setup/settings-file.ts';

const HOME = '/home/me';
const BINARY = `${HOME}/.self-generation/hooks/self-generation`;
const hooksNamed = (name: string): readonly Hook[] => HOOKS.filter((hook) => hook.name === name);
const FIRST = hooksNamed('prompt-logger');
const GUIDE = hooksNamed('pre-tool-guide');
const MATCHER = GUIDE[0]?.matcher;

function registration(changes: Partial<Registration> = {}): Registration {
  return {
    binary: BINARY,
    binaries: [changes.binary ?? BINARY],
    predecessorDirectories: [`${HOME}/.self-generation/hooks`],
    userHome: HOME,
    platform: 'linux',
    form: 'exec',
    hooks: FIRST,
    ...changes,
  };
}

function entry(name: string, timeout = 5) {
  return { type: 'command', command: BINARY, args: ['hook', name], timeout };
}

function edited(text: string | undefined, changes: Partial<Registration> = {}): string {
  const result = registerHooks(text, registration(changes));
  expect(result).not.toBe(text as string);
  expect(registerHooks(result, registration(changes))).toBe(result);
  return result;
}

const isOurs = (found: unknown) => recogniseEntry(found, registration())?.kind === 'ours';

function unregistered(text: string): string {
  const result = hookRemoval(isOurs).remove(text);
  expect(hasHook(text, isOurs)).toBe(result !== text);
  return result;
}

function hooksOf(text: string): Record<string, unknown> {
  return parse(text.replace(/^\uFEFF/, ''), [], { allowTrailingComma: true }).hooks;
}

function check(name: string, text: string, expected: string): void {
  test(name, () => expect(edited(text)).toBe(expected));
}

describe('registerHooks()', () => {
  /** Our hook as it is written, and what stands behind it. */
  const lines = (indent: string, eol = '\n', close = '') => {
    const hooks = { UserPromptSubmit: [{ hooks: [entry('prompt-logger')] }] };
    const whole = JSON.stringify({ hooks }, null, indent).split('\n').slice(1, -1);
    return `${whole.join(eol)}${close}`;
  };

  test('makes a whole file when there is none', () => {
    expect(edited(undefined)).toBe(`{\n${lines('  ')}\n}\n`);
    expect(edited('')).toBe(edited(undefined));
    expect(edited(' \n')).toBe(edited(undefined));
  });
  check('fills an empty object', '{}', `{\n${lines('  ')}\n}`);
  check('appends after the last key', '{\n  "a": 1\n}\n', `{\n  "a": 1,\n${lines('  ')}\n}\n`);
  check('keeps tabs', '{\n\t"a": 1\n}\n', `{\n\t"a": 1,\n${lines('\t')}\n}\n`);
  check('keeps four blanks', '{\n    "a": 1\n}', `{\n    "a": 1,\n${lines('    ')}\n}`);
  check('keeps CRLF', '{\r\n  "a": 1\r\n}\r\n', `{\r\n  "a": 1,\r\n${lines('  ', '\r\n')}\r\n}\r\n`);
  check('keeps a byte order mark', '\uFEFF{\n  "a": 1\n}', `\uFEFF{\n  "a": 1,\n${lines('  ')}\n}`);
  check(
    'keeps comments where they are',
    '// top\n{\n  /* a */ "a": 1 // one\n  // end\n}\n',
    `// top\n{\n  /* a */ "a": 1, // one\n  // end\n${lines('  ')}\n}\n`,
  );
  check(
    'goes on with trailing commas',
    '{\n  "a": 1, // one\n}\n',
    `{\n  "a": 1, // one\n${lines('  ', '\n', ',')}\n}\n`,
  );
  check('fills an object that holds only a comment', '{\n  // later\n}', `{\n  // later\n${lines('  ')}\n}`);
  check(
    'stays on one line when everything is on one line',
    '{"a":1}',
    `{"a":1, "hooks": {"UserPromptSubmit":[{"hooks":[${JSON.stringify(entry('prompt-logger'))}]}]}}`,
  );

  test('adds a group to the groups of others and keeps their bytes', () => {
    const foreign = '{ "matcher": "Bash" , "hooks": [ { "type": "command", "command": "lint" } ] }';
    const before = `{\n  "hooks": {\n    "PreToolUse": [\n      ${foreign}\n    ]\n  }\n}\n`;
    const after = edited(before, { hooks: GUIDE });
    expect(after).toContain(`      ${foreign},\n      {\n        "matcher": "${MATCHER}",\n`);
    expect(unregistered(after)).toBe(before);
  });

  test('leaves null and other garbage among the groups as it is', () => {
    const entries = { hooks: [null, 7, { type: 'prompt' }, { command: 9 }] };
    const groups = [null, 5, 'x', [], {}, { hooks: null }, entries];
    const before = JSON.stringify({ hooks: { UserPromptSubmit: groups, Stop: null } }, null, 2);
    const after = edited(before);
    expect(hooksOf(after).UserPromptSubmit).toEqual([...groups, { hooks: [entry('prompt-logger')] }]);
    expect(unregistered(after)).toBe(before);
  });

  const own = entry('prompt-logger');
  const late = entry('prompt-logger', 9);
  const [a, b] = [{ command: 'a' }, { command: 'b' }];
  const shell = { type: 'command', command: `'${BINARY}' hook prompt-logger`, timeout: 5 };
  const old = { ...shell, command: 'node $HOME/.self-generation/hooks/prompt-logger.mjs' };
  const only = [{ hooks: [own] }];
  const inPlace: [string, before: unknown[], after: unknown[]][] = [
    ['another time limit', [{ hooks: [late] }], only],
    ['the shell form', [{ hooks: [shell] }], only],
    ['a matcher that is not wanted', [{ matcher: 'Bash', hooks: [own] }], only],
    ['two of ours', [{ hooks: [own] }, { hooks: [a, late] }], [{ hooks: [own] }, { hooks: [a] }]],
    ['ours beside foreign hooks', [{ hooks: [a, late, b] }], [{ hooks: [a, own, b] }]],
    [
      'ours beside a foreign hook under the wrong matcher',
      [{ matcher: 'X', hooks: [own, b] }],
      [{ matcher: 'X', hooks: [b] }, { hooks: [own] }],
    ],
    ['another of our hooks in this event', [{ hooks: [entry('error-logger')] }], only],
    ['the entry of the predecessor', [{ hooks: [old] }], only],
    [
      'keys of the user',
      [{ hooks: [{ ...late, statusMessage: 'x' }] }],
      [{ hooks: [{ ...own, statusMessage: 'x' }] }],
    ],
  ];
  for (const [name, before, after] of inPlace) {
    test(`puts right: ${name}`, () => {
      const text = edited(JSON.stringify({ hooks: { UserPromptSubmit: before, Stop: [] }, z: 1 }, null, 2));
      expect(hooksOf(text)).toEqual({ UserPromptSubmit: after, Stop: [] });
      expect(text.endsWith('"z": 1\n}')).toBe(true);
    });
  }

  test('takes out hooks that this client must not be given', () => {
    const all = edited('{}', { hooks: HOOKS });
    expect(Object.keys(hooksOf(all))).toEqual([...new Set(HOOKS.map((hook) => hook.event))]);
    expect(Object.keys(hooksOf(edited(all)))).toEqual(['UserPromptSubmit']);
  });

  const refusals: [string, string, string][] = [
    ['broken JSON', '{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: not valid JSON (comma expected)'],
    ['an unclosed object', '{"a": 1', 'line 1, column 8: not valid JSON (close brace expected)'],
    ['text after the end', '{}\n}', 'line 2, column 1: not valid JSON (end of file expected)'],
    ['only a comment', '// nothing', 'not valid JSON (value expected)'],
    ['a list', '[]', 'line 1, column 1: not a JSON object'],
    ['hooks that are a list', '{\r\n "hooks": []}', 'line 2, column 11: "hooks" is not an object'],
    ['hooks that are null', '{"hooks": null}', '"hooks" is not an object'],
    ['an event that is a text', '{"hooks": {"UserPromptSubmit": "x"}}', '"UserPromptSubmit" is not a list'],
    ['hooks twice', '{"hooks": {},\n"hooks": {}}', 'line 2, column 1: "hooks" stands there a second time'],
    [
      'an event twice',
      '{"hooks": {"UserPromptSubmit": [], "UserPromptSubmit": []}}',
      'column 36: "UserPromptSubmit" stands there a second time',
    ],
  ];
  for (const [name, text, reason] of refusals) {
    test(`refuses ${name}`, () => {
      expect(() => registerHooks(text, registration())).toThrow(reason);
    });
  }

  test('quotes a home with blanks and quotes for the shell', () => {
    const command = (binary: string, platform: string) => {
      const text = edited('{}', { binary, form: 'shell', platform });
      return parse(text).hooks.UserPromptSubmit[0].hooks[0];
    };
    const quoted = `'/home/o'\\''neil $x/a b' hook prompt-logger`;
    expect(command("/home/o'neil $x/a b", 'linux')).toEqual({ type: 'command', command: quoted, timeout: 5 });
    const windows = 'C:\\Users\\Jo Do/.self-generation/hooks/self-generation.exe';
    expect(command(windows, 'win32').command).toBe(
      '"C:/Users/Jo Do/.self-generation/hooks/self-generation.exe" hook prompt-logger',
    );
  });
});

describe('a hook that another client calls', () => {
  const other = { caller: 'codex', form: 'shell' } as const;
  const line = `'${BINARY}' hook prompt-logger codex`;

  test('is told whose it is, and recognised by that', () => {
    const text = edited(undefined, other);
    expect(hooksOf(text)).toEqual({
      UserPromptSubmit: [{ hooks: [{ type: 'command', command: line, timeout: 5 }] }],
    });
    expect(hasHook(text, isOurs)).toBe(true);
    expect(unregistered(text)).not.toContain('hook');
  });

  test('is renewed where it stands without that', () => {
    const text = edited(undefined, { form: 'shell' });
    expect(text).not.toContain('codex');
    expect(edited(text, other)).toContain(`prompt-logger codex`);
  });

  test('is not one that has other words behind it', () => {
    for (const rest of ['prompt-logger nobody', 'prompt-logger codex x', 'nothing codex', 'codex'])
      expect(isOurs({ type: 'command', command: `'${BINARY}' hook ${rest}` })).toBe(false);
    expect(isOurs({ type: 'command', command: line })).toBe(true);
  });
});

describe('hookRemoval()', () => {
  const own = JSON.stringify(entry('prompt-logger'));
  const rows: [string, string, string][] = [
    ['nothing of ours', '{"hooks": {"Stop": []}}', '{"hooks": {"Stop": []}}'],
    ['an empty file', '', ''],
    ['only ours', `{"hooks": {"X": [{"hooks": [${own}]}]}}`, '{}'],
    ['an event that we never register', `{"a": 1, "hooks": {"X": [{"hooks": [${own}]}]}}`, '{"a": 1}'],
    ['the first of two', `{"hooks": {"X": [{"hooks": [${own}, 5]}]}}`, '{"hooks": {"X": [{"hooks": [5]}]}}'],
    ['the last of two', `{"hooks": {"X": [{"hooks": [5, ${own}]}]}}`, '{"hooks": {"X": [{"hooks": [5]}]}}'],
    [
      'the last of two with a trailing comma',
      `{"hooks": {"X": [{"hooks": [5, ${own},],},],},}`,
      '{"hooks": {"X": [{"hooks": [5, ],},],},}',
    ],
    [
      'one with comments around it',
      `{"hooks": {"X": [{"hooks": [\n  5, // five\n  // ours\n  ${own} // that was it\n]}]}}`,
      '{"hooks": {"X": [{"hooks": [\n  5 // five\n  // ours\n   // that was it\n]}]}}',
    ],
    ['hooks twice', `{"hooks": {"X": [{"hooks": [${own}]}]}, "hooks": {}}`, '{"hooks": {}}'],
  ];
  for (const [name, text, expected] of rows) {
    test(`with ${name}`, () => expect(unregistered(text)).toBe(expected));
  }

  test('refuses broken JSON', () => expect(() => unregistered('{')).toThrow(Refused));

  test('says when nothing else is left', () => {
    const { isEmpty } = hookRemoval(isOurs);
    expect(unregistered(edited(undefined))).toBe('{}\n');
    expect(isEmpty('{}\n')).toBe(true);
    expect(isEmpty(unregistered(edited('{ // mine\n}')))).toBe(false);
  });
});

describe('inspectHooks()', () => {
  test('lists our entries and those of the predecessor with the events that they stand under', () => {
    const text = JSON.stringify({
      hooks: {
        UserPromptSubmit: [{ hooks: [entry('prompt-logger'), { command: 'mine' }, null] }],
        Stop: [null, { hooks: [{ command: `node ${HOME}/.self-generation/hooks/tool-logger.mjs` }] }],
      },
    });
    expect(inspectHooks(`\uFEFF${text}`, registration())).toEqual({
      isDisabled: false,
      entries: [
        { event: 'UserPromptSubmit', kind: 'ours', name: 'prompt-logger' },
        { event: 'Stop', kind: 'predecessor', name: 'tool-logger' },
      ],
    });
  });
  test('says when hooks are switched off, takes an empty file and refuses a broken one', () => {
    const inspect = (text: string) => inspectHooks(text, registration());
    expect(inspect('{"disableAllHooks": true}')).toEqual({ entries: [], isDisabled: true });
    expect(inspect(' \n')).toEqual({ entries: [], isDisabled: false });
    expect(() => inspect('{,}')).toThrow(Refused);
  });
});

const APPLIED: AppliedRegistration = { id: 's0a1b2c3d4', event: 'UserPromptSubmit', timeoutSeconds: 10 };

describe('registerApplied()', () => {
  const withApplied = (text: string, hook = APPLIED, changes: Partial<Registration> = {}) => {
    const result = registerApplied(text, hook, registration(changes));
    expect(registerApplied(result, hook, registration(changes))).toBe(result);
    return result;
  };
  const last = (text: string) => (hooksOf(text).UserPromptSubmit as unknown[]).at(-1);

  test('adds one group, in the form of our own hook of that event', () => {
    const entry = { type: 'command', command: BINARY, args: ['hook', 'applied', APPLIED.id], timeout: 10 };
    expect(last(withApplied(edited('{}')))).toEqual({ hooks: [entry] });
    expect(last(withApplied(edited('{}'), { ...APPLIED, matcher: 'a|b' }))).toEqual({
      matcher: 'a|b',
      hooks: [entry],
    });
    const shell = { type: 'command', command: `'${BINARY}' hook applied ${APPLIED.id}`, timeout: 10 };
    expect(last(withApplied(edited('{}', { form: 'shell' })))).toEqual({ hooks: [shell] });
  });

  test('keeps the mark at the beginning, comments and line ends, and goes without a trace', () => {
    const before = edited('\uFEFF{ // mine\r\n\t"model": "opus",\r\n}\r\n');
    const text = withApplied(before);
    expect(text).toStartWith('\uFEFF{ // mine\r\n\t"model": "opus"');
    const isOwn = (found: unknown) => isApplied(found, APPLIED.id, registration());
    expect(hookRemoval(isOwn).remove(text)).toBe(before);
    expect(hasHook(text, (found) => isApplied(found, 's000000000', registration()))).toBe(false);
  });

  test('is not touched when the hooks are registered again, moved or taken out', () => {
    const text = withApplied(edited('{}'));
    expect(registerHooks(text, registration())).toBe(text);
    const shell = edited(text, { form: 'shell' });
    expect(JSON.stringify(hooksOf(shell))).toContain(`"applied","${APPLIED.id}"`);
    expect(inspectHooks(text, registration())).toMatchObject({
      entries: [{ event: 'UserPromptSubmit', kind: 'ours', name: 'prompt-logger' }],
    });
    expect(JSON.stringify(hooksOf(unregistered(text)))).toContain(APPLIED.id);
  });

  test('registers for an event that every client knows although no hook of ours stands there', () => {
    const text = registerApplied(edited('{}'), { ...APPLIED, event: 'PostToolUse' }, registration());
    expect(hooksOf(text).PostToolUse).toHaveLength(1);
  });

  const refused: [string, string, AppliedRegistration, string][] = [
    ['no hook of ours', '{"hooks": {"UserPromptSubmit": []}}', APPLIED, 'no hook of ours stands under'],
    ['an empty file', '', APPLIED, 'no hook of ours'],
    [
      'no hook of ours under an event that not every client knows',
      edited('{}'),
      { ...APPLIED, event: 'PostToolBatch' },
      'under "PostToolBatch"',
    ],
    ['broken JSON', '{', APPLIED, 'not valid JSON'],
    ['hooks that are no object', '{"hooks": 5}', APPLIED, 'is not an object'],
    [
      'the same hook under another event',
      withApplied(edited('{}', { hooks: [...FIRST, ...GUIDE] })),
      { ...APPLIED, event: 'PreToolUse' },
      'for something else',
    ],
  ];
  for (const [name, text, hook, reason] of refused) {
    test(`refuses ${name}`, () => {
      expect(() => registerApplied(text, hook, registration())).toThrow(reason);
    });
  }
});

/** A JSONC text for a value: any indentation, comments and trailing commas that the format allows. */
function print(value: unknown, choose: () => number): string {
  let comments = 0;
  const gap = () => {
    const kinds = ['', '', ' ', '\n', '\n\t', ` /* ${comments++} */ `, ` // ${comments++}\n`, '\r\n  '];
    return kinds[choose() % kinds.length] ?? '';
  };
  const list = (parts: string[], open: string, close: string) => {
    const trailing = parts.length > 0 && choose() % 3 === 0 ? `,${gap()}` : '';
    return open + gap() + parts.join(`${gap()},${gap()}`) + gap() + trailing + close;
  };
  const write = (at: unknown): string => {
    if (Array.isArray(at)) return list(at.map(write), '[', ']');
    if (typeof at !== 'object' || at === null) return JSON.stringify(at);
    const parts = Object.entries(at).map(
      ([key, child]) => `${JSON.stringify(key)}${gap()}:${gap()}${write(child)}`,
    );
    return list(parts, '{', '}');
  };
  return gap() + write(value) + gap();
}

describe('registerHooks() and the two registrations', () => {
  const perCall = { hooks: hooksIn('per-call'), knowsAsync: true };
  const perSession = { hooks: hooksIn('session'), knowsAsync: true };

  test('changes one into the other, and leaves what is not ours', () => {
    const mine = { PostToolUse: [{ hooks: [{ type: 'command', command: 'mine' }] }] };
    const text = JSON.stringify({ hooks: mine }, null, 2);
    const before = edited(text, { hooks: HOOKS.filter(({ event }) => event !== 'Stop') });
    const after = edited(before, perSession);
    expect(hooksOf(after)).toEqual(hooksOf(edited(text, perSession)));
    expect(hooksOf(after).PostToolUse).toEqual(mine.PostToolUse);
    expect(hooksOf(edited(after, perCall))).toEqual(hooksOf(edited(text, perCall)));
    expect(parse(unregistered(after))).toEqual(parse(text));
  });

  test('says that nobody has to wait where the client knows that', () => {
    const asyncEvents = (text: string) =>
      Object.entries(hooksOf(text) as Record<string, { hooks: { async?: boolean }[] }[]>).flatMap(
        ([event, groups]) => (groups[0]?.hooks[0]?.async === true ? [event] : []),
      );
    const all = edited('{}', perSession);
    expect(asyncEvents(all)).toEqual(['SubagentStop', 'Stop']);
    expect(asyncEvents(edited(all, { ...perSession, knowsAsync: false }))).toEqual([]);
  });
});

describe('registerHooks() then hookRemoval()', () => {
  const foreignEntry = fc.oneof(
    fc.record({ type: fc.constant('command'), command: fc.string() }),
    fc.constantFrom(null, 7, 'x', {
      command: '/x/.self-generation/hooks/self-generation hook prompt-logger',
    }),
  );
  const group = fc.oneof(
    fc.record({ matcher: fc.string(), hooks: fc.array(foreignEntry, { maxLength: 3 }) }),
    fc.constantFrom(null, {}, { hooks: 'no' }),
  );
  const event = fc.constantFrom('PreToolUse', 'UserPromptSubmit', 'SessionEnd', 'Stop', 'Notification');
  const settings = fc.record({
    before: fc.dictionary(
      fc.constantFrom('model', 'env', 'a b', 'permissions'),
      fc.jsonValue({ maxDepth: 2 }),
    ),
    hooks: fc.option(fc.dictionary(event, fc.array(group, { minLength: 1, maxLength: 3 }), { minKeys: 1 })),
    after: fc.dictionary(fc.constantFrom('statusLine', 'z', 'enabledPlugins'), fc.jsonValue({ maxDepth: 2 })),
    choices: fc.array(fc.nat(100), { minLength: 1, maxLength: 50 }),
    form: fc.constantFrom('exec' as const, 'shell' as const),
  });

  test('returns an equal document, and no other byte moves', () => {
    fc.assert(
      fc.property(settings, ({ before, hooks, after, choices, form }) => {
        let at = 0;
        const value = { ...before, ...(hooks === null ? {} : { hooks }), ...after };
        const text = print(value, () => choices[at++ % choices.length] ?? 0);
        const withHooks = edited(text, { hooks: HOOKS, form });
        const sources = (of: string) =>
          (parseTree(of, [], { allowTrailingComma: true })?.children ?? [])
            .map((property) => of.slice(property.offset, property.offset + property.length))
            .filter((source) => !source.startsWith('"hooks"'));
        expect(sources(withHooks)).toEqual(sources(text));
        const commentsOf = (of: string) => of.match(/\/\* \d+ \*\/|\/\/ \d+/g) ?? [];
        expect(commentsOf(withHooks)).toEqual(commentsOf(text));
        const back = unregistered(withHooks);
        expect(parse(back, [], { allowTrailingComma: true })).toEqual(
          parse(text, [], { allowTrailingComma: true }),
        );
        expect(commentsOf(back)).toEqual(commentsOf(text));
      }),
      { numRuns: 200 },
    );
  });
});
