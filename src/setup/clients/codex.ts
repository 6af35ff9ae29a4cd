import { basename, dirname, join } from 'node:path';
import { clientNamed } from '../../clients/clients.ts';
import { type ListedHook, listHooks } from '../../clients/codex/hooks.ts';
import { asRecord, lookOr, readRecords, reasonOf } from '../../core/guards.ts';
import { counted } from '../../core/text.ts';
import { realPath, resolveLinks } from '../../system/atomic-file.ts';
import { findProgram, type RunCommand } from '../../system/run-command.ts';
import { type CheckWorld, type Finding, lastSeenOf, ok, skipped, warning } from '../checks.ts';
import { orRefused, readText } from '../file-plan.ts';
import { jsonOf, parseDocument } from '../json-file.ts';
import type { Place } from '../manifest.ts';
import {
  hasHook,
  hookRemoval,
  ownerOf,
  type RegisteredHook,
  type Registration,
  recogniseEntry,
  registerHooks,
} from '../settings-file.ts';
import { readTomlTable, removeTomlTable, setTomlTable } from '../toml-entry.ts';
import {
  type ClientSetup,
  editPart,
  type OwnPart,
  type Registered,
  type Registering,
  userOf,
} from './client-setup.ts';

/**
 * Codex' hooks: entries in hooks.json of the same shape as in Claude Code's settings, and, where the user wants it, their
 * approval in config.toml. Without one Codex passes over a hook and says nothing.
 */

/** The limits are Codex' own unit, seconds; it allows SessionEnd no more than three. */
const HOOKS: readonly RegisteredHook[] = [
  { name: 'session-analyzer', event: 'SessionStart', timeoutSeconds: 10 },
  { name: 'prompt-logger', event: 'UserPromptSubmit', timeoutSeconds: 5 },
  { name: 'pre-tool-guide', event: 'PreToolUse', timeoutSeconds: 5, matcher: 'spawn_agent$' },
  { name: 'error-logger', event: 'PostToolUse', timeoutSeconds: 5, matcher: '^Bash$' },
  { name: 'subagent-context', event: 'SubagentStart', timeoutSeconds: 5 },
  { name: 'stop-tracker', event: 'Stop', timeoutSeconds: 10 },
  { name: 'session-summary', event: 'SessionEnd', timeoutSeconds: 3 },
];

const HOOKS_FILE = 'hooks.json';
const CONFIG_FILE = 'config.toml';
/** The table of config.toml with what the user has decided of each hook. */
const STATES = ['hooks', 'state'];
const APPROVAL = 'trusted_hash';

const APPROVE = 'type /hooks in Codex';

/** Codex: its hooks, and their approval. */
export const codex: ClientSetup = {
  paths: (place) => [fileIn(place, HOOKS_FILE)],
  morePaths: (place) => [fileIn(place, CONFIG_FILE)],
  partAt: (path, place) => (basename(path) === CONFIG_FILE ? approvals(path, place) : hooksPart(path, place)),
  finish,
  check,
};

function fileIn(place: Place, name: string): string {
  return join(clientNamed('codex').server.place(userOf(place)).directory, name);
}

function registrationAt(place: Place): Registration {
  return { ...ownerOf(place), binary: place.paths.binary, form: 'shell', caller: 'codex', hooks: HOOKS };
}

function hooksPart(path: string, place: Place): OwnPart {
  const registration = registrationAt(place);
  const isOurs = (entry: unknown) => recogniseEntry(entry, registration)?.kind === 'ours';
  return {
    ...{ path, what: 'settings' },
    set: (text) => registerHooks(text, registration),
    ...hookRemoval(isOurs),
    holdsOurs: (text) => hasHook(text, isOurs),
  };
}

/**
 * What hooks.json has of ours, each by the keys under which Codex may keep what it knows of a hook: it resolves links of a
 * directory that CODEX_HOME names, and of no other. None of a file that cannot be read.
 */
function ownKeys(path: string, place: Place): string[][] {
  const owner = ownerOf(place);
  const files = [...new Set([path, join(realPath(dirname(path)), HOOKS_FILE)])];
  const { hooks } = asRecord(lookOr(() => jsonOf(parseDocument(readText(path) ?? '').root), {}));
  return Object.entries(asRecord(hooks)).flatMap(([event, groups]) =>
    readRecords(groups).flatMap((group, at) =>
      readRecords(group.hooks).flatMap((entry, index) => {
        if (recogniseEntry(entry, owner)?.kind !== 'ours') return [];
        return [files.map((file) => `${file}:${snakeCase(event)}:${at}:${index}`)];
      }),
    ),
  );
}

/** `SessionStart` is `session_start` there. */
function snakeCase(event: string): string {
  return event.replaceAll(/[A-Z]/g, (letter, at) => `${at === 0 ? '' : '_'}${letter.toLowerCase()}`);
}

/** The approvals of our hooks in config.toml. `hooks`: those that are to be approved. */
function approvals(path: string, place: Place, hooks: readonly ListedHook[] = []): OwnPart {
  const keys = ownKeys(join(dirname(path), HOOKS_FILE), place).flat();
  const stateOf = (text: string, key: string) => asRecord(readTomlTable(text, [...STATES, key]));
  return {
    ...{ path, what: 'approval' },
    set: (text = '') =>
      hooks.reduce((one, { key, hash }) => {
        return setTomlTable(one, [...STATES, key], { ...stateOf(one, key), [APPROVAL]: hash });
      }, text),
    remove: (text) => keys.reduce((one, key) => removeTomlTable(one, [...STATES, key]), text),
    holdsOurs: (text) => Object.keys(asRecord(readTomlTable(text, STATES))).some((key) => keys.includes(key)),
  };
}

