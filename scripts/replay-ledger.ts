/**
 * The ledger over sessions that were really held, in order of time, with an effect that is planted: at the start of each session what
 * would be told then is noted, what failed in it is recorded, less what the planted effect prevents where it was told, and what came
 * of it is settled. Says what the ledger finds.
 *
 *   bun scripts/replay-ledger.ts DIRECTORY                   transcripts below it; nothing planted
 *   bun scripts/replay-ledger.ts DIRECTORY --effect 0.6      of the failures that were told of 60 % do not happen
 *   bun scripts/replay-ledger.ts DIRECTORY --harm 0.2        in a fifth of the sessions that were told, it fails though it did not
 *   bun scripts/replay-ledger.ts DIRECTORY --sample 30       and so many exposures with what came of them, to be counted by hand
 *
 * `--seed N` throws other coins and plants otherwise. Writes nowhere but into a home of its own, which is removed.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { sha256 } from '#runtime';
import { episodesOf } from '../src/benefit/episodes.ts';
import { cure } from '../src/benefit/evidence/cure.ts';
import { prevention } from '../src/benefit/evidence/prevention.ts';
import { settleNew } from '../src/benefit/settle-new.ts';
import { lessonRate } from '../src/benefit/store/lesson-list.ts';
import type { TranscriptSession } from '../src/clients/claude/transcript-files.ts';
import { listTranscripts } from '../src/clients/claude/transcript-list.ts';
import {
  MergedTranscripts,
  nothingPassedOver,
  ReadingBudget,
} from '../src/clients/claude/transcript-reader.ts';
import { type StatePaths, statePaths } from '../src/core/state-paths.ts';
import type { Db } from '../src/database/connection.ts';
import { insertEvent } from '../src/database/events.ts';
import { type LedgerRow, readLedger, recordTellings, verifyLedger } from '../src/database/ledger.ts';
import type { HookEvent } from '../src/hooks/event.ts';
import { decide } from '../src/hooks/hooks.ts';
import { projectAt } from '../src/hooks/invocation.ts';
import { writeDatabase } from '../src/hooks/store/use-database.ts';
import { learnProject } from '../src/lessons/learn-project.ts';
import { searchErrorKB } from '../src/lessons/store/error-search.ts';
import { listWithdrawals } from '../src/lessons/store/withdrawals.ts';
import { loadConfig } from '../src/settings/hook-settings.ts';
import { PastContexts, SessionImport } from '../src/transcripts/session-import.ts';

const DAY_MS = 86_400_000;
/** Behind its last event a session is over. */
const OVER_MS = 25 * 3_600_000;

export type Plan = {
  readonly directory: string;
  readonly effect: number;
  readonly harm: number;
  readonly seed: number;
};

