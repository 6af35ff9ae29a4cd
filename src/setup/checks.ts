import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ClientName } from '../core/client-name.ts';
import { isRecord, lookOr, parseJson, readString, reasonOf } from '../core/guards.ts';
import { type Environment, isAbsolutePath, type StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { pruneOldEvents } from '../database/retention.ts';
import { HOOKS } from '../hooks/hooks.ts';
import { writeDatabase } from '../hooks/store/use-database.ts';
import { parseConfig } from '../settings/all-settings.ts';
import { loadConfig, parseSettings } from '../settings/hook-settings.ts';
import { readPlainFile } from '../system/files.ts';
import type { RunCommand } from '../system/run-command.ts';
import { readUnreadNote, type UnreadNote } from '../transcripts/catch-up.ts';
import { inspectDatabase, listWithheld } from './inspect-store.ts';
import { hookModeIn, knownManifest } from './manifest.ts';

/** The result type of doctor's checks, and the checks of our own directory and of the environment. */

/** What a check has found. */
export type Finding = {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What the user can do about it. */
  readonly remedy?: string;
  /** Where it differs from the name of the check. */
  readonly name?: string;
};

export type CheckWorld = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly platform: string;
  readonly run: RunCommand;
  readonly now: Date;
  /** The command line that installs. */
  readonly install: string;
};

/** Everything is as it should be. */
export const ok = (detail: string): Finding => ({ status: 'ok', detail });
/** The hooks work, but not as the user may expect. */
export const warning = (detail: string, remedy: string): Finding => ({ status: 'warning', detail, remedy });
/** The hooks do not work, or lose what they are given. */
export const failed = (detail: string, remedy: string): Finding => ({ status: 'failed', detail, remedy });
/** It could not, or need not, be checked. */
export const skipped = (detail: string): Finding => ({ status: 'skipped', detail });

const INTERNAL = 'SELF_GENERATION_INTERNAL';

/** Variables that change what a compiled Bun program does, whoever made it. */
const TRAPS: Readonly<Record<string, string>> = {
  BUN_OPTIONS: 'its options are added to every run of the binary',
  BUN_BE_BUN: 'the binary then behaves as the bun runtime instead of as a hook',
  BUN_INSPECT: 'it opens a debugger in every hook',
  BUN_INSPECT_PRELOAD: 'it runs a script inside every hook',
  BUN_CONFIG_PRELOAD: 'it runs a script inside every hook',
  [INTERNAL]: 'every hook then does nothing',
};

/** Whether a variable of the environment changes what the hooks do. The client hands its own environment to them. */
export function checkEnvironment({ env }: CheckWorld): Finding {
  const home = env.SELF_GENERATION_HOME;
  if (home && !isAbsolutePath(home)) {
    const detail = `SELF_GENERATION_HOME is "${home}", which is not absolute and therefore ignored`;
    return warning(detail, 'Set it to an absolute path, or unset it');
  }
  const set = Object.keys(TRAPS).filter((name) => (name === INTERNAL ? env[name] === '1' : env[name]));
  if (set.length === 0) return ok('no variable changes what the hooks do');
  const detail = set.map((name) => `${name} is set: ${TRAPS[name]}`).join('; ');
  return warning(detail, `Unset it where you start the client: unset ${set.join(' ')}`);
}

/** Whether anything can be recorded at all. */
export function checkWritable({ paths: { home, data, database } }: CheckWorld): Finding {
  const existing = [home, data, database].filter((path) => existsSync(path));
  try {
    for (const path of existing.length > 0 ? existing : [nearestExisting(home)])
      accessSync(path, constants.W_OK);
    return ok(home);
  } catch (error) {
    const remedy = `Make "${home}" and what is in it writable for you`;
    return failed(`nothing can be recorded: ${reasonOf(error)}`, remedy);
  }
}

/** Where a missing directory would be made. */
function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

