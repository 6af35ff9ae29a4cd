import { mkdirSync, writeFileSync } from 'node:fs';
import type { CliContext } from '../../../src/cli/context.ts';
import { subagentsCommand } from '../../../src/cli/subagents/subagents.ts';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import type { NewAnnouncement } from '../../../src/runs/model/announcement.ts';
import { ASKS_NEVER } from '../../../src/runs/model/permissions.ts';
import { requesterKey, turnFiles } from '../../../src/runs/model/run.ts';
import { NO_POLICY } from '../../../src/runs/model/tool-policy.ts';
import { type Ending, NO_USAGE, type Turn } from '../../../src/runs/model/turn.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import { insertRun, type NewRun } from '../../../src/runs/store/runs.ts';
import { changeTurn, endTurn } from '../../../src/runs/store/turns.ts';
import { identityOf } from '../../../src/system/process-identity.ts';
import { pathExists, readTextFile } from '../../../src/system/runtime-bun.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { childKeyOf } from '../../support/made-run.ts';
import { type Answer, callHere } from '../call.ts';

/** Runs of a project in a home of its own, and the commands that a person in that project calls. */

export const NOW_MS = Date.parse('2026-11-20T10:00:00.000Z');
const MINUTE_MS = 60_000;

const NO_LIMIT = { tokens: null, usd: null };
const LIMITS = {
  maxQueued: 100_000,
  undeliveredMax: 100_000,
  dedupeMs: 0,
  dedupesFailed: false,
  budget: { run: NO_LIMIT, requester: NO_LIMIT, day: NO_LIMIT },
};
const QUEUE_LIMITS = { maxConcurrent: 100_000 };

/** `stdin`: what is piped in. */
export type Changes = Partial<CliContext> & { readonly stdin?: string };

export type Shelf = Disposable & {
  readonly home: Home;
  /** The directory of the project. */
  readonly project: string;
  /** Of whoever asks in that directory. */
  readonly key: string;
  readonly call: (words: readonly string[], changes?: Changes) => Promise<Answer>;
  /** What `--json` prints, of a call that succeeds. */
  readonly json: <T>(words: readonly string[], changes?: Changes) => Promise<T>;
  readonly write: <T>(work: (db: Sqlite) => T) => T;
  /** Begun 15 minutes ago, ten minutes after it was asked for; waits when nothing else is said. */
  readonly queue: (fields?: Partial<NewRun>) => Turn;
  /** Supervised by this process, so that nobody else takes it over. */
  readonly start: (fields?: Partial<NewRun>) => Turn;
  readonly end: (
    turn: Turn,
    ending?: Partial<Ending>,
    announcement?: Partial<NewAnnouncement> | null,
  ) => Turn;
  /** Writes what the client said in a turn. */
  readonly say: (turn: Turn, lines: readonly object[]) => void;
};

export function newShelf(config: object = {}): Shelf {
  const home = temporaryHome();
  home.writeConfig(config);
  const project = `${home.path}/work/app`;
  mkdirSync(`${project}/.git`, { recursive: true });
  const key = requesterKey(project, { readTextFile, pathExists });
  const write = <T>(work: (db: Sqlite) => T) => withRuns(home.paths, work);
  const call: Shelf['call'] = (words, { stdin = '', ...changes } = {}) =>
    callHere((context) => subagentsCommand(context, async () => stdin), words, {
      env: { HOME: home.path, PATH: `${home.path}/bin` },
      cwd: project,
      // Nothing is started: where a supervisor is due, there is no such program.
      executablePath: '/nowhere/self-generation',
      now: () => new Date(NOW_MS),
      ...changes,
    });
  const queue: Shelf['queue'] = (fields) => write((db) => queueRun(key, fields, db));
  return {
    home,
    project,
    key,
    call,
    write,
    queue,
    json: async <T>(words: readonly string[], changes?: Changes) => {
      const { stdout, stderr, code } = await call([...words, '--json'], changes);
      if (code !== 0 || stderr !== '') throw new Error(`exit code ${code}: ${stderr}${stdout}`);
      return JSON.parse(stdout) as T;
    },
    start: (fields) => {
      const turn = queue(fields);
      return write((db) => startTurn(turn, db));
    },
    end: (turn, ending, announcement) => write((db) => endNow(turn, ending, announcement, db)),
    say: ({ runId, number }, lines) => {
      const { directory, output } = turnFiles(home.paths, runId, number);
      mkdirSync(directory, { recursive: true });
      writeFileSync(output, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    },
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

function queueRun(key: string, fields: Partial<NewRun> = {}, db: Sqlite): Turn {
  const id = fields.id ?? crypto.randomUUID().replaceAll('-', '');
  const run: NewRun = {
    id,
    requester: { key, session: null, client: null, cwd: '/home/dev/app' },
    childKey: childKeyOf(id),
    agentId: 'main',
    client: 'claude',
    label: null,
    task: 'Fix the tests.',
    model: { requested: null, resolved: null },
    thinking: null,
    cleanup: 'keep',
    runTimeoutMs: 0,
    cwd: '/home/dev/app',
    worktreeMode: 'never',
    policy: NO_POLICY,
    permissions: ASKS_NEVER,
    gaps: [],
    agentDir: null,
    warning: null,
    terminal: null,
    archiveAfterMs: 0,
    createdAtMs: NOW_MS - 25 * MINUTE_MS,
    ...fields,
  };
  const insertion = insertRun(run, id, LIMITS, db);
  if (insertion.kind !== 'inserted') throw new Error(`Cannot insert a run: ${JSON.stringify(insertion)}`);
  return insertion.turn;
}

function startTurn(turn: Turn, db: Sqlite): Turn {
  const startedAtMs = NOW_MS - 15 * MINUTE_MS;
  const claimed = claimTurns(QUEUE_LIMITS, startedAtMs, db).find(({ runId }) => runId === turn.runId);
  const owner = identityOf(process.pid) ?? null;
  const changes = { state: 'running', owner, startedAtMs, launchedAtMs: startedAtMs } as const;
  const started = claimed && changeTurn(claimed, changes, db);
  if (started === undefined) throw new Error(`Cannot start run "${turn.runId}"`);
  return started;
}

function endNow(
  turn: Turn,
  ending: Partial<Ending> = {},
  announcement: Partial<NewAnnouncement> | null = null,
  db: Sqlite,
): Turn {
  const endedAtMs = NOW_MS - 10 * MINUTE_MS + 12_000;
  const whole: Ending = {
    outcome: 'success',
    result: 'All pass.',
    error: null,
    notes: [],
    usage: NO_USAGE,
    exit: { code: 0, signal: null },
    endedAtMs,
    ...ending,
  };
  const told = announcement && {
    id: crypto.randomUUID(),
    status: 'success' as const,
    result: 'All pass.',
    notes: '- (none)',
    stats: 'Stats: runtime 5m12s • tokens n/a • sessionKey k • transcript /t',
    readyAtMs: endedAtMs,
    ...announcement,
  };
  const ended = endTurn(turn, whole, told, db);
  if (ended === undefined) throw new Error(`Cannot end run "${turn.runId}"`);
  return ended;
}
