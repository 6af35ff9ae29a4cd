import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { clientNamed } from '../../clients/clients.ts';
import type { ClientName } from '../../core/client-name.ts';
import { lookOr, readTexts } from '../../core/guards.ts';
import { readText } from '../file-plan.ts';
import { jsonOf, parseDocument, propertyValue } from '../json-file.ts';
import { knownManifest, type Place } from '../manifest.ts';
import { userOf } from './client-setup.ts';

/** Where clients read rules and skills (measured, docs/clients.md), and which of the clients are meant. */

export type AgentFileKind = 'rules' | 'skills';

/** Below a project: the first is the one that apply makes. Their own names stand in the user's directory of the client. */
const READ: Readonly<Record<ClientName, Readonly<Record<AgentFileKind, readonly string[]>>>> = {
  claude: { rules: ['.claude/CLAUDE.md', 'CLAUDE.md'], skills: ['.claude/skills'] },
  codex: { rules: ['AGENTS.md'], skills: ['.agents/skills'] },
  gemini: { rules: ['GEMINI.md'], skills: ['.agents/skills'] },
  opencode: { rules: ['AGENTS.md'], skills: ['.agents/skills', '.claude/skills'] },
};

/** The clients that rules and skills can be written for. */
export const READING_CLIENTS: readonly ClientName[] = Object.keys(READ);

/** Which rules a client reads in place of these, where its user has it so; none where not. */
const RULES_INSTEAD: Readonly<
  Record<ClientName, (own: string, project: string | null) => readonly string[]>
> = {
  // Beside it Codex passes over AGENTS.md.
  codex: (own, project) => ['AGENTS.override.md'].filter((name) => existsSync(join(project ?? own, name))),
  // The user's own settings: those of a project count only where it is trusted.
  gemini: (own) => lookOr(() => geminiNames(readText(join(own, 'settings.json')) ?? ''), []),
};

/** `context.fileName`, a name or several. */
function geminiNames(settings: string): string[] {
  const named = jsonOf(propertyValue(parseDocument(settings).root, 'context', 'fileName'));
  return readTexts([named].flat()).filter((name) => /^[\w-][\w.-]*\.md$/i.test(name));
}

/** Where this client reads them: in a project, or in the user's own directory where that is null. */
export function readBy(
  client: ClientName,
  kind: AgentFileKind,
  place: Place,
  project: string | null,
): readonly string[] {
  const { directory } = clientNamed(client).server.place(userOf(place));
  const own = client === 'claude' ? place.claudeDirectory : directory;
  const instead = kind === 'rules' ? RULES_INSTEAD[client]?.(own, project) : undefined;
  const names = instead?.length ? instead : (READ[client]?.[kind] ?? []);
  if (project !== null) return names.map((name) => join(project, name));
  return names.slice(0, 1).map((name) => join(own, basename(name)));
}

/** The clients that install has set up; Claude Code where nothing is known of any. */
export function clientsSetUp({ paths }: Place): readonly ClientName[] {
  const { settings = [], clients = [] } = knownManifest(paths.manifest) ?? {};
  const hasClaude = settings.length > 0 || clients.length === 0;
  return READING_CLIENTS.filter((client) =>
    client === 'claude' ? hasClaude : clients.some((record) => record.client === client),
  );
}
