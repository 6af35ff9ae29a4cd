import { listLessons } from '../../benefit/store/lesson-list.ts';
import { type StatePaths, statePaths } from '../../core/state-paths.ts';
import type { Db } from '../../database/connection.ts';
import { closing, getDb } from '../../database/db.ts';
import { listErrors } from '../../lessons/store/error-entries.ts';
import { requesterHere } from '../../runs/requester.ts';
import { readRuns } from '../../runs/store/rows.ts';
import { listRuns } from '../../runs/store/runs.ts';
import { CONFIG_FIELDS } from '../../settings/all-settings.ts';
import { listProjects } from '../../setup/inspect-store.ts';
import { listSuggestions } from '../../suggestions/model/store.ts';
import type { SuggestionStatus } from '../../suggestions/model/suggestion.ts';
import { type CliContext, projectHere } from '../context.ts';
import { shortened } from '../output.ts';
import { nameOf } from '../subagents/runs-here.ts';
import type { Candidate, ValuePlace } from './complete.ts';

/** The newest of each kind. */
const VALUES_MAX = 50;
const DESCRIPTION_LENGTH_MAX = 70;
/** A key was pressed: better no values than a wait for somebody who writes. */
const BUSY_TIMEOUT_MS = 100;
/** A shell would not take these for anything else. Others are left out, not quoted. */
const PLAIN_WORD = /^[\p{L}\p{N}_.@%+/:-]+$/u;
/** As oneOf() of the settings says it. */
const WORDS = /(?<=^(?:null, or )?)"[\w-]+"(?:(?:, | or )"[\w-]+")*$/;
const ID_NAMES = /^(?:id|id\|n|target|number)$/i;

type World = { readonly paths: StatePaths; readonly context: CliContext };
type Read = (world: World, place: ValuePlace) => readonly Candidate[];

/** What stands for an ID behind these commands. */
export const IDS: Readonly<Record<string, Read>> = {
  errors: (world) =>
    ofDatabase(world, (db) => {
      const projects = projectHere(world.paths, world.context).spellings;
      const found = listErrors({ projects, state: 'any' }, VALUES_MAX, db);
      return found.map(({ id, said }) => candidate(id, said));
    }),
  lessons: (world) =>
    ofDatabase(world, (db) => {
      const projects = projectHere(world.paths, world.context).spellings;
      return listLessons(projects, world.context.now(), db).map(({ id, said }) => candidate(id, said));
    }),
  suggestions: (world) => suggestions(world, undefined),
  apply: (world) => suggestions(world, ['new', 'shown']),
  dismiss: (world) => suggestions(world, ['new', 'shown']),
  undo: (world) => suggestions(world, ['applied', 'dismissed']),
  subagents: ({ paths, context }) => {
    const requester = requesterHere(context).key;
    const runs = readRuns(paths, (db) => listRuns({ requester, limit: VALUES_MAX }, db)) ?? [];
    return runs.map(({ run, turn }) => candidate(run.number, `${turn.state} · ${nameOf(run)}`));
  },
};

/** What the user's state knows for a place: read only, bounded, and nothing where it cannot be read. */
export function knownValues(place: ValuePlace, context: CliContext): readonly Candidate[] {
  const read = readerOf(place);
  const paths = statePaths(context.env, context.platform);
  if (read === undefined || paths === undefined) return [];
  try {
    const found = read({ paths, context }, place).filter(({ value }) => PLAIN_WORD.test(value));
    return found.slice(0, VALUES_MAX * 2);
  } catch {
    return []; // Whoever pressed a key can do nothing about it here; every command says what is wrong.
  }
}

/** Whether an argument is an ID of which some are known here. */
export function takesKnownId({ command, option, name, before }: ValuePlace): boolean {
  const isFirstWord =
    name === 'words' && before.length === 0 && ['log', 'send'].includes(command.path.at(-1) ?? '');
  return option === undefined && command.path[0] !== undefined && (ID_NAMES.test(name) || isFirstWord);
}

function readerOf(place: ValuePlace): Read | undefined {
  const [group = ''] = place.command.path;
  if (place.option === '--project') return group === 'import' ? undefined : projects;
  if (place.option === '--replay') return IDS.lessons;
  if (group === 'config') return place.name === 'key' ? settings : valuesOfSetting;
  return takesKnownId(place) ? IDS[group] : undefined;
}

function settings(): Candidate[] {
  return CONFIG_FIELDS.map(({ key, description }) => ({ value: key, description }));
}

/** The words that a setting may be, where it has some. */
function valuesOfSetting(_world: World, { before: [key] }: ValuePlace): Candidate[] {
  const expected = CONFIG_FIELDS.find((field) => field.key === key)?.expected ?? '';
  const words = expected === 'true or false' ? '"true" "false"' : (WORDS.exec(expected)?.[0] ?? '');
  return [...words.matchAll(/"(.+?)"/g)].map(([, value = '']) => ({ value, description: '' }));
}

function projects(world: World): Candidate[] {
  const known = ofDatabase(world, (db) => {
    const all = listProjects(db);
    const isOnly = (name: string) => all.filter((one) => one.name === name).length === 1;
    return all.filter(({ name }) => isOnly(name)).map(({ name, path }) => candidate(name, path));
  });
  return [...known.slice(0, VALUES_MAX), { value: 'all', description: 'every project' }];
}

function suggestions(world: World, statuses: readonly SuggestionStatus[] | undefined): Candidate[] {
  return ofDatabase(world, (db) => {
    const project = projectHere(world.paths, world.context);
    const found = listSuggestions({ project, ...(statuses && { statuses }) }, db);
    return found.map(({ id, summary }) => candidate(id, summary));
  });
}

function ofDatabase({ paths }: World, read: (db: Db) => Candidate[]): Candidate[] {
  const db = getDb(paths, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
  return db === undefined ? [] : closing(db.sqlite, () => read(db).slice(0, VALUES_MAX));
}

function candidate(value: number | string, description: string): Candidate {
  return { value: String(value), description: shortened(description, DESCRIPTION_LENGTH_MAX) };
}
