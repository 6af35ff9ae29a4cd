import type { Json } from '../core/guards.ts';

/** A call of a tool, as the model is shown it. */
export type Call = {
  readonly id: string;
  /** As its client names it. */
  readonly tool: string;
  readonly input: Json;
  readonly state: 'running' | 'done' | 'failed';
  /** The result, or the error; empty as long as it runs. */
  readonly output: string;
  /** The client itself shows its output no more. */
  readonly isCleared?: boolean;
};

/** What stands in one message of a conversation: a user's, or an answer of the model with the calls that it made. */
export type Message = {
  readonly by: 'user' | 'model';
  /** What it says stands in place of all that was said before it. */
  readonly isCompaction?: boolean;
  /** When it was begun, in ms since 1970, where that is known. */
  readonly atMs?: number | undefined;
  /** Of all that it says beside its calls. */
  readonly chars: number;
  readonly calls: readonly Call[];
};