/** A number from 0 to 1 that is the same for the same text (FNV-1a, mixed as by MurmurHash3). */
function drawn(text: string): number {
  let hash = 2_166_136_261;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  hash = Math.imul(hash ^ (hash >>> 16), 2_246_822_507);
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** Plays all sessions and returns what `look` finds in the database afterwards. */
export function replay<T>(plan: Plan, look: (db: Db, now: Date) => T): T {
  const home = mkdtempSync(`${tmpdir()}/self-generation-replay-`);
  const env = { HOME: home };
  const paths = statePaths(env, 'linux');
  if (paths === undefined) throw new Error(`Cannot replay: "${home}" is no home`);
  try {
    return writeDatabase(paths, (db) => {
      writeFileSync(paths.config, JSON.stringify({ language: 'en', proof: { holdOut: 'trial' } }));
      // Another coin for another seed, and the same one for the same.
      const key = Array.from({ length: 8 }, (_, at) =>
        Math.floor(drawn(`${plan.seed} ${at}`) * 2 ** 32)
          .toString(16)
          .padStart(8, '0'),
      );
      plantCoin(key.join(''), db);
      let now = new Date(0);
      for (const session of listTranscripts([plan.directory], () => undefined).sessions)
        now = playSession(session, { plan, paths, env, now }, db);
      const end = new Date(now.getTime() + DAY_MS);
      settleNew({ now: end }, db);
      return look(db, end);
    });
  } finally {
    rmSync(home, { recursive: true });
  }
}

function plantCoin(key: string, db: Db): void {
  const made = "INSERT INTO coin(id, key, commitment, since) VALUES (1, ?, ?, '1970-01-01T00:00:00.000Z')";
  db.sqlite.run(made, key, sha256(key));
}

type Stage = {
  readonly plan: Plan;
  readonly paths: StatePaths;
  readonly env: { HOME: string };
  readonly now: Date;
};

/** Notes what the session would be told at its start, takes in what it did, and learns from it. Returns when it was over. */
function playSession(session: TranscriptSession, { plan, paths, env, now }: Stage, db: Db): Date {
  const { sessionId = '', firstTs, directory } = session.outline;
  if (firstTs === '' || session.outline.isAnalysis) return now;
  const past = { config: loadConfig(paths), env, projectAt: (at: string) => projectAt(at, env) };
  const contexts = new PastContexts(past);
  const tell = (event: HookEvent, ts: string) => {
    const context = contexts.contextOf(event, { ts, startedIn: directory });
    const { tellings = [] } = decide(event, { ...context, knowledge: () => db, searchErrors: searchErrorKB });
    const { agentId } = event;
    db.sqlite.transaction(() => recordTellings({ ts, sessionId, agentId, client: 'claude', tellings }, db));
  };
  const base = { sessionId, cwd: directory, agentId: null, agentType: null };
  tell({ ...base, name: 'SessionStart', source: 'startup' }, firstTs);
  let lastTs = firstTs;
  for (const { ts, event } of eventsOf(session)) {
    if (event.name === 'PostToolUseFailure') tell(event, ts);
    if (ts > lastTs) lastTs = ts;
  }
  const inTurn = <Result>(work: () => Result) => work();
  const budget = new ReadingBudget();
  const run = new SessionImport(
    { contexts, paths, now: () => new Date(lastTs), inTurn, budget, lookBackBytes: 0 },
    db,
  );
  run.take(session);
  run.write();
  plant(sessionId, plan, db);
  for (const project of run.projects) learnProject(project, db);
  const over = new Date(Math.max(now.getTime(), Date.parse(lastTs) + OVER_MS));
  settleNew({ now: over }, db);
  return over;
}

function eventsOf({ files }: TranscriptSession) {
  const how = {
    budget: new ReadingBudget(),
    lookBackBytes: 0,
    passedOver: nothingPassedOver(),
    unreadable: [],
  };
  return [...new MergedTranscripts(files, how).read()].flatMap(({ step }) => step?.events ?? []);
}

/** Takes failures away from what a session did that was told of them, or adds one. */
function plant(sessionId: string, { effect, harm, seed }: Plan, db: Db): void {
  const told = readLedger(db).filter(
    ({ root, isHeld, channel }) => root === sessionId && !isHeld && channel === 'start',
  );
  for (const { key, group, ts } of told) {
    if (drawn(`effect ${seed} ${sessionId} ${group}`) < effect)
      db.sqlite.run(
        "DELETE FROM events WHERE session_id = ? AND type = 'tool_error' AND json_extract(data, '$.error') = ?",
        ...[sessionId, key],
      );
    if (drawn(`harm ${seed} ${sessionId} ${group}`) >= harm) continue;
    const sql = `SELECT session_id AS sessionId, project, project_path AS projectPath, data FROM events
      WHERE type = 'tool_error' AND json_extract(data, '$.error') = ? LIMIT 1`;
    const known = db.sqlite.get(sql, key) as
      | { sessionId: string; project: string; projectPath: string; data: string }
      | undefined;
    if (known === undefined) continue;
    const data = { ...JSON.parse(known.data), toolUseId: `planted ${sessionId} ${group}` };
    insertEvent({ ...known, type: 'tool_error', ts: new Date(ts + 1000).toISOString(), sessionId, data }, db);
  }
}

/** What the ledger holds, in lines. */
function report(db: Db, now: Date): string[] {
  const rows = readLedger(db);
  const of = (channel: LedgerRow['channel']) => rows.filter((row) => row.channel === channel);
  const count = (some: readonly LedgerRow[]) =>
    `${some.length} (${some.filter(({ isHeld }) => isHeld).length} held out, ${some.filter(({ isHeld }) => !isHeld).length} told)`;
  const failed = (some: readonly LedgerRow[]) => some.filter(({ failedAt }) => failedAt !== null);
  const events = (some: readonly LedgerRow[]) =>
    failed(some).map(({ isHeld, holdPercent }) => ({ isHeld, p: holdPercent / 100 }));
  const kinds = Map.groupBy(rows, ({ kind, channel }) => `${kind} at a ${channel}`);
  const [starts, failures] = [of('start'), of('failure')];
  const ends = Map.groupBy(failed(rows), ({ ended }) => ended ?? 'open');
  const doubles = new Set(rows.map(({ root, group, channel }) => `${root} ${group} ${channel}`));
  const flags = (['adviceFailed', 'formWorked', 'leaked'] as const).map(
    (flag) => `${flag} ${rows.filter((row) => row[flag]).length}`,
  );
  const withdrawals = listWithdrawals(undefined, db);
  return [
    `exposures ${count(rows)}, ${rows.length - doubles.size} twice, ${verifyLedger(db).length} problems`,
    ...[...kinds].map(([kind, those]) => `  ${kind}: ${count(those)}, failed ${count(failed(those))}`),
    `sessions ${new Set(rows.map(({ root }) => root)).size}, groups ${new Set(rows.map(({ group }) => group)).size}`,
    `starts that failed: ${count(failed(starts))}; at failures: ${count(failed(failures))}`,
    `ended: ${[...ends].map(([end, those]) => `${end} ${those.length}`).join(', ')}; ${flags.join(', ')}`,
    `prevention ${JSON.stringify(prevention(events(starts)))}`,
    `cure at failures ${JSON.stringify(cure(episodesOf(failures)))}`,
    `rate ${JSON.stringify(lessonRate(now, db))}`,
    ...db.sqlite.all('SELECT * FROM answered').map((row) => `answered ${JSON.stringify(row)}`),
    `withdrawn ${withdrawals.length}`,
    ...withdrawals.map(
      ({ reason, detail, said, resolution }) => `  ${reason}: ${detail} — ${said} — ${resolution}`,
    ),
  ];
}

/** Exposures chosen at random, and failing ones, each with what came of it. */
function sample(db: Db, count: number, seed: number): string[] {
  const shown = (row: LedgerRow) =>
    JSON.stringify(row, [
      'id',
      'root',
      'place',
      'key',
      'channel',
      'ts',
      'kind',
      'text',
      'isHeld',
      'failedAt',
      'failedCall',
      'calls',
      'ms',
      'chars',
      'ended',
      'adviceFailed',
      'formWorked',
      'leaked',
    ]);
  const rows = readLedger(db).toSorted(
    (one, other) => drawn(`${seed} ${one.id}`) - drawn(`${seed} ${other.id}`),
  );
  return [
    ...rows.slice(0, count).map((row) => `any ${shown(row)}`),
    ...rows
      .filter(({ failedAt }) => failedAt !== null)
      .slice(0, count)
      .map((row) => `failed ${shown(row)}`),
  ];
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(
      ['effect', 'harm', 'seed', 'sample'].map((name) => [name, { type: 'string' }]),
    ) as Record<string, { type: 'string' }>,
  });
  const number = (name: string) => Number(values[name] ?? 0);
  const [directory] = positionals;
  if (directory === undefined) throw new Error('Cannot replay: name a directory of transcripts');
  const plan = { directory, effect: number('effect'), harm: number('harm'), seed: number('seed') };
  const lines = replay(plan, (db, now) => [...report(db, now), ...sample(db, number('sample'), plan.seed)]);
  console.log(lines.join('\n'));
}
