import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isRecord, parseJson, readString, reasonOf } from '../core/guards.ts';
import { type Environment, isAbsolutePath, type StatePaths } from '../core/state-paths.ts';
import { counted } from '../core/text.ts';
import { pruneOldEvents } from '../database/retention.ts';
import { HOOKS } from '../hooks/hook-names.ts';
import { writeDatabase } from '../hooks/store/use-database.ts';
import { parseConfig } from '../settings/hook-setting-fields.ts';
import { loadConfig, parseSettings } from '../settings/load-hook-settings.ts';
import type { HookLogEntry } from '../system/failure-log.ts';
import { readPlainFile } from '../system/files.ts';
import type { RunCommand } from '../system/run-command.ts';
import { readUnreadNote, type UnreadNote } from '../transcripts/unread-note.ts';
import { inspectDatabase, listWithheld } from './inspect-store.ts';
import { hookModeIn, knownManifest } from './manifest.ts';

/** One thing that `doctor` looked at. */
export type Check = {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What the user can do about it. */
  readonly remedy?: string;
};

/** What there is to be looked at, and with what. */
export type CheckWorld = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly platform: string;
  readonly run: RunCommand;
  /** The command line that installs. */
  readonly install: string;
};

/** It is as it should be. */
export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail };
}

/** The hooks work, but not as the user may expect. */
export function warning(name: string, detail: string, remedy: string): Check {
  return { name, status: 'warning', detail, remedy };
}

/** The hooks do not work, or lose what they are given. */
export function failed(name: string, detail: string, remedy: string): Check {
  return { name, status: 'failed', detail, remedy };
}

/** It could not, or need not, be looked at. */
export function skipped(name: string, detail: string): Check {
  return { name, status: 'skipped', detail };
}

/** What `doctor` looks at in our own directory and in the environment. */

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
export function checkEnvironment(env: Environment): Check {
  const home = env.SELF_GENERATION_HOME;
  if (home && !isAbsolutePath(home)) {
    const detail = `SELF_GENERATION_HOME is "${home}", which is not absolute and therefore ignored`;
    return warning('environment', detail, 'Set it to an absolute path, or unset it');
  }
  const set = Object.keys(TRAPS).filter((name) => (name === INTERNAL ? env[name] === '1' : env[name]));
  if (set.length === 0) return ok('environment', 'no variable changes what the hooks do');
  const detail = set.map((name) => `${name} is set: ${TRAPS[name]}`).join('; ');
  return warning('environment', detail, `Unset it where you start the client: unset ${set.join(' ')}`);
}

/** Whether anything can be recorded at all. */
export function checkWritable(paths: StatePaths): Check {
  const places = [paths.home, paths.data, paths.database].filter((path) => existsSync(path));
  for (const place of places.length > 0 ? places : [nearestExisting(paths.home)]) {
    try {
      accessSync(place, constants.W_OK);
    } catch (error) {
      const remedy = `Make "${paths.home}" and what is in it writable for you`;
      return failed('writable', `nothing can be recorded: ${reasonOf(error)}`, remedy);
    }
  }
  return ok('writable', paths.home);
}

/** Where a missing directory would be made. */
function nearestExisting(path: string): string {
  let place = path;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  return place;
}