/** Has the hooks approved where the user says so, and says otherwise what is still to be done. */
async function finish(registering: Registering): Promise<Pick<Registered, 'records' | 'notes'>> {
  const { place, work, approves } = registering;
  const [path, hooksPath] = [fileIn(place, CONFIG_FILE), fileIn(place, HOOKS_FILE)];
  const states = asRecord(readTomlTable(readText(path) ?? '', STATES));
  const isUnchanged = work.steps.some(
    (step) => step.path === resolveLinks(hooksPath) && step.change === 'unchanged',
  );
  const isKnown = (keys: readonly string[]) =>
    keys.some((key) => asRecord(states[key])[APPROVAL] !== undefined);
  const isApproved = isUnchanged && ownKeys(hooksPath, place).every(isKnown);
  const count = counted(HOOKS.length, 'hook');
  const byHand = `Codex runs its ${count} once you have approved them: ${APPROVE}. Until then it passes over them without a word.`;
  const done = { records: [], notes: [] };
  if (approves === undefined) return isApproved ? done : { ...done, notes: [byHand] };
  try {
    const open = (await ownHooks(registering)).filter(isOpen);
    if (open.length === 0) return done;
    if (!(await approves(open.map(({ command }) => command)))) return { ...done, notes: [byHand] };
    const { record } = editPart(approvals(path, place, open), 'client-codex', registering);
    const isDone = !(await ownHooks(registering)).some(isOpen);
    const notes = [isDone ? `New sessions of Codex run its ${count}: you have approved them.` : byHand];
    return { records: [{ ...record, client: 'codex' }], notes };
  } catch (error) {
    const notes = [`The hooks of Codex cannot be approved here: ${reasonOf(error)}. ${byHand}`];
    return isApproved ? done : { ...done, notes };
  }
}

/** Whether Codex passes over it because nobody has approved it as it is. */
const isOpen = ({ trust }: ListedHook) => trust === 'untrusted' || trust === 'modified';

/** Our hooks, as Codex lists them. @throws Error where it cannot be asked. */
async function ownHooks({
  place,
  run,
}: {
  readonly place: Place;
  readonly run: RunCommand;
}): Promise<ListedHook[]> {
  const { env, platform, userHome = '/' } = place;
  const program = findProgram('codex', env, platform);
  if (program === undefined) throw new Error('there is no "codex" on the PATH');
  const file = realPath(fileIn(place, HOOKS_FILE));
  const owner = ownerOf(place);
  return (await listHooks(program, { env, cwd: userHome, run })).filter(
    ({ path, command }) => realPath(path) === file && recogniseEntry({ command }, owner)?.kind === 'ours',
  );
}

/** Whether the hooks are registered, approved and switched on, and when one last ran. */
async function check(world: CheckWorld, place: Place): Promise<Finding[]> {
  const { install, paths, run } = world;
  const path = fileIn(place, HOOKS_FILE);
  const text = readText(path) ?? '';
  if (orRefused(() => registerHooks(text, registrationAt(place))) !== text)
    return [warning(`${path} is not as this version would write it`, `Run: ${install} --codex`)];
  let hooks: readonly ListedHook[];
  try {
    hooks = await ownHooks({ place, run });
  } catch (error) {
    return [
      skipped(
        `${counted(HOOKS.length, 'hook')} in ${path}; whether Codex runs them is not known: ${reasonOf(error)}`,
      ),
    ];
  }
  const problems = problemsOf(hooks, install);
  if (problems.length > 0) return problems;
  const seen = lastSeenOf('codex', paths);
  const ran = seen === null ? 'none has run yet: start a session of Codex' : `the last one ran ${seen}`;
  return [ok(`${counted(hooks.length, 'approved hook')} in ${path}; ${ran}`)];
}

/** What keeps Codex from running them. */
function problemsOf(hooks: readonly ListedHook[], install: string): Finding[] {
  const approve = `In Codex, type /hooks and approve them, or run: ${install} --codex --trust-codex-hooks`;
  const count = (some: readonly unknown[]) => `${some.length} of ${counted(HOOKS.length, 'hook')}`;
  const silently = 'Codex passes over them without a word';
  const problems = [
    { some: hooks.filter(({ trust }) => trust === 'untrusted'), what: 'are not approved', remedy: approve },
    {
      some: hooks.filter(({ trust }) => trust === 'modified'),
      what: 'have changed since they were approved',
      remedy: approve,
    },
    {
      some: hooks.filter(({ isEnabled }) => !isEnabled),
      what: 'are switched off',
      remedy: 'In Codex, type /hooks and switch them on',
    },
    {
      some: HOOKS.slice(hooks.length),
      what: 'are not listed by Codex',
      remedy: 'Look whether its config.toml has "hooks = false" under [features]',
    },
  ];
  return problems
    .filter(({ some }) => some.length > 0)
    .map(({ some, what, remedy }) => warning(`${count(some)} ${what}: ${silently}`, remedy));
}
