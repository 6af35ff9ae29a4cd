import { existsSync, readFileSync } from 'node:fs';
import { type Run, turnFiles } from '../../../src/runs/model/run.ts';
import type { Turn } from '../../../src/runs/model/turn.ts';
import { takeAnnouncements } from '../../../src/runs/store/outbox.ts';
import { type RunEvent, runEvents, withRuns } from '../../../src/runs/store/rows.ts';
import { getRun, type NewRun } from '../../../src/runs/store/runs.ts';
import { requestStop, turnsOf } from '../../../src/runs/store/turns.ts';
import { CHECKPOINT_VARIABLE } from '../../../src/runs/world.ts';
import { RUN_VARIABLE } from '../../../src/system/process-identity.ts';
import { withMarker } from '../../../src/system/processes.ts';
import { temporaryHome } from '../../support/home.ts';
import { BINARY } from '../../support/program.ts';
import { PATH, until } from '../runs-home.ts';
import { appended, claimed } from '../store/made-up.ts';

const REQUESTER = 'agent:main:test-0123456789abcdef';

export type Story = {
  readonly run: Run;
  readonly turns: readonly Turn[];
  readonly outbox: readonly Record<string, unknown>[];
  readonly events: readonly RunEvent[];
  readonly log: string;
};

type TurnKey = Pick<Turn, 'runId' | 'number'>;
export type SupervisorHome = ReturnType<typeof supervisorHome>;

/** A home with runs in it whose clients are stand-ins. Everything that was started is ended with it. */
export function supervisorHome(settings: Record<string, unknown> = {}) {
  const home = temporaryHome();
  home.writeConfig(settings);
  const { paths } = home;
  const env = { HOME: home.path, PATH, LANG: 'C.UTF-8' };
  const started: Bun.Subprocess<'ignore', 'inherit', 'inherit'>[] = [];
  const runIds: string[] = [];

  /** Accepts a run and gives it its slot, without a supervisor. */
  const accept = (task: string, changes: Partial<NewRun> = {}): Turn =>
    withRuns(paths, (db) => {
      const requester = { key: REQUESTER, session: null, client: null, cwd: home.path };
      const turn = claimed(db, { requester, task, cwd: home.path, createdAtMs: Date.now(), ...changes });
      runIds.push(turn.runId);
      return turn;
    });

  /** Starts a supervisor; `crashAt`: where it dies. */
  const supervise = ({ runId, number }: TurnKey, crashAt?: string) => {
    const child = Bun.spawn([BINARY, 'supervise', runId, `${number}`], {
      env: { ...env, ...(crashAt === undefined ? {} : { [CHECKPOINT_VARIABLE]: crashAt }) },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    started.push(child);
    return child;
  };

  const story = (runId: string): Story =>
    withRuns(paths, (db) => {
      const found = getRun(runId, db);
      if (found === undefined) throw new Error('Cannot tell of a run that is not there');
      return {
        run: found.run,
        turns: turnsOf(runId, db),
        outbox: db.all('SELECT * FROM outbox WHERE run_id = ? ORDER BY position', runId),
        events: runEvents(runId, 100, db),
        log: existsSync(paths.runsLog) ? readFileSync(paths.runsLog, 'utf8') : '',
      };
    });

  /** A turn as it stands now. */
  const row = ({ runId, number }: TurnKey): Turn => {
    const turn = story(runId).turns.find((one) => one.number === number);
    if (turn === undefined) throw new Error('There is no such turn');
    return turn;
  };

  /** The living processes of a run, by its marker. */
  const processes = (runId: string): number[] =>
    [1, 2, 3, 4].flatMap((turn) => withMarker({ name: RUN_VARIABLE, value: `${runId}/${turn}` }));

  return {
    home,
    env,
    accept,
    supervise,
    story,
    row,
    until,
    processes,
    /** What was started by tasks with this note, each as what it was for and its model. */
    starts: (note = 'starts'): string[] => {
      const path = `${home.path}/${note}`;
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, 'utf8').trim().split('\n');
      return lines.map((line) => line.replace(/^\d+ /, ''));
    },
    /** Accepts a run, supervises it to its end, and gives what has become of it. */
    run: async (task: string, changes?: Partial<NewRun>): Promise<Story> => {
      const turn = accept(task, changes);
      await supervise(turn).exited;
      return story(turn.runId);
    },
    /** Supervises a message to the run, as it goes on, to its end. */
    send: async (runId: string, message: string): Promise<Story> => {
      const fields = { message, nowMs: Date.now(), state: 'starting' } as const;
      await supervise(withRuns(paths, (db) => appended(db, runId, fields))).exited;
      return story(runId);
    },
    stop: (runId: string): void => {
      const stop = { reason: 'requested', by: 'a test', atMs: Date.now() } as const;
      withRuns(paths, (db) => requestStop(runId, stop, db));
    },
    /** What the requester is given then. */
    deliver: (owner: string, nowMs: number) => {
      const listener = { requester: REQUESTER, session: null, owner, isPerson: true };
      return withRuns(paths, (db) =>
        takeAnnouncements(listener, { nowMs, leaseMs: 600_000, limit: 100 }, db),
      );
    },
    [Symbol.asyncDispose]: async () => {
      for (const child of started) child.kill('SIGKILL');
      await Promise.all(started.map((child) => child.exited));
      for (const runId of runIds) for (const pid of processes(runId)) process.kill(pid, 'SIGKILL');
      home[Symbol.dispose]();
    },
  };
}

/** The work and the announce step of a run's only task. */
export function onlyTurn({ turns }: Story): Turn {
  const [turn, ...others] = turns.filter(({ kind }) => kind !== 'announce');
  if (turn === undefined || others.length > 0) throw new Error('There is more than one turn');
  return turn;
}

/** Ends a supervisor as nobody can prevent. */
export async function killed(supervisor: Bun.Subprocess): Promise<void> {
  supervisor.kill('SIGKILL');
  await supervisor.exited;
}

/** What stands in the file that the client wrote. */
export function outputOf({ home }: SupervisorHome, { runId, number }: TurnKey): string {
  const { output } = turnFiles(home.paths, runId, number);
  return existsSync(output) ? readFileSync(output, 'utf8') : '';
}
