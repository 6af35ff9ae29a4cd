import { mkdirSync, writeFileSync } from 'node:fs';
import type { CliContext } from '../../../src/cli/context.ts';
import { subagentsCommand } from '../../../src/cli/subagents/subagents.ts';
import type { Sqlite } from '../../../src/database/sqlite.ts';
import type { NewAnnouncement } from '../../../src/runs/model/announcement.ts';
import { requesterKey, turnFiles } from '../../../src/runs/model/run.ts';
import type { Ending, Turn } from '../../../src/runs/model/turn.ts';
import { claimTurns } from '../../../src/runs/store/queue.ts';
import { withRuns } from '../../../src/runs/store/rows.ts';
import { insertRun, type NewRun } from '../../../src/runs/store/runs.ts';
import { changeTurn, endTurn } from '../../../src/runs/store/turns.ts';
import { identityOf } from '../../../src/system/process-identity.ts';
import { pathExists, readTextFile } from '../../../src/system/runtime-bun.ts';
import { announcement, ending, newRun, LIMITS as STORE_LIMITS } from '../../runs/store/made-up.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { childKeyOf } from '../../support/made-run.ts';
import { type Answer, callHere } from '../call.ts';

/** Runs of a project in a home of its own, and the commands that a person in that project calls. */

/** One run at a time, so that what waits goes on waiting. */
export const ONE_AT_A_TIME = { agents: { defaults: { subagents: { maxConcurrent: 1 } } } };
export const NOW_MS = Date.parse('2026-11-20T10:00:00.000Z');
const MINUTE_MS = 60_000;

const LIMITS = { ...STORE_LIMITS, maxQueued: 100_000, undeliveredMax: 100_000, dedupeMs: 0 };

/** Whoever asks in a session of Claude Code in this project. */
export const sessionOf = (key: string) =>
  ({ key, session: 's-1', client: 'claude', cwd: '/home/dev/app' }) as const;
/** Whoever asks in another project. */
export const ELSEWHERE = { key: 'agent:main:other-1', session: null, client: null, cwd: '/' } as const;

/** A message that waits for its run, as a turn. */
export const messageTo = (runId: string, session: string | null = '', message = 'and now?') =>
  ({ runId, kind: 'send', announces: null, message, nowMs: NOW_MS, state: 'queued', session }) as const;

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
  const project = `${home.path}/code/app`;
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
      const { runId } = queue(fields);
      const started = write((db) => runTurn(runId, NOW_MS - 15 * MINUTE_MS, db));
      if (started === undefined) throw new Error(`Cannot start run "${runId}"`);
      return started;
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
  const asked = { key, session: null, client: null, cwd: '/home/dev/app' };
  const own = { id, requester: asked, childKey: childKeyOf(id), task: 'Fix the tests.', cwd: asked.cwd };
  const run = newRun({ ...own, archiveAfterMs: 0, createdAtMs: NOW_MS - 25 * MINUTE_MS, ...fields });
  const insertion = insertRun(run, id, LIMITS, db);
  if (insertion.kind !== 'inserted') throw new Error(`Cannot insert a run: ${JSON.stringify(insertion)}`);
  return insertion.turn;
}

/** This process takes the next turn of a run and runs it; undefined when none waits. */
export function runTurn(runId: string, startedAtMs: number, db: Sqlite): Turn | undefined {
  const claimed = claimTurns({ maxConcurrent: 100_000 }, startedAtMs, db).find(
    (turn) => turn.runId === runId,
  );
  const owner = identityOf(process.pid) ?? null;
  const changes = { state: 'running', owner, startedAtMs, launchedAtMs: startedAtMs } as const;
  return claimed && changeTurn(claimed, changes, db);
}

function endNow(
  turn: Turn,
  end: Partial<Ending> = {},
  announced: Partial<NewAnnouncement> | null = null,
  db: Sqlite,
): Turn {
  const endedAtMs = NOW_MS - 10 * MINUTE_MS + 12_000;
  const stats = 'Stats: runtime 5m12s • tokens n/a • sessionKey k • transcript /t';
  const told = announced && announcement({ result: 'All pass.', stats, readyAtMs: endedAtMs, ...announced });
  const ended = endTurn(turn, ending({ result: 'All pass.', endedAtMs, ...end }), told, db);
  if (ended === undefined) throw new Error(`Cannot end run "${turn.runId}"`);
  return ended;
}
