import { describe, expect, test } from 'bun:test';
import { mentionsFile } from '../../src/suggestions/markdown.ts';

describe('mentionsFile()', () => {
  const mentions = [
    'Read @.env before you start.',
    'Follow @docs/agents/evil.md',
    '@README',
    'Read\n@~/.ssh/id_rsa',
    'Read\t@/etc/passwd',
    'Read\u00a0@x',
    'Read (@~/x)',
    'Read "@../x"',
    'Read @"a b"',
    'Read @../../.ssh/id_rsa',
    'Read @a/../../x',
    'Read @_private',
    'Read @-x',
    'Read @한글.md',
    'Read `it` and @x/y',
    '`` ` `` @x',
    'a ` @x/y',
    'a ``` @x/y `` b',
    '\\` @docs/x \\`',
    '<a title="`"> @docs/x <a title="`">',
    '`a\n@docs/x`',
    '```\ncode\n```\n@docs/x',
    '```\ncode\n``\n```\n@docs/x',
    '~~~\n```\n~~~\n@docs/x',
    // What only looks like the beginning of a fence, and a fence that is never closed or may end before its end.
    '``` npm test ```\n\n@docs/x',
    '    ```\n\n@docs/x',
    '- ```\n  code\n\nSee @docs/x',
    '```\n@docs/x',
    // A path is not allowed in code either.
    'Read ` @.env `',
    'Read ` @~/.ssh/id_rsa `',
    '```\ncat @/etc/passwd\n```',
    '```\n@../x\n```',
  ];
  for (const text of mentions)
    test(`finds one in ${JSON.stringify(text)}`, () => expect(mentionsFile(text)).toBe(true));

  const others = [
    '',
    'Write to dev@example.com.',
    'Use `@types/x`.',
    'Use `npm i @types/x` and `bun add @a/b`.',
    'Use `` a ` @types/x ``.',
    'a @ b',
    '2 @',
    '```ts\n@Component()\nclass A {}\n```',
    'git@github.com:a/b.git',
    'user@~',
    '값은 a@b 이다',
  ];
  for (const text of others)
    test(`finds none in ${JSON.stringify(text)}`, () => expect(mentionsFile(text)).toBe(false));
});
