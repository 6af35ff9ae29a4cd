import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ListedLesson, listLessons } from '../../benefit/store/lesson-list.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { counted } from '../../core/text.ts';
import type { Db } from '../../database/connection.ts';
import { readDatabase, writeDatabase } from '../../hooks/store/use-database.ts';
import { sameInClones } from '../../lessons/store/lesson-log.ts';
import { restoreLesson, setPinned } from '../../lessons/store/withdrawals.ts';
import { projectOfDirectory } from '../../runs/workspace/first-prompt.ts';
import {
  type CliContext,
  commandGroup,
  EXIT,
  fail,
  findScope,
  type Given,
  keepFromAgent,
  PROJECT_OPTION,
  subcommand,
  withState,
} from '../context.ts';
import { printJson, shortened, shownLine } from '../output.ts';

type ListFlags = Given<'withdrawn' | 'allProjects' | 'json'> & Given<'project', string>;
type OneFlags = Given<'json'>;

const SAID_LENGTH_MAX = 120;

const EXAMPLES = `
Examples:
  $ self-generation lessons                  what agents are told in this project, and whether it helps
  $ self-generation lessons --withdrawn      what they are told no more, and why
  $ self-generation lessons pin 12           always tell it; "unpin" takes that back
  $ self-generation lessons restore 12       tell again what was withdrawn

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found.`;

/** `lessons`: where each lesson stands, and what a person decides on it. */
export function lessonsCommand(context: CliContext): Command {
  const description = 'see which lessons are told, held out or withdrawn, pin them and restore them';
  const show = (flags: ListFlags) => list(flags, context);
  const group = commandGroup('lessons', { description, after: EXAMPLES }, context, show);
  const listing = {
    description: 'list the lessons',
    calls: ['', '--withdrawn --all-projects'],
    codes: [0, 1, 2, 3],
  };
  const listed = subcommand('lessons list', listing, context, show);
  for (const command of [group, listed])
    command
      .option('--withdrawn', 'only those that are told no more')
      .option(...PROJECT_OPTION)
      .addOption(new Option('--all-projects', 'lessons of every project').conflicts('project'));
  group.addCommand(listed);
  for (const { name, description, act } of CHANGES) {
    const change = (flags: OneFlags, id: number) => changeOne({ name, act }, { id, flags, context });
    const command = subcommand(
      `lessons ${name}`,
      { description, calls: ['12', '12 --json'], codes: [0, 1, 2, 3] },
      context,
      change,
    );
    group.addCommand(command.argument('<id>', 'the number that "lessons list" shows', readId));
  }
  return group;
}

function readId(text: string): number {
  const id = Number(text);
  if (/^\d{1,15}$/.test(text) && id > 0) return id;
  throw new InvalidArgumentError('It is the number that "lessons list" shows.');
}

function list(flags: ListFlags, context: CliContext): Promise<void> {
  const { withdrawn, allProjects, json } = flags;
  return withState(context, 'list the lessons', ({ paths }) => {
    const scope = findScope(allProjects ? 'all' : flags.project, paths, context);
    const spellings = scope.kind === 'all' ? undefined : projectOfDirectory(scope.path).spellings;
    const lessonsOf = (projects: readonly string[] | undefined) =>
      readLessons(projects, paths, context).filter(({ state }) => !withdrawn || state === 'withdrawn');
    const lessons = lessonsOf(spellings);
    const project = scope.path;
    if (json) return printJson({ project, lessons }, context);
    if (lessons.length > 0) return print(lessons, project === null, context);
    const kind = withdrawn ? 'No lesson is withdrawn' : 'No lesson is known';
    if (project === null) return context.stdout(`${kind}.\n`);
    const elsewhere = lessonsOf(undefined).length;
    const others = elsewhere === 0 ? '' : ` Other projects have ${elsewhere}: --all-projects shows them.`;
    context.stdout(`${kind} in "${project}".${others}\n`);
  });
}

