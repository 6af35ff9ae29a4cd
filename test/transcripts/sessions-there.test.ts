import { expect, test } from 'bun:test';
import { sessionsThere } from '../../src/transcripts/sessions-there.ts';
import { temporaryHome } from '../support/home.ts';

test('sessionsThere() counts sessions without those of sub-agents, and all that is to be read', () => {
  using home = temporaryHome();
  const root = `${home.path}/.claude/projects`;
  const env = { HOME: home.path };
  expect(sessionsThere(root, env)).toEqual([]);
  home.put('.claude/projects/-app/s1.jsonl', '{}\n');
  home.put('.claude/projects/-app/s1/subagents/agent-a.jsonl', '{}\n{}\n');
  home.put('.claude/projects/-app/notes.txt', 'x');
  expect(sessionsThere(root, env)).toEqual([{ client: 'claude', sessions: 1, bytes: 9 }]);
});
