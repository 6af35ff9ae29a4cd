import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Announcement } from '../../../src/runs/model/announcement.ts';
import { ASKS_NEVER } from '../../../src/runs/model/permissions.ts';
import { type Run, turnFiles } from '../../../src/runs/model/run.ts';
import type { Stop, Turn } from '../../../src/runs/model/turn.ts';
import { takeAnnouncements } from '../../../src/runs/store/outbox.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import { type RunEvent, runEvents, withRuns } from '../../../src/runs/store/rows.ts';
import { getRun, insertRun, type NewRun } from '../../../src/runs/store/runs.ts';
import { requestStop, turnsOf } from '../../../src/runs/store/turns.ts';
import { CHECKPOINT_VARIABLE } from '../../../src/runs/world.ts';
import { RUN_VARIABLE } from '../../../src/system/process-identity.ts';
import { withMarker } from '../../../src/system/processes.ts';
import { type Home, temporaryHome } from '../../support/home.ts';

const ROOT = resolve(import.meta.dir, '../../..');
const FAKES = `${ROOT}/test/fixtures/bin`;
const REQUESTER = 'agent:main:test-0123456789abcdef';
/** Where `bun` is, for the stand-ins. */
const BUN_DIRECTORY = `${ROOT}/node_modules/.bin`;
const WAIT_MAX_MS = 20_000;

export type Supervisor = Bun.Subprocess<'ignore', 'inherit', 'inherit'>;

/** A home with runs in it whose clients are stand-ins. Everything that was started is ended with it. */
export type SupervisorHome = AsyncDisposable & {
  readonly home: Home;
  readonly env: Record<string, string>;
  /** Accepts a run and gives it its slot, without a supervisor. */
  readonly accept: (task: string, changes?: Partial<NewRun>) => { run: Run; turn: Turn };
  /** Starts a supervisor; `crashAt`: where it dies. */
  readonly supervise: (turn: Pick<Turn, 'runId' | 'number'>, crashAt?: string) => Supervisor;
  /** Accepts a run, supervises it to its end, and gives what has become of it. */
  readonly run: (task: string, changes?: Partial<NewRun>) => Promise<Story>;
  readonly story: (runId: string) => Story;
  readonly stop: (runId: string, reason?: Stop['reason']) => void;
  /** Resolves when what is asked for holds. */
  readonly until: (what: string, holds: () => boolean) => Promise<void>;
  /** The living processes of a run, by its marker. */
  readonly processes: (runId: string) => number[];
  /** What the requester is given now. */
  readonly deliver: (owner?: string, nowMs?: number) => Announcement[];
};

export type Story = {
  readonly run: Run;
  readonly turns: readonly Turn[];
  readonly outbox: readonly Record<string, unknown>[];
  readonly events: readonly RunEvent[];
  readonly log: string;
};

export function supervisorHome(settings: Record<string, unknown> = {}): SupervisorHome {
  const home = temporaryHome();
  home.writeConfig(settings);
  const { paths } = home;
  const env = {
    HOME: home.path,
    PATH: `${FAKES}:${BUN_DIRECTORY}:/usr/local/bin:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
  };
  const started: Supervisor[] = [];
  const runIds: string[] = [];

  const accept: SupervisorHome['accept'] = (task, changes = {}) => {
    const uuid = crypto.randomUUID();
    const nowMs = Date.now();
    const fresh: NewRun = {
      id: uuid.replaceAll('-', ''),
      requester: { key: REQUESTER, session: null, client: null, cwd: home.path },
      childKey: `agent:main:subagent:${uuid}`,
      agentId: 'main',
      client: 'claude',
      label: null,
      task,
      model: { requested: null, resolved: null },
      thinking: null,
      cleanup: 'keep',
      runTimeoutMs: 0,
      cwd: home.path,
      worktreeMode: 'never',
      policy: { deny: [], allow: null },
      permissions: ASKS_NEVER,
      gaps: [],
      agentDir: null,
      warning: null,
      terminal: null,
      archiveAfterMs: 3_600_000,
      createdAtMs: nowMs,
      ...changes,
    };
    const limits = {
      ...{
        maxQueued: 1000,
        undeliveredMax: 1000,
        dedupeMs: 0,
        dedupesFailed: false,
      },
      budget: { run: NONE, requester: NONE, day: NONE },
    };
    return withRuns(paths, (db) => {
      const inserted = insertRun(fresh, uuid, limits, db);
      if (inserted.kind !== 'inserted') throw new Error(`Cannot accept the run: ${inserted.kind}`);
      runIds.push(fresh.id);
      const slots = { maxConcurrent: 1000 };
      const turn = claimTurns(slots, nowMs, db).find(({ runId }) => runId === fresh.id);
      if (turn === undefined) throw new Error('Cannot give the run a slot');
      return { run: inserted.run, turn };
    });
  };

  const supervise: SupervisorHome['supervise'] = ({ runId, number }, crashAt) => {
    const child = Bun.spawn(
      [process.execPath, `${import.meta.dir}/supervise.main.ts`, runId, String(number)],
      {
        env: { ...env, ...(crashAt === undefined ? {} : { [CHECKPOINT_VARIABLE]: crashAt }) },
        stdin: 'ignore',
        stdout: 'inherit',
        stderr: 'inherit',
      },
    );
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
        log: existsSync(`${paths.home}/logs/runs.log`)
          ? readFileSync(`${paths.home}/logs/runs.log`, 'utf8')
          : '',
      };
    });

  const until = async (what: string, holds: () => boolean) => {
    const endMs = Date.now() + WAIT_MAX_MS;
    while (!holds()) {
      if (Date.now() > endMs) throw new Error(`Waited in vain: ${what}`);
      await Bun.sleep(10);
    }
  };
  const processes = (runId: string) =>
    [1, 2, 3, 4].flatMap((turn) => withMarker({ name: RUN_VARIABLE, value: `${runId}/${turn}` }));

  return {
    home,
    env,
    accept,
    supervise,
    story,
    until,
    processes,
    run: async (task, changes) => {
      const { turn } = accept(task, changes);
      await supervise(turn).exited;
      return story(turn.runId);
    },
    stop: (runId, reason = 'requested') =>
      void withRuns(paths, (db) => requestStop(runId, { reason, by: 'a test', atMs: Date.now() }, db)),
    deliver: (owner = 'test', nowMs = Date.now()) =>
      withRuns(paths, (db) =>
        takeAnnouncements(
          { requester: REQUESTER, session: null, owner, isPerson: true },
          { nowMs, leaseMs: 600_000, limit: 100 },
          db,
        ),
      ),
    [Symbol.asyncDispose]: async () => {
      for (const child of started) child.kill('SIGKILL');
      await Promise.all(started.map((child) => child.exited));
      for (const runId of runIds) for (const pid of processes(runId)) process.kill(pid, 'SIGKILL');
      home[Symbol.dispose]();
    },
  };
}

const NONE = { tokens: null, usd: null };

/** The work and the announce step of a run's only task. */
export function onlyTurn({ turns }: Story): Turn {
  const [turn, ...others] = turns.filter(({ kind }) => kind !== 'announce');
  if (turn === undefined || others.length > 0) throw new Error('There is more than one turn');
  return turn;
}

/** What stands in the file that the client wrote. */
export function outputOf({ home }: SupervisorHome, turn: Turn): string {
  return readFileSync(turnFiles(home.paths, turn.runId, turn.number).output, 'utf8');
}
