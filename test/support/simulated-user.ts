import { answerKey, armOf, holdPercentOf } from '../../src/benefit/model/coin.ts';
import { type Channel, groupFingerprint } from '../../src/benefit/model/telling.ts';
import { settleNew } from '../../src/benefit/settle-new.ts';
import type { Db } from '../../src/database/connection.ts';
import { insertEvent } from '../../src/database/events.ts';
import { ensureCoin, recordTellings } from '../../src/database/ledger.ts';
import { commandFamily } from '../../src/lessons/command.ts';
import { readFailure } from '../../src/lessons/failure.ts';

/** A user whose agents fail at a known rate, with a known effect of telling: through the real ledger and its settling. */

export const USERS_PROJECT = '/home/dev/app';
const WEEK_MS = 7 * 86_400_000;
const MINUTE_MS = 60_000;

export type World = {
  readonly holdOut: 'off' | 'low' | 'trial';
  /** The risk where told, as a multiple of that where held out. */
  readonly ratio: number;
  /** Calls until the check passes, where the hint is held out and where it is told. */
  readonly calls: readonly [held: number, told: number];
  /** Would-be failures a week. */
  readonly perWeek: number;
  readonly seed: number;
};

const SESSIONS_PER_WEEK = 9;

/** What fails, what it prints, what to run instead, and its share of all failures. */
const LESSONS = [
  ['pytest tests -n 4', 'pytest: error: unrecognized arguments: -n 4', 'python -m pytest tests', 0.5],
  ['npm run lint -- --bail', "error: unknown option '--bail'", 'npm run lint', 0.3],
  ['make proto', 'protoc: command not found', 'make tools proto', 0.2],
  ['go build ./srv', 'no required module provides package ./srv', 'go build ./server', 0],
] as const;

/** Numbers from 0 to 1, always the same for a seed (mulberry32). */
export function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Lets the user work for some weeks from `startMs` on; what comes of it is settled each week. */
export class SimulatedUser {
  readonly #world: World;
  readonly #db: Db;
  readonly #random: () => number;
  readonly #startMs: number;
  #week = 0;

