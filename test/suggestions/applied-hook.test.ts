import { describe, expect, test } from 'bun:test';
import type { HookEvent } from '../../src/hooks/event.ts';
import { parseHookEvent } from '../../src/hooks/hooks.ts';
import { answerDeclared } from '../../src/suggestions/applied-hook.ts';
import type { HookDeclaration } from '../../src/suggestions/model/suggestion.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';

const APP = '/home/dev/app';
const PROJECT = { name: 'app', path: APP, spellings: [APP, '/home/dev/app-worktree'] };
const TEXT = 'Push a tag.';

function eventOf(tool: string, input: object, name = 'PreToolUse'): HookEvent {
  const call = { tool_name: tool, tool_input: input, error: 'x' };
  const event = parseHookEvent({ hook_event_name: name, session_id: 's', cwd: APP, ...call });
  if (event === undefined) throw new Error('no event');
  return event;
}

function declared(changes: Partial<HookDeclaration> = {}): HookDeclaration {
  return { event: 'PreToolUse', tools: ['Bash'], action: 'deny', text: TEXT, ...changes };
}

const isSaid = (hook: HookDeclaration, event: HookEvent) =>
  answerDeclared(hook, event, PROJECT) !== undefined;

describe('answerDeclared()', () => {
  test('denies with the reason, or tells, and says nothing else', () => {
    const call = eventOf('Bash', { command: 'ls' });
    const said = (action: HookDeclaration['action']) => answerDeclared(declared({ action }), call, PROJECT);
    const hookEventName = 'PreToolUse';
    const denied = { hookEventName, permissionDecision: 'deny', permissionDecisionReason: TEXT };
    expect(said('deny')).toEqual({ hookSpecificOutput: denied });
    expect(said('tell')).toEqual({ hookSpecificOutput: { hookEventName, additionalContext: TEXT } });
  });

  test('is about its event and its tools, by their whole names', () => {
    expect(isSaid(declared(), eventOf('Bash', {}))).toBe(true);
    expect(isSaid(declared(), eventOf('BashOutput', {}))).toBe(false);
    expect(isSaid(declared(), eventOf('Bash', {}, 'PostToolUse'))).toBe(false);
    const failure = eventOf('Bash', {}, 'PostToolUseFailure');
    expect(isSaid(declared({ event: 'PostToolUseFailure' }), failure)).toBe(true);
    const start = parseHookEvent({ hook_event_name: 'SessionStart', cwd: APP, session_id: 's' });
    expect(start && isSaid(declared(), start)).toBe(false);
  });

  const isMeant = (command: string) =>
    isSaid(declared({ when: { command: 'npm publish' } }), eventOf('Bash', { command }));
  test.each([
    ...['npm publish', 'npm publish --tag next', 'cd packages/a && npm publish', '(npm publish)'],
    ...['npm test; npm publish | tee log', 'CI=1 sudo -E npm publish', 'if true; then npm publish; fi'],
    ...['"npm" \'publish\'', 'npm\tpublish'],
  ])('is about %j', (command) => expect(isMeant(command)).toBe(true));
  test.each([
    ...['npm publisher', 'npm', 'npm run publish', 'echo "npm publish"', 'echo npm publish', ''],
    ...['git commit -m "npm publish; done"', 'cat <<EOF\nnpm publish\nEOF'],
  ])('is not about %j', (command) => expect(isMeant(command)).toBe(false));

  test('is about a wrapper when the declaration names it', () => {
    const hook = declared({ when: { command: 'npx prisma' } });
    expect(isSaid(hook, eventOf('Bash', { command: 'A=1 npx prisma migrate' }))).toBe(true);
    expect(isSaid(hook, eventOf('Bash', { command: 'npx eslint' }))).toBe(false);
  });

  const paths: [glob: string, file: string, isAbout: boolean][] = [
    ['src/generated/**', `${APP}/src/generated/a/b.ts`, true],
    ['src/generated/**', '/home/dev/app-worktree/src/generated/a.ts', true],
    ['src/generated/**', 'src/generated/a.ts', true],
    ['src/generated/**', `${APP}/src/../src/generated/a.ts`, true],
    ['src/generated/**', `${APP}/src/generated/../a.ts`, false],
    ['src/generated/**', `${APP}/lib/src/generated/a.ts`, false],
    ['src/generated/**', '/home/dev/other/src/generated/a.ts', false],
    ['**/generated/*.ts', `${APP}/generated/a.ts`, true],
    ['**/generated/*.ts', `${APP}/x/y/generated/a.ts`, true],
    ['**/generated/*.ts', `${APP}/x/generated/y/a.ts`, false],
    ['*.lock', `${APP}/a/b/bun.lock`, true],
    ['*.lock', '/home/dev/other/bun.lock', false],
    ['*.lock', `${APP}/bun.lock.ts`, false],
    ['db/*-*.sql', `${APP}/db/1-a-b.sql`, true],
    ['db/*-*.sql', `${APP}/db/1.sql`, false],
    ['db/*', `${APP}/db/a/b.sql`, false],
    ['db**/*', `${APP}/db1/b.sql`, true],
    ['db**/**', `${APP}/x/db/b.sql`, false],
    ['db**/**', `${APP}/db`, false],
    ['**/.env', `${APP}/a/.env`, true],
    ['package.json', `${APP}/package.json`, true],
    ['package.json', `${APP}/package.jsonc`, false],
  ];
  for (const [path, file_path, isAbout] of paths)
    test(`${path} ${isAbout ? 'is' : 'is not'} about ${file_path}`, () => {
      const hook = declared({ tools: ['Edit'], when: { path } });
      expect(isSaid(hook, eventOf('Edit', { file_path }))).toBe(isAbout);
    });

  test('reads the path of a notebook, and is about no call without one', () => {
    const hook = declared({ tools: ['NotebookEdit'], when: { path: '*.ipynb' } });
    expect(isSaid(hook, eventOf('NotebookEdit', { notebook_path: `${APP}/a.ipynb` }))).toBe(true);
    expect(isSaid(hook, eventOf('NotebookEdit', {}))).toBe(false);
  });

  test('no glob and no command runs away', () => {
    const took = cpuTimeMs(() => {
      const deep = `${APP}/${'a/'.repeat(1500)}${'a'.repeat(900)}`;
      for (const path of [`${'**/a/'.repeat(39)}b`, `${'*a'.repeat(99)}b`, `${'**/'.repeat(60)}*a*b`]) {
        isSaid(declared({ tools: ['Edit'], when: { path } }), eventOf('Edit', { file_path: deep }));
      }
      for (const command of ['sudo '.repeat(50_000), '('.repeat(100_000), `${'a=1 '.repeat(50_000)}npm`])
        isSaid(declared({ when: { command: 'npm publish' } }), eventOf('Bash', { command }));
    });
    expect(took).toBeLessThan(1000);
  });
});
