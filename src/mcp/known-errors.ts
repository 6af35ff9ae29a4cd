import type { z } from 'zod';
import { framed } from '../core/inert-text.ts';
import { type Language, messagesIn } from '../core/told-texts.ts';
import type { Db } from '../database/connection.ts';
import type { Project } from '../hooks/decision.ts';
import { MAY_BE_KNOWN, searchedText } from '../hooks/error-logger.ts';
import { projectAt } from '../hooks/invocation.ts';
import { readDatabase } from '../hooks/store/use-database.ts';
import { errorRecord, toldError } from '../hooks/told-error.ts';
import { toolError } from '../hooks/tool-call.ts';
import { searchTold } from '../lessons/store/error-entries.ts';
import { keyOfText, searchErrorKB } from '../lessons/store/error-search.ts';
import type { RunsWorld } from '../runs/world.ts';
import { loadConfig } from '../settings/hook-settings.ts';
import { RefusedCall } from './answer.ts';
import { KNOWN_DEFAULT, type KNOWN_ERRORS_PARAMETERS } from './parameters.ts';

/** What answers `known_errors`: no more than the hooks tell by themselves, in their words and frame. */

type Asked = z.infer<typeof KNOWN_ERRORS_PARAMETERS>;

const ANSWER_LENGTH_MAX = 4000;
const FOUND = 'What this project has learned that fits, best first:';
const ADVICE = 'Check that it fits before you use it.';
const UNKNOWN_ERROR =
  'Nothing is known of this error in this project. Find its cause; when another call then works, that is learned by itself. With "query", a few words search for others.';
const UNKNOWN_WORDS =
  'Nothing is known that fits these words. Use fewer or other words: a program, a flag, a part of the message.';

/** Answers in inert text, which goes out as it is. Looking tells nobody anything by itself: nothing is recorded. @throws RefusedCall */
export function knownErrors(
  asked: Asked,
  { world: { paths, env, cwd } }: { readonly world: Pick<RunsWorld, 'paths' | 'env' | 'cwd'> },
): string {
  const { query, error, command, limit = KNOWN_DEFAULT } = asked;
  if ((query === undefined) === (error === undefined))
    throw new RefusedCall('known_errors needs "query" or "error", one of them');
  if (command !== undefined && error === undefined)
    throw new RefusedCall('known_errors takes "command" only with "error"');
  const { enabled, language } = loadConfig(paths);
  const project = projectAt(cwd, env);
  const found = readDatabase(paths, (db) => {
    if (!enabled || !db.isOwn) return undefined; // The first hook takes over what another version has left.
    const at = { project, language, db };
    return error === undefined ? byWords(query ?? '', limit, at) : byText(error, command, at);
  });
  return found ?? (error === undefined ? UNKNOWN_WORDS : UNKNOWN_ERROR);
}

type Looking = { readonly project: Project; readonly language: Language; readonly db: Db };

/** As many as fit, framed; undefined when none is known. */
function byWords(words: string, limit: number, { project, language, db }: Looking): string | undefined {
  const found = searchTold(words, project.path, limit, db);
  const records = found.flatMap((one) => errorRecord(one, language) ?? []);
  const answer = (count: number) =>
    [FOUND, framed(records.slice(0, count).join('\n'), messagesIn(language).recordNote), ADVICE].join('\n');
  let count = records.length;
  while (count > 1 && answer(count).length > ANSWER_LENGTH_MAX) count--;
  return count === 0 ? undefined : answer(count);
}

/** As the hook behind a failing call finds it. */
function byText(printed: string, line: string | undefined, { project, language, db }: Looking) {
  const call = { tool: 'Bash', input: line === undefined ? {} : { command: line }, cwd: undefined };
  const failure = toolError({ ...call, toolUseId: null, remark: null, chars: 0 }, printed, project);
  if (!MAY_BE_KNOWN.has(failure.noise)) return undefined;
  const key = line === undefined ? keyOfText(failure.error) : failure.error;
  const known = searchErrorKB(key, project.path, db, searchedText(failure, printed));
  return known === null ? undefined : toldError(known, language)?.text;
}