  constructor(world: World, startMs: number, db: Db) {
    [this.#world, this.#startMs, this.#db] = [world, startMs, db];
    this.#random = numbersFrom(world.seed);
    // The coin's key is random, and a demonstration is to be the same each time.
    const key = Array.from({ length: 64 }, () => Math.floor(this.#random() * 16).toString(16)).join('');
    ensureCoin(db, new Date(startMs));
    db.sqlite.run(
      'UPDATE coin SET key = ?, commitment = ?',
      key,
      new Bun.CryptoHasher('sha256').update(key).digest('hex'),
    );
    for (const [index, [failing, says, use]] of LESSONS.entries()) {
      const { key: error } = failureOf(failing, says);
      const past = new Date(startMs - (index + 1) * 60 * MINUTE_MS).toISOString();
      this.#call(failing, { session: `before-${index}`, ts: past, says });
      db.sqlite.run(
        `INSERT INTO error_kb(ts, error_normalized, said, project_path, seen_count, sessions, last_used, resolution, resolved_by, evidence)
         VALUES (?1, ?2, ?3, ?4, 2, ?5, ?1, ?6, 'lesson', '{}')`,
        ...[past, error, says, USERS_PROJECT, 9 - index],
        JSON.stringify({ kind: 'command', failing, use }),
      );
    }
  }

  /** The end of the last week. */
  get now(): Date {
    return new Date(this.#startMs + this.#week * WEEK_MS);
  }

  work(weeks: number): void {
    for (const end = this.#week + weeks; this.#week < end; this.#week++) {
      for (let session = 0; session < SESSIONS_PER_WEEK; session++) this.#session(session);
      settleNew({ now: new Date(this.#startMs + (this.#week + 1) * WEEK_MS) }, this.#db);
    }
  }

  #session(index: number): void {
    const session = `s-${this.#week}-${index}`;
    const startMs = this.#startMs + this.#week * WEEK_MS + (index + 1) * (WEEK_MS / (SESSIONS_PER_WEEK + 2));
    const told = new Map(
      LESSONS.filter(([failing, says]) => this.#isTold(failing, says)).map((lesson, at) => {
        return [lesson, this.#tell(lesson, { session, channel: 'start', ts: startMs + at, callId: null })];
      }),
    );
    let ms = startMs + MINUTE_MS;
    for (const lesson of LESSONS) {
      const [failing, says, use, share] = lesson;
      const isHeld = told.get(lesson) ?? true;
      const risk = (share * this.#world.perWeek * (isHeld ? 1 : this.#world.ratio)) / SESSIONS_PER_WEEK;
      if (this.#random() >= risk) continue;
      const id = `${session}-${failing}`;
      this.#call(failing, { session, ts: iso(ms), says, id });
      const isHintHeld = this.#tell(lesson, { session, channel: 'failure', ts: ms + 1, callId: id });
      const [held, hinted] = this.#world.calls;
      const calls = Math.max(1, Math.round((isHintHeld ? held : hinted) * (0.4 + 1.2 * this.#random())));
      for (let call = 1; call < calls; call++) {
        ms += MINUTE_MS;
        this.#call('cat notes.md', { session, ts: iso(ms) });
      }
      ms += MINUTE_MS;
      this.#call(use, { session, ts: iso(ms) });
      ms += MINUTE_MS;
    }
    this.#call('ls', { session, ts: iso(ms) });
  }

  /** As the lesson stands by now. */
  #isTold(failing: string, says: string): boolean {
    const sql = `SELECT 1 FROM error_kb WHERE error_normalized = ? AND typeof(resolution) = 'text' AND quiet = 0`;
    return this.#db.sqlite.get(sql, failureOf(failing, says).key) !== undefined;
  }

  /** Notes what was told, or held out; returns whether it was held out. */
  #tell(
    [failing, says, use]: (typeof LESSONS)[number],
    {
      session,
      channel,
      ts,
      callId,
    }: { session: string; channel: Channel; ts: number; callId: string | null },
  ): boolean {
    const db = this.#db;
    const rows = db.sqlite.all('SELECT kind, channel FROM answered');
    const answered = new Set(
      rows.map((row) => answerKey(String(row.kind), row.channel === 1 ? 'failure' : 'start')),
    );
    const { key } = ensureCoin(db, new Date(ts));
    const group = { place: USERS_PROJECT, key: failureOf(failing, says).key };
    const { holdOut } = this.#world;
    const holdPercent = holdPercentOf({ holdOut, kind: 'rule', channel, answered, isPinned: false });
    const isHeld = armOf({ key, channel, group: groupFingerprint(group), root: session, holdPercent });
    const telling = {
      group,
      kind: 'rule',
      text: `use \`${use}\` instead of \`${failing}\``,
      channel,
      holdPercent,
    } as const;
    const note = { ts: iso(ts), sessionId: session, agentId: null };
    recordTellings({ ...note, tellings: [{ ...telling, isHeld, callId }] }, db);
    return isHeld;
  }

  #call(
    line: string,
    { session, ts, says, id }: { session: string; ts: string; says?: string; id?: string },
  ): void {
    const call = {
      tool: 'Bash',
      toolUseId: id ?? `${session} ${ts} ${line}`,
      command: commandFamily(line),
      line,
      directory: '',
      chars: 200,
    };
    const data = says === undefined ? call : { ...call, ...errorOf(line, says) };
    const type = says === undefined ? 'tool_use' : 'tool_error';
    insertEvent({ type, ts, sessionId: session, project: 'app', projectPath: USERS_PROJECT, data }, this.#db);
  }
}

const iso = (ms: number) => new Date(ms).toISOString();

function failureOf(line: string, says: string) {
  return readFailure({ tool: 'Bash', line, text: `Exit code 1\n${says}` });
}

function errorOf(line: string, says: string) {
  const { key, said, noise } = failureOf(line, says);
  return { error: key, said, errorRaw: says, ...(noise === null ? {} : { noise }) };
}