/** Whether only the user can read what is recorded: directories 0700, files 0600. */
export function checkPermissions({ paths, platform }: CheckWorld): Finding {
  if (platform === 'win32') return skipped('Windows keeps them in access lists');
  const { home, data, spool, given, tasks, backups, plans, summaries, memory } = paths;
  const { database, config, manifest, hookLog } = paths;
  const directories = [home, data, spool, given, tasks, backups, plans, summaries, memory];
  const open = [...directories, database, config, manifest, hookLog].filter(
    (path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0,
  );
  if (open.length === 0) return ok('only you can read what is stored');
  return warning(`other users may look into ${open.join(', ')}`, `chmod -R go= "${home}"`);
}

/** Whether every setting is taken as it stands in config.json, and the hooks are switched on. */
export function checkConfig({ paths: { config: path } }: CheckWorld): Finding {
  if (!existsSync(path)) return ok('no config.json: every setting has its default');
  const text = readPlainFile(path).toString();
  const value = parseSettings(text.replace(/^\ufeff/, ''));
  if (value === undefined) {
    const detail = `${path} is neither JSON nor JSON5, so every setting has its default`;
    return failed(detail, 'Correct or remove the file');
  }
  const { config, problems } = parseConfig(value);
  const found = problems.map(({ key, message }) => `${key || path}: ${message}`);
  if (!config.enabled) {
    const detail = ['enabled is false: no hook does anything', ...found].join('; ');
    return warning(detail, 'self-generation config set enabled true');
  }
  if (found.length === 0) return ok(path);
  return warning(found.join('; '), `Correct ${path}; "self-generation config" lists the settings`);
}

export const LOOK_AGAIN = 'Close what holds it, or make it yours (chown, chmod 600), and run doctor again';
export const NEWER = 'Install the newest version of self-generation';

/** What to do with a damaged database. `maker`: what makes a new one. */
export function moveAway(database: string, maker: string): string {
  return `Move it away, with its -wal and -shm, and the next ${maker} makes a new one: mv "${database}" "${database}.broken"`;
}

/** Whether the database can be read, is intact and has today's form. */
export function checkDatabase({ paths }: CheckWorld): Finding {
  const { database } = paths;
  const state = inspectDatabase(paths);
  if (state.kind === 'absent') return ok('none yet; the first recorded event makes it');
  if (state.kind === 'unreadable')
    return failed(`${database}: ${state.reason}`, state.isForeign ? moveAway(database, 'hook') : LOOK_AGAIN);
  if (state.kind === 'damaged')
    return failed(`${database} is damaged: ${state.findings.join('; ')}`, moveAway(database, 'hook'));
  const { events, knownFixes } = state.counts;
  const total = Object.values(events).reduce((sum, count) => sum + count, 0);
  const fixes = knownFixes === 1 ? '1 known fix' : `${knownFixes} known fixes`;
  const detail = `${counted(total, 'event')}, ${fixes}, integrity ok`;
  if (state.isCurrent) return ok(detail);
  return warning(`${detail}; its schema version ${state.schemaVersion} is not that of this program`, NEWER);
}

/** Takes in waiting recordings and migrates, as the next recording hook would, but without its time limit. */
export function checkSpool({ paths }: CheckWorld): Finding {
  const waiting = countWaiting(paths);
  const words = counted(waiting, 'waiting recording');
  if (!existsSync(paths.database) && waiting === 0) return ok('nothing waits to be recorded');
  try {
    writeDatabase(paths, (db) => {
      const { retentionDays } = loadConfig(paths);
      while (!pruneOldEvents(retentionDays, new Date(), db).isComplete);
    });
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {};
    const lost = waiting === 0 ? '' : `; ${counted(waiting, 'recording')} waiting`;
    const detail = `the database cannot be written: ${reasonOf(cause)}${lost}`;
    return failed(detail, 'See the line about the database');
  }
  const left = countWaiting(paths);
  if (left > 0) return warning(`${counted(left, 'recording')} still waiting`, 'Run doctor again');
  return ok(waiting > 0 ? `took in ${words}` : 'nothing waits to be recorded');
}

/** How many recordings wait for a writer. */
export function countWaiting({ spool }: StatePaths): number {
  if (!existsSync(spool)) return 0;
  return readdirSync(spool).filter((name) => name.endsWith('.json') && !name.startsWith('.')).length;
}

const UNREAD: Readonly<Record<UnreadNote['reason'], string>> = {
  missing: 'there is no such file',
  unreadable: 'it cannot be read',
  unknown: 'it has no line that is known',
};

/** Whether the transcripts of recent sessions could be read. Where each call is handed to a hook, none is needed. */
export function checkTranscripts({ paths, now }: Pick<CheckWorld, 'paths' | 'now'>): Finding {
  const note = readUnreadNote(paths, now);
  const isNeeded = hookModeIn(knownManifest(paths.manifest)) === 'session';
  if (note === undefined || !isNeeded) return ok('none that could not be read');
  const { ts, path, reason, sessions } = note;
  const last =
    path === '' ? `last at ${ts}: the client named none` : `last ${path}, ${ts}: ${UNREAD[reason]}`;
  return warning(
    `what ${counted(sessions, 'session')} did could not be read from the transcript; ${last}`,
    'If your client keeps no transcripts, have each call handed to a hook: self-generation install --hooks=per-call',
  );
}

export const LOG_DAYS = 7;
const SHOWN_MAX = 3;
export const MS_PER_DAY = 86_400_000;

/** Whether hooks have logged failures recently. */
export function checkHookLog({ paths: { hookLog }, now }: CheckWorld): Finding {
  const { count, newest, period } = recentFailures(hookLog, now);
  if (count === 0) return ok(`none ${period}`);
  return warning(`${count} ${period}; newest: ${newest.join(' | ')}`, `All of them: ${hookLog}`);
}

/** The failures in a log of the last days: how many, and the newest as `<time> <hook>: <message>`. */
export function recentFailures(path: string, now: Date) {
  const since = new Date(now.getTime() - LOG_DAYS * MS_PER_DAY).toISOString();
  const lines = existsSync(path) ? readPlainFile(path).toString().split('\n') : [];
  const recent = lines
    .map(parseJson)
    .filter(isRecord)
    .filter((entry) => (readString(entry, 'ts') ?? '') >= since);
  const newest = recent.slice(-SHOWN_MAX).map((entry) => {
    const hook = readString(entry, 'hook');
    const subject = hook === undefined ? '' : `${hook}: `;
    return `${readString(entry, 'ts')} ${subject}${readString(entry, 'message') ?? ''}`;
  });
  return { count: recent.length, newest, period: `in the last ${LOG_DAYS} days` };
}

/** When each event last came in; null when it never has. */
export function readHeartbeats({ heartbeats }: StatePaths): Record<string, string | null> {
  return Object.fromEntries(
    HOOKS.map(({ event }) => {
      const file = `${heartbeats}/${event}`;
      return [event, existsSync(file) ? readPlainFile(file).toString().trim() || null : null];
    }),
  );
}

/** When a hook of another client last came in, in ISO 8601; null when none ever has. */
export function lastSeenOf(client: ClientName, { heartbeats }: StatePaths): string | null {
  const names = lookOr(() => readdirSync(heartbeats), []).filter((name) => name.startsWith(`${client}-`));
  const times = names.map((name) =>
    lookOr(() => readPlainFile(`${heartbeats}/${name}`).toString().trim(), ''),
  );
  return times.sort().at(-1) || null;
}

/** Which events have come in, and when. */
export function checkHeartbeats({ paths }: CheckWorld): Finding {
  const seen = Object.entries(readHeartbeats(paths)).filter(([, time]) => time !== null);
  if (seen.length === 0) return skipped('no event yet: start a session of the client');
  return ok(seen.map((eventAndTime) => eventAndTime.join(' ')).join(', '));
}

/** Whether stored texts are kept from agents because they are shaped like instructions. */
export function checkWithheld({ paths }: CheckWorld): Finding {
  const withheld = lookOr(() => listWithheld(paths), undefined);
  if (withheld === undefined) return skipped('the database cannot be read');
  if (withheld.length === 0) return ok('nothing: no stored text is shaped like an instruction to an agent');
  const shown = withheld
    .slice(0, SHOWN_MAX)
    .map(({ source, text }) => `${source} ${JSON.stringify(text.slice(0, 120))}`);
  return warning(
    `shaped like an instruction, so no agent is given it: ${counted(withheld.length, 'stored text')}: ${shown.join(', ')}`,
    'Find out which program printed it; nothing else has to be done',
  );
}
