import { normalizeError } from '../core/normalize-error.ts';

/** A failure as it is recognised again. */
export type Failure = {
  /** Masked: the form under which it is found. */
  readonly key: string;
  /** The telling line as it was printed. */
  readonly said: string;
  /** Why nobody else would gain from knowing; null when somebody might. */
  readonly noise: string | null;
};

export type FailedCall = { readonly tool: string; readonly line: string | null; readonly text: string };

/** What a failed call says. `text` is redacted. */
export function readFailure({ text }: FailedCall): Failure {
  return { key: normalizeError(text), said: text.split('\n')[0] ?? '', noise: null };
}

/** The failure that a command's exit code hides, when what it printed says so beyond doubt. */
export function readHiddenFailure(_call: FailedCall): Failure | undefined {
  return undefined;
}
