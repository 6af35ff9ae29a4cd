import { shownJson } from './json.ts';

/** Why a command failed. */
export type Problem = {
  readonly exitCode: number;
  /** What could not be done and why, as a sentence. */
  readonly message: string;
  /** What to do about it, as a sentence. */
  readonly hint?: string | undefined;
};

/** What `error.code` says, by the exit code. */
const CODES: Readonly<Record<number, string>> = {
  1: 'failed',
  2: 'usage',
  3: 'not-found',
  4: 'forbidden',
  5: 'limit',
  6: 'timed-out',
  7: 'stopped',
  8: 'goes-on',
  130: 'interrupted',
};

/**
 * What every command that was called with `--json` and does not do what it was called for prints on standard output:
 * `{"type":"error","error":{"code":"not-found","message":"Cannot …","hint":"…"}}`. It is one line, so that it ends a stream
 * of one event a line as well as it is a document. `report`: what else is known, such as the steps that were done by then.
 */
export function problemJson({ exitCode, message, hint }: Problem, report: object = {}): string {
  const code = CODES[exitCode] ?? 'failed';
  return shownJson({ ...report, type: 'error', error: { code, message, hint } }, 0);
}

/** Whether JSON is asked for: `--json` among the options, which end with `--`. */
export function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end < 0 ? words.length : end).includes('--json');
}
