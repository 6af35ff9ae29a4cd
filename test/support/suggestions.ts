import { readProposal, type Suggestion } from '../../src/core/suggestion.ts';
import { install } from '../../src/setup/install.ts';
import { findSuggestions, saveProposals } from '../../src/store/suggestions.ts';
import { runCommand } from '../../src/sys/run-command.ts';
import { type Home, readRows } from './home.ts';
import { withDatabase } from './seed.ts';
import { putFile } from './tree.ts';

/** Suggestions as an analysis leaves them behind, and what they need to be applied. */

export const RULE = {
  type: 'claude_md',
  summary: 'Use bun',
  evidence: 'npm failed three times',
  rule: 'Use bun and not npm.',
  priority: 3,
} as const;

export const SKILL = {
  type: 'skill',
  summary: 'Release',
  evidence: 'asked for five times',
  skillName: 'release-it',
  action: '1. Run the tests.\n2. Set the tag $ARGUMENTS.',
  priority: 2,
} as const;

export const HOOK = {
  type: 'hook',
  summary: 'Tell about generated files',
  evidence: 'edited four times',
  hookEvent: 'PreToolUse',
  hookMatcher: 'Edit|Write',
  hookCode: `import { readFileSync } from 'node:fs';
const { tool_input: input } = JSON.parse(readFileSync(0, 'utf8'));
if (input.file_path.includes('/generated/')) console.log('{"note": "generated"}');
`,
  priority: 1,
} as const;

export const LESSON_ERROR = "error: unrecognized subcommand 'bun'";
export const LESSON = {
  type: 'lesson',
  summary: 'What helps when "rtk bun run" fails',
  evidence: 'failed twice',
  advice: 'rtk has no bun: use `bun run test`.',
  priority: 1,
  lesson: {
    errorKey: LESSON_ERROR,
    said: LESSON_ERROR,
    kind: 'command',
    confidence: 0.9,
    evidence: {
      ran: ['w1'],
      failed: ['f1'],
      sessions: ['s1'],
      failingLines: ['rtk bun run test'],
      isFinding: false,
    },
  },
} as const;

export type SuggestionSeed = {
  readonly project?: string;
  readonly projectPath?: string;
  readonly ts?: string;
};

/** Stores what a model answered as a suggestion; of no project unless one is named. */
export function seedSuggestion(home: Home, answer: object, seed: SuggestionSeed = {}): Suggestion {
  const { project = 'all', projectPath = '', ts = '2026-11-20T09:00:00.000Z' } = seed;
  const proposal = readProposal(answer);
  if (proposal === undefined) throw new Error(`Cannot seed a suggestion: ${JSON.stringify(answer)} is none`);
  return withDatabase(home.paths, (db) => {
    const [id = ''] = saveProposals([proposal], { ts, origin: 'analysis', project, projectPath }, db);
    return findSuggestions(id, db)[0] as Suggestion;
  });
}

/** Changes a stored suggestion as only a damaged or foreign database has it. */
export function forgeSuggestion(
  home: Home,
  id: string,
  column: 'text' | 'id' | 'details',
  value: string,
): void {
  withDatabase(home.paths, (db) =>
    db.sqlite.run(`UPDATE suggestions SET ${column} = ? WHERE id = ?`, value, id),
  );
}

/** The suggestion as it is stored now. */
export function storedSuggestion(home: Home, id: string): Suggestion {
  const found = withDatabase(home.paths, (db) => findSuggestions(id, db));
  return found[0] as Suggestion;
}

/** What was decided, oldest first: `accepted s…`. */
export function feedbackOf(home: Home): string[] {
  return readRows(home.paths, 'SELECT * FROM feedback ORDER BY id').map(
    (row) => `${row.action} ${row.suggestion_id}`,
  );
}

/** Registers the hooks in this home, with a file in the place of the program. */
export async function installHere(home: Home, clientVersion = '2.1.328'): Promise<void> {
  const report = await install({
    env: { HOME: home.path, PATH: '/nowhere' },
    platform: 'linux',
    executablePath: putFile(`${home.path}/dist/self-generation`, 'program', 0o755),
    isCompiled: true,
    projectDirectory: home.path,
    dryRun: false,
    clientVersion,
    run: runCommand,
    now: () => new Date('2026-11-20T09:47:09.123Z'),
  });
  if (report.kind === 'failed') throw new Error(`Cannot install: ${report.reason}`);
}