/** A database that an earlier version made is brought up to date first. */
function readLessons(projects: readonly string[] | undefined, paths: StatePaths, { now }: CliContext) {
  const read = (db: Db) => listLessons(projects, now(), db);
  const found = readDatabase(paths, (db) => (db.isOwn ? { value: read(db) } : 'older'));
  return found === 'older' ? writeDatabase(paths, read) : (found?.value ?? []);
}

function print(lessons: readonly ListedLesson[], withProject: boolean, context: CliContext): void {
  const { bold, dim, green } = context.colours;
  const width = Math.max(...lessons.map(({ id }) => String(id).length));
  const indent = ' '.repeat(width + 2);
  const lines = lessons.flatMap((lesson) => {
    const { id, said, fix, project, state, reason } = lesson;
    const facts = [
      isUntold(lesson) ? 'not told yet' : `${state}: ${shownLine(reason)}`,
      ...countsOf(lesson),
      ...(withProject ? [shownLine(project)] : []),
    ];
    return [
      `${bold(String(id).padStart(width))}  ${shortened(said, SAID_LENGTH_MAX)}`,
      `${indent}${(state === 'withdrawn' ? dim : green)(shownLine(fix))}`,
      `${indent}${dim(facts.join(' · '))}`,
    ];
  });
  context.stdout(lines.map((line) => `${line}\n`).join(''));
}

/** Nothing can be known of it yet, whatever state that is called. */
function isUntold({ state, told, held }: ListedLesson): boolean {
  return (state === 'trial' || state === 'too-rare') && told === 0 && held === 0;
}

/** Side by side and without a comparison: that is for `proof`, which says how sure it is. */
function countsOf({ told, held, toldFailed, heldFailed }: ListedLesson): string[] {
  const of = (failed: number, sessions: number) => `failed in ${failed} of ${counted(sessions, 'session')}`;
  return [
    ...(told > 0 ? [`told at a start: ${of(toldFailed, told)}`] : []),
    ...(held > 0 ? [`held out: ${of(heldFailed, held)}`] : []),
  ];
}

/** What only a person does; false: there is nothing to do it with. */
type Change = {
  readonly name: 'pin' | 'unpin' | 'restore';
  readonly description: string;
  readonly act: (id: number, ts: string, db: Db) => boolean;
};

const CHANGES: readonly Change[] = [
  {
    name: 'pin',
    description: 'always tell a lesson: it is never held out, quiet or withdrawn by what is measured',
    act: (id, _ts, db) => setPinned(id, true, db),
  },
  {
    name: 'unpin',
    description: 'treat a lesson as any other again',
    act: (id, _ts, db) => setPinned(id, false, db),
  },
  {
    name: 'restore',
    description: 'tell a withdrawn lesson again; only what happens from now on can withdraw it',
    act: restoreLesson,
  },
];

const DONE = {
  pin: { kind: 'pinned', said: 'is pinned: it is always told' },
  unpin: { kind: 'unpinned', said: 'is pinned no more' },
  restore: { kind: 'restored', said: 'is told again' },
} as const;

type CallOfOne = { readonly id: number; readonly flags: OneFlags; readonly context: CliContext };

function changeOne({ name, act }: Pick<Change, 'name' | 'act'>, { id, flags, context }: CallOfOne) {
  const action = `${name} lesson ${id}`;
  return withState(context, action, ({ paths }) => {
    keepFromAgent(action, `lessons ${name} ${id}`, context);
    const ts = context.now().toISOString();
    const change = (db: Db) =>
      db.sqlite.transaction(() =>
        sameInClones(id, db)
          .map((one) => act(one, ts, db))
          .includes(true),
      );
    const missing = name === 'restore' ? 'no withdrawn lesson has this number' : 'no lesson has this number';
    const advice = `"self-generation lessons${name === 'restore' ? ' --withdrawn' : ''} --all-projects" lists them`;
    if (!writeDatabase(paths, change)) fail(context, EXIT.notFound, `${action}: ${missing}`, advice);
    if (flags.json) printJson({ kind: DONE[name].kind, id }, context);
    else context.stdout(`Lesson ${id} ${DONE[name].said}.\n`);
  });
}
