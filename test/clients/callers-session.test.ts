import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { callersModel } from '../../src/clients/clients.ts';
import type { Requester } from '../../src/runs/model/run.ts';
import { type Home, temporaryHome } from '../support/home.ts';

const CLAUDE: Requester = { key: 'agent:main:app-1', session: 's-1', client: 'claude', cwd: '/srv/my app' };

const said = (model: string) => JSON.stringify({ type: 'assistant', message: { model, content: [] } });

function write(home: Home, lines: readonly string[], place = '.claude/projects/-srv-my-app/s-1.jsonl'): void {
  home.put(place, lines.map((line) => `${line}\n`).join(''));
}

describe('callersModel()', () => {
  test('is the last that the session was answered by', () => {
    using home = temporaryHome();
    write(home, [said('claude-sonnet-4-5'), said('claude-opus-5-5'), said('<synthetic>'), '{"type":"user"}']);
    expect(callersModel(CLAUDE, { HOME: home.path, ANTHROPIC_MODEL: 'haiku' })).toBe('claude-opus-5-5');
  });

  test('is not what a tool or a person only speaks of', () => {
    using home = temporaryHome();
    const quoted = JSON.stringify({ type: 'user', message: { content: said('claude-other') } });
    write(home, [said('claude-opus-5-5'), quoted]);
    expect(callersModel(CLAUDE, { HOME: home.path })).toBe('claude-opus-5-5');
  });

  test('is found in a long transcript, where the client keeps its files, and by the project of the session', () => {
    using home = temporaryHome();
    const long = JSON.stringify({ type: 'user', message: { content: 'x'.repeat(300_000) } });
    const elsewhere = 'other/projects/-srv-app/s-1.jsonl';
    write(home, [said('claude-sonnet-4-5'), long, said('claude-opus-5-5')], elsewhere);
    const env = { CLAUDE_CONFIG_DIR: `${home.path}/other`, CLAUDE_PROJECT_DIR: '/srv/app' };
    expect(callersModel(CLAUDE, env)).toBe('claude-opus-5-5');
  });

  test("is the environment's where there is no transcript, and nothing for other clients and persons", () => {
    using home = temporaryHome();
    const env = { HOME: home.path, ANTHROPIC_MODEL: 'opus' };
    expect(callersModel(CLAUDE, env)).toBe('opus');
    expect(callersModel({ ...CLAUDE, session: '../../../etc/passwd' }, env)).toBe('opus');
    // From the directory that one is in, which may be anybody's.
    write(home, [said('claude-sonnet-4-5')]);
    expect(callersModel(CLAUDE, { ...env, HOME: relative(process.cwd(), home.path) })).toBe('opus');
    rmSync(join(home.path, '.claude'), { recursive: true });
    expect(callersModel(CLAUDE, { HOME: home.path })).toBeNull();
    expect(callersModel({ ...CLAUDE, client: 'codex' }, env)).toBeNull();
    expect(callersModel({ ...CLAUDE, client: null }, env)).toBeNull();
  });
});
