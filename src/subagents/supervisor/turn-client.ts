import type { Exit, ProcessIdentity, Turn } from '../../core/runs/turn.ts';
import type { Environment } from '../../core/state-paths.ts';
import { currentBoot, identityOf, isOtherBoot, isSameProcess, statOf } from '../../sys/process-identity.ts';
import { type Marker, withMarker } from '../../sys/process-tree.ts';
import { startDetached } from '../../sys/start-detached.ts';
import { RUN_VARIABLE } from '../requester.ts';

/** A client that runs. */
export type LiveClient = {
  readonly identity: ProcessIdentity;
  /** Null: another supervisor started it, so that nobody will say how it ended. */
  readonly exited: Promise<Exit> | null;
};

export type Found =
  | { readonly kind: 'alive'; readonly client: LiveClient }
  /** Nobody saw the end. */
  | { readonly kind: 'gone' }
  /** The system was started again since: no process of before can be alive, and every id is somebody else's. */
  | { readonly kind: 'other boot' };

/** The marker of a turn's processes. */
export function markerOf({ runId, number }: Pick<Turn, 'runId' | 'number'>): Marker {
  return { name: RUN_VARIABLE, value: `${runId}/${number}` };
}

/** What is left of a client that was launched before. `before`: the turn with its last owner. */
export function findClient(before: Turn): Found {
  const witness = before.process ?? before.owner;
  if (witness !== null && isOtherBoot(witness)) return { kind: 'other boot' };
  const identity = before.process === null ? markedLeader(before) : before.process;
  if (identity === undefined || !isSameProcess(identity)) return { kind: 'gone' };
  return { kind: 'alive', client: { identity, exited: null } };
}

/** The first process of the turn that leads a session: the client was started so. */
function markedLeader(turn: Turn): ProcessIdentity | undefined {
  const leaders = withMarker(markerOf(turn)).filter((pid) => statOf(pid)?.session === pid);
  const identities = leaders.flatMap((pid) => identityOf(pid) ?? []);
  return identities.sort((one, other) => Number(one.start) - Number(other.start))[0];
}

export type Launch = {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly stdin: string;
  readonly stdout: string;
  readonly stderr: string;
};

/** Starts the client. @throws Error that says why it cannot be started. */
export function launchClient({ program, args, ...options }: Launch): LiveClient {
  const { pid, exited } = startDetached(program, args, options);
  // One that has ended already is known by its exit alone.
  const identity = identityOf(pid) ?? { pid, start: '', boot: currentBoot() };
  return { identity, exited };
}
