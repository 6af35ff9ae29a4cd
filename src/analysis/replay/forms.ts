import { type Json, readRecord, readString } from '../../core/guards.ts';
import { callsCommand, plainLine, quotedCommands } from '../../lessons/advised-commands.ts';
import { readLessonEvidence } from '../../lessons/lesson.ts';
import { joinPaths, parseShell, programOf } from '../../lessons/shell.ts';

/** Whether a command line would repeat a failure, or takes a lesson's advice: judged without knowing what its writer was told. */

/** What a command line comes to. */
export type Verdict = 'repeats' | 'advised' | 'other';

/** A lesson as its commands are recognised; `…` in them stands for words. */
export type LessonForms = {
  readonly advised: readonly string[];
  readonly failing: readonly string[];
  /** The advice is to run it here, relative to the project; null: where does not matter. */
  readonly directory: string | null;
  /** The advice is to leave these words out; null: it is not. */
  readonly leaveOut: string | null;
};

/** A shell command that failed, and where the shell stood, relative to the project. */
export type FailedCommand = { readonly line: string; readonly directory: string };

/** What a lesson's resolution (see lessons/lesson.ts: Remedy), its words and its evidence say of commands. */
export function lessonForms(resolution: Json, text: string, evidence: Json): LessonForms {
  const read = (key: string) => readString(resolution, key) || null;
  const [use, failing, kind] = [read('use'), read('failing'), read('kind')];
  return {
    advised: use === null ? quotedCommands(text) : [use],
    failing: failing === null ? readLessonEvidence(readRecord(evidence, 'model')).failingLines : [failing],
    directory: kind === 'directory' ? (readString(resolution, 'directory') ?? '') : null,
    leaveOut: kind === 'without' ? read('leaveOut') : null,
  };
}

/** Returns true if a lesson says what to run instead: what is done upon another one cannot be told apart. */
export function isJudgeable({ advised, leaveOut }: LessonForms): boolean {
  return advised.length > 0 || leaveOut !== null;
}

/** What a command line would come to, typed where `failed` was: `repeats` where it is what failed, as it was or in the lesson's words. */
export function judge(line: string, failed: FailedCommand, forms: LessonForms): Verdict {
  const { advised, failing, directory, leaveOut } = forms;
  const commands = parseShell(line);
  if (leaveOut !== null) {
    const programs = parseShell(failed.line).map(programOf);
    const same = commands.filter((one) => programs.includes(programOf(one)));
    if (same.some(({ words }) => ` ${words.join(' ')} `.includes(` ${leaveOut} `))) return 'repeats';
    return same.length > 0 ? 'advised' : 'other';
  }
  if (directory !== null) {
    const places = commands.flatMap((one) =>
      advised.some((command) => callsCommand(one.words.join(' '), command)) && one.directory !== null
        ? [joinPaths(failed.directory, one.directory)]
        : [],
    );
    if (places.length === 0) return 'other';
    return places.includes(directory) ? 'advised' : 'repeats';
  }
  const calls = (command: string) => command !== '' && callsCommand(line, command);
  if (advised.some(calls)) return 'advised';
  return [plainLine(failed.line), ...failing].some(calls) ? 'repeats' : 'other';
}
