import { isShellTool } from '../../core/tools.ts';
import type { AnalysedCall } from '../../store/analysis-calls.ts';
import { commandWords } from './shell-words.ts';
import { shown } from './shown-failure.ts';

/** A command that checks the work, and how often it passed and failed. */
export type WorkingCheck = {
  readonly command: string;
  readonly in?: string;
  readonly ok: number;
  readonly failed: number;
};

const CHECKS_MAX = 15;
const COMMAND_LENGTH_MAX = 160;
const DIRECTORY_LENGTH_MAX = 80;
const CHECK_WORD =
  /^(?:tests?|lint|check|checks|typecheck|type-check|tsc|build|fmt|format|vet|clippy|pytest|jest|vitest|mocha|eslint|biome|ruff|mypy|golangci-lint|rspec|phpunit|verify|ci|precommit|pre-commit)(?::[\w:-]+)?$/;
const CHECK_WORD_PLACES = 4;
const CHECK_RUNS_MIN = 2;

/** The commands that checked the work and passed, the most frequent first. */
export function findChecks(calls: readonly AnalysedCall[]): WorkingCheck[] {
  const checks = new Map<string, { command: string; directory: string; ok: number; failed: number }>();
  for (const { tool, line, directory, failure, projectPath } of calls) {
    if (line === null || !isShellTool(tool)) continue;
    for (const command of new Set(commandWords(line).flatMap((words) => checkIn(words) ?? []))) {
      const name = `${projectPath}\n${directory}\n${command}`;
      const check = checks.get(name) ?? { command, directory: directory ?? '', ok: 0, failed: 0 };
      if (failure === null) check.ok++;
      else check.failed++;
      checks.set(name, check);
    }
  }
  return [...checks.values()]
    .filter(({ ok }) => ok >= CHECK_RUNS_MIN)
    .sort((left, right) => right.ok - left.ok)
    .slice(0, CHECKS_MAX)
    .map(({ command, directory, ok, failed }) => ({
      command: shown(command, COMMAND_LENGTH_MAX),
      ...(directory ? { in: shown(directory, DIRECTORY_LENGTH_MAX) } : {}),
      ok,
      failed,
    }));
}

/** `bun run lint` of `bun run lint src --max 3`: up to the word that names the check. */
function checkIn(words: readonly string[]): string | undefined {
  const at = words.slice(0, CHECK_WORD_PLACES).findIndex((word) => CHECK_WORD.test(word));
  const isNamed = at > 0 || (at === 0 && words[0] !== 'test');
  return isNamed && words.slice(0, at).every((word) => /^[\w@./:-]+$/.test(word))
    ? words.slice(0, at + 1).join(' ')
    : undefined;
}