/** Directories 0700, files 0600: what is recorded is nobody else's business. */
export function checkPermissions(paths: StatePaths, platform: string): Check {
  if (platform === 'win32') return skipped('permissions', 'Windows keeps them in access lists');
  const open = [
    paths.home,
    paths.data,
    paths.spool,
    paths.given,
    paths.tasks,
    paths.backups,
    paths.database,
    paths.config,
    paths.manifest,
    paths.hookLog,
  ].filter((path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0);
  if (open.length === 0) return ok('permissions', 'only you can read what is stored');
  return warning(
    'permissions',
    `other users may look into ${open.join(', ')}`,
    `chmod -R go= "${paths.home}"`,
  );
}

/** Whether every setting is taken as it stands in config.json, and the hooks are switched on. */
export function checkConfig(paths: StatePaths): Check {
  if (!existsSync(paths.config)) return ok('config', 'no config.json: every setting has its default');
  const value = parseSettings(
    readPlainFile(paths.config)
      .toString()
      .replace(/^\ufeff/, ''),
  );
  if (value === undefined) {
    const remedy = 'Correct or remove the file';
    return failed(
      'config',
      `${paths.config} is neither JSON nor JSON5, so every setting has its default`,
      remedy,
    );
  }
  const { config, problems } = parseConfig(value);
  const found = problems.map(({ key, message }) => `${key || paths.config}: ${message}`);
  if (!config.enabled) {
    const detail = ['enabled is false: no hook does anything', ...found].join('; ');
    return warning('config', detail, 'self-generation config set enabled true');
  }
  if (found.length === 0) return ok('config', paths.config);
  return warning(
    'config',
    found.join('; '),
    `Correct ${paths.config}; "self-generation config" lists the settings`,
  );
}

/** Whether the database can be read, is intact and has today's form. */
export function checkDatabase(paths: StatePaths): Check {
  const state = inspectDatabase(paths);
  const moveAway = `Move it away, with its -wal and -shm, and the next hook makes a new one: mv "${paths.database}" "${paths.database}.broken"`;
  const lookAgain = 'Close what holds it, or make it yours (chown, chmod 600), and run doctor again';
  switch (state.kind) {
    case 'absent':
      return ok('database', 'none yet; the first recorded event makes it');
    case 'unreadable':
      return failed('database', `${paths.database}: ${state.reason}`, state.isForeign ? moveAway : lookAgain);
    case 'damaged':
      return failed('database', `${paths.database} is damaged: ${state.findings.join('; ')}`, moveAway);
    case 'sound': {
      const events = Object.values(state.counts.events).reduce((sum, count) => sum + count, 0);
      const detail = [
        counted(events, 'event'),
        state.counts.knownFixes === 1 ? '1 known fix' : `${state.counts.knownFixes} known fixes`,
        'integrity ok',
      ].join(', ');
      return state.isCurrent
        ? ok('database', detail)
        : warning(
            'database',
            `${detail}; its schema version ${state.schemaVersion} is not that of this program`,
            'Install the newest version of self-generation',
          );
    }
  }
}

/** Takes in waiting recordings and migrates, as the next recording hook would, but without its time limit. */
export function settle(paths: StatePaths): Check {
  const waiting = countWaiting(paths);
  if (!existsSync(paths.database) && waiting === 0) return ok('spool', 'nothing waits to be recorded');
  try {
    writeDatabase(paths, (db) => {
      const { retentionDays } = loadConfig(paths);
      while (!pruneOldEvents(retentionDays, new Date(), db).isComplete);
    });
    const left = countWaiting(paths);
    if (left > 0) return warning('spool', `${counted(left, 'recording')} still waiting`, 'Run doctor again');
    return ok(
      'spool',
      waiting > 0 ? `took in ${counted(waiting, 'waiting recording')}` : 'nothing waits to be recorded',
    );
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {};
    const reason = reasonOf(cause);
    const lost = waiting === 0 ? '' : `; ${counted(waiting, 'recording')} waiting`;
    return failed(
      'spool',
      `the database cannot be written: ${reason}${lost}`,
      'See the line about the database',
    );
  }
}

/** How many recordings wait for a writer. */
export function countWaiting(paths: StatePaths): number {
  if (!existsSync(paths.spool)) return 0;
  return readdirSync(paths.spool).filter((name) => name.endsWith('.json') && !name.startsWith('.')).length;
}

const UNREAD: Readonly<Record<UnreadNote['reason'], string>> = {
  missing: 'there is no such file',
  unreadable: 'it cannot be read',
  unknown: 'it has no line that is known',
};

/** Whether sessions of late had a transcript that could be read. Where each call is handed to a hook, none is needed. */
export function checkTranscripts(paths: StatePaths, now: Date): Check {
  const note = readUnreadNote(paths, now);
  const isNeeded = hookModeIn(knownManifest(paths.manifest)) === 'session';
  if (note === undefined || !isNeeded) return ok('transcripts', 'none that could not be read');
  const { ts, path, reason, sessions } = note;
  const last =
    path === '' ? `last at ${ts}: the client named none` : `last ${path}, ${ts}: ${UNREAD[reason]}`;
  return warning(
    'transcripts',
    `what ${counted(sessions, 'session')} did could not be read from the transcript; ${last}`,
    'If your client keeps no transcripts, have each call handed to a hook: self-generation install --hooks=per-call',
  );
}

const DAYS_SHOWN = 7;
const FAILURES_SHOWN = 3;
const MS_PER_DAY = 86_400_000;

/** Whether hooks have noted failures of late. */
export function checkHookLog(paths: StatePaths, now: Date): Check {
  const since = new Date(now.getTime() - DAYS_SHOWN * MS_PER_DAY).toISOString();
  const recent = readLog(paths.hookLog).filter((entry) => entry.ts >= since);
  if (recent.length === 0) return ok('hook failures', `none in the last ${DAYS_SHOWN} days`);
  const newest = recent.slice(-FAILURES_SHOWN).map((entry) => `${entry.ts} ${entry.hook}: ${entry.message}`);
  return warning(
    'hook failures',
    `${recent.length} in the last ${DAYS_SHOWN} days; newest: ${newest.join(' | ')}`,
    `All of them: ${paths.hookLog}`,
  );
}

/** The noted failures of hooks, or around runs, oldest first. */
export function readLog(path: string): HookLogEntry[] {
  if (!existsSync(path)) return [];
  return readPlainFile(path)
    .toString()
    .split('\n')
    .map(parseJson)
    .filter(isRecord)
    .map((entry) => ({
      ts: readString(entry, 'ts') ?? '',
      hook: readString(entry, 'hook') ?? '',
      message: readString(entry, 'message') ?? '',
    }));
}

/** When each event last came in; null when it never has. */
export function readHeartbeats(paths: StatePaths): Record<string, string | null> {
  return Object.fromEntries(
    HOOKS.map(({ event }) => {
      const file = `${paths.heartbeats}/${event}`;
      return [event, existsSync(file) ? readPlainFile(file).toString().trim() || null : null];
    }),
  );
}

/** Which events have come in, and when. */
export function checkHeartbeats(paths: StatePaths): Check {
  const seen = Object.entries(readHeartbeats(paths)).flatMap(([event, time]) =>
    time ? [`${event} ${time}`] : [],
  );
  return seen.length > 0
    ? ok('last seen', seen.join(', '))
    : skipped('last seen', 'no event yet: start a session of the client');
}

/** Whether stored texts are kept from agents because they are shaped like instructions. */
export function checkWithheld(paths: StatePaths): Check {
  try {
    const withheld = listWithheld(paths);
    if (withheld.length === 0) return ok('withheld', 'no stored text is shaped like an instruction');
    const shown = withheld
      .slice(0, FAILURES_SHOWN)
      .map(({ source, text }) => `${source} ${JSON.stringify(text.slice(0, 120))}`);
    return warning(
      'withheld',
      `shaped like an instruction, so no agent is given it: ${counted(withheld.length, 'stored text')}: ${shown.join(', ')}`,
      'Find out which program printed it; nothing else has to be done',
    );
  } catch {
    return skipped('withheld', 'the database cannot be read');
  }
}
