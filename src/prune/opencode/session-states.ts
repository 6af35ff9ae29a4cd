import type { StatePaths } from '../../core/state-paths.ts';
import { type Pruned, readPruned, stampOf, writePruned } from '../store.ts';
import type { PluginLog } from './plugin-log.ts';

/** What is kept of each session: read once, and again when another process has written it. */
export type SessionStates = {
  of(sessionId: string): Pruned;
  /** A failure is logged: the next request decides the same without it. */
  keep(pruned: Pruned): void;
};

/** The states of the sessions of one directory. */
export function sessionStates(paths: StatePaths, directory: string, log: PluginLog): SessionStates {
  /** `kept`: what of it the files hold. */
  const known = new Map<
    string,
    { readonly pruned: Pruned; readonly kept?: Pruned; readonly stamp: string }
  >();
  return {
    of: (sessionId) => {
      const stamp = stampOf(paths, sessionId);
      const one = known.get(sessionId);
      if (one?.stamp === stamp) return one.pruned;
      const kept = readPruned(paths, sessionId);
      const pruned = kept ?? fresh(sessionId, directory);
      known.set(sessionId, { pruned, stamp, ...(kept && { kept }) });
      return pruned;
    },
    keep: (pruned) => {
      const { sessionId } = pruned;
      let kept: Pruned | undefined;
      try {
        writePruned(paths, pruned, Date.now(), known.get(sessionId)?.kept);
        kept = pruned;
      } catch (error) {
        log.failure('keep what was decided', error);
      }
      known.set(sessionId, { pruned, stamp: stampOf(paths, sessionId), ...(kept && { kept }) });
    },
  };
}

function fresh(sessionId: string, directory: string): Pruned {
  const counts = { requests: 0, sentChars: 0, savedChars: 0, readAgainChars: 0 };
  const updatedAt = new Date(0).toISOString();
  return { client: 'opencode', sessionId, directory, isOff: false, decisions: [], ...counts, updatedAt };
}
