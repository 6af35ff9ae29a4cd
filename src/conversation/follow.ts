import { statSync } from 'node:fs';
import type { AgentEvent } from '../clients/client.ts';
import { type RunWithTurn, type TurnName, turnFiles } from '../runs/model/run.ts';
import { readerOf } from '../runs/read-log.ts';
import { waitForRuns } from '../runs/stop.ts';
import type { RunsWorld } from '../runs/world.ts';
import { GrowingFile } from '../system/lines.ts';

export type Following = {
  /** What the client of the turn says, as it says it. */
  readonly onEvent: (event: AgentEvent) => void;
  /** Something has changed: the turn waits, works, is stopped. */
  readonly onProgress?: (one: RunWithTurn) => void;
  /** Ends the following; the turn goes on. */
  readonly signal?: AbortSignal;
};

const LOOK_MS = 100;
/** Between two looks at everything else. */
const ROUND_BYTES = 1024 * 1024;

/**
 * Follows a turn while its client works; resolves with the turn as it ended, or as it stands when the signal says so.
 * Undefined: there is no such turn. @throws Error from the system when its output cannot be read
 */
export async function followTurn(
  name: TurnName,
  { onEvent, onProgress, signal }: Following,
  world: RunsWorld,
): Promise<RunWithTurn | undefined> {
  const output = turnOutput(name, world, onEvent);
  let newest: RunWithTurn | undefined;
  const timer = setInterval(() => newest !== undefined && output.read(newest), LOOK_MS);
  const onRuns = ([one]: readonly RunWithTurn[]) => {
    if (one === undefined) return;
    newest = one;
    onProgress?.(one);
  };
  try {
    const patience = { timeoutMs: null, onProgress: onRuns, ...(signal && { signal }) };
    const { kind, runs } = await waitForRuns([name], patience, world);
    const [one] = runs;
    if (kind === 'ended' && one !== undefined) output.end(one);
    return one;
  } finally {
    clearInterval(timer);
    output.close();
  }
}

/** The growing output of a turn; a client that is started once more begins it anew. */
function turnOutput({ runId, turn }: TurnName, { paths }: RunsWorld, onEvent: Following['onEvent']) {
  const path = turnFiles(paths, runId, turn).output;
  let open:
    | { readonly file: GrowingFile; readonly inode: number; readonly onLine: (line: string) => void }
    | undefined;
  const close = () => {
    open?.file.close();
    open = undefined;
  };
  const current = ({ run }: RunWithTurn) => {
    const inode = statSync(path, { throwIfNoEntry: false })?.ino;
    if (inode === undefined || open?.inode === inode) return open;
    close();
    const reader = readerOf(run);
    const onLine = (line: string) => {
      for (const event of reader.read(line)) onEvent(event);
    };
    open = { file: new GrowingFile(path), inode, onLine };
    return open;
  };
  return {
    read: (one: RunWithTurn): void => {
      const now = current(one);
      now?.file.read(now.onLine, ROUND_BYTES);
    },
    /** Also the last line, which nothing has ended. */
    end: (one: RunWithTurn): void => {
      const now = current(one);
      if (now === undefined) return;
      for (
        let left = now.file.bytes();
        left > 0 && now.file.read(now.onLine, ROUND_BYTES);
        left -= ROUND_BYTES
      );
      now.file.readRest(now.onLine);
    },
    close,
  };
}
