import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Turn, turnsOf } from '../../src/core/conversation.ts';
import type { SessionSource } from '../../src/transcripts/session-source.ts';
import { type MadeSession, PUT } from './client-sessions.ts';
import type { ClientName } from './clients.ts';
import { Transcript } from './transcripts.ts';

/** A session in which a command says the same three times, and another one once. */

export const LONG = Array.from({ length: 60 }, (_, at) => `tests/unit/case-${at}\u2028 passed`).join('\n');
export const UNIQUE = Array.from({ length: 40 }, (_, at) => `src/file-${at}.ts changed`).join('\n');
const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';

/** Puts it into the client's store; gives its id. `parent`: it is a sub-agent's. */
export function putRepeated(name: ClientName, home: string, cwd: string, parent?: string): string {
  const again = { run: 'npm test', prints: LONG };
  // Who repeats a call right after it was shown a placeholder is shown it in full.
  const between = ['ls', 'pwd', 'date'].map((run) => ({ run, prints: run }));
  const other = { run: 'git status', prints: UNIQUE };
  const entries = ['Make it pass.', again, other, again, ...between, 'Once more.', again];
  if (name === 'claude') {
    const transcript = new Transcript({ session: ID, cwd, ...(parent && { agent: 'a1' }) });
    for (const entry of entries)
      if (typeof entry === 'string') transcript.prompt(entry);
      else transcript.succeed('Bash', { command: entry.run }, entry.prints);
    const path = `${home}/.claude/projects/${cwd.replace(/[^A-Za-z0-9]/g, '-')}/${ID}.jsonl`;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, transcript.text);
    return ID;
  }
  const session: MadeSession = { id: ID, cwd, entries, ...(parent && { parent }) };
  PUT[name](session, home);
  return ID;
}

/** The turns that the client's own reader finds. */
export function turnsIn({ client, records }: SessionSource): Turn[] {
  const reader = client.sessions.format.reader();
  return turnsOf([...records(() => {})].flatMap((record) => reader.read(record)));
}
