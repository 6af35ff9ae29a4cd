import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  clientFeatures,
  clientWarnings,
  findClientVersion,
  parseClientVersion,
} from '../../src/clients/claude/setup.ts';
import { type CommandOptions, runCommand } from '../../src/system/run-command.ts';
import { putFile } from '../support/tree.ts';

let bin = '';
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'client-version-'));
});
afterEach(() => rmSync(bin, { recursive: true, force: true }));

const putClaude = (script: string, mode = 0o755, directory = bin) =>
  putFile(join(directory, 'claude'), `#!/bin/sh\n${script}\n`, mode);

function find(path = `${bin}:${process.env.PATH}`) {
  const run = (file: string, args: readonly string[], options: CommandOptions) =>
    runCommand(file, args, { ...options, timeoutMs: 500 });
  return findClientVersion({ env: { PATH: path }, run, platform: 'linux' });
}

describe('findClientVersion()', () => {
  test('asks the claude on PATH', async () => {
    putClaude('[ "$1" = --version ] && [ $# = 1 ] && echo "2.1.328 (Claude Code)"');
    expect(await find()).toEqual({ kind: 'known', version: '2.1.328', path: join(bin, 'claude') });
  });

  test('takes the first that can be executed, and no relative entry', async () => {
    putClaude('echo 1.0.0', 0o644, join(bin, 'a'));
    putClaude('echo 2.0.0', 0o755, join(bin, 'b'));
    mkdirSync(join(bin, 'c', 'claude'), { recursive: true });
    const path = `.:bin::${bin}/c:${bin}/a:${bin}/b:${process.env.PATH}`;
    const found = { kind: 'known', version: '2.0.0', path: join(bin, 'b', 'claude') } as const;
    expect(await find(path)).toEqual(found);
  });

  const failures: [string, string, string][] = [
    ['another text', 'echo hello', 'did not print a version'],
    ['a failure', 'echo 2.1.0; exit 4', 'ended with exit code 4'],
    ['no answer', 'exec sleep 60', 'gave no answer'],
    ['a crash', 'kill -SEGV $$', 'ended by SIGSEGV'],
  ];
  for (const [name, script, reason] of failures) {
    test(`gives the reason for ${name}`, async () => {
      putClaude(script);
      const result = await find();
      expect(result.kind === 'unknown' ? result.reason : result.kind).toContain(reason);
    });
  }

  test('says when there is none', async () => {
    expect(await find(bin)).toEqual({ kind: 'unknown', reason: 'there is no "claude" on PATH' });
    const run = runCommand;
    expect(await findClientVersion({ env: {}, run, platform: 'linux' })).toMatchObject({ kind: 'unknown' });
  });
});

describe('parseClientVersion()', () => {
  const rows: [string, string | undefined][] = [
    ['2.1.328 (Claude Code)\n', '2.1.328'],
    ['v2.0.76', '2.0.76'],
    ['2.1.328-beta.1', '2.1.328'],
    ['2.1', undefined],
    ['2.1.3.4', undefined],
    ['Claude 2.1.328', undefined],
    ['', undefined],
  ];
  for (const [text, expected] of rows) {
    test(`reads ${JSON.stringify(text)}`, () => expect(parseClientVersion(text)).toBe(expected));
  }
});

describe('clientFeatures()', () => {
  const first = ['UserPromptSubmit', 'PreToolUse', 'PostToolUse'];
  const last = ['SubagentStop', 'Stop', 'SessionStart', 'SessionEnd'];
  const oldest = [...first, ...last];
  const middle = [...first, 'PostToolUseFailure', 'SubagentStart', ...last];
  const all = [...middle.slice(0, 4), 'PostToolBatch', ...middle.slice(4)];
  const rows: [string | undefined, boolean, string[]][] = [
    ['1.9.999', false, oldest],
    ['2.0.42', false, oldest],
    ['2.0.75', false, oldest],
    ['2.0.76', false, middle],
    ['2.1.20', false, middle],
    ['2.1.138', false, middle],
    ['2.1.139', true, middle],
    ['2.1.149', true, middle],
    ['2.1.150', true, all],
    ['2.1.328', true, all],
    ['3.0.0', true, all],
    [undefined, false, middle],
  ];
  for (const [version, execForm, events] of rows) {
    test(`of ${version}`, () => {
      const features = clientFeatures(version);
      expect(features).toMatchObject({ execForm });
      expect(features.events.map(String)).toEqual(events);
      expect(features.asyncHooks).toBe(version === '2.1.328' || version === '3.0.0');
    });
  }
});

describe('clientWarnings()', () => {
  test('names the events that are left out', () => {
    const client = { kind: 'known', version: '2.0.42', path: '' } as const;
    const [warning] = clientWarnings(client, 'per-call');
    expect(warning).toContain('does not know PostToolUseFailure, PostToolBatch, SubagentStart');
    const [other] = clientWarnings(client, 'session');
    expect(other).toContain('does not know PostToolUseFailure, SubagentStart;');
    expect(clientWarnings({ ...client, version: '2.1.328' }, 'per-call')).toEqual([]);
    expect(clientWarnings({ ...client, version: '2.1.140' }, 'session')).toEqual([]);
    expect(clientWarnings({ kind: 'unknown', reason: 'why' }, 'session')[0]).toContain('unknown (why)');
  });
});
