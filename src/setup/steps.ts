/** One thing that was done, or in a dry run would be done. */
export type SetupStep = {
  readonly what:
    | 'directory'
    | 'binary'
    | 'script'
    | 'config'
    | 'backup'
    | 'settings'
    | 'mcp'
    | 'rule'
    | 'skill'
    | 'manifest'
    | 'data';
  readonly path: string;
  readonly change: 'created' | 'updated' | 'removed' | 'restored' | 'unchanged' | 'kept';
  /** Why, where it does not go without saying. */
  readonly note?: string;
};

/** `Cannot <action>: <reason>. <advice>` */
export type SetupProblem = { readonly action: string; readonly reason: string; readonly advice: string };

export type Failure = { readonly kind: 'failed' } & SetupProblem;

/** Takes one thing back. */
export type Undo = () => void;

/** Collects what has been done, and how to undo it. */
export type Work = { readonly dryRun: boolean; readonly steps: SetupStep[]; readonly undo: Undo[] };

/** What to say when an attempt has been undone. */
export const RUN_AGAIN = 'Correct that and run the command again; nothing was changed.';

/** Undoes what has been done, the last first. Never throws. */
export function rollBack(undo: Undo[]): void {
  for (const step of undo.splice(0).reverse()) {
    try {
      step();
    } catch {
      // What cannot be undone is left; the failure that led here is the one to report.
    }
  }
}
