import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { CLIENTS } from '../clients/clients.ts';
import type { ClientName } from '../core/client-name.ts';
import type { Environment } from '../core/state-paths.ts';
import { findFiles } from '../system/files.ts';

/** What a client has kept of its sessions, without those of sub-agents. */
export type SessionsThere = {
  readonly client: ClientName;
  readonly sessions: number;
  readonly bytes: number;
};

/** Which clients have sessions to learn from. `root`: the transcripts of Claude Code. Reads none of them. */
export function sessionsThere(root: string, env: Environment): SessionsThere[] {
  const { files } = findFiles(root, '.jsonl');
  const main = files.filter(({ path }) => !basename(path).startsWith('agent-'));
  const own = { client: 'claude', sessions: main.length, bytes: sum(files.map(({ bytes }) => bytes)) };
  const others = Object.values(CLIENTS).flatMap(({ name, sessions }) => {
    const all = sessions.all?.(env) ?? [];
    const paths = [...new Set(all.map(({ path }) => path))];
    const bytes = sum(paths.map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0));
    return [{ client: name, sessions: all.filter(({ parentId }) => parentId === null).length, bytes }];
  });
  return [own, ...others].filter(({ sessions }) => sessions > 0);
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
