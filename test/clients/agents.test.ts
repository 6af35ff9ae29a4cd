import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAgentFiles, writingAgents } from '../../src/clients/claude/setup.ts';

function writes(fields: string): boolean {
  const text = `---\nname: tester\n${fields}\n---\nBody\ntools: Write\n`;
  return writingAgents([text]).length === 1;
}

describe('writingAgents()', () => {
  const rows: [string, boolean][] = [
    ['description: no tools line', true],
    ['tools:', true],
    ['tools: "*"', true],
    ['tools: Read, Edit', true],
    ['tools: Read,Write', true],
    ['tools: MultiEdit', true],
    ['tools: NotebookEdit', true],
    ['tools: "Read, Edit"', true],
    ['tools: [Read, "Edit"]', true],
    ['tools:\n  - Read\n  - Edit # for code', true],
    ['tools:\n- Edit', true],
    ['tools: Read, Write(src/**,docs/**)', true],
    ['tools: Read, Grep, Bash', false],
    ['tools: Bash(git commit:*), TodoWrite', false],
    ['tools: []', false],
    ['tools: ""', false],
    ['tools: Read # Edit', false],
    ['tools:\n  - Read\nmodel: Edit', false],
    ['description: tools Edit\ntools: Read', false],
    ['disallowedTools: Edit', true],
    ['disallowedTools: Write, Edit', false],
    ['disallowedTools:\n  - Write\n  - Edit', false],
    ['tools: Edit, Read\ndisallowedTools: Edit', false],
    ['tools: Edit\ndisallowedTools: Edit(secret/**)', true],
  ];
  for (const [fields, expected] of rows) {
    test(`says ${expected} to ${JSON.stringify(fields)}`, () => expect(writes(fields)).toBe(expected));
  }

  const names: [string, string[]][] = [
    ['---\nname: executor\n---\n', ['executor']],
    ['---\r\nname: "my agent"\r\n---\r\n', ['my agent']],
    ["\uFEFF---\nname: 'quoted' # comment\n---", ['quoted']],
    ['---\nname: ab\n---\n', []],
    ['---\nname: 코드\n---\n', []],
    ['---\nname: 코드장인\n---\n', ['코드장인']],
    ['---\nname: \n---\n', []],
    ['---\nmodel: opus\n---\n', []],
    ['name: executor\n', []],
    ['# Title\n---\nname: executor\n---\n', []],
    ['---\nname: executor\n', []],
    [`---\nname: ${'x'.repeat(200)}\n---\n`, []],
    ['', []],
  ];
  for (const [text, expected] of names) {
    test(`finds ${JSON.stringify(expected)} in ${JSON.stringify(text.slice(0, 40))}`, () => {
      expect(writingAgents([text])).toEqual(expected);
    });
  }

  test('gives each name once', () => {
    const text = '---\nname: executor\n---\n';
    expect(writingAgents([text, text])).toEqual(['executor']);
  });
});

describe('readAgentFiles()', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'agents-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test('reads the Markdown files in and below the directory', () => {
    mkdirSync(join(directory, 'team.md'));
    writeFileSync(join(directory, 'team.md', 'b.md'), 'b');
    writeFileSync(join(directory, 'a.md'), 'a');
    writeFileSync(join(directory, 'a.txt'), 'no');
    writeFileSync(join(directory, 'big.md'), 'x'.repeat(300 * 1024));
    symlinkSync(join(directory, 'missing'), join(directory, 'link.md'));
    expect(readAgentFiles(directory).map(({ text }) => text)).toEqual(['a', 'b']);
    expect(readAgentFiles(join(directory, 'missing'))).toEqual([]);
  });
});
