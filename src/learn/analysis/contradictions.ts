import { inertText } from '../../core/inert-text.ts';
import { redactSecrets } from '../../core/redact.ts';
import { isShellTool } from '../../core/tools.ts';
import { findingsIn } from '../../lessons/findings.ts';
import type { AnalysedCall } from '../../store/analysis-calls.ts';
import type { StoredModelLesson } from '../../store/lessons-by-model.ts';
import { callsCommand, plainLine, quotedCommands } from './shell-words.ts';

/** A lesson that is told, and what has happened since that speaks against it. */
export type Contradiction = {
  readonly lesson: StoredModelLesson;
  readonly counterExamples: readonly string[];
};

const EXAMPLES_MAX = 4;
const EXAMPLE_LENGTH_MAX = 260;

/**
 * The told lessons whose advised command has failed at least as often as it worked since then, or whose failing command
 * works again in other sessions, at least as often as it fails. Calls count, and not the copies of them.
 */
export function findContradictions(
  lessons: readonly StoredModelLesson[],
  calls: readonly AnalysedCall[],
): Contradiction[] {
  return lessons.flatMap((lesson) => {
    const since = calls.filter(
      ({ ts, tool, line, projectPath }) =>
        ts > lesson.ts && line !== null && isShellTool(tool) && projectPath === lesson.projectPath,
    );
    const against = [...failedAsAdvised(lesson, since), ...worksAgain(lesson, since)];
    if (against.length === 0) return [];
    return [{ lesson, counterExamples: against.slice(-EXAMPLES_MAX).map(describe) }];
  });
}

function failedAsAdvised({ advice }: StoredModelLesson, calls: readonly AnalysedCall[]): AnalysedCall[] {
  const commands = quotedCommands(advice);
  const ran = calls.filter(({ line }) => commands.some((command) => callsCommand(line ?? '', command)));
  const failed = ran.filter((call) => call.failure !== null && !isAboutWork(call));
  const worked = ran.filter(({ failure }) => failure === null).length;
  return failed.length >= worked ? failed : [];
}

/** Checks, tests and builds fail when the work is not right yet; other calls say why they tell nothing. */
function isAboutWork({ failure }: AnalysedCall): boolean {
  return failure !== null && (failure.noise !== null || findingsIn(failure.raw).length > 0);
}

function worksAgain({ evidence }: StoredModelLesson, calls: readonly AnalysedCall[]): AnalysedCall[] {
  if (evidence.isFinding) return [];
  const lines = new Set(evidence.failingLines);
  const again = calls.filter(({ line }) => lines.has(plainLine(line ?? '')));
  const worked = again.filter(
    ({ failure, sessionId }) => failure === null && !evidence.sessions.includes(sessionId),
  );
  const failed = again.filter(({ failure, id }) => failure !== null && !evidence.failed.includes(id)).length;
  return worked.length >= evidence.failed.length + failed ? worked : [];
}

function describe({ line, directory, failure }: AnalysedCall): string {
  const outcome = failure === null ? 'ok' : `failed (${failure.said || failure.key})`;
  const where = directory ? ` (in ${directory})` : '';
  return inertText(redactSecrets(`${outcome}: ${line ?? ''}${where}`), EXAMPLE_LENGTH_MAX);
}
