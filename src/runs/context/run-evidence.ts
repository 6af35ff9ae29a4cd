import { statSync } from 'node:fs';
import { lookOr } from '../../core/guards.ts';
import { realPath } from '../../system/atomic-file.ts';
import type { Run } from '../model/run.ts';
import type { SaidOrDone } from '../model/run-log.ts';
import { readTurnEvents } from '../read-log.ts';
import type { RunsWorld } from '../world.ts';
import { evidenceReader, markUnverified, type SeenFile } from './evidence.ts';

type CallEvent = Extract<SaidOrDone, { readonly kind: 'tool-call' | 'tool-result' }>;

/** What a run has read by the end of a turn, by its log. `onCall`: told of the calls of that very turn. @throws Error that says which file cannot be read */
export function readEvidence(
  run: Run,
  turn: number,
  world: Pick<RunsWorld, 'paths'>,
  onCall: (event: CallEvent) => void = () => {},
): SeenFile[] {
  const evidence = evidenceReader(realPath(run.cwd), realPath);
  for (let number = 1; number <= turn; number++) {
    const take: Parameters<typeof readTurnEvents>[3]['onEvent'] = (event) => {
      if (event.kind !== 'tool-call' && event.kind !== 'tool-result') return;
      evidence.push(event);
      if (number === turn) onCall(event);
    };
    readTurnEvents(run, number, world, { onEvent: take });
  }
  return evidence.files();
}

/** The answer of an exploration, in which each file is marked that was not read (R15). */
export function verified(answer: string, files: readonly SeenFile[], { cwd }: Pick<Run, 'cwd'>): string {
  return markUnverified(answer, files, realPath(cwd), realFile);
}

/** What an answer names may be no path at all, or below a file: no error of the system is one of the answer's. */
function realFile(path: string): string | undefined {
  return lookOr(() => statSync(path).isFile(), false) ? realPath(path) : undefined;
}
